/* Builds the planner's input from the daemon's state; reads what is not known yet. */
#pragma once

#include "tidbnumad/daemon/placing/place.h"

/* NULL: there is none of that name. */
PlannedUnit *place_find_unit(const Placing *placing, const char *name);

/* Fills in the input of one instance. */
void place_input_fill(const Placing *placing, Instance *instance, PlacementInstance *ret);

/* Everything that is planned, and the instance or unit of each entry. */
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
