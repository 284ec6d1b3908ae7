/* The start of a unit: what it asks for itself, and how it went with what was prepared. */
#pragma once

#include "tidbnumad/daemon/units/unit.h"

/* A start that ends sooner is taken for one that its preparation prevents. */
#define UNIT_START_USEC (UINT64_C(60) * 1000 * 1000)

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
