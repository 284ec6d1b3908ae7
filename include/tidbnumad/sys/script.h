/* The text of a script, such as the one that the ExecStart= of a unit names. */
#pragma once

#include "tidbnumad/sys/sysroot.h"

enum { SCRIPT_BYTES_MAX = 64 << 10 };

/* Reads the script at an absolute path of the host, as PID 1 sees it: the mount namespace of the
 * caller may lack /home. The path may be anybody's, so nothing but a regular file is opened; its
 * file system can delay the call for ever. -ENOEXEC: it does not begin with "#!"; -E2BIG: it is
 * longer than SCRIPT_BYTES_MAX; -EINVAL: no regular file; other negative errno. `*ret` is owned by
 * the caller. */
int script_read(const Sysroot *sysroot, const char *path, char **ret);
