/* The memory of the nodes, and their pools of reserved huge pages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/memory.h"

/* --- counters of nodes --- */

/* A time that decreases by more has started again: the CPU was offline. */
enum { RESTART_SECONDS = 3 };

void node_times_done(NodeTimes *times) {
        free(times->cpus);
        free(times->nodes);
        *times = (NodeTimes){ 0 };
}

static int node_load_times(const Sysroot *sysroot, const Topology *topology, NodeTimes *times,
                           NodeCounters *ret) {
        const CpuSet cpus = topology_cpus(topology);
        const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
        const uint64_t restart = RESTART_SECONDS * (uint64_t)sysconf(_SC_CLK_TCK);
        _cleanup_free_ CpuTimes *lines = NULL;
        size_t n_max = 0;
        int n;

        /* The kernel's lines are in ascending order: this many lines include all of our CPUs. */
        ID_SET_FOREACH(cpu, &cpus) {
                n_max = (size_t)cpu + 1;
        }
        lines = calloc(n_max + 1, sizeof(*lines));
        if (!times->nodes)
                times->nodes = calloc(topology->n_nodes + 1, sizeof(*times->nodes));
        if (!lines || !times->nodes)
                return -ENOMEM;
        if (n_max > times->n_cpus) {
                ModeTicks *cpus_seen = reallocarray(times->cpus, n_max, sizeof(*cpus_seen));

                if (!cpus_seen)
                        return -ENOMEM;
                memset(cpus_seen + times->n_cpus, 0, (n_max - times->n_cpus) * sizeof(*cpus_seen));
                times->cpus = cpus_seen;
                times->n_cpus = n_max;
        }
        n = cpu_times_read(sysroot, lines, n_max);
        if (n < 0)
                return 0;
        /* A CPU that appears later counts from now on: what it did before was not published. Where
         * a time decreases a little, the former value is kept until it is reached again. */
        for (int k = 0; k < n; k++) {
                const CpuTimes *t = &lines[k];
                const uint64_t now[N_MODES] = {
                        [MODE_USER] = t->user + t->nice,
                        [MODE_SYSTEM] = t->system,
                        [MODE_IRQ] = t->irq,
                        [MODE_SOFTIRQ] = t->softirq,
                        [MODE_IOWAIT] = t->iowait,
                        [MODE_IDLE] = t->idle,
                        [MODE_STEAL] = t->steal,
                };
                ModeTicks *seen;
                size_t i = 0;

                while (i < topology->n_nodes && !id_set_has(&topology->nodes[i].cpus, t->cpu))
                        i++;
                if (i == topology->n_nodes)
                        continue;
                seen = &times->cpus[t->cpu];
                for (NodeMode m = 0; m < N_MODES; m++) {
                        if (now[m] > seen->ticks[m] && (seen->known || !times->begun))
                                times->nodes[i].ticks[m] += now[m] - seen->ticks[m];
                        if (now[m] > seen->ticks[m] || seen->ticks[m] - now[m] > restart)
                                seen->ticks[m] = now[m];
                }
                seen->known = times->nodes[i].known = true;
        }
        times->begun = true;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                ret[i].cpu_known = times->nodes[i].known;
                for (NodeMode m = 0; m < N_MODES; m++)
                        ret[i].cpu_seconds[m] = (double)times->nodes[i].ticks[m] * tick;
        }
        return 0;
}

int node_load(const Sysroot *sysroot, const Topology *topology, NodeTimes *times,
              NodeCounters *ret) {
        /* numastat (Documentation/admin-guide/numastat.rst) */
        static const char *const event_keys[N_NODE_EVENTS] = {
                [EVENT_HIT] = "numa_hit ",         [EVENT_MISS] = "numa_miss ",
                [EVENT_FOREIGN] = "numa_foreign ", [EVENT_INTERLEAVE] = "interleave_hit ",
                [EVENT_LOCAL] = "local_node ",     [EVENT_OTHER] = "other_node ",
        };

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const uint32_t node = topology->nodes[i].id;
                NodeCounters *c = &ret[i];
                char text[1024];
                NodeMeminfo m;

                *c = (NodeCounters){ 0 };
                if (node_meminfo_read(sysroot, node, &m) >= 0) {
                        c->memory_known = true;
                        c->total_bytes = m.total_bytes;
                        c->free_bytes = m.free_bytes;
                        /* The two are read one after the other. */
                        c->file_bytes =
                                m.file_bytes > m.shmem_bytes ? m.file_bytes - m.shmem_bytes : 0;
                        c->anon_bytes = m.anon_bytes;
                }
                if (node_read_file(sysroot, node, "numastat", text, sizeof(text)) < 0)
                        continue;
                c->events_known = true;
                for (NodeEvent e = 0; e < N_NODE_EVENTS; e++)
                        c->events_known &= parse_field(text, event_keys[e], &c->events[e]) >= 0;
        }
        return node_load_times(sysroot, topology, times, ret);
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

/* --- pools --- */

static int compare_sizes(const void *a, const void *b) {
        const HugeSize *x = a, *y = b;

        return x->page_bytes < y->page_bytes ? -1 : x->page_bytes > y->page_bytes;
}

int huge_pools_load(const Sysroot *sysroot, const Topology *topology, HugePools *ret) {
        _cleanup_huge_pools_ HugePools pools = { 0 };
        HugeSize sizes[HUGE_SIZES_MAX];
        const size_t n = huge_sizes_read(sysroot, sizes, HUGE_SIZES_MAX);

        qsort(sizes, n, sizeof(sizes[0]), compare_sizes);
        for (size_t i = 0; i < n; i++) {
                const HugeSize *size = &sizes[i];
                HugePool *pool = &pools.list[pools.n];

                if (size->n_pages == 0)
                        continue;
                pools.n++;
                *pool = (HugePool){ .page_bytes = size->page_bytes,
                                    .n_reserved = size->n_reserved,
                                    .n_pages =
                                            calloc(topology->n_nodes + 1, sizeof(*pool->n_pages)),
                                    .n_free =
                                            calloc(topology->n_nodes + 1, sizeof(*pool->n_free)) };
                if (!pool->n_pages || !pool->n_free)
                        return -ENOMEM;
                for (size_t k = 0; k < topology->n_nodes; k++) /* a node that has gone has none */
                        (void)huge_node_read(sysroot, topology->nodes[k].id, size->page_bytes,
                                             &pool->n_pages[k], &pool->n_free[k]);
        }
        *ret = TAKE_STRUCT(pools);
        return 0;
}

/* --- mappings --- */

/* Of a mapping of more pages some are asked for, and each stands for several. Beyond the second
 * number, of all mappings of a process, pages count as not touched. */
enum { PAGES_ASKED_MAX = 16384, PAGES_ASKED_IN_ALL = 65536, PAGES_AT_ONCE = 512 };

static HugeMapping *huge_mapping_of(HugeMaps *maps, uint64_t device, uint64_t inode,
                                    uint64_t page_bytes) {
        HugeMapping *m;

        for (size_t i = 0; i < maps->n; i++) {
                m = &maps->list[i];
                if (m->device == device && m->inode == inode && m->page_bytes == page_bytes)
                        return m;
        }
        if (maps->n == HUGE_MAPPINGS_MAX) {
                maps->partial = true;
                return NULL;
        }
        m = &maps->list[maps->n++];
        *m = (HugeMapping){ .device = device, .inode = inode, .page_bytes = page_bytes };
        return m;
}

static int mapping_count_touched(pid_t pid, const Mapping *m, const NodeSet *within, size_t *budget,
                                 HugeMapping *sum) {
        const uint64_t n_pages = (m->end - m->start) / sum->page_bytes,
                       step = n_pages / PAGES_ASKED_MAX + 1;
        uint64_t touched = 0, inside = 0;
        size_t left = *budget;

        for (uint64_t at = 0; at < n_pages && left > 0;) {
                void *addresses[PAGES_AT_ONCE];
                int nodes[PAGES_AT_ONCE];
                size_t n = 0;
                int r;

                for (; n < PAGES_AT_ONCE && at < n_pages && left > 0; at += step, left--)
                        addresses[n++] = (void *)(uintptr_t)(m->start + at * sum->page_bytes);
                r = pages_query(pid, n, addresses, nodes);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < n; i++) {
                        touched += nodes[i] >= 0 ? step : 0;
                        inside +=
                                nodes[i] >= 0 && id_set_has(within, (uint32_t)nodes[i]) ? step : 0;
                }
        }
        *budget = left;
        sum->n_mapped += n_pages;
        sum->n_touched += touched < n_pages ? touched : n_pages;
        sum->n_inside += inside < n_pages ? inside : n_pages;
        return 0;
}

int huge_maps_read(const Sysroot *sysroot, const ProcHandle *handle, const NodeSet *nodes,
                   HugeMaps *ret) {
        size_t budget = PAGES_ASKED_IN_ALL;
        HugeMaps found = { 0 };
        HugeMapping *only = &found.list[0];
        HugeDevices devices;
        MapsReader *reader;
        Mapping mapping;
        ProcMemory memory;
        int r = huge_devices_read(sysroot, handle, &devices);

        if (r < 0)
                return r;
        r = maps_open(handle, &reader);
        if (r < 0)
                return r;
        while ((r = maps_next(reader, &mapping)) > 0) {
                const uint64_t page_bytes = huge_devices_find(&devices, mapping.device);
                HugeMapping *sum;

                if (page_bytes == 0)
                        continue;
                sum = mapping.is_private
                              ? huge_mapping_of(&found, 0, 0, page_bytes)
                              : huge_mapping_of(&found, mapping.device, mapping.inode, page_bytes);
                r = sum ? mapping_count_touched(handle->pid, &mapping, nodes, &budget, sum) : 0;
                if (r < 0)
                        break;
        }
        (void)maps_close(reader);
        if (r >= 0)
                r = proc_memory_read(handle, &memory);
        if (r < 0)
                return r;
        /* The kernel counts the pages that a process has touched, of all sizes together; some
         * kernels do not show the node of a page of 1 GiB. */
        if (found.n == 1 && only->inode == 0) {
                const uint64_t touched = memory.huge_bytes / only->page_bytes;

                only->n_touched = touched < only->n_mapped ? touched : only->n_mapped;
                only->n_inside = only->n_inside < touched ? only->n_inside : touched;
        }
        found.partial |= found.n == 0 && memory.huge_bytes > 0;
        *ret = found;
        return 0;
}

/* --- of several processes --- */

void huge_maps_merge(HugeMaps *all, const HugeMaps *more) {
        all->partial |= more->partial;
        for (size_t i = 0; i < more->n; i++) {
                const HugeMapping *m = &more->list[i];
                HugeMapping *sum = huge_mapping_of(all, m->device, m->inode, m->page_bytes);

                if (!sum)
                        continue;
                if (m->inode == 0) {
                        sum->n_mapped += m->n_mapped;
                        sum->n_touched += m->n_touched;
                        sum->n_inside += m->n_inside;
                } else {
                        sum->n_mapped = m->n_mapped > sum->n_mapped ? m->n_mapped : sum->n_mapped;
                        if (m->n_touched > sum->n_touched) {
                                sum->n_touched = m->n_touched;
                                sum->n_inside = m->n_inside;
                        }
                }
        }
}

HugeNeed huge_maps_need(const HugeMaps *maps, const HugePools *pools) {
        HugeNeed need = { 0 };

        for (size_t i = 0; i < maps->n; i++) {
                const HugeMapping *m = &maps->list[i];
                const HugePool *pool = huge_pools_find(pools, m->page_bytes);
                HugeUse use = { .page_bytes = m->page_bytes,
                                .n_mapped = m->n_mapped,
                                .n_touched = m->n_touched,
                                .n_inside = m->n_inside };

                /* Of a file, others may have touched what the processes that were read have not.
                 * Where these pages are is not known: they are divided as those that are. */
                if (m->inode != 0 && pool && pool->n_reserved < m->n_mapped - m->n_touched) {
                        use.n_touched = m->n_mapped - pool->n_reserved;
                        if (m->n_touched > 0)
                                use.n_inside =
                                        (uint64_t)((double)use.n_touched * (double)m->n_inside /
                                                   (double)m->n_touched);
                }
                huge_need_add(&need, &use);
        }
        for (size_t i = 0; maps->partial && i < pools->n; i++) {
                const HugePool *pool = &pools->list[i];
                const uint64_t untouched = huge_need_untouched(&need, pool->page_bytes);

                if (untouched < pool->n_reserved)
                        huge_need_add(&need,
                                      &(HugeUse){ .page_bytes = pool->page_bytes,
                                                  .n_mapped = pool->n_reserved - untouched });
        }
        return need;
}
