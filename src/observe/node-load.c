/* Counters of nodes into the model. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tidbnumad/observe/node-load.h"
#include "tidbnumad/sys/node-counters.h"
#include "tidbnumad/sys/node.h"

static void add_times(NodeSnapshot *node, const CpuTimes *t, double tick) {
        node->cpu_known = true;
        node->cpu_seconds[MODE_USER] += (double)(t->user + t->nice) * tick;
        node->cpu_seconds[MODE_SYSTEM] += (double)t->system * tick;
        node->cpu_seconds[MODE_IRQ] += (double)t->irq * tick;
        node->cpu_seconds[MODE_SOFTIRQ] += (double)t->softirq * tick;
        node->cpu_seconds[MODE_IOWAIT] += (double)t->iowait * tick;
        node->cpu_seconds[MODE_IDLE] += (double)t->idle * tick;
        node->cpu_seconds[MODE_STEAL] += (double)t->steal * tick;
}

/* The kernel's lines ascend: those of our CPUs are among the first so many. */
static size_t n_lines(const Topology *topology) {
        size_t n = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                ID_SET_FOREACH(cpu, &topology->nodes[i].cpus)
        n = (size_t)cpu + 1 > n ? (size_t)cpu + 1 : n;
        return n;
}

static int load_times(const Sysroot *sysroot, const Topology *topology, NodeSnapshot *ret) {
        const size_t n_max = n_lines(topology);
        _cleanup_free_ CpuTimes *times = calloc(n_max + 1, sizeof(*times));
        const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
        int n;

        if (!times)
                return -ENOMEM;
        n = cpu_times_read(sysroot, times, n_max);
        for (int k = 0; k < n; k++)
                for (size_t i = 0; i < topology->n_nodes; i++)
                        if (id_set_has(&topology->nodes[i].cpus, times[k].cpu))
                                add_times(&ret[i], &times[k], tick);
        return 0;
}

static void load_memory(const Sysroot *sysroot, uint32_t node, NodeSnapshot *ret) {
        NodeMeminfo m;

        if (node_meminfo_read(sysroot, node, &m) < 0)
                return;
        ret->memory_known = true;
        ret->total_bytes = m.total_bytes;
        ret->free_bytes = m.free_bytes;
        ret->file_bytes = m.file_bytes;
        ret->anon_bytes = m.anon_bytes;
}

static void load_events(const Sysroot *sysroot, uint32_t node, NodeSnapshot *ret) {
        NumaStat s;

        if (numastat_read(sysroot, node, &s) < 0)
                return;
        ret->events_known = true;
        ret->events[EVENT_HIT] = s.hit;
        ret->events[EVENT_MISS] = s.miss;
        ret->events[EVENT_FOREIGN] = s.foreign;
        ret->events[EVENT_INTERLEAVE] = s.interleave;
        ret->events[EVENT_LOCAL] = s.local;
        ret->events[EVENT_OTHER] = s.other;
}

int node_load(const Sysroot *sysroot, const Topology *topology, NodeSnapshot *ret) {
        for (size_t i = 0; i < topology->n_nodes; i++) {
                ret[i] = (NodeSnapshot){ 0 };
                load_memory(sysroot, topology->nodes[i].id, &ret[i]);
                load_events(sysroot, topology->nodes[i].id, &ret[i]);
        }
        return load_times(sysroot, topology, ret);
}
