/* The planner's input: gathered from the daemon's state, read where it is not known yet. */
#pragma once

#include "tidbnumad/daemon/placing/place.h"

/* The part of one instance. */
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
