/* The undo records of instances and units: written before a change, and the proof of it after a
 * restart. */
#pragma once

#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/plan/known-unit.h"
#include "tidbnumad/plan/step.h"

/* systemd answers before it has written the cgroup files: a change may take this long to show. The
 * longest time observed is 2 s. */
#define UNDO_SHOW_TIMEOUT_USEC (UINT64_C(15) * 1000 * 1000)

/* Opens the folder of records, if anything may ever be changed, and reads the records of an earlier
 * run. Without the folder the daemon runs, but binds nothing. */
int undo_start(Undoing *undo);

/* Tries again what undo_start() could not. True: the folder is open only now, and each instance has
 * its record of an earlier run; binding has to reconcile all of them. */
bool undo_start_late(Undoing *undo);

/* Writes again what something else has removed or changed in the folder. True: something was. */
bool undo_repair_records(Undoing *undo);

/* False: it is not known what an earlier run of the daemon changed, and nothing can be restored. */
bool undo_is_open(const Undoing *undo);

/* Finds the record of an instance whose processes changed, and the name that the record has for it.
 */
void undo_adopt(const Undoing *undo, Instance *instance);

/* NULL: nothing of the unit was ever changed. */
UndoRecord *undo_of_unit(const Undoing *undo, const char *unit);

/* The instance in the form that backends take. */
BackendTarget undo_target(const Instance *instance);

/* To be called before a step that changes something: reads the present values, and writes them to
 * the record together with the new ones. 1: continue; 0: the call will be answered; negative errno:
 * there is no record, so nothing may be changed. */
int undo_before(Undoing *undo, Instance *instance, const Step *step, BackendCall *call);

/* Do the admin's settings of the unit contain CPUs or memory nodes? That is known after the answer
 * to undo_before(): the planner then chooses among these, before anything is bound. */
bool undo_admin_limits_plan(const Undoing *undo, const Instance *instance);

/* Records the CPUs, by policy, that processes will get at their exec, before a record of each
 * process is written; NULL: none. Negative errno: the list cannot be written, so no process may get
 * them. */
int undo_announce_starts(const Undoing *undo, const CpuSet *cpus, size_t n);

/* To be called after a step was carried out. */
void undo_after(Undoing *undo, Instance *instance, StepKind step);

/* Finds out which of the values read from systemd tidbnumad has set. */
void undo_read_unit(const Undoing *undo, const char *unit, const BusUnit *read, KnownProperty *cpus,
                    KnownProperty *mems);

/* A change of an idle unit's properties. */
typedef struct UnitChange {
        const char *label;
        const KnownProperty *cpus, *mems, *next_cpus, *next_mems;
} UnitChange;

/* To be called before a unit's properties are set; 0 or negative errno. Then undo_after_unit() with
 * the change, or NULL if it failed; until then the record is not released. */
int undo_before_unit(Undoing *undo, const char *unit, const UnitChange *change);
void undo_after_unit(const Undoing *undo, const char *unit, const UnitChange *change);

/* Reduces a placement to the AllowedCPUs= and AllowedMemoryNodes= that the admin has set on the
 * unit. Returns NULL, or a constant sentence why nothing is left; the placement is unchanged then.
 */
const char *undo_apply_admin_limits(const Undoing *undo, const Instance *instance,
                                    Placement *placement);

/* The memory nodes of an instance that is not narrowed: all, or those that the admin has set on its
 * unit. */
NodeSet undo_open_nodes(const Undoing *undo, const Instance *instance);

/* Reduces the CPUs and nodes among which the planner may choose in the same way. */
void undo_add_admin_limits(const Undoing *undo, const Instance *instance, CpuSet *cpus,
                           NodeSet *nodes);

/* Restarts everything that relied on the record. */
void undo_reset(Undoing *undo, UndoRecord *record);

/* Was the record of the instance reset since the last call? */
bool undo_take_reset(Instance *instance);

/* Frees what undo keeps of an instance that has ended. The record stays. */
void undo_end(Instance *instance);
