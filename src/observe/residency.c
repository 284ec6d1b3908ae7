/* Residency by memory.numa_stat: exact for a cgroup that holds the instance alone. */
#include <errno.h>
#include <math.h>

#include "tidbnumad/observe/residency.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/pages.h"

/* CONFIG_NODES_SHIFT=10, the widest that is built: nodes may have come since the topology was read.
 */
enum { ROWS_MAX = 1024 };

/* MEMCG_CHARGE_BATCH of linux/memcontrol.h: what a CPU may have charged and not reported yet. */
enum { UNCOUNTED_PAGES = 64 };

/* Not worth a doubt. */
#define LITTLE_BYTES (UINT64_C(64) << 20)

int residency_read(const Topology *topology, int cgroup_fd, NodeMemory *by_node) {
        _cleanup_free_ NumaStatRow *rows = NULL;
        int n;

        rows = calloc(ROWS_MAX, sizeof(*rows));
        if (!rows)
                return -ENOMEM;
        n = numa_stat_read(cgroup_fd, rows, ROWS_MAX);
        if (n < 0)
                return n;
        for (size_t i = 0; i < topology->n_nodes; i++)
                by_node[i] = (NodeMemory){ 0 };
        for (int i = 0; i < n; i++) {
                const Node *node = topology_find(topology, rows[i].node);

                if (!node)
                        continue; /* came with hotplug; the next topology has it */
                by_node[node - topology->nodes] = (NodeMemory){
                        .anon_bytes = rows[i].anon_bytes,
                        /* The two counters are read one after the other. */
                        .file_bytes = rows[i].file_bytes > rows[i].shmem_bytes
                                              ? rows[i].file_bytes - rows[i].shmem_bytes
                                              : 0,
                        .shmem_bytes = rows[i].shmem_bytes,
                        .mapped_bytes = rows[i].mapped_bytes,
                };
        }
        return 0;
}

uint64_t residency_uncounted_max(const Topology *topology) {
        const CpuSet cpus = topology_cpus(topology);

        return id_set_count(&cpus) * UNCOUNTED_PAGES * page_size_bytes();
}

bool residency_covers(const Topology *topology, const NodeMemory *by_node,
                      uint64_t resident_bytes) {
        uint64_t counted = LITTLE_BYTES + residency_uncounted_max(topology);

        for (size_t i = 0; i < topology->n_nodes; i++)
                counted += by_node[i].anon_bytes;
        return counted >= resident_bytes - resident_bytes / 4;
}

uint64_t residency_outside(const Topology *topology, const NodeMemory *by_node,
                           const NodeSet *nodes) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (!id_set_has(nodes, topology->nodes[i].id))
                        bytes += by_node[i].anon_bytes;
        return bytes;
}

uint64_t residency_mapped_outside(const Topology *topology, const NodeMemory *by_node,
                                  const NodeSet *nodes) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                if (!id_set_has(nodes, topology->nodes[i].id))
                        bytes += by_node[i].mapped_bytes;
        return bytes;
}

double residency_ratio(const Topology *topology, const NodeMemory *by_node, const NodeSet *nodes) {
        uint64_t all = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                all += by_node[i].anon_bytes;
        if (all == 0)
                return NAN;
        return (double)residency_outside(topology, by_node, nodes) / (double)all;
}
