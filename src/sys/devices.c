/* Devices in /sys and network interfaces: where they are attached, and events of what comes and
 * goes. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <libudev.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/devices.h"

/* --- devices in /sys, and what their parents show of them --- */

int sysfs_resolve(const Sysroot *sysroot, char ret[static PATH_MAX], const char *format, ...) {
        char path[PATH_MAX], root[PATH_MAX], target[PATH_MAX];
        _cleanup_close_ int fd = -EBADF;
        va_list arguments;
        ssize_t length, n;

        va_start(arguments, format);
        n = vsnprintf(path, sizeof(path), format, arguments);
        va_end(arguments);
        if (n >= PATH_MAX)
                return -ENAMETOOLONG;
        fd = openat(sysroot->sys_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOTDIR ? -ENOENT : -errno;
        length = path_read_link(AT_FDCWD, root, sizeof(root), "/proc/self/fd/%d", sysroot->sys_fd);
        n = length < 0 ? length
                       : path_read_link(AT_FDCWD, target, sizeof(target), "/proc/self/fd/%d", fd);
        if (n < 0)
                return (int)n;
        if (strncmp(target, root, (size_t)length) != 0 || target[length] != '/')
                return -EXDEV;
        (void)strcpy(ret, target + length + 1);
        return 0;
}

bool sysfs_is_virtual(const char *path) {
        return strncmp(path, "devices/virtual/", strlen("devices/virtual/")) == 0;
}

static int device_numa_node(const Sysroot *sysroot, const char *path) {
        uint32_t node;

        return path_read_u32(sysroot->sys_fd, NODE_SET_MAX - 1, &node, "%s/numa_node", path) < 0
                       ? -1
                       : (int)node;
}

/* Firmware may name the CPUs near a device and no node: the node that has all of them. The kernel
 * reports all CPUs when it knows nothing. */
static int device_node_by_cpus(const Sysroot *sysroot, const char *path) {
        CpuSet local, online, its;
        NodeSet nodes;

        if (path_read_list(sysroot->sys_fd, &local, "%s/local_cpulist", path) < 0 ||
            path_read_list(sysroot->sys_fd, &online, "devices/system/cpu/online") < 0 ||
            path_read_list(sysroot->sys_fd, &nodes, "devices/system/node/online") < 0 ||
            id_set_is_subset(&online, &local) || !id_set_intersects(&local, &online))
                return -1;
        id_set_intersect(&local, &online);
        ID_SET_FOREACH(node, &nodes)
        if (path_read_list(sysroot->sys_fd, &its, "devices/system/node/node%d/cpulist", node) >=
                    0 &&
            id_set_is_subset(&local, &its))
                return node;
        return -1;
}

/* "0000:3b:00.0": domain of four digits or more, bus, device, function. */
static bool is_pci(const char *name, size_t length) {
        static const char form[] = "::.";
        size_t digits[] = { 0, 0, 0, 0 }, part = 0;

        if (length >= SYSFS_PCI_MAX)
                return false;
        for (size_t i = 0; i < length; i++) {
                if (isxdigit((unsigned char)name[i]))
                        digits[part]++;
                else if (part < 3 && name[i] == form[part])
                        part++;
                else
                        return false;
        }
        return digits[0] >= 4 && digits[1] == 2 && digits[2] == 2 && digits[3] == 1;
}

/* A device of a class (nvme0, sda, eth0) reports what its driver keeps as its node, which is 0
 * where the driver never set it, as the NVMe driver of RHEL 8.1. Only what a device of a bus
 * reports comes from the firmware. A dump may lack the link; then the name must be that of a PCI
 * device. */
static bool device_is_on_bus(const Sysroot *sysroot, const char *path) {
        char target[PATH_MAX];

        if (path_read_link(sysroot->sys_fd, target, sizeof(target), "%s/subsystem", path) < 0)
                return is_pci(basename(path), strlen(basename(path)));
        return path_cut_last(target) && strcmp(basename(target), "bus") == 0;
}

/* The nearest device of a bus that has an answer: -1 is none. */
static int device_node_upwards(const Sysroot *sysroot, const char *path,
                               int (*find)(const Sysroot *sysroot, const char *path)) {
        char at[PATH_MAX];
        int node;

        if (strlen(path) >= sizeof(at))
                return -1;
        (void)strcpy(at, path);
        do
                node = device_is_on_bus(sysroot, at) ? find(sysroot, at) : -1;
        while (node < 0 && path_cut_last(at));
        return node;
}

int sysfs_node(const Sysroot *sysroot, const char *path) {
        int node = device_node_upwards(sysroot, path, device_numa_node);

        return node < 0 ? device_node_upwards(sysroot, path, device_node_by_cpus) : node;
}

int sysfs_driver(const Sysroot *sysroot, const char *path, char **ret) {
        char at[PATH_MAX];
        int r;

        if (strlen(path) >= sizeof(at))
                return -ENAMETOOLONG;
        (void)strcpy(at, path);
        do
                r = path_read_link_name(sysroot->sys_fd, ret, "%s/driver", at);
        while (r == -ENOENT && path_cut_last(at));
        return r;
}

int sysfs_pci(const char *path, char ret[static SYSFS_PCI_MAX]) {
        const char *found = NULL;
        size_t length = 0;

        for (const char *p = path; *p;) {
                size_t n = strcspn(p, "/");

                if (is_pci(p, n)) {
                        found = p;
                        length = n;
                }
                p += n + (p[n] == '/');
        }
        if (!found)
                return -ENOENT;
        memcpy(ret, found, length);
        ret[length] = '\0';
        return 0;
}

/* --- the default route --- */

_Static_assert(INTERFACE_NAME_SIZE == IF_NAMESIZE && ADDRESS_TEXT_SIZE == INET6_ADDRSTRLEN,
               "see devices.h");

enum {
        ROUTE_UP = 0x1, /* RTF_UP, RTF_REJECT of <linux/route.h> */
        ROUTE_REJECT = 0x200,
        LINE_MAX_BYTES = 512, /* real ones have some 150 */
};

typedef struct Route {
        char name[INTERFACE_NAME_SIZE];
        uint32_t metric;
} Route;

/* The name is used as part of a path. */
static bool interface_is_usable(const char *name) {
        return !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
               strcmp(name, "*") != 0 && strcmp(name, "lo") != 0;
}

static bool route_is_usable(uint32_t flags) {
        return (flags & ROUTE_UP) && !(flags & ROUTE_REJECT);
}

/* "eth0 00000000 010200C0 0003 0 0 100 00000000 0 0 0": interface, destination, gateway, flags, two
 * counters, metric, mask. The metric is printed as if it had a sign. */
static bool route_parse_line(const char *line, Route *ret) {
        uint32_t destination, flags, mask;
        int64_t metric;

        if (sscanf(line, "%15s %8" SCNx32 " %*8x %8" SCNx32 " %*d %*u %11" SCNd64 " %8" SCNx32,
                   ret->name, &destination, &flags, &metric, &mask) != 5)
                return false;
        ret->metric = (uint32_t)metric;
        return destination == 0 && mask == 0 && route_is_usable(flags) &&
               interface_is_usable(ret->name);
}

/* Destination, prefix, source, its prefix, gateway, metric, two counters, flags, interface. */
static bool route_parse_line6(const char *line, Route *ret) {
        char destination[33], source[33];
        uint32_t prefix, source_prefix, flags;

        if (sscanf(line,
                   "%32s %2" SCNx32 " %32s %2" SCNx32 " %*32s %8" SCNx32 " %*8x %*8x %8" SCNx32
                   " %15s",
                   destination, &prefix, source, &source_prefix, &ret->metric, &flags,
                   ret->name) != 7)
                return false;
        return prefix == 0 && source_prefix == 0 && strspn(destination, "0") == 32 &&
               route_is_usable(flags) && interface_is_usable(ret->name);
}

static int routes_parse(const char *text, bool (*parse_line)(const char *line, Route *ret),
                        char *ret) {
        char line[LINE_MAX_BYTES];
        Route best = { 0 };

        for (const char *p = text; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n')) {
                size_t length = strcspn(p, "\n");
                Route route;

                if (length >= sizeof(line))
                        continue;
                memcpy(line, p, length);
                line[length] = '\0';
                if (parse_line(line, &route) && (!best.name[0] || route.metric < best.metric))
                        best = route;
        }
        if (!best.name[0])
                return -ENOENT;
        memcpy(ret, best.name, INTERFACE_NAME_SIZE);
        return 0;
}

int default_route_parse(const char *text, char ret[static INTERFACE_NAME_SIZE]) {
        return routes_parse(text, route_parse_line, ret);
}

int default_route6_parse(const char *text, char ret[static INTERFACE_NAME_SIZE]) {
        return routes_parse(text, route_parse_line6, ret);
}

int default_route_read(const Sysroot *sysroot, char ret[static INTERFACE_NAME_SIZE]) {
        _cleanup_free_ char *text = NULL, *text6 = NULL;
        int r = path_read_alloc(sysroot->proc_fd, &text, NULL, "net/route");

        if (r >= 0)
                r = default_route_parse(text, ret);
        if (r != -ENOENT)
                return r;
        r = path_read_alloc(sysroot->proc_fd, &text6, NULL, "net/ipv6_route");
        return r < 0 ? r : default_route6_parse(text6, ret);
}

/* --- addresses --- */

int interface_address_read(const char *interface, char ret[static ADDRESS_TEXT_SIZE]) {
        static const int families[] = { AF_INET, AF_INET6 };
        struct ifaddrs *list;
        const void *found = NULL;
        int r = -ENODATA;

        if (getifaddrs(&list) < 0)
                return -errno;
        for (size_t f = 0; f < ELEMENTSOF(families) && !found; f++)
                for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
                        const struct sockaddr *address = i->ifa_addr;
                        const struct sockaddr_in6 *six = (const void *)address;

                        if (strcmp(i->ifa_name, interface) != 0 || !address ||
                            address->sa_family != families[f])
                                continue;
                        if (families[f] == AF_INET)
                                found = &((const struct sockaddr_in *)(const void *)address)
                                                 ->sin_addr;
                        else if (!IN6_IS_ADDR_LINKLOCAL(
                                         &six->sin6_addr)) /* else unreachable for others */
                                found = &six->sin6_addr;
                        if (found && inet_ntop(families[f], found, ret, ADDRESS_TEXT_SIZE))
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
static const struct rtattr *rtattr_find(const struct rtattr *first, size_t size,
                                        unsigned short type) {
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
        info = rtattr_find(IFLA_RTA((const struct ifinfomsg *)NLMSG_DATA(header)),
                           IFLA_PAYLOAD(header), IFLA_LINKINFO);
        return !info || !rtattr_find(RTA_DATA(info), RTA_PAYLOAD(info), IFLA_INFO_KIND);
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

/* --- events of devices that come and go --- */

/* Events that one pass of the loop reads; the rest cause another pass. */
enum { UEVENTS_A_PASS = 64 };

static int on_uevents(_unused_ sd_event_source *source, _unused_ int fd, _unused_ uint32_t revents,
                      void *userdata) {
        static const char virtual[] = "/sys/devices/virtual/";
        const Uevents *uevents = userdata;
        bool any = false;

        for (unsigned i = 0; i < UEVENTS_A_PASS; i++) {
                struct udev_device *device;
                const char *path;

                errno = 0;
                device = udev_monitor_receive_device(uevents->monitor);
                if (!device) {
                        any |= errno == ENOBUFS; /* events were lost */
                        break;
                }
                /* Interfaces of containers come and go all day. */
                path = udev_device_get_syspath(device);
                any |= !path || strncmp(path, virtual, strlen(virtual)) != 0;
                udev_device_unref(device);
        }
        if (any)
                uevents->handler(uevents->userdata);
        return 0;
}

int uevents_open(Uevents *uevents, sd_event *event, const char *const *subsystems,
                 UeventsHandler handler, void *userdata) {
        struct udev *udev = udev_new();
        int r = 0;

        *uevents = (Uevents){ .handler = handler, .userdata = userdata };
        uevents->monitor = udev ? udev_monitor_new_from_netlink(udev, "udev") : NULL;
        udev_unref(udev); /* the monitor has a reference of its own */
        if (!uevents->monitor)
                r = errno > 0 ? -errno : -ENOMEM;
        /* The kernel filters: a host has thousands of other events. */
        for (size_t i = 0; r >= 0 && subsystems[i]; i++)
                r = udev_monitor_filter_add_match_subsystem_devtype(uevents->monitor, subsystems[i],
                                                                    NULL);
        if (r >= 0)
                r = udev_monitor_enable_receiving(uevents->monitor);
        if (r >= 0)
                r = sd_event_add_io(event, &uevents->source, udev_monitor_get_fd(uevents->monitor),
                                    EPOLLIN, on_uevents, uevents);
        if (r < 0)
                uevents_close(uevents);
        return r < 0 ? r : 0;
}

void uevents_close(Uevents *uevents) {
        sd_event_source_unref(uevents->source);
        udev_monitor_unref(uevents->monitor);
        *uevents = (Uevents){ 0 };
}
