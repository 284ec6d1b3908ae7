/* Residency of the instances: counted by their cgroup where that is theirs alone, else drawn.
 *
 * What is drawn is told, and nothing is done by it: neither does a strict binding narrow because of
 * it, nor is anything called bound. For the one the kernel's own count is wanted, as a wrong guess
 * may end in an OOM kill; for the other the mover's pass, which asks for every page.
 *
 * Drawing takes some milliseconds a process. A round goes through the instances one at a time, when
 * the loop has nothing else to do, and through the processes of one for SAMPLE_TURN_USEC a turn: a
 * new process waits no longer than that and the one process that was begun. What all samples of a
 * round have cost makes the interval until the next, see plan/sampling.h.
 */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/snapshot.h"

typedef struct Manager Manager;
typedef struct Instance Instance;

typedef struct Drawing Drawing;

/* A draw takes at most 3 ms: with the one that is begun at its end, a turn takes less than 8. */
#define SAMPLE_TURN_USEC (UINT64_C(5) * 1000)

typedef struct SampleRounds {
        sd_event_source *source; /* owned by the manager */
        size_t next;             /* the instance that the round is at */
        uint64_t cost_usec;      /* of the samples since the last round began */
        uint64_t last_cost_usec; /* of all of the round before */
        uint64_t n_draws;        /* seeds the next one */
        uint64_t round;
        Histogram durations[N_SAMPLE_METHODS];
} SampleRounds;

/* What a sample costs, of the time and of the budget. */
typedef struct Begun {
        uint64_t usec, cpu_usec;
} Begun;

Begun sample_begin(void);
void sample_end(Manager *m, SampleMethod method, Begun begun);

/* Likewise of one that goes on later: its part of the budget. */
void sample_pause(Manager *m, Begun begun);

int sample_start(Manager *m);
void sample_begin_round(Manager *m);

/* The interval in force. */
uint64_t sample_interval_usec(const Manager *m);

/* Reads what an instance holds and its memory limit if nobody has looked at it yet: for its first
 * place. */
void sample_observe(Instance *instance);

/* memory.numa_stat into `by_node`, as residency_read(). -ENODATA: that does not hold all that its
 * processes have; what was drawn stands then. */
int sample_count(Instance *i, int cgroup_fd);

/* One turn of drawing pages of all processes of the instance. 0: all are drawn; -EAGAIN: some are
 * left for the next turn, and what was known stands until then; other negative errno: nothing is
 * known then, which the journal is told once. `clock_usec` is what a turn is measured by. */
int sample_draw(Instance *i, uint64_t (*clock_usec)(void));

/* Its processes have changed: what was drawn of them is worth nothing. */
void sample_drop(Instance *i);

/* What was drawn, outside these nodes; NAN: not drawn, or for other nodes. */
double sample_ratio(const Instance *i, const NodeSet *nodes);

/* Of the ratio that is published; 0: it is exact, or not known. */
double sample_halfwidth(const Instance *i);
