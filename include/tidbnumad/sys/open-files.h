/* What a process has open: /proc/PID/fd. */
#pragma once

#include <stddef.h>

#include "tidbnumad/sys/proc.h"

/* Where a walk stops, for a process may hoard a million. A server opens the files that identify
 * it (the lock of its data directory, its listening sockets) while it starts, so with low
 * numbers, and /proc lists those first; this leaves room for the 40,960 files that TiKV's
 * RocksDB may open before. A descriptor takes 1 to 5 µs: 0.3 s at most. */
#define OPEN_FILES_MAX ((size_t)1 << 16)

/* `target` is the link's text, valid during the call: "/path", "/path (deleted)", "socket:[N]",
 * "anon_inode:[eventpoll]". Paths are what the other users' processes made them: any bytes. */
typedef int (*OpenFileCallback)(int fd, const char *target, void *userdata);

/* Calls back for each descriptor of the process's main thread, lowest first (below a --sysroot
 * in any order), but for OPEN_FILES_MAX at most. A callback's negative answer ends the walk and
 * is returned. Descriptors that are closed meanwhile, and targets of PATH_MAX bytes or more, are
 * left out. 0: all; 1: the process has more than that; -ESRCH: gone; -EACCES: not ours to read. */
int open_files_foreach(const ProcHandle *handle, OpenFileCallback callback, void *userdata);
