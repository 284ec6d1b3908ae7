/* The command line of a process: /proc/PID/cmdline. It is in the process's own memory: it may
 * have been rewritten since, and contain anything. */
#pragma once

#include <stddef.h>

#include "tidbnumad/sys/proc.h"

/* Linux takes command lines of some MiB; the name of a server is at the front. */
#define CMDLINE_MAX_BYTES ((size_t)128 << 10)

/* The arguments, each with a NUL behind it, the last one too: `*ret_size` counts those. The caller
 * owns the bytes. A process that has none (kernel thread, zombie) gives size 0 and an allocated,
 * empty text. 0; 1: it is longer than CMDLINE_MAX_BYTES, and the arguments that do not fit whole
 * are left out; -ESRCH: gone. */
int cmdline_read(const ProcHandle *handle, char **ret_bytes, size_t *ret_size);

/* The argument after `argument` in these bytes, for NULL the first one; NULL: there are no more. */
const char *cmdline_next(const char *bytes, size_t size, const char *argument);

/* As one text, "a b c", for people and globs: blanks inside of arguments cannot be distinguished
 * from those between arguments. The caller owns it. -ENOMEM. */
int cmdline_join(const char *bytes, size_t size, char **ret);

/* The value of `key` in these bytes, entries with a NUL behind each; NULL: it is not there. */
const char *environment_find(const char *bytes, size_t size, const char *key);

/* Copies the value. -ENODATA: it is not there; -ENOSPC; -ESRCH: gone; -EACCES. */
int environment_read(const ProcHandle *handle, const char *key, char *buffer, size_t size);
