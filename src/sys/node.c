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
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/node.h"

/* --- node --- */

/* What the kernel counts by node and by CPU. What that sums up to is left to observe. */

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
        char path[128];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "devices/system/node/node%" PRIu32 "/%s", node, name);
        n = path_read(sysroot->sys_fd, buffer, size, "%s", path);
        return n == -ENOENT ? -ENODEV : n;
}

int node_meminfo_read(const Sysroot *sysroot, uint32_t node, NodeMeminfo *ret) {
        char text[8192];
        ssize_t n = node_read_file(sysroot, node, "meminfo", text, sizeof(text));

        return n < 0 ? (int)n : node_meminfo_parse(text, ret);
}

/* One line at a time into a buffer of its own: sscanf() measures its whole input on each call, and
 * zoneinfo has thousands of lines. */
static const char *next_line(const char *text, char *line, size_t size) {
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

                text = next_line(text, line, sizeof(line));
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

/* "cpu3 1 2 3 4 5 6 7 8 …": 0; -ENOENT: the sum of all, "cpu ". */
static int parse_cpu(const char *line, CpuTimes *ret) {
        CpuTimes t;

        if (line[3] == ' ')
                return -ENOENT;
        if (sscanf(line,
                   "cpu%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64 " %" SCNu64 " %" SCNu64,
                   &t.cpu, &t.user, &t.nice, &t.system, &t.idle, &t.iowait, &t.irq, &t.softirq,
                   &t.steal) != 9)
                return -EBADMSG;
        *ret = t;
        return 0;
}

/* The lines of CPUs come first. Each is copied: sscanf() measures its whole input, and the line of
 * interrupts behind them has kilobytes. */
int cpu_times_parse(const char *text, CpuTimes *ret, size_t n_max) {
        size_t n = 0;

        while (n < n_max && strncmp(text, "cpu", 3) == 0) {
                size_t length = strcspn(text, "\n");
                char line[256];
                int r;

                (void)snprintf(line, sizeof(line), "%.*s", (int)(length < 255 ? length : 255),
                               text);
                r = parse_cpu(line, &ret[n]);
                if (r == -EBADMSG)
                        return r;
                n += r == 0;
                text += length + (text[length] == '\n');
        }
        return n > 0 ? (int)n : -EBADMSG;
}

int cpu_times_read(const Sysroot *sysroot, CpuTimes *ret, size_t n_max) {
        _cleanup_free_ char *text = NULL;
        int r = path_read_alloc(sysroot->proc_fd, &text, NULL, "stat");

        return r < 0 ? r : cpu_times_parse(text, ret, n_max);
}

/* --- huge-pages --- */

/* linux/memfd.h: the size of a file's pages as a power of two. */
#define SIZE_SHIFT 26

static int read_count(const Sysroot *sysroot, uint64_t page_bytes, const char *name,
                      uint64_t *ret) {
        char path[96], text[32];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "kernel/mm/hugepages/hugepages-%" PRIu64 "kB/%s",
                       page_bytes >> 10, name);
        n = path_read(sysroot->sys_fd, text, sizeof(text), "%s", path);
        return n < 0 ? (int)n : parse_u64(text, ret);
}

/* "hugepages-2048kB" */
static bool parse_folder(const char *name, uint64_t *ret_bytes) {
        uint64_t kib;
        int length = 0;

        if (sscanf(name, "hugepages-%" SCNu64 "kB%n", &kib, &length) != 1 || length == 0 ||
            name[length] != '\0' || kib == 0 || kib > UINT64_MAX >> 10)
                return false;
        *ret_bytes = kib << 10;
        return true;
}

size_t huge_sizes_read(const Sysroot *sysroot, HugeSize *ret, size_t n_max) {
        int fd = openat(sysroot->sys_fd, "kernel/mm/hugepages", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
        const struct dirent *entry;
        size_t n = 0;

        if (!dir) {
                closep(&fd);
                return 0;
        }
        while (n < n_max && (entry = readdir(dir))) {
                HugeSize size = { 0 };

                if (!parse_folder(entry->d_name, &size.page_bytes) ||
                    read_count(sysroot, size.page_bytes, "nr_hugepages", &size.n_pages) < 0)
                        continue;
                /* Missing in a dump. The guard reads this each second: no more than it needs. */
                if (size.n_pages > 0)
                        (void)read_count(sysroot, size.page_bytes, "resv_hugepages",
                                         &size.n_reserved);
                ret[n++] = size;
        }
        (void)closedir(dir);
        return n;
}

static int read_node_count(const Sysroot *sysroot, uint32_t node, uint64_t page_bytes,
                           const char *name, uint64_t *ret) {
        char path[64], text[32];
        ssize_t n;

        (void)snprintf(path, sizeof(path), "hugepages/hugepages-%" PRIu64 "kB/%s", page_bytes >> 10,
                       name);
        n = node_read_file(sysroot, node, path, text, sizeof(text));
        return n < 0 ? (int)n : parse_u64(text, ret);
}

int huge_node_read(const Sysroot *sysroot, uint32_t node, uint64_t page_bytes, uint64_t *ret_pages,
                   uint64_t *ret_free) {
        uint64_t pages, unused;
        int r = read_node_count(sysroot, node, page_bytes, "nr_hugepages", &pages);

        if (r >= 0)
                r = read_node_count(sysroot, node, page_bytes, "free_hugepages", &unused);
        if (r < 0)
                return r;
        *ret_pages = pages;
        *ret_free = unused;
        return 0;
}

/* --- devices --- */

static void add_device(HugeDevices *devices, dev_t device, uint64_t page_bytes) {
        if (devices->n < HUGE_DEVICES_MAX && huge_devices_find(devices, device) == 0) {
                devices->list[devices->n].device = device;
                devices->list[devices->n++].page_bytes = page_bytes;
        }
}

/* An empty file takes no page. */
static void add_internal(HugeDevices *devices, uint64_t page_bytes) {
        const unsigned shift = (unsigned)__builtin_ctzll(page_bytes);
        _cleanup_close_ int fd =
                memfd_create("tidbnumad", MFD_CLOEXEC | MFD_HUGETLB | shift << SIZE_SHIFT);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0)
                add_device(devices, st.st_dev, page_bytes);
}

/* "rw,relatime,pagesize=2M": K or M (hugetlbfs_show_options()). 0: none. */
static uint64_t parse_page_size(const char *options) {
        const char *value = strstr(options, "pagesize=");
        uint64_t size;
        char unit;

        if (!value || sscanf(value, "pagesize=%" SCNu64 "%c", &size, &unit) != 2 ||
            size > UINT64_MAX >> 20)
                return 0;
        return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : 0;
}

static void add_mounts(HugeDevices *devices, const MountTable *table) {
        for (size_t i = 0; i < table->n_mounts; i++) {
                const Mount *m = &table->mounts[i];
                const uint64_t page_bytes =
                        strcmp(m->type, "hugetlbfs") == 0 ? parse_page_size(m->options) : 0;

                if (page_bytes > 0)
                        add_device(devices, makedev(m->major, m->minor), page_bytes);
        }
}

void huge_devices_add_mounts(HugeDevices *devices, const char *mountinfo) {
        _cleanup_mount_table_ MountTable table = { 0 };

        if (mountinfo_parse(mountinfo, &table) >= 0)
                add_mounts(devices, &table);
}

int huge_devices_read(const Sysroot *sysroot, const ProcHandle *handle, HugeDevices *ret) {
        HugeSize sizes[HUGE_DEVICES_MAX / 2];
        const size_t n = huge_sizes_read(sysroot, sizes, ELEMENTSOF(sizes));
        _cleanup_free_ char *text = NULL;
        int r;

        *ret = (HugeDevices){ 0 };
        for (size_t i = 0; i < n; i++)
                add_internal(ret, sizes[i].page_bytes);
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

/* --- cpuinfo --- */

/* The processor's vendor and model. Each architecture has lines of its own: x86
 * (arch/x86/kernel/cpu/proc.c), Arm as fields of its identification register
 * (arch/arm64/kernel/cpuinfo.c). */

/* Of the first processor: servers have no others. */
int cpuinfo_parse(const char *text, CpuInfo *ret) {
        unsigned n_x86 = 0, n_arm = 0;
        CpuInfo info = { 0 };

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (*line == '\n' && n_x86 + n_arm > 0)
                        break;
                n_x86 += sscanf(line, "vendor_id : %15s", info.vendor) == 1;
                n_x86 += sscanf(line, "cpu family : %" SCNu32, &info.family) == 1;
                n_x86 += sscanf(line, "model : %" SCNu32, &info.model) == 1;
                n_arm += sscanf(line, "CPU implementer : %" SCNx32, &info.implementer) == 1;
                n_arm += sscanf(line, "CPU part : %" SCNx32, &info.part) == 1;
        }
        if (n_x86 != 3 && n_arm != 2)
                return -EBADMSG;
        *ret = info;
        return 0;
}

/* The lines wanted are within the first page. The whole has some megabytes on a large machine. */
int cpuinfo_read(const Sysroot *sysroot, CpuInfo *ret) {
        _cleanup_close_ int fd = openat(sysroot->proc_fd, "cpuinfo", O_RDONLY | O_CLOEXEC);
        char text[4096];
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read_up_to(fd, text, sizeof(text) - 1);
        if (n < 0)
                return (int)n;
        text[n] = '\0';
        return cpuinfo_parse(text, ret);
}
