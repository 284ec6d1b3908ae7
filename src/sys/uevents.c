#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "config.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/uevents.h"

#if HAVE_SD_DEVICE
#include <systemd/sd-device.h>

/* Interfaces of containers come and go all day. */
static bool is_virtual(sd_device *device) {
        static const char folder[] = "/sys/devices/virtual/";
        const char *path;

        return sd_device_get_syspath(device, &path) >= 0 &&
               strncmp(path, folder, strlen(folder)) == 0;
}

static int on_event(_unused_ sd_device_monitor *monitor, sd_device *device, void *userdata) {
        const Uevents *uevents = userdata;

        if (!is_virtual(device))
                uevents->handler(uevents->userdata);
        return 0;
}

static int open_monitor(Uevents *uevents, sd_event *event, const char *const *subsystems) {
        int r = sd_device_monitor_new(&uevents->monitor);

        /* The kernel filters: a host has thousands of other events. */
        for (size_t i = 0; r >= 0 && subsystems[i]; i++)
                r = sd_device_monitor_filter_add_match_subsystem_devtype(uevents->monitor,
                                                                         subsystems[i], NULL);
        if (r >= 0)
                r = sd_device_monitor_attach_event(uevents->monitor, event);
        return r < 0 ? r : sd_device_monitor_start(uevents->monitor, on_event, uevents);
}

static void close_monitor(Uevents *uevents) {
        sd_device_monitor_unref(uevents->monitor);
}

#else

static int open_monitor(_unused_ Uevents *uevents, _unused_ sd_event *event,
                        _unused_ const char *const *subsystems) {
        return -EOPNOTSUPP;
}

static void close_monitor(_unused_ Uevents *uevents) {}

#endif

int uevents_open(Uevents *uevents, sd_event *event, const char *const *subsystems,
                 UeventsHandler handler, void *userdata) {
        int r;

        *uevents = (Uevents){ .handler = handler, .userdata = userdata };
        r = open_monitor(uevents, event, subsystems);
        if (r < 0)
                uevents_close(uevents);
        return r < 0 ? r : 0;
}

void uevents_close(Uevents *uevents) {
        close_monitor(uevents);
        *uevents = (Uevents){ 0 };
}
