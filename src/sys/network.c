/* Network interfaces of the host: that of the default route, out of the kernel's text files, their
 * addresses, and events of them. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/network.h"

/* --- the default route --- */

enum {
        ROUTE_UP = 0x1, /* RTF_UP, RTF_REJECT of <linux/route.h> */
        ROUTE_REJECT = 0x200,
        LINE_MAX_BYTES = 512, /* real ones have some 150 */
};

typedef struct Route {
        char name[IF_NAMESIZE];
        uint32_t metric;
} Route;

typedef bool (*ParseLine)(const char *line, Route *ret);

/* The name is used as part of a path. */
static bool is_interface(const char *name) {
        return !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
               strcmp(name, "*") != 0 && strcmp(name, "lo") != 0;
}

static bool is_usable(uint32_t flags) {
        return (flags & ROUTE_UP) && !(flags & ROUTE_REJECT);
}

/* "eth0 00000000 010200C0 0003 0 0 100 00000000 0 0 0": interface, destination, gateway, flags, two
 * counters, metric, mask. The metric is printed as if it had a sign. */
static bool parse_line(const char *line, Route *ret) {
        uint32_t destination, flags, mask;
        int64_t metric;

        if (sscanf(line, "%15s %8" SCNx32 " %*8x %8" SCNx32 " %*d %*u %11" SCNd64 " %8" SCNx32,
                   ret->name, &destination, &flags, &metric, &mask) != 5)
                return false;
        ret->metric = (uint32_t)metric;
        return destination == 0 && mask == 0 && is_usable(flags) && is_interface(ret->name);
}

/* Destination, prefix, source, its prefix, gateway, metric, two counters, flags, interface. */
static bool parse_line6(const char *line, Route *ret) {
        char destination[33], source[33];
        uint32_t prefix, source_prefix, flags;

        if (sscanf(line,
                   "%32s %2" SCNx32 " %32s %2" SCNx32 " %*32s %8" SCNx32 " %*8x %*8x %8" SCNx32
                   " %15s",
                   destination, &prefix, source, &source_prefix, &ret->metric, &flags,
                   ret->name) != 7)
                return false;
        return prefix == 0 && source_prefix == 0 && strspn(destination, "0") == 32 &&
               is_usable(flags) && is_interface(ret->name);
}

static int parse(const char *text, ParseLine parse_one, char *ret) {
        char line[LINE_MAX_BYTES];
        Route best = { 0 };

        for (const char *p = text; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n')) {
                size_t length = strcspn(p, "\n");
                Route route;

                if (length >= sizeof(line))
                        continue;
                memcpy(line, p, length);
                line[length] = '\0';
                if (parse_one(line, &route) && (!best.name[0] || route.metric < best.metric))
                        best = route;
        }
        if (!best.name[0])
                return -ENOENT;
        memcpy(ret, best.name, IF_NAMESIZE);
        return 0;
}

int default_route_parse(const char *text, char ret[static IF_NAMESIZE]) {
        return parse(text, parse_line, ret);
}

int default_route6_parse(const char *text, char ret[static IF_NAMESIZE]) {
        return parse(text, parse_line6, ret);
}

typedef int (*ParseRoutes)(const char *text, char ret[static IF_NAMESIZE]);

static int read_one(const Sysroot *sysroot, const char *path, ParseRoutes parse_all, char *ret) {
        _cleanup_free_ char *text = NULL;
        int r = read_file_alloc_at(sysroot->proc_fd, path, &text, NULL);

        return r < 0 ? r : parse_all(text, ret);
}

int default_route_read(const Sysroot *sysroot, char ret[static IF_NAMESIZE]) {
        int r = read_one(sysroot, "net/route", default_route_parse, ret);

        return r == -ENOENT ? read_one(sysroot, "net/ipv6_route", default_route6_parse, ret) : r;
}

/* --- addresses --- */

/* NULL: none that others could reach. */
static const void *address_of(const struct sockaddr *address, int family) {
        const struct sockaddr_in6 *six = (const void *)address;

        if (!address || address->sa_family != family)
                return NULL;
        if (family == AF_INET)
                return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
        return IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ? NULL : &six->sin6_addr;
}

int interface_address_read(const char *interface, char ret[static INET6_ADDRSTRLEN]) {
        static const int families[] = { AF_INET, AF_INET6 };
        struct ifaddrs *list;
        const void *found = NULL;
        int r = -ENODATA;

        if (getifaddrs(&list) < 0)
                return -errno;
        for (size_t f = 0; f < ELEMENTSOF(families) && !found; f++)
                for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
                        if (strcmp(i->ifa_name, interface) == 0)
                                found = address_of(i->ifa_addr, families[f]);
                        if (found && inet_ntop(families[f], found, ret, INET6_ADDRSTRLEN))
                                r = 0;
                }
        freeifaddrs(list);
        return r;
}

/* --- interfaces that come, go, or are switched on and off --- */

/* If there are more than this, the rest is read the next time. */
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
