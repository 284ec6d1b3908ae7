/* One known unit: read from systemd, and prepared for its next start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/plan/known-unit.h"
#include "tidbnumad/sys/bus-manager.h"

typedef struct Unit {
        struct Units *units; /* borrowed */
        PlannedUnit place;   /* its description, and its place */
        sd_bus_slot *state_match, *job_match;
        sd_bus_slot *call; /* in flight: a read or a write */
        bool again;        /* something changed during the call: read the unit once more */

        bool idle;
        bool shared; /* unrelated processes ran in it beside its instance */
        char *user;  /* User=; owned */
        KnownProperty mems;
        uint64_t active_since_usec; /* monotonic; 0: it is not active */
        uint64_t started_usec;      /* monotonic: when its present start was seen; 0: it was not */
        uint64_t begun_usec;        /* as in BusUnit, when last read */
        uint32_t n_restarts;        /* as systemd counts them, when last read */
        bool end_seen;              /* its end was seen, and it was not read in a later state */
        bool end_judged;            /* a signal told of the end that will be read */
        bool start_unread;          /* its script did not answer: read it at the next scan */
        uint64_t start_hash;        /* of its unit files and its script */
        bool start_inside;          /* its present start began with values of ours */
        const char *start_refused; /* why it is not prepared, until that changes; NULL: it may be */
        bool start_failed_again;   /* with values of ours once more since: it is not to have any */

        KnownProperty next_cpus, next_mems; /* values after the write that is in flight */
        bool writes_cpus, writes_mems;
        unsigned failures;

        bool releasing; /* its record was being released when last read */
        bool listed;    /* seen in the list that is being read */
        const char
                *state; /* "prepared", "unprepared", "running", "missing", "released", "failed" */
        const char *reason; /* why it is not prepared, or not in full; a constant, "" otherwise */
        Reason code;        /* of that reason; REASON_NONE: none, or it is the policy's wish */
} Unit;

enum { UNITS_FOLDERS = 4 };

/* The room of units that are prepared before they start. */
typedef struct Units {
        Host *host; /* borrowed, as the next three */
        const Roster *roster;
        Undoing *undo;
        Placing *placing;

        BusManager bus;
        sd_event_source *folders[UNITS_FOLDERS]; /* of unit files; NULL: not watched */
        bool subscribed;
        bool loss_logged;
        sd_event_source *retry; /* timer that opens the bus again */
        Unit **units;           /* ascending by name; owned */
        size_t n_units, allocated;
        size_t n_lists;     /* in flight */
        uint64_t n_revoked; /* preparations that were taken back since the daemon started */
        bool gathering;     /* see unit_list_settle() */
        bool starting;      /* the units that are known at the start are not prepared yet */
        sd_event_source *start_timer;
        char *own_unit; /* name of the daemon's own unit; NULL: none; owned */
} Units;

/* Does the daemon prepare units: through systemd, on this machine, and not in a dry run? */
bool units_enforce(const Units *units);

int unit_new(Units *units, const char *name, Unit **ret);
Unit *unit_free(Unit *unit);

/* Subscribes to its signals on a bus that was opened again; discards what was read from the former
 * one. */
int unit_watch(Unit *unit);

/* Reads the unit, and then sets what differs from the desired values. */
void unit_reconcile(Unit *unit);

/* Sets what differs from the desired values, without reading the unit again: policy or plan have
 * changed. */
void unit_decide(Unit *unit);

/* Takes the active state that systemd reports; "inactive" and "failed" reconcile the unit. */
void unit_set_state(Unit *unit, const char *active_state);

/* Releases the properties of a running unit whose processes do not match its policy, and remembers
 * the unit. */
void unit_release(Unit *unit);

/* Has it been active for a long time without any process that its policy matches? */
bool unit_is_misused(const Unit *unit, uint64_t now_usec);

/* Reads the unit again if its record was being released and is not any more. */
void unit_note_release(Unit *unit);
