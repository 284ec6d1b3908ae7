/* The kernel's process connector: a filter in the kernel, batches out of its queue, the parser.
 *
 * The filter is a classic BPF program on the socket and not the connector's own (since 6.6).
 * That one selects by kind only, so a thread of TiKV or of Go that starts or ends would still
 * wake us; this one distinguishes a process from a thread, and 5.10 has it too. The kernel makes
 * the message in any case; what the filter spares is the place in the queue, the wakeup and the
 * read. */
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc-connector.h"

enum {
        ACK_TIMEOUT_USEC = 1000 * 1000,
        ERRNO_MAX = 4095,
        BATCH_MESSAGES = 32,
        SLOT_BYTES = 256, /* an event comes in a message of its own, of 76 bytes up to now */
        MESSAGES_PER_READ = 1024,
        READ_USEC = 20 * 1000, /* any user can start processes that take long to identify */
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define AS_LOADED(value) __builtin_bswap32((uint32_t)(value))
#else
#define AS_LOADED(value) ((uint32_t)(value))
#endif

/* BPF loads a word as if it were big-endian, so constants are swapped; two loaded words compare as
 * they are. A load behind the end drops the message. */
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AS_LOADED(value), 0, (n))
#define PASS BPF_STMT(BPF_RET | BPF_K, UINT32_MAX)
#define DROP BPF_STMT(BPF_RET | BPF_K, 0)

#define MESSAGE_AT(field) (NLMSG_HDRLEN + offsetof(struct cn_msg, field))
#define EVENT_AT(field) (NLMSG_HDRLEN + sizeof(struct cn_msg) + offsetof(struct proc_event, field))

/* Each rule is independent: an event that it does not decide is passed to the next rule. */
#define REQUIRE(offset, value)                                                                     \
        LOAD(offset), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AS_LOADED(value), 1, 0), DROP
#define REQUIRE_SAME(one, other)                                                                   \
        LOAD(one), BPF_STMT(BPF_MISC | BPF_TAX, 0), LOAD(other),                                   \
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0), DROP
#define PASS_KIND(what) SKIP_UNLESS(what, 1), PASS
#define PASS_KIND_IF_SAME(what, pid, tgid)                                                         \
        SKIP_UNLESS(what, 6), REQUIRE_SAME(EVENT_AT(event_data.pid), EVENT_AT(event_data.tgid)),   \
                PASS

/* Filters by the same rules as event_parse(), which alone filters if this program cannot be
 * attached. Only the fork of a process gets to the end of this program, with the parent loaded. */
static const struct sock_filter KINDS[] = {
        REQUIRE(MESSAGE_AT(id.idx), CN_IDX_PROC),
        REQUIRE(MESSAGE_AT(id.val), CN_VAL_PROC),
        LOAD(EVENT_AT(what)),
        PASS_KIND_IF_SAME(PROC_EVENT_COMM, comm.process_pid, comm.process_tgid),
        /* Of a thread alone it changes nothing that /proc shows of the process. */
        PASS_KIND_IF_SAME(PROC_EVENT_UID, id.process_pid, id.process_tgid),
        PASS_KIND(PROC_EVENT_EXEC),
        PASS_KIND(PROC_EVENT_NONE),
        REQUIRE(EVENT_AT(what), PROC_EVENT_FORK),
        REQUIRE_SAME(EVENT_AT(event_data.fork.child_pid), EVENT_AT(event_data.fork.child_tgid)),
        LOAD(EVENT_AT(event_data.fork.parent_tgid)),
};

enum { FILTER_MAX = ELEMENTSOF(KINDS) + 2 * PROC_CONNECTOR_PARENTS_MAX + 1 };
_Static_assert(FILTER_MAX <= BPF_MAXINSNS, "the kernel takes no longer program");

static int filter_attach(int fd, const pid_t *parents, size_t n_parents) {
        const struct sock_filter pass = PASS, drop = DROP;
        struct sock_filter filter[FILTER_MAX];
        struct sock_fprog program = { .filter = filter };
        size_t n = ELEMENTSOF(KINDS);

        memcpy(filter, KINDS, sizeof(KINDS));
        for (size_t i = 0; parents && i < n_parents; i++) {
                const struct sock_filter parent = SKIP_UNLESS(parents[i], 1);

                filter[n++] = parent;
                filter[n++] = pass;
        }
        filter[n++] = parents ? drop : pass;
        program.len = (unsigned short)n;
        return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno
                                                                                           : 0;
}

int proc_connector_filter(int fd, const pid_t *parents, size_t n_parents) {
        const int unused = 0;
        int r;

        if (n_parents > PROC_CONNECTOR_PARENTS_MAX)
                parents = NULL;
        r = filter_attach(fd, parents, n_parents);
        if (r < 0 && parents)
                r = filter_attach(fd, NULL, 0);
        /* The former one knows other parents: better none. */
        if (r < 0)
                (void)setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
        return r;
}

/* False: not an event that we know. The bytes may have any alignment; the kernel's structs are
 * copied out before they are read. */
static bool event_parse(const char *payload, size_t size, ProcEvent *ret) {
        const size_t least = offsetof(struct proc_event, event_data) + sizeof(uint32_t);
        struct proc_event event = { 0 };
        struct cn_msg header;

        if (size < sizeof(header))
                return false;
        memcpy(&header, payload, sizeof(header));
        size -= sizeof(header);
        if (header.id.idx != CN_IDX_PROC || header.id.val != CN_VAL_PROC || header.len > size ||
            header.len < least)
                return false;
        memcpy(&event, payload + sizeof(header),
               header.len < sizeof(event) ? header.len : sizeof(event));
        *ret = (ProcEvent){ .cpu = event.cpu, .sequence = header.seq };
        switch (event.what) {
        case PROC_EVENT_NONE:
                ret->kind = PROC_KIND_ACK;
                ret->sequence = header.ack;
                ret->error = event.event_data.ack.err <= ERRNO_MAX ? -(int)event.event_data.ack.err
                                                                   : -EPROTO;
                return true;
        case PROC_EVENT_FORK:
                ret->kind = PROC_KIND_FORK;
                ret->pid = event.event_data.fork.child_tgid;
                ret->parent = event.event_data.fork.parent_tgid;
                if (event.event_data.fork.child_pid != event.event_data.fork.child_tgid)
                        return false;
                break;
        case PROC_EVENT_EXEC:
                ret->kind = PROC_KIND_EXEC;
                ret->pid = event.event_data.exec.process_tgid;
                break;
        case PROC_EVENT_UID:
                ret->kind = PROC_KIND_UID;
                ret->pid = event.event_data.id.process_tgid;
                if (event.event_data.id.process_pid != event.event_data.id.process_tgid)
                        return false;
                break;
        case PROC_EVENT_COMM:
                ret->kind = PROC_KIND_COMM;
                ret->pid = event.event_data.comm.process_tgid;
                if (event.event_data.comm.process_pid != event.event_data.comm.process_tgid)
                        return false;
                break;
        default:
                return false;
        }
        return ret->pid > 0; /* else too short for its kind: the rest was filled with zeros */
}

int proc_connector_parse(const void *data, size_t size, ProcEventHandler handler, void *userdata) {
        const char *p = data;
        int n = 0;

        while (size >= sizeof(struct nlmsghdr)) {
                struct nlmsghdr header;
                ProcEvent event;
                size_t step;

                memcpy(&header, p, sizeof(header));
                if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size)
                        break;
                if (header.nlmsg_type == NLMSG_DONE &&
                    event_parse(p + NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN, &event)) {
                        handler(&event, userdata);
                        n++;
                }
                step = NLMSG_ALIGN(header.nlmsg_len);
                if (step >= size)
                        break;
                p += step;
                size -= step;
        }
        return n;
}

/* When the queue is full the kernel reports it once, and then silently drops all events until the
 * queue was empty. A caller that scanned all processes before that would miss the events that are
 * dropped after its scan. So the queue is emptied first, beyond the limit of one read: this ends,
 * because the kernel adds nothing meanwhile. What there is no time for is left to that scan.
 *
 * A batch that is not full ends a read too: the queue was empty, or an error waits behind the
 * batch, which recvmmsg keeps for the next call. */
int proc_connector_read(int fd, ProcEventHandler handler, void *userdata) {
        const uint64_t until = clock_monotonic_usec() + READ_USEC;
        /* The slots need no zeros: what is read of them, the kernel has written. */
        char slots[BATCH_MESSAGES][SLOT_BYTES];
        struct sockaddr_nl from[BATCH_MESSAGES] = { 0 };
        struct iovec iov[BATCH_MESSAGES];
        struct mmsghdr messages[BATCH_MESSAGES];
        int n, n_events = 0, n_messages = 0;
        bool lost = false, in_time = true;

        for (size_t i = 0; i < BATCH_MESSAGES; i++) {
                iov[i] = (struct iovec){ .iov_base = slots[i], .iov_len = SLOT_BYTES };
                messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_name = &from[i],
                                                             .msg_namelen = sizeof(from[i]),
                                                             .msg_iov = &iov[i],
                                                             .msg_iovlen = 1 } };
        }
        for (;;) {
                do
                        n = recvmmsg(fd, messages, BATCH_MESSAGES, MSG_DONTWAIT, NULL);
                while (n < 0 && errno == EINTR);
                if (n < 0 && errno == ENOBUFS) {
                        lost = true; /* reported before all that is waiting */
                        continue;
                }
                if (n < 0 && errno != EAGAIN)
                        return -errno;
                n = n < 0 ? 0 : n;
                n_messages += n;
                in_time = in_time && clock_monotonic_usec() < until;
                for (int i = 0; i < n && (in_time || !lost); i++)
                        /* Else it is not from the kernel, or nothing that we know. */
                        if (from[i].nl_pid == 0 && !(messages[i].msg_hdr.msg_flags & MSG_TRUNC))
                                n_events += proc_connector_parse(slots[i], messages[i].msg_len,
                                                                 handler, userdata);
                if (n < BATCH_MESSAGES || (!lost && (n_messages >= MESSAGES_PER_READ || !in_time)))
                        return lost ? -ENOBUFS : n_events;
        }
}

typedef struct AckWait {
        uint32_t sequence;
        bool seen;
        int error;
} AckWait;

static void note_ack(const ProcEvent *event, void *userdata) {
        AckWait *wait = userdata;

        /* All listeners get the acknowledgements of others. Events at this time are older than the
         * first full scan, so they can be ignored. */
        if (event->kind != PROC_KIND_ACK || event->sequence != wait->sequence + 1)
                return;
        wait->seen = true;
        wait->error = event->error;
}

int proc_connector_open(size_t receive_buffer_bytes, int *ret_fd) {
        _cleanup_close_ int fd =
                socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
        const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
        /* A number that probably no other program uses. */
        AckWait wait = { .sequence = (uint32_t)clock_monotonic_usec() };
        const enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
        const struct cn_msg message = { .id = { .idx = CN_IDX_PROC, .val = CN_VAL_PROC },
                                        .ack = wait.sequence,
                                        .len = sizeof(operation) };
        char request[NLMSG_SPACE(sizeof(message) + sizeof(operation))] = { 0 };
        const struct nlmsghdr header = {
                .nlmsg_len = NLMSG_LENGTH(sizeof(message) + sizeof(operation)),
                .nlmsg_type = NLMSG_DONE,
        };
        int size = (int)receive_buffer_bytes;
        uint64_t deadline;

        if (fd < 0)
                return -errno;
        if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
                (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        /* Before the socket receives anything. Without the filter there are only more wakeups. */
        (void)proc_connector_filter(fd, NULL, 0);
        if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        memcpy(request, &header, sizeof(header));
        memcpy(request + NLMSG_HDRLEN, &message, sizeof(message));
        memcpy(request + NLMSG_HDRLEN + sizeof(message), &operation, sizeof(operation));
        if (send(fd, request, header.nlmsg_len, 0) < 0)
                return -errno;
        deadline = clock_monotonic_usec() + ACK_TIMEOUT_USEC;
        while (!wait.seen) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                uint64_t now = clock_monotonic_usec();
                int r;

                if (now >= deadline)
                        return -ETIMEDOUT;
                r = poll(&p, 1, (int)((deadline - now) / 1000 + 1));
                if (r < 0 && errno != EINTR)
                        return -errno;
                r = proc_connector_read(fd, note_ack, &wait);
                if (r < 0 && r != -ENOBUFS)
                        return r;
        }
        if (wait.error < 0)
                return wait.error;
        *ret_fd = TAKE_FD(fd);
        return 0;
}
