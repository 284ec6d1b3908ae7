/* All instances there are, by name, and who is in them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/roster/ignored.h"
#include "tidbnumad/daemon/roster/instance.h"
#include "tidbnumad/enforce/undo.h"
#include "tidbnumad/observe/processes.h"
#include "tidbnumad/plan/instance-count.h"

/* A storm of 3,000 starts makes some 10,000 events of 200 bytes each with the kernel's overhead,
 * while the loop is busy for a second. */
#define ROSTER_RECEIVE_BUFFER_BYTES ((size_t)8 << 20)

/* A scan finds what the events have missed, and everything where there is no connector. */
#define ROSTER_SCAN_INTERVAL_USEC (UINT64_C(30) * 1000 * 1000)
#define ROSTER_POLL_INTERVAL_USEC (UINT64_C(2) * 1000 * 1000)

/* After a loss of events everything is looked at, but no more often than so: under a storm that
 * goes on, the scans themselves would make the next loss. */
#define ROSTER_RESCAN_INTERVAL_USEC (UINT64_C(250) * 1000)

typedef struct EventCounters {
        uint64_t received, lost, rescans;
} EventCounters;

/* A process of an instance. */
typedef struct RosterEntry {
        pid_t pid;
        int pidfd;
        Instance *instance;
} RosterEntry;

/* The instances there are, and what keeps the list of them complete. */
typedef struct Roster {
        Host *host;           /* borrowed */
        const Undo *records;  /* borrowed; they know where the processes in a scope came from */
        Instance **instances; /* ascending by name; owned */
        size_t n_instances, instances_allocated;
        RosterEntry *entries; /* of all their processes, ascending by pid; owned */
        size_t n_entries, entries_allocated;
        Instance *ended;       /* by `next_ended`, until the turn that follows; owned */
        InstanceCounts counts; /* of these, for max_instances */
        IgnoredList ignored;

        int connector_fd; /* -EBADF: polling */
        sd_event_source *connector_source, *rescan_timer;
        uint64_t rescan_usec;   /* when the last loss was answered */
        bool fork_filter_stale; /* the kernel does not report the forks of some members yet */
        bool fork_filter_all;

        sd_event_source *scan_timer, *describe_timer;
        PidList scan; /* the round of the slow scan that is under way */
        size_t scan_next;

        EventCounters connector_events, scan_events;
        bool identify_failed, budget_logged; /* logged once */
} Roster;

/* The instance that the process belongs to, or NULL. */
Instance *roster_find_owner(const Roster *roster, const Process *process);

/* The instance that holds the process, with its index in it, or NULL. By number: whether it is
 * still the same process, the handle beside it tells. */
Instance *roster_find_pid(const Roster *roster, pid_t pid, size_t *ret_index);

/* The same by its pidfd. */
Instance *roster_find_pidfd(const Roster *roster, int pidfd, size_t *ret_index);

/* A process has come to an instance that is in the roster. 0 or -ENOMEM. */
int roster_enter(Roster *roster, Instance *instance, const Member *member);

/* Gives the instance its name and takes it over. It needs a process: the name may hold its pid.
 * Where another has the name already, a longer one is given, and that is logged. -ENOMEM: it stays
 * with the caller. */
int roster_add(Roster *roster, Instance *instance);

/* Gives it the name it should have by now, as its port has become known. */
int roster_rename(Roster *roster, Instance *instance);

/* Is it one of many that the same user has? These must not make another user's instance wait. */
bool roster_is_crowd(const Roster *roster, const Instance *instance);

/* Takes one process away, and the instance with its last one: roster_take_ended() has it then. */
void roster_remove_process(Roster *roster, Instance *instance, size_t index);

/* What has happened to it since this was asked last, as InstanceNews. */
uint32_t roster_take_news(Instance *instance);

/* An instance that has ended since the last turn, which is the caller's now; NULL: none. It has no
 * process any more. */
Instance *roster_take_ended(Roster *roster);

/* Every process is looked at again in a moment, for one did not report in time who it is. */
void roster_scan_soon(Roster *roster);
