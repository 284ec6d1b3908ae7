/* The daemon as a process: whether the one that published a status still runs, and its reload. */
#pragma once

#include "tidbnumad/ctl/status-file.h"

/* Is the pid of the status that of a running tidbnumad? The age of the file alone proves nothing:
 * the pid may be reused, and a daemon may be busy. */
bool daemon_process_lives(const StatusFile *status);

/* Sends SIGHUP, so that the daemon reads its policies again. 0; -ESRCH: no daemon runs; -EPERM. */
int daemon_process_reload(const StatusFile *status);
