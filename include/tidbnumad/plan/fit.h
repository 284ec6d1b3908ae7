/* Does what must move fit, and which node takes the next piece? Nothing is moved or narrowed
 * into a node's headroom: a bound process on a full node is killed although others are empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/node-use.h"
#include "tidbnumad/model/snapshot.h"

typedef struct NodeRoom {
        uint32_t node;
        uint64_t free_bytes;        /* MemFree */
        uint64_t reclaimable_bytes; /* clean page cache that was not used lately, and what else the
                                       instance may get */
        uint64_t headroom_bytes;    /* to be left free, see fit_headroom_bytes() */
        uint64_t promised_bytes;    /* what other instances are still moving there */
} NodeRoom;

/* `a` less `b`, and 0 where `b` is more. */
uint64_t fit_minus(uint64_t a, uint64_t b);

/* The larger of 2 % of the node and three times its high watermark: above it the kernel never has
 * to reclaim for an allocation, and a writer at full speed leaves the guard time to see it. */
uint64_t fit_headroom_bytes(uint64_t node_bytes, uint64_t high_watermark_bytes);

/* The room of a node, with nothing promised. */
NodeRoom fit_room(uint32_t node, const NodeUse *use);

/* What a node has for the instances of a plan: its room, and what they hold there already, which
 * moves with them. */
uint64_t fit_left_bytes(const NodeUse *use, uint64_t held_bytes);

/* How much an instance needs: its limit where it has one, else what it holds. `by_node` NULL: not
 * counted. 0: not known. */
uint64_t fit_need_bytes(const NodeMemory *by_node, size_t n_nodes, uint64_t limit_bytes);

/* Do `bytes` fit on the nodes together? `ret_missing_bytes` (may be NULL): the memory that is
 * missing. */
bool fit_check(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes, uint64_t *ret_missing_bytes);

/* The index of the node with the most room above its headroom. Memory that is planned for other
 * instances is not subtracted, because moves compete for it piece by piece. Clean page cache counts
 * as room, because a host that has run for some time has little free memory; the kernel never calls
 * its OOM killer for a page that is being moved. -1: no node has room for `bytes`. */
int fit_best(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes);
