/* Where a TiKV or PD keeps its data. The first of two sources that names a directory counts:
 *
 *  1. the command line: --data-dir DIR, also with '=' and, as older PD versions took it, with one
 *     dash; of TiKV also --store and -s. TiUP always gives it; 2. the directory of a file that the
 *     process has open for writing: the first one called LOCK, else the first log or table of
 *     RocksDB ("000123.log", "000123.sst"). TiKV keeps a LOCK in the data directory itself;
 *     RocksDB, LevelDB and raft-engine keep one in theirs, which may be one level below.
 *
 * TiDB and HAProxy have no data directory. No file of the process is opened: its configuration
 * belongs to another program, and its path may be on a file system that does not answer. */
#pragma once

#include <stddef.h>

#include "tidbnumad/sys/proc.h"

/* The directory, as the process itself names it: absolute, below its own root (/proc/PID/root),
 * free of control characters, shorter than PATH_MAX; it need not exist. The caller owns it.
 * -ENODATA: none found; -EBADMSG: the first source names one that is no such path; -ESRCH: gone;
 * -EACCES: not ours to read. */
int data_dir_read(const Sysroot *sysroot, const ProcHandle *handle, char **ret);

/* Source 1, out of a command line as cmdline_read() gives it: points into `bytes`, NULL where it is
 * not given or empty. The last one counts, as it does for PD; TiKV does not start with two. */
const char *data_dir_parse_cmdline(const char *bytes, size_t size);

/* `path` below `base`, where it is not absolute, without "." and double slashes. `base` may be
 * NULL: the working directory of the process is gone. -ENODATA: relative to nothing; -EBADMSG: not
 * absolute in the end, too long, or with control characters. The caller owns it. */
int data_dir_join(const char *base, const char *path, char **ret);
