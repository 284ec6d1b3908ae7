/* Opening a directory as a process with another root directory would. */
#pragma once

#include <stdbool.h>

/* O_PATH: it opens nothing on the file system. Absolute links and ".." stay below `root_fd`.
 * Nothing goes through a magic link of /proc, which leads anywhere. -ENOENT; -ENOTDIR; -ELOOP: a
 * magic link, or too many links; other negative errno. */
int open_below(int root_fd, const char *path);

/* The same without openat2(2), by one name after the other, for kernels before 5.6. Who renames
 * directories meanwhile may have it end elsewhere: good for a look, not for a decision on access.
 */
int open_below_walk(int root_fd, const char *path);

/* Is one of its names ".."? */
bool path_has_dot_dot(const char *path);
