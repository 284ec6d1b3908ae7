/* The values that a known unit is to have, by policy, topology and free memory. */
#pragma once

#include "tidbnumad/daemon/units/unit.h"

typedef struct UnitDesired {
        const Policy *policy; /* NULL: nothing is to be set */
        CpuSet cpus;          /* empty: not to be set */
        NodeSet mems;         /* likewise */
        const char *reason;   /* why nothing, or not everything, is set; a constant; "" otherwise */
        Reason code; /* REASON_START_LIMITS, REASON_START_FAILED, REASON_HUGE_POOL: that is why;
                        else none */
} UnitDesired;

/* Reads the policies in force and the free memory of the unit's nodes. */
UnitDesired unit_desired_make(const Unit *unit);
