/* What the planner is told of the host: gathered from the daemon's state, read where it is not
 * known yet. */
#pragma once

#include "tidbnumad/daemon/placing/place.h"

/* The unit of that name (may be NULL), if it is planned before it starts; or NULL. */
const PlannedUnit *place_find_unit(const Placing *placing, const char *name);

/* The nodes that an instance is bound to by what the kernel shows: what was done before this daemon
 * started, or to its unit before it did. Empty: none. */
NodeSet place_input_adopt(const Placing *placing, Instance *instance);

/* Reads what its parent cgroup allows, once. */
void place_input_read_allowed(const Placing *placing, Instance *instance);

/* One of them. */
void place_input_fill(const Placing *placing, Instance *instance, PlacementInstance *ret);

/* All that is to be planned, and who is behind each entry. */
typedef struct PlaceEntry {
        Instance *instance; /* or */
        PlannedUnit *unit;
} PlaceEntry;

typedef struct PlaceInput {
        PlacementInstance *instances; /* owned, as the next */
        PlaceEntry *entries;          /* beside them */
        size_t n;
} PlaceInput;

int place_input_collect(Placing *placing, PlaceInput *ret);
void place_input_done(PlaceInput *input);
#define _cleanup_place_input_ _cleanup_(place_input_done)
