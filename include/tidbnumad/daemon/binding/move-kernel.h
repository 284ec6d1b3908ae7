/* `migrate: kernel`: one migrate_pages(2) for each process and node, in a process of its own.
 *
 * The kernel moves all of a node's pages in one call, which takes seconds for some GiB and makes
 * the target wait for much of that. A call cannot be cut into pieces nor ended, and the daemon has
 * nodes to guard meanwhile: so a child makes the calls, and the daemon looks when it has ended. On
 * cgroup v1 a write to cpuset.mems with cpuset.memory_migrate could do the same, but only towards
 * nodes that are to be the process's only ones, which is wrong for `preferred`, and blocks the
 * writer: there is one way for all backends.
 */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Starts it. Nothing is begun when there is nothing to do. A negative errno: it cannot be started.
 */
int move_kernel_begin(const Binder *b, Instance *instance);

/* Is it still at it? */
bool move_kernel_runs(Instance *instance);
