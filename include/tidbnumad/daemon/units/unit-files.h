/* Unit files as they are written: heard of before systemd is told to read them, which leaves time
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

/* The handler gets the name of whatever was written to, and closed, or moved into one of systemd's
 * folders for unit files. What cannot be watched is left to systemd's own signals. */
void unit_files_watch(UnitFiles *files, sd_event *event, UnitFilesHandler handler, void *userdata);
void unit_files_done(UnitFiles *files);
