/* Free memory of nodes above their headroom. */
#pragma once

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/plan/guard.h"

/* Free memory on these nodes; the caller owns the array. Memory that instances other than `self`
 * (NULL: any) are still moving there counts as used. */
int room_on(const Placing *placing, const NodeSet *nodes, const Instance *self, NodeRoom **ret,
            size_t *ret_n);

/* The same for the nodes of the instance. */
int room_of(const Placing *placing, const Instance *instance, NodeRoom **ret, size_t *ret_n);

/* The node of the instance with the most free memory. -ENOSPC: all are full. */
int room_choose_node(const Placing *placing, const Instance *instance, uint32_t *ret);

/* Bytes that instances other than `self` are still pulling to this node: each one's remainder,
 * spread over its nodes. */
uint64_t room_promised(const Placing *placing, const Instance *self, uint32_t node);
