/* Life of instances and of the processes in them. */
#include <math.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/roster/instance.h"

bool instance_is_service(const Instance *instance) {
        return unit_is_service(instance->unit);
}

InstanceIdentity instance_identity(const Instance *instance) {
        return (InstanceIdentity){ .unit = instance->unit,
                                   .exe = instance->exe,
                                   .ports = instance->ports,
                                   .n_ports = instance->n_ports,
                                   .first = instance->processes[0].id };
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
        for (size_t i = 0; i < instance->n_processes; i++) {
                sd_event_source_disable_unref(instance->exits[i]);
                process_done(&instance->processes[i]);
                proc_close(&instance->handles[i]);
        }
        free(instance->exits);
        free(instance->processes);
        free(instance->handles);
        free(instance->name);
        free(instance->unit);
        free(instance->exe);
        free(instance->ports);
        free(instance->data_dir);
        free(instance);
        return NULL;
}

Members instance_members(const Instance *instance, const Sysroot *sysroot) {
        return (Members){ .sysroot = sysroot,
                          .processes = instance->processes,
                          .handles = instance->handles,
                          .n = instance->n_processes,
                          .unit = instance->unit };
}

bool instance_owns(const Instance *instance, const Process *process) {
        return process_joins(process, instance->processes, instance->n_processes, instance->unit);
}

int instance_add_process(Instance *instance, Process *process, ProcHandle *handle) {
        size_t i = instance->n_processes;

        if (ARRAY_RESERVE(instance->processes, instance->processes_allocated, i + 1) < 0 ||
            ARRAY_RESERVE(instance->handles, instance->handles_allocated, i + 1) < 0 ||
            ARRAY_RESERVE(instance->exits, instance->exits_allocated, i + 1) < 0)
                return -ENOMEM;
        for (; i > 0 && instance->processes[i - 1].id.pid > process->id.pid; i--) {
                instance->processes[i] = instance->processes[i - 1];
                instance->handles[i] = instance->handles[i - 1];
                instance->exits[i] = instance->exits[i - 1];
        }
        instance->processes[i] = *process;
        instance->handles[i] = *handle;
        instance->exits[i] = NULL;
        instance->n_processes++;
        instance->n_member_changes++;
        instance->news |= NEWS_JOINED;
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        return 0;
}

ssize_t instance_find(const Instance *instance, pid_t pid) {
        for (size_t i = 0; i < instance->n_processes; i++)
                if (instance->processes[i].id.pid == pid)
                        return (ssize_t)i;
        return -1;
}

void instance_remove_process(Instance *instance, size_t index) {
        instance->n_member_changes++;
        instance->news |= NEWS_LEFT;
        sd_event_source_disable_unref(instance->exits[index]);
        process_done(&instance->processes[index]);
        proc_close(&instance->handles[index]);
        instance->n_processes--;
        for (size_t i = index; i < instance->n_processes; i++) {
                instance->processes[i] = instance->processes[i + 1];
                instance->handles[i] = instance->handles[i + 1];
                instance->exits[i] = instance->exits[i + 1];
        }
}
