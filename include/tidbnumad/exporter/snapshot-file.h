/* The files that the daemon publishes, as read by the exporter. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/cleanup.h"

/* Above this a published file is not plausible: about ten thousand instances on eight nodes. */
#define SNAPSHOT_FILE_MAX ((size_t)16 << 20)

typedef struct SnapshotFile {
        char *data; /* NUL-terminated; owned */
        size_t size;
        double mtime_seconds; /* when the daemon wrote it, since the epoch */
} SnapshotFile;

void snapshot_file_done(SnapshotFile *file);
#define _cleanup_snapshot_file_ _cleanup_(snapshot_file_done)

/* Reads the whole of `name` in `directory`. The daemon renames a new file into place, so this is
 * always one whole snapshot. The directory is opened anew each time: it may have been made again.
 * -ENOENT: no directory or no such file; -ELOOP: a symbolic link; -EBADF: not a regular file;
 * -EFBIG: larger than SNAPSHOT_FILE_MAX; other negative errno. */
int snapshot_file_read(const char *directory, const char *name, SnapshotFile *ret);
