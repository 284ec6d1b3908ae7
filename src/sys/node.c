/* What the kernel counts by node and by CPU. What that sums up to is left to observe. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/node.h"

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
        n = read_file_at(sysroot->sys_fd, path, buffer, size);
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

        r = read_file_alloc_at(sysroot->proc_fd, "zoneinfo", &text, NULL);
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
        int r = read_file_alloc_at(sysroot->proc_fd, "stat", &text, NULL);

        return r < 0 ? r : cpu_times_parse(text, ret, n_max);
}
