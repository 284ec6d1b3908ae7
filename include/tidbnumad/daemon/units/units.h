/* Known units get their CPUs and memory nodes before they start, so that their processes are bound
 * from the first instruction. Signals of systemd report new units; the next scan finds units whose
 * signals were missed. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/units/unit.h"

/* Starts. The daemon does not report readiness while units_are_starting(), which is some seconds at
 * most: a unit that is ordered after the daemon then starts bound. Does nothing where nothing is
 * enforced through systemd. */
int units_start(Units *units);
bool units_are_starting(const Units *units);

/* To be called after each event: requested lists may be complete, and a record may be released. */
void units_turn(Units *units);

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
