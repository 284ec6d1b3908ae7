/* The start of a unit: what it asks for itself, and how it went with what was prepared. */
#pragma once

#include "tidbnumad/daemon/units/unit.h"

/* A start that ends sooner is taken for one that its preparation prevents. */
#define UNIT_START_USEC (UINT64_C(60) * 1000 * 1000)

/* Notes what the start asks for: from the properties of the unit and the script of its ExecStart=.
 * A unit that has changed since its preparation was taken back is prepared again. */
void unit_start_note(Unit *unit, const BusUnit *read);

/* Notes the state that systemd reports, before `unit->idle` takes it over. True: it failed, or is
 * started again, within its first minute with values of ours. */
bool unit_start_note_state(Unit *unit, const char *active_state);

/* Did systemd start it again since the last call, so soon that no signal told of it? */
bool unit_start_note_restarts(Unit *unit, const BusUnit *read);

/* Is it in the first minute of a prepared start? */
bool unit_start_is_watched(const Unit *unit);

/* Takes the preparation back, before systemd's next attempt, and remembers that. */
void unit_start_revoke(Unit *unit);

/* Why the unit must not have these CPUs and memory nodes beyond its end; a constant sentence. NULL:
 * it starts with them. */
const char *unit_start_refuses(const Unit *unit, const CpuSet *cpus, const NodeSet *mems,
                               bool *ret_cpus);
