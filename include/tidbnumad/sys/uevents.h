/* The kernel's events of devices that come and go, as udev passes them on (udev(7)). */
#pragma once

#include <systemd/sd-event.h>

/* A device was added or removed: the handler reads the present state. */
typedef void (*UeventsHandler)(void *userdata);

typedef struct Uevents {
        struct sd_device_monitor *monitor; /* owned */
        UeventsHandler handler;
        void *userdata;
} Uevents;

/* Events of these subsystems (a list that NULL ends) but of no virtual device. `uevents` must stay
 * where it is until uevents_close(). Without udev no event ever comes, and that is no error.
 * -EOPNOTSUPP: built with libsystemd 239, which has no sd-device(3). */
int uevents_open(Uevents *uevents, sd_event *event, const char *const *subsystems,
                 UeventsHandler handler, void *userdata);
void uevents_close(Uevents *uevents);
