/* The text of a file that a unit names or is made of: the script of its ExecStart=, its drop-ins.
 */
#pragma once

#include <stdbool.h>

#include "tidbnumad/sys/sysroot.h"

enum { SCRIPT_BYTES_MAX = 64 << 10 };

/* Reads the script, or with `any` whatever text there is, at an absolute path of the host, as PID 1
 * sees it: the mount namespace of the caller may lack /home. The path may be anybody's, so nothing
 * but a regular file is opened; its file system can delay the call for ever. -ENOEXEC: a script
 * does not begin with "#!"; -E2BIG: it is longer than SCRIPT_BYTES_MAX; -EINVAL: no regular file;
 * other negative errno. `*ret` is owned by the caller. */
int script_read(const Sysroot *sysroot, const char *path, bool any, char **ret);
