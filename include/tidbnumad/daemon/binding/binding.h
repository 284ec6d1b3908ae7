/* The module of binding brings each instance to its place. src/daemon/binding/reconcile.c
 * decides the steps. */
#pragma once

#include "tidbnumad/daemon/units/units.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/plan/state.h"
#include "tidbnumad/plan/step.h"
#include "tidbnumad/world/binding.h"

/* Each round over all instances reads the threads of only some of them; see below. */
typedef struct ThreadRounds {
        size_t next;    /* the instance at which the next round begins */
        size_t n_ahead; /* threads that the last round read beyond its share */
} ThreadRounds;

typedef struct Binder {
        Host *host;         /* borrowed, as the next five */
        Registry *registry; /* binding writes only the part `binding` of its instances */
        Sampling *sampling;
        Undoing *undo;
        Placing *placing;
        Units *units;

        sd_event_source *work_timer;
        size_t next_due;              /* index of the instance at which reconcile_due() begins */
        sd_event_source *guard_timer; /* NULL: the guard is not started */
        GuardNode *guard_nodes;       /* at the same index as the topology's nodes; owned */
        int drift_fd; /* inotify(7) on the cpuset files of bound instances; -EBADF: none */
        sd_event_source *drift_source;
        ThreadRounds thread_rounds[2]; /* [0]: instances without a cpuset; [1]: with one */
        size_t n_found_bound;          /* see reconcile_log_found(); not logged yet */
} Binder;

/* Does the work that was queued for the instance (Work): mostly, its binding begins again. */
void binding_work(const Binder *b, Instance *instance, uint32_t work, uint64_t now_usec);

/* An operator has asked for it: the instance is brought to its place also while the daemon is
 * paused. Ends when it is there. */
void binding_ask(Instance *instance);

/* That is not wanted any more. */
void binding_forget_asked(Instance *instance);

/* May the daemon change this instance now? */
bool binding_may_change(const Binder *b, const Instance *instance);

/* The only function that changes the state of an instance: to the one that plan/state.h has for the
 * event. Does the action, and returns it, as those that observe the instance, ask the backend or
 * move memory are the caller's. */
InstanceAction binding_enter(const Binder *b, Instance *instance, InstanceEvent event,
                             uint64_t now_usec);

/* Frees what binding keeps of an instance that has ended. */
void binding_end(Instance *instance);

/* The interval at which instances at rest are observed again: the sampling interval in force, but
 * at most a minute, because samples that the budget makes rarer must not delay the search for
 * drift. */
uint64_t binding_interval_usec(const Binder *b);

/* Were the CPUs applied to each of its processes? False again after a change of placement or
 * backend. */
bool binding_cpus_applied(const Instance *instance);
void binding_reset_cpus(Instance *instance);

/* Will the kernel move pages of files, all at once, when the instance's memory nodes are narrowed?
 */
bool binding_narrowing_takes_files(const Binder *b, const Instance *instance);

/* Takes over what the undo record shows to be applied, also by an earlier run of the daemon. */
void binding_adopt_record(Instance *instance);

/* Forgets the nodes that the guard added, because they are no longer needed. */
void binding_end_widening(Instance *instance);

/* Keeps the failure's sentence and its code for status. */
void binding_set_failure(Instance *instance, Reason code, const char *format, ...) _printf_(3, 4);

void binding_clear_failure(Instance *instance);

/* Carries out binding steps through the backend, and handles its answers. */

/* Why no backend can bind the instance; NULL: one can. `ret_code`, which may be NULL, gets the
 * reason's code. */
const char *bind_refuses(const Binder *b, Instance *instance, Reason *ret_code);

/* Why no scope can be made for an instance that has no unit to itself; otherwise as bind_refuses().
 */
const char *bind_refuses_scope(const Binder *b, const Instance *instance, Reason *ret_code);

/* Records the time from the start of an instance to its verified CPUs in its policy's histogram. An
 * instance that ran for long before it was first seen is not recorded. */
void bind_note_latency(const Binder *b, Instance *instance, uint64_t now_usec);

/* Its place is known: what it was given at its exec is taken back where it has none, where it
 * cannot be bound, or where a backend binds it that leaves threads alone. */
void bind_check_start(const Binder *b, Instance *instance);

/* A worker has put one of its processes into its group, or could not. `pid_reuses`: how many cases
 * were known before. */
void bind_joined(const Binder *b, Instance *instance, int error, uint64_t pid_reuses);

/* A worker is free again: the next instance that waits for one is due. */
void bind_join_next(const Binder *b);

/* Does a worker still do that? The instance is due then when the worker should have answered; one
 * that is late is a failure. */
bool bind_awaits_group(const Binder *b, Instance *instance, uint64_t now_usec);

/* Carries out a step that sets CPUs or memory nodes. True: the step is complete, reconcile again at
 * once. False: an answer will come, or the step failed and is retried later. */
bool bind_carry_out(const Binder *b, Instance *instance, const Step *step, uint64_t now_usec);

/* Adds memory nodes in the kernel's cpuset first, then requests them from the backend; this
 * replaces a pending request. -ENODEV: the group may not have all of them; -ESRCH: the instance has
 * ended; -ENOMEM: the kernel had no memory for the change. After an error, nothing is requested
 * from the backend. */
int bind_widen_now(const Binder *b, Instance *instance, const NodeSet *mems, uint64_t now_usec);

/* Removes what the backend made for instances that have ended, unless something uses it. */
void bind_tidy(Binder *b);

/* Chooses the backend of the policies in force, and logs a change, which is returned. What the
 * former backend set stays in force; all later steps go through the new one. */
bool bind_choose_backend(const Binder *b);

/* Drift: somebody else has changed CPUs or memory nodes that were in force. Drift of an instance in
 * a cpuset is noticed at once, other drift at the next reconcile. It is repaired, counted, and
 * logged with the value that was found. After STEP_REPAIRS_MAX repairs tidbnumad backs off for one
 * minute. */

/* Starts the watch of cpuset files. Without the watch, drift is found at the next reconcile. */
void drift_start(Binder *b);
void drift_stop(Binder *b);

/* Watches the cpuset in this folder (-EBADF: none) for writes by others. To be called at each
 * reconcile, because a service that starts again has a new cpuset. */
void drift_watch(const Binder *b, Instance *instance, int cpuset_fd);

/* Notes which values are in force after a reconcile. Of a value that is in force, former writes no
 * longer count as without effect; `input` is adjusted as well. */
void drift_note(Instance *instance, StepInput *input);

/* Counts a repair if the step is about to change CPUs or memory nodes that were in force. */
void drift_count(const Binder *b, Instance *instance, const Step *step, uint64_t now_usec);

/* systemd has read its unit files again: what that changed is repaired, and not counted. */
void drift_note_reload(const Binder *b, Instance *instance, uint64_t now_usec);

/* Number of repairs within the last minute. */
unsigned drift_repairs(const Drift *drift, uint64_t now_usec);

/* Handles inotify(7) events: reconciles the instances that the events concern soon. For
 * drift_start(). */
void drift_note_events(Binder *b, const char *events, size_t size, uint64_t now_usec);

/* The control groups from which the state of an instance is read. The descriptors and the paths are
 * the caller's, who closes the groups. */

#define GROUPS_NONE                                                                                \
        (BindingGroups) {                                                                          \
                .group_fd = -EBADF, .cpuset_fd = -EBADF                                            \
        }

/* `group_fd`: for its members and its memory, the unit on v2, the group of the memory controller on
 * v1; -EBADF: none of its own. `cpuset_fd`: with the cpuset that applies to it, the unit's on v2,
 * with cgroup1 our directory; -EBADF: none. -ESRCH: the unit is gone. */
int groups_open(const Binder *b, Instance *instance, BindingGroups *ret);
void groups_close(BindingGroups *groups);
#define _cleanup_groups_ _cleanup_(groups_close)

/* The full-node guard watches the nodes of strict bindings, widens a binding before its nodes are
 * full, and narrows it again later. Its rules are in plan/guard.h.
 *
 * The guard has its own timer, with the highest priority in the loop, and runs only while there is
 * an instance to watch: one with `memory: bind` whose memory nodes tidbnumad has narrowed. */

/* Starts the guard; not with --once, and not with --sysroot. */
int guard_start(Binder *b);
void guard_stop(Binder *b);

/* Decides after a reconcile whether the instance is watched from now on. */
void guard_note(const Binder *b, Instance *instance);

/* Room that must remain beside the memory that is pulled back, before a widened instance is
 * narrowed; otherwise its nodes would be full again at once. 0 where nothing is to be pulled: then
 * the guard waits for its minute only. */
uint64_t guard_margin_bytes(const Binder *b, const Instance *instance);

/* Runs one round. Returns the microseconds until the next one; INSTANCE_NEVER: nothing is to be
 * watched. */
uint64_t guard_tick(Binder *b, uint64_t now_usec);

/* The memory limit of units (`memory_limit`): plan/limit.h has the rules. */

/* Reads the memory group in this folder (-EBADF: none), which must be the instance's alone. */
void limit_observe(Instance *instance, int group_fd);

/* To be called after each observation: sets, takes back or waits, and has the guard watch a limit
 * that is in force. */
void limit_follow(const Binder *b, Instance *instance, uint64_t now_usec);

/* Reads the group of an instance whose limit is watched, lifts the limit in time, and ends that.
 * Returns the microseconds until the next time. */
uint64_t limit_attend(const Binder *b, Instance *instance, uint64_t now_usec);

/* When the daemon stops, nothing would lift a limit in time: lifts all, in the kernel's files
 * alone, and takes back what systemd is about to write. A daemon that starts again sets them again.
 */
void limit_lift_all(const Binder *b);

/* Passes of the mover, in slices between which the loop handles other events. */

/* Begins a pass over all processes of the instance. */
void move_begin(const Binder *b, Instance *instance, uint64_t now_usec);

/* Moves one slice. When the pass is complete, counts it in `progress` and ends `moving`. Sets
 * `due_usec`. */
void move_slice(const Binder *b, Instance *instance, uint64_t now_usec);

/* Calls migrate_pages(2) for each process and each node that still holds anonymous memory of the
 * instance. `moving` until all calls have returned. */
void move_sweep(const Binder *b, Instance *instance, uint64_t now_usec);

/* Rate and progress of a migration: the rate in force, the time left, and the two lines in the
 * journal. */

/* A migration of less memory is not logged. */
#define MOVE_LOGGED_BYTES (UINT64_C(16) << 20)

/* Reads where the memory is located, and notes how much of files and shared memory the last pass
 * has left. */
void observe_memory(const Binder *b, Instance *instance, int cgroup_fd);

/* Counts bytes after each piece of a pass. */
void move_progress_add(const Binder *b, Instance *instance, uint64_t bytes);

/* Appends how much was on other nodes, who moved it, and what is left, since the migration began.
 */
void move_progress_describe(const Instance *instance, uint64_t now_usec, Text *text);

/* Ends the migration when the instance has reached its last step. `bound_logged`: the journal
 * already has the number of moved bytes. */
void move_progress_end(const Binder *b, Instance *instance, bool bound_logged, uint64_t now_usec);

/* 0 and NAN while nothing is being moved. */
uint64_t move_rate_in_force(const Instance *instance);
double move_left_seconds(const Instance *instance, uint64_t now_usec);

/* Reconciles instances: observe, decide, act, and again when due. */

/* Reconciles all instances that are due. */
void reconcile_due(Binder *b, uint64_t now_usec);

/* Reconciles only those due instances that a new process has joined: they have priority over all
 * other work. */
void reconcile_first(Binder *b, uint64_t now_usec);

/* Reconciles all instances after binding_interval_usec(), and retries those that stayed partly
 * bound. */
void reconcile_all(Binder *b, uint64_t now_usec);

/* Has every instance reached a final step for now? */
bool reconcile_is_settled(const Binder *b);

/* What a reconcile logs: the final state of an instance, and in a dry run the step that would be
 * next. */

/* The verdict on an instance as the journal and the published files report it. */
Verdict reconcile_verdict(const Binder *b, const Instance *instance);

/* Was it bound when the daemon started, so that nothing was changed? Such instances are counted
 * in one line. */
void reconcile_log_found(Binder *b);

/* Processes whose memory map, or whose file system, does not answer: because of a FUSE server, a
 * dead NFS server or a userfaultfd. The workers (tidbnumad/worker/worker.h) find them. This module
 * logs such a process, keeps it as the instance's reason, and refuses changes for which the kernel
 * would wait for it. */

/* Starts the workers. `program`: the daemon's own. */
int unresponsive_start(Binder *binder, const char *program);

/* Sets the failure if one of the instance's processes does not answer. False: all of them answer.
 */
bool unresponsive_set_failure(const Binder *binder, Instance *instance);

/* To be called before a change for which the kernel takes the lock of the memory map, on behalf of
 * systemd or of the daemon. True: a process does not answer; the reason and the time of the next
 * attempt are set. */
bool unresponsive_refuses(const Binder *binder, Instance *instance, uint64_t now_usec);

/* Each round over all instances reads the threads of only some of them, in turn: a server with
 * thousands of threads is not read again and again while nothing changes. */

/* To be called before a round: sets `threads_known` of the instances whose threads are not read in
 * it. */
void thread_rounds_choose(Binder *b);
