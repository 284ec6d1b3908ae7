/* What an instance on trial shows: its queries, by its status port, and what the kernel counts. */
#pragma once

#include "tidbnumad/base/prometheus.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/plan/trial.h"
#include "tidbnumad/sys/http.h"
#include "tidbnumad/world/instances.h"

/* Where a server reports its queries, and by which metrics. Borrowed. */
typedef struct TrialPort {
        HttpAddress address;
        const char *count;    /* NULL: what `duration` counts */
        const char *duration; /* NULL: it has none */
} TrialPort;

/* By the policy, else see ask_address_find(). NULL, or why there is none, in words. */
const char *trial_port_find(const Sysroot *sysroot, const HostInstance *o, TrialPort *ret);

typedef struct TrialReading {
        bool has_queries;
        double seconds; /* monotonic */
        double cpu_seconds;
        bool has_pressure;
        double cpu_pressure_seconds, memory_pressure_seconds;
        PromMetric count, duration;
} TrialReading;

typedef struct TrialSource {
        const HostInstance *observed; /* borrowed */
        TrialPort port;
        Text why; /* why its queries are not known, in words; empty: they are */
        size_t n_missed;
        bool readable; /* `last` is valid */
        TrialReading last, now;
} TrialSource;

void trial_source_done(TrialSource *source);

/* Takes a reading; each but the first of a half gives a sample of each measure. -ESRCH: the
 * instance has ended, or was started again. An unreachable port is no error, and `why` says what is
 * wrong with it. */
int trial_source_read(TrialSource *source, const Sysroot *sysroot, const InstanceInfo *published);
void trial_source_sample(TrialSource *source, TrialHalf half, const InstanceInfo *published,
                         TrialInstance *ret);
