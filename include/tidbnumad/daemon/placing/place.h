/* Where everybody belongs: the running instances and the known units, planned together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/plan/known-unit.h"
#include "tidbnumad/plan/placement.h"

/* A unit that may start, as the planner sees it. The room of units writes what it is, the room of
 * placing `planned`. */
typedef struct PlannedUnit {
        char *name;  /* owned */
        char *label; /* as its instance is called: without .service; owned */
        bool known;  /* what follows was read since the bus was opened */
        bool loaded;
        bool released; /* what ran in it was not the policy's: left alone until policies are loaded
                        */
        bool uid_known;
        uid_t uid;
        KnownProperty cpus;
        Assignment planned; /* where it belongs; of one that runs, what its instance has */
} PlannedUnit;

/* The plan in force. */
typedef struct Placing {
        Host *host;               /* borrowed, as the next three */
        Roster *roster;           /* of whose instances it writes `planned` alone */
        const Sampling *sampling; /* what the instances hold */
        const Undoing *undo;      /* what their units set themselves */
        sd_event_source *timer;
        PlannedUnit **units; /* ascending by name; the list is owned, they are borrowed */
        size_t n_units, units_allocated;
        CpuSet reserved_cpus; /* likewise */
        NodeSet reserved;     /* by host.reserve, at the last plan */
        uint64_t *left_bytes; /* by index of the topology's nodes; owned */
        bool left_known;
} Placing;

/* From now on the unit is planned too. It is borrowed until it is removed. -ENOMEM. */
int place_add_unit(Placing *placing, PlannedUnit *unit);
void place_remove_unit(Placing *placing, PlannedUnit *unit);

/* Has the place become another one since this was asked last? */
bool place_take_change(Assignment *planned);

/* So that `planned` of the instance is known. Of one whose nodes are explicit it is without a look
 * at the others: a storm of starts must not plan for all of them at each. */
void place_ensure(Placing *placing, Instance *instance);

/* Plans, if something has changed since, with what the instances hold and the nodes have left now.
 * What cannot be planned for want of
 * memory keeps its place. */
void place_refresh(Placing *placing);

/* The disks under its data directory were looked for. */
void place_note_devices(const Placing *placing, Instance *instance);

/* It is bound by another backend from now on: what its groups allow is read anew. */
void place_note_backend(const Placing *placing, Instance *instance);

/* CPUs have come or gone: what parent cgroups allow is read anew. */
void place_note_topology(Placing *placing);

/* These policies are about to come in force. Who no longer fits will move, and who
 * placement_weighs_anew() names; nobody else. */
void place_note_policies(Placing *placing, const PolicySet *fresh);
