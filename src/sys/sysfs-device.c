/* Devices in /sys, and what their parents show of them. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/sysfs-device.h"

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
        return read_file_at(sysroot->sys_fd, file, buffer, size);
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
