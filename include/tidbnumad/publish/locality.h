/* The nodes of the memory of some processes, for the operator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/json.h"
#include "tidbnumad/model/topology.h"

typedef struct LocalityNode {
        uint64_t anon_bytes, file_bytes, shmem_bytes;
        uint64_t huge_bytes; /* of hugetlbfs, and in none of the others */
} LocalityNode;

typedef struct LocalityReport {
        const char *name;  /* of the instance, or of the program */
        const pid_t *pids; /* ascending */
        size_t n_pids;
        bool exact;       /* by numa_maps, else sampled */
        uint64_t n_pages; /* sampled: anonymous pages that were seen */
        /* How far any node's share may be off, at 95 %: anonymous, files, shared memory; NAN:
         * none seen. */
        double halfwidth, file_halfwidth, shmem_halfwidth;
        const Topology *topology;
        const LocalityNode *by_node; /* by index */
} LocalityReport;

/* A bar a node, of all its kinds against all of the process. `text` is emptied first. */
void locality_render(const LocalityReport *report, Text *text);

void locality_json(Json *json, const LocalityReport *report);
