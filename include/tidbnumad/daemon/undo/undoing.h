/* The module of undo: the values before each change, and their release. */
#pragma once

#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/undo.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/plan/step.h"
#include "tidbnumad/sys/bus-manager.h"

/* A record that is being released. */
typedef struct UndoRelease {
        struct Undoing *undo; /* borrowed */
        UndoRestore restore;
        size_t part;            /* index into the order of release */
        BackendCall call;       /* in flight if it has a slot */
        Retry retry;            /* due also when it waits for something else */
        uint64_t deadline_usec; /* monotonic: by which a written value must show */
        unsigned loop_passes;   /* that its threads have taken so far */
        const char *why;        /* a constant sentence */
        bool asked;             /* by an operator: done also while the daemon is paused */
        Error failure;          /* of the last attempt */
        Reason failure_code;
} UndoRelease;

typedef struct UndoReleases {
        UndoRelease **list; /* owned */
        size_t n, allocated;
        sd_event_source *timer;
        uint64_t stop_usec; /* monotonic: the daemon stops, and waits until then; 0: it does not */
        uint64_t n_done, n_failures;
} UndoReleases;

typedef struct Undoing {
        Host *host;         /* borrowed, as the next */
        Registry *registry; /* undo writes only the part `undo` of its instances */
        Undo records;
        UndoReleases releases;
        sd_bus_slot *admin_call; /* of an administrator's settings: the read that is in flight */
        int repair_told;         /* the error that the journal has; 0: none */
        char *admin_unit;        /* of it; owned */
} Undoing;

/* The undo records of instances, units and the host: written before a change, and the proof of it
 * after a restart. */

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

/* Every change goes this way: what there is now is noted in the record, by one of three functions
 * or, of the host, by undo_record_add_setting() and undo_record_set_irqbalance(); undo_before()
 * writes the record down, together with what is about to be ours; the change is made; undo_after().
 * Negative errno: nothing may be changed. */

/* Before a step of binding: has the backend read the present values. 1: continue; 0: the call will
 * be answered, then it is to be called again. The record is the instance's. */
int undo_note(Undoing *undo, Instance *instance, const Step *step, BackendCall *call);

/* Before MemoryMax= of the unit of an instance, a service, is set. 1: continue; 0: `reply` gets the
 * unit, and gives it to undo_note_limit() of change/backend.h. */
int undo_note_for_limit(Undoing *undo, Instance *instance, BusUnitReply reply, void *userdata,
                        sd_bus_slot **ret_slot);

/* Before properties of an idle unit are set, whose values are known; `limit`: MemoryMax= as well.
 */
int undo_note_idle(Undoing *undo, const char *unit, const char *label,
                   const IdSet now[N_UNIT_PROPERTIES], bool limit, UndoRecord **ret);

int undo_before(Undoing *undo, UndoRecord *record, const UndoChange *change);

/* `record` NULL: it is gone. */
void undo_after(Undoing *undo, UndoRecord *record, const UndoChange *change, bool done);

/* Do the admin's settings of the unit contain CPUs or memory nodes? That is known after the answer
 * to undo_note(): the planner then chooses among these, before anything is bound. */
bool undo_admin_limits_plan(const Undoing *undo, const Instance *instance);

/* Records the CPUs, by policy, that processes will get at their exec, before a record of each
 * process is written; NULL: none. Negative errno: the list cannot be written, so no process may get
 * them. */
int undo_announce_starts(const Undoing *undo, const CpuSet *cpus, size_t n);

/* The record, where it has the limit of the instance's unit; NULL: nothing was noted. */
const UndoRecord *undo_limit_of(const Instance *instance);

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

/* Drops the record, and has everything that relied on it begin again. */
void undo_reset(Undoing *undo, UndoRecord *record);

/* Frees what undo keeps of an instance that has ended. The record stays. */
void undo_end(Instance *instance);

/* Restores the values of undo records, verifies them, and then deletes the records. */

/* Adds the timer to the loop. */
int undo_release_start(Undoing *undo);
void undo_release_done(Undoing *undo);

/* Begins a release, unless one is under way. `why`: a constant; NULL: there is no reason, and
 * nothing is released. */
void undo_release_begin(Undoing *undo, UndoRecord *record, const char *why);

/* Begins the release of a record for which there is a reason: its release was requested; no policy
 * names it; policy and machine give it no place any more, so that it would disturb others at its
 * former one, and nothing would guard it; what the admin sets leaves none of its nodes. Drops what
 * has ended. Of all records: after policies were loaded, after a request, and at each scan. */
void undo_release_check_all(Undoing *undo);

/* Of one instance: at each reconcile, for what is known of it by then only, as its name, which
 * contains its port. */
void undo_release_check(Undoing *undo, const Instance *instance);

/* Drops the part of the record that concerns a process that has left. With the last process a scope
 * is released. What else there may be a reason for is not decided here: an instance that has ended
 * has no policy any more, and another one may take its processes over. */
void undo_release_note_left(Undoing *undo, const Instance *instance);

/* Notes in the instance whether its release was requested, and returns it. */
bool undo_release_note_asked(const Undoing *undo, Instance *instance);

/* What has become of an instance whose release was requested, in words for its status. */
const char *undo_release_explain(const Undoing *undo, const Instance *instance);

/* To be called when the daemon stops. True: by enforcement.on_stop everything is released first:
 * the loop goes on until HOST_WORK_EXIT is set and undo_release_is_stopping() is false. */
bool undo_release_before_stop(Undoing *undo);
bool undo_release_is_stopping(const Undoing *undo);
void undo_release_end_stop(Undoing *undo);

/* Continues the releases that are due. */
void undo_release_at_due(Undoing *undo, uint64_t now_usec);

/* What the admin sets on bound units: read again from their unit files and drop-ins when systemd
 * has read these, and when something has changed a value of ours. The records then have what a
 * release gives back, and within what the instances are bound. */

/* Of one unit. systemd answers later, through the loop, which files there are. */
void undo_admin_read(Undoing *undo, UndoRecord *record);

/* Of all. */
void undo_admin_read_all(Undoing *undo);

/* What is set in the unit files of the record is not known yet. */
bool undo_admin_is_reading(const Undoing *undo, const UndoRecord *record);

/* Of the records for which a worker was late with a file. To be called when a worker answers. */
void undo_admin_read_late(Undoing *undo);

void undo_admin_end(Undoing *undo);

/* Where no policies are in force, as after a start with broken files: what an earlier run has
 * bound, by its records, as policies that hold it where it is. */

/* One policy for each record of something bound: of the unit, else of its processes alone. Nothing
 * is moved by them, and memory is bound only where it was already. 0 or -ENOMEM; `ret` is untouched
 * then. */
int undo_make_policies(const Undoing *undo, PolicySet *ret);
