/* Builds the planner's input from the daemon's state; reads what is not known yet. */
#pragma once

#include "tidbnumad/daemon/placing/place.h"

/* NULL: there is none of that name. */
PlannedUnit *place_find_unit(const Placing *placing, const char *name);

/* Fills in the input of one instance. */
void place_input_fill(const Placing *placing, Instance *instance, PlacementInstance *ret);

/* Is its place still to follow from a disk that is being looked for? For seconds at most: on a busy
 * host a process may not answer at once, and would be bound, and its memory moved, twice. */
bool place_awaits_storage(const Placing *placing, const Instance *instance);

/* Everything that is planned, but for instances that await their storage, and the instance or unit
 * of each entry. */
typedef struct PlaceEntry {
        Instance *instance; /* or */
        PlannedUnit *unit;
} PlaceEntry;

typedef struct PlaceInput {
        PlacementInstance *instances; /* owned, as the next */
        PlaceEntry *entries;          /* at the same index as `instances` */
        size_t n;
} PlaceInput;

int place_input_collect(Placing *placing, PlaceInput *ret);
void place_input_done(PlaceInput *input);
#define _cleanup_place_input_ _cleanup_(place_input_done)
