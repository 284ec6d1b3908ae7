#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/placing/place.h"

/* Delay before a plan that failed because memory could not be allocated is tried again. */
#define REPLAN_USEC (UINT64_C(1000) * 1000)

#define INTERVAL_MAX_USEC (UINT64_C(60) * 1000 * 1000)

int binding_carry_counters(Binder *b, const PolicySet *fresh) {
        const PolicySet *before = &b->host->policies;
        PolicyCounters *counters = calloc(fresh->n_policies + 1, sizeof(*counters));

        if (!counters)
                return -ENOMEM;
        for (size_t i = 0; i < fresh->n_policies; i++) {
                const Policy *p = policy_set_find(before, fresh->policies[i].name);

                if (p)
                        counters[i] = b->policy_counters[p - before->policies];
        }
        free(b->policy_counters);
        b->policy_counters = counters;
        return 0;
}

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

void binding_end_kernel_moves(Instance *i) {
        free(i->binding.kernel.list);
        i->binding.kernel = (KernelMoves){ 0 };
}

static void end_pass(Instance *i) {
        binding_end_kernel_moves(i);
        i->binding.moving = i->binding.sweeping = false;
}

void binding_end_migration(Instance *i) {
        end_pass(i);
        i->binding.migration = (Migration){ 0 };
}

void binding_end_widening(Instance *i) {
        i->binding.guard = (InstanceGuard){ .n_widenings = i->binding.guard.n_widenings };
}

void binding_note_joined(Instance *i) {
        i->binding.fresh = true;
        i->binding.pulled = false;
}

void binding_restart(Instance *i, uint64_t now_usec) {
        end_pass(i);
        i->binding.progress = (Progress){ 0 };
        i->binding.threads_known = false;
        i->binding.rest_until_usec = 0;
        i->binding.due_usec = now_usec;
}

void binding_ask(Instance *i, uint64_t now_usec) {
        i->binding.asked = true;
        binding_restart(i, now_usec);
}

void binding_forget_asked(Instance *i) {
        i->binding.asked = false;
}

bool binding_may_change(const Binder *b, const Instance *i) {
        return host_enforces(b->host) || (i->binding.asked && host_obeys(b->host) &&
                                          b->host->policies.mode == ENFORCEMENT_ENFORCE);
}

/* Drop the pending call: its answer would be taken for that of a later call. */
void binding_reset(Instance *i, uint64_t now_usec) {
        i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
        i->binding.we_narrowed = i->binding.pulled = false;
        binding_reset_cpus(i);
        binding_end_widening(i);
        binding_restart(i, now_usec);
}

void binding_end(Instance *i) {
        end_pass(i);
        i->binding.call.slot = sd_bus_slot_unref(i->binding.call.slot);
        binding_clear_failure(i);
}

uint64_t binding_interval_usec(const Binder *b) {
        const uint64_t usec = sampling_interval_usec(b->sampling);

        return usec < INTERVAL_MAX_USEC ? usec : INTERVAL_MAX_USEC;
}

void binding_follow_plan(Binder *b, uint64_t now_usec) {
        ROSTER_FOREACH(i, b->roster)
                if (place_take_change(&i->planned) && now_usec < i->binding.due_usec &&
                    !i->binding.call.slot)
                        i->binding.due_usec = now_usec;
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

void binding_await_plan(Instance *i, uint64_t now_usec) {
        binding_set_failure(i, REASON_NO_MEMORY,
                            "the daemon has no memory to plan its place; it tries again");
        i->binding.due_usec = now_usec + REPLAN_USEC;
}
