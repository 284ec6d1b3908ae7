/* The CPUs that single threads may run on: sched_setaffinity(2). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/proc.h"

/* The CPUs of a thread, those of them that are online. By number, so of somebody else's at worst:
 * for looking only. -ESRCH. */
int affinity_read_thread(pid_t tid, CpuSet *ret);

/* Makes `cpus` the CPUs of one thread of the process: `exactly`, or only where it may run outside
 * of them.
 *
 * The system call takes a number, and there is no variant that takes a pidfd. Whether the number
 * still was the thread's is therefore asked afterwards; a stranger that was hit gets back what it
 * had from whoever made it, and `*n_strangers` is raised.
 *
 * Returns 1: its CPUs are others now; 0: there was nothing to do, or its cpuset allows no more;
 * -ESRCH: it is gone; -EINVAL: its cpuset allows none of `cpus`; -EPERM. */
int affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                        const CpuSet *cpus, bool exactly, uint64_t *n_strangers);
