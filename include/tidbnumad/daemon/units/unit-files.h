/* Watches unit files: a new file is noticed before systemd is asked to load it, which leaves time
 * to prepare a unit whose start follows the reload at once. */
#pragma once

#include <systemd/sd-event.h>

enum { UNIT_FILES_DIRS = 4 };

typedef void (*UnitFilesHandler)(const char *name, void *userdata);

typedef struct UnitFiles {
        sd_event_source *sources[UNIT_FILES_DIRS]; /* NULL: that folder is not there */
        UnitFilesHandler handler;
        void *userdata;
} UnitFiles;

/* Calls the handler with the name of each file that was written and closed, or moved into one of
 * systemd's folders for unit files. Where a folder cannot be watched, systemd's own signals have to
 * do. */
void unit_files_watch(UnitFiles *files, sd_event *event, UnitFilesHandler handler, void *userdata);
void unit_files_done(UnitFiles *files);
