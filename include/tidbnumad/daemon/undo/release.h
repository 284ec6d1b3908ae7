/* Giving back: what stands in an undo record, put on again and verified; then the record goes. */
#pragma once

#include "tidbnumad/enforce/restore.h"
#include "tidbnumad/sys/bus-manager.h"

typedef struct Host Host;
typedef struct Manager Manager;
typedef struct Instance Instance;

/* One record on its way back. */
typedef struct Release {
        Manager *manager; /* borrowed */
        Restore restore;
        size_t part; /* of the order of giving back */
        sd_bus_slot *call;
        uint64_t due_usec, deadline_usec; /* monotonic; the deadline of what was written to show */
        unsigned failures;
        const char *why; /* a constant sentence */
        char *failure;   /* what went wrong in the last attempt; NULL; owned */
        Reason failure_code;
} Release;

typedef struct Releases {
        Release **list; /* owned */
        size_t n, allocated;
        sd_event_source *timer;
        uint64_t stop_usec; /* monotonic: while host.stopping, the daemon ends by then */
        uint64_t n_done, n_failures;
} Releases;

/* Adds the timer to the loop. */
int release_start(Manager *manager);
void release_done(Manager *manager);

/* Begins, unless that is under way. `why`: a constant. */
void release_begin(Manager *manager, UndoRecord *record, const char *why);

/* Policies are in force, or were loaded anew: gives back what none of them names any more, or what
 * enforcement.release names. */
void release_unwanted(Manager *manager);

/* At a scan: processes that are bound and belong to no instance any more, and units that are
 * gone. */
void release_stray(Manager *manager);

/* Does enforcement.release name it, by one of these? `unit` may be NULL. */
bool release_is_asked(const Host *host, const char *name, const char *unit);

/* Does it name the instance? Then that is given back, also where its name has become known only
 * after it was bound: that of a process without a unit has its port in it. */
bool release_if_asked(Instance *instance);

/* Its policy, or the machine, gives it no nodes any more: held to its former ones it would be in
 * the way of others, and nobody would guard it. Not so while its port may still give it some. */
void release_without_place(Instance *instance);

/* The daemon is to stop. True: by enforcement.on_stop, all is given back first, and the loop ends
 * then. */
bool release_before_stop(Manager *manager);

/* Carries on what is due. */
void release_at_due(Manager *manager, uint64_t now_usec);
