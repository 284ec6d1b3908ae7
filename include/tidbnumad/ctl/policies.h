/* Policies for a command: from folders, from files, or defaults for machines that are not here. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/source-file.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/model/policy.h"

typedef struct Policies {
        PolicySet set;
        SourceFileList files; /* that it was made from */
        bool defaults;        /* no file told any: those of policies_load_defaults() */
        Diagnostics errors, warnings;
} Policies;

void policies_done(Policies *policies);
#define _cleanup_policies_ _cleanup_(policies_done)

/* Reads what the daemon would read, or what the command line names in its place. 0; -EINVAL:
 * refused, and `errors` tells why; -ENOMEM. `ret` is to be freed in each case. */
int policies_load(const Args *args, const Machine *machine, Policies *ret);

/* Adds a file, or standard input for "-". -EINVAL, with the reason in `errors`; -ENOMEM. */
int policies_read_file(const char *path, SourceFileList *list, Diagnostics *errors);

/* The same of one path: a file, whoever owns it, or a folder. */
int policies_load_path(const char *path, const Machine *machine, Policies *ret);

/* tidb, one node each and exclusive; tikv, near its disk and exclusive; pd and haproxy, shared; the
 * network card's node reserved. */
int policies_load_defaults(const Machine *machine, Policies *ret);

/* Has the operator written none, so that the set holds what is watched then? */
bool policies_are_built_in(const Policies *policies);

/* For terminals: each message with the line that it is about. */
int policies_print(const Diagnostics *diagnostics, const char *prefix);
