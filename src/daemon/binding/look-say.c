/* A look at an instance: what it tells. */
#include "tidbnumad/daemon/binding/look-say.h"

const char *look_say_state(const Instance *i, StepKind kind) {
        switch (kind) {
        case STEP_WATCH:
                return i->undo.released ? "released" : "watched";
        case STEP_REFUSE:
                return "refused";
        case STEP_SCOPE:
        case STEP_SET_CPUS:
                return "binding";
        case STEP_WIDEN:
        case STEP_NARROW:
                return "narrowing";
        case STEP_PULL:
        case STEP_SWEEP:
                return "moving";
        case STEP_SETTLE:
                return "settling";
        case STEP_DONE:
                return "bound";
        case STEP_WIDENED:
                return "widened";
        case STEP_PARTLY:
                return "partly";
        }
        return "waiting";
}

void look_say_final(const Instance *i) {
        const JournalFields fields = {
                .instance = i->name,
                .policy = i->policy->name,
                .message_id = i->binding.step.kind == STEP_DONE     ? JOURNAL_BOUND
                              : i->binding.step.kind == STEP_REFUSE ? JOURNAL_REFUSED
                                                                    : JOURNAL_PARTLY,
                .reason = i->binding.step.code,
        };
        char nodes[ID_SET_LIST_MAX], cpus[ID_SET_LIST_MAX];

        (void)id_set_render_list(&i->binding.placement.nodes, nodes, sizeof(nodes));
        (void)id_set_render_list(&i->binding.placement.cpus, cpus, sizeof(cpus));
        if (i->binding.step.kind == STEP_DONE)
                journal_log(&i->manager->host.journal, LOG_INFO, &fields,
                            "%s is bound to node %s (CPUs %s, memory: %s); %.1f MiB were moved, "
                            "%.1f s after it was first seen",
                            i->name, nodes, cpus,
                            memory_mode_to_string(i->binding.placement.memory),
                            (double)i->binding.migrated_bytes / (1 << 20), i->binding.bind_seconds);
        else if (i->binding.step.kind != STEP_WATCH &&
                 i->binding.step.kind != STEP_WIDENED) /* the guard tells */
                journal_log(&i->manager->host.journal, LOG_WARNING, &fields, "%s %s node %s: %s",
                            i->name,
                            i->binding.step.kind == STEP_REFUSE ? "is not bound to"
                                                                : "is only partly bound to",
                            nodes, i->binding.step.reason);
}

void look_say_plan(Instance *i, const Step *step) {
        BackendKind kind = backend_kind(&i->manager->host.backend);
        bool by_unit = kind == BACKEND_AUTO || kind == BACKEND_SYSTEMD;
        char list[ID_SET_LIST_MAX];

        i->binding.state = "planned";
        i->binding.due_usec = INSTANCE_NEVER;
        switch (step->kind) {
        case STEP_SCOPE:
                instance_set_failure(i, REASON_OBSERVE,
                                     "would move it to a scope of its own; when its session is "
                                     "ended by systemd, so is that");
                break;
        case STEP_SET_CPUS:
                (void)id_set_render_list(&i->binding.placement.cpus, list, sizeof(list));
                instance_set_failure(i, REASON_OBSERVE,
                                     by_unit ? "would set AllowedCPUs=%s" : "would set CPUs %s",
                                     list);
                break;
        case STEP_WIDEN:
        case STEP_NARROW:
                (void)id_set_render_list(&step->mems, list, sizeof(list));
                instance_set_failure(i, REASON_OBSERVE,
                                     by_unit ? "would set AllowedMemoryNodes=%s"
                                             : "would set memory nodes %s",
                                     list);
                break;
        default:
                instance_set_failure(i, REASON_OBSERVE, "would move %s%.1f MiB",
                                     i->binding.fits ? "" : "what its nodes have room for of ",
                                     (double)i->binding.outside_bytes / (1 << 20));
        }
        host_mark(&i->manager->host, HOST_MARK_PUBLISH);
}
