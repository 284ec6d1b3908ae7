/* Network interfaces that come, go, or are switched on and off. */
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/link-events.h"

/* More than this at once, and the rest comes with the next look. */
enum { READS_MAX = 64 };

/* One is of some 1.5 KiB; the message of a card with many functions may be cut off. */
enum { MESSAGE_MAX = 16384 };

int link_events_open(int *ret_fd) {
        const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
        _cleanup_close_ int fd =
                socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

        if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* NULL: there is none. */
static const struct rtattr *find(const struct rtattr *first, size_t size, unsigned short type) {
        const struct rtattr *a = first;

        for (int left = (int)size; RTA_OK(a, left); a = RTA_NEXT(a, left))
                if ((a->rta_type & NLA_TYPE_MASK) == type)
                        return a;
        return NULL;
}

bool link_event_counts(const void *message, size_t size) {
        const struct nlmsghdr *header = message;
        const struct rtattr *info;

        if (size < NLMSG_LENGTH(sizeof(struct ifinfomsg)) || size > INT_MAX ||
            header->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg)) ||
            header->nlmsg_len > size ||
            (header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK))
                return true;
        info = find(IFLA_RTA((const struct ifinfomsg *)NLMSG_DATA(header)), IFLA_PAYLOAD(header),
                    IFLA_LINKINFO);
        return !info || !find(RTA_DATA(info), RTA_PAYLOAD(info), IFLA_INFO_KIND);
}

bool link_events_drain(int fd) {
        _Alignas(struct nlmsghdr) char message[MESSAGE_MAX];
        bool any = false;

        for (unsigned i = 0; i < READS_MAX; i++) {
                const ssize_t n = recv(fd, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);

                if (n < 0 && errno != ENOBUFS && errno != EINTR)
                        break;
                any |= n < 0 || (size_t)n > sizeof(message) ||
                       link_event_counts(message, (size_t)n);
        }
        return any;
}
