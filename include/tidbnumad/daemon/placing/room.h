/* The memory that nodes have left, above their headroom. */
#pragma once

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/plan/fit.h"

/* Room on these nodes; the caller owns the array. What other instances than `self` (NULL: any) are
 * still moving there is counted as taken. */
int room_on(const Placing *placing, const NodeSet *nodes, const Instance *self, NodeRoom **ret,
            size_t *ret_n);

/* The same of the nodes of the instance. */
int room_of(const Placing *placing, const Instance *instance, NodeRoom **ret, size_t *ret_n);

/* The node of the instance that has the most room. -ENOSPC: none has room for more. */
int room_choose_node(const Placing *placing, const Instance *instance, uint32_t *ret);

/* What instances other than `self` are still pulling to this node, each one's remainder spread over
 * its nodes. */
uint64_t room_promised(const Placing *placing, const Instance *self, uint32_t node);
