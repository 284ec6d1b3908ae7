/* Small files of the kernel (/proc, /sys, control groups) by the descriptor of a folder, such as a
 * Sysroot has, and the path below it as printf(3) makes it.
 *
 * All return negative errno and leave the output untouched then: -ENOENT: not there; -ESRCH: the
 * task behind it ended; -EFBIG: larger than expected; -ENAMETOOLONG: no such path can be. Files in
 * /proc vanish and belong to other users' processes, so that no size is trusted, and no file is
 * waited for (O_NONBLOCK). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

/* A whole file, terminated; a final newline is cut off. Returns the length. -EFBIG: more than
 * size - 1 bytes. */
ssize_t path_read(int dir_fd, char *buffer, size_t size, const char *format, ...) _printf_(4, 5);

/* The same for a file of /proc that the kernel writes as one record, such as those that identify
 * a task: the first read(2) returns all of it, and a second one nothing. */
ssize_t path_read_record(int dir_fd, char *buffer, size_t size, const char *format, ...)
        _printf_(4, 5);

/* The same for a file of any length, with all its newlines, into new memory that the caller owns
 * (up to 64 MiB). `ret_size` may be NULL. */
int path_read_alloc(int dir_fd, char **ret, size_t *ret_size, const char *format, ...)
        _printf_(4, 5);

/* The beginning of a file, as much as fits, terminated. Returns the length. */
ssize_t path_read_start(int dir_fd, char *buffer, size_t size, const char *format, ...)
        _printf_(4, 5);

/* A file that holds one number, at most `max`. -EINVAL: something else; -ERANGE. */
int path_read_u64(int dir_fd, uint64_t max, uint64_t *ret, const char *format, ...) _printf_(4, 5);
int path_read_u32(int dir_fd, uint32_t max, uint32_t *ret, const char *format, ...) _printf_(4, 5);

/* A list of CPUs or nodes, "0-3,8", and a mask of them, "00000001,000000ff". -EINVAL, -ERANGE. */
#define path_read_list(dir_fd, set, ...) path_read_list_to((dir_fd), ID_TARGET(set), __VA_ARGS__)
#define path_read_mask(dir_fd, set, ...) path_read_mask_to((dir_fd), ID_TARGET(set), __VA_ARGS__)
int path_read_list_to(int dir_fd, IdTarget ret, const char *format, ...) _printf_(3, 4);
int path_read_mask_to(int dir_fd, IdTarget ret, const char *format, ...) _printf_(3, 4);

/* The text of a link, terminated. Returns its length. -EINVAL: no link; -ENAMETOOLONG: size - 1
 * bytes do not hold it. */
ssize_t path_read_link(int dir_fd, char *buffer, size_t size, const char *format, ...)
        _printf_(4, 5);

/* The last part of what a link points to. The caller owns it. -ENOENT: no link. */
int path_read_link_name(int dir_fd, char **ret, const char *format, ...) _printf_(3, 4);

/* Makes a path that of the folder above. False: it has none, and stays. */
bool path_cut_last(char *path);

bool path_exists(int dir_fd, const char *format, ...) _printf_(2, 3);

/* openat(2) with O_CLOEXEC, or negative errno. */
int path_open(int dir_fd, int flags, const char *format, ...) _printf_(3, 4);

/* Opens a folder, for path_next(). -ENOENT: there is none, or it is no folder. */
int path_open_dir(int dir_fd, DIR **ret, const char *format, ...) _printf_(3, 4);

/* The names of its entries one after the other, in any order, but for those with a leading dot.
 * NULL: there are no more; also of NULL. */
const char *path_next(DIR *dir);

typedef struct FileIdentity {
        dev_t dev;
        ino_t ino; /* 0: not known */
} FileIdentity;

/* Follows links. A process may have its root on a file system that does not answer (FUSE): only
 * what the kernel has cached is requested. "" is `dir_fd` itself. -ESRCH: not there. */
int path_identify(int dir_fd, FileIdentity *ret, const char *format, ...) _printf_(3, 4);

/* --- by a descriptor of the file --- */

/* Reads until the end or until `size` bytes: files of /proc may answer in pieces. Returns the
 * length, or negative errno. */
ssize_t read_up_to(int fd, char *buffer, size_t size);

int write_all(int fd, const char *data, size_t size); /* 0 or negative errno */

/* fdopendir(3), which takes over the descriptor also when it fails; NULL with errno. */
DIR *dir_from_fd(int fd);
