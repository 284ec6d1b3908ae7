/* State and watchdog pings for the service manager, see sd_notify(3). sd_notify() itself waits
 * while the socket is full: the manager may be busy, and any user may write to its socket. Here
 * nothing waits: a state that could not be sent is sent again until it is accepted, and a watchdog
 * ping that could not be sent is followed by the next one. */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/base/cleanup.h"

/* All zeroes: there is no service manager to notify. */
typedef struct Notifier {
        char *path; /* of the manager's socket; '@' begins an abstract one; NULL: none; owned */
        sd_event *event; /* borrowed */
        int fd;          /* with `path` */
        char *pending;   /* the state that was not taken yet; owned */
        sd_event_source *retry, *watchdog;
        uint64_t ping_usec;
} Notifier;

/* Takes the socket from the environment. */
void notify_init(Notifier *notifier, sd_event *event);
void notify_done(Notifier *notifier);

/* "READY=1\nSTATUS=…". */
void notify_state(Notifier *notifier, const char *format, ...) _printf_(2, 3);

/* Sends watchdog pings from the loop, if the service manager has enabled the watchdog. */
int notify_start_watchdog(Notifier *notifier);
