/* Life of instances and of the processes in them. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/roster/instance.h"

bool instance_is_service(const Instance *instance) {
        return unit_is_service(instance->unit);
}

/* Also before its means are chosen, if its policy wants no other: it would be bound by the host's,
 * and released again. */
static bool is_by_affinity(const Instance *i) {
        return i->binding.ladder.rung == RUNG_AFFINITY ||
               (i->binding.ladder.rung == RUNG_NONE && i->policy &&
                i->policy->backend == POLICY_BACKEND_AFFINITY);
}

const BackendOps *instance_ops(const Instance *instance, const Backend *host) {
        return host->ops && is_by_affinity(instance) ? host->all[BACKEND_AFFINITY] : host->ops;
}

BackendKind instance_backend(const Instance *instance, const Backend *host) {
        return is_by_affinity(instance) ? BACKEND_AFFINITY : backend_kind(host);
}

InstanceIdentity instance_identity(const Instance *instance) {
        return (InstanceIdentity){ .unit = instance->unit,
                                   .exe = instance->exe,
                                   .ports = instance->ports,
                                   .n_ports = instance->n_ports,
                                   .first = instance->members[0].process.id };
}

int instance_new(const Process *first, uint64_t now_usec, Instance **ret) {
        Instance *i = calloc(1, sizeof(*i));

        if (!i)
                return -ENOMEM;
        i->binding = INSTANCE_BINDING_NONE;
        i->sampling = INSTANCE_SAMPLING_NONE;
        i->uid = first->uid;
        i->first_seen_usec = now_usec;
        i->describe_due_usec = INSTANCE_NEVER;
        i->unit = first->unit ? strdup(first->unit) : NULL;
        i->exe = strdup(first->exe);
        if ((first->unit && !i->unit) || !i->exe) {
                instance_free(i);
                return -ENOMEM;
        }
        *ret = i;
        return 0;
}

Instance *instance_free(Instance *instance) {
        if (!instance)
                return NULL;
        for (size_t i = 0; i < instance->n_members; i++)
                member_done(&instance->members[i]);
        free(instance->members);
        free(instance->name);
        free(instance->unit);
        free(instance->exe);
        free(instance->ports);
        free(instance->data_dir);
        free(instance->storage);
        free(instance);
        return NULL;
}

const NodeSet *instance_nodes(const Instance *instance) {
        return id_set_is_empty(&instance->binding.placement.nodes)
                       ? &instance->binding.observed.last_nodes
                       : &instance->binding.placement.nodes;
}

Members instance_members(const Instance *instance, const Sysroot *sysroot) {
        return (Members){ .sysroot = sysroot,
                          .list = instance->members,
                          .n = instance->n_members,
                          .unit = instance->unit };
}

bool instance_owns(const Instance *instance, const Process *process) {
        return process_joins(process, instance->members, instance->n_members, instance->unit);
}

int instance_add_process(Instance *instance, Process *process, ProcHandle *handle) {
        const pid_t pid = process->id.pid;
        size_t at = instance->n_members;
        Member member;
        int r = ARRAY_RESERVE(instance->members, instance->members_allocated, at + 1);

        if (r >= 0)
                r = member_init(&member, process, handle);
        if (r < 0)
                return r;
        while (at > 0 && instance->members[at - 1].process.id.pid > pid)
                at--;
        (void)ARRAY_INSERT(instance->members, instance->n_members, instance->members_allocated, at,
                           &member);
        instance->n_member_changes++;
        instance->news |= NEWS_JOINED;
        return 0;
}

ssize_t instance_find(const Instance *instance, pid_t pid) {
        const size_t low = ARRAY_LOWER_BOUND(instance->n_members, k,
                                             instance->members[k].process.id.pid < pid);

        return low < instance->n_members && instance->members[low].process.id.pid == pid
                       ? (ssize_t)low
                       : -1;
}

void instance_remove_process(Instance *instance, size_t index) {
        instance->n_member_changes++;
        instance->news |= NEWS_LEFT;
        member_done(&instance->members[index]);
        ARRAY_REMOVE(instance->members, instance->n_members, index);
}
