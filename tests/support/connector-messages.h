/* Messages of the process connector, made by hand as the kernel makes them. Inline, so that a test
 * may leave some unused. */
#pragma once

#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* A datagram that grows by messages; one byte off any alignment. */
typedef struct Datagram {
        char bytes[2048];
        size_t size;
} Datagram;

enum { EVENT_OFFSET = NLMSG_HDRLEN + sizeof(struct cn_msg) };

static inline char *start_of(Datagram *d) {
        return d->bytes + 1;
}

static inline void add_message(Datagram *d, const struct proc_event *event, uint32_t sequence) {
        struct nlmsghdr header = { .nlmsg_len = EVENT_OFFSET + sizeof(*event),
                                   .nlmsg_type = NLMSG_DONE };
        struct cn_msg *message = NULL;
        char buffer[sizeof(*message)] = { 0 };
        char *p = start_of(d) + d->size;

        memcpy(p, &header, sizeof(header));
        memcpy(buffer + offsetof(struct cn_msg, id.idx), &(uint32_t){ CN_IDX_PROC }, 4);
        memcpy(buffer + offsetof(struct cn_msg, id.val), &(uint32_t){ CN_VAL_PROC }, 4);
        memcpy(buffer + offsetof(struct cn_msg, seq), &sequence, 4);
        memcpy(buffer + offsetof(struct cn_msg, len), &(uint16_t){ sizeof(*event) }, 2);
        memcpy(p + NLMSG_HDRLEN, buffer, sizeof(buffer));
        memcpy(p + EVENT_OFFSET, event, sizeof(*event));
        d->size += NLMSG_ALIGN(header.nlmsg_len);
}

static inline struct proc_event fork_event(pid_t parent, pid_t pid, pid_t tgid) {
        struct proc_event e = { .what = PROC_EVENT_FORK, .cpu = 3 };

        e.event_data.fork.parent_pid = parent + 1; /* a thread of it */
        e.event_data.fork.parent_tgid = parent;
        e.event_data.fork.child_pid = pid;
        e.event_data.fork.child_tgid = tgid;
        return e;
}

static inline struct proc_event exec_event(pid_t pid) {
        struct proc_event e = { .what = PROC_EVENT_EXEC };

        e.event_data.exec.process_pid = e.event_data.exec.process_tgid = pid;
        return e;
}

static inline struct proc_event comm_event(pid_t pid, pid_t tgid) {
        struct proc_event e = { .what = PROC_EVENT_COMM };

        e.event_data.comm.process_pid = pid;
        e.event_data.comm.process_tgid = tgid;
        return e;
}

static inline void set_u32(Datagram *d, size_t at, uint32_t value) {
        memcpy(start_of(d) + at, &value, sizeof(value));
}

static inline void set_u16(Datagram *d, size_t at, uint16_t value) {
        memcpy(start_of(d) + at, &value, sizeof(value));
}
