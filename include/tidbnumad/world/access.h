/* Accesses of an instance to local and remote memory: a group of counters for each of its threads.
 *
 * By thread, and not by control group: that works on every host, for an instance that shares its
 * group as well, costs nothing while the instance does not run, and needs as many descriptors as it
 * has threads. By control group it would be as many as the host has CPUs, for each instance, and
 * every switch between groups on any of them would cost more.
 *
 * What a thread did before the first round that saw it is not counted, nor a thread that came and
 * went between two rounds. What one did until its end is.
 */
#pragma once

#include <stddef.h>

#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/perf-event.h"
#include "tidbnumad/sys/proc.h"

typedef struct AccessThread {
        pid_t tid;
        PerfGroup group;
        PerfReading last;
        bool seen; /* in the list of threads that is being read */
} AccessThread;

typedef struct AccessCounters {
        AccessThread *threads; /* ascending by tid; owned */
        size_t n_threads, allocated;
        size_t n_missing; /* of the last listing: those that got none */
        int error;        /* why; 0: none missing */
} AccessCounters;

typedef struct AccessSample {
        uint64_t counts[N_LOCALITIES]; /* since the last sample, corrected for shared counters */
        uint64_t enabled_nsec, running_nsec;
        size_t n_counted, n_missing; /* threads */
} AccessSample;

/* The codes of the events that are given, leader first, and their localities. */
size_t access_codes(const AccessEvents *events, PerfCode codes[static N_LOCALITIES],
                    Locality localities[static N_LOCALITIES]);

/* One step of giving counters to threads that have none: at most `n_opens` of them, and so many
 * that the instance has `n_max` in all. 0: all that can be are counted; -EAGAIN: more are left for
 * the next step; other negative errno: the threads cannot be listed. */
int access_attach(AccessCounters *counters, const Member *members, size_t n_members,
                  const AccessEvents *events, size_t n_opens, size_t n_max);

/* What was counted since the last time. Threads that the last access_attach() did not find have
 * ended: they are counted a last time and let go. */
void access_read(AccessCounters *counters, const AccessEvents *events, AccessSample *ret);

/* The end of the instance: as above, for all of them. */
void access_finish(AccessCounters *counters, const AccessEvents *events, AccessSample *ret);

void access_close(AccessCounters *counters);
#define _cleanup_access_ _cleanup_(access_close)

/* 0..1; NAN: nothing was counted, or one of the two is not. */
double access_ratio(const AccessSample *sample, const AccessEvents *events);

/* The share of the threads' running time for which they were counted. Threads without counters are
 * taken to run like the others. NAN: there are no threads. */
double access_coverage(const AccessSample *sample);
