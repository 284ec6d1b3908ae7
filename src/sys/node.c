/* What the kernel counts by node and by CPU, the pools of huge pages, and what the processor is.
 * What that sums up to is left to world. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/node.h"

/* --- nodes and CPUs --- */

int node_meminfo_parse(const char *text, NodeMeminfo *ret) {
        NodeMeminfo m = { 0 };

        if (parse_kib_field(text, " MemTotal:", &m.total_bytes) < 0 ||
            parse_kib_field(text, " MemFree:", &m.free_bytes) < 0)
                return -EBADMSG;
        /* Absent on very old kernels: 0 is then the careful answer. */
        (void)parse_kib_field(text, " Inactive(file):", &m.inactive_file_bytes);
        (void)parse_kib_field(text, " Active(file):", &m.active_file_bytes);
        (void)parse_kib_field(text, " Dirty:", &m.dirty_bytes);
        (void)parse_kib_field(text, " Writeback:", &m.writeback_bytes);
        (void)parse_kib_field(text, " FilePages:", &m.file_bytes);
        (void)parse_kib_field(text, " Shmem:", &m.shmem_bytes);
        (void)parse_kib_field(text, " AnonPages:", &m.anon_bytes);
        *ret = m;
        return 0;
}

ssize_t node_read_file(const Sysroot *sysroot, uint32_t node, const char *name, char *buffer,
                       size_t size) {
        ssize_t n = path_read(sysroot->sys_fd, buffer, size,
                              "devices/system/node/node%" PRIu32 "/%s", node, name);

        return n == -ENOENT ? -ENODEV : n;
}

int node_meminfo_read(const Sysroot *sysroot, uint32_t node, NodeMeminfo *ret) {
        char text[8192];
        ssize_t n = node_read_file(sysroot, node, "meminfo", text, sizeof(text));

        return n < 0 ? (int)n : node_meminfo_parse(text, ret);
}

/* One line at a time into a buffer of its own: sscanf() measures its whole input on each call,
 * zoneinfo has thousands of lines, and /proc/stat one of kilobytes. */
static const char *take_line(const char *text, char *line, size_t size) {
        size_t length = strcspn(text, "\n");
        size_t kept = length < size ? length : size - 1;

        memcpy(line, text, kept);
        line[kept] = '\0';
        return text + length + (text[length] == '\n');
}

int zoneinfo_high_parse(const char *text, uint32_t node, uint64_t *ret_pages) {
        bool ours = false, seen = false;
        uint64_t pages = 0, boost = 0;
        char line[128];

        while (*text) {
                uint64_t value;
                unsigned id;

                text = take_line(text, line, sizeof(line));
                if (sscanf(line, "Node %u, zone", &id) == 1)
                        ours = id == node;
                else if (ours && sscanf(line, " boost %" SCNu64, &value) == 1)
                        boost = value;
                else if (ours && sscanf(line, " high %" SCNu64, &value) == 1) {
                        /* The kernel prints the mark with its boost, which fragmentation makes
                         * large for moments (mm/vmstat.c, zoneinfo_show_print()). */
                        pages += value > boost ? value - boost : 0;
                        boost = 0;
                        seen = true;
                }
        }
        if (!seen)
                return -ENODEV;
        *ret_pages = pages;
        return 0;
}

int zoneinfo_high_read(const Sysroot *sysroot, uint32_t node, uint64_t *ret_pages) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = path_read_alloc(sysroot->proc_fd, &text, NULL, "zoneinfo");
        return r < 0 ? r : zoneinfo_high_parse(text, node, ret_pages);
}

/* The lines of CPUs come first: "cpu3 1 2 3 4 5 6 7 8 …". */
int cpu_times_parse(const char *text, CpuTimes *ret, size_t n_max) {
        char line[256];
        size_t n = 0;

        while (n < n_max && strncmp(text, "cpu", 3) == 0) {
                CpuTimes t;

                text = take_line(text, line, sizeof(line));
                if (line[3] == ' ') /* the sum of all */
                        continue;
                if (sscanf(line,
                           "cpu%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                           " %" SCNu64 " %" SCNu64 " %" SCNu64,
                           &t.cpu, &t.user, &t.nice, &t.system, &t.idle, &t.iowait, &t.irq,
                           &t.softirq, &t.steal) != 9)
                        return -EBADMSG;
                ret[n++] = t;
        }
        return n > 0 ? (int)n : -EBADMSG;
}

int cpu_times_read(const Sysroot *sysroot, CpuTimes *ret, size_t n_max) {
        _cleanup_free_ char *text = NULL;
        int r = path_read_alloc(sysroot->proc_fd, &text, NULL, "stat");

        return r < 0 ? r : cpu_times_parse(text, ret, n_max);
}

/* --- pools of huge pages --- */

/* linux/memfd.h: the size of a file's pages as a power of two. */
#define SIZE_SHIFT 26

size_t huge_sizes_read(const Sysroot *sysroot, HugeSize *ret, size_t n_max) {
        _cleanup_closedir_ DIR *dir = dir_from_fd(
                path_open(sysroot->sys_fd, O_RDONLY | O_DIRECTORY, "kernel/mm/hugepages"));
        const struct dirent *entry;
        size_t n = 0;

        while (dir && n < n_max && (entry = readdir(dir))) {
                HugeSize size = { 0 };
                int length = 0;
                uint64_t kib;

                if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB%n", &kib, &length) != 1 ||
                    length == 0 || entry->d_name[length] != '\0' || kib == 0 ||
                    kib > UINT64_MAX >> 10)
                        continue;
                size.page_bytes = kib << 10;
                if (path_read_u64(dirfd(dir), UINT64_MAX, &size.n_pages, "%s/nr_hugepages",
                                  entry->d_name) < 0)
                        continue;
                /* Missing in a dump. The guard reads this each second: no more than it needs. */
                if (size.n_pages > 0)
                        (void)path_read_u64(dirfd(dir), UINT64_MAX, &size.n_reserved,
                                            "%s/resv_hugepages", entry->d_name);
                ret[n++] = size;
        }
        return n;
}

int huge_node_read(const Sysroot *sysroot, uint32_t node, uint64_t page_bytes, uint64_t *ret_pages,
                   uint64_t *ret_free) {
#define NODE_POOL "devices/system/node/node%" PRIu32 "/hugepages/hugepages-%" PRIu64 "kB/"
        uint64_t pages;
        int r = path_read_u64(sysroot->sys_fd, UINT64_MAX, &pages, NODE_POOL "nr_hugepages", node,
                              page_bytes >> 10);

        if (r >= 0)
                r = path_read_u64(sysroot->sys_fd, UINT64_MAX, ret_free, NODE_POOL "free_hugepages",
                                  node, page_bytes >> 10);
        if (r < 0)
                return r == -ENOENT ? -ENODEV : r;
        *ret_pages = pages;
        return 0;
}

/* --- devices --- */

static void huge_add_device(HugeDevices *devices, dev_t device, uint64_t page_bytes) {
        if (devices->n < HUGE_DEVICES_MAX && huge_devices_find(devices, device) == 0) {
                devices->list[devices->n].device = device;
                devices->list[devices->n++].page_bytes = page_bytes;
        }
}

void huge_devices_add_mounts(HugeDevices *devices, const char *mountinfo) {
        _cleanup_mount_table_ MountTable table = { 0 };

        (void)mountinfo_parse(mountinfo, &table);
        for (size_t i = 0; i < table.n_mounts; i++) {
                const Mount *m = &table.mounts[i];
                const char *value = strstr(m->options, "pagesize=");
                uint64_t size;
                char unit;

                /* "rw,relatime,pagesize=2M": K or M (hugetlbfs_show_options()) */
                if (strcmp(m->type, "hugetlbfs") != 0 || !value ||
                    sscanf(value, "pagesize=%" SCNu64 "%c", &size, &unit) != 2 || size == 0 ||
                    size > UINT64_MAX >> 20 || (unit != 'K' && unit != 'M'))
                        continue;
                huge_add_device(devices, makedev(m->major, m->minor),
                                unit == 'K' ? size << 10 : size << 20);
        }
}

int huge_devices_read(const Sysroot *sysroot, const ProcHandle *handle, HugeDevices *ret) {
        HugeSize sizes[HUGE_DEVICES_MAX / 2];
        const size_t n = huge_sizes_read(sysroot, sizes, ELEMENTSOF(sizes));
        _cleanup_free_ char *text = NULL;
        int r;

        *ret = (HugeDevices){ 0 };
        for (size_t i = 0; i < n; i++) { /* an empty file takes no page */
                const unsigned shift = (unsigned)__builtin_ctzll(sizes[i].page_bytes);
                _cleanup_close_ int fd =
                        memfd_create("tidbnumad", MFD_CLOEXEC | MFD_HUGETLB | shift << SIZE_SHIFT);
                struct stat st;

                if (fd >= 0 && fstat(fd, &st) == 0)
                        huge_add_device(ret, st.st_dev, sizes[i].page_bytes);
        }
        r = path_read_alloc(handle->dir_fd, &text, NULL, "mountinfo");
        if (r < 0)
                return mountinfo_error(r);
        huge_devices_add_mounts(ret, text);
        return 0;
}

uint64_t huge_devices_find(const HugeDevices *devices, dev_t device) {
        for (size_t i = 0; i < devices->n; i++)
                if (devices->list[i].device == device)
                        return devices->list[i].page_bytes;
        return 0;
}

/* --- the processor --- */

/* The processor's vendor and model. Each architecture has lines of its own: x86
 * (arch/x86/kernel/cpu/proc.c), Arm as fields of its identification register
 * (arch/arm64/kernel/cpuinfo.c). */

/* Of the first processor: servers have no others. */
int cpuinfo_parse(const char *text, CpuInfo *ret) {
        bool vendor = false, family = false, model = false, implementer = false, part = false;
        CpuInfo info = { 0 };

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (*line == '\n' && (vendor || family || model || implementer || part))
                        break;
                vendor |= sscanf(line, "vendor_id : %15s", info.vendor) == 1;
                family |= sscanf(line, "cpu family : %" SCNu32, &info.family) == 1;
                model |= sscanf(line, "model : %" SCNu32, &info.model) == 1;
                implementer |= sscanf(line, "CPU implementer : %" SCNx32, &info.implementer) == 1;
                part |= sscanf(line, "CPU part : %" SCNx32, &info.part) == 1;
        }
        if (!(vendor && family && model) && !(implementer && part))
                return -EBADMSG;
        *ret = info;
        return 0;
}

/* The lines wanted are within the first page. The whole has some megabytes on a large machine. */
int cpuinfo_read(const Sysroot *sysroot, CpuInfo *ret) {
        char text[4096];
        ssize_t n = path_read_start(sysroot->proc_fd, text, sizeof(text), "cpuinfo");

        return n < 0 ? (int)n : cpuinfo_parse(text, ret);
}
