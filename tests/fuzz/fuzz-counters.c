/* Counters of nodes, CPUs and processes with any content: what is refused leaves its output alone,
 * and what is not adds up. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/proc.h"

typedef struct Sum {
        uint64_t bytes;
        unsigned n;
} Sum;

static void see(uint32_t node, NumaMapsKind kind, uint64_t bytes, void *userdata) {
        Sum *sum = userdata;

        (void)node;
        check(kind < N_NUMA_MAPS_KINDS && bytes > 0 && bytes % 1024 == 0);
        check(!__builtin_add_overflow(sum->bytes, bytes, &sum->bytes));
        sum->n++;
}

static void check_cpus(const char *text) {
        enum { ROOM = 4 };
        CpuTimes times[ROOM + 1];
        int n;

        memset(times, 0xa5, sizeof(times));
        n = cpu_times_parse(text, times, ROOM);
        check(n == -EBADMSG || (n > 0 && n <= ROOM));
        check(times[ROOM].cpu == 0xa5a5a5a5);
}

static void check_text(const char *text) {
        ProcMemory memory = { .anon_bytes = 1 };
        Sum sum = { 0 };
        int r;

        check_cpus(text);
        r = proc_memory_parse(text, &memory);
        check(r == 0 ? memory.anon_bytes % 1024 == 0 : r == -EBADMSG && memory.anon_bytes == 1);
        r = numa_maps_parse_line(text, see, &sum);
        check(r == 0 || (r == -EBADMSG && sum.n == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        char *text = fuzz_text(data, size);

        if (!text)
                return 0;
        check_text(text);
        free(text);
        return 0;
}
