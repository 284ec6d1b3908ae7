/* The backend affinity: the CPUs of every thread, set one by one. How they are read for a record,
 * set, and put back; also for the other backends, where threads have chosen CPUs themselves. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"

/* As many as it takes until no thread is found that was made by one which had not been set yet, or
 * that did not answer. Of a process that starts threads faster than that the next reconcile handles
 * what the last pass leaves. */
enum { PASSES_MAX = 10 };

/* --- setting --- */

/* A thread that was made by one which had not been set yet has the old CPUs: repeat until all
 * are found as they should be. From then on new ones inherit the right ones. */
int backend_affinity_set(Backend *backend, const ProcHandle *process, const CpuSet *cpus,
                         bool exactly) {
        size_t n_changed = 1;

        for (unsigned i = 0; n_changed > 0 && i < PASSES_MAX; i++) {
                _cleanup_numbers_ Numbers threads;
                int r, error = 0; /* of the first thread that could not be set */
                pid_t tid;

                n_changed = 0;
                proc_threads(process, &threads);
                while ((r = numbers_next(&threads, &tid)) > 0) {
                        r = affinity_set_thread(backend->sysroot, process, tid, cpus, exactly,
                                                &backend->n_pid_reuses);
                        n_changed += r > 0;
                        if (r > 0 && --backend->threads_left == 0)
                                return -EINPROGRESS;
                        if (r < 0 && r != -ESRCH && error == 0)
                                error = r;
                }
                if (r < 0 || error < 0)
                        return r < 0 ? r : error;
        }
        return 0;
}

static int affinity_set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                             _unused_ BackendCall *call) {
        int result = -ESRCH;

        backend->threads_left = backend->threads_whole ? SIZE_MAX : OTHERS_THREADS_AT_ONCE;
        for (size_t i = 0; i < target->n_members; i++) {
                int r = backend_affinity_set(backend, target->members[i].handle, cpus,
                                             !target->members[i].cpus_applied);

                if (r < 0 && r != -ESRCH)
                        return r;
                if (r == 0)
                        result = 1;
        }
        return result;
}

/* --- cpusets --- */

/* The CPUs that the cpuset of a process lets its threads have, of either version of cgroups.
 * `cgroup`: its path in the unified hierarchy, NULL: to be read. Negative: not known. */
static int cpuset_cpus_read(Backend *backend, const ProcHandle *handle, const char *cgroup,
                            CpuSet *ret) {
        _cleanup_free_ char *path = NULL;
        int r = 0;

        if (backend->root_fd >= 0 || cgroup_version(backend->sysroot) != CGROUP_V2) {
                if (backend->root_fd < 0)
                        r = cgroup1_open(backend->sysroot, "cpuset", &backend->root_fd);
                if (r >= 0)
                        r = proc_cgroup_path_read(handle, "cpuset", &path);
        } else if (cgroup)
                path = strdup(cgroup);
        else
                r = proc_cgroup_read(handle, &path);
        if (r < 0 || !path)
                return r < 0 ? r : -ENOMEM;
        return cgroup_nearest_cpus_read(
                backend->root_fd >= 0 ? backend->root_fd : backend->sysroot->cgroup_fd, path, ret);
}

/* --- threads --- */

typedef struct Seen {
        pid_t tid;
        uint32_t mask;
} Seen;

static int compare_seen(const void *a, const void *b) {
        const pid_t x = ((const Seen *)a)->tid, y = ((const Seen *)b)->tid;

        return (x > y) - (x < y);
}

static int note_threads(Backend *backend, const Member *member, UndoProcess *entry) {
        const StartCpus *start = member->start;
        _cleanup_free_ Seen *seen = NULL;
        size_t n_seen = 0, allocated = 0;
        _cleanup_numbers_ Numbers threads;
        CpuSet cpuset, mask; /* empty: not known, every mask counts as chosen */
        pid_t tid;
        int r;

        if (cpuset_cpus_read(backend, member->handle, member->process.cgroup, &cpuset) < 0)
                cpuset = (CpuSet){ 0 };
        proc_threads(member->handle, &threads);
        while ((r = numbers_next(&threads, &tid)) > 0) {
                uint32_t index = UNDO_FOLLOWS;

                if (affinity_read_thread(tid, &mask) < 0)
                        continue; /* it has ended */
                /* What it was given at its start is ours: before that it had what its first thread
                 * had. */
                if (start && id_set_equal(&mask, &start->given))
                        mask = id_set_is_empty(&start->before) ? cpuset : start->before;
                if (ARRAY_RESERVE(seen, allocated, n_seen + 1) < 0 ||
                    (!id_set_equal(&mask, &cpuset) &&
                     undo_process_find_mask(entry, &mask, &index) < 0))
                        return -ENOMEM;
                seen[n_seen++] = (Seen){ .tid = tid, .mask = index };
        }
        entry->noted_ticks = clock_boottime_ticks();
        if (r >= 0 && n_seen > 0)
                qsort(seen, n_seen, sizeof(*seen), compare_seen);
        for (size_t i = 0; r >= 0 && i < n_seen; i++)
                r = undo_process_add_thread(
                        entry, seen[i].tid,
                        seen[i].mask == UNDO_FOLLOWS ? NULL : &entry->masks[seen[i].mask]);
        return r;
}

/* --- processes --- */

/* The parent of the process, if the record has it; else any other entry. NULL: there is no other
 * entry. */
static const UndoProcess *find_maker(const UndoRecord *record, const ProcHandle *handle,
                                     const UndoProcess *self) {
        const UndoProcess *any = NULL;
        ProcStat stat = { 0 };

        (void)proc_stat_read(handle, 0, &stat);
        for (size_t i = record->n_processes; i > 0; i--) {
                const UndoProcess *p = &record->processes[i - 1];

                if (p == self)
                        continue;
                if (p->id.pid == stat.parent)
                        return p;
                any = p;
        }
        return any;
}

int undo_note_processes(Backend *backend, const BackendTarget *target, UndoRecord *record,
                        unsigned what) {
        for (size_t i = 0; i < target->n_members; i++) {
                const Member *member = &target->members[i];
                const ProcessId *id = &member->process.id;
                UndoProcess *entry = undo_record_find(record, id);
                const UndoProcess *maker;
                const CpuSet *mask;
                char *path;
                int r = 0;

                if (!entry) {
                        r = undo_record_add(record, id, &entry);
                        if (r >= 0)
                                r = note_threads(backend, member, entry);
                        /* A thread gets the CPUs of the one that made it: a child of a bound
                         * process has ours. */
                        mask = r >= 0 ? undo_process_mask(entry, id->pid, 0) : NULL;
                        if (mask && undo_values_have(&record->given, ID_VIEW(mask))) {
                                maker = find_maker(record, member->handle, entry);
                                r = maker ? undo_process_inherit(entry, maker) : 0;
                        }
                }
                /* Where it is now, unless that is our own doing. */
                if (r >= 0 && (what & NOTE_CPUSET) && !entry->cpuset) {
                        record->stale = true;
                        r = proc_cgroup_path_read(member->handle, "cpuset", &path);
                        if (r >= 0 && cgroup1_is_ours(path)) {
                                maker = find_maker(record, member->handle, entry);
                                free(path);
                                path = strdup(maker && maker->cpuset ? maker->cpuset : "/");
                                r = path ? 0 : -ENOMEM;
                        }
                        if (r >= 0)
                                entry->cpuset = path;
                }
                if (r >= 0) {
                        record->stale |= (what & NOTE_MASKS) && !entry->masks_set;
                        entry->masks_set |= (what & NOTE_MASKS) != 0;
                        continue;
                }
                /* An incomplete entry is useless and must not be restored later. */
                entry = undo_record_find(record, id);
                if (entry)
                        undo_record_remove(record, (size_t)(entry - record->processes));
                /* One answer that it is gone is not enough to bind it without a record. */
                if (r != -ESRCH || proc_is_alive(member->handle))
                        return r;
        }
        return 0;
}

/* --- restoring --- */

typedef struct RestorePass {
        Backend *backend;
        const UndoRecord *record;
        const UndoProcess *entry;
        const ProcHandle *handle;
        CpuSet all;    /* all CPUs that the cpuset allows */
        CpuSet cpuset; /* which is this, now; empty: not known */
} RestorePass;

/* What a thread has chosen itself since is not ours to take away. */
static bool is_our_doing(const RestorePass *pass, const CpuSet *mask) {
        const UndoValues *given = &pass->record->given;

        if (id_set_equal(mask, &pass->cpuset) || undo_values_have(given, ID_VIEW(mask)))
                return true;
        for (size_t i = 0; i < given->n; i++) {
                CpuSet online; /* some may have gone offline */

                id_set_convert(&given->values[i], &online);
                id_set_limit(&online, &pass->cpuset);
                if (id_set_equal(mask, &online))
                        return true;
        }
        return false;
}

static int restore_set(RestorePass *pass, pid_t tid, const CpuSet *mask) {
        return affinity_set_thread(pass->backend->sysroot, pass->handle, tid, mask, true,
                                   &pass->backend->n_pid_reuses);
}

/* 1: it was changed. */
static int restore_thread(RestorePass *pass, pid_t tid) {
        const CpuSet *before;
        ProcStat stat;
        CpuSet now;
        int r;

        r = affinity_read_thread(tid, &now);
        if (r < 0)
                return r;
        if (!is_our_doing(pass, &now))
                return 0;
        /* Has it what it had? By its number alone: a pass of the loop restores only some threads of
         * a process, and finds those of the passes before again, for each of which the kernel needs
         * 50 times as long to show a file. */
        before = undo_process_mask(pass->entry, tid, 0);
        if (id_set_equal(&now, before ? before : &pass->cpuset))
                return 0;
        r = proc_stat_read(pass->handle, tid, &stat);
        if (r < 0)
                return r;
        before = undo_process_mask(pass->entry, tid, stat.start_ticks);
        if (!before && !pass->entry->masks_set)
                return 0;
        r = restore_set(pass, tid, before ? before : &pass->all);
        return r == -EINVAL /* none of these CPUs is online any more */
                       ? restore_set(pass, tid, &pass->all)
                       : r;
}

int undo_restore_threads(Backend *backend, const UndoRecord *record, const UndoProcess *entry,
                         const ProcHandle *handle) {
        RestorePass pass = {
                .backend = backend, .record = record, .entry = entry, .handle = handle
        };
        bool again = true;
        int r = 0;

        memset(&pass.all, 0xff, sizeof(pass.all));
        if (cpuset_cpus_read(backend, handle, NULL, &pass.cpuset) < 0)
                pass.cpuset = (CpuSet){ 0 };
        for (unsigned i = 0; again && i < PASSES_MAX; i++) {
                _cleanup_numbers_ Numbers threads;
                int error = 0;
                pid_t tid;

                again = false;
                proc_threads(handle, &threads);
                while ((r = numbers_next(&threads, &tid)) > 0) {
                        r = restore_thread(&pass, tid);
                        if (r > 0 && --backend->threads_left == 0)
                                return -EINPROGRESS;
                        /* In most cases it has ended, and the next pass does not find it. A binding
                         * is not left behind on the strength of one answer. */
                        if (r < 0 && r != -ESRCH && error == 0)
                                error = r;
                        again |= r != 0;
                }
                again |= r < 0;
                if ((r < 0 && r != -ESRCH) || error < 0)
                        return r < 0 && r != -ESRCH ? r : error;
        }
        return r;
}

int undo_restore_masks(Backend *backend, UndoRestore *restore, _unused_ BackendCall *call) {
        const UndoRecord *record = restore->record;

        backend->threads_left = backend->threads_whole ? SIZE_MAX : OTHERS_THREADS_AT_ONCE;
        for (size_t i = 0; i < record->n_processes; i++) {
                const UndoProcess *entry = &record->processes[i];
                _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
                int r = proc_open_twice(backend->sysroot, entry->id.pid, &handle);

                if (r >= 0 && handle.start_ticks == entry->id.start_ticks)
                        r = undo_restore_threads(backend, record, entry, &handle);
                if (r < 0 && r != -ESRCH)
                        return r;
        }
        return 1;
}

/* --- the backend --- */

static int affinity_note(Backend *backend, const BackendTarget *target, UndoRecord *record,
                         _unused_ BackendCall *call) {
        int r = undo_note_processes(backend, target, record, NOTE_MASKS);

        return r < 0 ? r : 1;
}

const BackendOps backend_affinity_ops = {
        .name = "affinity",
        .kind = BACKEND_AFFINITY,
        .set_cpus = affinity_set_cpus,
        .note = affinity_note,
        .restore = undo_restore_masks,
};

/* --- at their exec --- */

/* Gives the CPUs `to` to those threads of the process that have the CPUs `from`. */
static void start_set_threads(const Sysroot *sysroot, const ProcHandle *handle, const CpuSet *from,
                              const CpuSet *to, uint64_t *n_pid_reuses) {
        size_t n_changed = 1;

        for (unsigned i = 0; n_changed > 0 && i < PASSES_MAX; i++) {
                _cleanup_numbers_ Numbers threads;
                CpuSet now;
                pid_t tid;

                n_changed = 0;
                proc_threads(handle, &threads);
                while (numbers_next(&threads, &tid) > 0)
                        if (affinity_read_thread(tid, &now) >= 0 && id_set_equal(&now, from))
                                n_changed += affinity_set_thread(sysroot, handle, tid, to, true,
                                                                 n_pid_reuses) > 0;
        }
}

void start_cpus_set(const Sysroot *sysroot, const ProcHandle *handle, const CpuSet *cpus,
                    uint64_t *n_pid_reuses, StartCpus *ret) {
        StartCpus start = { .set = true };

        *ret = (StartCpus){ 0 };
        if (affinity_set_first_thread(sysroot, handle, cpus, n_pid_reuses, &start.before,
                                      &start.given) <= 0)
                return;
        *ret = start;
        if (proc_count_threads(handle) > 1) /* from now on its only one makes them with its CPUs */
                start_set_threads(sysroot, handle, &start.before, &start.given, n_pid_reuses);
}

void start_cpus_recall(const UndoStarts *former, const ProcHandle *handle, StartCpus *ret) {
        StartCpus start = { .set = true };
        ProcStat stat;
        size_t i = 0;

        *ret = (StartCpus){ 0 };
        if (former->n == 0 || affinity_read_thread(handle->pid, &start.given) < 0)
                return;
        while (i < former->n && !id_set_equal(&former->cpus[i], &start.given))
                i++;
        if (i == former->n)
                return;
        if (proc_stat_read(handle, 0, &stat) < 0 || stat.parent <= 0 ||
            affinity_read_thread(stat.parent, &start.before) < 0)
                start.before = (CpuSet){ 0 };           /* not known */
        if (!id_set_equal(&start.before, &start.given)) /* else it has inherited them */
                *ret = start;
}

void start_cpus_take_back(const Sysroot *sysroot, const ProcHandle *handle, uint64_t *n_pid_reuses,
                          StartCpus *start) {
        CpuSet before = start->before;

        if (id_set_is_empty(&before))
                memset(&before, 0xff, sizeof(before)); /* the kernel cuts it down to the cpuset */
        if (start->set)
                start_set_threads(sysroot, handle, &start->given, &before, n_pid_reuses);
        *start = (StartCpus){ 0 };
}
