/* Life of instances and of the processes in them. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/manager.h"
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

int instance_new(Manager *manager, const Process *first, size_t n_nodes, uint64_t now_usec,
                 Instance **ret) {
        Instance *i = calloc(1, sizeof(*i));

        if (!i)
                return -ENOMEM;
        i->manager = manager;
        i->binding.mover = MOVER_NONE;
        i->binding.kernel_mover_fd = -EBADF;
        i->binding.state = INSTANCE_WAITING;
        i->binding.step.reason = "";
        i->binding.drift_watches[0] = i->binding.drift_watches[1] = -1;
        i->binding.bind_seconds = i->sampling.remote_ratio = i->sampling.sampled_ratio = NAN;
        i->uid = first->uid;
        i->first_seen_usec = i->binding.due_usec = now_usec;
        i->describe_due_usec = INSTANCE_NEVER;
        i->unit = first->unit ? strdup(first->unit) : NULL;
        i->exe = strdup(first->exe);
        i->sampling.by_node = calloc(n_nodes, sizeof(NodeMemory));
        if ((first->unit && !i->unit) || !i->exe || !i->sampling.by_node) {
                instance_free(i);
                return -ENOMEM;
        }
        *ret = i;
        return 0;
}

Instance *instance_free(Instance *instance) {
        if (!instance)
                return NULL;
        mover_end(&instance->binding.mover);
        closep(&instance->binding.kernel_mover_fd);
        sd_bus_slot_unref(instance->binding.call);
        for (size_t i = 0; i < instance->n_processes; i++) {
                sd_event_source_disable_unref(instance->exits[i]);
                process_done(&instance->processes[i]);
                proc_close(&instance->handles[i]);
        }
        free(instance->exits);
        free(instance->processes);
        free(instance->handles);
        free(instance->name);
        free(instance->first_name);
        free(instance->unit);
        free(instance->exe);
        free(instance->ports);
        free(instance->data_dir);
        access_close(&instance->sampling.access.counters);
        free(instance->sampling.drawing);
        free(instance->sampling.by_node);
        free(instance->binding.failure);
        free(instance);
        return NULL;
}

Members instance_members(const Instance *instance) {
        return (Members){ .sysroot = &instance->manager->host.sysroot,
                          .processes = instance->processes,
                          .handles = instance->handles,
                          .n = instance->n_processes,
                          .unit = instance->unit };
}

bool instance_owns(const Instance *instance, const Process *process) {
        return process_joins(process, instance->processes, instance->n_processes, instance->unit);
}

/* The mover borrows a handle from the array that is about to change. */
static void end_pass(Instance *instance) {
        mover_end(&instance->binding.mover);
        closep(&instance->binding.kernel_mover_fd); /* it makes no further call then */
        instance->binding.kernel_mover_fd = -EBADF;
        instance->binding.moving = false;
}

int instance_add_process(Instance *instance, Process *process, ProcHandle *handle) {
        size_t i = instance->n_processes;

        end_pass(instance);
        instance->n_member_changes++;
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
        instance->binding.fresh = true;
        instance->binding.pulled = false;
        instance->n_processes++;
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
        end_pass(instance);
        instance->n_member_changes++;
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

void instance_restart(Instance *instance, uint64_t now_usec) {
        end_pass(instance);
        instance->binding.progress = (Progress){ 0 };
        instance->binding.rest_until_usec = 0;
        instance->binding.due_usec = now_usec;
}

void instance_clear_failure(Instance *instance) {
        free(instance->binding.failure);
        instance->binding.failure = NULL;
        instance->binding.failure_code = REASON_NONE;
}

void instance_set_failure(Instance *instance, Reason code, const char *format, ...) {
        va_list args;

        instance_clear_failure(instance);
        instance->binding.failure_code = code;
        va_start(args, format);
        if (vasprintf(&instance->binding.failure, format, args) < 0)
                instance->binding.failure = NULL;
        va_end(args);
}
