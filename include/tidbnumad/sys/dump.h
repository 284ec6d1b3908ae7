/* Copies of parts of /proc and /sys that a Sysroot can be opened on: for `tidbnumactl gather`. */
#pragma once

#include <sys/types.h>

#include "tidbnumad/sys/sysroot.h"

/* Below `to_fd` it makes proc and sys, with what this program reads of a machine and none of its
 * processes. A file that cannot be read is left out. 0 or negative errno: writing failed. */
int dump_machine(const Sysroot *sysroot, int to_fd);

/* A process, with its threads and open files. Of its environment only GOMAXPROCS is copied, of its
 * command line what mask_arguments() leaves. A process that has ended is left out. */
int dump_process(const Sysroot *sysroot, pid_t pid, int to_fd);

/* Writes a file below `to_fd`, and makes its folders. `path` is relative. 0 or negative errno. */
int dump_write(int to_fd, const char *path, const char *data, size_t size);
