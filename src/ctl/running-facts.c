/* What the kernel tells of one instance. All of it may be gone, or not ours to read: then it is not
 * known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/parse.h"
#include "tidbnumad/ctl/running.h"
#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/observe/data-dir.h"
#include "tidbnumad/sample/residency.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/cgroup1.h"
#include "tidbnumad/sys/listen-ports.h"
#include "tidbnumad/sys/memory-policy.h"

/* A unit of many processes, such as a pool of workers, says the same with each. */
enum { PROCESSES_MAX = 16, THREADS_MAX = 4096 };

static int compare_ports(const void *a, const void *b) {
        const uint16_t *x = a, *y = b;

        return *x - *y;
}

static void sort_once_each(Running *r) {
        size_t n = 0;

        qsort(r->ports, r->n_ports, sizeof(uint16_t), compare_ports);
        for (size_t i = 0; i < r->n_ports; i++)
                if (n == 0 || r->ports[n - 1] != r->ports[i])
                        r->ports[n++] = r->ports[i];
        r->n_ports = n;
}

/* Of all its processes: a haproxy's master hands the sockets on to its workers. */
static int read_ports(const Sysroot *sysroot, Running *r) {
        for (size_t p = 0; p < r->n_processes && p < PROCESSES_MAX; p++) {
                _cleanup_listen_ports_ ListenPorts own = { 0 };
                uint16_t *grown;
                int error = listen_ports_read(sysroot, &r->handles[p], &own);

                if (error == -ENOMEM)
                        return error;
                if (error < 0 || own.n_ports == 0)
                        continue;
                grown = reallocarray(r->ports, r->n_ports + own.n_ports, sizeof(uint16_t));
                if (!grown)
                        return -ENOMEM;
                memcpy(grown + r->n_ports, own.ports, own.n_ports * sizeof(uint16_t));
                r->ports = grown;
                r->n_ports += own.n_ports;
        }
        if (r->n_ports > 0)
                sort_once_each(r);
        return 0;
}

/* A process leads us to files of its own choice: only where its policy vouches for it, by its user
 * or its unit. */
static int read_data_dir(const Sysroot *sysroot, Running *r) {
        int error = 0;

        if (!r->policy->match.user && !unit_is_service(r->unit))
                return 0;
        for (size_t p = 0; !r->data_dir && p < r->n_processes && p < PROCESSES_MAX; p++) {
                error = data_dir_read(sysroot, &r->handles[p], &r->data_dir);
                if (error == -ENOMEM)
                        return error;
        }
        return 0;
}

static int read_storage(const Sysroot *sysroot, Running *r) {
        int error;

        if (!r->data_dir)
                return 0;
        error = storage_find_process(sysroot, r->handles[0].dir_fd, r->data_dir, &r->storage);
        return error == -ENOMEM ? error : 0;
}

/* Where the threads of one process may run, together. */
typedef struct ThreadWalk {
        const ProcHandle *handle;
        CpuSet cpus;
        size_t n_threads;
} ThreadWalk;

static int add_thread(pid_t tid, void *userdata) {
        ThreadWalk *walk = userdata;
        ProcStatus status;

        if (proc_status_read(walk->handle, tid, &status) >= 0)
                id_set_add_all(&walk->cpus, &status.cpus_allowed);
        return ++walk->n_threads >= THREADS_MAX ? -ENOSPC : 0;
}

static CpuSet read_thread_cpus(const Running *r) {
        CpuSet cpus = { 0 };

        for (size_t p = 0; p < r->n_processes && p < PROCESSES_MAX; p++) {
                ThreadWalk walk = { .handle = &r->handles[p] };

                (void)proc_foreach_thread(&r->handles[p], add_thread, &walk);
                id_set_add_all(&cpus, &walk.cpus);
        }
        return cpus;
}

/* Bound is what may run on some only of the nodes whose CPUs it could have. */
static void read_in_force(const Topology *topology, Running *r) {
        CpuSet cpus = read_thread_cpus(r), online = topology_cpus(topology), could = online;
        NodeSet may, might;

        if (!id_set_is_empty(&r->allowed_cpus))
                id_set_keep_only(&could, &r->allowed_cpus);
        id_set_keep_only(&cpus, &online);
        might = topology_nodes_of(topology, &could);
        may = topology_nodes_of(topology, &cpus);
        if (!id_set_equal(&may, &might))
                r->in_force = may;
}

/* The group above the last part of the path. False: there is none. */
static bool cut_last(char *path) {
        char *slash = strrchr(path, '/');

        if (!slash || slash[1] == '\0')
                return false;
        slash[slash == path ? 1 : 0] = '\0';
        return true;
}

/* Of the nearest group above its own that has the cpuset controller. On v1 it would be put below
 * the root of the cpuset hierarchy, which allows everything. */
static int read_allowed(const Sysroot *sysroot, Running *r) {
        const char *cgroup = r->processes[0].cgroup;
        _cleanup_free_ char *path = cgroup ? strdup(cgroup) : NULL;

        if (!cgroup || cgroup_version(sysroot) != CGROUP_V2)
                return 0;
        if (!path)
                return -ENOMEM;
        while (cut_last(path)) {
                _cleanup_close_ int fd = -EBADF;

                if (cgroup_open(sysroot, path, &fd) < 0 ||
                    cgroup_effective_cpus_read(fd, &r->allowed_cpus) < 0)
                        continue;
                (void)cgroup_effective_mems_read(fd, &r->allowed_nodes);
                return 0;
        }
        return 0;
}

static int open_memory_group(const Sysroot *sysroot, const Running *r, int *ret_fd) {
        _cleanup_close_ int root_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int error;

        if (cgroup_version(sysroot) == CGROUP_V2)
                return unit_is_service(r->unit)
                               ? cgroup_open(sysroot, r->processes[0].cgroup, ret_fd)
                               : -ENXIO;
        error = cgroup1_path_read(&r->handles[0], "memory", &path);
        if (error < 0)
                return error;
        if (strcmp(path, "/") == 0) /* everybody's */
                return -ENXIO;
        error = cgroup1_open(sysroot, "memory", &root_fd);
        return error < 0 ? error : cgroup_open_below(root_fd, path, ret_fd);
}

/* memory.max of v2; "max" and anything else that is no number: none. */
static uint64_t read_limit(int group_fd) {
        char text[32];
        uint64_t limit = 0;

        if (read_file_at(group_fd, "memory.max", text, sizeof(text)) < 0 ||
            parse_u64(text, &limit) < 0)
                return 0;
        return limit;
}

static int read_memory_policy(Running *r) {
        char policy[256];

        for (size_t p = 0; p < r->n_processes && p < PROCESSES_MAX; p++) {
                if (memory_policy_read(&r->handles[p], policy, sizeof(policy)) < 0 ||
                    strcmp(policy, "default") == 0)
                        continue;
                r->memory_policy = strdup(policy);
                return r->memory_policy ? 0 : -ENOMEM;
        }
        return 0;
}

/* What it holds and cannot give back; page cache comes and goes. */
static uint64_t held_bytes(const Topology *topology, const NodeMemory *by_node) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < topology->n_nodes; i++)
                bytes += by_node[i].anon_bytes + by_node[i].shmem_bytes;
        return bytes;
}

static int read_memory(const Sysroot *sysroot, const Topology *topology, Running *r) {
        _cleanup_free_ NodeMemory *by_node = calloc(topology->n_nodes + 1, sizeof(NodeMemory));
        _cleanup_close_ int fd = -EBADF;
        int error;

        if (!by_node)
                return -ENOMEM;
        error = open_memory_group(sysroot, r, &fd);
        if (error < 0)
                return error == -ENOMEM ? error : 0;
        error = residency_read(topology, fd, by_node);
        if (error == -ENOMEM)
                return error;
        if (error < 0) {
                r->need_bytes = read_limit(fd);
                return 0;
        }
        r->need_bytes = held_bytes(topology, by_node);
        r->by_node = TAKE_PTR(by_node);
        return 0;
}

int running_read_facts(const Sysroot *sysroot, const Topology *topology, Running *running) {
        int r = read_ports(sysroot, running);

        if (r >= 0)
                r = read_data_dir(sysroot, running);
        if (r >= 0)
                r = read_storage(sysroot, running);
        if (r >= 0)
                r = read_allowed(sysroot, running);
        if (r >= 0)
                r = read_memory(sysroot, topology, running);
        if (r >= 0)
                r = read_memory_policy(running);
        read_in_force(topology, running);
        return r < 0 ? r : 0;
}
