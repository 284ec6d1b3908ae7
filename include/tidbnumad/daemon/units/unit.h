/* One known unit: read from systemd, judged, and prepared for its next start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/plan/known-unit.h"
#include "tidbnumad/sys/bus-manager.h"

typedef struct Unit {
        Manager *manager; /* borrowed */
        char *name;       /* owned */
        char *label;      /* as its instance is called: without .service; owned */
        sd_bus_slot *state_match, *job_match;
        sd_bus_slot *call; /* in flight: a read or a write */
        bool again;        /* something changed meanwhile: read it once more */

        bool known; /* what follows was read since the bus was opened */
        bool loaded, idle;
        char *user; /* User=; owned */
        bool uid_known;
        uid_t uid;
        KnownProperty cpus, mems;
        Planned planned; /* where it belongs; of one that runs, what its instance was told */
        uint64_t active_since_usec; /* monotonic; 0: it is not active */

        KnownProperty next_cpus, next_mems; /* after the write in flight */
        bool writes_cpus, writes_mems;
        unsigned failures;

        bool released; /* what ran in it was not the policy's: left alone until policies are loaded
                        */
        bool listed;   /* seen in the list that is being read */
        const char
                *state; /* "prepared", "unprepared", "running", "missing", "released", "failed" */
        const char *reason; /* why it is not prepared, or not in full; a constant, "" otherwise */
} Unit;

int unit_new(Manager *manager, const char *name, Unit **ret);
Unit *unit_free(Unit *unit);

/* Follows its signals on a bus that was opened anew; forgets what the former one said. */
int unit_watch(Unit *unit);

/* Reads it, and then does what is to be done. */
void unit_look(Unit *unit);

/* Does what is to be done by what is known of it: what changed is on our side. */
void unit_decide(Unit *unit);

/* systemd says so; "inactive" and "failed" bring a look. */
void unit_set_state(Unit *unit, const char *active_state);

/* It runs, and nothing in it is of its policy: gives its properties back, and remembers it. */
void unit_release(Unit *unit);

/* Has it been active for so long without any process that its policy names? */
bool unit_is_misused(const Unit *unit, uint64_t now_usec);
