/* CPUs that a process is given at its exec, and what happens to them afterwards. change/threads.c
 * sets them. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/change/threads.h"
#include "tidbnumad/daemon/registry/start.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/namespace.h"

void start_announce(Registry *registry, CpuSet *cpus, size_t n) {
        free(registry->start_cpus);
        registry->start_cpus = cpus;
        registry->n_start_cpus = cpus ? n : 0;
}

/* The folder's owner is the process's effective user, or root where the process hides its memory
 * (proc(5)): an owner root therefore proves nothing. */
static bool folder_is_of_user(int dir_fd, const PolicyMatch *match) {
        struct stat st;

        return !match->user || (match->uid_known && match->uid != 0 && fstat(dir_fd, &st) == 0 &&
                                st.st_uid == match->uid);
}

/* What answers by that descriptor is the process that was opened, and has not ended. */
static bool handle_shows_exe(const ProcHandle *handle, const char *exe) {
        char now[PATH_MAX];

        return proc_held_exe_read(handle, now, sizeof(now)) == 0 && strcmp(now, exe) == 0;
}

void start_bind(const Registry *registry, pid_t pid, const char *exe, Start *ret) {
        const Sysroot *sysroot = &registry->host->sysroot;
        const PolicySet *policies = &registry->host->policies;
        const Policy *policy = match_by_exe_alone(policies, exe);
        const size_t index = policy ? (size_t)(policy - policies->policies) : SIZE_MAX;
        const CpuSet *cpus = index < registry->n_start_cpus ? &registry->start_cpus[index] : NULL;

        *ret = START_NONE;
        if (!cpus || id_set_is_empty(cpus) || !host_enforces(registry->host) ||
            registry_find_pid(registry, pid, NULL))
                return;
        ret->handle.pid = pid;
        ret->handle.dir_fd = path_open(sysroot->proc_fd, O_RDONLY | O_DIRECTORY, "%d", pid);
        if (ret->handle.dir_fd < 0)
                return;
        ret->policy = policy;
        if (folder_is_of_user(ret->handle.dir_fd, &policy->match) &&
            proc_folder_in_host_namespace(sysroot, ret->handle.dir_fd, PROC_NAMESPACE_MOUNT) > 0 &&
            handle_shows_exe(&ret->handle, exe))
                start_cpus_set(sysroot, &ret->handle, cpus, &registry->host->backend.n_pid_reuses,
                               &ret->cpus);
}

/* By unit or by number, as the record is found that a binding would use. */
static bool process_is_recorded(const Registry *registry, const Process *process) {
        const UndoRecord *record =
                undo_find(registry->records, unit_is_service(process->unit) ? process->unit : NULL,
                          &process->id);

        return record && undo_record_find(record, &process->id);
}

void start_take_over(const Registry *registry, const Policy *policy, const Process *process,
                     Start *start, StartCpus *ret) {
        *ret = (StartCpus){ 0 };
        if (!start->cpus.set || start->policy != policy ||
            !handle_shows_exe(&start->handle, process->exe))
                return;
        if (!process_is_recorded(registry, process)) /* else the record has what it had before */
                *ret = start->cpus;
        start->cpus.set = false;
}

void start_end(const Registry *registry, Start *start) {
        start_cpus_take_back(&registry->host->sysroot, &start->handle,
                             &registry->host->backend.n_pid_reuses, &start->cpus);
        proc_close(&start->handle);
}

void start_recall(const Registry *registry, const Process *process, const ProcHandle *handle,
                  StartCpus *ret) {
        *ret = (StartCpus){ 0 };
        if (registry->host->sysroot.live && process->id.start_ticks <= registry->since_ticks &&
            !process_is_recorded(registry, process))
                start_cpus_recall(&registry->records->former, handle, ret);
}

void start_forget(Instance *instance) {
        for (size_t k = 0; k < instance->n_members; k++) {
                free(instance->members[k].start);
                instance->members[k].start = NULL;
        }
}

void start_take_back(const Registry *registry, Instance *instance) {
        for (size_t k = 0; k < instance->n_members; k++)
                if (instance->members[k].start)
                        start_cpus_take_back(&registry->host->sysroot, instance->members[k].handle,
                                             &registry->host->backend.n_pid_reuses,
                                             instance->members[k].start);
        start_forget(instance);
}
