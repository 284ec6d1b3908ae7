/* The directories of /proc and /sys that everything is read through, so that the dump of
 * another machine can be put under the real program (--sysroot). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"

typedef struct FileIdentity {
        dev_t dev;
        ino_t ino; /* 0: not known */
} FileIdentity;

enum { SYSROOT_NAMESPACES = 4 };

typedef struct Sysroot {
        int proc_fd;   /* <root>/proc */
        int sys_fd;    /* <root>/sys */
        int cgroup_fd; /* <root>/sys/fs/cgroup, or -EBADF where there is none */
        bool live;     /* this machine itself: things may be changed */
        FileIdentity namespaces[SYSROOT_NAMESPACES]; /* our own, where live; see proc-namespace.h */
        char *path; /* the root as given, "/" for the live machine; owned */
} Sysroot;

#define SYSROOT_NONE                                                                               \
        (Sysroot) {                                                                                \
                .proc_fd = -EBADF, .sys_fd = -EBADF, .cgroup_fd = -EBADF                           \
        }

/* `path` NULL: this machine. -ENOENT: no proc or no sys below it. */
int sysroot_open(const char *path, Sysroot *ret);
void sysroot_close(Sysroot *sysroot);
#define _cleanup_sysroot_ _cleanup_(sysroot_close)

/* Reads until the end or until `size` bytes: files of /proc may answer in pieces. Returns the
 * length, or negative errno. */
ssize_t read_up_to(int fd, char *buffer, size_t size);

int write_all(int fd, const char *data, size_t size); /* 0 or negative errno */

/* Reads a whole small file into `buffer` and terminates it; a final newline is cut off.
 * Returns the length. -ENOENT: not there; -ESRCH: the task behind it ended; -EFBIG: more than
 * size - 1 bytes; other negative errno. */
ssize_t read_file_at(int dir_fd, const char *path, char *buffer, size_t size);

/* The same for a file of /proc that the kernel writes as one record, such as those that identify
 * a task: the first read(2) returns all of it, and a second one nothing. */
ssize_t read_record_at(int dir_fd, const char *path, char *buffer, size_t size);

/* The same for a file of any length, into new memory that the caller owns (up to 64 MiB). */
int read_file_alloc_at(int dir_fd, const char *path, char **ret, size_t *ret_size);
