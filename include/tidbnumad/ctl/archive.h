/* A folder that lasts as long as a command, and what `gather` makes of one, unpacked again. */
#pragma once

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/error.h"

typedef struct TemporaryFolder {
        char path[64]; /* "": none */
        int fd;
} TemporaryFolder;

#define TEMPORARY_FOLDER_NONE                                                                      \
        (TemporaryFolder) {                                                                        \
                .fd = -EBADF                                                                       \
        }

/* Below $TMPDIR or /tmp. 0, or negative errno. */
int temporary_folder_make(TemporaryFolder *ret, Error *error);
void temporary_folder_done(TemporaryFolder *folder);
#define _cleanup_temporary_folder_ _cleanup_(temporary_folder_done)

/* 0; -EIO: tar failed, after a message of its own; other negative errno. */
int archive_unpack(const char *archive, const TemporaryFolder *folder);
