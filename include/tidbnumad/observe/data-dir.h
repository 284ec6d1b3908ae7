/* Where a TiKV or PD keeps its data. Of three sources the first that names a folder counts:
 *
 *  1. its command line: --data-dir DIR, also with '=' and, as older PD took it, with one dash; of
 * TiKV also --store and -s;
 *  2. the TOML file that its command line names, --config FILE or TiKV's -C: `data-dir` of
 * [storage], as TiKV has it, else of the top, as PD has it;
 *  3. the folder of the first file called LOCK that it has open. TiKV keeps one in the data
 * directory itself, RocksDB, LevelDB and raft-engine in theirs, which may be one below it.
 *
 * TiDB and HAProxy have no data directory.
 *
 * All of this is in the hands of the user whose process it is. So the file is opened as the process
 * would open it, below its own root; no device or FIFO is ever opened; and all that is told of its
 * content is one path. What remains: a file system that does not answer, such as NFS without its
 * server, makes the reader wait with the process.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "tidbnumad/sys/proc.h"

/* The real ones have some KiB. */
#define DATA_DIR_CONFIG_MAX_BYTES ((size_t)1 << 20)

/* The folder, as the process itself names it: absolute, below its own root (/proc/PID/root), free
 * of control characters, shorter than PATH_MAX; not necessarily there. `uid` is the process's: a
 * configuration must be root's or this user's (below a --sysroot anybody's). The caller owns it.
 * -ENODATA: none found; -EBADMSG: the first source names one that is no such path; -ESRCH: gone;
 * -EACCES: not ours to read. */
int data_dir_read(const Sysroot *sysroot, const ProcHandle *handle, uid_t uid, char **ret);

/* Source 1, and the file of source 2, out of a command line as cmdline_read() gives it. Both point
 * into `bytes`, NULL where they are not given or empty. The last one counts, as it does for PD;
 * TiKV does not start with two. */
void data_dir_parse_cmdline(const char *bytes, size_t size, const char **ret_data_dir,
                            const char **ret_config);

/* `path` below `base`, where it is not absolute, without "." and double slashes. `base` may be
 * NULL: the folder that the process runs in is gone. -ENODATA: relative to nothing; -EBADMSG: not
 * absolute in the end, too long, or with control characters. The caller owns it. */
int data_dir_join(const char *base, const char *path, char **ret);
