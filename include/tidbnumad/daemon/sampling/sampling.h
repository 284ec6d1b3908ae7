/* The room of sampling: where the memory of instances is located and which memory they access,
 * within the budget.
 *
 * A round visits the instances one at a time, when the loop has nothing else to do. The cost of the
 * samples of a round determines the interval until the next one, see plan/sampling.h. */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/daemon/sampling/access.h"
#include "tidbnumad/model/snapshot.h"

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
        Host *host;           /* borrowed */
        const Roster *roster; /* borrowed */
        sd_event_source *timer;
        SampleRounds rounds;
        Access access;
} Sampling;

void sampling_init(Sampling *sampling, Host *host, const Roster *roster);
void sampling_done(Sampling *sampling);

int sampling_start(Sampling *sampling);

/* The next round draws every instance, however long its ratio has not changed: on request. */
void sampling_forget_steady(Sampling *sampling);

/* Is the interval in force since the last round over? */
bool sampling_is_due(const Sampling *sampling, uint64_t now_usec);
void sampling_begin_round(Sampling *sampling, uint64_t now_usec);

/* The interval in force. */
uint64_t sampling_interval_usec(const Sampling *sampling);
