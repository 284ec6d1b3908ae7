/* The CPUs that single threads may run on: sched_setaffinity(2). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/proc.h"

/* The CPUs of a thread, those of them that are online. By number, so possibly of another
 * process: for reading only. -ESRCH. */
int affinity_read_thread(pid_t tid, CpuSet *ret);

/* Makes `cpus` the CPUs of one thread of the process: `exactly`, or only where it may run outside
 * of them.
 *
 * The system call takes a number, and there is no variant that takes a pidfd. The function
 * therefore checks afterwards whether the number still was the thread's. If not, the other thread
 * gets back the CPUs that it had from its parent, and `*n_pid_reuses` is raised.
 *
 * Returns 1: the CPUs of the thread have changed; 0: there was nothing to do, or its cpuset allows
 * no more; -ESRCH: the thread is gone; -EINVAL: its cpuset allows none of `cpus`; -EPERM. */
int affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                        const CpuSet *cpus, bool exactly, uint64_t *n_pid_reuses);

/* The same for the first thread of a process, exactly, with what it had before and has after, for a
 * caller who has just seen its program through the handle. That the process is still there
 * afterwards, its program shows, which takes less time than its list of threads: a process whose
 * first thread has ended has none, and is -ESRCH. */
int affinity_set_first_thread(const Sysroot *sysroot, const ProcHandle *handle, const CpuSet *cpus,
                              uint64_t *n_pid_reuses, CpuSet *ret_before, CpuSet *ret_after);

/* Our own thread runs on these CPUs until the loan is returned.
 *
 * A thread that touches a page that NUMA balancing has marked pulls it to the node it runs on, and
 * past the cpuset of the page's owner. Reading /proc/PID/cmdline is such a touch, and so is
 * process_vm_readv(2). From the owner's own CPUs it does no harm. An empty set, or a refusal,
 * changes nothing. */
typedef struct AffinityLoan {
        CpuSet before;
        bool taken;
} AffinityLoan;

void affinity_borrow(const CpuSet *cpus, AffinityLoan *ret);
void affinity_return(AffinityLoan *loan);
#define _cleanup_affinity_loan_ _cleanup_(affinity_return)
