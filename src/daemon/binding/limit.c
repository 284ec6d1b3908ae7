/* The memory limit of units: carries out what plan/limit.h decides, and watches what is in force.
 */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"

/* Until what was reclaimed shows, or another write of the same unit has ended. */
#define AGAIN_USEC (UINT64_C(200) * 1000)

static int limit_read_memory(int group_fd, LimitMemory *ret) {
        CgroupMemory m;
        int r = group_fd < 0 ? -EBADF : cgroup_memory_read(group_fd, &m);

        if (r < 0)
                return r;
        *ret = (LimitMemory){ .limit_bytes = m.limit_bytes,
                              .brake_bytes = m.brake_bytes,
                              .has_brake = m.has_brake,
                              .current_bytes = m.current_bytes,
                              .inactive_file_bytes = m.inactive_file_bytes,
                              .active_file_bytes = m.active_file_bytes,
                              .unclean_bytes = m.unclean_bytes };
        return 0;
}

void limit_observe(Instance *i, int group_fd) {
        InstanceMemoryLimit *l = &i->binding.limit;

        /* Of instances without a limit the kernel's counters are not flushed for nothing. */
        if (i->planned.limit_bytes == 0 && !undo_limit_of(i))
                group_fd = -EBADF;
        l->memory_known = limit_read_memory(group_fd, &l->memory) >= 0;
}

static bool limit_is_ours(const Instance *i) {
        const UndoRecord *noted = undo_limit_of(i);

        return noted && i->binding.limit.memory_known &&
               undo_record_is_ours(noted, UNIT_LIMIT,
                                   UNIT_BYTES(&i->binding.limit.memory.limit_bytes));
}

/* --- lifting --- */

static int limit_open_group(const Binder *b, Instance *i, BindingGroups *ret) {
        int r = groups_open(b, i, ret);

        return r >= 0 && ret->group_fd < 0 ? -ENOENT : r;
}

/* In the kernel's files, at once; the property follows. */
static int limit_lift(const Binder *b, Instance *i) {
        const UndoRecord *noted = undo_limit_of(i);
        InstanceMemoryLimit *l = &i->binding.limit;
        _cleanup_groups_ BindingGroups open = GROUPS_NONE;
        int r = limit_open_group(b, i, &open);

        if (r >= 0 && noted)
                r = backend_limit_lift(open.group_fd, noted);
        if (r < 0 && r != -ESRCH && !l->lift_failed)
                journal_log(&b->host->journal, LOG_WARNING, &INSTANCE_FIELDS(i),
                            "%s: its memory limit cannot be lifted: %s; trying again", i->name,
                            strerror(-r));
        l->lift_failed = r < 0;
        if (r >= 0)
                r = limit_read_memory(open.group_fd, &l->memory);
        return r;
}

/* --- setting --- */

static void limit_note_failure(const Binder *b, Instance *i, const Error *error) {
        InstanceMemoryLimit *l = &i->binding.limit;

        if (l->retry.failures == 0)
                journal_log(&b->host->journal, LOG_WARNING,
                            &INSTANCE_FIELDS(i, .reason = reason_of_error(error->code)),
                            "%s: its memory limit cannot be set: %s; trying again", i->name,
                            error_sentence(error));
        retry_failed(&l->retry, RETRY_FIRST_USEC, RETRY_LAST_USEC, clock_monotonic_usec());
}

static UndoChange limit_change(const InstanceMemoryLimit *l) {
        return (UndoChange){ .properties[UNIT_LIMIT] = UNIT_BYTES(&l->setting_bytes),
                             .exclusive = true };
}

static void on_set(const Error *error, void *userdata) {
        Instance *i = userdata;
        const Binder *b = i->binding.binder;
        InstanceMemoryLimit *l = &i->binding.limit;
        const UndoChange change = limit_change(l);

        l->call.slot = sd_bus_slot_unref(l->call.slot);
        undo_after(b->undo, i->undo.record, &change, error->code >= 0);
        if (error->code < 0) {
                limit_note_failure(b, i, error);
                (void)limit_lift(b, i); /* what it was reclaimed by */
                return;
        }
        l->retry.failures = 0;
        /* Follows it up soon, as the instance may be at rest. */
        (void)binding_enter(b, i, EVENT_ANSWER, clock_monotonic_usec());
}

static void on_unit(int error, const BusUnit *unit, void *userdata) {
        Instance *i = userdata;
        const Binder *b = i->binding.binder;

        i->binding.limit.call.slot = sd_bus_slot_unref(i->binding.limit.call.slot);
        if (error >= 0 && i->undo.record)
                error = undo_note_limit(&b->host->sysroot, i->undo.record, unit->memory_max);
        if (error < 0) {
                limit_note_failure(b, i, &(Error){ .code = error });
                return;
        }
        (void)binding_enter(b, i, EVENT_ANSWER, clock_monotonic_usec());
}

/* Writes down what the kernel's file or the property is about to have. 1: it is; 0: the unit is
 * read before, after which on_unit() has the instance looked at again. */
static int limit_record(const Binder *b, Instance *i, const UndoChange *change) {
        int r;

        i->binding.binder = b;
        r = undo_note_for_limit(b->undo, i, on_unit, i, &i->binding.limit.call.slot);
        if (r > 0) {
                if (i->binding.limit.memory_known)
                        backend_limit_note_brake(i->undo.record,
                                                 i->binding.limit.memory.brake_bytes);
                r = undo_before(b->undo, i->undo.record, change);
                r = r < 0 ? r : 1;
        }
        return r;
}

/* `bytes` UINT64_MAX: what it had before. */
static int limit_set(const Binder *b, Instance *i, uint64_t bytes) {
        InstanceMemoryLimit *l = &i->binding.limit;
        const BackendTarget target = { .unit = i->unit };
        UndoChange change;
        int r;

        l->setting_bytes = bytes;
        change = limit_change(l);
        r = limit_record(b, i, &change);
        if (r <= 0)
                return r;
        l->call = (BackendCall){ .reply = on_set, .userdata = i };
        r = backend_set_property(&b->host->backend, &target, UNIT_LIMIT,
                                 bytes == UINT64_MAX ? undo_property_before(&i->undo.record->limit)
                                                     : UNIT_BYTES(&bytes),
                                 &l->call);
        if (r < 0)
                undo_after(b->undo, i->undo.record, &change, false);
        return r;
}

/* Written down before, as a limit that nobody knows of would be lifted by nobody. */
static int limit_reclaim(const Binder *b, Instance *i) {
        InstanceMemoryLimit *l = &i->binding.limit;
        const UndoChange change = { .properties[UNIT_LIMIT] = UNIT_BYTES(&l->wanted_bytes) };
        _cleanup_groups_ BindingGroups open = GROUPS_NONE;
        int r = limit_record(b, i, &change);

        if (r <= 0)
                return r;
        r = limit_open_group(b, i, &open);
        return r < 0 ? r
                     : backend_limit_brake(&b->host->backend, i->members[0].handle, open.group_fd,
                                           l->wanted_bytes);
}

static void limit_act(const Binder *b, Instance *i, LimitAction action, uint64_t now_usec) {
        InstanceMemoryLimit *l = &i->binding.limit;
        int r = 0;

        switch (action) {
        case LIMIT_DO_NOTHING:
                return;
        case LIMIT_TAKE_BACK:
                r = limit_lift(b, i);
                if (r >= 0)
                        r = limit_set(b, i, UINT64_MAX);
                break;
        case LIMIT_SET_PROPERTY:
                r = limit_set(b, i, l->wanted_bytes);
                break;
        case LIMIT_RECLAIM:
                r = limit_reclaim(b, i);
                /* Not finished, or there is not yet so much clean page cache (v1). */
                if (r >= 0 || r == -ETIMEDOUT || r == -EBUSY)
                        r = -EAGAIN;
                break;
        }
        if (r == -EAGAIN)
                l->retry.due_usec = now_usec + AGAIN_USEC;
        else if (r < 0 && r != -ESRCH)
                limit_note_failure(b, i, &(Error){ .code = r });
}

void limit_follow(const Binder *b, Instance *i, uint64_t now_usec) {
        const UndoRecord *noted = undo_limit_of(i);
        InstanceMemoryLimit *l = &i->binding.limit;
        const LimitState before = l->state;
        const bool placed = !id_set_is_empty(&i->binding.placement.nodes);
        const BindMethod method = i->binding.means.method;
        const ProcessId *oldest = i->n_members > 0 ? &i->members[0].process.id : NULL;
        /* A plan for another machine assumes that it works. */
        const bool can =
                (!b->host->sysroot.live && method == METHOD_NONE) ||
                (instance_is_service(i) && (method == METHOD_UNIT || method == METHOD_DIRECTORY));
        /* By which means it is bound may not be known yet, as while its unit is read for the first
         * time: that it has no unit of its own is not known either. */
        const bool chosen = method != METHOD_NONE || !b->host->backend.ops;
        LimitInput in = {
                .wanted = i->policy->memory_limit != MEMORY_LIMIT_NONE,
                .wanted_bytes = placed && chosen ? i->planned.limit_bytes : 0,
                .refused = can || !chosen ? NULL : "it has no unit of its own",
                .before_bytes = noted ? undo_record_limit_before(noted) : UINT64_MAX,
                .before_known = noted,
                .recorded = noted && undo_record_limit_last(noted) > 0,
                .ours_bytes = noted && !noted->limit_unset ? undo_record_limit_last(noted) : 0,
                .is_ours = limit_is_ours(i),
                .memory = l->memory_known ? &l->memory : NULL,
                .lifted = l->lifted,
                .guarded = b->guard_timer,
                .may_change = binding_may_change(b, i),
        };
        const double mib = (double)in.wanted_bytes / (1 << 20);
        LimitStep step;
        bool watched;

        /* Did it start with that limit? The limit may have been another one meanwhile, as while a
         * server on its node was started again: it has kept the sizes of its start. A restart of
         * the daemon forgets that, and then says what is the worse for the server. */
        if (oldest && in.ours_bytes > 0 && noted->limit.since_ticks <= oldest->start_ticks) {
                l->born = *oldest;
                l->born_bytes = in.ours_bytes;
        }
        in.before_start =
                oldest && process_id_equal(&l->born, oldest) && l->born_bytes == in.wanted_bytes;
        step = limit_next(&in);
        l->wanted_bytes = in.wanted_bytes;
        l->state = step.state;
        if (!in.wanted)
                l->lifted = false;
        if (l->state != before) {
                if (l->state == LIMIT_SET || l->state == LIMIT_NEXT_START)
                        journal_log(&b->host->journal, LOG_INFO, &INSTANCE_FIELDS(i),
                                    "%s: MemoryMax= of %s is %.0f MiB: %s", i->name, i->unit, mib,
                                    limit_state_to_sentence(l->state));
                else if (l->state == LIMIT_HELD || l->state == LIMIT_SMALLER ||
                         l->state == LIMIT_NO_UNIT)
                        journal_log(&b->host->journal, LOG_NOTICE, &INSTANCE_FIELDS(i),
                                    "%s: its memory limit of %.0f MiB is %s", i->name, mib,
                                    limit_state_to_sentence(l->state));
                else if (l->state == LIMIT_NONE && before != LIMIT_WAITING)
                        journal_log(&b->host->journal, LOG_INFO, &INSTANCE_FIELDS(i),
                                    "%s: its policy sets no memory limit any more", i->name);
                host_queue(b->host, HOST_WORK_PUBLISH);
        }
        /* Is there a limit that the guard has to watch, or one that it has lifted? What cannot be
         * read for a moment, as a reload runs in its unit, may still be in force. */
        watched = b->guard_timer && host_obeys(b->host) &&
                  (limit_is_ours(i) || l->lifted || l->state == LIMIT_PENDING ||
                   (l->recent && !l->memory_known));
        if (watched && !l->recent)
                l->recent = calloc(1, sizeof(*l->recent)); /* else at the next reconcile */
        if (!watched) {
                free(l->recent);
                l->recent = NULL;
        }
        if (!l->call.slot && now_usec >= l->retry.due_usec)
                limit_act(b, i, step.action, now_usec);
        if (l->retry.due_usec > now_usec && i->binding.due_usec > l->retry.due_usec)
                i->binding.due_usec = l->retry.due_usec;
}

/* --- what is in force --- */

uint64_t limit_attend(const Binder *b, Instance *i, uint64_t now_usec) {
        InstanceMemoryLimit *l = &i->binding.limit;
        _cleanup_groups_ BindingGroups open = GROUPS_NONE;
        LimitMemory *m = &l->memory;
        GuardVerdict verdict;
        bool near;
        GuardReading reading;
        GuardOutlook o;
        NodeSet it = { 0 };
        uint64_t limit;

        if (limit_open_group(b, i, &open) < 0 || limit_read_memory(open.group_fd, m) < 0)
                return GUARD_INTERVAL_USEC; /* it has ended, or is about to */
        l->memory_known = true;
        limit = limit_is_ours(i) ? m->limit_bytes : l->wanted_bytes;
        if (!l->lifted && !limit_is_ours(i)) /* it is about to be; or somebody else has set one */
                return l->state == LIMIT_PENDING ? GUARD_FAST_INTERVAL_USEC : GUARD_INTERVAL_USEC;
        if (limit != l->recent_bytes) { /* a smaller one is no fall */
                *l->recent = (GuardNode){ .node = 0 };
                l->held_bytes = 0;
        }
        l->recent_bytes = limit;
        l->recent->headroom_bytes = fit_headroom_bytes(limit_brake_bytes(limit), 0);
        reading = limit_reading(m, limit, now_usec);
        guard_add(l->recent, &reading);
        id_set_add(&it, l->recent->node);
        o = guard_predict(l->recent, 1, &it);
        verdict = guard_judge(&o);
        near = l->held_bytes > 0 && limit_is_near(limit_held_bytes(m), l->held_bytes, limit);
        l->held_bytes = limit_held_bytes(m);
        if (l->lifted && limit_is_ours(i) && limit_lift(b, i) >= 0)
                return GUARD_INTERVAL_USEC; /* systemd has written its property again */
        if (l->lifted) {
                if (!guard_has_rested(&o, GUARD_CALM_USEC, &l->rested_since_usec, now_usec))
                        return GUARD_INTERVAL_USEC;
                l->lifted = false; /* binding sets it again */
                (void)binding_enter(b, i, EVENT_ANSWER, now_usec);
                return GUARD_FAST_INTERVAL_USEC; /* it will be in force within less */
        }
        if ((verdict == GUARD_WIDEN || near) && limit_lift(b, i) >= 0) {
                journal_log(&b->host->journal, LOG_WARNING, &INSTANCE_FIELDS(i),
                            "%s: it holds %.1f MiB that cannot be reclaimed (%.1f MiB more each "
                            "second), and its memory limit is %.1f MiB: the limit is lifted, until "
                            "there has been room for a minute, or it is stopped and started",
                            i->name, (double)limit_held_bytes(m) / (1 << 20),
                            (double)o.fall_bytes_per_sec / (1 << 20), (double)limit / (1 << 20));
                l->lifted = true;
                l->rested_since_usec = 0;
                l->state = LIMIT_LIFTED;
                host_queue(b->host, HOST_WORK_PUBLISH);
                (void)binding_enter(b, i, EVENT_ANSWER, now_usec); /* which lifts the property */
                return GUARD_INTERVAL_USEC;
        }
        return verdict != GUARD_QUIET || limit < LIMIT_SMALL_BYTES || !m->has_brake
                       ? GUARD_FAST_INTERVAL_USEC
                       : GUARD_INTERVAL_USEC;
}

void limit_lift_all(const Binder *b) {
        REGISTRY_FOREACH(i, b->registry) {
                InstanceMemoryLimit *l = &i->binding.limit;

                if (!undo_limit_of(i) || i->n_members == 0)
                        continue;
                (void)limit_lift(b, i);
                /* systemd may be about to write the file: what it is asked for last counts. */
                if (l->call.slot) {
                        l->call.slot = sd_bus_slot_unref(l->call.slot);
                        undo_after(b->undo, i->undo.record, &(UndoChange){ .exclusive = true },
                                   false);
                        (void)limit_set(b, i, UINT64_MAX);
                }
        }
}
