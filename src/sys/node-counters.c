/* Counters by CPU and by node. What they sum up to is left to observe. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/sys/node-counters.h"
#include "tidbnumad/sys/node.h"

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

static int parse_count(const char *text, const char *name, uint64_t *ret) {
        size_t length = strlen(name);

        while (*text) {
                if (strncmp(text, name, length) == 0 && text[length] == ' ')
                        return sscanf(text + length, " %" SCNu64, ret) == 1 ? 0 : -EBADMSG;
                text += strcspn(text, "\n");
                text += *text == '\n';
        }
        return -EBADMSG;
}

int numastat_parse(const char *text, NumaStat *ret) {
        NumaStat s;

        if (parse_count(text, "numa_hit", &s.hit) < 0 ||
            parse_count(text, "numa_miss", &s.miss) < 0 ||
            parse_count(text, "numa_foreign", &s.foreign) < 0 ||
            parse_count(text, "interleave_hit", &s.interleave) < 0 ||
            parse_count(text, "local_node", &s.local) < 0 ||
            parse_count(text, "other_node", &s.other) < 0)
                return -EBADMSG;
        *ret = s;
        return 0;
}

int numastat_read(const Sysroot *sysroot, uint32_t node, NumaStat *ret) {
        char text[1024];
        ssize_t n = node_read_file(sysroot, node, "numastat", text, sizeof(text));

        return n < 0 ? (int)n : numastat_parse(text, ret);
}
