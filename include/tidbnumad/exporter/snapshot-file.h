/* The files that the daemon publishes, as read by the exporter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"

/* Above this a published file is not plausible: 64 instances on 16 nodes are half a megabyte. It is
 * also what keeps the exporter small, which keeps the files in memory. */
#define SNAPSHOT_FILE_MAX ((size_t)4 << 20)

/* Which snapshot it is: the daemon writes each into a new file. */
typedef struct SnapshotId {
        dev_t device;
        ino_t inode;
        off_t size;
        int64_t mtime_nsec; /* since the epoch */
} SnapshotId;

typedef struct SnapshotFile {
        char *data; /* NUL-terminated; owned */
        size_t size;
        SnapshotId id;
} SnapshotFile;

void snapshot_file_done(SnapshotFile *file);
#define _cleanup_snapshot_file_ _cleanup_(snapshot_file_done)

/* Opens `name` in `directory`. The directory is opened anew each time: it may have been made again.
 * -ENOENT: no directory or no such file; -ELOOP: a symbolic link; -EBADF: not a regular file;
 * -EFBIG: larger than SNAPSHOT_FILE_MAX; other negative errno. */
int snapshot_file_open(const char *directory, const char *name, SnapshotId *ret_id, int *ret_fd);

/* Reads the whole of it. The daemon renames a new file into place, so this is always one whole
 * snapshot. One byte can be appended, with a NUL after it. */
int snapshot_file_read_fd(int fd, const SnapshotId *id, SnapshotFile *ret);

bool snapshot_id_equal(const SnapshotId *a, const SnapshotId *b);

/* How old it is at the time `now_seconds` since the epoch. A clock that was set back does not make
 * a snapshot of the future: then 0. */
double snapshot_id_age(const SnapshotId *id, double now_seconds);
