/* Passes of the mover, in slices between which the loop serves others. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Begins a pass over all processes of the instance. */
void move_begin(const Binder *b, Instance *instance, uint64_t now_usec);

/* One slice. When the pass is complete, counts it in `progress` and ends `moving`. Sets `due_usec`.
 */
void move_slice(const Binder *b, Instance *instance, uint64_t now_usec);

/* Of those that move memory, and are due, the one that has waited longest: so they take turns, and
 * none of them starves another. NULL: none. */
Instance *move_next(const Binder *b, uint64_t now_usec);

/* The worker has answered, or given up: those that wait for it have their turns. */
void move_worker_idle(const Binder *b);

/* One migrate_pages(2) for each process and node that still holds anonymous memory of the instance.
 * `moving` until all of them have returned. */
void move_sweep(const Binder *b, Instance *instance, uint64_t now_usec);
