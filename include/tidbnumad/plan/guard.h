/* Does what must move fit, and which node takes the next piece? Nothing is moved or narrowed
 * into a node's headroom: a bound process on a full node is killed although others are empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/reason.h"
#include "tidbnumad/model/topology.h"

typedef struct NodeRoom {
        uint32_t node;
        uint64_t free_bytes;        /* MemFree */
        uint64_t reclaimable_bytes; /* clean page cache that was not used lately, and what else the
                                       instance may get */
        uint64_t headroom_bytes;    /* to be left free, see fit_headroom_bytes() */
        uint64_t promised_bytes;    /* what other instances are still moving there */
} NodeRoom;

/* The larger of 2 % of the node and three times its high watermark: above it the kernel never has
 * to reclaim for an allocation, and a writer at full speed leaves the guard time to see it. */
uint64_t fit_headroom_bytes(uint64_t node_bytes, uint64_t high_watermark_bytes);

/* The room of a node, with nothing promised. */
NodeRoom fit_room(uint32_t node, const NodeUse *use);

/* What a node has for the instances of a plan: its room, and what they hold there already, which
 * moves with them. */
uint64_t fit_left_bytes(const NodeUse *use, uint64_t held_bytes);

/* Do `bytes` fit on the nodes together? */
bool fit_check(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes);

/* The index of the node with the most room above its headroom. Memory that is planned for other
 * instances is not subtracted, because moves compete for it piece by piece. Clean page cache counts
 * as room, because a host that has run for some time has little free memory; the kernel never calls
 * its OOM killer for a page that is being moved. -1: no node has room for `bytes`. */
int fit_best(const NodeRoom *rooms, size_t n_rooms, uint64_t bytes);

/* The full-node guard: when does a strict binding have to be widened, to which node, and when may
 * it be narrowed again?
 *
 * A process that may use full nodes only is stalled for half a minute and then killed, or another
 * one in its place, although other nodes are empty. The only warning is the free memory of the
 * nodes. On a database host that alone is not enough: page cache fills every node, and the kernel
 * reclaims clean cache as soon as memory is needed. So two things are read:
 *
 *   what is left    MemFree, the clean page cache that was not used lately, and half of that in
 *                   use, as the kernel's own MemAvailable has it (the inactive list alone would not
 *                   do: the kernel lets it shrink to a few percent of the active one). A node full
 *                   of cache is not full. Above the headroom this is called room.
 *   how fast it falls   the loss of MemFree and of page cache of any kind together: memory of
 *                   programs and of the kernel, which is not given back. Reading or writing files
 *                   only makes free memory cache, inactive cache active and clean cache dirty, and
 *                   is no fall. Nor is, up to the mover's rate, the loss while the mover brings
 *                   memory there: it stops at the headroom by itself. It counts as falling only if
 *                   it fell over the last second and over the last three: a burst of a second
 *                   counts for a third, at the very start as well.
 *   how much it has fallen   since it began to fall so fast that this could matter. A start takes
 *                   memory fast, and ends. So of each growth as much again is expected as it has
 *                   taken: while more than that is free, and the headroom once more, its rate
 *                   alone is no danger. One that goes on is met when half of what there was is
 *                   left at the latest, with as much time as it has taken so far.
 *
 * Of several nodes the sum counts: the kernel takes from all of them before it kills. All
 * instances that may use the same nodes are judged alike and widened together: the victim may be
 * any of them. */

/* Widened so long before the room is gone; read ten times as often when it is a minute, or when
 * the room is less than a burst as fast as the fastest one seen takes in GUARD_BURST_SECONDS. */
#define GUARD_WIDEN_USEC (UINT64_C(10) * 1000 * 1000)
#define GUARD_WATCH_USEC (UINT64_C(60) * 1000 * 1000)
#define GUARD_BURST_SECONDS 4u

/* So long the room must have been back before the binding is narrowed again; and where it was never
 * gone, as a fall was foreseen that ended before. */
#define GUARD_CALM_USEC (UINT64_C(60) * 1000 * 1000)
#define GUARD_CALM_FORESEEN_USEC (UINT64_C(15) * 1000 * 1000)

/* How often nodes are read. The longest interval is for nodes that no fall could fill within two of
 * them: faster than this the kernel hardly clears pages on one node, or than the fastest fall seen
 * there. A fall that begins meanwhile is known, with its rate, by the next reading. */
#define GUARD_FAR_INTERVAL_USEC (UINT64_C(4000) * 1000)
#define GUARD_FAR_BYTES_PER_SEC (UINT64_C(8) << 30)
#define GUARD_INTERVAL_USEC (UINT64_C(1000) * 1000)
#define GUARD_FAST_INTERVAL_USEC (UINT64_C(100) * 1000)

typedef struct GuardReading {
        uint64_t usec; /* monotonic */
        uint64_t free_bytes;
        uint64_t inactive_file_bytes, active_file_bytes; /* page cache, dirty or not */
        uint64_t unclean_bytes;                          /* dirty, and under writeback */
        uint64_t pull_bytes_per_sec; /* the rate at which we may be moving memory there */
} GuardReading;

/* More than three seconds of the shorter interval. */
enum { GUARD_READINGS = 40 };

/* One node's recent past. Zeroed but for the first two it has none. */
typedef struct GuardNode {
        uint32_t node;
        uint64_t headroom_bytes;               /* fit_headroom_bytes() */
        GuardReading readings[GUARD_READINGS]; /* a ring */
        uint64_t pulled_bytes[GUARD_READINGS]; /* beside it: lost to the mover so far */
        size_t n_readings, newest;
        uint64_t burst_bytes_per_sec; /* the fastest fall over a second that was ever seen */
        double level_before;          /* what was left before the present fall, or three seconds ago
                                       * while there is none */
} GuardNode;

/* A reading that is not later than the last one is dropped. After a gap the past is forgotten. */
void guard_add(GuardNode *node, const GuardReading *reading);

/* What is left by a reading, the headroom included. */
uint64_t guard_left_bytes(const GuardReading *reading);

typedef struct GuardOutlook {
        bool known; /* false: none of the nodes has been read */
        uint64_t room_bytes;
        uint64_t headroom_bytes;
        uint64_t fall_bytes_per_sec;  /* 0: it does not fall */
        uint64_t taken_bytes;         /* by the present fall, so far */
        uint64_t burst_bytes_per_sec; /* the fastest fall that was seen, of all of them at once */
        uint64_t gone_usec;           /* until the room is used up; UINT64_MAX: never at the present
                                       * rate */
} GuardOutlook;

/* The outlook for all nodes in `set` together. */
GuardOutlook guard_predict(const GuardNode *nodes, size_t n_nodes, const NodeSet *set);

typedef enum GuardVerdict {
        GUARD_QUIET,
        GUARD_WATCH, /* read at the shorter interval */
        GUARD_WIDEN, /* now */
} GuardVerdict;

GuardVerdict guard_judge(const GuardOutlook *outlook);

/* Is the longest interval short enough? */
bool guard_is_far(const GuardOutlook *outlook);

/* Has there been room for so long on the nodes that the binding was widened from? Room is as much
 * as the headroom once more, and no fast fall. Whether the memory outside fits in is
 * decided by the steps (fit_check()). `since_usec`, 0 at first, is kept from call to call. */
bool guard_has_rested(const GuardOutlook *home, uint64_t calm_usec, uint64_t *since_usec,
                      uint64_t now_usec);

/* What is now true of the nodes that a binding was widened from: REASON_NODE_FULL, _FILLING or
 * _FREED. */
Reason guard_reason(const GuardOutlook *home);

typedef struct GuardSearch {
        const Topology *topology;
        const NodeSet *home;     /* whose distance counts */
        const NodeSet *blocked;  /* not these */
        const NodeSet *reserved; /* only when no other will do */
        bool strict;             /* not even then */
        const NodeRoom *rooms; /* of base pages, with `reclaimable_bytes` as guard_left_bytes() has
                                * it; or of one pool of reserved huge pages */
        size_t n_rooms;
        uint64_t want_bytes; /* of room, so that it lasts a while */
} GuardSearch;

/* The index in `rooms` of the node to widen to; -1: no node has room. Nodes on which instances can
 * be placed (topology_is_home()) come first: memory of a GPU, of a CXL device and the like is taken
 * only where none of these has room left, for that is better than a kill. A node is suitable if it
 * keeps twice its own headroom and has the required room, or at least half the room of the node
 * with the most. The nearest suitable node is chosen, of equally near ones the one with the most
 * room. If no node is suitable: the nearest of those with at least half of the most room. */
int guard_choose(const GuardSearch *search);
