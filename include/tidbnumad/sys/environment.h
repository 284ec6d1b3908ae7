/* The environment with which a process was started: /proc/PID/environ. It lies in the process's own
 * memory: it may have been rewritten since, and hold anything. */
#pragma once

#include <stddef.h>

#include "tidbnumad/sys/proc.h"

/* The value of `key` in these bytes, entries with a NUL behind each; NULL: it is not there. */
const char *environment_find(const char *bytes, size_t size, const char *key);

/* Copies the value. -ENODATA: it is not there; -ENOSPC; -ESRCH: gone; -EACCES. */
int environment_read(const ProcHandle *handle, const char *key, char *buffer, size_t size);
