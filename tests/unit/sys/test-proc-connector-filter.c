/* The filter that the kernel runs, here on a pair of unix sockets: what is sent at one end, and
 * what of it arrives at the other. */
#include <sys/socket.h>

#include "../../support/test.h"

#include "../../support/connector-messages.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/proc-connector.h"

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

TEST(fork) {
        struct proc_event process = fork_event(10, 20, 20), thread = fork_event(10, 20, 10);
        struct proc_event high = fork_event(10, 0x10014, 20), low = fork_event(10, 0x14, 0x10014);

        assert_true(passes(state, &process));
        assert_false(passes(state, &thread));
        assert_false(passes(state, &high)); /* all bits are compared */
        assert_false(passes(state, &low));
}

TEST(comm) {
        assert_true(passes_kind(state, PROC_EVENT_COMM, 30, 30));
        assert_false(passes_kind(state, PROC_EVENT_COMM, 31, 30));
}

TEST(exec) {
        assert_true(passes_kind(state, PROC_EVENT_EXEC, 30, 30));
}

TEST(uid) {
        assert_true(passes_kind(state, PROC_EVENT_UID, 30, 30));
        assert_false(passes_kind(state, PROC_EVENT_UID, 31, 30));
}

TEST(ack) {
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
TEST(truncated) {
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
