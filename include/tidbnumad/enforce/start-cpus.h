/* The CPUs of a process at its exec, before anything else is done about it: few threads, few calls.
 * The caller has identified it through its handle. */
#pragma once

#include "tidbnumad/enforce/undo-starts.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/proc.h"

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
