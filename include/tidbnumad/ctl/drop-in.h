/* The drop-in of pause, release and replan: a policy file in the last of the policy folders, which
 * is gone after a reboot. It contains keys of `enforcement` only, and overrides the other files
 * because it is the last one by name; therefore its `release` repeats theirs. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/source-file.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/config/brakes.h"
#include "tidbnumad/model/policy.h"

typedef struct DropIn {
        SourceFileList others; /* all other policy files, in order */
        PolicySet base;        /* the policies of these files */
        bool refused;     /* they are invalid: `base` is not known, and the daemon rejects them */
        bool observe;     /* it contains `mode: observe` */
        WordList release; /* globs that it releases */
        bool had_replan;  /* an earlier replan was interrupted: the daemon still has its names */
        WordList replan;  /* globs of instances to be placed again */
        Diagnostics errors;
} DropIn;

/* Reads the files and the drop-in. Invalid other files are no error: pause and release apply to the
 * policies that the daemon has in force. -EINVAL: the drop-in itself is invalid; -ENOMEM. `errors`
 * describes all errors. `ret` must be freed in each case. */
int drop_in_load(const SourceFileList *files, const char *path, DropIn *ret);
void drop_in_done(DropIn *drop_in);
#define _cleanup_drop_in_ _cleanup_(drop_in_done)

/* Renders the file; nothing when the other files contain the same. */
void drop_in_render(const DropIn *drop_in, Text *text);

/* Would the policies with this text be valid, and contain what the drop-in contains? -EINVAL: no,
 * `errors` has the reason; -ENOMEM. */
int drop_in_check(DropIn *drop_in, const char *path, const Text *text);
