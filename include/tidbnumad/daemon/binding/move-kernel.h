/* `migrate: kernel`: a worker calls migrate_pages(2) once for each process and node.
 *
 * The kernel moves all pages of a node in one call, which takes seconds for some GiB and makes the
 * target wait for much of that time. A call cannot be divided, and the daemon has to guard nodes
 * meanwhile. On cgroup v1 a write to cpuset.mems with cpuset.memory_migrate could do the same, but
 * only towards nodes that become the only ones of the process, which is wrong for `preferred`, and
 * it blocks the writer. Therefore all backends use this way. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Plans the calls. 0: there is nothing to move; 1: the first call is due; negative errno. */
int move_kernel_begin(const Binder *b, Instance *instance);

/* Makes the next call. 1: another one is due; 0: all were made; -EAGAIN: the worker is busy with
 * it. */
int move_kernel_step(const Binder *b, Instance *instance);
