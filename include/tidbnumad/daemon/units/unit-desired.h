/* What is to stand on a known unit, by policy, topology and room. */
#pragma once

#include "tidbnumad/daemon/units/unit.h"

typedef struct UnitDesired {
        const Policy *policy; /* NULL: nothing is to be set */
        CpuSet cpus;          /* empty: not ours to set */
        NodeSet mems;         /* likewise */
        const char *reason;   /* why nothing, or not all, is wished; a constant, "" otherwise */
} UnitDesired;

/* Looks at the policies in force and at the room that its nodes have now. */
UnitDesired unit_desired_make(const Unit *unit);
