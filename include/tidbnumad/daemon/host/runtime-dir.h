/* The folder in which the daemon publishes and keeps its undo records. One daemon a folder. */
#pragma once

#include "tidbnumad/daemon/host/journal.h"

#define RUNTIME_DIR_LOCK "daemon.lock"

/* Opens the folder, makes it where it is not there, and locks it. What went wrong is logged. Where
 * there is no room for the lock file, the daemon starts without it, and that is logged. */
int runtime_dir_open(const Journal *journal, const char *path, int *ret_fd, int *ret_lock_fd);
