/* Programs of the host as children, for the commands that an operator runs: journalctl(1), which
 * decides what the user may see and knows where journals are, and tar(1). They are found by PATH,
 * and waited for. */
#pragma once

#include "tidbnumad/base/text.h"

/* With `out` as its standard output; -1: with ours. `argv` ends with NULL. 0; -ENOENT: it is not
 * installed; -EIO: it failed; -ENOMEM. */
int program_run(const char *const *argv, int out);

/* The same without its stderr; appends its output to `ret`. */
int program_read(const char *const *argv, Text *ret);
