/* `migrate: kernel`: one migrate_pages(2) for each process and node, by a worker.
 *
 * The kernel moves all of a node's pages in one call, which takes seconds for some GiB and makes
 * the target wait for much of that. A call cannot be cut into pieces, and the daemon has nodes to
 * guard meanwhile. On cgroup v1 a write to cpuset.mems with cpuset.memory_migrate could do the
 * same, but only towards nodes that are to be the process's only ones, which is wrong for
 * `preferred`, and blocks the writer: there is one way for all backends.
 */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Plans the calls. 0: there is nothing to do; 1: the first is due; a negative errno. */
int move_kernel_begin(const Binder *b, Instance *instance);

/* Makes the next call. 1: another one is due; 0: all were made; -EAGAIN: the worker is at it. */
int move_kernel_step(const Binder *b, Instance *instance);
