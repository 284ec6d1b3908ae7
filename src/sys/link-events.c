/* Network interfaces that come, go, or are switched on and off. */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/link-events.h"

/* More than this at once, and the rest comes with the next look. */
enum { READS_MAX = 64 };

int link_events_open(int *ret_fd) {
        const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
        _cleanup_close_ int fd =
                socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

        if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

bool link_events_drain(int fd) {
        char unused[8];
        bool any = false;

        for (unsigned i = 0; i < READS_MAX; i++) {
                /* The rest of each message is cut off. */
                if (recv(fd, unused, sizeof(unused), MSG_DONTWAIT) < 0 && errno != ENOBUFS &&
                    errno != EINTR)
                        break;
                any = true;
        }
        return any;
}
