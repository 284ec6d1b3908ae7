/* The plan in force: the places of running instances and of known units, planned together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/plan/placement.h"
#include "tidbnumad/plan/start-limits.h"

/* A unit that may start, as the planner sees it. The module of units writes its description, the
 * module of placing writes `planned`. */
typedef struct PlannedUnit {
        char *name;  /* owned */
        char *label; /* name of its instance: without .service; owned */
        bool known;  /* the fields below were read since the bus was opened */
        bool loaded;
        bool released; /* its processes did not match the policy: ignored until policies are loaded
                        */
        bool uid_known;
        uid_t uid;
        bool container;               /* as in BusUnit */
        IdSet now[N_UNIT_PROPERTIES]; /* as systemd has them; empty: not set */
        InstanceFacts facts; /* of its instance: what a plan depends on, as it was when it last ran;
                              * the huge pages are written by the module of units, and known once it
                              * has run on this host's pools; the strings are borrowed */
        StartLimits start;   /* what its start itself asks for */
        Assignment planned;  /* its place; that of its instance while it runs */
        bool replanned;      /* that changed, and the unit's preparation does not follow it yet */
} PlannedUnit;

/* The plan in force. */
typedef struct Placing {
        Host *host;               /* borrowed, as the next three */
        Registry *registry;       /* placing writes only the part `planned` of its instances */
        const Sampling *sampling; /* memory of the instances */
        const Undoing *undo;      /* what the admin has set on their units */
        sd_event_source *timer;
        PlannedUnit **units; /* ascending by name; the list is owned, they are borrowed */
        size_t n_units, units_allocated;
        CpuSet reserved_cpus; /* likewise */
        NodeSet reserved;     /* by host.reserve, in the last plan */
        uint64_t *left_bytes; /* by index of the topology's nodes; owned */
        bool left_known;
        HugePools pools; /* of the last plan; owned */
} Placing;

/* Includes the unit in plans. It is borrowed until it is removed. -ENOMEM. */
int place_add_unit(Placing *placing, PlannedUnit *unit);
void place_remove_unit(Placing *placing, PlannedUnit *unit);

/* Makes sure that `planned` of the instance is known. Explicit nodes are assigned without a plan
 * for all instances: a storm of starts must not make one for each. -EAGAIN: the disk of its data is
 * being looked for; ask again soon. -ESRCH: no plan has it, as the registry does not. -ENOMEM. */
int place_ensure(Placing *placing, Instance *instance);

/* The CPUs of any instance of the policy, if the policy has explicit nodes that do not depend on
 * the unit or the ports. False: the instances must be observed first. */
bool place_start_cpus(const Placing *placing, const Policy *policy, CpuSet *ret);

/* Makes a plan if its input has changed, with the present memory of instances and nodes. An
 * instance that cannot be planned because memory could not be allocated keeps its place: what
 * failed is tried with the next pass. */
int place_refresh(Placing *placing);

/* Notes that the disks under the instance's data directory were read. */
void place_note_devices(const Placing *placing, Instance *instance);

/* Notes that another backend binds the instance: what its groups allow is read again. */
void place_note_backend(const Placing *placing, Instance *instance);

/* Notes that CPUs were added or removed: what parent cgroups allow is read again. */
void place_note_topology(Placing *placing);

/* Reads again what parent cgroups allow to the instances that have no place, or whose place is not
 * in force for them: one of these cgroups may have been widened or narrowed, which nothing reports.
 */
void place_look_for_room(Placing *placing);

/* Places the instances and units with these names again, by the next plan. */
void place_replan(Placing *placing, const WordList *globs);

/* Notes policies that are about to be in force. Only those instances will move that no longer fit,
 * and those that placement_weighs_again() names. */
void place_note_policies(Placing *placing, const PolicySet *fresh);

/* The network card to reserve nodes for has come: as if a policy had named its nodes now. */
void place_note_cards(Placing *placing);

/* Frees what placing keeps of an instance that has ended. */
void place_end(Instance *instance);

/* --- its input --- */

/* Fills in the input of one instance. */
void place_input_fill(const Placing *placing, Instance *instance, PlacementInstance *ret);

/* --- free memory of nodes above their headroom --- */

/* Free memory on these nodes; the caller owns the array. Memory that instances other than `self`
 * (NULL: any) are still moving there counts as used. */
int room_on(const Placing *placing, const NodeSet *nodes, const Instance *self, NodeRoom **ret,
            size_t *ret_n);

/* The same for the nodes of the instance. */
int room_of(const Placing *placing, const Instance *instance, NodeRoom **ret, size_t *ret_n);

/* The index of the room with the most for an instance, as fit_best(). One whose memory does not fit
 * gets nothing of what was promised to others: else neither of them could be bound strictly. For
 * that `rooms` is changed. */
int room_best(const Instance *instance, NodeRoom *rooms, size_t n_rooms, uint64_t bytes);

/* The node of the instance with the most free memory. -ENOSPC: all are full. */
int room_choose_node(const Placing *placing, const Instance *instance, uint32_t *ret);

/* Bytes that instances other than `self` whose memory fits are still pulling to this node: each
 * one's remainder, spread over its nodes. */
uint64_t room_promised(const Placing *placing, const Instance *self, uint32_t node);

/* --- the pools of reserved huge pages: a second kind of memory that a strict binding must have ---
 */

/* The pools of this host, of a dump none. `ret` is empty. 0 or -ENOMEM. */
int huge_room_read(const Placing *placing, HugePools *ret);

/* Adds to `need` what other instances that are bound within these nodes may still touch. */
void huge_room_add_others(const Placing *placing, const Instance *self, const NodeSet *nodes,
                          HugeNeed *need);

/* Would the instance, bound to these nodes, be kept from pages that it has reserved? Reads its
 * mappings where they are not known or the pools have changed; where they cannot be read, all that
 * is reserved on the host may be its own. `ret` may be NULL. */
bool huge_room_lacks(const Placing *placing, Instance *instance, const HugePools *pools,
                     const NodeSet *nodes, HugeShortage *ret);

/* Would it, or its next start within these nodes, which are its place? `least` (may be NULL): what
 * it is expected to map at least. */
bool huge_room_lacks_for_start(const Placing *placing, Instance *instance, const HugePools *pools,
                               const NodeSet *nodes, const HugeNeed *least);
