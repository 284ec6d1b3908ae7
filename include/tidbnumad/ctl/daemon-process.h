/* The daemon as a process: whether the one that published a status still runs, and how it is told
 * to read its policies again. */
#pragma once

#include "tidbnumad/ctl/status-file.h"

/* Its number is that of a living tidbnumad. Never by the age of the file alone: a number may be
 * another's by now, and a daemon may be busy. */
bool daemon_process_lives(const StatusFile *status);

/* Sends it SIGHUP, by which it reads its policies again. 0; -ESRCH: no daemon runs; -EPERM. */
int daemon_process_reload(const StatusFile *status);
