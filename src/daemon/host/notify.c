/* Datagrams to the service manager, without waiting for it. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "tidbnumad/daemon/host/notify.h"
#include "tidbnumad/sys/clock.h"

#define RETRY_USEC (UINT64_C(100) * 1000)

/* sd_watchdog_enabled(3) recommends half of the interval; some pings may be lost. */
enum { PINGS_AN_INTERVAL = 4 };

void notify_init(Notifier *n, sd_event *event) {
        const char *path = getenv("NOTIFY_SOCKET");

        *n = (Notifier){ .event = event };
        if (!path || (path[0] != '/' && path[0] != '@'))
                return;
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        n->path = n->fd < 0 ? NULL : strdup(path);
        if (!n->path)
                closep(&n->fd);
}

void notify_done(Notifier *n) {
        event_source_drop(n->retry);
        event_source_drop(n->watchdog);
        if (n->path)
                (void)close(n->fd);
        free(n->path);
        free(n->pending);
        *n = (Notifier){ 0 };
}

static int send_text(const Notifier *n, const char *text) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const size_t length = strlen(n->path);

        if (length >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        memcpy(address.sun_path, n->path, length);
        if (address.sun_path[0] == '@')
                address.sun_path[0] = '\0';
        return sendto(n->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                      (const struct sockaddr *)&address,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0
                       ? -errno
                       : 0;
}

static int on_retry(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Notifier *n = userdata;

        if (n->pending && send_text(n, n->pending) == -EAGAIN)
                return event_source_arm_after(source, RETRY_USEC);
        free(n->pending);
        n->pending = NULL;
        return 0;
}

static int retry_later(Notifier *n) {
        return n->retry ? event_source_arm_after(n->retry, RETRY_USEC)
                        : event_source_add_after(n->event, &n->retry, RETRY_USEC, on_retry, n);
}

/* A state that waits is out of date: the new one takes its place. */
void notify_state(Notifier *n, const char *format, ...) {
        char *text;
        va_list args;
        int length;

        if (!n->path)
                return;
        va_start(args, format);
        length = vasprintf(&text, format, args);
        va_end(args);
        if (length < 0)
                return;
        free(n->pending);
        n->pending = NULL;
        if (send_text(n, text) == -EAGAIN && retry_later(n) >= 0)
                n->pending = TAKE_PTR(text);
        free(text);
}

static int on_ping(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        const Notifier *n = userdata;

        (void)send_text(n, "WATCHDOG=1");
        return event_source_arm_after(source, n->ping_usec);
}

int notify_start_watchdog(Notifier *n) {
        uint64_t interval_usec;
        int r = n->path ? sd_watchdog_enabled(false, &interval_usec) : 0;

        if (r <= 0)
                return r;
        n->ping_usec = interval_usec / PINGS_AN_INTERVAL;
        r = event_source_add_after(n->event, &n->watchdog, 0, on_ping, n);
        return r < 0 ? r : sd_event_source_set_priority(n->watchdog, SD_EVENT_PRIORITY_IMPORTANT);
}
