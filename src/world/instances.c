/* The instances that run: which processes form them, and what these show, hold and may have. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/binding.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/storage.h"

void member_done(Member *member) {
        process_done(&member->process);
        if (member->handle)
                proc_close(member->handle);
        free(member->handle);
        free(member->start);
        free(member->threads);
        *member = (Member){ 0 };
}

int instance_facts_init(InstanceFacts *f, const Policy *policy, const Process *first) {
        *f = (InstanceFacts){ .policy = policy,
                              .unit = first->unit ? strdup(first->unit) : NULL,
                              .exe = strdup(first->exe) };
        return (!first->unit || f->unit) && f->exe ? 0 : -ENOMEM;
}

int facts_add_member(InstanceFacts *f, Process *process, ProcHandle *handle) {
        const size_t at =
                ARRAY_LOWER_BOUND(f->n_members, i, f->members[i].process.id.pid < process->id.pid);
        Member member;
        ProcHandle *own;
        int r = ARRAY_RESERVE(f->members, f->members_allocated, f->n_members + 1);

        if (r < 0)
                return r;
        own = malloc(sizeof(*own));
        if (!own)
                return -ENOMEM;
        *own = *handle;
        member = (Member){ .process = *process, .handle = own };
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        (void)ARRAY_INSERT(f->members, f->n_members, f->members_allocated, at, &member);
        return 0;
}

void instance_facts_done(InstanceFacts *f) {
        for (size_t i = 0; i < f->n_members; i++)
                member_done(&f->members[i]);
        free(f->members);
        free(f->name);
        free(f->unit);
        free(f->exe);
        free(f->ports);
        free(f->data_dir);
        free(f->storage);
        free(f->by_node);
        free(f->memory_policy);
        *f = (InstanceFacts){ 0 };
}

Members facts_members(const InstanceFacts *f, const Sysroot *sysroot) {
        return (Members){
                .sysroot = sysroot, .list = f->members, .n = f->n_members, .unit = f->unit
        };
}

size_t members_n_asked(const Members *m) {
        return m->n < MEMBERS_ASKED_MAX ? m->n : MEMBERS_ASKED_MAX;
}

/* --- ports --- */

int members_read_ports(const Members *m, ListenPorts *ret) {
        PortSet all = { 0 };

        for (size_t p = 0; p < members_n_asked(m); p++) {
                PortSet own;
                int r = listen_ports_read(m->sysroot, m->list[p].handle, &own);

                if (r == -ENOMEM)
                        return r;
                if (r >= 0)
                        port_set_merge(&all, &own);
        }
        return port_set_list(&all, ret);
}

/* --- data directory --- */

bool members_are_vouched_for(const Members *m, const Policy *policy) {
        return policy->match.user || unit_is_service(m->unit);
}

int members_read_data_dir(const Members *m, char **ret) {
        int r = -ENODATA;

        for (size_t p = 0; p < members_n_asked(m); p++) {
                r = data_dir_read(m->sysroot, m->list[p].handle, ret);
                if (r >= 0 || r == -ENOMEM)
                        break;
        }
        return r;
}

int members_read_storage(const Members *m, const char *data_dir, StorageDevices *ret) {
        int r = -ENODATA;

        for (size_t p = 0; p < members_n_asked(m); p++) {
                if (m->list[p].handle->silent)
                        continue;
                r = storage_find_process(m->sysroot, m->list[p].handle->dir_fd, data_dir, ret);
                if (r >= 0 || r == -ENOMEM)
                        break;
        }
        return r;
}

/* --- control group --- */

size_t members_count_threads(const Members *members, const char *prefix) {
        size_t n = 0;

        for (size_t i = 0; i < members_n_asked(members); i++) {
                const ProcHandle *handle = members->list[i].handle;
                _cleanup_numbers_ Numbers threads;
                char name[32];
                pid_t tid;

                proc_threads(handle, &threads);
                for (size_t k = 0; k < OTHERS_THREADS_READ_MAX && numbers_next(&threads, &tid) > 0;
                     k++)
                        n += path_read(handle->dir_fd, name, sizeof(name), "task/%d/comm", tid) >
                                     0 &&
                             strncmp(name, prefix, strlen(prefix)) == 0;
        }
        return n;
}

const char *members_scope(const Members *m) {
        for (size_t k = 0; k < m->n; k++)
                if (m->list[k].process.scope)
                        return m->list[k].process.scope;
        return NULL;
}

char *members_group_path(const Members *m) {
        const char *path = m->n > 0 ? m->list[0].process.cgroup : NULL, *scope = members_scope(m);
        const char *unit = scope ? scope : unit_is_service(m->unit) ? m->unit : NULL;
        const size_t length = path && unit ? unit_cgroup_length(path, unit) : 0;

        return !path ? NULL : length > 0 ? strndup(path, length) : strdup(path);
}

int members_open_group(const Members *m, int *ret_fd, char **ret_path) {
        _cleanup_close_ int root_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        if (m->n == 0)
                return -ESRCH;
        if (cgroup_version(m->sysroot) != CGROUP_V1) {
                if (!m->unit && !m->list[0].process.scope)
                        return 0;
                path = members_group_path(m);
                r = path ? cgroup_open(m->sysroot, path, ret_fd) : -ENOMEM;
        } else {
                /* All of its processes must be in the same group of the memory controller, and not
                 * in the root. */
                for (size_t k = 0; k < m->n; k++) {
                        _cleanup_free_ char *other = NULL;

                        r = proc_cgroup_path_read(m->list[k].handle, "memory", &other);
                        if (r == -ESRCH)
                                continue;
                        if (r < 0 || strcmp(other, "/") == 0 || (path && strcmp(path, other) != 0))
                                return r < 0 ? r : -ENXIO;
                        free(path);
                        path = TAKE_PTR(other);
                }
                r = path ? cgroup1_open(m->sysroot, "memory", &root_fd) : -ESRCH;
                if (r >= 0)
                        r = cgroup_open_below(root_fd, path, ret_fd);
        }
        if (r < 0)
                return r;
        *ret_path = TAKE_PTR(path);
        return 1;
}

/* --- CPU time --- */

enum { AGE_SECONDS_MIN = 60 };

uint32_t members_read_cpus_used(const Members *m) {
        const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
        uint64_t start = UINT64_MAX, now, used = 0;

        for (size_t p = 0; p < members_n_asked(m); p++)
                if (m->list[p].handle->start_ticks < start)
                        start = m->list[p].handle->start_ticks;
        /* So young that its times need not be read, each a sum over all threads. */
        if (proc_uptime_read(m->sysroot, &now) < 0 || start > now ||
            now - start < AGE_SECONDS_MIN * hz)
                return 0;
        for (size_t p = 0; p < members_n_asked(m); p++) {
                ProcStat stat;

                if (proc_stat_read(m->list[p].handle, 0, &stat) >= 0)
                        used += stat.cpu_ticks;
        }
        used = (used + now - start - 1) / (now - start);
        return used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
}

/* --- CPUs and nodes --- */

/* So many groups are read at most on the way up: somebody else makes them. */
enum { GROUPS_ABOVE_MAX = 16 };

void members_read_allowed(const Members *m, bool with_own, char ret_group[static ALLOWED_BY_MAX],
                          CpuSet *ret_cpus, NodeSet *ret_nodes) {
        _cleanup_free_ char *path =
                cgroup_version(m->sysroot) == CGROUP_V2 ? members_group_path(m) : NULL;
        bool own = with_own, found = false;
        CpuSet cpus, above_cpus;
        NodeSet nodes, above_nodes;

        *ret_cpus = (CpuSet){ 0 };
        *ret_nodes = (NodeSet){ 0 };
        ret_group[0] = '\0';
        for (; path && !found && (own || path_cut_last(path)); own = false)
                found = cgroup_effective_read_of(m->sysroot, path, &cpus, &nodes) >= 0;
        if (!found)
                return;
        *ret_cpus = cpus;
        *ret_nodes = nodes;
        /* The limit is of the highest group above it that has the same sets; of the root, of
         * none. */
        for (unsigned n = 0; n < GROUPS_ABOVE_MAX && path[1] != '\0'; n++) {
                if (strlen(path) < ALLOWED_BY_MAX)
                        (void)strcpy(ret_group, path);
                if (!path_cut_last(path) ||
                    cgroup_effective_read_of(m->sysroot, path, &above_cpus, &above_nodes) < 0 ||
                    !id_set_equal(&cpus, &above_cpus) || !id_set_equal(&nodes, &above_nodes))
                        return;
        }
        ret_group[0] = '\0';
}

int members_read_unit_cpus(const Members *m, CpuSet *ret) {
        _cleanup_free_ char *path = unit_is_service(m->unit) ? members_group_path(m) : NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!path || cgroup_version(m->sysroot) != CGROUP_V2)
                return -EOPNOTSUPP;
        r = cgroup_open(m->sysroot, path, &fd);
        return r < 0 ? r : cgroup_effective_cpus_read(fd, ret);
}

/* --- the threads of one process --- */

static void process_add_thread_cpus(const ProcHandle *handle, CpuSet *all) {
        _cleanup_numbers_ Numbers threads;
        pid_t tid;

        proc_threads(handle, &threads);
        for (size_t n = 0; n < OTHERS_THREADS_READ_MAX && numbers_next(&threads, &tid) > 0; n++) {
                ProcStatus status;
                /* A system call takes 0.5 us, the file of a thread 30: only a dump needs the file.
                 */
                int r = handle->live ? affinity_read_thread(tid, &status.cpus_allowed)
                                     : proc_status_read(handle, tid, &status);

                if (r >= 0)
                        id_set_union(all, &status.cpus_allowed);
        }
}

int members_read_cpus(const Members *m, CpuSet *ret) {
        CpuSet cpus = { 0 };

        if (members_read_unit_cpus(m, ret) >= 0)
                return 0;
        for (size_t p = 0; p < members_n_asked(m); p++)
                process_add_thread_cpus(m->list[p].handle, &cpus);
        if (id_set_is_empty(&cpus))
                return -ENODATA;
        *ret = cpus;
        return 0;
}

/* --- limits --- */

uint64_t members_limit_bytes(const Topology *topology, int group_fd) {
        _cleanup_close_ int fd = openat(group_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        const NodeSet all = topology_nodes(topology);
        uint64_t limit = 0, above;

        if (fd < 0 || cgroup_limit_read(fd, &limit) < 0 ||
            limit >= topology_memory_bytes(topology, &all))
                return 0;
        for (unsigned i = 0; i < GROUPS_ABOVE_MAX; i++) {
                int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (up < 0)
                        break;
                closep(&fd);
                fd = up;
                if (cgroup_limit_read(fd, &above) < 0)
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

int members_count_memory(const Members *m, const Topology *topology, int group_fd,
                         NodeMemory *by_node) {
        _cleanup_free_ NodeMemory *counted = calloc(topology->n_nodes + 1, sizeof(*counted));
        int r = counted ? residency_read(topology, group_fd, counted) : -ENOMEM;

        if (r < 0)
                return r;
        for (size_t k = 0; k < m->n; k++) {
                ProcMemory memory;

                /* A process that has ended meanwhile disproves nothing. */
                if (proc_memory_read(m->list[k].handle, &memory) >= 0 &&
                    !residency_covers(topology, counted, memory.anon_bytes))
                        return -ENODATA;
        }
        memcpy(by_node, counted, topology->n_nodes * sizeof(*counted));
        return 0;
}

int members_read_memory(const Members *m, const Topology *topology, NodeMemory *by_node,
                        uint64_t *ret_limit_bytes) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        BindingGroups groups;
        int32_t intruder;
        int r;

        *ret_limit_bytes = 0;
        r = members_open_group(m, &fd, &path);
        if (r <= 0)
                return r < 0 ? r : -EOPNOTSUPP;
        groups = (BindingGroups){
                .group_fd = fd,
                .group_path = cgroup_version(m->sysroot) == CGROUP_V1 ? path : NULL,
                .suspect = m->intruder ? *m->intruder : 0,
        };
        r = binding_group_is_alone(m->sysroot, m->list, m->n, &groups, &intruder);
        if (r == 0 && m->intruder)
                *m->intruder = intruder;
        if (r <= 0)
                return r < 0 ? r : -EBUSY;
        *ret_limit_bytes = members_limit_bytes(topology, fd);
        /* A scope of the daemon's has counted only what came after the move into it. */
        return members_scope(m) ? -EOPNOTSUPP : members_count_memory(m, topology, fd, by_node);
}

/* --- reserved huge pages --- */

int members_collect_huge_maps(const Members *m, const NodeSet *nodes, HugeMapsRead read,
                              void *userdata, HugeMaps *ret) {
        HugeMaps all = { .partial = m->n > members_n_asked(m) };
        size_t n_read = 0;

        for (size_t p = 0; p < members_n_asked(m); p++) {
                HugeMaps one;
                int r = read(&m->list[p], nodes, userdata, &one);

                if (r == -ENOMEM || r == -EAGAIN || r == -EBUSY) /* to be asked again */
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

/* --- all instances --- */

void host_instances_done(HostInstances *list) {
        for (size_t i = 0; i < list->n_instances; i++) {
                instance_facts_done(&list->instances[i].facts);
                device_list_done(&list->instances[i].disks);
        }
        free(list->instances);
        pid_list_done(&list->silent);
        *list = (HostInstances){ 0 };
}

/* --- finding --- */

int host_instances_add(HostInstances *list, const Policy *policy, Process *process,
                       ProcHandle *handle) {
        HostInstance *o;
        size_t at = 0;

        while (at < list->n_instances && !facts_own(&list->instances[at].facts, process))
                at++;
        if (at == list->n_instances) {
                if (ARRAY_RESERVE(list->instances, list->allocated, list->n_instances + 1) < 0)
                        return -ENOMEM;
                o = &list->instances[list->n_instances++];
                *o = (HostInstance){ 0 };
                if (instance_facts_init(&o->facts, policy, process) < 0)
                        return -ENOMEM;
        } else {
                o = &list->instances[at];
                /* As in the daemon: the one that comes first in the files. */
                if (policy < o->facts.policy)
                        o->facts.policy = policy;
        }
        return facts_add_member(&o->facts, process, handle);
}

static bool wants_exe(const char *exe, void *userdata) {
        return match_wants_exe(userdata, exe);
}

int host_instances_find(const Sysroot *sysroot, const PolicySet *policies, HostInstances *ret) {
        _cleanup_host_instances_ HostInstances list = { 0 };
        _cleanup_pid_list_ PidList pids = { 0 };
        int r = pid_list_read(sysroot, &pids);

        if (r < 0)
                return r;
        for (size_t i = 0; i < pids.n_pids; i++) {
                _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
                _cleanup_process_ Process process = { 0 };
                const Policy *policy;

                r = process_identify(sysroot, pids.pids[i], NULL, wants_exe, (void *)policies,
                                     &handle, &process);
                if (r == -ENOMEM)
                        return r;
                list.n_denied += r == -EACCES || r == -EPERM;
                if (r >= 0)
                        r = process_complete(sysroot, &handle, &process,
                                             match_wants_args(policies, process.exe),
                                             match_wants_mounts(policies, &process));
                if (r == -EHOSTDOWN && pid_list_add(pids.pids[i], &list.silent) < 0)
                        return -ENOMEM;
                if (r < 0)
                        continue; /* it is gone, or not wanted */
                policy = match_process(policies, &process);
                r = policy ? host_instances_add(&list, policy, &process, &handle) : 0;
                if (r < 0)
                        return r;
        }
        *ret = TAKE_STRUCT(list);
        return 0;
}

/* --- what the kernel shows --- */

/* 0: none, or not known. */
static uint32_t members_read_cpu_quota(const Members *m) {
        _cleanup_close_ int root_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r = m->n > 0 ? 0 : -ESRCH;

        if (r == 0 && cgroup_version(m->sysroot) != CGROUP_V1) {
                path = members_group_path(m);
                r = path ? cgroup_open(m->sysroot, path, &fd) : -ENOMEM;
        } else if (r == 0) {
                r = proc_cgroup_path_read(m->list[0].handle, "cpu", &path);
                if (r >= 0)
                        r = cgroup1_open(m->sysroot, "cpu", &root_fd);
                if (r >= 0)
                        r = cgroup_open_below(root_fd, path, &fd);
        }
        return r < 0 ? 0 : cgroup_cpu_quota_read(fd);
}

/* What may wait for one process of an instance. */
typedef struct Asked {
        const HostInstance *instance;
        Members one;
} Asked;

static void ask_member(void *userdata) {
        const Asked *asked = userdata;
        const Members *m = &asked->one;
        const HostInstance *o = asked->instance;
        char *data_dir = o->data_dir, *cmdline, text[256];
        StorageDevices storage;
        size_t size;

        (void)cmdline_read(m->list->handle, &cmdline, &size);
        if (!data_dir && members_are_vouched_for(m, o->policy))
                (void)members_read_data_dir(m, &data_dir);
        if (data_dir)
                (void)members_read_storage(m, data_dir, &storage);
        (void)memory_policy_read(m->list->handle, text, sizeof(text));
        (void)environment_read(m->list->handle, "GOMAXPROCS", text, sizeof(text));
}

static int instance_read_facts(const Sysroot *sysroot, const Topology *topology,
                               const HugePools *pools, HostInstance *o) {
        const Members members = facts_members(&o->facts, sysroot), *m = &members;
        _cleanup_free_ char *group = NULL;
        const CpuSet all = topology_cpus(topology), *whole = &all;
        ListenPorts ports;
        StorageDevices storage;
        HugeMaps maps;
        ProcStatus status;
        CpuSet cpus;
        int r = members_read_ports(m, &ports);

        if (r < 0)
                return r;
        o->ports = ports.ports;
        o->n_ports = ports.n_ports;

        if (!o->data_dir && members_are_vouched_for(m, o->policy) &&
            members_read_data_dir(m, &o->data_dir) == -ENOMEM)
                return -ENOMEM;
        r = o->data_dir ? members_read_storage(m, o->data_dir, &storage) : -ENODATA;
        if (r == -ENOMEM)
                return r;
        if (r >= 0) {
                o->storage = storage.chain;
                o->storage_nodes = storage.nodes;
                o->disks = storage.disks;
        }

        o->by_node = calloc(topology->n_nodes + 1, sizeof(NodeMemory));
        r = o->by_node ? members_read_memory(m, topology, o->by_node, &o->limit_bytes) : -ENOMEM;
        if (r == -ENOMEM)
                return r;
        o->memory_known = r >= 0;
        o->shared = r == -EBUSY;
        if (!o->shared)
                o->cpu_quota = members_read_cpu_quota(m);
        for (size_t p = 0; p < members_n_asked(m) && !o->memory_policy; p++) {
                char policy[256];

                if (memory_policy_read(m->list[p].handle, policy, sizeof(policy)) < 0 ||
                    strcmp(policy, "default") == 0)
                        continue;
                o->memory_policy = strdup(policy);
                if (!o->memory_policy)
                        return -ENOMEM;
        }
        /* What this user may not read is not known; so is what a dump lacks. */
        if (pools->n > 0 && o->policy->memory == MEMORY_BIND &&
            members_read_huge_maps(m, &(NodeSet){ 0 }, &maps) >= 0 && !maps.partial) {
                o->huge = huge_maps_need(&maps, pools);
                o->huge_known = true;
        }

        members_read_allowed(m, o->policy->backend == POLICY_BACKEND_AFFINITY, o->allowed_by,
                             &o->allowed_cpus, &o->allowed_nodes);
        (void)members_read_unit_cpus(m, &o->unit_cpus);
        (void)members_read_cpus(m, &o->cpus);
        /* Of no more threads than show that they may use all CPUs of the unit. */
        if (!id_set_is_empty(&o->unit_cpus))
                whole = &o->unit_cpus;
        for (size_t p = 0; p < members_n_asked(m); p++)
                if (proc_status_read(m->list[p].handle, 0, &status) >= 0)
                        id_set_union(&o->thread_cpus, &status.cpus_allowed);
        for (size_t p = 0; p < members_n_asked(m) && !id_set_is_subset(whole, &o->thread_cpus); p++)
                process_add_thread_cpus(m->list[p].handle, &o->thread_cpus);
        /* The memory nodes that its group allows, or the kernel its first process. */
        group = cgroup_version(sysroot) == CGROUP_V2 ? members_group_path(m) : NULL;
        if ((!group || cgroup_effective_read_of(sysroot, group, &cpus, &o->mems) < 0) && m->n > 0 &&
            proc_status_read(m->list[0].handle, 0, &status) >= 0)
                o->mems = status.mems_allowed;
        o->cpus_used = members_read_cpus_used(m);
        return 0;
}

/* --- names --- */

static bool is_name(const char *name, void *userdata) {
        const HostInstances *list = userdata;

        for (size_t i = 0; i < list->n_instances; i++)
                if (list->instances[i].name && strcmp(list->instances[i].name, name) == 0)
                        return true;
        return false;
}

static int compare(const void *a, const void *b) {
        const HostInstance *x = a, *y = b;

        return device_name_compare(x->name, y->name);
}

int host_instances_describe(const Sysroot *sysroot, const Topology *topology, HostInstances *list) {
        _cleanup_huge_pools_ HugePools pools = { 0 };

        if (sysroot->live && huge_pools_load(sysroot, topology, &pools) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < list->n_instances; i++) {
                HostInstance *o = &list->instances[i];
                const Members members = facts_members(&o->facts, sysroot);

                for (size_t p = 0; p < members_n_asked(&members); p++) {
                        Asked asked = { .instance = o, .one = members };

                        asked.one.list += p;
                        asked.one.n = 1;
                        if (!process_answers(members.list[p].handle, ask_member, &asked) &&
                            pid_list_add(members.list[p].process.id.pid, &list->silent) < 0)
                                return -ENOMEM;
                }
        }
        for (size_t i = 0; i < list->n_instances; i++) {
                int r = instance_read_facts(sysroot, topology, &pools, &list->instances[i]);

                if (r >= 0 && !list->instances[i].name)
                        r = facts_choose_name(&list->instances[i].facts, is_name, list,
                                              &list->instances[i].name);
                if (r < 0)
                        return r;
        }
        if (list->n_instances > 1)
                qsort(list->instances, list->n_instances, sizeof(*list->instances), compare);
        return 0;
}

size_t host_instances_count(const HostInstances *list, const Policy *policy) {
        size_t n = 0;

        for (size_t i = 0; i < list->n_instances; i++)
                n += list->instances[i].policy == policy;
        return n;
}

HostInstance *host_instances_find_pid(const HostInstances *list, pid_t pid) {
        for (size_t i = 0; i < list->n_instances; i++)
                if (facts_find(&list->instances[i].facts, pid) >= 0)
                        return &list->instances[i];
        return NULL;
}

const HostInstance *host_instances_find_subject(const HostInstances *list, const char *subject) {
        uint64_t pid = 0;

        for (size_t i = 0; i < list->n_instances; i++)
                if (strcmp(list->instances[i].name, subject) == 0)
                        return &list->instances[i];
        for (size_t i = 0; i < list->n_instances; i++)
                if (unit_is_named(list->instances[i].unit, subject))
                        return &list->instances[i];
        return parse_u64(subject, &pid) == 0 && pid <= INT32_MAX
                       ? host_instances_find_pid(list, (pid_t)pid)
                       : NULL;
}
