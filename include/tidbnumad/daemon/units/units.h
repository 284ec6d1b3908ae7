/* The module of units: those that are prepared before they start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/bus-manager.h"

/* One known unit: read from systemd, and prepared for its next start. */

typedef struct Unit {
        struct Units *units; /* borrowed */
        PlannedUnit place;   /* its description, and its place */
        sd_bus_slot *state_match, *job_match;
        sd_bus_slot *call; /* in flight: a read or a write */
        bool again;        /* something changed during the call: read the unit once more */

        bool idle;
        bool shared;                /* unrelated processes ran in it beside its instance */
        char *user;                 /* User=; owned */
        uint64_t active_since_usec; /* monotonic; 0: it is not active */
        uint64_t started_usec;      /* monotonic: when its present start was seen; 0: it was not */
        uint64_t begun_usec;        /* as in BusUnit, when last read */
        uint32_t n_restarts;        /* as systemd counts them, when last read */
        bool end_seen;              /* its end was seen, and it was not read in a later state */
        bool end_judged;            /* a signal told of the end that will be read */
        bool start_unread; /* its script did not answer: read it when it does, and at the next scan
                            */
        uint64_t start_hash;       /* of its unit files and its script; 0: not read yet */
        bool start_inside;         /* its present start began with values of ours */
        const char *start_refused; /* why it is not prepared, until that changes; NULL: it may be */
        bool start_failed_again;   /* with values of ours once more since: it is not to have any */

        IdSet next[N_UNIT_PROPERTIES]; /* as `place.now`, after the write in flight */
        bool sets[N_UNIT_PROPERTIES];  /* which of them are ours then */
        unsigned failures;

        bool releasing; /* its record was being released when last read */
        bool listed;    /* seen in the list that is being read */
        const char
                *state; /* "prepared", "unprepared", "running", "missing", "released", "failed" */
        const char *reason; /* why it is not prepared, or not in full; a constant, "" otherwise */
        Reason code;        /* of that reason; REASON_NONE: none, or it is the policy's wish */
} Unit;

enum { UNITS_FOLDERS = 4 };

/* The module of units that are prepared before they start. */
typedef struct Units {
        Host *host; /* borrowed, as the next three */
        const Registry *registry;
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

/* Has it values of tidbnumad? */
bool unit_is_prepared(const Unit *unit);

/* MemoryMax= of it, where that is ours; 0: it is not. */
uint64_t unit_limit_of_ours(const Unit *unit);

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

/* As unit_decide(). But of a unit that has been active for a minute without any process that its
 * policy matches, the properties are released, and it is left alone until policies are loaded. */
void unit_scan(Unit *unit);

/* Reads the unit again if its record was being released and is not any more. */
void unit_note_release(Unit *unit);

/* Known units get their CPUs and memory nodes before they start, so that their processes are bound
 * from the first instruction. Signals of systemd report new units; the next scan finds units whose
 * signals were missed. */

/* Starts. The daemon does not report readiness while `starting`, which is some seconds at
 * most: a unit that is ordered after the daemon then starts bound. Does nothing where nothing is
 * enforced through systemd. */
int units_start(Units *units);

/* To be called after each event: requested lists may be complete, and a record may be released. */
void units_follow_event(Units *units);

/* Prepares the units again to which the last plan gives another place. */
void units_follow_plan(Units *units);
void units_done(Units *units);

/* Reconciles all units after policies were loaded. */
void units_reload(Units *units);

/* Finds at each scan what no signal reported; free memory and nodes may have changed as well. */
void units_scan(Units *units);

/* Did tidbnumad narrow the memory nodes of this unit (may be NULL) before it started? */
bool units_did_narrow(const Units *units, const char *unit);

/* Why this unit (may be NULL) could not be started again with the values of this place: its start
 * asks for others, or failed with values of ours twice; one failure says little of the server that
 * runs since. A constant sentence; NULL: it could, or nothing is known of it. `ret_conflict` (may
 * be NULL): it asks for memory of other nodes only. */
const char *units_start_refuses(const Units *units, const char *unit, const Placement *place,
                                bool *ret_conflict);

/* What the start of this unit (may be NULL) asks for itself; NULL: it is not known. */
const StartLimits *units_start_limits(const Units *units, const char *unit);

/* Is the unit (may be NULL) being read for the first time? */
bool units_is_reading(const Units *units, const char *unit);

/* Is what its start asks for not known, because its script has not been read for the first time?
 * The answer comes, or the reading is given up. */
bool units_start_is_late(const Units *units, const char *unit);

/* Notes whether unrelated processes run in this unit (may be NULL) beside its instance. Such a unit
 * is not prepared for its next start, as they would be bound with it. */
void units_note_shared(const Units *units, const char *unit, bool shared);

/* Notes the reserved huge pages that the next start of this unit (may be NULL) will need: as many
 * as its instance has mapped. `starting`: it may map more, so what is known already holds as well.
 */
void units_note_huge(const Units *units, const char *unit, const HugeNeed *need, bool starting);

/* What was last noted for the unit (may be NULL); NULL: nothing is known. */
const HugeNeed *units_last_huge(const Units *units, const char *unit);

/* Notes memory nodes that were set on this unit (may be NULL) for its instance. If tidbnumad had
 * set nodes before the start, it owns the new ones as well. */
void units_note_mems(Units *units, const char *unit, const NodeSet *mems);

/* The values that a known unit is to have, by policy, topology and free memory. */

typedef struct UnitDesired {
        const Policy *policy; /* NULL: nothing is to be set */
        CpuSet cpus;          /* empty: not to be set */
        NodeSet mems;         /* likewise */
        uint64_t limit_bytes; /* MemoryMax=; 0: likewise */
        const char *reason;   /* why nothing, or not everything, is set; a constant; "" otherwise */
        Reason code; /* REASON_START_LIMITS, REASON_START_FAILED, REASON_HUGE_POOL: that is why;
                        else none */
} UnitDesired;

/* Reads the policies in force and the free memory of the unit's nodes. */
UnitDesired unit_desired_make(const Unit *unit);

/* The start of a unit: what it asks for itself, and how it went with what was prepared. */

/* Notes what the start asks for: from the properties of the unit and the script of its ExecStart=.
 * A unit that has changed since its preparation was taken back is prepared again. A script that
 * does not answer now changes nothing, and `start_unread` asks for another read. */
void unit_start_note(Unit *unit, const BusUnit *read);

/* Notes the state that a signal tells. True: it failed, or waits to be started again, within the
 * first minute of a start that was seen and began with values of ours. */
bool unit_start_note_state(Unit *unit, const char *active_state);

/* Notes what was read, before the unit takes it over. True: the same, of a start or a failure of
 * which no signal told. Each failure is told once. */
bool unit_start_note_read(Unit *unit, const BusUnit *read);

/* Must the unit be read at each signal: is it prepared, and not proven yet? */
bool unit_start_is_watched(const Unit *unit);

/* Takes the preparation back, before systemd's next attempt, and remembers that. The server that
 * starts then is bound through its unit all the same, for most that fail do so by themselves. If
 * one that starts with these values fails too, it is not bound through its unit any more. One that
 * fails without values of ours shows that they are not why. */
void unit_start_revoke(Unit *unit);

/* Forgets failures. */
void unit_start_forgive(Unit *unit);

/* Why the unit is not prepared with these CPUs and memory nodes; a constant sentence. NULL: it
 * starts with them. `ret_cpus`: it does with the CPUs alone. */
const char *unit_start_refuses(const Unit *unit, const CpuSet *cpus, const NodeSet *mems,
                               bool *ret_cpus);
