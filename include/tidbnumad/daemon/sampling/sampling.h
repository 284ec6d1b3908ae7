/* The module of sampling: where memory is located and which is accessed, under the budget. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/world/sampling.h"

/* The cost of samples, which the budget limits. */

typedef struct Sampling Sampling;

typedef struct Begun {
        uint64_t usec, cpu_usec;
} Begun;

Begun cost_begin(void);
void cost_end(Sampling *sampling, SampleMethod method, Begun begun);

/* Adds the cost of one part of a sample that continues later. */
void cost_pause(Sampling *sampling, Begun begun);

/* Counts memory accesses by hardware counters.
 *
 * Only with `sampling.access: on`. If the host has no such counters, the reason is logged once and
 * nothing else changes. */

#define ACCESS_REASON_MAX 160u

/* State of counting accesses. */
typedef struct Access {
        bool wanted, available;
        AccessEvents events; /* events that are counted; valid if counting is available */
        char reason[ACCESS_REASON_MAX]; /* why counting is not available */
        size_t next;                    /* the instance at which the round is; 0: it begins */
} Access;

/* Chooses the events by the policies in force, and checks whether this machine has them. */
void access_choose(Sampling *s);

/* Makes one step of the round. False: the round is complete. */
bool access_pass(Sampling *s);

/* Reads the counters of an instance that has ended for the last time. */
void access_end(Sampling *s, Instance *i);

void access_fill(const Sampling *s, AccessInfo *ret);
void access_fill_instance(const Sampling *s, const Instance *i, InstanceInfo *ret);

/* The module of sampling: where the memory of instances is located and which memory they access,
 * within the budget.
 *
 * A round visits the instances one at a time, when the loop has nothing else to do. The cost of the
 * samples of a round determines the interval until the next one, see plan/pace.h. */

typedef struct SampleRounds {
        sd_event_source *source; /* owned */
        size_t next;             /* the instance at which the round is */
        uint64_t cost_usec;      /* cost of the samples since the last round began */
        uint64_t last_cost_usec; /* cost of the whole round before */
        uint64_t n_draws;        /* seeds the next one */
        uint64_t round;
        uint64_t begun_usec;
        uint64_t interval_usec; /* until the next round */
        Histogram durations[N_SAMPLE_METHODS];
} SampleRounds;

typedef struct Sampling {
        Host *host;               /* borrowed */
        const Registry *registry; /* borrowed */
        sd_event_source *timer;
        SampleRounds rounds;
        Access access;
} Sampling;

void sampling_done(Sampling *sampling);

int sampling_start(Sampling *sampling);

/* The next round draws every instance, however long its ratio has not changed: on request. */
void sampling_forget_steady(Sampling *sampling);

/* Is the interval in force since the last round over? */
bool sampling_is_due(const Sampling *sampling, uint64_t now_usec);
void sampling_begin_round(Sampling *sampling, uint64_t now_usec);

/* The interval in force. */
uint64_t sampling_interval_usec(const Sampling *sampling);

/* Where the memory of an instance is located: counted by its own control group, else sampled from
 * its pages.
 *
 * Sampled values are published only. No binding is narrowed because of them, for an error might end
 * in an OOM kill, and no instance is reported as bound: the one needs the kernel's count, the other
 * a pass of the mover, which checks every page.
 *
 * Sampling takes some milliseconds a process. One pass takes SAMPLE_PASS_USEC, so that a new
 * process waits no longer than that and for the process whose sample was begun. */

typedef struct Drawing Drawing;

/* Sampling one process takes at most 3 ms: with the last one that is begun, a pass takes less than
 * 8 ms. */
#define SAMPLE_PASS_USEC (UINT64_C(5) * 1000)

/* Reads the memory and the memory limit of an instance that has not been read yet, for its first
 * place. */
void sample_observe(const Sampling *s, Instance *i);

/* Reads memory.numa_stat into `by_node`, as residency_read(). -ENODATA: the group does not account
 * for all memory of its processes; sampled values stay valid then. */
int sample_count(Sampling *s, Instance *i, int cgroup_fd);

/* Reads the memory of its control group: bytes by node, the limit, and the bytes outside `nodes`.
 */
void sample_update(Sampling *s, Instance *i, int cgroup_fd, const NodeSet *nodes);

/* Reads the reserved huge pages that the instance has mapped, and how many of these it has touched:
 * at the first call, when a process has joined or left or its place has changed, and when more is
 * reserved on the host than before; `again`: also when nothing of that has changed. Nothing is read
 * on a host without such pages. */
void sample_huge(const Sampling *s, Instance *i, const HugePools *pools, bool again);

/* Frees what sampling keeps of an instance that has ended. */
void sample_end(Instance *i);

/* Samples pages of the instance's processes for one pass. 0: all are complete; -EAGAIN: the rest
 * follows with the next pass, and the former values stay valid until then. Any other negative
 * errno: nothing is known, which is logged once. `clock_usec` measures the pass. */
int sample_draw(Sampling *s, Instance *i, uint64_t (*clock_usec)(void));

/* Is it sampled in this round? An instance whose ratio does not change is sampled less and less
 * often, see sampling_pause(); at once again when its nodes or processes change, or when memory of
 * it was moved. */
bool sample_is_due(const Instance *i, uint64_t now_usec);

/* Sampled share of memory outside these nodes; NAN: not sampled, or for other nodes. */
double sample_ratio(const Instance *i, const NodeSet *nodes);

/* Half the width of the confidence interval of the published ratio; 0: it is exact, or not known.
 */
double sample_halfwidth(const Instance *i);
