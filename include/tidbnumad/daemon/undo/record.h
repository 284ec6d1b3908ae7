/* The undo records of instances and units: written before a change, believed after a restart. */
#pragma once

#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/plan/step.h"

/* Opens the folder, where something may ever be changed, and reads what an earlier life of the
 * daemon has left. Without the folder the daemon runs, and binds nothing. */
int record_start(Manager *manager);

/* NULL: nothing of it was ever changed. */
UndoRecord *record_of(const Instance *instance);
UndoRecord *record_of_unit(const Unit *unit);

/* Before a step that changes something: what stands is read, and written down with what will be
 * ours. 1: go on; 0: an answer will come, `reply` with it; negative: it cannot be written down, so
 * nothing may be changed. */
int record_before(Instance *instance, const Step *step, BackendReply reply);

/* That answer has come, and all was well. What the unit itself sets is known now: where the planner
 * may choose, it chooses among what that leaves, before anything is bound. */
void record_noted(Instance *instance);

/* The step was carried out. */
void record_after(Instance *instance, StepKind step);

/* What the record says of an instance that was found: its name, what of it was done, what is ours.
 * For an instance that has no record nothing. */
void record_adopt(Instance *instance);

/* A process has left; `ended`: it was the last one. `record` as of before that, NULL: none. */
void record_left(Manager *manager, UndoRecord *record, bool ended);

/* The same for a unit that was read from systemd: which of its values are ours. */
void record_note_unit(Unit *unit, const BusUnit *read);

/* Before a unit's properties are set to `next_cpus` and `next_mems`. 0, or negative errno. */
int record_before_unit(Unit *unit);
void record_after_unit(Unit *unit);

/* Keeps of a placement what the admin's own AllowedCPUs= and AllowedMemoryNodes= of the unit leave.
 * NULL, or a constant sentence why nothing is left (the placement is untouched then). */
const char *record_keep_own(const Instance *instance, Placement *placement);

/* The memory nodes that it has when it is not narrowed: all, or those that its unit sets itself. */
NodeSet record_open_nodes(const Instance *instance);

/* The same for the planner, where it may choose: what is allowed becomes what these leave of it. */
void record_add_own(const Instance *instance, CpuSet *cpus, NodeSet *nodes);

/* The record is gone: whoever relied on it begins anew. */
void record_forget(Manager *manager, UndoRecord *record);
