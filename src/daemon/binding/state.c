/* The state of an instance: what plan/state.h says of an event, and what is kept beside the state.
 * reconcile.c observes and decides, bind.c asks the backend, move.c moves memory. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/plan/pace.h"

/* Writes come in groups: systemd writes several files of a control group. They are collected for
 * this time, so an instance is reconciled at most this often because of them. */
#define SOON_USEC (UINT64_C(20) * 1000)
#define SETTLE_USEC (UINT64_C(1000) * 1000)

bool binding_cpus_applied(const Instance *i) {
        for (size_t k = 0; k < i->n_members; k++)
                if (!i->members[k].cpus_applied)
                        return false;
        return true;
}

void binding_reset_cpus(Instance *i) {
        for (size_t k = 0; k < i->n_members; k++)
                i->members[k].cpus_applied = false;
        i->binding.cpus_drift = i->binding.mems_drift = (Drift){ 0 };
}

void binding_end_widening(Instance *i) {
        i->binding.guard = (InstanceGuard){ .n_widenings = i->binding.guard.n_widenings };
}

static void instance_is_due_by(Instance *i, uint64_t usec) {
        if (usec < i->binding.due_usec)
                i->binding.due_usec = usec;
}

static void instance_restart(Instance *i, uint64_t now_usec) {
        i->binding.progress = (Progress){ 0 };
        i->binding.threads_known = false;
        i->binding.rest_until_usec = 0;
        i->binding.due_usec = now_usec;
}

InstanceAction binding_enter(const Binder *b, Instance *i, InstanceEvent event, uint64_t now_usec) {
        const Transition next = state_next(i->binding.state, event);

        if (next.state != i->binding.state)
                host_queue(b->host, HOST_WORK_PUBLISH);
        i->binding.state = next.state;
        switch (next.action) {
        case ACTION_BEGIN:
                i->binding.progress = (Progress){ 0 };
                i->binding.due_usec = now_usec;
                break;
        case ACTION_LOOK:
                instance_is_due_by(i, now_usec);
                break;
        case ACTION_LOOK_SOON:
                instance_is_due_by(i, now_usec + SOON_USEC);
                break;
        case ACTION_LOOK_LATER:
                retry_failed(&i->binding.progress.calls, RETRY_FIRST_USEC, RETRY_LAST_USEC,
                             now_usec);
                i->binding.due_usec = i->binding.progress.calls.due_usec;
                break;
        case ACTION_RESET: /* the answer of that call would be taken for that of a later one */
                i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
                i->binding.join_deadline_usec = 0;
                i->binding.we_narrowed = i->binding.pulled = false;
                binding_reset_cpus(i);
                binding_end_widening(i);
                instance_restart(i, now_usec);
                break;
        case ACTION_RESTART:
                instance_restart(i, now_usec);
                break;
        case ACTION_REST:
                i->binding.due_usec = INSTANCE_NEVER;
                i->binding.effect_deadline_usec = 0; /* what changes from now on is not ours */
                i->binding.asked = false;
                break;
        case ACTION_REPORT:
                i->binding.due_usec = INSTANCE_NEVER;
                break;
        case ACTION_SETTLE:
                i->binding.progress.settles++;
                i->binding.due_usec = now_usec + SETTLE_USEC;
                break;
        case ACTION_NONE:
        case ACTION_RECONCILE:
        case ACTION_SLICE:
        case ACTION_CALL:
        case ACTION_PULL:
        case ACTION_SWEEP:
        case N_INSTANCE_ACTIONS:
                break;
        }
        return next.action;
}

bool binding_may_change(const Binder *b, const Instance *i) {
        return host_enforces(b->host) || (i->binding.asked && host_obeys(b->host) &&
                                          b->host->policies.mode == ENFORCEMENT_ENFORCE);
}

void binding_ask(Instance *i) {
        i->binding.asked = true;
        instance_queue(i, WORK_REQUEST);
}

void binding_forget_asked(Instance *i) {
        i->binding.asked = false;
}

void binding_clear_failure(Instance *i) {
        free(i->binding.failure);
        i->binding.failure = NULL;
        i->binding.failure_code = REASON_NONE;
}

void binding_set_failure(Instance *i, Reason code, const char *format, ...) {
        va_list args;

        binding_clear_failure(i);
        i->binding.failure_code = code;
        va_start(args, format);
        if (vasprintf(&i->binding.failure, format, args) < 0)
                i->binding.failure = NULL;
        va_end(args);
}

void binding_end(Instance *i) {
        InstanceMemoryLimit *limit = &i->binding.limit;

        i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
        /* systemd may set it all the same, but before anything that it is asked for later. */
        if (limit->call.slot && i->undo.record)
                undo_after(i->binding.binder->undo, i->undo.record,
                           &(UndoChange){ .exclusive = true }, false);
        limit->call.slot = sd_bus_slot_unref(limit->call.slot);
        free(limit->recent);
        limit->recent = NULL;
        binding_clear_failure(i);
}
