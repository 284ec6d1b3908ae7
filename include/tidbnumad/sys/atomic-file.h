/* Publishing of files that a reader never sees half. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Writes `data` to a temporary file in the directory and renames it to `name`. On failure the
 * former file is unchanged and no temporary file is left. Nothing is flushed to the disk. */
int atomic_file_write(int dir_fd, const char *name, const char *data, size_t size, mode_t mode);
