/* MemoryMax= of the units of instances, by which servers size themselves (`memory_limit` of
 * tidbnumad.d(5)): how much, and when it may be in force.
 *
 * TiKV takes 45 % of the least of the host's memory and memory.max for its block cache when it
 * starts, TiDB and TiFlash 80 %, a JVM a quarter (model/product.h): cpuset.mems counts for none of
 * them. So what one node has must be a limit before the first instruction. Afterwards the limit
 * must not be what kills the server:
 *
 * - It is put on a running server only while what that holds without clean page cache is below
 *   nine tenths of it. The kernel's write of memory.max calls the OOM killer where it cannot
 *   reclaim enough (memory_max_write() in mm/memcontrol.c), so the cache is brought below the brake
 *   first: memory.high reclaims and never kills; memory.limit_in_bytes of v1 fails instead. It
 *   comes first also where nothing is to be reclaimed: systemd takes up to two seconds to set the
 *   limit, and who grows meanwhile is to be delayed, not killed.
 * - The brake stays: between it and the limit the kernel delays whoever allocates
 *   (mem_cgroup_handle_over_high()), so that a burst leaves the guard time. v1 has no such thing,
 *   and is read more often instead.
 * - The guard reads the group as if it were a node of the size of the brake (plan/guard.h), and
 *   lifts the limit before what cannot be reclaimed fills it: the kernel's file at once, and then
 *   the unit's property, which systemd would write to the file again at each daemon-reload, and
 *   with any other property that is set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/instance.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/plan/guard.h"

/* What an instance weighs on one of its nodes, among which its weight is divided; 0: it is not on
 * this node. */
uint64_t limit_node_weight(uint32_t weight, const NodeSet *nodes, uint32_t node);

/* What the policy of `self` asks for: a size, or the part of its nodes' memory less the headroom
 * that its weight has among the heavy instances on each of them (measured weights do not
 * count, as a server takes its sizes once). Whole MiB. `headroom_bytes` by index of the topology's
 * nodes; NULL: their watermarks are not known. 0: none, or it has no nodes. */
uint64_t limit_wanted_bytes(const Topology *topology, const uint64_t *headroom_bytes,
                            const PlacementInstance *instances, const PlacementChoice *choices,
                            size_t n, size_t self);

/* A group as the kernel has it, with those below it; in bytes. */
typedef struct LimitMemory {
        uint64_t limit_bytes;   /* memory.max, of v1 memory.limit_in_bytes; UINT64_MAX: none */
        uint64_t brake_bytes;   /* memory.high; UINT64_MAX: none, and always on v1 */
        bool has_brake;         /* v2 */
        uint64_t current_bytes; /* with page cache and kernel memory */
        uint64_t inactive_file_bytes, active_file_bytes; /* page cache, dirty or not */
        uint64_t unclean_bytes;                          /* dirty, and under writeback */
} LimitMemory;

/* Is so much less held that the limit may be put on a running server? */
bool limit_has_room(const LimitMemory *memory, uint64_t limit_bytes);

/* Is the limit what it was before ours, as the kernel rounds it? */
bool limit_is_of_before(const LimitMemory *memory, uint64_t before_bytes);

/* The value of memory.high that goes with a limit. */
uint64_t limit_brake_bytes(uint64_t limit_bytes);

/* What the kernel cannot reclaim at once: all that is charged but clean page cache. */
uint64_t limit_held_bytes(const LimitMemory *memory);

/* The group as the guard reads nodes: the room is below the brake of this limit. */
GuardReading limit_reading(const LimitMemory *memory, uint64_t limit_bytes, uint64_t now_usec);

/* Would what is held fill the limit, less the brake's part, within three more readings like the
 * last one? A burst does not last for the second that guard_predict() needs to see a fall. */
bool limit_is_near(uint64_t held_bytes, uint64_t held_before_bytes, uint64_t limit_bytes);

/* Smaller limits, and those without a brake, are read at the shorter interval always: a burst takes
 * what lies between brake and limit within a second. */
#define LIMIT_SMALL_BYTES (UINT64_C(4) << 30)

typedef enum LimitAction {
        LIMIT_DO_NOTHING,
        LIMIT_TAKE_BACK,    /* what is ours: file and property get what they had before */
        LIMIT_RECLAIM,      /* memory.high, the brake; of v1 memory.limit_in_bytes */
        LIMIT_SET_PROPERTY, /* of the unit, and with it the kernel's file */
} LimitAction;

typedef struct LimitInput {
        bool wanted;               /* by its policy */
        uint64_t wanted_bytes;     /* 0: the plan does not have it yet */
        const char *refused;       /* why it can have none; NULL: it can */
        uint64_t before_bytes;     /* what the unit had before ours; UINT64_MAX: none */
        bool before_known;         /* else the kernel's value, where nothing of ours is set */
        uint64_t ours_bytes;       /* what the property has of ours; 0: nothing, or an older one */
        bool recorded;             /* the property or the kernel's files may have one of ours */
        bool is_ours;              /* the kernel's value is one of ours */
        const LimitMemory *memory; /* NULL: not known */
        bool lifted;               /* by the guard, which has not seen it rest yet */
        bool guarded;              /* something will lift it in time */
        bool may_change;
        bool before_start; /* the value is that which was set when its oldest process started */
} LimitInput;

typedef struct LimitStep {
        LimitAction action;
        LimitState state;
} LimitStep;

LimitStep limit_next(const LimitInput *input);
