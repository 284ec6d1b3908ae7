/* A node's memory as the kernel counts it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/sys/node.h"

/* "Node 0 MemFree:   12345 kB": the value of one field, in bytes. */
static int parse_field(const char *text, const char *field, uint64_t *ret_bytes) {
        const char *p = strstr(text, field);
        uint64_t kib;

        if (!p || sscanf(p + strlen(field), " %" SCNu64 " kB", &kib) != 1)
                return -EBADMSG;
        *ret_bytes = kib * 1024;
        return 0;
}

int node_meminfo_parse(const char *text, NodeMeminfo *ret) {
        NodeMeminfo m = { 0 };

        if (parse_field(text, " MemTotal:", &m.total_bytes) < 0 ||
            parse_field(text, " MemFree:", &m.free_bytes) < 0)
                return -EBADMSG;
        /* Absent on very old kernels: 0 is then the careful answer. */
        (void)parse_field(text, " Inactive(file):", &m.inactive_file_bytes);
        (void)parse_field(text, " Active(file):", &m.active_file_bytes);
        (void)parse_field(text, " Dirty:", &m.dirty_bytes);
        (void)parse_field(text, " Writeback:", &m.writeback_bytes);
        (void)parse_field(text, " FilePages:", &m.file_bytes);
        (void)parse_field(text, " Shmem:", &m.shmem_bytes);
        (void)parse_field(text, " AnonPages:", &m.anon_bytes);
        *ret = m;
        return 0;
}

ssize_t node_read_file(const Sysroot *sysroot, uint32_t node, const char *name, char *buffer,
                       size_t size) {
        char path[64];
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
