/* Events of a thread that the processor or the kernel counts: perf_event_open(2), counting only.
 * Nothing is sampled: no buffer, no interrupt, no stop of the thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"

enum { PERF_GROUP_MAX = 2 };

typedef struct PerfCode {
        uint32_t type; /* PERF_TYPE_…, or that of a PMU in /sys/bus/event_source/devices */
        uint64_t config;
} PerfCode;

/* Events that are counted at the same times, so that they can be compared. */
typedef struct PerfGroup {
        int fds[PERF_GROUP_MAX]; /* the first one leads */
        size_t n_fds;
} PerfGroup;

/* Since the group was opened. Time counts while the thread runs: `enabled` all of it, `running`
 * that during which the events had counters of their own. */
typedef struct PerfReading {
        uint64_t enabled_nsec, running_nsec;
        uint64_t values[PERF_GROUP_MAX];
} PerfReading;

/* Begins to count. `tid` 0: this thread. Its children and later threads are not counted.
 * -ESRCH: it has ended; -EACCES: not allowed (CAP_PERFMON, kernel.perf_event_paranoid, seccomp);
 * -EMFILE: no descriptor left; -EOPNOTSUPP: this kernel or this machine does not count it. */
int perf_group_open(pid_t tid, const PerfCode *codes, size_t n_codes, PerfGroup *ret);

/* Also of a thread that has ended: its last counts. */
int perf_group_read(const PerfGroup *group, PerfReading *ret);
void perf_group_close(PerfGroup *group);

/* What `value` would be, had the counter run all of the time; 0 where it never ran. */
uint64_t perf_scale(uint64_t value, uint64_t enabled_nsec, uint64_t running_nsec);

/* How many such descriptors there may be: half of what this process may have, for the other half is
 * for everything else. */
size_t perf_descriptors_max(void);
