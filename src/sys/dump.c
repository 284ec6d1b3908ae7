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
                "subsystem", "size", "sd[a-z]*", "vd[a-z]*", "nvme*", "dm-*", "md*", "[0-9]*"

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
            "memory.limit_in_bytes", "cpu.max", "cpu.cfs_*", "cpu.pressure", "memory.pressure",
            "tasks" } },
};

static const Rule proc_rules[] = {
        { ".",
          0,
          { "cpuinfo", "meminfo", "zoneinfo", "stat", "version", "interrupts", "mounts", "swaps",
            "uptime", "loadavg" } },
        { "net", 0, { "route", "ipv6_route" } },
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

/* The folder itself is copied too, because its existence may matter. */
static int copy_folder(int from_fd, const char *path, unsigned depth, const Rule *rule, int to_fd,
                       const char *to) {
        _cleanup_closedir_ DIR *dir =
                dir_from_fd(openat(from_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        const struct dirent *entry;
        int r;

        if (!dir)
                return 0;
        r = make_folders(to_fd, to);
        if (r >= 0 && mkdirat(to_fd, to, 0700) < 0 && errno != EEXIST)
                r = -errno;
        while (r >= 0 && (entry = readdir(dir))) {
                const char *name = entry->d_name;
                char target[PATH_BYTES], link[PATH_BYTES];
                _cleanup_free_ char *data = NULL;
                size_t size, i = 0;

                if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                    (size_t)snprintf(target, sizeof(target), "%s/%s", to, name) >= sizeof(target))
                        continue;
                if (entry->d_type == DT_DIR) {
                        if (depth > 0)
                                r = copy_folder(dirfd(dir), name, depth - 1, rule, to_fd, target);
                        continue;
                }
                while (i < NAMES_MAX && rule->names[i] && fnmatch(rule->names[i], name, 0) != 0)
                        i++;
                if (i == NAMES_MAX || !rule->names[i])
                        continue;
                if (entry->d_type != DT_LNK) {
                        r = path_read_alloc(dirfd(dir), &data, &size, "%s", name);
                        r = r >= 0 ? dump_write(to_fd, target, data, size) : r == -ENOMEM ? r : 0;
                } else if (path_read_link(dirfd(dir), link, sizeof(link), "%s", name) >= 0) {
                        r = make_folders(to_fd, target);
                        if (r >= 0 && symlinkat(link, to_fd, target) < 0 && errno != EEXIST)
                                r = -errno;
                }
        }
        return r;
}

static int apply_rules(const Rule *rules, size_t n, int from_fd, int to_fd, const char *to) {
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

int dump_machine(const Sysroot *sysroot, int to_fd) {
        _cleanup_free_ char *line = NULL;
        _cleanup_text_ Text text = { 0 };
        size_t size;
        int r = apply_rules(sys_rules, ELEMENTSOF(sys_rules), sysroot->sys_fd, to_fd, "sys");

        if (r >= 0)
                r = apply_rules(proc_rules, ELEMENTSOF(proc_rules), sysroot->proc_fd, to_fd,
                                "proc");
        if (r < 0 || path_read_alloc(sysroot->proc_fd, &line, &size, "cmdline") < 0)
                return r;
        /* The words of the kernel's command line are arguments too. */
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

int dump_process(const Sysroot *sysroot, pid_t pid, int to_fd) {
        _cleanup_close_ int fd = path_open(sysroot->proc_fd, O_RDONLY | O_DIRECTORY, "%d", pid);
        _cleanup_free_ char *arguments = NULL, *environment = NULL;
        char folder[32], path[64], start[128 + 1], value[32];
        _cleanup_text_ Text text = { 0 };
        const char *found;
        size_t size;
        ssize_t n;
        int r;

        if (fd < 0)
                return 0;
        (void)snprintf(folder, sizeof(folder), "proc/%d", pid);
        r = apply_rules(process_rules, ELEMENTSOF(process_rules), fd, to_fd, folder);
        if (r >= 0 && path_read_alloc(fd, &arguments, &size, "cmdline") >= 0) {
                mask_arguments(&text, arguments, size);
                (void)snprintf(path, sizeof(path), "%s/cmdline", folder);
                r = text.error < 0 ? text.error : dump_write(to_fd, path, text.data, text.length);
        }
        if (r >= 0 && path_read_alloc(fd, &environment, &size, "environ") >= 0 &&
            (found = environment_find(environment, size, "GOMAXPROCS"))) {
                n = snprintf(value, sizeof(value), "GOMAXPROCS=%.10s", found);
                (void)snprintf(path, sizeof(path), "%s/environ", folder);
                r = dump_write(to_fd, path, value, (size_t)n + 1);
        }
        /* Of numa_maps the start, where the memory policy is: all of it would lock the memory map
         * of the process for long. */
        n = path_read_start(fd, start, sizeof(start), "numa_maps");
        (void)snprintf(path, sizeof(path), "%s/numa_maps", folder);
        return r < 0 || n < 0 ? r : dump_write(to_fd, path, start, (size_t)n);
}
