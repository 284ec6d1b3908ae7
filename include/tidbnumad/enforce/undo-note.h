/* Reads the present values for a record, before something is changed. */
#pragma once

#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/undo-record.h"
#include "tidbnumad/sys/bus-manager.h"

typedef enum NoteWhat {
        NOTE_MASKS = 1 << 0,  /* the CPUs of its threads are about to be set */
        NOTE_CPUSET = 1 << 1, /* it is about to be moved to another directory of v1's cpusets */
} NoteWhat;

/* Notes each process of the target that is not in the record yet, or not in full. A process that
 * was forked by a bound one is recorded with the former values of that one. 0 or -ENOMEM,
 * -EMFILE, …; those that have ended are passed over. */
int undo_note_processes(Backend *backend, const BackendTarget *target, UndoRecord *record,
                        unsigned what);

/* The unit's properties of systemd, and the files of its cgroup. */
void undo_note_unit(const Sysroot *sysroot, UndoRecord *record, const BusUnit *unit);

/* The CPUs that the cpuset of a process lets its threads have, of either version of cgroups.
 * `cgroup`: its path in the unified hierarchy, NULL: to be read. Negative: not known. */
int undo_note_cpuset_cpus(Backend *backend, const ProcHandle *handle, const char *cgroup,
                          CpuSet *ret);
