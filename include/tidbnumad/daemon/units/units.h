/* Known units: those that a policy names get their CPUs and memory nodes before they start, so that
 * their processes are bound at the first instruction. Which they are is followed by systemd's
 * signals; what happened while nobody listened is found at the next scan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "tidbnumad/daemon/units/unit.h"

/* Begins. The daemon is not to be ready while units_are_starting(), which is some seconds at most:
 * a unit that is ordered after the daemon's then starts bound. Does nothing where nothing is
 * enforced through systemd. */
int units_start(Units *units);
bool units_are_starting(const Units *units);

/* After each event: what was asked for may be complete, and a record may be given back. */
void units_turn(Units *units);

/* Those whose place is another one by the last plan are prepared anew. */
void units_follow_plan(Units *units);
void units_done(Units *units);

/* Policies were loaded: all is judged anew. */
void units_reload(Units *units);

/* The net under the signals, at each scan; room and nodes may have changed as well. */
void units_scan(Units *units);

/* Are the memory nodes of this unit (may be NULL) narrow by our doing, from before it started? */
bool units_did_narrow(const Units *units, const char *unit);

/* Do unrelated processes run in this unit (may be NULL) beside its instance? Then it is not
 * prepared for its next start: they would be bound with it. */
void units_note_shared(const Units *units, const char *unit, bool shared);

/* The memory nodes of this unit (may be NULL) were set, for its instance. Where they were ours
 * before, they still are. */
void units_note_mems(Units *units, const char *unit, const NodeSet *mems);
