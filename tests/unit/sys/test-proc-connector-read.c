/* Reading in batches: first from a pair of unix sockets, then what the kernel itself sends, where
 * it lets us listen. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../support/connector-messages.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/proc-connector.h"

/* What never ends is ended by the alarm's signal. */
enum { PATIENCE_SECONDS = 60, THREADS = 1000 };

static int open_or_skip(size_t receive_buffer_bytes) {
        int fd = -EBADF;
        int r = proc_connector_open(receive_buffer_bytes, &fd);

        if (r < 0) {
                print_message("no process connector here: %s\n", strerror(-r));
                assert_int_equal(fd, -EBADF);
                skip();
        }
        return fd;
}

/* The child takes another name and another owner where it may; exec needs a program. */
static pid_t start_child(void) {
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                (void)prctl(PR_SET_NAME, "renamed");
                if (setuid(65534) == 0)
                        (void)execl("/bin/true", "true", (char *)NULL);
                _exit(1);
        }
        return pid;
}

typedef struct Wanted {
        pid_t pid;
        unsigned seen; /* bits by kind */
} Wanted;

static void note_wanted(const ProcEvent *event, void *userdata) {
        Wanted *w = userdata;

        if (event->pid != w->pid)
                return;
        if (event->kind != PROC_KIND_FORK || event->parent == getpid())
                w->seen |= 1U << event->kind;
}

static void test_kernel(void **state) {
        const unsigned all = 1U << PROC_KIND_FORK | 1U << PROC_KIND_COMM | 1U << PROC_KIND_UID |
                             1U << PROC_KIND_EXEC | 1U << PROC_KIND_EXIT;
        _cleanup_close_ int fd = open_or_skip((size_t)1 << 20);
        Wanted wanted = { 0 };

        (void)state;
        wanted.pid = start_child();
        assert_int_equal(waitpid(wanted.pid, NULL, 0), wanted.pid);
        for (int i = 0; i < 100 && wanted.seen != all; i++) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                int r;

                (void)poll(&p, 1, 50);
                r = proc_connector_read(fd, note_wanted, &wanted);
                assert_true(r >= 0 || r == -ENOBUFS);
        }
        assert_int_equal(wanted.seen, all);
}

static void *take_a_name(void *userdata) {
        (void)prctl(PR_SET_NAME, "a-thread");
        return userdata;
}

static void start_and_join_threads(void) {
        for (int i = 0; i < THREADS; i++) {
                pthread_t thread;

                assert_int_equal(pthread_create(&thread, NULL, take_a_name, NULL), 0);
                assert_int_equal(pthread_join(thread, NULL), 0);
        }
}

static void fork_and_wait(int times, pid_t *ret_last) {
        for (int i = 0; i < times; i++) {
                pid_t pid = fork();

                assert_true(pid >= 0);
                if (pid == 0)
                        _exit(0);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                *ret_last = pid;
        }
}

/* What the socket delivers, before any code of ours has looked at it. */
static struct proc_event receive_event(int fd) {
        char bytes[EVENT_OFFSET + sizeof(struct proc_event) + 64];
        struct pollfd p = { .fd = fd, .events = POLLIN };
        struct proc_event event = { 0 };
        ssize_t n;

        assert_int_equal(poll(&p, 1, PATIENCE_SECONDS * 1000), 1);
        n = recv(fd, bytes, sizeof(bytes), 0);
        assert_true(n >= (ssize_t)(EVENT_OFFSET + sizeof(event)));
        memcpy(&event, bytes + EVENT_OFFSET, sizeof(event));
        return event;
}

/* A child marks the end: its fork comes after those of all threads. */
static void test_threads_are_not_heard_of(void **state) {
        _cleanup_close_ int fd = open_or_skip((size_t)8 << 20);
        int of_ours = 0;
        pid_t last = 0;

        (void)state;
        (void)alarm(PATIENCE_SECONDS);
        start_and_join_threads();
        fork_and_wait(1, &last);
        for (;;) {
                struct proc_event e = receive_event(fd);

                if (e.what == PROC_EVENT_FORK && e.event_data.fork.child_pid == last)
                        break;
                if (e.what == PROC_EVENT_FORK)
                        of_ours += e.event_data.fork.child_tgid == getpid();
                else
                        of_ours += e.event_data.exec.process_tgid == getpid();
        }
        (void)alarm(0);
        assert_int_equal(of_ours, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kernel),
                cmocka_unit_test(test_threads_are_not_heard_of),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
