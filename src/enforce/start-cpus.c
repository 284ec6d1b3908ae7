#include <string.h>

#include "tidbnumad/enforce/start-cpus.h"
#include "tidbnumad/sys/affinity.h"

/* As many as it takes until no thread is found that was made by one which had not been set yet. */
enum { PASSES_MAX = 10 };

typedef struct Pass {
        const Sysroot *sysroot;
        const ProcHandle *handle;
        const CpuSet *from, *to;
        uint64_t *n_pid_reuses;
        size_t n_changed;
} Pass;

static int change(pid_t tid, void *userdata) {
        Pass *pass = userdata;
        CpuSet now;

        if (affinity_read_thread(tid, &now) >= 0 && id_set_equal(&now, pass->from))
                pass->n_changed += affinity_set_thread(pass->sysroot, pass->handle, tid, pass->to,
                                                       true, pass->n_pid_reuses) > 0;
        return 0;
}

/* Gives the CPUs `to` to those threads of the process that have the CPUs `from`. */
static void change_threads(Pass *pass) {
        for (unsigned i = 0; i < PASSES_MAX; i++) {
                pass->n_changed = 0;
                if (proc_foreach_thread(pass->handle, change, pass) < 0 || pass->n_changed == 0)
                        break;
        }
}

void start_cpus_set(const Sysroot *sysroot, const ProcHandle *handle, const CpuSet *cpus,
                    uint64_t *n_pid_reuses, StartCpus *ret) {
        StartCpus start = { .set = true };
        Pass pass = { sysroot, handle, &start.before, &start.given, n_pid_reuses, 0 };

        *ret = (StartCpus){ 0 };
        if (affinity_set_first_thread(sysroot, handle, cpus, n_pid_reuses, &start.before,
                                      &start.given) <= 0)
                return;
        *ret = start;
        if (proc_count_threads(handle) > 1) /* from now on its only one makes them with its CPUs */
                change_threads(&pass);
}

/* Empty: not known. */
static CpuSet cpus_of_parent(const ProcHandle *handle) {
        CpuSet cpus;
        ProcStat stat;

        return proc_stat_read(handle, 0, &stat) < 0 || stat.parent <= 0 ||
                               affinity_read_thread(stat.parent, &cpus) < 0
                       ? (CpuSet){ 0 }
                       : cpus;
}

static bool is_given(const UndoStarts *starts, const CpuSet *cpus) {
        for (size_t i = 0; i < starts->n; i++)
                if (id_set_equal(&starts->cpus[i], cpus))
                        return true;
        return false;
}

void start_cpus_recall(const UndoStarts *former, const ProcHandle *handle, StartCpus *ret) {
        StartCpus start = { .set = true };

        *ret = (StartCpus){ 0 };
        if (former->n == 0 || affinity_read_thread(handle->pid, &start.given) < 0 ||
            !is_given(former, &start.given))
                return;
        start.before = cpus_of_parent(handle);
        if (!id_set_equal(&start.before, &start.given)) /* else it has inherited them */
                *ret = start;
}

void start_cpus_take_back(const Sysroot *sysroot, const ProcHandle *handle, uint64_t *n_pid_reuses,
                          StartCpus *start) {
        CpuSet before = start->before;
        Pass pass = { sysroot, handle, &start->given, &before, n_pid_reuses, 0 };

        if (id_set_is_empty(&before))
                memset(&before, 0xff, sizeof(before)); /* the kernel cuts it down to the cpuset */
        if (start->set)
                change_threads(&pass);
        *start = (StartCpus){ 0 };
}
