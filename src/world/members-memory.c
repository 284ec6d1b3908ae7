#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/binding-load.h"
#include "tidbnumad/world/members-memory.h"

/* Deeper than any manager nests its groups. */
enum { ANCESTORS_MAX = 16 };

/* --- limits --- */

/* "max" of v2 is no number and means: none. -ENOENT: no such file, as in the root. */
static int read_limit(int group_fd, uint64_t *ret) {
        char text[32];
        ssize_t n = path_read(group_fd, text, sizeof(text), "memory.max");

        if (n == -ENOENT)
                n = path_read(group_fd, text, sizeof(text), "memory.limit_in_bytes");
        if (n < 0)
                return (int)n;
        if (parse_u64(text, ret) < 0)
                *ret = UINT64_MAX;
        return 0;
}

uint64_t members_limit_bytes(const Topology *topology, int group_fd) {
        _cleanup_close_ int fd = openat(group_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        const NodeSet all = topology_nodes(topology);
        uint64_t limit = 0, above;

        if (fd < 0 || read_limit(fd, &limit) < 0 || limit >= topology_memory_bytes(topology, &all))
                return 0;
        for (unsigned i = 0; i < ANCESTORS_MAX; i++) {
                int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (up < 0)
                        break;
                closep(&fd);
                fd = up;
                if (read_limit(fd, &above) < 0)
                        break;
                limit = above < limit ? above : limit;
        }
        return limit;
}

/* --- residency by memory.numa_stat: exact for a cgroup that holds the instance alone --- */

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

NodeMemory residency_outside(const Topology *topology, const NodeMemory *by_node,
                             const NodeSet *nodes) {
        NodeMemory sum = { 0 };

        for (size_t i = 0; i < topology->n_nodes; i++) {
                if (id_set_has(nodes, topology->nodes[i].id))
                        continue;
                sum.anon_bytes += by_node[i].anon_bytes;
                sum.mapped_bytes += by_node[i].mapped_bytes;
        }
        return sum;
}

double residency_ratio(const Topology *topology, const NodeMemory *by_node, const NodeSet *nodes) {
        uint64_t all = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                all += by_node[i].anon_bytes;
        if (all == 0)
                return NAN;
        return (double)residency_outside(topology, by_node, nodes).anon_bytes / (double)all;
}

/* --- what is resident --- */

/* A process that has ended meanwhile disproves nothing. */
static bool counts_all(const Members *m, const Topology *topology, const NodeMemory *by_node) {
        ProcMemory memory;

        for (size_t k = 0; k < m->n; k++)
                if (proc_memory_read(m->list[k].handle, &memory) >= 0 &&
                    !residency_covers(topology, by_node, memory.anon_bytes))
                        return false;
        return true;
}

int members_count_memory(const Members *m, const Topology *topology, int group_fd,
                         NodeMemory *by_node) {
        _cleanup_free_ NodeMemory *counted = calloc(topology->n_nodes + 1, sizeof(*counted));
        int r = counted ? residency_read(topology, group_fd, counted) : -ENOMEM;

        if (r < 0)
                return r;
        if (!counts_all(m, topology, counted))
                return -ENODATA;
        memcpy(by_node, counted, topology->n_nodes * sizeof(*counted));
        return 0;
}

static int is_alone(const Members *m, int group_fd, const char *path) {
        const bool v1 = cgroup_version(m->sysroot) == CGROUP_V1;
        const BindingGroups groups = { .group_fd = group_fd,
                                       .group_path = v1 ? path : NULL,
                                       .suspect = m->intruder ? *m->intruder : 0 };
        int32_t intruder;
        int r = binding_group_is_alone(m->sysroot, m->list, m->n, &groups, &intruder);

        if (r == 0 && m->intruder)
                *m->intruder = intruder;
        return r;
}

int members_read_memory(const Members *m, const Topology *topology, NodeMemory *by_node,
                        uint64_t *ret_limit_bytes) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        *ret_limit_bytes = 0;
        r = members_open_group(m, &fd, &path);
        if (r <= 0)
                return r < 0 ? r : -EOPNOTSUPP;
        r = is_alone(m, fd, path);
        if (r <= 0)
                return r < 0 ? r : -EBUSY;
        *ret_limit_bytes = members_limit_bytes(topology, fd);
        /* A scope of the daemon's has counted only what came after the move into it. */
        return members_scope(m) ? -EOPNOTSUPP : members_count_memory(m, topology, fd, by_node);
}
