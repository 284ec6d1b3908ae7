/* A runtime directory with files of chosen age, and a client that speaks no more HTTP than it is
 * told to. */
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"

typedef struct Fixture {
        char dir[64];
        char socket_path[96];
        char path[96]; /* fixture_path()'s */
} Fixture;

static inline void fixture_init(Fixture *f) {
        (void)snprintf(f->dir, sizeof(f->dir), "/tmp/exporter-test-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        (void)snprintf(f->socket_path, sizeof(f->socket_path), "%s/metrics.sock", f->dir);
}

static inline void fixture_done(Fixture *f) {
        static const char *const names[] = { "metrics.prom", "status.json", "metrics.sock",
                                             "target" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                (void)unlink(fmt("%s/%s", f->dir, names[i]));
        }
        (void)rmdir(f->dir);
}

static inline const char *fixture_path(Fixture *f, const char *name) {
        (void)snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, name);
        return f->path;
}

/* Puts a file in place as the daemon does, by a rename, and makes it `age_seconds` old at the time
 * `now_seconds`. */
static inline void fixture_write(const Fixture *f, const char *name, const char *data, size_t size,
                                 double now_seconds, double age_seconds) {
        double mtime = now_seconds - age_seconds;
        struct timespec times[2] = { { .tv_sec = (time_t)mtime } };
        _cleanup_close_ int fd = -EBADF;
        char path[128], fresh[160];

        times[0].tv_nsec = (long)((mtime - (double)times[0].tv_sec) * 1e9);
        times[1] = times[0];
        (void)snprintf(path, sizeof(path), "%s/%s", f->dir, name);
        (void)snprintf(fresh, sizeof(fresh), "%s.new", path);
        fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, data, size), size);
        assert_int_equal(futimens(fd, times), 0);
        assert_int_equal(rename(fresh, path), 0);
}

static inline double fixture_now(void) {
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static inline int client_try_connect(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
                return fd;
        (void)close(fd);
        return -errno;
}

static inline int client_connect(const char *path) {
        int fd = client_try_connect(path);

        assert_true(fd >= 0);
        return fd;
}

static inline void client_send(int fd, const char *data) {
        size_t length = strlen(data);

        assert_int_equal(send(fd, data, length, MSG_NOSIGNAL), length);
}

/* Everything up to the end that the server makes; 5 s without a byte are a failure. */
static inline void client_receive(int fd, Text *answer) {
        char buffer[4096];
        ssize_t n;

        for (;;) {
                struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

                assert_int_equal(poll(&poll_fd, 1, 5000), 1);
                n = read(fd, buffer, sizeof(buffer) - 1);
                if (n == 0 || (n < 0 && errno == ECONNRESET))
                        return;
                assert_true(n > 0);
                buffer[n] = '\0';
                text_append(answer, buffer);
        }
}

static inline void client_request(const char *socket_path, const char *method, const char *path,
                                  Text *answer) {
        _cleanup_close_ int fd = client_connect(socket_path);
        char request[256];

        (void)snprintf(request, sizeof(request),
                       "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method, path);
        client_send(fd, request);
        client_receive(fd, answer);
}

static inline void assert_starts_with(const char *text, const char *start) {
        if (!text || strncmp(text, start, strlen(start)) != 0)
                fail_msg("'%s' does not start with '%s'", text ? text : "(nothing)", start);
}

static inline void assert_contains(const char *text, const char *part) {
        if (!text || !strstr(text, part))
                fail_msg("'%s' does not contain '%s'", text ? text : "(nothing)", part);
}

static inline const char *body_of(const char *answer) {
        const char *end = answer ? strstr(answer, "\r\n\r\n") : NULL;

        if (!end)
                fail_msg("'%s' is not an HTTP answer", answer ? answer : "(nothing)");
        return end + 4;
}
