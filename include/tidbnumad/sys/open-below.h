/* Opening a directory as a process with another root directory would. */
#pragma once

#include <stdbool.h>

/* O_PATH: it opens nothing on the file system. Absolute links and ".." stay below `root_fd`. A
 * magic link of /proc, which can lead anywhere, is not followed. -ENOENT; -ENOTDIR; -ELOOP: a magic
 * link, or too many links; other negative errno. */
int open_below(int root_fd, const char *path);

/* The same without openat2(2), one path component after the other, for kernels before 5.6. A
 * process that renames directories at the same time can make the path end elsewhere: use the result
 * for information only, not for a decision on access. */
int open_below_walk(int root_fd, const char *path);

/* Is one of its names ".."? */
bool path_has_dot_dot(const char *path);
