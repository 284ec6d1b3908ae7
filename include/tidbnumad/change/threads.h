/* The CPUs of threads: of a process as they are now, for its record; as they were; and at its exec.
 */
#pragma once

#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/record.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/proc.h"

/* What affinity does with one process, and cgroup1 with one that it has not bound yet. 0;
 * -EINPROGRESS: the backend has no `threads_left`; -ESRCH: it is gone; -EINVAL: its cpuset allows
 * none of the CPUs; -EPERM. */
int backend_affinity_set(Backend *backend, const ProcHandle *process, const CpuSet *cpus,
                         bool exactly);

/* --- for a record, before something is changed --- */

typedef enum NoteWhat {
        NOTE_MASKS = 1 << 0,  /* the CPUs of its threads are about to be set */
        NOTE_CPUSET = 1 << 1, /* it is about to be moved to another directory of v1's cpusets */
} NoteWhat;

/* Notes each process of the target that is not in the record yet, or not in full. A process that
 * was forked by a bound one is recorded with the former values of that one. 0 or -ENOMEM,
 * -EMFILE, …; those that have ended are passed over. */
int undo_note_processes(Backend *backend, const BackendTarget *target, UndoRecord *record,
                        unsigned what);

/* --- back --- */

/* The CPUs of each thread of a process. 0; -ESRCH: it is gone; another error of reading or setting
 * the CPUs of a thread, as -EPERM or -ENOMEM: some may be set, and it is to be called again. */
int undo_restore_threads(Backend *backend, const UndoRecord *record, const UndoProcess *entry,
                         const ProcHandle *handle);

/* --- at their exec --- */

/* The CPUs of a process at its exec, before anything else is done about it: few threads, few calls.
 * The caller has identified it through its handle. */

/* Sets the CPUs of its first thread, then those of the threads that were made before that and have
 * what it had; from then on new ones inherit them. `ret->set` is false where nothing was changed:
 * it has them already, they are not allowed to it, or it has ended. */
void start_cpus_set(const Sysroot *sysroot, const ProcHandle *handle, const CpuSet *cpus,
                    uint64_t *n_pid_reuses, StartCpus *ret);

/* What an earlier run of the daemon gave it, if it was killed before it wrote the record: the
 * process has no record, and exactly the CPUs of one entry of that run's list, and its parent has
 * others: these are what it had before. Without a parent that can be read, those of its cpuset. */
void start_cpus_recall(const UndoStarts *former, const ProcHandle *handle, StartCpus *ret);

/* Gives its threads back what they had. Threads that have other CPUs by now have chosen them. */
void start_cpus_take_back(const Sysroot *sysroot, const ProcHandle *handle, uint64_t *n_pid_reuses,
                          StartCpus *start);
