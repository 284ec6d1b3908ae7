/* Copies of parts of /proc and /sys. Only files with known names are read: reading others may be
 * slow or have effects. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/dump.h"
#include "tidbnumad/sys/proc.h"

enum { NAMES_MAX = 32, PATH_BYTES = 1024 };

/* A folder, how deep to go below it, and globs of the files and links that are copied. */
typedef struct Rule {
        const char *path;
        unsigned depth;
        const char *names[NAMES_MAX];
} Rule;

#define DEVICE_FILES                                                                               \
        "class", "numa_node", "local_cpulist", "driver", "speed", "operstate", "ifindex",          \
                "address", "master", "hidden", "dev", "level", "name", "uuid", "partition",        \
                "backing_file", "physfn", "device", "xps_cpus", "rps_cpus", "lower_*",             \
                "subsystem", "sd[a-z]*", "vd[a-z]*", "nvme*", "dm-*", "md*", "[0-9]*"

static const Rule sys_rules[] = {
        { "devices/system/cpu",
          4,
          { "online",
            "possible",
            "present",
            "isolated",
            "offline",
            "nohz_full",
            "kernel_max",
            "cpu_capacity",
            "scaling_governor",
            "id",
            "*_id",
            "*_cpus",
            "*_cpus_list",
            "*_siblings",
            "*_siblings_list",
            "shared_cpu_*",
            "level",
            "type",
            "size",
            "coherency_line_size",
            "number_of_sets",
            "ways_of_associativity",
            "physical_line_partition" } },
        { "devices/system/node", 3, { "*" } },
        { "kernel/mm/transparent_hugepage", 0, { "enabled", "defrag" } },
        { "kernel/mm/hugepages", 1, { "nr_hugepages", "resv_hugepages" } },
        { "kernel/mm/numa", 0, { "demotion_enabled" } },
        { "class/net", 0, { "*" } },
        { "class/block", 0, { "*" } },
        { "class/nvme", 0, { "*" } },
        { "dev/block", 0, { "*" } },
        { "bus/pci/devices", 0, { "*" } },
        { "fs/btrfs", 2, { "*" } },
        { "devices", 14, { DEVICE_FILES } },
        { "fs/cgroup",
          12,
          { "cgroup.procs", "cgroup.controllers", "cgroup.subtree_control", "cgroup.type",
            "cpuset.*cpus*", "cpuset.*mems*", "memory.max", "memory.numa_stat",
            "memory.limit_in_bytes", "cpu.pressure", "memory.pressure", "tasks" } },
};

static const Rule proc_rules[] = {
        { ".",
          0,
          { "cpuinfo", "meminfo", "zoneinfo", "stat", "version", "interrupts", "mounts", "swaps",
            "uptime", "loadavg" } },
        { "net", 0, { "route" } },
        { "irq", 1, { "smp_affinity_list", "effective_affinity_list", "node" } },
        { "sys/kernel", 0, { "numa_balancing*" } },
        { "sys/vm", 0, { "swappiness", "zone_reclaim_mode", "nr_hugepages", "min_free_kbytes" } },
        { "1", 0, { "comm", "mountinfo" } },
        { "self", 0, { "mountinfo", "cpuset", "cgroup" } },
};

static const Rule process_rules[] = {
        { ".",
          0,
          { "exe", "cwd", "root", "cgroup", "stat", "status", "comm", "mountinfo", "cpuset",
            "limits" } },
        { "ns", 0, { "*" } },
        { "fd", 0, { "*" } },
        { "fdinfo", 0, { "*" } },
        { "net", 0, { "tcp", "tcp6" } },
        { "task", 1, { "stat", "status", "comm", "children" } },
};

static int make_folders(int to_fd, const char *path) {
        char folder[PATH_BYTES];

        if (strlen(path) >= sizeof(folder))
                return -ENAMETOOLONG;
        for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
                (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
                if (mkdirat(to_fd, folder, 0700) < 0 && errno != EEXIST)
                        return -errno;
        }
        return 0;
}

int dump_write(int to_fd, const char *path, const char *data, size_t size) {
        _cleanup_close_ int fd = -EBADF;
        int r = make_folders(to_fd, path);

        if (r < 0)
                return r;
        fd = openat(to_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        return write_all(fd, data, size);
}

static int copy_file(int from_fd, const char *name, int to_fd, const char *to) {
        _cleanup_free_ char *data = NULL;
        size_t size = 0;
        int r = path_read_alloc(from_fd, &data, &size, "%s", name);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return dump_write(to_fd, to, data, size);
}

static int copy_link(int from_fd, const char *name, int to_fd, const char *to) {
        char target[PATH_BYTES];
        const ssize_t n = readlinkat(from_fd, name, target, sizeof(target) - 1);
        int r;

        if (n < 0)
                return 0;
        target[n] = '\0';
        r = make_folders(to_fd, to);
        if (r < 0)
                return r;
        return symlinkat(target, to_fd, to) < 0 && errno != EEXIST ? -errno : 0;
}

static bool is_wanted(const Rule *rule, const char *name) {
        for (size_t i = 0; i < NAMES_MAX && rule->names[i]; i++)
                if (fnmatch(rule->names[i], name, 0) == 0)
                        return true;
        return false;
}

static int copy_folder(int from_fd, const char *path, unsigned depth, const Rule *rule, int to_fd,
                       const char *to);

static int copy_entry(int dir_fd, const struct dirent *entry, unsigned depth, const Rule *rule,
                      int to_fd, const char *to) {
        char target[PATH_BYTES];
        const bool dir = entry->d_type == DT_DIR;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (dir ? depth == 0 : !is_wanted(rule, entry->d_name)))
                return 0;
        if ((size_t)snprintf(target, sizeof(target), "%s/%s", to, entry->d_name) >= sizeof(target))
                return 0;
        if (dir)
                return copy_folder(dir_fd, entry->d_name, depth - 1, rule, to_fd, target);
        return entry->d_type == DT_LNK ? copy_link(dir_fd, entry->d_name, to_fd, target)
                                       : copy_file(dir_fd, entry->d_name, to_fd, target);
}

/* The folder itself is copied too, because its existence may matter. */
static int copy_folder(int from_fd, const char *path, unsigned depth, const Rule *rule, int to_fd,
                       const char *to) {
        int fd = openat(from_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;
        int r;

        if (!dir) {
                closep(&fd);
                return 0;
        }
        r = make_folders(to_fd, to);
        if (r >= 0 && mkdirat(to_fd, to, 0700) < 0 && errno != EEXIST)
                r = -errno;
        while (r >= 0 && (entry = readdir(dir)))
                r = copy_entry(dirfd(dir), entry, depth, rule, to_fd, to);
        return r;
}

static int apply(const Rule *rules, size_t n, int from_fd, int to_fd, const char *to) {
        int r = 0;

        for (size_t i = 0; i < n && r >= 0; i++) {
                char target[PATH_BYTES];

                (void)snprintf(target, sizeof(target), "%s%s%s", to,
                               strcmp(rules[i].path, ".") == 0 ? "" : "/",
                               strcmp(rules[i].path, ".") == 0 ? "" : rules[i].path);
                r = copy_folder(from_fd, rules[i].path, rules[i].depth, &rules[i], to_fd, target);
        }
        return r;
}

/* The words of the kernel's command line are arguments too. */
static int copy_kernel_arguments(const Sysroot *sysroot, int to_fd) {
        _cleanup_free_ char *line = NULL;
        _cleanup_text_ Text text = { 0 };
        size_t size;
        int r = path_read_alloc(sysroot->proc_fd, &line, &size, "cmdline");

        if (r < 0)
                return 0;
        for (size_t i = 0; i < size; i++)
                line[i] = (char)(line[i] == ' ' || line[i] == '\n' ? '\0' : line[i]);
        mask_arguments(&text, line, size);
        for (size_t i = 0; i + 1 < text.length; i++)
                text.data[i] = (char)(text.data[i] == '\0' ? ' ' : text.data[i]);
        if (text.length > 0)
                text.data[text.length - 1] = '\n';
        return text.error < 0 ? text.error
                              : dump_write(to_fd, "proc/cmdline", text.data, text.length);
}

int dump_machine(const Sysroot *sysroot, int to_fd) {
        int r = apply(sys_rules, ELEMENTSOF(sys_rules), sysroot->sys_fd, to_fd, "sys");

        if (r >= 0)
                r = apply(proc_rules, ELEMENTSOF(proc_rules), sysroot->proc_fd, to_fd, "proc");
        return r < 0 ? r : copy_kernel_arguments(sysroot, to_fd);
}

static int copy_arguments(int fd, int to_fd, const char *folder) {
        _cleanup_free_ char *bytes = NULL;
        _cleanup_text_ Text text = { 0 };
        char path[64];
        size_t size;

        if (path_read_alloc(fd, &bytes, &size, "cmdline") < 0)
                return 0;
        mask_arguments(&text, bytes, size);
        (void)snprintf(path, sizeof(path), "%s/cmdline", folder);
        return text.error < 0 ? text.error : dump_write(to_fd, path, text.data, text.length);
}

/* One variable, and the start of numa_maps, where the memory policy is: all of it would lock the
 * memory map of the process for long. */
static int copy_parts(int fd, int to_fd, const char *folder) {
        _cleanup_close_ int maps = openat(fd, "numa_maps", O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *bytes = NULL;
        char path[64], text[128], value[32];
        const char *found;
        size_t size;
        ssize_t n;
        int r = 0;

        if (path_read_alloc(fd, &bytes, &size, "environ") >= 0 &&
            (found = environment_find(bytes, size, "GOMAXPROCS"))) {
                n = snprintf(value, sizeof(value), "GOMAXPROCS=%.10s", found);
                (void)snprintf(path, sizeof(path), "%s/environ", folder);
                r = dump_write(to_fd, path, value, (size_t)n + 1);
        }
        n = maps < 0 ? -1 : read(maps, text, sizeof(text));
        (void)snprintf(path, sizeof(path), "%s/numa_maps", folder);
        return r < 0 || n < 0 ? r : dump_write(to_fd, path, text, (size_t)n);
}

int dump_process(const Sysroot *sysroot, pid_t pid, int to_fd) {
        _cleanup_close_ int fd = -EBADF;
        char name[16], folder[32];
        int r;

        (void)snprintf(name, sizeof(name), "%d", pid);
        (void)snprintf(folder, sizeof(folder), "proc/%d", pid);
        fd = openat(sysroot->proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return 0;
        r = apply(process_rules, ELEMENTSOF(process_rules), fd, to_fd, folder);
        if (r >= 0)
                r = copy_arguments(fd, to_fd, folder);
        return r < 0 ? r : copy_parts(fd, to_fd, folder);
}
