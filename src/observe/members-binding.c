/* Which CPUs and nodes an instance may have, and which it is bound to. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/observe/members-binding.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"

/* More threads of one process are not read. */
enum { THREADS_MAX = 4096 };

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

        if (r >= 0)
                r = cgroup_effective_cpus_read(fd, cpus);
        return r < 0 ? r : cgroup_effective_mems_read(fd, mems);
}

void members_read_allowed(const Members *m, CpuSet *ret_cpus, NodeSet *ret_nodes) {
        _cleanup_free_ char *path =
                cgroup_version(m->sysroot) == CGROUP_V2 ? members_group_path(m) : NULL;

        *ret_cpus = (CpuSet){ 0 };
        *ret_nodes = (NodeSet){ 0 };
        while (path && cut_last(path)) {
                CpuSet cpus;
                NodeSet mems;

                if (read_sets(m->sysroot, path, &cpus, &mems) < 0)
                        continue;
                *ret_cpus = cpus;
                *ret_nodes = mems;
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

        if (handle->pidfd >= 0)
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
        return ++walk->n_threads >= THREADS_MAX ? -ENOSPC : 0;
}

int members_read_cpus(const Members *m, CpuSet *ret) {
        CpuSet cpus = { 0 };

        if (members_read_unit_cpus(m, ret) >= 0)
                return 0;
        for (size_t p = 0; p < m->n && p < MEMBERS_ASKED_MAX; p++) {
                ThreadWalk walk = { .handle = m->list[p].handle };

                (void)proc_foreach_thread(m->list[p].handle, add_thread, &walk);
                id_set_union(&cpus, &walk.cpus);
        }
        if (id_set_is_empty(&cpus))
                return -ENODATA;
        *ret = cpus;
        return 0;
}
