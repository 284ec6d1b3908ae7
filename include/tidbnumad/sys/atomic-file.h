/* Files that a reader never sees half-written, files of root alone, and the lock of a folder. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes `data` to a temporary file in the directory and renames it to `name`. On failure the
 * former file is unchanged and no temporary file is left. Nothing is flushed to the disk. */
int atomic_file_write(int dir_fd, const char *name, const char *data, size_t size, mode_t mode);

/* Makes the folder (0700) where it is not there, and opens it. -EPERM: it belongs to another
 * user, or others may write to it; -ENOTDIR; -ELOOP: it is a link. */
int private_dir_open(int parent_fd, const char *name, int *ret_fd);

/* Reads a whole file of such a folder, and terminates it. -EPERM: it is not a plain file, not ours,
 * or others may write to it; -EFBIG: more than `max` bytes; -EAGAIN: it changes just now. The
 * caller owns the text. */
int private_file_read(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_size);

/* Takes the lock for the rest of the process's life, or until `*ret_fd` is closed. A child of
 * fork(2) does not hold it. -EBUSY: another process has the lock; its number is in
 * `*ret_holder`, 0 where the kernel shows none (another PID namespace). The file is made where
 * it is not there, with mode 0600: a process that cannot write to it cannot lock it. */
int lock_file_take(int dir_fd, const char *name, int *ret_fd, pid_t *ret_holder);

/* Has children share in the lock: those that are started with a copy of the descriptor. Waits until
 * those of its former holder have ended. -ETIME: one has not. */
int lock_file_share(int fd, uint64_t timeout_usec);

/* Who holds the lock; 0 where the kernel does not show it. -ESRCH: nobody; -ENOENT: there is no
 * file; -EACCES: this user may not read it. */
int lock_file_holder(int dir_fd, const char *name, pid_t *ret);

/* The lock that the daemon holds in its runtime folder as long as it runs. */
#define RUNTIME_DIR_LOCK "daemon.lock"
