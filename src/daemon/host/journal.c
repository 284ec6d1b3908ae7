/* The log, with its limits for what any user can cause, and the notifications of the service
 * manager. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/host/journal.h"
#include "tidbnumad/sys/clock.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

#define MINUTE_USEC (UINT64_C(60) * 1000 * 1000)

/* PIPE_BUF, pipe(7). */
enum { LINE_MAX_BYTES = 4096 };

void journal_init(Journal *journal, bool debug) {
        const char *stream = getenv("JOURNAL_STREAM");
        uintmax_t device, inode;
        struct stat st;

        *journal = (Journal){
                .path = JOURNAL_SOCKET,
                .max_priority = debug ? LOG_DEBUG : LOG_INFO,
        };
        /* systemd identifies the file of stderr in JOURNAL_STREAM=, see systemd.exec(5). */
        if (!stream || sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) != 2 ||
            fstat(STDERR_FILENO, &st) < 0 || st.st_dev != device || st.st_ino != inode)
                return;
        journal->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        journal->to_journal = journal->fd >= 0;
}

void journal_done(Journal *journal) {
        if (journal->to_journal)
                (void)close(journal->fd);
        journal->to_journal = false;
}

/* One datagram, by the journal's native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): no value has
 * a newline. sd_journal_sendv() would wait while journald takes nothing. */
static int send_to_journal(const Journal *journal, int priority, const JournalFields *f,
                           const char *message) {
        char number[2] = { (char)('0' + (priority & 7)), '\0' };
        const char *const names[] = { "MESSAGE",          "PRIORITY",
                                      "MESSAGE_ID",       "TIDBNUMAD_INSTANCE",
                                      "TIDBNUMAD_POLICY", "TIDBNUMAD_REASON",
                                      "SYSLOG_IDENTIFIER" };
        const char *const values[] = {
                message,     number,    f->message_id,
                f->instance, f->policy, f->reason ? reason_to_string(f->reason) : NULL,
                "tidbnumad"
        };
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct iovec fields[ELEMENTSOF(names)];
        struct msghdr datagram = { .msg_name = &address,
                                   .msg_namelen = sizeof(address),
                                   .msg_iov = fields };
        Text storage[ELEMENTSOF(names)] = { 0 };
        int r;

        (void)stpncpy(address.sun_path, journal->path, sizeof(address.sun_path) - 1);
        /* Values contain names and command lines, which processes choose. */
        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                if (!values[i])
                        continue;
                text_appendf(&storage[i], "%s=", names[i]);
                text_append_printable(&storage[i], values[i]);
                text_append(&storage[i], "\n");
                if (storage[i].error >= 0)
                        fields[datagram.msg_iovlen++] =
                                (struct iovec){ .iov_base = storage[i].data,
                                                .iov_len = storage[i].length };
        }
        r = sendmsg(journal->fd, &datagram, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                text_done(&storage[i]);
        return r;
}

static void put_line(const Journal *journal, int priority, const JournalFields *fields,
                     const char *message) {
        static const JournalFields none = { 0 };
        struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };
        _cleanup_text_ Text line = { 0 };

        if (journal->to_journal &&
            send_to_journal(journal, priority, fields ? fields : &none, message) >= 0)
                return;
        text_append_printable(&line, message);
        text_append(&line, "\n");
        if (line.error < 0)
                return;
        if (line.length > LINE_MAX_BYTES) {
                line.length = LINE_MAX_BYTES;
                line.data[LINE_MAX_BYTES - 1] = '\n';
        }
        /* If the reader takes nothing, the line is lost. A pipe or terminal that is ready accepts a
         * line of this length without waiting. */
        if (poll(&p, 1, 0) > 0 && (p.revents & POLLOUT))
                (void)!write(STDERR_FILENO, line.data, line.length);
}

/* --- limits --- */

static void limit_tell_left_out(const Journal *journal, JournalLimit *limit) {
        const JournalFields fields = { .policy = *limit->policy ? limit->policy : NULL };
        char message[384];

        if (limit->n_left_out == 0)
                return;
        (void)snprintf(message, sizeof(message),
                       "%u further messages%s%s within a minute were left out%s%s",
                       limit->n_left_out, *limit->policy ? " about instances of the policy " : "",
                       limit->policy,
                       *limit->last ? ", the last of them: "
                                    : ": processes start or change again and again",
                       limit->last);
        limit->n_left_out = 0;
        put_line(journal, LOG_WARNING, &fields, message);
}

/* Counts a message of that kind, or, with NULL, of all kinds of the policy. Returns NULL if it is
 * within the limit. */
static JournalLimit *limit_exceeded(const Journal *journal, const char *policy, const char *kind,
                                    unsigned max) {
        const uint64_t now = clock_monotonic_usec();
        const uint64_t key = hash_bytes(HASH_BEGIN ^ (uintptr_t)kind, policy, strlen(policy));
        JournalLimit *limit = NULL, *over = NULL;

        /* Its own one, else one whose minute is over, else one that it shares. */
        for (size_t i = 0; i < JOURNAL_LIMITS && !limit; i++) {
                if (journal->limits[i].key == key)
                        limit = &journal->limits[i];
                else if (now >= journal->limits[i].until_usec && !over)
                        over = &journal->limits[i];
        }
        if (!limit)
                limit = over ? over : &journal->limits[key % JOURNAL_LIMITS];
        if (now >= limit->until_usec) {
                limit_tell_left_out(journal, limit);
                *limit = (JournalLimit){ .key = key, .until_usec = now + MINUTE_USEC };
                (void)snprintf(limit->policy, sizeof(limit->policy), "%s", policy);
        }
        if (limit->n++ < max)
                return NULL;
        limit->n_left_out++;
        return limit;
}

void journal_tell_left_out(const Journal *journal) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t i = 0; journal->limits && i < JOURNAL_LIMITS; i++)
                if (now >= journal->limits[i].until_usec)
                        limit_tell_left_out(journal, &journal->limits[i]);
}

void journal_log(const Journal *journal, int priority, const JournalFields *fields,
                 const char *format, ...) {
        const char *policy = fields && fields->policy ? fields->policy : "";
        const bool is_repeatable = priority <= LOG_NOTICE && fields &&
                                   (fields->repeats || fields->policy || fields->instance);
        _cleanup_free_ char *message = NULL;
        JournalLimit *limit = NULL;
        va_list args;
        int n;

        if (priority > journal->max_priority)
                return;
        va_start(args, format);
        n = vasprintf(&message, format, args);
        va_end(args);
        if (n < 0) {
                message = NULL;
                return;
        }
        if (journal->limits && priority > LOG_ERR) {
                if (is_repeatable)
                        limit = limit_exceeded(journal, policy, format, JOURNAL_KIND_MAX);
                if (limit) {
                        (void)snprintf(limit->last, sizeof(limit->last), "%s", message);
                        return;
                }
                if (limit_exceeded(journal, policy, NULL, JOURNAL_LINES_MAX))
                        return;
        }
        put_line(journal, priority, fields, message);
}

/* Datagrams to the service manager, without waiting for it. */

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
        if (send_text(n, text) == -EAGAIN &&
            (n->retry ? event_source_arm_after(n->retry, RETRY_USEC)
                      : event_source_add_after(n->event, &n->retry, RETRY_USEC, on_retry, n)) >= 0)
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
