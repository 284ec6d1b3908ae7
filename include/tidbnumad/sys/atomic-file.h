/* Publishing of files that a reader never sees half. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Writes `data` to a temporary file in the directory and renames it to `name`. On failure the
 * former file stands as it was and no temporary file is left. */
int atomic_file_write(int dir_fd, const char *name, const char *data, size_t size, mode_t mode);

/* The same, and what the new file holds is on the disk before it takes the place of the former. */
int atomic_file_write_durable(int dir_fd, const char *name, const char *data, size_t size,
                              mode_t mode);
