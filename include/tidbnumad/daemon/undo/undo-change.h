/* The undo records of instances and units: written before a change, believed after a restart. */
#pragma once

#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/plan/known-unit.h"
#include "tidbnumad/plan/step.h"

/* systemd answers before it has written the cgroup files: so long may pass until a change shows.
 * The longest time that was seen is 2 s. */
#define UNDO_SHOW_TIMEOUT_USEC (UINT64_C(15) * 1000 * 1000)

/* Opens the folder, where something may ever be changed, and reads what an earlier life of the
 * daemon has left. Without the folder the daemon runs, and binds nothing. */
int undo_start(Undoing *undo);

/* Its processes are others now: finds its record, and the name by which that knows it. */
void undo_adopt(const Undoing *undo, Instance *instance);

/* NULL: nothing of it was ever changed. */
UndoRecord *undo_of_unit(const Undoing *undo, const char *unit);

/* The instance as backends see it. */
BackendTarget undo_target(const Instance *instance);

/* Before a step that changes something: what stands is read, and written down with what will be
 * ours. 1: go on; 0: an answer will come, `reply` with it; negative: it cannot be written down, so
 * nothing may be changed. */
int undo_before(Undoing *undo, Instance *instance, const Step *step, BackendReply reply,
                void *userdata, sd_bus_slot **ret_call);

/* Does its unit itself set CPUs or memory nodes? That is known once such an answer has come: the
 * planner then chooses among these, before anything is bound. */
bool undo_admin_limits_plan(const Undoing *undo, const Instance *instance);

/* The step was carried out. */
void undo_after(Undoing *undo, Instance *instance, StepKind step);

/* A unit was read from systemd: which of its values are ours. */
void undo_read_unit(const Undoing *undo, const char *unit, const BusUnit *read, KnownProperty *cpus,
                    KnownProperty *mems);

/* What a write changes of an idle unit. */
typedef struct UnitChange {
        const char *label;
        const KnownProperty *cpus, *mems, *next_cpus, *next_mems;
} UnitChange;

/* Before a unit's properties are set: 0, or negative errno. Then whether that was done (`change`
 * NULL: it was not); until this is known the record is not given back. */
int undo_before_unit(Undoing *undo, const char *unit, const UnitChange *change);
void undo_after_unit(const Undoing *undo, const char *unit, const UnitChange *change);

/* Keeps of a placement what the admin's own AllowedCPUs= and AllowedMemoryNodes= of the unit leave.
 * NULL, or a constant sentence why nothing is left (the placement is untouched then). */
const char *undo_apply_admin_limits(const Undoing *undo, const Instance *instance,
                                    Placement *placement);

/* The memory nodes that it has when it is not narrowed: all, or those that its unit sets itself. */
NodeSet undo_open_nodes(const Undoing *undo, const Instance *instance);

/* The same for the planner, where it may choose: what is allowed becomes what these leave of it. */
void undo_add_admin_limits(const Undoing *undo, const Instance *instance, CpuSet *cpus,
                           NodeSet *nodes);

/* Whatever relied on the record starts anew. */
void undo_reset(Undoing *undo, UndoRecord *record);

/* Was its record taken, or is that being given back, since this was asked last? */
bool undo_take_reset(Instance *instance);

/* It has ended: frees what undo keeps of it. The record stays. */
void undo_end(Instance *instance);
