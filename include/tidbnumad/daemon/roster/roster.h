/* All instances there are, by name, and who is in them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/roster/instance.h"
#include "tidbnumad/daemon/roster/strangers.h"
#include "tidbnumad/observe/processes.h"
#include "tidbnumad/plan/instance-count.h"

typedef struct Manager Manager;

typedef struct EventCounters {
        uint64_t received, lost, rescans;
} EventCounters;

/* The instances there are, and what keeps the list of them complete. */
typedef struct Roster {
        Instance **instances; /* ascending by name; owned */
        size_t n_instances, instances_allocated;
        Instance *ended;       /* by `next_ended`, until the turn that follows; owned */
        InstanceCounts counts; /* of these, for max_instances */
        Strangers strangers;

        int connector_fd; /* -EBADF: polling */
        sd_event_source *connector_source, *rescan_timer;
        uint64_t rescan_usec; /* when the last loss was answered */
        bool follow_stale;    /* the kernel does not report the forks of some members yet */
        bool follows_all;

        sd_event_source *scan_timer, *describe_timer;
        PidList scan; /* the round of the slow scan that is under way */
        size_t scan_next;

        EventCounters connector_events, scan_events;
        bool identify_failed; /* logged once */
} Roster;

/* The instance that the process belongs to, or NULL. */
Instance *roster_find_owner(const Manager *manager, const Process *process);

/* The instance that holds the process, with its index in it, or NULL. By number: whether it is
 * still the same process, the handle beside it tells. */
Instance *roster_find_pid(const Manager *manager, pid_t pid, size_t *ret_index);

/* Gives the instance its name and takes it over. It needs a process: the name may hold its pid.
 * Where another has the name already, a longer one is given, and that is logged. -ENOMEM: it stays
 * with the caller. */
int roster_add(Manager *manager, Instance *instance);

/* Gives it the name it should have by now, as its port has become known. */
int roster_rename(Manager *manager, Instance *instance);

/* Takes one process away, and the instance with its last one: roster_take_ended() has it then. */
void roster_remove_process(Manager *manager, Instance *instance, size_t index);

/* An instance that has ended since the last turn, which is the caller's now; NULL: none. It has no
 * process any more. */
Instance *roster_take_ended(Roster *roster);
