/* memory.numa_stat, a group's pressure, a node's meminfo and zoneinfo with any content. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/node.h"

/* The rows in a block of exactly their number, so that a sanitizer sees one too many. */
static void check_numa_stat(const char *text, size_t n_rows) {
        NumaStatRow *rows = calloc(n_rows + 1, sizeof(*rows));
        NumaStatRow *exact = n_rows > 0 ? calloc(n_rows, sizeof(*rows)) : rows;
        int n;

        if (rows && exact) {
                n = numa_stat_parse(text, 4096, exact, n_rows);
                check(n == -EBADMSG || n == -ENOSPC || n == -ENOMEM ||
                      (n > 0 && (size_t)n <= n_rows));
                for (int i = 1; i < n; i++)
                        for (int j = 0; j < i; j++)
                                check(exact[i].node != exact[j].node);
        }
        if (exact != rows)
                free(exact);
        free(rows);
}

static void check_meminfo(const char *text) {
        NodeMeminfo info, untouched;
        int r;

        memset(&info, 0xa5, sizeof(info));
        memset(&untouched, 0xa5, sizeof(untouched));
        r = node_meminfo_parse(text, &info);
        check(r == 0 || (r == -EBADMSG && memcmp(&info, &untouched, sizeof(info)) == 0));
}

static void check_zoneinfo(const char *text) {
        for (uint32_t node = 0; node < 3; node++) {
                uint64_t pages = 7;
                int r = zoneinfo_high_parse(text, node, &pages);

                check(r == 0 || (r == -ENODEV && pages == 7));
        }
}

static void check_pressure(const char *text) {
        Pressure pressure = { .recent = 7, .total_usec = 7 };
        int r = pressure_parse(text, &pressure);

        if (r == 0)
                check(pressure.recent >= 0 && pressure.recent <= 1);
        else
                check(r == -EBADMSG && pressure.recent > 6 && pressure.total_usec == 7);
}

static void check_memory_stat(const char *text) {
        CgroupMemory m = { .limit_bytes = 7, .current_bytes = 8 };
        int r = cgroup_memory_stat_parse(text, &m);

        check((r == 0 || r == -EBADMSG) && m.limit_bytes == 7 && m.current_bytes == 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size);

        if (!text)
                return 0;
        check_numa_stat(text, 0);
        check_numa_stat(text, 1);
        check_numa_stat(text, 8);
        check_meminfo(text);
        check_zoneinfo(text);
        check_pressure(text);
        check_memory_stat(text);
        free(text);
        return 0;
}
