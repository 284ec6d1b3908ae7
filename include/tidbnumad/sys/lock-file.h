/* A file by which one process owns a folder. */
#pragma once

#include <sys/types.h>

/* Takes the lock for the rest of the process's life, or until `*ret_fd` is closed. A child of
 * fork(2) does not hold it. -EBUSY: another process has the lock; its number is in `*ret_holder`,
 * 0 where the kernel shows none (another PID namespace). The file is made where it is not there,
 * with mode 0600: who cannot write to it cannot lock it. */
int lock_file_take(int dir_fd, const char *name, int *ret_fd, pid_t *ret_holder);
