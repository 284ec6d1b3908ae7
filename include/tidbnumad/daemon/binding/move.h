/* Passes of the mover, in slices between which the loop handles other events. */
#pragma once

#include "tidbnumad/daemon/binding/binding.h"

/* Begins a pass over all processes of the instance. */
void move_begin(const Binder *b, Instance *instance, uint64_t now_usec);

/* Moves one slice. When the pass is complete, counts it in `progress` and ends `moving`. Sets
 * `due_usec`. */
void move_slice(const Binder *b, Instance *instance, uint64_t now_usec);

/* The instance that is next to move memory: the one that has waited longest among those that are
 * due, so that none starves another. NULL: none. */
Instance *move_next(const Binder *b, uint64_t now_usec);

/* The worker is free again: instances that wait for it take their turns. */
void move_worker_idle(const Binder *b);

/* Calls migrate_pages(2) for each process and each node that still holds anonymous memory of the
 * instance. `moving` until all calls have returned. */
void move_sweep(const Binder *b, Instance *instance, uint64_t now_usec);
