/* What the service manager is sent, and that the daemon does not wait for it. */
#include <sys/socket.h>
#include <sys/un.h>

#include "../../support/test.h"

#include "tidbnumad/daemon/host/journal.h"

/* SIGALRM ends a test that waits. */
enum { PATIENCE_SECONDS = 20 };

typedef struct Manager {
        int fd;                     /* as the service manager has it */
        struct sockaddr_un address; /* abstract; the kernel chooses one that nobody else has */
        socklen_t address_size;
        sd_event *event;
        Notifier notifier;
} Manager;

static void manager_init(Manager *m) {
        char name[sizeof(m->address.sun_path) + 1] = "@";

        (void)alarm(PATIENCE_SECONDS);
        m->address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        m->address_size = sizeof(m->address);
        m->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(m->fd >= 0);
        assert_int_equal(bind(m->fd, (const struct sockaddr *)&m->address, sizeof(sa_family_t)), 0);
        assert_int_equal(getsockname(m->fd, (struct sockaddr *)&m->address, &m->address_size), 0);
        memcpy(&name[1], &m->address.sun_path[1],
               m->address_size - offsetof(struct sockaddr_un, sun_path) - 1);
        assert_int_equal(sd_event_new(&m->event), 0);
        assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
        notify_init(&m->notifier, m->event);
        assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
}

static void manager_done(Manager *m) {
        notify_done(&m->notifier);
        sd_event_unref(m->event);
        (void)close(m->fd);
        (void)alarm(0);
}
#define MANAGER_TEST(test) TEST_WITH(test, Manager, m, manager_init, manager_done)

/* The next datagram; "": none. */
static const char *hears(const Manager *m, char buffer[static 256]) {
        ssize_t n = recv(m->fd, buffer, 255, 0);

        assert_true(n >= 0 || errno == EAGAIN);
        buffer[n < 0 ? 0 : n] = '\0';
        return buffer;
}

/* As any user can. */
static void crowd(const Manager *m) {
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        assert_true(fd >= 0);
        while (sendto(fd, "crowd", 5, 0, (const struct sockaddr *)&m->address, m->address_size) ==
               5)
                ;
        assert_int_equal(errno, EAGAIN);
        (void)close(fd);
}

static void disperse(const Manager *m) {
        char text[256];

        while (strcmp(hears(m, text), "crowd") == 0)
                ;
        assert_string_equal(text, "");
}

MANAGER_TEST(a_state_is_heard) {
        char text[256];

        notify_state(&m->notifier, "READY=1\nSTATUS=%u policies", 3);
        assert_string_equal(hears(m, text), "READY=1\nSTATUS=3 policies");
        assert_string_equal(hears(m, text), "");
}

MANAGER_TEST(a_socket_that_nobody_reads_is_not_waited_for) {
        char text[256];

        crowd(m);
        notify_state(&m->notifier, "RELOADING=1");
        notify_state(&m->notifier, "READY=1");
        assert_true(sd_event_run(m->event, UINT64_MAX) > 0); /* in vain, and another time */
        disperse(m);
        assert_true(sd_event_run(m->event, UINT64_MAX) > 0);
        assert_string_equal(hears(m, text), "READY=1"); /* the state of now alone */
        assert_string_equal(hears(m, text), "");
}

MANAGER_TEST(what_was_sent_meanwhile_is_not_followed_by_an_older_state) {
        char text[256];

        crowd(m);
        notify_state(&m->notifier, "READY=1");
        disperse(m);
        notify_state(&m->notifier, "STOPPING=1");
        assert_string_equal(hears(m, text), "STOPPING=1");
        assert_true(sd_event_run(m->event, UINT64_MAX) > 0);
        assert_string_equal(hears(m, text), "");
}

MANAGER_TEST(the_watchdog) {
        char text[256];

        assert_int_equal(notify_start_watchdog(&m->notifier), 0); /* not wanted */
        assert_int_equal(sd_event_run(m->event, 0), 0);
        assert_int_equal(setenv("WATCHDOG_USEC", "40000", 1), 0);
        crowd(m);
        assert_true(notify_start_watchdog(&m->notifier) >= 0);
        assert_int_equal(unsetenv("WATCHDOG_USEC"), 0);
        assert_true(sd_event_run(m->event, UINT64_MAX) > 0); /* lost */
        disperse(m);
        for (unsigned i = 0; i < 3; i++) {
                assert_true(sd_event_run(m->event, UINT64_MAX) > 0);
                assert_string_equal(hears(m, text), "WATCHDOG=1");
        }
}

TEST(nobody_to_tell) {
        static const char *const paths[] = { NULL, "", "relative", "vsock:2:1",
                                             "/nonexistent/notify" };

        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
                Notifier notifier;

                if (paths[i])
                        assert_int_equal(setenv("NOTIFY_SOCKET", paths[i], 1), 0);
                notify_init(&notifier, NULL);
                notify_state(&notifier, "READY=1");
                notify_done(&notifier);
                assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
        }
}

TEST_GROUP(NULL, NULL)
