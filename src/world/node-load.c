/* Counters of nodes into the model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/world/node-load.h"

/* A time that decreases by more has started again: the CPU was offline. */
enum { RESTART_SECONDS = 3 };

void node_times_done(NodeTimes *times) {
        free(times->cpus);
        free(times->nodes);
        *times = (NodeTimes){ 0 };
}

static int reserve(NodeTimes *times, size_t n_cpus, size_t n_nodes) {
        CpuSeen *cpus;

        if (!times->nodes)
                times->nodes = calloc(n_nodes + 1, sizeof(*times->nodes));
        if (!times->nodes)
                return -ENOMEM;
        times->n_nodes = n_nodes;
        if (n_cpus <= times->n_cpus)
                return 0;
        cpus = reallocarray(times->cpus, n_cpus, sizeof(*cpus));
        if (!cpus)
                return -ENOMEM;
        memset(cpus + times->n_cpus, 0, (n_cpus - times->n_cpus) * sizeof(*cpus));
        times->cpus = cpus;
        times->n_cpus = n_cpus;
        return 0;
}

/* A CPU that appears later counts from now on: what it did before was not published. Where a
 * time decreases a little, the former value is kept until it is reached again. */
static void add_times(NodeTimes *times, size_t node, const CpuTimes *t) {
        const uint64_t now[N_MODES] = {
                [MODE_USER] = t->user + t->nice, [MODE_SYSTEM] = t->system, [MODE_IRQ] = t->irq,
                [MODE_SOFTIRQ] = t->softirq,     [MODE_IOWAIT] = t->iowait, [MODE_IDLE] = t->idle,
                [MODE_STEAL] = t->steal,
        };
        const uint64_t restart = RESTART_SECONDS * (uint64_t)sysconf(_SC_CLK_TCK);
        NodeTicks *sum = &times->nodes[node];
        CpuSeen *seen = &times->cpus[t->cpu];

        for (NodeMode m = 0; m < N_MODES; m++) {
                if (now[m] > seen->ticks[m] && (seen->known || !times->begun))
                        sum->ticks[m] += now[m] - seen->ticks[m];
                if (now[m] > seen->ticks[m] || seen->ticks[m] - now[m] > restart)
                        seen->ticks[m] = now[m];
        }
        seen->known = sum->known = true;
}

/* The kernel's lines are in ascending order: this many lines include all of our CPUs. */
static size_t n_lines(const Topology *topology) {
        size_t n = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                ID_SET_FOREACH(cpu, &topology->nodes[i].cpus)
        n = (size_t)cpu + 1 > n ? (size_t)cpu + 1 : n;
        return n;
}

static void convert_times(const NodeTimes *times, NodeCounters *ret) {
        const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);

        for (size_t i = 0; i < times->n_nodes; i++) {
                ret[i].cpu_known = times->nodes[i].known;
                for (NodeMode m = 0; m < N_MODES; m++)
                        ret[i].cpu_seconds[m] = (double)times->nodes[i].ticks[m] * tick;
        }
}

static int load_times(const Sysroot *sysroot, const Topology *topology, NodeTimes *times,
                      NodeCounters *ret) {
        const size_t n_max = n_lines(topology);
        _cleanup_free_ CpuTimes *lines = calloc(n_max + 1, sizeof(*lines));
        int n;

        if (!lines || reserve(times, n_max, topology->n_nodes) < 0)
                return -ENOMEM;
        n = cpu_times_read(sysroot, lines, n_max);
        if (n < 0)
                return 0;
        for (int k = 0; k < n; k++)
                for (size_t i = 0; i < topology->n_nodes; i++)
                        if (id_set_has(&topology->nodes[i].cpus, lines[k].cpu))
                                add_times(times, i, &lines[k]);
        times->begun = true;
        convert_times(times, ret);
        return 0;
}

static void load_memory(const Sysroot *sysroot, uint32_t node, NodeCounters *ret) {
        NodeMeminfo m;

        if (node_meminfo_read(sysroot, node, &m) < 0)
                return;
        ret->memory_known = true;
        ret->total_bytes = m.total_bytes;
        ret->free_bytes = m.free_bytes;
        /* The two are read one after the other. */
        ret->file_bytes = m.file_bytes > m.shmem_bytes ? m.file_bytes - m.shmem_bytes : 0;
        ret->anon_bytes = m.anon_bytes;
}

/* numastat (Documentation/admin-guide/numastat.rst) */
static void load_events(const Sysroot *sysroot, uint32_t node, NodeCounters *ret) {
        static const char *const keys[N_NODE_EVENTS] = {
                [EVENT_HIT] = "numa_hit ",         [EVENT_MISS] = "numa_miss ",
                [EVENT_FOREIGN] = "numa_foreign ", [EVENT_INTERLEAVE] = "interleave_hit ",
                [EVENT_LOCAL] = "local_node ",     [EVENT_OTHER] = "other_node ",
        };
        char text[1024];

        if (node_read_file(sysroot, node, "numastat", text, sizeof(text)) < 0)
                return;
        ret->events_known = true;
        for (NodeEvent e = 0; e < N_NODE_EVENTS; e++)
                ret->events_known &= parse_field(text, keys[e], &ret->events[e]) >= 0;
}

int node_load(const Sysroot *sysroot, const Topology *topology, NodeTimes *times,
              NodeCounters *ret) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                ret[i] = (NodeCounters){ 0 };
                load_memory(sysroot, topology->nodes[i].id, &ret[i]);
                load_events(sysroot, topology->nodes[i].id, &ret[i]);
        }
        return load_times(sysroot, topology, times, ret);
}

/* --- free memory --- */

int node_watermarks_load(const Sysroot *sysroot, const Topology *topology, uint64_t **ret) {
        uint64_t *watermarks = calloc(topology->n_nodes + 1, sizeof(*watermarks));

        if (!watermarks)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                uint64_t pages;

                if (zoneinfo_high_read(sysroot, topology->nodes[i].id, &pages) == 0)
                        watermarks[i] = pages * page_size_bytes();
        }
        *ret = watermarks;
        return 0;
}

int node_use_read(const Sysroot *sysroot, uint32_t node, uint64_t watermark_bytes, NodeUse *ret) {
        NodeMeminfo info;
        uint64_t unclean;
        int r = node_meminfo_read(sysroot, node, &info);

        if (r < 0)
                return r;
        unclean = info.dirty_bytes + info.writeback_bytes;
        *ret = (NodeUse){
                .total_bytes = info.total_bytes,
                .free_bytes = info.free_bytes,
                .idle_file_bytes =
                        info.inactive_file_bytes > unclean ? info.inactive_file_bytes - unclean : 0,
                .active_file_bytes = info.active_file_bytes,
                .high_watermark_bytes = watermark_bytes,
        };
        return 0;
}

int node_use_load(const Sysroot *sysroot, const Topology *topology, const uint64_t *watermarks,
                  NodeUse **ret) {
        _cleanup_free_ NodeUse *uses = calloc(topology->n_nodes + 1, sizeof(*uses));
        size_t n_read = 0;

        if (!uses)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                int r = node_use_read(sysroot, topology->nodes[i].id, watermarks[i], &uses[i]);

                if (r < 0 && r != -ENODEV)
                        return r;
                n_read += r >= 0;
        }
        if (n_read == 0)
                return -ENODEV;
        *ret = TAKE_PTR(uses);
        return 0;
}
