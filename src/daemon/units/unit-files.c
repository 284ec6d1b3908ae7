/* Watches unit files. systemd decides which of them count and what they contain. */
#include <sys/inotify.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/daemon/units/unit-files.h"

/* systemd.unit(5), "System Unit Search Path": the folders that administrators and packages write
 * to. */
static const char *const DIRS[UNIT_FILES_DIRS] = {
        "/etc/systemd/system",
        "/run/systemd/system",
        "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",
};

static int on_file(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        const UnitFiles *files = userdata;

        (void)source;
        if (event->len > 0 && !(event->mask & IN_ISDIR))
                files->handler(event->name, files->userdata);
        return 0;
}

void unit_files_watch(UnitFiles *files, sd_event *event, UnitFilesHandler handler, void *userdata) {
        *files = (UnitFiles){ .handler = handler, .userdata = userdata };
        /* Not IN_CREATE: systemd would load the unit from a file that is still empty. */
        for (size_t i = 0; i < ELEMENTSOF(DIRS); i++)
                if (sd_event_add_inotify(event, &files->sources[i], DIRS[i],
                                         IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR, on_file,
                                         files) < 0)
                        files->sources[i] = NULL;
}

void unit_files_done(UnitFiles *files) {
        for (size_t i = 0; i < ELEMENTSOF(files->sources); i++)
                files->sources[i] = sd_event_source_unref(files->sources[i]);
}
