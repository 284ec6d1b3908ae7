/* journalctl(1), for programs that an operator runs. */
#pragma once

#include "tidbnumad/base/text.h"

/* Runs journalctl with these arguments (NULL at the end; without the program name), without a pager
 * and without its stderr, waits for it, and appends its output to `ret`. -ENOENT: journalctl is not
 * installed; -EIO: it failed, for example without access to the journal; -ENOMEM. */
int journalctl_read(const char *const *arguments, Text *ret);
