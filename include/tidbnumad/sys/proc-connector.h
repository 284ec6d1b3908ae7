/* The kernel's process connector: exec, fork, change of owner and of name of every process, as they
 * happen (linux/cn_proc.h). The end of a process is reported by its pidfd: once, and never for
 * another one.
 *
 * A message only means "read the process again": nothing but its pid is used. The connector exists
 * in the initial network, user and PID namespaces only, and requires CAP_NET_ADMIN. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum ProcEventKind {
        PROC_KIND_ACK, /* answer to our subscription, with its `error` */
        PROC_KIND_FORK,
        PROC_KIND_EXEC,
        PROC_KIND_UID,
        PROC_KIND_COMM, /* of the process itself, not of a thread */
} ProcEventKind;

typedef struct ProcEvent {
        ProcEventKind kind;
        pid_t pid;         /* the process (tgid); at a fork the new one */
        pid_t parent;      /* FORK only: the process that forked */
        uint32_t sequence; /* per CPU; of an ACK: what the subscriber sent, plus one */
        uint32_t cpu;
        int error; /* ACK only: 0 or negative errno */
} ProcEvent;

typedef void (*ProcEventHandler)(const ProcEvent *event, void *userdata);

/* Opens, subscribes and waits up to a second for the kernel's acknowledgement.
 * `receive_buffer_bytes` is forced with SO_RCVBUFFORCE where permitted. -EPERM, -ECONNREFUSED: see
 * above; -ETIMEDOUT: no acknowledgement (another user or PID namespace, where the subscription is
 * dropped silently). */
int proc_connector_open(size_t receive_buffer_bytes, int *ret_fd);

/* Reads what is waiting, one callback an event of a process (threads are left out), about a
 * thousand a call: when more is there, the descriptor stays readable. Returns the number of events,
 * or a negative errno.
 *
 * -ENOBUFS: the kernel has dropped events. The queue was read to its end, at most as much as the
 * receive buffer can hold, and the kernel adds events again: a scan of all processes from now on
 * misses nothing. Further events may be waiting, as always. */
int proc_connector_read(int fd, ProcEventHandler handler, void *userdata);

/* One datagram's bytes. Malformed and foreign messages are passed over. Returns the number of
 * events. */
int proc_connector_parse(const void *data, size_t size, ProcEventHandler handler, void *userdata);

/* More are too long a program for net.core.optmem_max of older kernels, 20 KiB for the old and the
 * new one together. */
#define PROC_CONNECTOR_PARENTS_MAX 128u

/* From now on the kernel passes the forks of these processes only, which for a quiet host with a
 * busy shell halves what wakes us. NULL, as after proc_connector_open(), or more than the
 * maximum: of all processes. What a process forked just before is not reported; it is in
 * `children` in /proc. Any datagram socket will do, for tests. */
int proc_connector_filter(int fd, const pid_t *parents, size_t n_parents);
