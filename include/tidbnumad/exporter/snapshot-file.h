/* Reads the files that the daemon publishes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"

/* A larger file is not plausible: 64 instances on 16 nodes take half a megabyte. The limit also
 * bounds the exporter's memory, as it keeps the files there. */
#define SNAPSHOT_FILE_MAX ((size_t)4 << 20)

/* Identifies a snapshot: the daemon writes each one into a new file. */
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

/* Opens `name` in `directory`. The directory is opened each time, as it may have been replaced.
 * -ENOENT: no directory or no such file; -ELOOP: a symbolic link; -EBADF: not a regular file;
 * -EFBIG: larger than SNAPSHOT_FILE_MAX; other negative errno. */
int snapshot_file_open(const char *directory, const char *name, SnapshotId *ret_id, int *ret_fd);

/* Reads the whole file. The daemon renames a new file into place, so this is always one complete
 * snapshot. One byte can be appended to it, and a NUL follows. */
int snapshot_file_read_fd(int fd, const SnapshotId *id, SnapshotFile *ret);

bool snapshot_id_equal(const SnapshotId *a, const SnapshotId *b);

/* Age at the time `now_seconds` since the epoch. 0 if the clock was set back to before the
 * snapshot. */
double snapshot_id_age(const SnapshotId *id, double now_seconds);
