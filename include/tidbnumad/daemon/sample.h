/* Residency of the instances: counted by their cgroup where that is theirs alone, else drawn.
 *
 * What is drawn is told, and nothing is done by it: neither does a strict binding narrow because of
 * it, nor is anything called bound. For the one the kernel's own count is wanted, as a wrong guess
 * may end in an OOM kill; for the other the mover's pass, which asks for every page.
 *
 * Drawing takes some milliseconds an instance. A round goes through the instances one at a time,
 * when the loop has nothing else to do. What all samples of a round have cost makes the interval
 * until the next, see plan/sampling.h.
 */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/snapshot.h"

typedef struct Manager Manager;
typedef struct Instance Instance;

typedef struct Sampling {
        sd_event_source *source; /* owned by the manager */
        size_t next;             /* the instance that the round is at */
        uint64_t cost_usec;      /* of the samples since the last round began */
        uint64_t last_cost_usec; /* of all of the round before */
        uint64_t n_draws;        /* seeds the next one */
        Histogram durations[N_SAMPLE_METHODS];
} Sampling;

int sample_start(Manager *m);
void sample_begin_round(Manager *m);

/* The interval in force. */
uint64_t sample_interval_usec(const Manager *m);

/* memory.numa_stat into `by_node`, as residency_read(). */
int sample_count(Instance *i, int cgroup_fd);

/* Draws pages of all processes of the instance. 0; negative errno: nothing is known then. */
int sample_draw(Instance *i);

/* What was drawn, outside these nodes; NAN: not drawn, or for other nodes. */
double sample_ratio(const Instance *i, const NodeSet *nodes);

/* Of the ratio that is published; 0: it is exact, or not known. */
double sample_halfwidth(const Instance *i);
