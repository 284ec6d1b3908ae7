/* The TCP ports of a server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/proc.h"

/* The TCP ports on which one process listens: its own sockets out of /proc/PID/fd, joined by inode
 * with the sockets that listen in its network namespace.
 *
 * Those of our own namespace come from the kernel's sock_diag(7), which knows listening sockets
 * apart from the connections. Those of another namespace or of a dump, or where sock_diag is
 * refused, from /proc/PID/net/tcp and tcp6.
 */

typedef struct ListenPorts {
        uint16_t *ports; /* ascending, each once; owned; NULL for none */
        size_t n_ports;
} ListenPorts;

void listen_ports_done(ListenPorts *ports);
#define _cleanup_listen_ports_ _cleanup_(listen_ports_done)

/* A bit a port: its size does not depend on how many there are. */
enum { PORT_SET_WORDS = (1 << 16) / 64 };
typedef struct PortSet {
        uint64_t words[PORT_SET_WORDS];
} PortSet;

void port_set_merge(PortSet *set, const PortSet *other);
int port_set_list(const PortSet *set, ListenPorts *ret); /* 0 or -ENOMEM */

/* The ports of the sockets of the process's main thread, whose descriptors all its threads share,
 * unless one has its own (unshare(2)). IPv4 and IPv6, any address. A socket that was passed on
 * counts for each process that has it: a service's own and that of systemd, which made it.
 *
 * 0: all of them. 1: the process has more than OPEN_FILES_MAX descriptors, and there may be
 * more. -ESRCH: gone; -EACCES: not ours to read; -ENODATA: nothing shows which sockets listen,
 * as in a dump without these files. Allocates 4 bytes a socket, while it runs. */
int listen_ports_read(const Sysroot *sysroot, const ProcHandle *handle, PortSet *ret);

typedef struct ListenSocket {
        uint32_t inode; /* never 0, which is no cookie */
        uint16_t port;
} ListenSocket;

typedef void (*ListenHandler)(const ListenSocket *socket, void *userdata);

/* One datagram of sock_diag's answer (linux/inet_diag.h), at any alignment. 0: more will follow;
 * 1: that was the last; -errno of the kernel; -EPROTO: a malformed answer. */
int listen_diag_parse(const void *data, size_t size, ListenHandler handler, void *userdata);

/* One row of /proc/net/tcp or tcp6 (Documentation/networking/proc_net_tcp.rst). 1: it listens; 0:
 * it does not, and `ret` is untouched; -EBADMSG: not such a row, as the first line. */
int listen_row_parse(const char *row, ListenSocket *ret);
