/* Reading in batches: first from a pair of unix sockets, then what the kernel itself sends, where
 * it lets us listen. */
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/connector-messages.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/proc-connector.h"

/* What never ends is ended by the alarm's signal. */
enum { PATIENCE_SECONDS = 60, THREADS = 1000 };

static void open_pair(int ret_fds[2]) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_fds),
                         0);
}

static void send_exec(int fd, pid_t pid, size_t padding) {
        struct proc_event e = exec_event(pid);
        Datagram d = { 0 };

        add_message(&d, &e, 1);
        assert_int_equal(send(fd, start_of(&d), d.size + padding, 0), d.size + padding);
}

typedef struct Row {
        pid_t next;
        int feed_fd; /* sends another for each, or -1 */
} Row;

static void expect_next(const ProcEvent *event, void *userdata) {
        Row *row = userdata;

        assert_int_equal(event->pid, row->next++);
        if (row->feed_fd >= 0)
                send_exec(row->feed_fd, event->pid + 100, 0);
}

/* One, a batch that is not full, full ones, and one more than full ones. */
TEST(any_number_in_order) {
        static const int counts[] = { 0, 1, 31, 32, 33, 64, 100 };

        for (size_t i = 0; i < ELEMENTSOF(counts); i++) {
                Row row = { .next = 1, .feed_fd = -1 };
                int fds[2];

                open_pair(fds);
                for (int k = 1; k <= counts[i]; k++)
                        send_exec(fds[1], k, 0);
                assert_int_equal(proc_connector_read(fds[0], expect_next, &row), counts[i]);
                assert_int_equal(row.next, counts[i] + 1);
                assert_int_equal(proc_connector_read(fds[0], expect_next, &row), 0);
                (void)close(fds[0]);
                (void)close(fds[1]);
        }
}

/* As many come as are read; what is left of them is read by the next call. */
TEST(storm_without_end) {
        Row row = { .next = 1 };
        struct pollfd p;
        int fds[2], n;

        (void)alarm(PATIENCE_SECONDS);
        open_pair(fds);
        row.feed_fd = fds[1];
        for (int k = 1; k <= 100; k++)
                send_exec(fds[1], k, 0);
        n = proc_connector_read(fds[0], expect_next, &row);
        assert_in_range(n, 100, 2000);
        p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
        assert_int_equal(poll(&p, 1, 0), 1);
        row.feed_fd = -1;
        assert_int_equal(proc_connector_read(fds[0], expect_next, &row), 100);
        assert_int_equal(row.next, n + 101);
        (void)close(fds[0]);
        (void)close(fds[1]);
        (void)alarm(0);
}

/* Bytes behind the message are passed over; a message that does not fit its slot is, too. */
TEST(large_messages) {
        Row row = { .next = 1, .feed_fd = -1 };
        int fds[2];

        open_pair(fds);
        send_exec(fds[1], 1, 100);
        send_exec(fds[1], 7, 1000);
        send_exec(fds[1], 2, 0);
        assert_int_equal(proc_connector_read(fds[0], expect_next, &row), 2);
        assert_int_equal(row.next, 3);
        (void)close(fds[0]);
        (void)close(fds[1]);
}

TEST(errors) {
        assert_int_equal(proc_connector_read(-EBADF, expect_next, NULL), -EBADF);
}

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

/* The child takes another name, another owner where it may, and another program. */
static pid_t start_child(void) {
        pid_t pid = child_fork();

        if (pid == 0) {
                (void)prctl(PR_SET_NAME, "renamed");
                if (geteuid() == 0 && setuid(65534) < 0)
                        _exit(1);
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

TEST(kernel) {
        const unsigned uid = geteuid() == 0 ? 1U << PROC_KIND_UID : 0;
        const unsigned all =
                uid | 1U << PROC_KIND_FORK | 1U << PROC_KIND_COMM | 1U << PROC_KIND_EXEC;
        const size_t asked = (size_t)128 << 10; /* what anybody is granted */
        _cleanup_close_ int fd = open_or_skip(asked);
        Wanted wanted = { 0 };
        socklen_t length = sizeof(int);
        int bytes = 0;

        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length), 0);
        assert_int_equal(bytes, 2 * asked); /* the kernel counts its own bookkeeping too */
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
                pid_t pid = child_fork();

                if (pid == 0)
                        _exit(0);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                *ret_last = pid;
        }
}

/* What the socket delivers, before any code of ours has read it. */
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
TEST(threads_are_not_heard_of) {
        _cleanup_close_ int fd = open_or_skip((size_t)8 << 20);
        int of_ours = 0;
        pid_t last = 0;

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

/* The events before the queue was full are reported, and so are those after the call: the kernel
 * drops all of them until its queue is empty, and reports that once. */
TEST(queue_that_ran_over) {
        _cleanup_close_ int fd = open_or_skip((size_t)64 << 10);
        Wanted wanted = { 0 };
        pid_t last = 0;

        fork_and_wait(1, &wanted.pid);
        fork_and_wait(500, &last);
        assert_int_equal(proc_connector_read(fd, note_wanted, &wanted), -ENOBUFS);
        assert_true(wanted.seen & 1U << PROC_KIND_FORK);
        wanted.seen = 0;
        fork_and_wait(1, &wanted.pid);
        assert_true(proc_connector_read(fd, note_wanted, &wanted) >= 0);
        assert_true(wanted.seen & 1U << PROC_KIND_FORK);
}
