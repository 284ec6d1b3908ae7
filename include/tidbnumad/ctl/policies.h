/* Policies for a command: from folders, from files, or defaults for other machines. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/model/policy.h"

typedef struct Policies {
        PolicySet set;
        SourceFileList files; /* the files that were read */
        bool defaults;        /* no file had any: they are those of policies_load_defaults() */
        Diagnostics errors, warnings;
} Policies;

void policies_done(Policies *policies);
#define _cleanup_policies_ _cleanup_(policies_done)

/* Reads the files that the daemon would read, or the files of the command line instead. 0; -EINVAL:
 * invalid, and `errors` has the reason. `ret` must be freed in each case. */
int policies_load(const Args *args, const Machine *machine, Policies *ret);

/* What the daemon that runs has in force, as it keeps that for root, also while the files are
 * edited or have errors. Where none are kept, as by a dry run, what its folders have now, which its
 * command line names; as policies_load() where it names none, or others are named. */
int policies_load_in_force(const Args *args, const Machine *machine, Policies *ret);

/* Adds a file, or standard input for "-". -EINVAL, with the reason in `errors`. */
int policies_read_file(const char *path, SourceFileList *list, Diagnostics *errors);

/* The same for one path: a file of any owner, or a folder. */
int policies_load_path(const char *path, const Machine *machine, Policies *ret);

/* Loads the defaults: a policy for each product that is `wanted` (by Product; NULL: all), as
 * model/product.h has it; the network card's node reserved. */
int policies_load_defaults(const Machine *machine, const bool *wanted, Policies *ret);

/* Are there no policy files, so that only the built-in policies apply? */
bool policies_are_built_in(const Policies *policies);

/* Prints the `errors` of refused policies; `machine`: for which of several, else NULL. Returns
 * -EINVAL. */
int policies_refuse(const Policies *policies, const char *machine, Error *error);

/* Each message with the line that it is about: appended, or printed on standard error. */
void policies_append(const Diagnostics *diagnostics, const char *prefix, Text *text);
void policies_print(const Diagnostics *diagnostics);
