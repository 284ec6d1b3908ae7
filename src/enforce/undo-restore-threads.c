/* The CPUs of threads, as they were. */
#include <string.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/sys/affinity.h"

/* As many as it takes until no thread is found that was made by one which had not been set yet, or
 * that did not answer. */
enum { PASSES_MAX = 10 };

typedef struct Pass {
        Backend *backend;
        const UndoRecord *record;
        const UndoProcess *entry;
        const ProcHandle *handle;
        CpuSet all;    /* all CPUs that the cpuset allows */
        CpuSet cpuset; /* which is this, now; empty: not known */
        size_t n_changed, n_missed;
        int error;
} Pass;

/* What a thread has chosen itself since is not ours to take away. */
static bool is_our_doing(const Pass *pass, const CpuSet *mask) {
        const UndoValues *given = &pass->record->given;

        if (id_set_equal(mask, &pass->cpuset) || undo_values_have(given, ID_VIEW(mask)))
                return true;
        for (size_t i = 0; i < given->n; i++) {
                CpuSet online; /* some may have gone offline */

                id_set_convert(&given->values[i], &online);
                if (!id_set_is_empty(&pass->cpuset))
                        id_set_intersect(&online, &pass->cpuset);
                if (id_set_equal(mask, &online))
                        return true;
        }
        return false;
}

static int set(Pass *pass, pid_t tid, const CpuSet *mask) {
        return affinity_set_thread(pass->backend->sysroot, pass->handle, tid, mask, true,
                                   &pass->backend->n_pid_reuses);
}

/* In most cases it has ended, and the next pass does not find it. A binding is not left behind on
 * the strength of one answer. */
static int missed(Pass *pass, int error) {
        pass->n_missed++;
        if (error != -ESRCH && pass->error == 0)
                pass->error = error;
        return 0;
}

/* By its number alone: a turn of the loop restores only some threads of a process, and finds those
 * of the turns before again, for each of which the kernel needs 50 times as long to show a file. */
static bool has_what_it_had(const Pass *pass, pid_t tid, const CpuSet *now) {
        const CpuSet *before = undo_process_mask(pass->entry, tid, 0);

        return id_set_equal(now, before ? before : &pass->cpuset);
}

static int restore_thread(pid_t tid, void *userdata) {
        Pass *pass = userdata;
        const CpuSet *before;
        ProcStat stat;
        CpuSet now;
        int r;

        r = affinity_read_thread(tid, &now);
        if (r < 0)
                return missed(pass, r);
        if (!is_our_doing(pass, &now) || has_what_it_had(pass, tid, &now))
                return 0;
        r = proc_stat_read(pass->handle, tid, &stat);
        if (r < 0)
                return missed(pass, r);
        before = undo_process_mask(pass->entry, tid, stat.start_ticks);
        if (!before && !pass->entry->masks_set)
                return 0;
        r = set(pass, tid, before ? before : &pass->all);
        if (r == -EINVAL) /* all of those CPUs are gone */
                r = set(pass, tid, &pass->all);
        pass->n_changed += r > 0;
        if (r > 0 && --pass->backend->threads_left == 0)
                return -EINPROGRESS;
        return r < 0 ? missed(pass, r) : 0;
}

int undo_restore_threads(Backend *backend, const UndoRecord *record, const UndoProcess *entry,
                         const ProcHandle *handle) {
        Pass pass = { .backend = backend, .record = record, .entry = entry, .handle = handle };
        int r = 0;

        memset(&pass.all, 0xff, sizeof(pass.all));
        if (undo_note_cpuset_cpus(backend, handle, NULL, &pass.cpuset) < 0)
                pass.cpuset = (CpuSet){ 0 };
        for (unsigned i = 0; i < PASSES_MAX; i++) {
                pass.n_changed = pass.n_missed = 0;
                r = proc_foreach_thread(handle, restore_thread, &pass);
                if ((r < 0 && r != -ESRCH) || pass.error < 0)
                        return r < 0 && r != -ESRCH ? r : pass.error;
                if (r == 0 && pass.n_changed == 0 && pass.n_missed == 0)
                        break;
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
