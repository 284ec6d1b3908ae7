/* One known unit: read from systemd, judged, and prepared for its next start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/units/unit-files.h"
#include "tidbnumad/plan/known-unit.h"
#include "tidbnumad/sys/bus-manager.h"

typedef struct Unit {
        struct Units *units; /* borrowed */
        PlannedUnit place;   /* what it is, and where it belongs */
        sd_bus_slot *state_match, *job_match;
        sd_bus_slot *call; /* in flight: a read or a write */
        bool again;        /* something changed meanwhile: read it once more */

        bool idle;
        bool shared; /* unrelated processes ran in it beside its instance */
        char *user;  /* User=; owned */
        KnownProperty mems;
        uint64_t active_since_usec; /* monotonic; 0: it is not active */

        KnownProperty next_cpus, next_mems; /* after the write in flight */
        bool writes_cpus, writes_mems;
        unsigned failures;

        bool releasing; /* its record was being given back when that was looked at last */
        bool listed;    /* seen in the list that is being read */
        const char
                *state; /* "prepared", "unprepared", "running", "missing", "released", "failed" */
        const char *reason; /* why it is not prepared, or not in full; a constant, "" otherwise */
} Unit;

/* The room of units that are prepared before they start. */
typedef struct Units {
        Host *host; /* borrowed, as the next three */
        const Roster *roster;
        Undoing *undo;
        Placing *placing;

        BusManager bus;
        UnitFiles files;
        bool subscribed;
        bool loss_logged;
        sd_event_source *retry; /* opens the bus again */
        Unit **units;           /* ascending by name; owned */
        size_t n_units, allocated;
        size_t n_lists; /* in flight */
        bool gathering; /* see unit_list_settle() */
        bool starting;  /* what is known at the start is not prepared yet */
        sd_event_source *start_timer;
        char *own_unit; /* the daemon's; NULL: none; owned */
} Units;

/* Are units prepared here: through systemd, on this machine, in earnest? */
bool units_enforce(const Units *units);

int unit_new(Units *units, const char *name, Unit **ret);
Unit *unit_free(Unit *unit);

/* Follows its signals on a bus that was opened anew; forgets what the former one said. */
int unit_watch(Unit *unit);

/* Reads it, and then does what is to be done. */
void unit_reconcile(Unit *unit);

/* Does what is to be done by what is known of it: what changed is on our side. */
void unit_decide(Unit *unit);

/* systemd says so; "inactive" and "failed" bring a look. */
void unit_set_state(Unit *unit, const char *active_state);

/* It runs, and nothing in it is of its policy: gives its properties back, and remembers it. */
void unit_release(Unit *unit);

/* Has it been active for so long without any process that its policy names? */
bool unit_is_misused(const Unit *unit, uint64_t now_usec);

/* Its record may be on its way back, or gone: reads it when that is over. */
void unit_note_release(Unit *unit);
