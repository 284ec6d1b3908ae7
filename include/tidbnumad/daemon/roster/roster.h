/* All instances, by name, and their processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/roster/ignored.h"
#include "tidbnumad/daemon/roster/instance.h"
#include "tidbnumad/daemon/roster/scan-list.h"
#include "tidbnumad/enforce/undo.h"
#include "tidbnumad/plan/instance-count.h"
#include "tidbnumad/world/processes.h"

/* 3,000 starts at once cause some 10,000 events of 200 bytes each with the kernel's overhead, while
 * the loop is busy for a second. */
#define ROSTER_RECEIVE_BUFFER_BYTES ((size_t)8 << 20)

/* A scan finds processes that the events missed; without the connector it finds all of them. */
#define ROSTER_SCAN_INTERVAL_USEC (UINT64_C(30) * 1000 * 1000)
#define ROSTER_POLL_INTERVAL_USEC (UINT64_C(2) * 1000 * 1000)

/* With the connector, only each so many rounds of the scan read all processes; the rounds between
 * skip those that no policy named and that executed nothing since. */
#define ROSTER_WHOLE_ROUNDS 10u

/* Interval of full scans after a loss of events: during a storm of events more frequent scans would
 * cause the next loss. */
#define ROSTER_RESCAN_INTERVAL_USEC (UINT64_C(250) * 1000)

typedef struct EventCounters {
        uint64_t received, lost, rescans;
} EventCounters;

/* A process and its instance. */
typedef struct RosterEntry {
        pid_t pid;
        int pidfd;
        Instance *instance;
} RosterEntry;

/* The instances, and what keeps the list complete. */
typedef struct Roster {
        Host *host; /* borrowed */
        const Undo
                *records; /* borrowed; they contain the unit that a process in a scope came from */
        Instance **instances; /* ascending by name; owned */
        size_t n_instances, instances_allocated;
        RosterEntry *entries; /* all of their processes, ascending by pid; owned */
        size_t n_entries, entries_allocated;
        Instance *ended; /* instances that have ended, linked by `next_ended`, until the next turn;
                            owned */
        InstanceCounts counts; /* instances and processes by policy and user, for the limits */
        IgnoredList ignored;

        int connector_fd; /* -EBADF: no connector, processes are found by polling */
        sd_event_source *connector_source, *rescan_timer;
        uint64_t rescan_usec;   /* time of the last scan after a loss of events */
        bool fork_filter_stale; /* the kernel does not report the forks of some members yet */
        bool fork_filter_all;

        sd_event_source *scan_timer, *describe_timer;
        sd_event_source *ends_timer; /* NULL: pidfds report ends */
        ScanList scan;               /* the round of the slow scan that is under way */
        size_t scan_next;
        bool scan_at_once;    /* that round is to be completed without a pause, in several turns */
        unsigned scan_rounds; /* number of rounds since the last one that read all processes */

        uint64_t since_ticks; /* the daemon's start, as start times in /proc/PID/stat */
        CpuSet *start_cpus;   /* by policy; empty: it gives none at an exec; owned */
        size_t n_start_cpus;

        EventCounters connector_events, scan_events;
        uint64_t n_considered; /* processes that were identified or forgotten */
        bool identify_failed;  /* logged once */
} Roster;

/* Goes through all instances by name; none may be added, renamed or removed meanwhile. */
#define ROSTER_FOREACH(i, roster)                                                                  \
        for (Instance **i##_at = (roster)->instances, *i;                                          \
             (size_t)(i##_at - (roster)->instances) < (roster)->n_instances && (i = *i##_at);      \
             i##_at++)

/* The subject of a message about an instance. */
#define INSTANCE_FIELDS(i)                                                                         \
        (JournalFields) {                                                                          \
                .instance = (i)->name, .policy = (i)->policy->name                                 \
        }

/* The instance that the process belongs to, or NULL. */
Instance *roster_find_owner(const Roster *roster, const Process *process);

/* The instance of that name, or NULL. */
const Instance *roster_find_name(const Roster *roster, const char *name);

/* Is there an instance of that unit? */
bool roster_has_unit(const Roster *roster, const char *unit);

/* The instance that contains this pid, and its index there; NULL: none. Whether the number still is
 * the same process must be checked with its handle. */
Instance *roster_find_pid(const Roster *roster, pid_t pid, size_t *ret_index);

/* The same by its pidfd. */
Instance *roster_find_pidfd(const Roster *roster, int pidfd, size_t *ret_index);

/* Adds a new member of an instance to the index. 0 or -ENOMEM. */
int roster_enter(Roster *roster, Instance *instance, const Member *member);

/* Names the instance and takes it over. It must have a process, as the name may contain a pid. If
 * the name is in use, a longer one is used and that is logged. -ENOMEM: the caller keeps it. */
int roster_add(Roster *roster, Instance *instance);

/* Renames it, as its port has become known. */
int roster_rename(Roster *roster, Instance *instance);

/* Does the same user have many instances? These must not delay another user's instance. */
bool roster_is_crowd(const Roster *roster, const Instance *instance);

/* Removes one process. When it was the last one, the instance ends and is returned by
 * roster_take_ended(). */
void roster_remove_process(Roster *roster, Instance *instance, size_t index);

/* What has happened to the instance since the last call, as InstanceNews. */
uint32_t roster_take_news(Instance *instance);

/* Returns an instance without processes that has ended since the last turn, which the caller then
 * owns; NULL: none. */
Instance *roster_take_ended(Roster *roster);

/* Scans all processes again in a moment, because one of them could not be identified in time. */
void roster_scan_soon(Roster *roster);
