/* Pause and release: the keys of the policies by which an operator stops the daemon. They work also
 * while other policy files are refused, on the policies in force. */
#pragma once

#include "tidbnumad/base/source-file.h"
#include "tidbnumad/model/policy.h"

/* The drop-in that tidbnumactl(8) writes to the last policy folder. By its name it is the last
 * file, and so the one that counts. */
#define BRAKES_FILE "zz-tidbnumactl.yaml"

typedef struct Brakes {
        EnforcementMode mode;
        WordList release;
} Brakes;

/* Where no policies were loaded yet. */
#define BRAKES_NONE                                                                                \
        (Brakes) {                                                                                 \
                .mode = ENFORCEMENT_ENFORCE                                                        \
        }

void brakes_done(Brakes *brakes);
#define _cleanup_brakes_ _cleanup_(brakes_done)

/* The files without the drop-in; `set` is the result with it. What they release is added to the
 * set: a drop-in that was written while they were refused does not repeat it. -EINVAL: they are
 * wrong without it; -ENOMEM. `ret` is untouched then. */
int brakes_read(const SourceFileList *files, PolicySet *set, Brakes *ret);

/* Sets these keys of `set` to the drop-in's values, or to those of `others` where it has none;
 * what is released is added up. `drop_in` holds one file, or none. -EINVAL: the drop-in is
 * wrong, and `set` is as it was; -ENOMEM likewise. */
int brakes_apply(const SourceFileList *drop_in, const Brakes *others, PolicySet *set);
