/* Passes of the mover, in slices between which the loop serves others. */
#pragma once

#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/plan/fit.h"

/* Begins a pass over all processes of the instance. */
void move_begin(Instance *instance, uint64_t now_usec);

/* One slice. When the pass is complete, counts it in `progress` and ends `moving`. Sets `due_usec`.
 */
void move_slice(Instance *instance, uint64_t now_usec);

/* Of those that move memory, and are due, the one that has waited longest: so they take turns, and
 * none of them starves another. NULL: none. */
Instance *move_next(const Manager *manager, uint64_t now_usec);

/* Gives up a pass that is under way. */
void move_forget(Instance *instance);

/* One migrate_pages(2) for each node that still holds anonymous memory of the instance. */
void move_sweep(Instance *instance, uint64_t now_usec);

/* Room on the instance's nodes; the caller owns the array. Counts what other instances are still
 * moving there. */
int move_rooms(const Instance *instance, NodeRoom **ret, size_t *ret_n);

/* The same of any nodes; `self` NULL: what every instance is still moving there counts. */
int move_rooms_on(const Manager *manager, const NodeSet *nodes, const Instance *self,
                  NodeRoom **ret, size_t *ret_n);

/* The node of the instance that has the most room. -ENOSPC: none has room for more. */
int move_choose_target(const Instance *instance, uint32_t *ret);

/* What instances other than `self` are still pulling to this node, each one's remainder spread over
 * its nodes. */
uint64_t move_promised_to(const Manager *manager, const Instance *self, uint32_t node);
