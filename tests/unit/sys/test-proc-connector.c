/* Messages of the process connector, made by hand as the kernel makes them, whole and broken. */
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "../../support/child-process.h"
#include "../../support/connector-messages.h"
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/proc-connector.h"

typedef struct Seen {
        ProcEvent events[8];
        size_t n;
} Seen;

static void note(const ProcEvent *event, void *userdata) {
        Seen *seen = userdata;

        if (seen->n < ELEMENTSOF(seen->events))
                seen->events[seen->n] = *event;
        seen->n++;
}

static Seen parse(Datagram *d) {
        Seen seen = { 0 };
        int n = proc_connector_parse(start_of(d), d->size, note, &seen);

        assert_int_equal(n, seen.n);
        return seen;
}

static Seen parse_one(const struct proc_event *event) {
        Datagram d = { 0 };

        add_message(&d, event, 41);
        return parse(&d);
}

TEST(fork) {
        struct proc_event e = fork_event(10, 20, 20);
        Seen seen = parse_one(&e);

        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.events[0].kind, PROC_KIND_FORK);
        assert_int_equal(seen.events[0].pid, 20);
        assert_int_equal(seen.events[0].parent, 10);
        assert_int_equal(seen.events[0].sequence, 41);
        assert_int_equal(seen.events[0].cpu, 3);
        e = fork_event(10, 21, 10); /* a new thread */
        assert_int_equal(parse_one(&e).n, 0);
}

TEST(exec) {
        struct proc_event e = exec_event(30);
        Seen seen = parse_one(&e);

        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.events[0].kind, PROC_KIND_EXEC);
        assert_int_equal(seen.events[0].pid, 30);
}

TEST(uid) {
        struct proc_event e = { .what = PROC_EVENT_UID };
        Seen seen;

        e.event_data.id.process_pid = 40;
        e.event_data.id.process_tgid = 40;
        seen = parse_one(&e);
        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.events[0].kind, PROC_KIND_UID);
        assert_int_equal(seen.events[0].pid, 40);
        e.event_data.id.process_pid = 41; /* a thread's own */
        assert_int_equal(parse_one(&e).n, 0);
}

TEST(comm) {
        struct proc_event e = comm_event(50, 50);
        Seen seen = parse_one(&e);

        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.events[0].kind, PROC_KIND_COMM);
        assert_int_equal(seen.events[0].pid, 50);
        e = comm_event(51, 50); /* a thread takes a name */
        assert_int_equal(parse_one(&e).n, 0);
}

TEST(ack) {
        struct proc_event e = { .what = PROC_EVENT_NONE };
        Seen seen = parse_one(&e);

        assert_int_equal(seen.n, 1);
        assert_int_equal(seen.events[0].kind, PROC_KIND_ACK);
        assert_int_equal(seen.events[0].error, 0);
        e.event_data.ack.err = EPERM;
        assert_int_equal(parse_one(&e).events[0].error, -EPERM);
        e.event_data.ack.err = 0x80000000;
        assert_int_equal(parse_one(&e).events[0].error, -EPROTO);
}

TEST(other_events_are_passed_over) {
        static const unsigned kinds[] = { PROC_EVENT_EXIT,   PROC_EVENT_GID,      PROC_EVENT_SID,
                                          PROC_EVENT_PTRACE, PROC_EVENT_COREDUMP, 0x12345678 };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                struct proc_event e = { 0 };

                memcpy(&e.what, &kinds[i], sizeof(e.what));
                e.event_data.exec.process_pid = e.event_data.exec.process_tgid = 5;
                assert_int_equal(parse_one(&e).n, 0);
        }
}

TEST(several_in_one) {
        struct proc_event a = exec_event(1), b = { .what = PROC_EVENT_SID }, c = exec_event(3);
        Datagram d = { 0 };
        Seen seen;

        add_message(&d, &a, 1);
        add_message(&d, &b, 2);
        add_message(&d, &c, 3);
        seen = parse(&d);
        assert_int_equal(seen.n, 2);
        assert_int_equal(seen.events[0].pid, 1);
        assert_int_equal(seen.events[1].pid, 3);
        assert_int_equal(seen.events[1].sequence, 3);
}

static Datagram whole(void) {
        struct proc_event e = exec_event(9);
        Datagram d = { 0 };

        add_message(&d, &e, 1);
        return d;
}

TEST(truncated) {
        Datagram d = whole();
        size_t size = d.size;

        for (d.size = 0; d.size < size; d.size++)
                assert_int_equal(parse(&d).n, 0);
        assert_int_equal(parse(&d).n, 1);
}

TEST(lengths_that_lie) {
        const size_t netlink_length = offsetof(struct nlmsghdr, nlmsg_len);
        const size_t length = NLMSG_HDRLEN + offsetof(struct cn_msg, len);
        Datagram d = whole();

        set_u32(&d, netlink_length, (uint32_t)d.size + 1);
        assert_int_equal(parse(&d).n, 0);
        set_u32(&d, netlink_length, UINT32_MAX);
        assert_int_equal(parse(&d).n, 0);
        set_u32(&d, netlink_length, 0); /* must not go round for ever */
        assert_int_equal(parse(&d).n, 0);
        set_u32(&d, netlink_length, NLMSG_HDRLEN);
        assert_int_equal(parse(&d).n, 0);
        d = whole();
        set_u16(&d, length, sizeof(struct proc_event) + 1);
        assert_int_equal(parse(&d).n, 0);
        set_u16(&d, length, UINT16_MAX);
        assert_int_equal(parse(&d).n, 0);
        set_u16(&d, length, offsetof(struct proc_event, event_data));
        assert_int_equal(parse(&d).n, 0);
        set_u16(&d, length, 0);
        assert_int_equal(parse(&d).n, 0);
        /* An older kernel's event is shorter and has all that is needed. */
        set_u16(&d, length,
                offsetof(struct proc_event, event_data.exec.process_tgid) + sizeof(pid_t));
        assert_int_equal(parse(&d).n, 1);
}

/* What is missing of an event is not taken for a zero. */
TEST(events_too_short_for_their_kind) {
        const size_t length = NLMSG_HDRLEN + offsetof(struct cn_msg, len);
        const struct proc_event events[] = { exec_event(9), fork_event(10, 20, 20),
                                             comm_event(9, 9) };

        for (size_t i = 0; i < ELEMENTSOF(events); i++) {
                Datagram d = { 0 };

                add_message(&d, &events[i], 1);
                set_u16(&d, length, offsetof(struct proc_event, event_data) + 4);
                assert_int_equal(parse(&d).n, 0);
        }
}

TEST(foreign_messages) {
        static const uint16_t types[] = { NLMSG_ERROR, NLMSG_NOOP, NLMSG_OVERRUN, 0x77 };
        Datagram d = whole();

        set_u32(&d, NLMSG_HDRLEN + offsetof(struct cn_msg, id.idx), CN_IDX_PROC + 1);
        assert_int_equal(parse(&d).n, 0);
        d = whole();
        set_u32(&d, NLMSG_HDRLEN + offsetof(struct cn_msg, id.val), CN_VAL_PROC + 1);
        assert_int_equal(parse(&d).n, 0);
        for (size_t i = 0; i < ELEMENTSOF(types); i++) {
                d = whole();
                set_u16(&d, offsetof(struct nlmsghdr, nlmsg_type), types[i]);
                assert_int_equal(parse(&d).n, 0);
        }
}

/* --- the filter that the kernel runs, here on a pair of unix sockets --- */

typedef struct Pair {
        int ours, theirs;
} Pair;

static int open_pair(void **state) {
        static Pair pair;
        int fds[2];

        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
                return -1;
        pair = (Pair){ .ours = fds[0], .theirs = fds[1] };
        *state = &pair;
        return proc_connector_filter(pair.ours, NULL, 0);
}

static int close_pair(void **state) {
        Pair *pair = *state;

        (void)close(pair->ours);
        (void)close(pair->theirs);
        return 0;
}

static bool arrives(void **state, Datagram *d) {
        const Pair *pair = *state;
        char bytes[sizeof(d->bytes)];
        ssize_t n;

        assert_int_equal(send(pair->theirs, start_of(d), d->size, 0), d->size);
        n = recv(pair->ours, bytes, sizeof(bytes), 0);
        if (n < 0) {
                assert_int_equal(errno, EAGAIN);
                return false;
        }
        assert_int_equal(n, d->size);
        assert_memory_equal(bytes, start_of(d), d->size);
        return true;
}

static void ignore(const ProcEvent *event, void *userdata) {
        (void)event;
        (void)userdata;
}

/* Where the filter cannot be attached, the parser alone must come to the same result. */
static bool passes(void **state, const struct proc_event *event) {
        Datagram d = { 0 };
        bool passed;

        add_message(&d, event, 1);
        passed = arrives(state, &d);
        assert_int_equal(proc_connector_parse(start_of(&d), d.size, ignore, NULL), passed);
        return passed;
}

/* With a pid and a tgid where all kinds but fork have them. */
static bool passes_kind(void **state, unsigned what, pid_t pid, pid_t tgid) {
        struct proc_event e = exec_event(pid);

        e.event_data.exec.process_tgid = tgid;
        memcpy(&e.what, &what, sizeof(e.what));
        return passes(state, &e);
}

TEST(proc_connector_filter_fork) {
        struct proc_event process = fork_event(10, 20, 20), thread = fork_event(10, 20, 10);
        struct proc_event high = fork_event(10, 0x10014, 20), low = fork_event(10, 0x14, 0x10014);

        assert_true(passes(state, &process));
        assert_false(passes(state, &thread));
        assert_false(passes(state, &high)); /* all bits are compared */
        assert_false(passes(state, &low));
}

TEST(proc_connector_filter_comm) {
        assert_true(passes_kind(state, PROC_EVENT_COMM, 30, 30));
        assert_false(passes_kind(state, PROC_EVENT_COMM, 31, 30));
}

TEST(proc_connector_filter_exec) {
        assert_true(passes_kind(state, PROC_EVENT_EXEC, 30, 30));
}

TEST(proc_connector_filter_uid) {
        assert_true(passes_kind(state, PROC_EVENT_UID, 30, 30));
        assert_false(passes_kind(state, PROC_EVENT_UID, 31, 30));
}

TEST(proc_connector_filter_ack) {
        struct proc_event e = { .what = PROC_EVENT_NONE };

        assert_true(passes(state, &e));
        e.event_data.ack.err = EPERM;
        assert_true(passes(state, &e));
}

TEST(other_kinds) {
        static const unsigned kinds[] = {
                PROC_EVENT_EXIT, /* a pidfd reports that better */
                PROC_EVENT_GID,
                PROC_EVENT_SID,
                PROC_EVENT_PTRACE,
                PROC_EVENT_COREDUMP,
                0x20000000 /* exit with an error, 6.6 */,
                PROC_EVENT_FORK | PROC_EVENT_EXEC,
                0x02000000 /* exec with its bytes turned round */,
        };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                assert_false(passes_kind(state, kinds[i], 30, 30));
}

TEST(messages_of_others) {
        struct proc_event e = exec_event(30);
        Datagram d = { 0 };

        add_message(&d, &e, 1);
        set_u32(&d, NLMSG_HDRLEN + offsetof(struct cn_msg, id.idx), CN_IDX_PROC + 1);
        assert_false(arrives(state, &d));
        d = (Datagram){ 0 };
        add_message(&d, &e, 1);
        set_u32(&d, NLMSG_HDRLEN + offsetof(struct cn_msg, id.val), CN_VAL_PROC + 1);
        assert_false(arrives(state, &d));
}

/* Each field that a rule reads must be there. */
TEST(proc_connector_filter_truncated) {
        struct proc_event events[] = { exec_event(30), fork_event(10, 20, 20), comm_event(30, 30) };
        const size_t needed[] = {
                EVENT_OFFSET + offsetof(struct proc_event, what) + 4,
                EVENT_OFFSET + offsetof(struct proc_event, event_data.fork.child_tgid) + 4,
                EVENT_OFFSET + offsetof(struct proc_event, event_data.comm.process_tgid) + 4,
        };

        for (size_t i = 0; i < ELEMENTSOF(events); i++) {
                Datagram d = { 0 };
                size_t size;

                add_message(&d, &events[i], 1);
                size = d.size;
                for (d.size = 0; d.size <= size; d.size++)
                        assert_int_equal(arrives(state, &d), d.size >= needed[i]);
        }
}

static bool fork_of_passes(void **state, pid_t parent) {
        struct proc_event e = fork_event(parent, 20, 20);

        return passes(state, &e);
}

/* A filter passes less than the parser here: it is asked alone. */
static bool fork_of_arrives(void **state, pid_t parent) {
        struct proc_event e = fork_event(parent, 20, 20);
        Datagram d = { 0 };

        add_message(&d, &e, 1);
        return arrives(state, &d);
}

TEST(forks_of_some) {
        const Pair *pair = *state;
        const pid_t parents[] = { 10, 0x12345678, 11 };
        struct proc_event thread = fork_event(10, 21, 20), exec = exec_event(5);

        assert_int_equal(proc_connector_filter(pair->ours, parents, 3), 0);
        for (size_t i = 0; i < ELEMENTSOF(parents); i++)
                assert_true(fork_of_arrives(state, parents[i]));
        assert_false(fork_of_arrives(state, 12));
        assert_false(fork_of_arrives(state, 0x78563412)); /* its bytes turned round */
        assert_false(passes(state, &thread));
        assert_true(passes(state, &exec));
        assert_int_equal(proc_connector_filter(pair->ours, parents, 0), 0);
        assert_false(fork_of_arrives(state, 10)); /* of no process */
        assert_int_equal(proc_connector_filter(pair->ours, NULL, 0), 0);
        assert_true(fork_of_passes(state, 12));
}

TEST(forks_of_many) {
        const Pair *pair = *state;
        pid_t parents[PROC_CONNECTOR_PARENTS_MAX + 1];

        for (size_t i = 0; i < ELEMENTSOF(parents); i++)
                parents[i] = 100 + (pid_t)i;
        assert_int_equal(proc_connector_filter(pair->ours, parents, ELEMENTSOF(parents) - 1), 0);
        assert_true(fork_of_arrives(state, parents[0]));
        assert_true(fork_of_arrives(state, parents[ELEMENTSOF(parents) - 2]));
        assert_false(fork_of_arrives(state, parents[ELEMENTSOF(parents) - 1]));
        assert_int_equal(proc_connector_filter(pair->ours, parents, ELEMENTSOF(parents)), 0);
        assert_true(fork_of_arrives(state, 7)); /* too many to name: all */
}

TEST(what_takes_no_filter) {
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_int_equal(proc_connector_filter(-EBADF, NULL, 0), -EBADF);
        assert_int_equal(proc_connector_filter(fd, NULL, 0), -ENOTSOCK);
}

TEST_GROUP(open_pair, close_pair)

/* --- reading in batches: from a pair of unix sockets, then what the kernel itself sends --- */

/* What never ends is ended by the alarm's signal. */
enum { PATIENCE_SECONDS = 60, THREADS = 1000 };

static void proc_connector_read_open_pair(int ret_fds[2]) {
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

                proc_connector_read_open_pair(fds);
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
        proc_connector_read_open_pair(fds);
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

        proc_connector_read_open_pair(fds);
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
