/* Messages of the process connector, made by hand as the kernel makes them, whole and broken. */

#include "../../support/test.h"

#include "../../support/connector-messages.h"
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
