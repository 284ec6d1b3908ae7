#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/world/members.h"
#include "tidbnumad/world/storage.h"

int member_init(Member *member, Process *process, ProcHandle *handle) {
        ProcHandle *own = malloc(sizeof(*own));

        if (!own)
                return -ENOMEM;
        *own = *handle;
        *member = (Member){ .process = *process, .handle = own };
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        return 0;
}

void member_done(Member *member) {
        process_done(&member->process);
        if (member->handle)
                proc_close(member->handle);
        free(member->handle);
        *member = (Member){ 0 };
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
                r = storage_find_process(m->sysroot, m->list[p].handle->dir_fd, data_dir, ret);
                if (r >= 0 || r == -ENOMEM)
                        break;
        }
        return r;
}

/* --- control group --- */

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

/* All of its processes must be in the same group of the memory controller, and not in the root. */
static int open_memory_group(const Members *m, int *ret_fd, char **ret_path) {
        _cleanup_close_ int root_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

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
        if (r < 0)
                return r;
        *ret_path = TAKE_PTR(path);
        return 1;
}

int members_open_group(const Members *m, int *ret_fd, char **ret_path) {
        _cleanup_free_ char *path = NULL;
        int r;

        if (m->n == 0)
                return -ESRCH;
        if (cgroup_version(m->sysroot) == CGROUP_V1)
                return open_memory_group(m, ret_fd, ret_path);
        if (!m->unit && !m->list[0].process.scope)
                return 0;
        path = members_group_path(m);
        if (!path)
                return -ENOMEM;
        r = cgroup_open(m->sysroot, path, ret_fd);
        if (r < 0)
                return r;
        *ret_path = TAKE_PTR(path);
        return 1;
}

/* --- CPU time --- */

enum { AGE_SECONDS_MIN = 60 };

static uint64_t oldest_start(const Members *m) {
        uint64_t start = UINT64_MAX;

        for (size_t p = 0; p < members_n_asked(m); p++)
                if (m->list[p].handle->start_ticks < start)
                        start = m->list[p].handle->start_ticks;
        return start;
}

uint32_t members_read_cpus_used(const Members *m) {
        const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), start = oldest_start(m);
        uint64_t now, used = 0;

        if (proc_uptime_read(m->sysroot, &now) < 0 || start > now ||
            now - start < AGE_SECONDS_MIN * hz)
                return 0; /* so young that its times need not be read, each a sum over all threads
                           */
        for (size_t p = 0; p < members_n_asked(m); p++) {
                ProcStat stat;

                if (proc_stat_read(m->list[p].handle, 0, &stat) >= 0)
                        used += stat.cpu_ticks;
        }
        used = (used + now - start - 1) / (now - start);
        return used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
}

/* --- CPUs and nodes --- */

/* The group above the last part of the path. False: there is none. */
static bool cut_last(char *path) {
        char *slash = strrchr(path, '/');

        if (!slash || slash[1] == '\0')
                return false;
        slash[slash == path ? 1 : 0] = '\0';
        return true;
}

static int read_sets(const Sysroot *sysroot, const char *path, CpuSet *cpus, NodeSet *mems) {
        _cleanup_close_ int fd = -EBADF;
        int r = cgroup_open(sysroot, path, &fd);

        return r < 0 ? r : cgroup_effective_read(fd, cpus, mems);
}

/* So many groups are read at most on the way up: somebody else makes them. */
enum { GROUPS_ABOVE_MAX = 16 };

/* Cuts the path to the highest group above it that has the same sets. */
static void find_limit(const Sysroot *sysroot, char *path, const CpuSet *cpus, const NodeSet *nodes,
                       char ret_group[static MEMBERS_GROUP_MAX]) {
        ret_group[0] = '\0';
        for (unsigned n = 0; n < GROUPS_ABOVE_MAX && path[1] != '\0'; n++) {
                CpuSet above_cpus;
                NodeSet above_nodes;

                if (strlen(path) < MEMBERS_GROUP_MAX)
                        (void)strcpy(ret_group, path);
                if (!cut_last(path) || read_sets(sysroot, path, &above_cpus, &above_nodes) < 0 ||
                    !id_set_equal(cpus, &above_cpus) || !id_set_equal(nodes, &above_nodes))
                        return;
        }
        ret_group[0] = '\0';
}

void members_read_allowed(const Members *m, bool with_own, char ret_group[static MEMBERS_GROUP_MAX],
                          CpuSet *ret_cpus, NodeSet *ret_nodes) {
        _cleanup_free_ char *path =
                cgroup_version(m->sysroot) == CGROUP_V2 ? members_group_path(m) : NULL;

        *ret_cpus = (CpuSet){ 0 };
        *ret_nodes = (NodeSet){ 0 };
        ret_group[0] = '\0';
        for (bool own = with_own; path && (own || cut_last(path)); own = false) {
                CpuSet cpus;
                NodeSet mems;

                if (read_sets(m->sysroot, path, &cpus, &mems) < 0)
                        continue;
                *ret_cpus = cpus;
                *ret_nodes = mems;
                find_limit(m->sysroot, path, &cpus, &mems, ret_group);
                return;
        }
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

typedef struct ThreadWalk {
        const ProcHandle *handle;
        CpuSet cpus;
        size_t n_threads;
} ThreadWalk;

/* A system call takes 0.5 us, the file of a thread 30: only a dump needs the file. */
static int read_thread(const ProcHandle *handle, pid_t tid, CpuSet *ret) {
        ProcStatus status;
        int r;

        if (handle->live)
                return affinity_read_thread(tid, ret);
        r = proc_status_read(handle, tid, &status);
        if (r >= 0)
                *ret = status.cpus_allowed;
        return r;
}

static int add_thread(pid_t tid, void *userdata) {
        ThreadWalk *walk = userdata;
        CpuSet cpus;

        if (read_thread(walk->handle, tid, &cpus) >= 0)
                id_set_union(&walk->cpus, &cpus);
        return ++walk->n_threads >= OTHERS_THREADS_READ_MAX ? -ENOSPC : 0;
}

static void add_threads(const ProcHandle *handle, CpuSet *cpus) {
        ThreadWalk walk = { .handle = handle };

        (void)proc_foreach_thread(handle, add_thread, &walk);
        id_set_union(cpus, &walk.cpus);
}

int members_read_thread_cpus(const Members *m, const CpuSet *whole, CpuSet *ret) {
        CpuSet cpus = { 0 };
        ProcStatus status;

        for (size_t p = 0; p < members_n_asked(m); p++)
                if (proc_status_read(m->list[p].handle, 0, &status) >= 0)
                        id_set_union(&cpus, &status.cpus_allowed);
        for (size_t p = 0; p < members_n_asked(m) && !id_set_is_subset(whole, &cpus); p++)
                add_threads(m->list[p].handle, &cpus);
        if (id_set_is_empty(&cpus))
                return -ENODATA;
        *ret = cpus;
        return 0;
}

int members_read_cpus(const Members *m, CpuSet *ret) {
        CpuSet cpus = { 0 };

        if (members_read_unit_cpus(m, ret) >= 0)
                return 0;
        for (size_t p = 0; p < members_n_asked(m); p++)
                add_threads(m->list[p].handle, &cpus);
        if (id_set_is_empty(&cpus))
                return -ENODATA;
        *ret = cpus;
        return 0;
}

int members_read_mems(const Members *m, NodeSet *ret) {
        _cleanup_free_ char *path =
                cgroup_version(m->sysroot) == CGROUP_V2 ? members_group_path(m) : NULL;
        ProcStatus status;
        CpuSet cpus;
        int r;

        if (path && read_sets(m->sysroot, path, &cpus, ret) >= 0)
                return 0;
        r = m->n > 0 ? proc_status_read(m->list[0].handle, 0, &status) : -ENODATA;
        if (r >= 0)
                *ret = status.mems_allowed;
        return r;
}
