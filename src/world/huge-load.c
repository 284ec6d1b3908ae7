#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/huge-load.h"

/* --- pools --- */

static int compare_sizes(const void *a, const void *b) {
        const HugeSize *x = a, *y = b;

        return x->page_bytes < y->page_bytes ? -1 : x->page_bytes > y->page_bytes;
}

/* A node that has gone has none. */
static int load_pool(const Sysroot *sysroot, const Topology *topology, const HugeSize *size,
                     HugePool *pool) {
        *pool = (HugePool){ .page_bytes = size->page_bytes,
                            .n_reserved = size->n_reserved,
                            .n_pages = calloc(topology->n_nodes + 1, sizeof(*pool->n_pages)),
                            .n_free = calloc(topology->n_nodes + 1, sizeof(*pool->n_free)) };
        if (!pool->n_pages || !pool->n_free)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++)
                (void)huge_node_read(sysroot, topology->nodes[i].id, size->page_bytes,
                                     &pool->n_pages[i], &pool->n_free[i]);
        return 0;
}

int huge_pools_load(const Sysroot *sysroot, const Topology *topology, HugePools *ret) {
        _cleanup_huge_pools_ HugePools pools = { 0 };
        HugeSize sizes[HUGE_SIZES_MAX];
        const size_t n = huge_sizes_read(sysroot, sizes, HUGE_SIZES_MAX);

        qsort(sizes, n, sizeof(sizes[0]), compare_sizes);
        for (size_t i = 0; i < n; i++)
                if (sizes[i].n_pages > 0 &&
                    load_pool(sysroot, topology, &sizes[i], &pools.list[pools.n++]) < 0)
                        return -ENOMEM;
        *ret = TAKE_STRUCT(pools);
        return 0;
}

/* --- mappings --- */

/* Of a mapping of more pages some are asked for, and each stands for several. Beyond the second
 * number, of all mappings of a process, pages count as not touched. */
enum { PAGES_ASKED_MAX = 16384, PAGES_ASKED_IN_ALL = 65536, PAGES_AT_ONCE = 512 };

static HugeMapping *mapping_of(HugeMaps *maps, uint64_t device, uint64_t inode,
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

static int count_touched(pid_t pid, const Mapping *m, const NodeSet *within, size_t *budget,
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

static int add_mapping(const ProcHandle *handle, const Mapping *m, uint64_t page_bytes,
                       const NodeSet *nodes, size_t *budget, HugeMaps *maps) {
        HugeMapping *sum = m->is_private ? mapping_of(maps, 0, 0, page_bytes)
                                         : mapping_of(maps, m->device, m->inode, page_bytes);

        return sum ? count_touched(handle->pid, m, nodes, budget, sum) : 0;
}

/* The kernel counts the pages that a process has touched, of all sizes together; some kernels do
 * not show the node of a page of 1 GiB. */
static int correct_touched(const ProcHandle *handle, HugeMaps *maps) {
        HugeMapping *only = &maps->list[0];
        ProcMemory memory;
        int r = proc_memory_read(handle, &memory);

        if (r < 0)
                return r;
        if (maps->n == 1 && only->inode == 0) {
                const uint64_t touched = memory.huge_bytes / only->page_bytes;

                only->n_touched = touched < only->n_mapped ? touched : only->n_mapped;
                only->n_inside = only->n_inside < touched ? only->n_inside : touched;
        }
        maps->partial |= maps->n == 0 && memory.huge_bytes > 0;
        return 0;
}

int huge_maps_read(const Sysroot *sysroot, const ProcHandle *handle, const NodeSet *nodes,
                   HugeMaps *ret) {
        size_t budget = PAGES_ASKED_IN_ALL;
        HugeMaps found = { 0 };
        HugeDevices devices;
        MapsReader *reader;
        Mapping mapping;
        int r = huge_devices_read(sysroot, handle, &devices);

        if (r < 0)
                return r;
        r = maps_open(handle, &reader);
        if (r < 0)
                return r;
        while ((r = maps_next(reader, &mapping)) > 0) {
                const uint64_t page_bytes = huge_devices_find(&devices, mapping.device);

                if (page_bytes > 0)
                        r = add_mapping(handle, &mapping, page_bytes, nodes, &budget, &found);
                if (r < 0)
                        break;
        }
        (void)maps_close(reader);
        if (r >= 0)
                r = correct_touched(handle, &found);
        if (r < 0)
                return r;
        *ret = found;
        return 0;
}

/* --- of several processes --- */

void huge_maps_merge(HugeMaps *all, const HugeMaps *more) {
        all->partial |= more->partial;
        for (size_t i = 0; i < more->n; i++) {
                const HugeMapping *m = &more->list[i];
                HugeMapping *sum = mapping_of(all, m->device, m->inode, m->page_bytes);

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

/* Of a file, others may have touched what the processes that were read have not. Where these pages
 * are is not known: they are divided as those that are. */
static HugeUse use_of(const HugeMapping *m, const HugePools *pools) {
        const HugePool *pool = huge_pools_find(pools, m->page_bytes);
        HugeUse use = { .page_bytes = m->page_bytes,
                        .n_mapped = m->n_mapped,
                        .n_touched = m->n_touched,
                        .n_inside = m->n_inside };

        if (m->inode == 0 || !pool || pool->n_reserved >= m->n_mapped - m->n_touched)
                return use;
        use.n_touched = m->n_mapped - pool->n_reserved;
        if (m->n_touched > 0)
                use.n_inside = (uint64_t)((double)use.n_touched * (double)m->n_inside /
                                          (double)m->n_touched);
        return use;
}

HugeNeed huge_maps_need(const HugeMaps *maps, const HugePools *pools) {
        HugeNeed need = { 0 };

        for (size_t i = 0; i < maps->n; i++) {
                const HugeUse use = use_of(&maps->list[i], pools);

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

static bool asks_again(int r) {
        return r == -ENOMEM || r == -ETIME || r == -EBUSY;
}

int members_collect_huge_maps(const Members *m, const NodeSet *nodes, HugeMapsRead read,
                              void *userdata, HugeMaps *ret) {
        HugeMaps all = { .partial = m->n > members_n_asked(m) };
        size_t n_read = 0;

        for (size_t p = 0; p < members_n_asked(m); p++) {
                HugeMaps one;
                int r = read(&m->list[p], nodes, userdata, &one);

                if (asks_again(r))
                        return r;
                n_read += r != -ESRCH;
                if (r >= 0)
                        huge_maps_merge(&all, &one);
                else if (r != -ESRCH)
                        all.partial = true;
        }
        if (n_read == 0)
                return -ESRCH;
        *ret = all;
        return 0;
}

static int read_here(const Member *member, const NodeSet *nodes, void *userdata, HugeMaps *ret) {
        return huge_maps_read(userdata, member->handle, nodes, ret);
}

int members_read_huge_maps(const Members *m, const NodeSet *nodes, HugeMaps *ret) {
        return members_collect_huge_maps(m, nodes, read_here, (void *)m->sysroot, ret);
}
