/* journalctl(1), for programs that an operator runs. */
#pragma once

#include "tidbnumad/base/text.h"

/* Runs it with these arguments (NULL at the end; without its name), without a pager and without
 * what it writes to stderr, and appends its output to `ret`. It waits for journalctl.
 * -ENOENT: there is none; -EIO: it failed, for example without access to the journal; -ENOMEM. */
int journalctl_read(const char *const *arguments, Text *ret);
