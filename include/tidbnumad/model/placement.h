/* Where an instance is to be. Plain data. */
#pragma once

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/policy.h"

typedef struct Placement {
        NodeSet nodes; /* empty: it is only watched */
        CpuSet cpus;   /* online CPUs of the nodes: all, or those that the policy names */
        MemoryMode memory;
        MigrateMode migrate;
        uint64_t rate_bytes_per_sec;
        const char *reason; /* why `nodes` is empty; a constant, "" otherwise */
} Placement;
