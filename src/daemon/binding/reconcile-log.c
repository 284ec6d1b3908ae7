#include "tidbnumad/daemon/binding/reconcile-log.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/binding/move-progress.h"
#include "tidbnumad/daemon/undo/undo-change.h"

/* A pause, or its end, takes effect at once, and not only at the next reconcile of an instance that
 * is under way. */
static InstanceState state_of(const Binder *b, const Instance *i) {
        switch (i->binding.state) {
        case INSTANCE_PLANNED:
        case INSTANCE_BINDING:
        case INSTANCE_NARROWING:
        case INSTANCE_MOVING:
        case INSTANCE_SETTLING:
                return verdict_state(i->binding.step.kind, binding_may_change(b, i), false);
        default:
                return i->binding.state;
        }
}

Verdict reconcile_verdict(const Binder *b, const Instance *i) {
        const bool outlived = i->binding.failure_code == REASON_OBSERVE && binding_may_change(b, i);

        return verdict_of(&(VerdictInput){
                .state = state_of(b, i),
                .step = &i->binding.step,
                .placement = &i->binding.placement,
                .binding = i->binding.observed_known ? &i->binding.observed : NULL,
                .backend = instance_backend(i, &b->host->backend),
                .open_nodes = undo_open_nodes(b->undo, i),
                .memory_known = i->sampling.memory_known,
                .outside_bytes = i->binding.outside_bytes,
                .widened_why = i->binding.guard.widened ? i->binding.guard.why : REASON_NONE,
                .failure = outlived ? NULL : i->binding.failure,
                .failure_code = i->binding.failure_code,
        });
}

bool reconcile_found_bound(const Binder *b, const Instance *i) {
        return i->binding.bind_attempts == 0 && i->binding.migrated_bytes == 0 &&
               i->n_members > 0 && i->members[0].process.id.start_ticks < b->roster->since_ticks;
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

void reconcile_log_final(const Binder *b, const Instance *i, bool first, uint64_t now_usec) {
        const Verdict v = reconcile_verdict(b, i);
        const JournalFields fields = {
                .instance = i->name,
                .policy = i->policy->name,
                .message_id = v.state == INSTANCE_BOUND     ? JOURNAL_BOUND
                              : v.state == INSTANCE_REFUSED ? JOURNAL_REFUSED
                                                            : JOURNAL_PARTLY,
                .reason = v.code,
        };
        static const char by_affinity[] = "; bound by affinity, because ";
        const char *why = i->binding.ladder.why;
        char nodes[ID_SET_LIST_MAX], cpus[ID_SET_LIST_MAX];
        _cleanup_text_ Text how = { 0 };

        (void)id_set_render_list(&i->binding.placement.nodes, nodes, sizeof(nodes));
        (void)id_set_render_list(&i->binding.placement.cpus, cpus, sizeof(cpus));
        if (first)
                text_appendf(&how, ", %.1f s after tidbnumad saw it first",
                             i->binding.bind_seconds);
        if (i->binding.migration.under_way && i->binding.migration.begun_bytes > 0) {
                text_append(&how, "; ");
                move_progress_describe(i, now_usec, &how);
        }
        if (v.state == INSTANCE_BOUND)
                journal_log(&b->host->journal, LOG_INFO, &fields,
                            "%s is bound to node %s (CPUs %s, memory %s)%s%s%s", i->name, nodes,
                            cpus, verdict_memory_word(i->binding.placement.memory, v.memory_bound),
                            how.data ? how.data : "", why ? by_affinity : "", why ? why : "");
        else if (v.state == INSTANCE_PARTLY ||
                 v.state == INSTANCE_REFUSED) /* the guard logs `widened` */
                journal_log(&b->host->journal, LOG_WARNING, &fields,
                            "%s %s node %s (CPUs %s, memory %s): %s%s%s", i->name,
                            v.state == INSTANCE_REFUSED ? "is not bound to"
                                                        : "is only partly bound to",
                            nodes, v.cpu_bound ? "bound" : "not bound",
                            verdict_memory_word(i->binding.placement.memory, v.memory_bound),
                            v.reason, why ? by_affinity : "", why ? why : "");
}

void reconcile_log_plan(const Binder *b, Instance *i, const Step *step) {
        BackendKind kind = instance_backend(i, &b->host->backend);
        bool by_unit = kind == BACKEND_AUTO || kind == BACKEND_SYSTEMD;
        char list[ID_SET_LIST_MAX];

        i->binding.due_usec = INSTANCE_NEVER;
        switch (step->kind) {
        case STEP_SCOPE:
                binding_set_failure(i, REASON_OBSERVE,
                                    "would move it to its own scope, which systemd stops together "
                                    "with its session");
                break;
        case STEP_SET_CPUS:
                (void)id_set_render_list(&i->binding.placement.cpus, list, sizeof(list));
                binding_set_failure(i, REASON_OBSERVE,
                                    by_unit ? "would set AllowedCPUs=%s" : "would set CPUs %s",
                                    list);
                break;
        case STEP_WIDEN:
        case STEP_NARROW:
                (void)id_set_render_list(&step->mems, list, sizeof(list));
                binding_set_failure(i, REASON_OBSERVE,
                                    by_unit ? "would set AllowedMemoryNodes=%s"
                                            : "would set memory nodes %s",
                                    list);
                break;
        default:
                binding_set_failure(i, REASON_OBSERVE, "would move %s%.1f MiB",
                                    i->binding.fits ? "" : "what its nodes have room for of ",
                                    (double)i->binding.outside_bytes / (1 << 20));
        }
        host_mark(b->host, HOST_MARK_PUBLISH);
}
