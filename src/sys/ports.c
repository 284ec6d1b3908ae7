/* The TCP ports of a server. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/ports.h"
#include "tidbnumad/sys/proc.h"

enum {
        DIAG_DATAGRAM_MAX_BYTES = 32768, /* the kernel fills what we offer, up to this */
        ERRNO_MAX = 4095,
        /* The kernel lists all listening sockets before the others (tcp_get_idx() in its
         * net/ipv4/tcp_ipv4.c). Among them may be some that are just being closed: so the
         * connections have begun after this many consecutive rows of others. */
        OTHER_ROWS_MAX = 1024,
        ROW_MAX_BYTES = 512, /* real ones have some 150 */
};

/* The sockets that are searched for, and the ports that were found. */
typedef struct Search {
        uint32_t *inodes; /* of the process's sockets */
        size_t n_inodes;
        size_t allocated;
        PortSet ports;
} Search;

static int compare_inodes(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static void note_if_ours(const ListenSocket *socket, void *userdata) {
        Search *search = userdata;

        if (bsearch(&socket->inode, search->inodes, search->n_inodes, sizeof(uint32_t),
                    compare_inodes))
                search->ports.words[socket->port / 64] |= UINT64_C(1) << (socket->port % 64);
}

static int collect_socket(_unused_ int fd, const char *target, void *userdata) {
        Search *search = userdata;
        uint32_t inode;
        char end, more;

        if (sscanf(target, "socket:[%" SCNu32 "%c%c", &inode, &end, &more) != 2 || end != ']')
                return 0;
        if (ARRAY_RESERVE(search->inodes, search->allocated, search->n_inodes + 1) < 0)
                return -ENOMEM;
        search->inodes[search->n_inodes++] = inode;
        return 0;
}

int listen_diag_parse(const void *data, size_t size, ListenHandler handler, void *userdata) {
        const char *p = data;

        while (size >= sizeof(struct nlmsghdr)) {
                const char *payload = p + NLMSG_HDRLEN;
                struct inet_diag_msg message;
                struct nlmsghdr header;
                size_t step, length;
                int error;

                memcpy(&header, p, sizeof(header));
                if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size)
                        return -EPROTO;
                length = header.nlmsg_len - NLMSG_HDRLEN;
                if (header.nlmsg_type == NLMSG_DONE)
                        return 1;
                if (header.nlmsg_type == NLMSG_ERROR) {
                        if (length < sizeof(error))
                                return -EPROTO;
                        memcpy(&error, payload, sizeof(error));
                        return error < 0 && error >= -ERRNO_MAX ? error : -EPROTO;
                }
                if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY && length >= sizeof(message)) {
                        memcpy(&message, payload, sizeof(message));
                        if (message.idiag_state == TCP_LISTEN && message.idiag_inode != 0)
                                handler(&(ListenSocket){ .inode = message.idiag_inode,
                                                         .port = ntohs(message.id.idiag_sport) },
                                        userdata);
                }
                step = NLMSG_ALIGN(header.nlmsg_len);
                if (step >= size)
                        break;
                p += step;
                size -= step;
        }
        return 0;
}

/* A request to the kernel is for one address family. */
static int search_diag(int fd, uint8_t family, Search *search) {
        const struct {
                struct nlmsghdr header;
                struct inet_diag_req_v2 body;
        } request = {
                .header = { .nlmsg_len = sizeof(request),
                            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
                .body = { .sdiag_family = family,
                          .sdiag_protocol = IPPROTO_TCP,
                          .idiag_states = 1u << TCP_LISTEN },
        };
        char buffer[DIAG_DATAGRAM_MAX_BYTES];

        if (send(fd, &request, sizeof(request), 0) < 0)
                return -errno;
        for (;;) {
                struct sockaddr_nl from = { 0 };
                socklen_t length = sizeof(from);
                ssize_t n = recvfrom(fd, buffer, sizeof(buffer), MSG_TRUNC,
                                     (struct sockaddr *)&from, &length);
                int r;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (from.nl_pid != 0)
                        continue; /* not from the kernel */
                if ((size_t)n > sizeof(buffer))
                        return -EMSGSIZE;
                r = listen_diag_parse(buffer, (size_t)n, note_if_ours, search);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
}

int listen_row_parse(const char *row, ListenSocket *ret) {
        unsigned port, row_state;
        uint64_t inode;

        if (sscanf(row,
                   " %*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x %*x:%*x %*x:%*x %*x %*u %*u"
                   " %" SCNu64,
                   &port, &row_state, &inode) != 3 ||
            inode > UINT32_MAX)
                return -EBADMSG;
        if (row_state != TCP_LISTEN || inode == 0)
                return 0;
        *ret = (ListenSocket){ .inode = (uint32_t)inode, .port = (uint16_t)port };
        return 1;
}

static int search_rows(const ProcHandle *handle, const char *name, Search *search) {
        _cleanup_close_ int fd = path_open(handle->dir_fd, O_RDONLY | O_NONBLOCK, "%s", name);
        _cleanup_fclose_ FILE *file = NULL;
        char row[ROW_MAX_BYTES];
        ListenSocket found;

        if (fd < 0)
                return fd;
        file = fdopen(fd, "r");
        if (!file)
                return -errno;
        (void)TAKE_FD(fd);
        for (int others = 0; others < OTHER_ROWS_MAX && fgets(row, sizeof(row), file);) {
                if (listen_row_parse(row, &found) == 1) {
                        note_if_ours(&found, search);
                        others = 0;
                } else
                        others++;
        }
        return ferror(file) ? -EIO : 0;
}

int listen_ports_read(const Sysroot *sysroot, const ProcHandle *handle, PortSet *ret) {
        /* The kernel answers at once; the timeout is only a safeguard. */
        const struct timeval timeout = { .tv_sec = 1 };
        _cleanup_close_ int fd = -EBADF;
        Search search = { 0 };
        int four, six, r, bounded = open_files_foreach(handle, collect_socket, &search);
        bool found = search.n_inodes == 0; /* nothing to search for */

        r = bounded;
        if (r >= 0 && !found) {
                qsort(search.inodes, search.n_inodes, sizeof(uint32_t), compare_inodes);
                r = sysroot->live ? proc_in_host_namespace(sysroot, handle, PROC_NAMESPACE_NETWORK)
                                  : 0;
                if (r > 0) {
                        fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
                        found = fd >= 0 &&
                                setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
                                           sizeof(timeout)) == 0 &&
                                search_diag(fd, AF_INET, &search) >= 0 &&
                                search_diag(fd, AF_INET6, &search) >= 0;
                }
        }
        if (r >= 0 && !found) {
                four = search_rows(handle, "net/tcp", &search);
                six = search_rows(handle, "net/tcp6", &search); /* none without IPv6 */
                if (four == -ENOENT && six == -ENOENT)
                        r = -ENODATA;
                else if (four < 0 && four != -ENOENT)
                        r = four;
                else
                        r = six < 0 && six != -ENOENT ? six : 0;
        }
        if (r >= 0 && !proc_is_alive(handle))
                r = -ESRCH; /* half of what was seen may be what its end left */
        if (r >= 0)
                *ret = search.ports;
        free(search.inodes);
        return r < 0 ? r : bounded;
}

void port_set_merge(PortSet *set, const PortSet *other) {
        for (size_t i = 0; i < PORT_SET_WORDS; i++)
                set->words[i] |= other->words[i];
}

int port_set_list(const PortSet *set, ListenPorts *ret) {
        ListenPorts ports = { 0 };
        size_t n = 0;

        for (size_t i = 0; i < PORT_SET_WORDS; i++)
                n += (size_t)__builtin_popcountll(set->words[i]);
        if (n > 0) {
                ports.ports = malloc(n * sizeof(ports.ports[0]));
                if (!ports.ports)
                        return -ENOMEM;
        }
        for (uint32_t port = 0; port < PORT_SET_WORDS * 64; port++)
                if (set->words[port / 64] >> (port % 64) & 1)
                        ports.ports[ports.n_ports++] = (uint16_t)port;
        *ret = ports;
        return 0;
}

void listen_ports_done(ListenPorts *ports) {
        free(ports->ports);
        *ports = (ListenPorts){ 0 };
}
