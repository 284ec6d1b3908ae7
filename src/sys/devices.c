/* Devices in /sys and network interfaces: where they are attached, and events of what comes and
 * goes. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "config.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/devices.h"

/* --- sysfs-device --- */

/* Devices in /sys, and what their parents show of them. */

static int read_own_link(int fd, char buffer[static PATH_MAX]) {
        char link[64];
        ssize_t n;

        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, buffer, PATH_MAX);
        if (n < 0)
                return -errno;
        if (n == PATH_MAX)
                return -ENAMETOOLONG;
        buffer[n] = '\0';
        return 0;
}

int sysfs_resolve(const Sysroot *sysroot, const char *path, char ret[static PATH_MAX]) {
        _cleanup_close_ int fd = openat(sysroot->sys_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        char root[PATH_MAX], target[PATH_MAX];
        size_t length;
        int r;

        if (fd < 0)
                return errno == ENOTDIR ? -ENOENT : -errno;
        r = read_own_link(sysroot->sys_fd, root);
        if (r >= 0)
                r = read_own_link(fd, target);
        if (r < 0)
                return r;
        length = strlen(root);
        if (strncmp(target, root, length) != 0 || target[length] != '/')
                return -EXDEV;
        (void)strcpy(ret, target + length + 1);
        return 0;
}

bool sysfs_to_parent(char *path) {
        char *slash = strrchr(path, '/');

        if (slash)
                *slash = '\0';
        return slash;
}

bool sysfs_is_virtual(const char *path) {
        return strncmp(path, "devices/virtual/", strlen("devices/virtual/")) == 0;
}

/* false: too long to be one. */
static bool join(const char *path, const char *name, char buffer[static PATH_MAX]) {
        return snprintf(buffer, PATH_MAX, "%s/%s", path, name) < PATH_MAX;
}

int sysfs_resolve_in(const Sysroot *sysroot, const char *folder, const char *name,
                     char ret[static PATH_MAX]) {
        char path[PATH_MAX];

        return join(folder, name, path) ? sysfs_resolve(sysroot, path, ret) : -ENAMETOOLONG;
}

bool sysfs_has(const Sysroot *sysroot, const char *path, const char *name) {
        char file[PATH_MAX];

        return join(path, name, file) && faccessat(sysroot->sys_fd, file, F_OK, 0) == 0;
}

ssize_t sysfs_read(const Sysroot *sysroot, const char *path, const char *name, char *buffer,
                   size_t size) {
        char file[PATH_MAX];

        if (!join(path, name, file))
                return -ENAMETOOLONG;
        return path_read(sysroot->sys_fd, buffer, size, "%s", file);
}

int sysfs_read_link_name(const Sysroot *sysroot, const char *path, const char *name, char **ret) {
        char link[PATH_MAX], target[PATH_MAX];
        ssize_t n;

        if (!join(path, name, link))
                return -ENAMETOOLONG;
        n = readlinkat(sysroot->sys_fd, link, target, sizeof(target) - 1);
        if (n < 0)
                return errno == EINVAL ? -ENOENT : -errno;
        target[n] = '\0';
        *ret = strdup(basename(target));
        return *ret ? 0 : -ENOMEM;
}

static int read_numa_node(const Sysroot *sysroot, const char *path) {
        char text[32];
        uint64_t node;

        if (sysfs_read(sysroot, path, "numa_node", text, sizeof(text)) <= 0 ||
            parse_u64(text, &node) < 0 || node >= NODE_SET_MAX)
                return -1;
        return (int)node;
}

static bool read_list(const Sysroot *sysroot, const char *path, const char *name, IdTarget ret) {
        char text[ID_SET_LIST_MAX];

        return sysfs_read(sysroot, path, name, text, sizeof(text)) > 0 &&
               id_target_parse_list(text, ret) >= 0;
}

/* The node that has all of these CPUs. */
static int find_node_of(const Sysroot *sysroot, const CpuSet *cpus) {
        NodeSet nodes;

        if (!read_list(sysroot, "devices/system/node", "online", ID_TARGET(&nodes)))
                return -1;
        ID_SET_FOREACH(node, &nodes) {
                char path[64];
                CpuSet its;

                (void)snprintf(path, sizeof(path), "devices/system/node/node%d", node);
                if (read_list(sysroot, path, "cpulist", ID_TARGET(&its)) &&
                    id_set_is_subset(cpus, &its))
                        return node;
        }
        return -1;
}

/* Firmware may name the CPUs near a device and no node. The kernel reports all CPUs when it
 * knows nothing. */
static int find_node_by_cpus(const Sysroot *sysroot, const char *path) {
        CpuSet local, online;

        if (!read_list(sysroot, path, "local_cpulist", ID_TARGET(&local)) ||
            !read_list(sysroot, "devices/system/cpu", "online", ID_TARGET(&online)) ||
            id_set_is_subset(&online, &local))
                return -1;
        id_set_intersect(&local, &online);
        return id_set_is_empty(&local) ? -1 : find_node_of(sysroot, &local);
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
static bool is_on_bus(const Sysroot *sysroot, const char *path) {
        char link[PATH_MAX], target[PATH_MAX];
        ssize_t n;

        if (!join(path, "subsystem", link))
                return false;
        n = readlinkat(sysroot->sys_fd, link, target, sizeof(target) - 1);
        if (n < 0)
                return is_pci(basename(path), strlen(basename(path)));
        target[n] = '\0';
        return sysfs_to_parent(target) && strcmp(basename(target), "bus") == 0;
}

/* The nearest device of a bus that has an answer: -1 is none. */
static int find_upwards(const Sysroot *sysroot, const char *path,
                        int (*find)(const Sysroot *sysroot, const char *path)) {
        char at[PATH_MAX];
        int node;

        if (strlen(path) >= sizeof(at))
                return -1;
        (void)strcpy(at, path);
        do
                node = is_on_bus(sysroot, at) ? find(sysroot, at) : -1;
        while (node < 0 && sysfs_to_parent(at));
        return node;
}

int sysfs_node(const Sysroot *sysroot, const char *path) {
        int node = find_upwards(sysroot, path, read_numa_node);

        return node < 0 ? find_upwards(sysroot, path, find_node_by_cpus) : node;
}

int sysfs_driver(const Sysroot *sysroot, const char *path, char **ret) {
        char at[PATH_MAX];
        int r;

        if (strlen(path) >= sizeof(at))
                return -ENAMETOOLONG;
        (void)strcpy(at, path);
        do
                r = sysfs_read_link_name(sysroot, at, "driver", ret);
        while (r == -ENOENT && sysfs_to_parent(at));
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

int sysfs_foreach(const Sysroot *sysroot, const char *path, SysfsCallback callback,
                  void *userdata) {
        _cleanup_close_ int fd = openat(sysroot->sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *dir = NULL;
        struct dirent *entry;

        if (fd < 0)
                return errno == ENOTDIR ? -ENOENT : -errno;
        dir = fdopendir(fd);
        if (!dir)
                return -errno;
        TAKE_FD(fd);
        while ((entry = readdir(dir))) {
                int r = entry->d_name[0] == '.' ? 0 : callback(entry->d_name, userdata);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- network --- */

/* Network interfaces of the host: that of the default route, out of the kernel's text files, their
 * addresses, and events of them. */

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
        memcpy(ret, best.name, INTERFACE_NAME_SIZE);
        return 0;
}

int default_route_parse(const char *text, char ret[static INTERFACE_NAME_SIZE]) {
        return parse(text, parse_line, ret);
}

int default_route6_parse(const char *text, char ret[static INTERFACE_NAME_SIZE]) {
        return parse(text, parse_line6, ret);
}

typedef int (*ParseRoutes)(const char *text, char ret[static INTERFACE_NAME_SIZE]);

static int read_one(const Sysroot *sysroot, const char *path, ParseRoutes parse_all, char *ret) {
        _cleanup_free_ char *text = NULL;
        int r = path_read_alloc(sysroot->proc_fd, &text, NULL, "%s", path);

        return r < 0 ? r : parse_all(text, ret);
}

int default_route_read(const Sysroot *sysroot, char ret[static INTERFACE_NAME_SIZE]) {
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

int interface_address_read(const char *interface, char ret[static ADDRESS_TEXT_SIZE]) {
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

/* --- uevents --- */

#if HAVE_SD_DEVICE
#include <systemd/sd-device.h>

/* Interfaces of containers come and go all day. */
static bool is_virtual(sd_device *device) {
        static const char folder[] = "/sys/devices/virtual/";
        const char *path;

        return sd_device_get_syspath(device, &path) >= 0 &&
               strncmp(path, folder, strlen(folder)) == 0;
}

static int on_event(_unused_ sd_device_monitor *monitor, sd_device *device, void *userdata) {
        const Uevents *uevents = userdata;

        if (!is_virtual(device))
                uevents->handler(uevents->userdata);
        return 0;
}

static int open_monitor(Uevents *uevents, sd_event *event, const char *const *subsystems) {
        int r = sd_device_monitor_new(&uevents->monitor);

        /* The kernel filters: a host has thousands of other events. */
        for (size_t i = 0; r >= 0 && subsystems[i]; i++)
                r = sd_device_monitor_filter_add_match_subsystem_devtype(uevents->monitor,
                                                                         subsystems[i], NULL);
        if (r >= 0)
                r = sd_device_monitor_attach_event(uevents->monitor, event);
        return r < 0 ? r : sd_device_monitor_start(uevents->monitor, on_event, uevents);
}

static void close_monitor(Uevents *uevents) {
        sd_device_monitor_unref(uevents->monitor);
}

#else

static int open_monitor(_unused_ Uevents *uevents, _unused_ sd_event *event,
                        _unused_ const char *const *subsystems) {
        return -EOPNOTSUPP;
}

static void close_monitor(_unused_ Uevents *uevents) {}

#endif

int uevents_open(Uevents *uevents, sd_event *event, const char *const *subsystems,
                 UeventsHandler handler, void *userdata) {
        int r;

        *uevents = (Uevents){ .handler = handler, .userdata = userdata };
        r = open_monitor(uevents, event, subsystems);
        if (r < 0)
                uevents_close(uevents);
        return r < 0 ? r : 0;
}

void uevents_close(Uevents *uevents) {
        close_monitor(uevents);
        *uevents = (Uevents){ 0 };
}
