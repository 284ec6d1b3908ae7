/* Binding steps that a backend carries out. reconcile.c decides which step is due. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/change/cgroup1.h"
#include "tidbnumad/change/scope.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/registry/start.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

/* Seconds. A process that was older when first seen ran before the daemon or its policy did: a
 * start that caused no event is found by polling within two seconds. */
#define LATENCY_AGE_MAX 5.0

/* A program that has run for so long has counted its CPUs. */
#define LATE_SECONDS 0.1

/* Delay before the next attempt of the backend, when the worker has probably returned from its
 * write. */
#define WRITE_AGAIN_USEC (UINT64_C(1000) * 1000)

/* cgroup1: so long workers may be busy with other instances, one after the other. The kernel takes
 * some 10 ms for each. */
#define JOIN_USEC (UINT64_C(10) * 1000 * 1000)
#define JOIN_POLL_USEC (UINT64_C(100) * 1000)

const char *bind_refuses(const Binder *b, Instance *i, Reason *ret_code) {
        const BackendOps *ops = instance_ops(i, &b->host->backend);
        const BackendTarget target = undo_target(i);
        const char *why = i->binding.own_refuses;

        /* Its memory would stay where its start wants it: away from its CPUs. */
        if (!why && i->binding.means.code == REASON_START_LIMITS) {
                const NodeSet own = memory_policy_nodes(i->memory_policy),
                              *nodes = &i->binding.placement.nodes;
                bool conflict;
                const char *start =
                        units_start_refuses(b->units, i->unit, &i->binding.placement, &conflict);

                conflict |= !id_set_is_empty(&own) && !id_set_intersects(&own, nodes);
                why = conflict ? start : NULL;
        }
        /* A plan for another machine (--sysroot) assumes that its backend works. */
        if (!why && b->host->sysroot.live && !ops)
                why = b->host->backend.why_not;
        else if (!why && b->host->sysroot.live && ops->refuses)
                why = ops->refuses(&b->host->backend, &target, &i->binding.placement);
        if (!ret_code)
                return why;
        if (!why)
                *ret_code = REASON_NONE;
        else if (i->binding.own_refuses)
                *ret_code = REASON_OWN_LIMITS;
        else if (i->binding.means.code == REASON_START_LIMITS)
                *ret_code = REASON_START_LIMITS;
        else if (b->host->sysroot.live && !b->host->backend.ops)
                *ret_code = REASON_CONTROLLER_MISSING;
        else
                *ret_code = backend_sets_threads(instance_backend(i, &b->host->backend))
                                    ? REASON_SLICE_TOO_TIGHT
                                    : REASON_NO_UNIT;
        return why;
}

const char *bind_refuses_scope(const Binder *b, const Instance *i, Reason *ret_code) {
        const BackendTarget target = undo_target(i);
        const char *why = scope_refuses(&b->host->sysroot, &target, ret_code);

        return why || !i->undo.record
                       ? why
                       : scope_refuses_by(&b->host->sysroot, i->undo.record, &target, ret_code);
}

void bind_note_latency(const Binder *b, Instance *i, uint64_t now_usec) {
        const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
        const double seen_seconds = (double)(now_usec - i->first_seen_usec) / 1e6;
        double age, latency;

        if (i->binding.latency_noted || id_set_is_empty(&i->binding.placement.nodes) ||
            !host_enforces(b->host) || i->n_members == 0 ||
            i->binding.observed.n_threads_off_cpus > 0 ||
            !step_cpus_in_force(instance_backend(i, &b->host->backend), &i->binding.observed,
                                &i->binding.placement))
                return;
        i->binding.latency_noted = true;
        /* Age of the instance's oldest process when the instance was first seen. A start is known
         * to a clock tick only, so an age of up to two ticks counts as zero. */
        age = clock_boottime_seconds() - (double)i->members[0].handle->start_ticks * tick -
              seen_seconds;
        if (age <= 2 * tick)
                age = 0;
        latency = age + seen_seconds;
        if (age < LATENCY_AGE_MAX)
                histogram_add(&b->host->policy_counters[i->policy_index].bind_latency, latency);
        if (i->binding.progress.cpu_writes > 0 && latency >= LATE_SECONDS)
                i->binding.late_pid = i->members[0].process.id.pid;
}

/* The caller has already set the failure's sentence. */
static void bind_try_later(const Binder *b, Instance *i, int error) {
        if (i->binding.progress.calls.failures == 0)
                journal_log(&b->host->journal, LOG_WARNING,
                            &INSTANCE_FIELDS(i, .reason = i->binding.failure_code), "%s: %s",
                            i->name, i->binding.failure ? i->binding.failure : strerror(-error));
        (void)binding_enter(b, i, EVENT_FAILURE, clock_monotonic_usec());
        i->binding.bind_failures++;
        b->host->policy_counters[i->policy_index].bind_failures[i->binding.failure_code]++;
        i->binding.effect_deadline_usec = 0;
        host_queue(b->host, HOST_WORK_PUBLISH);
}

static void call_failed(const Binder *b, Instance *i, const Error *error) {
        const char *what = i->binding.call_kind == STEP_SCOPE      ? "make a scope for it"
                           : i->binding.call_kind == STEP_SET_CPUS ? "set the CPUs"
                                                                   : "set the memory nodes";
        const Reason code = reason_of_error(error->code);
        _cleanup_text_ Text remedy = { 0 };

        reason_append_remedy(&remedy, code, i->unit);
        /* systemd's text is more precise than a number: that of a masked unit is ERFKILL. */
        binding_set_failure(i, code, "%s did not %s: %s; %s; trying again",
                            instance_ops(i, &b->host->backend)->name, what, error_sentence(error),
                            text_string(&remedy));
        bind_try_later(b, i, error->code);
}

/* The present values cannot be read, so they could not be restored later. */
static void cannot_note(const Binder *b, Instance *i, int error) {
        const Reason code = reason_of_error(error);
        _cleanup_text_ Text remedy = { 0 };

        reason_append_remedy(&remedy, code, i->unit);
        binding_set_failure(i, code,
                            "the original values cannot be read, so nothing is changed: %s; %s; "
                            "trying again",
                            strerror(-error), text_string(&remedy));
        bind_try_later(b, i, error);
}

/* What the step makes ours. Nothing where the values end with the process: they are not recorded.
 */
static UndoChange change_of(const Binder *b, const Instance *i, StepKind step,
                            const NodeSet *mems) {
        const bool by_unit = instance_backend(i, &b->host->backend) == BACKEND_SYSTEMD;
        const IdView cpus = ID_VIEW(&i->binding.placement.cpus);
        UndoChange change = { .members = i->members, .n_members = i->n_members };

        if (step == STEP_SET_CPUS && by_unit)
                change.properties[UNIT_CPUS] = cpus;
        else if (step == STEP_SET_CPUS)
                change.given = cpus;
        else if (step != STEP_SCOPE && by_unit)
                change.properties[UNIT_MEMS] = ID_VIEW(mems);
        return change;
}

static void call_succeeded(const Binder *b, Instance *i) {
        const UndoChange change = change_of(b, i, i->binding.call_kind, &i->binding.call_mems);
        Progress *p = &i->binding.progress;

        undo_after(b->undo, i->undo.record, &change, true);
        p->calls.failures = 0;
        if (!i->binding.guard.logged) /* the guard clears its own */
                binding_clear_failure(i);
        if (i->binding.call_kind == STEP_SCOPE) {
                p->scope_moves++;
                return;
        }
        if (i->binding.call_kind == STEP_SET_CPUS) {
                p->cpu_writes++;
                for (size_t k = 0; k < i->n_members; k++)
                        i->members[k].cpus_applied = true;
                return;
        }
        p->mem_writes++;
        i->binding.mems_written = true;
        units_note_mems(b->units, i->unit, &i->binding.call_mems);
        i->binding.we_narrowed |= i->binding.call_kind == STEP_NARROW;
        i->binding.guard.extra_pending = false;
        /* The results of earlier passes do not predict those of the next ones. */
        p->passes = p->sweeps = p->settles = 0;
}

static BackendCall *call_of(const Binder *b, Instance *i, BusUnitsReply reply) {
        i->binding.binder = b;
        i->binding.call.reply = reply;
        i->binding.call.userdata = i;
        return &i->binding.call;
}

static void on_reply(const Error *error, void *userdata) {
        Instance *i = userdata;
        const Binder *b = i->binding.binder;
        uint64_t now = clock_monotonic_usec();

        i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
        if (error->code < 0)
                call_failed(b, i, error);
        else {
                call_succeeded(b, i);
                (void)binding_enter(b, i, EVENT_ANSWER, now);
                i->binding.effect_deadline_usec = now + UNDO_SHOW_TIMEOUT_USEC;
        }
}

/* The present values are recorded: now carry out the step itself. */
static void on_noted(const Error *error, void *userdata) {
        Instance *i = userdata;
        const Binder *b = i->binding.binder;

        i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
        if (error->code < 0) {
                cannot_note(b, i, error->code);
        } else {
                if (undo_admin_limits_plan(b->undo, i)) { /* at once: it is about to be bound */
                        host_queue(b->host, HOST_WORK_PLAN);
                        place_refresh(b->placing);
                }
                (void)binding_enter(b, i, EVENT_ANSWER, clock_monotonic_usec());
        }
}

/* `before`: the number of such cases before the call. */
static void log_pid_reuses(const Binder *b, const Instance *i, uint64_t before) {
        if (b->host->backend.n_pid_reuses > before)
                journal_log(&b->host->journal, LOG_WARNING, &INSTANCE_FIELDS(i),
                            "%s: the number of one of its threads was reused by another process "
                            "while it was bound; that process has its own CPUs again (%llu such "
                            "cases so far)",
                            i->name, (unsigned long long)b->host->backend.n_pid_reuses);
}

void bind_check_start(const Binder *b, Instance *i) {
        bool started = false;

        for (size_t k = 0; k < i->n_members; k++)
                started |= i->members[k].start != NULL;
        if (started && (b->host->stopping || id_set_is_empty(&i->binding.placement.nodes) ||
                        !backend_sets_threads(instance_backend(i, &b->host->backend)) ||
                        bind_refuses(b, i, NULL)))
                start_take_back(b->registry, i);
}

/* The first unit of a slice with CPUs of its own gives all units of the slice a cpuset, and kernels
 * before 6.2 then forget the masks that their threads have chosen. So all instances that are about
 * to be bound by their units are recorded first: true while one of them is not. That takes some ms,
 * on a host without a CPU to spare seconds. An instance waits for the others for this time at most,
 * as one of them may have to wait for its place. */
#define OTHERS_NOTED_USEC (UINT64_C(10) * 1000 * 1000)
#define OTHERS_NOTED_POLL_USEC (UINT64_C(20) * 1000)

static bool others_are_to_be_noted(const Binder *b, Instance *i, const Step *step,
                                   uint64_t now_usec) {
        uint64_t *until_usec = &i->binding.others_noted_until_usec;
        bool awaited = false;

        if (step->kind != STEP_SET_CPUS || i->binding.means.method != METHOD_UNIT ||
            i->binding.observed.cpuset)
                return false;
        REGISTRY_FOREACH(other, b->registry) {
                const InstanceBinding *its = &other->binding;
                const bool placed = !id_set_is_empty(&its->placement.nodes);

                /* Is it to be bound by its unit, or may be, and what it has now is not in its
                 * record yet? */
                awaited |= other != i &&
                           (its->means.method == METHOD_NONE || its->means.method == METHOD_UNIT) &&
                           (its->state == INSTANCE_WAITING ||
                            (its->state == INSTANCE_BINDING && placed)) &&
                           binding_may_change(b, other) &&
                           !(other->undo.record && other->undo.record->cpus.noted);
        }
        if (!awaited || (*until_usec > 0 && now_usec >= *until_usec)) {
                *until_usec = 0;
                return false;
        }
        if (*until_usec == 0)
                *until_usec = now_usec + OTHERS_NOTED_USEC;
        return true;
}

/* -ESRCH: the process has ended, and its exit event will follow. */
static void bind_failed(const Binder *b, Instance *i, int error) {
        const Backend *backend = &b->host->backend;

        /* The hierarchy of cgroup1 turned out not to be writable. Where another backend is used
         * now, all instances are due by it. */
        if (backend->cgroup1_error != 0 && backend_kind(backend) == BACKEND_CGROUP1 &&
            bind_choose_backend(b))
                return;
        if (error != -ESRCH)
                call_failed(b, i, &(Error){ .code = error });
}

/* Counts as an attempt, as any other call that was answered. */
static void join_failed(const Binder *b, Instance *i, int error) {
        i->binding.call_kind = STEP_SET_CPUS;
        i->binding.bind_attempts++;
        b->host->policy_counters[i->policy_index].bind_attempts++;
        bind_failed(b, i, error);
}

void bind_joined(const Binder *b, Instance *i, int error, uint64_t pid_reuses) {
        const uint64_t now_usec = clock_monotonic_usec();

        log_pid_reuses(b, i, pid_reuses);
        if (i->binding.join_deadline_usec == 0)
                return; /* it is released, or another of its processes has failed */
        if (error < 0) {
                i->binding.join_deadline_usec = 0;
                join_failed(b, i, error);
        } else { /* the call is repeated, which finds it there; another process may have to wait */
                i->binding.join_deadline_usec = now_usec + JOIN_USEC;
                (void)binding_enter(b, i, EVENT_WORKER, now_usec);
        }
}

static bool instance_is_joining(const Binder *b, const Instance *i) {
        for (size_t k = 0; k < i->n_members; k++)
                if (workers_write_group_of(b->host->workers, &i->members[k].process.id))
                        return true;
        return false;
}

bool bind_awaits_group(const Binder *b, Instance *i, uint64_t now_usec) {
        if (i->binding.join_deadline_usec == 0 || !instance_is_joining(b, i))
                return false;
        if (now_usec < i->binding.join_deadline_usec)
                i->binding.due_usec = i->binding.join_deadline_usec;
        else if (i->binding.due_usec == INSTANCE_NEVER) /* else this pass has counted it already */
                join_failed(b, i, -ETIMEDOUT);
        return true;
}

/* Not one that is due anyway, as the one that has just joined is. */
void bind_join_next(const Binder *b) {
        const uint64_t now_usec = clock_monotonic_usec();

        REGISTRY_FOREACH(i, b->registry)
        if (i->binding.join_deadline_usec != 0 && i->binding.due_usec > now_usec &&
            !instance_is_joining(b, i)) {
                (void)binding_enter(b, i, EVENT_WORKER, now_usec);
                return;
        }
}

bool bind_carry_out(const Binder *b, Instance *i, const Step *step, uint64_t now_usec) {
        Backend *backend = &b->host->backend;
        const BackendOps *ops;
        BackendTarget target;
        BackendCall *call;
        uint64_t reuses;
        int r;

        i->binding.due_usec = INSTANCE_NEVER;
        r = undo_note(b->undo, i, step, call_of(b, i, on_noted));
        if (r > 0 && others_are_to_be_noted(b, i, step, now_usec)) {
                i->binding.due_usec = now_usec + OTHERS_NOTED_POLL_USEC;
                return false;
        }
        if (r > 0) {
                const UndoChange change = change_of(b, i, step->kind, &step->mems);
                const int error = undo_before(b->undo, i->undo.record, &change);

                r = error < 0 ? error : r;
        }
        if (r < 0)
                start_take_back(b->registry, i);
        if (r < 0 && reason_of_error(r) == REASON_BUS_GONE) { /* not a fault of the undo folder */
                cannot_note(b, i, r);
        } else if (r < 0 && r != -ESRCH) {
                binding_set_failure(i, REASON_RECORD_UNWRITABLE,
                                    "the original values cannot be saved in %s/" UNDO_FOLDER
                                    ", so nothing is changed: %s; trying again",
                                    b->host->args->runtime_dir, strerror(-r));
                bind_try_later(b, i, r);
        }
        if (r <= 0)
                return false;
        start_forget(i);
        drift_count(b, i, step, now_usec);
        i->binding.call_kind = step->kind;
        i->binding.call_mems = step->mems;
        i->binding.effect_deadline_usec = 0;
        backend->threads_whole = i->binding.progress.loop_passes >= OTHERS_PASSES_MAX;
        ops = instance_ops(i, backend);
        target = undo_target(i);
        reuses = backend->n_pid_reuses;
        call = call_of(b, i, on_reply);
        r = -EOPNOTSUPP;
        if (step->kind == STEP_SET_CPUS)
                r = ops->set_cpus(backend, &target, &i->binding.placement.cpus, call);
        else if (step->kind == STEP_SCOPE && ops->start_scope)
                r = ops->start_scope(backend, &target, i->undo.record, call);
        else if (step->kind != STEP_SCOPE && ops->set_mems)
                r = ops->set_mems(backend, &target, &step->mems, call);
        backend->threads_whole = false;
        log_pid_reuses(b, i, reuses);
        if (r == -EINPROGRESS) { /* the next pass of the loop goes on */
                i->binding.progress.loop_passes++;
                i->binding.due_usec = now_usec;
                return false;
        }
        i->binding.progress.loop_passes = 0;
        if (r == -EALREADY) { /* the worker's answer makes it due */
                i->binding.join_deadline_usec = now_usec + WORKER_JOIN_USEC;
                i->binding.due_usec = i->binding.join_deadline_usec;
                return false;
        }
        if (r == -EAGAIN) { /* many start at once: its turn will come */
                if (i->binding.join_deadline_usec == 0)
                        i->binding.join_deadline_usec = now_usec + JOIN_USEC;
                i->binding.due_usec = now_usec + JOIN_POLL_USEC;
                if (now_usec < i->binding.join_deadline_usec)
                        return false;
                r = -ETIMEDOUT;
        }
        if (step->kind == STEP_SET_CPUS) /* the guard may widen its nodes meanwhile */
                i->binding.join_deadline_usec = 0;
        i->binding.bind_attempts++;
        b->host->policy_counters[i->policy_index].bind_attempts++;
        if (r < 0)
                bind_failed(b, i, r);
        if (r <= 0)
                return false;
        call_succeeded(b, i);
        return true;
}

int bind_widen_now(const Binder *b, Instance *i, const NodeSet *mems, uint64_t now_usec) {
        const Step step = { .kind = STEP_WIDEN, .mems = *mems, .reason = "" };
        Backend *backend = &b->host->backend;
        const BackendTarget target = undo_target(i);
        const BackendOps *ops = instance_ops(i, backend);
        int r = ops && ops->widen_mems ? ops->widen_mems(backend, &target, mems) : -EOPNOTSUPP;

        if (r == -ENODEV || r == -ESRCH || r == -ENOMEM || r == -ETIME)
                return r;
        i->binding.guard.extra_pending = true;
        i->binding.mems_drift.in_force = false; /* what the daemon itself changes is no drift */
        if (r == -EINPROGRESS) {
                /* systemd would wait for the same lock in the kernel as the worker does. */
                i->binding.due_usec = now_usec + WRITE_AGAIN_USEC;
                return 0;
        }
        /* systemd handles an earlier request before this one, so this value is the final one. */
        i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
        if (bind_carry_out(b, i, &step, now_usec))
                i->binding.due_usec = now_usec;
        return 0;
}

/* While a worker joins a group, the kernel makes no other change of groups: it is left to the next
 * round. */
void bind_tidy(Binder *b) {
        if (b->host->backend.ops && b->host->backend.ops->tidy && host_enforces(b->host) &&
            !workers_are_busy(b->host->workers, WORKER_GROUP))
                b->host->backend.ops->tidy(&b->host->backend);
}

bool bind_choose_backend(const Binder *b) {
        Backend *backend = &b->host->backend;
        const char *before = backend_name(backend);

        if (!backend_choose(backend, b->host->policies.backend))
                return false;
        host_queue(b->host, HOST_WORK_PUBLISH);
        if (strcmp(before, "none") == 0)
                journal_log(&b->host->journal, LOG_INFO, NULL, "The backend is %s%s%s",
                            backend_name(backend), backend->weaker ? ": " : "",
                            backend->weaker ? backend->weaker : "");
        else if (b->registry->n_instances > 0)
                journal_log(&b->host->journal, LOG_NOTICE, NULL,
                            "The backend is now %s instead of %s%s%s. What units were given by %s "
                            "is released first",
                            backend_name(backend), before, backend->weaker ? ": " : "",
                            backend->weaker ? backend->weaker : "", before);
        REGISTRY_FOREACH(i, b->registry) {
                i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
                (void)binding_enter(b, i, EVENT_PLACE, clock_monotonic_usec());
                binding_reset_cpus(i);
        }
        return true;
}

#define INTERVAL_MAX_USEC (UINT64_C(60) * 1000 * 1000)

/* Kernels of 6.1 and later move, on a write of the memory nodes, from the nodes of the write before
 * it; a cpuset without an earlier write has none. */
bool binding_narrowing_takes_files(const Binder *b, const Instance *i) {
        const NodeSet all = topology_memory_nodes(&b->host->topology);
        const NodeSet *mems = &i->binding.observed.mems;

        return instance_backend(i, &b->host->backend) == BACKEND_SYSTEMD &&
               i->binding.placement.memory == MEMORY_BIND && i->binding.observed.cpuset &&
               !id_set_equal(mems, &i->binding.placement.nodes) &&
               (i->binding.mems_written || i->binding.we_narrowed ||
                units_did_narrow(b->units, i->unit) || !id_set_equal(mems, &all));
}

void binding_adopt_record(Instance *i) {
        const UndoRecord *record = i->undo.record;
        IdSet last;
        CpuSet given;

        if (!record)
                return;
        i->binding.we_narrowed |= record->mems.ours.n > 0;
        last = undo_values_last(&record->given);
        id_set_convert(&last, &given);
        if (!id_set_equal(&given, &i->binding.placement.cpus))
                return;
        for (size_t k = 0; k < i->n_members; k++) {
                const UndoProcess *entry = undo_record_find(record, &i->members[k].process.id);

                i->members[k].cpus_applied |= entry && entry->given;
        }
}

uint64_t binding_interval_usec(const Binder *b) {
        const uint64_t usec = sampling_interval_usec(b->sampling);

        return usec < INTERVAL_MAX_USEC ? usec : INTERVAL_MAX_USEC;
}

/* Where an instance's control groups are, on either version of them. */

void groups_close(BindingGroups *groups) {
        closep(&groups->group_fd);
        closep(&groups->cpuset_fd);
        free((char *)groups->group_path);
        free((char *)groups->unit_path);
        free((char *)groups->cpuset_path);
        *groups = GROUPS_NONE;
}

int groups_open(const Binder *b, Instance *i, BindingGroups *ret) {
        const Members members = facts_members(&i->facts, &b->host->sysroot);
        const BackendTarget target = undo_target(i);
        _cleanup_groups_ BindingGroups g = GROUPS_NONE;
        char *path = NULL, *cpuset_path = NULL;
        int r = members_open_group(&members, &g.group_fd, &path);

        *(cgroup_version(members.sysroot) == CGROUP_V1 ? &g.group_path : &g.unit_path) = path;
        switch (instance_backend(i, &b->host->backend)) {
        case BACKEND_SYSTEMD: /* this backend needs the unit */
                if (r < 0)
                        return r;
                /* fall through */
        case BACKEND_AUTO:
                g.cpuset_fd = g.group_fd < 0 ? -EBADF : fcntl(g.group_fd, F_DUPFD_CLOEXEC, 3);
                break;
        case BACKEND_CGROUP1:
                (void)backend_cgroup1_open(&b->host->backend, &target, &g.cpuset_fd, &cpuset_path);
                g.cpuset_path = cpuset_path;
                break;
        case BACKEND_AFFINITY:
                break;
        }
        *ret = g;
        g = GROUPS_NONE;
        return 0;
}

/* Chooses the instances whose threads are read. */

/* A round reads at least this many threads; each thread of an instance at rest is read again within
 * these times. A cpuset confines the threads to its CPUs, and the kernel reports writes to it;
 * without a cpuset only the threads' own masks show drift. */
#define ROUND_THREADS 1000
#define THREADS_CPUSET_USEC (UINT64_C(600) * 1000 * 1000)
#define THREADS_USEC (UINT64_C(60) * 1000 * 1000)

static bool is_in_cpuset(const Instance *i) {
        return i->binding.observed.cpuset && !id_set_is_empty(&i->binding.placement.cpus);
}

/* Continues where the last round ended. Threads that the last round read beyond its share are
 * subtracted; otherwise one instance with 100,000 threads would be read in each round. */
static void choose_threads(Binder *b, bool in_cpuset) {
        const uint64_t within_usec = in_cpuset ? THREADS_CPUSET_USEC : THREADS_USEC;
        const size_t n_instances = b->registry->n_instances;
        ThreadRounds *rounds = &b->thread_rounds[in_cpuset];
        const size_t first = n_instances > 0 ? rounds->next % n_instances : 0;
        size_t n = rounds->n_ahead;
        uint64_t share = 0;

        REGISTRY_FOREACH(i, b->registry)
        if (is_in_cpuset(i) == in_cpuset)
                share += i->binding.observed.n_threads;
        share = share * binding_interval_usec(b) / within_usec + 1;
        if (share < ROUND_THREADS)
                share = ROUND_THREADS;
        for (size_t k = 0; k < n_instances; k++) {
                const size_t index = (first + k) % n_instances;
                Instance *i = b->registry->instances[index];
                InstanceBinding *own = &i->binding;

                if (is_in_cpuset(i) != in_cpuset)
                        continue;
                /* At rest: at a final step, with no thread outside its CPUs. */
                own->threads_known = n >= share && step_is_final(own->step.kind) &&
                                     own->observed_known && !(i->work & WORK_FIRST) &&
                                     (id_set_is_empty(&own->placement.cpus) ||
                                      own->observed.n_threads_outside == 0);
                if (own->threads_known)
                        continue;
                n += own->observed.n_threads;
                rounds->next = index + 1;
        }
        rounds->n_ahead = n > share ? n - share : 0;
}

void thread_rounds_choose(Binder *b) {
        choose_threads(b, false);
        choose_threads(b, true);
}
