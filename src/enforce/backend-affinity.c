/* The backend affinity: the CPUs of every thread, set one by one. */
#include <errno.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/sys/affinity.h"

/* A process that starts threads faster than we set them; the next reconcile
 * handles what the last pass leaves. */
enum { PASSES_MAX = 10 };

typedef struct Pass {
        Backend *backend;
        const ProcHandle *process;
        const CpuSet *cpus;
        bool exactly;
        size_t n_changed;
        int error; /* of the first thread that could not be set */
} Pass;

static int set_thread(pid_t tid, void *userdata) {
        Pass *pass = userdata;
        int r = affinity_set_thread(pass->backend->sysroot, pass->process, tid, pass->cpus,
                                    pass->exactly, &pass->backend->n_pid_reuses);

        pass->n_changed += r > 0;
        if (r > 0 && --pass->backend->threads_left == 0)
                return -EINPROGRESS;
        if (r < 0 && r != -ESRCH && pass->error == 0)
                pass->error = r;
        return 0;
}

/* A thread that was made by one which had not been set yet has the old CPUs: repeat until all
 * are found as they should be. From then on new ones inherit the right ones. */
int backend_affinity_set(Backend *backend, const ProcHandle *process, const CpuSet *cpus,
                         bool exactly) {
        Pass pass = { .backend = backend, .process = process, .cpus = cpus, .exactly = exactly };

        for (unsigned i = 0; i < PASSES_MAX; i++) {
                int r;

                pass.n_changed = 0;
                r = proc_foreach_thread(process, set_thread, &pass);
                if (r < 0)
                        return r;
                if (pass.error < 0)
                        return pass.error;
                if (pass.n_changed == 0)
                        break;
        }
        return 0;
}

static int set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
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

static int note(Backend *backend, const BackendTarget *target, BackendNote *note,
                _unused_ BackendCall *call) {
        int r = undo_note_processes(backend, target, note->record, NOTE_MASKS);

        return r < 0 ? r : 1;
}

const BackendOps backend_affinity_ops = {
        .name = "affinity",
        .kind = BACKEND_AFFINITY,
        .set_cpus = set_cpus,
        .note = note,
        .restore = undo_restore_masks,
};
