/* The reconciler: observes an instance, chooses the means that bind it and the next step, has the
 * step carried out, and looks again when that is due. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"

/* --- the log --- */

Verdict reconcile_verdict(const Binder *b, const Instance *i) {
        const bool outlived = i->binding.failure_code == REASON_OBSERVE && binding_may_change(b, i);

        return verdict_of(&(VerdictInput){
                .state = i->binding.state,
                .step = &i->binding.step,
                .placement = &i->binding.placement,
                .binding = i->binding.observed_known ? &i->binding.observed : NULL,
                .backend = instance_backend(i, &b->host->backend),
                .open_nodes = undo_open_nodes(b->undo, i),
                .memory_known = i->memory_known,
                .outside_bytes = i->binding.outside_bytes,
                .widened_why = i->binding.guard.widened ? i->binding.guard.why : REASON_NONE,
                .failure = outlived ? NULL : i->binding.failure,
                .failure_code = i->binding.failure_code,
        });
}

void reconcile_log_found(Binder *b) {
        if (b->n_found_bound > 0)
                journal_log(&b->host->journal, LOG_INFO, NULL,
                            "%zu instance%s bound already when tidbnumad started; nothing of %s "
                            "was changed",
                            b->n_found_bound, b->n_found_bound == 1 ? " was" : "s were",
                            b->n_found_bound == 1 ? "it" : "them");
        b->n_found_bound = 0;
}

/* Logs that the instance has reached a final step. `first`: it is bound for the first time. */
static void reconcile_log_final(const Binder *b, const Instance *i, bool first, uint64_t now_usec) {
        const Verdict v = reconcile_verdict(b, i);
        const JournalFields fields =
                INSTANCE_FIELDS(i,
                                .message_id = v.state == INSTANCE_BOUND     ? JOURNAL_BOUND
                                              : v.state == INSTANCE_REFUSED ? JOURNAL_REFUSED
                                                                            : JOURNAL_PARTLY,
                                .reason = v.code);
        static const char by_affinity[] = "; bound by affinity, because ";
        const char *why = i->binding.means.why;
        const Placement *p = &i->binding.placement;
        _cleanup_text_ Text how = { 0 };

        if (first)
                text_appendf(&how, ", %.1f s after tidbnumad saw it first",
                             i->binding.bind_seconds);
        if (i->binding.migration.under_way && i->binding.migration.begun_bytes > 0) {
                text_append(&how, "; ");
                move_progress_describe(i, now_usec, &how);
        }
        if (v.state == INSTANCE_BOUND)
                journal_log(&b->host->journal, LOG_INFO, &fields,
                            "%s is bound to node %s (CPUs %s, memory %s)%s%s%s", i->name,
                            id_set_list(&p->nodes), id_set_list(&p->cpus),
                            verdict_memory_word(p->memory, v.memory_bound),
                            how.data ? how.data : "", why ? by_affinity : "", why ? why : "");
        else if (v.state == INSTANCE_PARTLY ||
                 v.state == INSTANCE_REFUSED) /* the guard logs `widened` */
                journal_log(&b->host->journal, LOG_WARNING, &fields,
                            "%s %s node %s (CPUs %s, memory %s): %s%s%s", i->name,
                            v.state == INSTANCE_REFUSED ? "is not bound to"
                                                        : "is only partly bound to",
                            id_set_list(&p->nodes), v.cpu_bound ? "bound" : "not bound",
                            verdict_memory_word(p->memory, v.memory_bound), v.reason,
                            why && instance_state_binds(v.state) ? by_affinity : "",
                            why && instance_state_binds(v.state) ? why : "");
}

/* Logs the step that would be next, where nothing may be changed. */
static void reconcile_log_plan(const Binder *b, Instance *i, const Step *step) {
        const BackendKind kind = instance_backend(i, &b->host->backend);
        const bool by_unit = kind == BACKEND_AUTO || kind == BACKEND_SYSTEMD;

        if (step->kind == STEP_SCOPE)
                binding_set_failure(i, REASON_OBSERVE,
                                    "would move it to its own scope, which systemd stops together "
                                    "with its session");
        else if (step->kind == STEP_SET_CPUS)
                binding_set_failure(i, REASON_OBSERVE,
                                    by_unit ? "would set AllowedCPUs=%s" : "would set CPUs %s",
                                    id_set_list(&i->binding.placement.cpus));
        else if (step->kind == STEP_WIDEN || step->kind == STEP_NARROW)
                binding_set_failure(i, REASON_OBSERVE,
                                    by_unit ? "would set AllowedMemoryNodes=%s"
                                            : "would set memory nodes %s",
                                    id_set_list(&step->mems));
        else
                binding_set_failure(i, REASON_OBSERVE, "would move %s%.1f MiB",
                                    i->binding.fits ? "" : "what its nodes have room for of ",
                                    (double)i->binding.outside_bytes / (1 << 20));
        host_queue(b->host, HOST_WORK_PUBLISH);
}

/* --- the means by which it is bound --- */

/* A process may be in the unit of a bound service for a moment only (ExecReload=, ExecStop=). */
#define SHARED_USEC (UINT64_C(10) * 1000 * 1000)

/* A unit that was shared until now may soon be again. */
#define ALONE_USEC (UINT64_C(60) * 1000 * 1000)

/* The plan for the present means is made within this time. */
#define PLANNED_USEC (UINT64_C(100) * 1000)

/* A unit is read within milliseconds where systemd has the time; beside twenty services that it
 * finds at its start, the daemon's own calls are before it, for 7 s on an emulated host. A call is
 * given up after 25 s (sd_bus_set_method_call_timeout(3)). */
#define READ_USEC (UINT64_C(30) * 1000 * 1000)
#define READ_AGAIN_USEC (UINT64_C(100) * 1000)

static const char kept[] =
        "it was bound so before; release it or restart it for a stronger binding";

/* Is it bound by a means that would stay in force beside the next one? */
static bool is_bound_otherwise(const UndoRecord *record, BindMethod next) {
        if (!record)
                return false;
        if (next == METHOD_UNIT || next == METHOD_SCOPE)
                return record->given.n > 0;
        if (next != METHOD_AFFINITY)
                return false;
        for (size_t k = 0; k < record->n_processes; k++)
                if (record->processes[k].cpuset) /* a directory of its own */
                        return true;
        return undo_record_has_unit(record) || record->scope;
}

/* A change of the policy applies at once, and so does what its start asks for, once its script
 * could be read or is another one. A process without a service keeps its means: not all limits of
 * its scope are known before it is about to leave it. */
static bool means_may_change(const Instance *i, const BindMeans *next, uint64_t now_usec) {
        const InstanceBinding *own = &i->binding;
        const uint64_t since_usec = now_usec - own->method_since_usec;

        if (next->method == METHOD_AFFINITY)
                return next->code == REASON_NONE || since_usec >= SHARED_USEC;
        if (own->means.why != kept &&
            (own->means.code == REASON_NONE || own->means.code == REASON_START_LIMITS))
                return true;
        return next->method == METHOD_UNIT && since_usec >= ALONE_USEC;
}

/* Only queues a plan: one timer then makes one plan for all changes. One plan for each of a
 * thousand processes would block the loop for minutes. True: another backend binds it now. */
static bool means_take(const Binder *b, Instance *i, const BindMeans *next) {
        const BackendKind backend = instance_backend(i, &b->host->backend);
        const BindMethod before = i->binding.means.method;
        bool changed;

        i->binding.means = *next;
        if (instance_is_service(i))
                units_note_shared(b->units, i->unit, next->code == REASON_SHARED_UNIT);
        changed = instance_backend(i, &b->host->backend) != backend;
        if (changed)
                place_note_backend(b->placing, i);
        if (before != next->method)
                host_queue(b->host, HOST_WORK_PUBLISH);
        return changed;
}

/* Keeps the means by which an instance is bound as plan/step.h chooses it from what was observed,
 * and changes from one means to another. True: the means changed, or the former one is being
 * released for that; the instance is reconciled again then. */
static bool method_follow(const Binder *b, Instance *i, uint64_t now_usec) {
        UndoRecord *record = i->undo.record;
        BindMethodInput in;
        BindMeans next;

        if (!b->host->backend.ops && b->host->sysroot.live)
                return false; /* nothing can be enforced here, as its state reports */
        in = bind_method_input_of(&i->facts, i->binding.observed.alone,
                                  backend_kind(&b->host->backend), b->host->backend.weaker);
        in.start = units_start_refuses(b->units, i->unit, &i->binding.placement, NULL);
        if (bind_method_needs_scope(&in))
                in.no_scope = bind_refuses_scope(b, i, &in.no_scope_code);
        next = bind_means_choose(&in);
        /* What its start asks for is not known yet. */
        if (!record &&
            (units_start_is_late(b->units, i->unit) ||
             (i->binding.means.method == METHOD_NONE && next.method == METHOD_UNIT &&
              units_is_reading(b->units, i->unit) && now_usec < i->first_seen_usec + READ_USEC))) {
                i->binding.due_usec = now_usec + READ_AGAIN_USEC;
                return true;
        }
        if (!is_bound_otherwise(record, next.method)) {
                i->binding.method_since_usec = 0;
                if (!means_take(b, i, &next))
                        return false;
                /* The observation was made with the former means. */
                binding_reset_cpus(i);
                i->binding.progress = (Progress){ 0 };
                i->binding.due_usec = now_usec + PLANNED_USEC;
                return true;
        }
        if (i->binding.means.method == METHOD_NONE) {
                BindMeans now = { .method = METHOD_AFFINITY, .why = kept };

                if (next.method == METHOD_AFFINITY)
                        now = (BindMeans){ .method = record->scope ? METHOD_SCOPE
                                                     : record->cpus.noted &&
                                                                     undo_record_has_unit(record)
                                                             ? METHOD_UNIT
                                                             : METHOD_DIRECTORY };
                (void)means_take(b, i, &now);
        }
        if (i->binding.method_since_usec == 0)
                i->binding.method_since_usec = now_usec;
        if (!host_enforces(b->host) || !means_may_change(i, &next, now_usec))
                return false;
        i->binding.method_since_usec = 0;
        undo_release_begin(b->undo, record, "it is to be bound by other means");
        return true;
}

/* Nothing else may happen until its means are to change. */
static void method_await(Instance *i, uint64_t now_usec) {
        InstanceBinding *own = &i->binding;
        const uint64_t due_usec = own->method_since_usec +
                                  (own->means.method == METHOD_AFFINITY ? ALONE_USEC : SHARED_USEC);

        if (own->method_since_usec != 0 && now_usec < due_usec && due_usec < own->due_usec)
                own->due_usec = due_usec;
}

/* --- one reconcile --- */

#define EFFECT_POLL_USEC (UINT64_C(50) * 1000)

/* Poll interval while the disk of its data is being looked for. */
#define STORAGE_POLL_USEC (UINT64_C(100) * 1000)

/* A final step is left alone for this time, unless this much more memory is outside. */
#define REST_USEC (UINT64_C(60) * 1000 * 1000)
#define REST_GROWTH_BYTES (UINT64_C(16) << 20)

/* A pass over the whole process is not made for less room than this. */
#define LEAST_ROOM_BYTES (UINT64_C(8) << 20)

/* A reconcile of all instances pauses after this time, so that the loop handles other events. */
#define RECONCILES_USEC (UINT64_C(20) * 1000)

/* So long after its start a process may still map its huge pages. */
#define HUGE_YOUNG_SECONDS 60.0

/* A pass of the mover is not made for less memory of files outside. */
#define FILES_LEAST_BYTES (UINT64_C(16) << 20)

/* Delay before a plan that failed because memory could not be allocated is tried again. */
#define REPLAN_USEC (UINT64_C(1000) * 1000)

/* With a backend that answers at once; a step without effect is tried three times. */
enum { STEPS_AT_ONCE_MAX = 8 };

/* Takes the step over, notes and logs a final one, and returns what is to be done. */
static InstanceAction step_enter(Binder *b, Instance *i, const Step *step, uint64_t now_usec) {
        const InstanceState before = i->binding.state;
        const bool first = step->kind == STEP_DONE && isnan(i->binding.bind_seconds);
        const bool same = step->kind == i->binding.step.kind &&
                          strcmp(step->reason, i->binding.step.reason) == 0;
        const bool released = i->undo.released && undo_is_open(b->undo);
        InstanceAction action;
        uint64_t final_usec;
        bool news, found_bound;

        i->binding.step = *step;
        action = binding_enter(b, i, state_event(step->kind, binding_may_change(b, i), released),
                               now_usec);
        if (same && i->binding.state == before)
                return action;
        if (first)
                i->binding.bind_seconds =
                        (double)(clock_monotonic_usec() - i->first_seen_usec) / 1e6;
        host_queue(b->host, HOST_WORK_PUBLISH);
        if (!step_is_final(step->kind))
                return action;
        final_usec = clock_monotonic_usec();
        news = step->kind != i->binding.logged.kind || !i->binding.logged.reason ||
               strcmp(step->reason, i->binding.logged.reason) != 0;
        found_bound = i->binding.bind_attempts == 0 && i->binding.migrated_bytes == 0 &&
                      i->n_members > 0 &&
                      i->members[0].process.id.start_ticks < b->registry->since_ticks;
        if (step->code == REASON_INNER_GROUP)
                binding_set_failure(i, step->code, "%s (%s)", step->reason,
                                    i->binding.observed.inner_group);
        else if (!unresponsive_set_failure(b, i))
                binding_clear_failure(i);
        i->binding.rest_until_usec = final_usec + REST_USEC;
        i->binding.rest_outside_bytes = i->binding.outside_bytes;
        if (news && first && found_bound)
                b->n_found_bound++;
        else if (news)
                reconcile_log_final(b, i, first, final_usec);
        move_progress_end(b, i, news && step->kind == STEP_DONE, final_usec);
        i->binding.logged = *step;
        return action;
}

/* -ESRCH: the instance has ended. */
static int instance_observe(const Binder *b, Instance *i) {
        _cleanup_groups_ BindingGroups groups = GROUPS_NONE;
        int r;

        scope_follow(b->registry, i);
        r = groups_open(b, i, &groups);
        if (r < 0)
                return r;
        groups.suspect =
                i->binding.observed.intruder ? i->binding.observed.intruder : b->host->intruder;
        r = i->binding.threads_known
                    ? binding_reload_groups(&b->host->topology, &b->host->sysroot, i->members,
                                            i->n_members, &groups, &i->binding.observed)
                    : binding_load(&b->host->topology, &b->host->sysroot, i->members, i->n_members,
                                   &groups, &i->binding.placement.cpus, &i->binding.observed);
        if (r < 0)
                return r;
        i->binding.threads_known = false;
        i->binding.observed_known = true;
        if (i->binding.observed.intruder)
                b->host->intruder = i->binding.observed.intruder;
        drift_watch(b, i, groups.cpuset_fd);
        observe_memory(b, i, groups.group_fd);
        limit_observe(i, i->binding.observed.alone ? groups.group_fd : -EBADF);
        return 0;
}

/* With affinity the memory nodes stay wide. What a unit is given holds for its next start as well.
 * Where the pools cannot be read, nothing is narrowed. What is narrow already is the guard's. */
static void step_input_add_pools(const Binder *b, Instance *i, StepInput *in) {
        const bool restarts = in->backend == BACKEND_SYSTEMD && instance_is_service(i);
        const HugeNeed *last = units_last_huge(b->units, i->unit);
        const NodeSet *nodes = &i->binding.placement.nodes;
        const HugeNeed *most = &i->sampling.huge.most;
        _cleanup_huge_pools_ HugePools pools = { 0 };
        double started;
        bool young;

        if (in->placement->memory != MEMORY_BIND || in->backend == BACKEND_AFFINITY ||
            id_set_is_empty(nodes) || i->n_members == 0)
                return;
        if (huge_room_read(b->placing, &pools) < 0) {
                in->huge_short = true;
                return;
        }
        if (pools.n == 0)
                return;
        started = (double)i->members[0].handle->start_ticks / (double)sysconf(_SC_CLK_TCK);
        young = clock_boottime_seconds() - started < HUGE_YOUNG_SECONDS;
        if (id_set_equal(&i->binding.observed.mems, nodes)) /* it is narrow */
                sample_huge(b->sampling, i, &pools, false);
        else if (restarts)
                in->huge_short = huge_room_lacks_for_start(b->placing, i, &pools, nodes,
                                                           young ? last : NULL);
        else
                in->huge_short = huge_room_lacks(b->placing, i, &pools, nodes, NULL);
        in->huge_awaited =
                young && !last && huge_pools_have_elsewhere(&pools, &b->host->topology, nodes);
        if (i->huge_known && (most->n > 0 || !young))
                units_note_huge(b->units, i->unit, most, young);
}

static Step step_plan(const Binder *b, Instance *i, uint64_t now_usec) {
        Reason cannot_code;
        const char *cannot = bind_refuses(b, i, &cannot_code);
        const uint64_t files_outside = i->binding.mapped_outside_bytes;
        StepInput in = {
                .placement = &i->binding.placement,
                .binding = &i->binding.observed,
                .backend = instance_backend(i, &b->host->backend),
                .all_nodes = undo_open_nodes(b->undo, i),
                .can_enforce = !cannot,
                .cannot = cannot,
                .cannot_code = cannot_code,
                .cpus_applied = binding_cpus_applied(i),
                .repairs = drift_repairs(&i->binding.cpus_drift, now_usec),
                .mem_repairs = drift_repairs(&i->binding.mems_drift, now_usec),
                .outside_unit = !instance_is_service(i) && !facts_in_scope(&i->facts),
                .in_scope = facts_in_scope(&i->facts),
                .pulled = i->binding.pulled,
                .memory_known = i->memory_known,
                .outside_bytes = i->binding.outside_bytes,
                .we_narrowed = i->binding.we_narrowed || units_did_narrow(b->units, i->unit),
                .extra = i->binding.guard.extra,
                .extra_for_pool = i->binding.guard.for_pool,
                .extra_pending = i->binding.guard.extra_pending,
                .progress = i->binding.progress.steps,
        };
        const StartLimits *start = units_start_limits(b->units, i->unit);
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n_rooms;
        Step next;

        if (start)
                in.start = start_limits_leave_out(start, &b->host->topology,
                                                  &i->binding.placement.cpus);
        if (step_needs_scope(&in))
                in.no_scope = bind_refuses_scope(b, i, &in.no_scope_code);
        /* When the free memory cannot be read, nothing is moved. */
        if (i->memory_known && room_of(b->placing, i, &rooms, &n_rooms) >= 0) {
                in.fits = fit_check(rooms, n_rooms,
                                    i->binding.outside_bytes + guard_margin_bytes(b, i));
                i->binding.fits = in.fits;
                in.has_room = room_best(i, rooms, n_rooms, LEAST_ROOM_BYTES) >= 0;
        }
        step_input_add_pools(b, i, &in);
        in.file_pull_wanted = binding_may_change(b, i) &&
                              files_outside >= i->binding.mapped_left_bytes + FILES_LEAST_BYTES;
        in.files_follow = files_outside >= FILES_LEAST_BYTES && binding_narrowing_takes_files(b, i);
        i->binding.fits = in.fits;
        in.pulled = i->binding.pulled = (i->binding.pulled || step_was_pulled(&in)) &&
                                        id_set_is_empty(&i->binding.guard.extra);
        drift_note(i, &in);
        next = step_next(&in);
        if (next.kind == STEP_WATCH && i->undo.released)
                next.code = REASON_RELEASED;
        return next;
}

/* Observes the instance and carries out the next step. True: the step is complete, reconcile again
 * at once. */
static bool reconcile_once(Binder *b, Instance *i, uint64_t now_usec) {
        Reason failure;
        Step step;
        int r = instance_observe(b, i);

        if (r == -ESRCH)
                return false; /* its exit event or the next scan removes it */
        if (r < 0) {
                binding_set_failure(i, REASON_STATE_UNREADABLE, "its state cannot be read: %s",
                                    strerror(-r));
                journal_log(&b->host->journal, LOG_WARNING,
                            &INSTANCE_FIELDS(i, .reason = REASON_STATE_UNREADABLE), "%s: %s",
                            i->name, i->binding.failure ? i->binding.failure : strerror(-r));
                return false;
        }
        if (method_follow(b, i, now_usec))
                return false;
        guard_note(b, i);
        bind_note_latency(b, i, clock_monotonic_usec());
        step = step_plan(b, i, now_usec);
        journal_log(&b->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                    "%s: %s (%zu threads, %zu off their CPUs, %llu bytes outside) %s", i->name,
                    state_event_to_string(
                            state_event(step.kind, binding_may_change(b, i), i->undo.released)),
                    i->binding.observed.n_threads, i->binding.observed.n_threads_off_cpus,
                    (unsigned long long)i->binding.outside_bytes, step.reason);
        /* Clears a problem whose cause is gone: it was observed and planned just now, and what is
         * only planned while nothing may be changed is carried out from now on. What a call or the
         * guard has reported is cleared where the call succeeds, and by the guard. */
        failure = i->binding.failure_code;
        if (failure == REASON_STATE_UNREADABLE || failure == REASON_NO_MEMORY ||
            (failure == REASON_OBSERVE && binding_may_change(b, i)))
                binding_clear_failure(i);
        /* A final step is left alone for a while: a pass walks the whole process, which is not
         * worth it for a few pages or for pages that do not move. */
        if ((step.kind == STEP_PULL || step.kind == STEP_SETTLE || step.kind == STEP_SWEEP) &&
            step_is_final(i->binding.step.kind) && now_usec < i->binding.rest_until_usec &&
            i->binding.outside_bytes < i->binding.rest_outside_bytes + REST_GROWTH_BYTES)
                return false;
        switch (step_enter(b, i, &step, now_usec)) {
        case ACTION_REPORT:
                reconcile_log_plan(b, i, &i->binding.step);
                break;
        case ACTION_CALL:
                if (unresponsive_refuses(b, i, now_usec))
                        return false;
                if (i->binding.call_kind != step.kind ||
                    now_usec >= i->binding.effect_deadline_usec)
                        return bind_carry_out(b, i, &i->binding.step, now_usec);
                i->binding.due_usec = now_usec + EFFECT_POLL_USEC;
                break;
        case ACTION_PULL:
                move_begin(b, i, now_usec);
                break;
        case ACTION_SWEEP:
                move_sweep(b, i, now_usec);
                break;
        default: /* binding_enter() has done it */
                break;
        }
        return false;
}

static void instance_begin(Binder *b, Instance *i, uint64_t now_usec) {
        const Step blind = { .kind = STEP_SET_CPUS, .reason = "" };
        StepInput in;
        Placement p;
        int r;

        /* A place is kept once it is given: it is chosen when all are known. */
        if (b->host->reloading && (!i->planned.known || i->planned.again)) {
                i->binding.due_usec = now_usec + EFFECT_POLL_USEC;
                return;
        }
        r = place_ensure(b->placing, i);
        if (r == -EAGAIN) {
                i->binding.due_usec = now_usec + STORAGE_POLL_USEC;
                return;
        }
        if (r < 0) { /* its present binding stays */
                binding_set_failure(i, REASON_NO_MEMORY,
                                    "the daemon has no memory to plan its place; it tries again");
                i->binding.due_usec = now_usec + REPLAN_USEC;
                return;
        }
        /* Its placement is the planned one, reduced to what the operator and the admin of its unit
         * allow. */
        (void)instance_take(i, WORK_PLACE);
        p = i->planned.placement;
        if (undo_release_note_asked(b->undo, i)) {
                p.nodes = (NodeSet){ 0 };
                p.cpus = (CpuSet){ 0 };
                scope_follow(b->registry, i); /* it may have been sent home */
                p.reason = undo_release_explain(b->undo, i);
        }
        i->binding.own_refuses = undo_apply_admin_limits(b->undo, i, &p);
        undo_release_check(b->undo, i);
        if (instance_take(i, WORK_RECORD)) /* its release has just begun */
                (void)binding_enter(b, i, EVENT_RECORD, clock_monotonic_usec());
        if (!id_set_equal(&p.nodes, &i->binding.placement.nodes) ||
            p.memory != i->binding.placement.memory) {
                binding_end_widening(i);
                i->binding.migration = (Migration){ 0 };
                i->binding.pulled = false;
                i->binding.progress = (Progress){ 0 };
                i->binding.mems_drift = (Drift){ 0 };
        }
        if (!id_set_equal(&p.cpus, &i->binding.placement.cpus)) {
                i->binding.threads_known = false; /* counted against the former CPUs */
                binding_reset_cpus(i);
        }
        i->binding.placement = p;
        binding_adopt_record(i);
        if (i->binding.own_refuses && i->undo.record && i->undo.record->releasing)
                return;
        bind_check_start(b, i);
        i->binding.due_usec = INSTANCE_NEVER;
        /* Sets CPUs before anything else is read: until then, every thread may run anywhere. */
        in = (StepInput){ .placement = &i->binding.placement,
                          .backend = instance_backend(i, &b->host->backend),
                          .can_enforce = true,
                          .cpus_applied =
                                  binding_cpus_applied(i) && i->binding.join_deadline_usec == 0 };
        /* One that was released may have been so in order to be bound by other means, which are
         * chosen by what is observed: else it is bound by the former ones, and released again. */
        if ((i->undo.record || i->binding.means.method == METHOD_NONE) &&
            binding_may_change(b, i) && step_begins_blind(&in) && !bind_refuses(b, i, NULL) &&
            !unresponsive_refuses(b, i, now_usec))
                (void)bind_carry_out(b, i, &blind, now_usec);
        /* Until the worker has answered, it may be seen in its group before that is known. */
        if (now_usec < i->binding.join_deadline_usec && i->binding.due_usec != INSTANCE_NEVER)
                return;
        for (unsigned n = 0; n < STEPS_AT_ONCE_MAX && reconcile_once(b, i, now_usec); n++)
                ;
        if (!i->binding.observed_known)
                return;
        method_await(i, now_usec);    /* may be due earlier than the step that was decided */
        limit_follow(b, i, now_usec); /* likewise */
        guard_note(b, i);             /* and is to be watched from now on */
}

static void reconcile(Binder *b, Instance *i, uint64_t now_usec) {
        (void)instance_take(i, WORK_FIRST);
        /* The answer, or the end of the release, triggers the next reconcile. */
        if (i->binding.call.slot || (i->undo.record && i->undo.record->releasing)) {
                i->binding.due_usec = INSTANCE_NEVER;
                return;
        }
        if (binding_enter(b, i, EVENT_DUE, now_usec) == ACTION_SLICE)
                move_slice(b, i, now_usec);
        else
                instance_begin(b, i, now_usec);
        if (reconcile_verdict(b, i).undone)
                (void)binding_enter(b, i, EVENT_UNDONE, now_usec);
}

/* --- all of them --- */

/* Instances that are not reached now stay due. */
static bool has_time(uint64_t begun_usec) {
        return clock_monotonic_usec() < begun_usec + RECONCILES_USEC;
}

/* Bindings go before moves, and only one slice is moved, so that the loop receives events in
 * between. */
void reconcile_due(Binder *b, uint64_t now_usec) {
        const size_t n = b->registry->n_instances, first = n > 0 ? b->next_due % n : 0;
        Instance *mover = NULL;

        for (int crowd = 0; crowd < 2; crowd++)
                for (size_t k = 0; k < b->registry->n_instances && has_time(now_usec); k++) {
                        const size_t at = (first + k) % b->registry->n_instances;
                        Instance *i = b->registry->instances[at];

                        if (i->binding.state == INSTANCE_MOVING || i->binding.due_usec > now_usec ||
                            registry_is_crowd(b->registry, i) != crowd)
                                continue;
                        /* One that is due again at once keeps nobody behind it waiting. */
                        b->next_due = at + 1;
                        reconcile(b, i, now_usec);
                }
        /* The one that has waited longest moves memory next, so that none starves another. */
        REGISTRY_FOREACH(i, b->registry)
        if (i->binding.state == INSTANCE_MOVING && i->binding.due_usec <= now_usec &&
            (!mover || i->binding.due_usec < mover->binding.due_usec))
                mover = i;
        if (mover)
                reconcile(b, mover, now_usec);
}

void reconcile_first(Binder *b, uint64_t now_usec) {
        for (int crowd = 0; crowd < 2; crowd++)
                for (size_t k = 0; k < b->registry->n_instances && has_time(now_usec); k++) {
                        Instance *i = b->registry->instances[k];

                        if ((i->work & WORK_FIRST) && i->binding.due_usec <= now_usec &&
                            registry_is_crowd(b->registry, i) == crowd)
                                reconcile(b, i, now_usec);
                }
}

void binding_work(const Binder *b, Instance *i, uint32_t work, uint64_t now_usec) {
        /* A pass of the mover goes on, and ends with a look at all: one who starts or ends a
         * process more often than a pass takes would never see its end. What joins its unit, or its
         * scope, is bound by that. */
        const bool pass_goes_on = i->binding.state == INSTANCE_MOVING && i->n_members > 0 &&
                                  i->binding.by == MOVE_PULL &&
                                  instance_backend(i, &b->host->backend) == BACKEND_SYSTEMD;
        /* What its place and its binding were decided from is no longer true. A new name counts
         * only where the release of that name was requested. */
        const bool again = (work & (WORK_POLICY | WORK_ADMIN | WORK_REQUEST)) ||
                           (!pass_goes_on && (work & (WORK_JOINED | WORK_LEFT))) ||
                           ((work & WORK_RENAMED) && requests_release(&b->host->requests, i->name,
                                                                      i->unit) != i->undo.released);

        if (work & WORK_RELOADED)
                drift_note_reload(b, i, now_usec);
        if (work & WORK_JOINED) {
                instance_queue(i, WORK_FIRST);
                i->binding.pulled = i->binding.threads_known = false;
        }
        if (work & WORK_RECORD)
                (void)binding_enter(b, i, EVENT_RECORD, now_usec);
        else if (again)
                (void)binding_enter(b, i, binding_may_change(b, i) ? EVENT_CHANGE : EVENT_HALT,
                                    now_usec);
        else if (work & WORK_PLACE)
                (void)binding_enter(b, i, EVENT_PLACE, now_usec);
}

void reconcile_all(Binder *b, uint64_t now_usec) {
        bind_tidy(b);
        hotplug_check(b->host);
        thread_rounds_choose(b);
        REGISTRY_FOREACH(i, b->registry) {
                /* Work under way continues; an instance at a final step is observed again from the
                 * start. */
                if (i->binding.call.slot || i->binding.due_usec != INSTANCE_NEVER)
                        continue;
                (void)binding_enter(b, i, EVENT_ROUND, now_usec);
                if (has_time(now_usec))
                        reconcile(b, i, now_usec);
        }
        host_queue(b->host, HOST_WORK_PUBLISH);
}

bool reconcile_is_settled(const Binder *b) {
        if (b->undo->releases.n > 0)
                return false;
        REGISTRY_FOREACH(i, b->registry)
        if (i->binding.call.slot || i->binding.due_usec != INSTANCE_NEVER)
                return false;
        return true;
}
