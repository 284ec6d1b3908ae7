/* Reading of files that nobody but root may have written. sys/atomic-file writes them. */
#pragma once

#include <stddef.h>

/* Makes the folder (0700) where it is not there, and opens it. -EPERM: it is somebody else's, or
 * others may write to it; -ENOTDIR; -ELOOP: it is a link. */
int private_dir_open(int parent_fd, const char *name, int *ret_fd);

/* Reads a whole file of such a folder, and terminates it. -EPERM: it is not a plain file, not ours,
 * or others may write to it; -EFBIG: more than `max` bytes; -EAGAIN: it changes just now. The
 * caller owns the text. */
int private_file_read(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_size);
