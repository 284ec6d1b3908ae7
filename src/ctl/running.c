/* The instances that run: found, grouped and named as the daemon does it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/ctl/running.h"
#include "tidbnumad/model/device.h"
#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/observe/processes.h"
#include "tidbnumad/plan/match.h"

enum { IDENTIFY_TRIES = 3 };

static void running_done(Running *r) {
        for (size_t i = 0; i < r->n_processes; i++) {
                process_done(&r->processes[i]);
                proc_close(&r->handles[i]);
        }
        free(r->processes);
        free(r->handles);
        free(r->name);
        free(r->unit);
        free(r->ports);
        free(r->data_dir);
        free(r->by_node);
        free(r->memory_policy);
        storage_devices_done(&r->storage);
}

void running_list_done(RunningList *list) {
        for (size_t i = 0; i < list->n_instances; i++)
                running_done(&list->instances[i]);
        free(list->instances);
        *list = (RunningList){ 0 };
}

/* The instance that holds the processes of this service. */
static Running *find_service(const RunningList *list, const char *unit) {
        for (size_t i = 0; i < list->n_instances && unit_is_service(unit); i++)
                if (list->instances[i].unit && strcmp(list->instances[i].unit, unit) == 0)
                        return &list->instances[i];
        return NULL;
}

static int found(RunningList *list, const Policy *policy, const char *unit, Running **ret) {
        Running *new;

        if (ARRAY_RESERVE(list->instances, list->allocated, list->n_instances + 1) < 0)
                return -ENOMEM;
        new = &list->instances[list->n_instances];
        *new = (Running){ .policy = policy, .unit = unit ? strdup(unit) : NULL };
        if (unit && !new->unit)
                return -ENOMEM;
        list->n_instances++;
        *ret = new;
        return 0;
}

/* Takes over both, but for -ENOMEM. */
static int add(RunningList *list, const Policy *policy, Process *process, ProcHandle *handle) {
        Running *r = find_service(list, process->unit);
        int error = r ? 0 : found(list, policy, process->unit, &r);

        if (error < 0)
                return error;
        if (ARRAY_RESERVE(r->processes, r->processes_allocated, r->n_processes + 1) < 0 ||
            ARRAY_RESERVE(r->handles, r->handles_allocated, r->n_processes + 1) < 0)
                return -ENOMEM;
        r->processes[r->n_processes] = *process;
        r->handles[r->n_processes++] = *handle;
        *process = (Process){ 0 };
        *handle = PROC_HANDLE_NONE;
        return 0;
}

static bool wants_exe(const char *exe, void *userdata) {
        return match_wants_exe(userdata, exe);
}

static int identify(const Sysroot *sysroot, const PolicySet *policies, pid_t pid,
                    ProcHandle *ret_handle, Process *ret) {
        int r = -EAGAIN;

        for (unsigned i = 0; r == -EAGAIN && i < IDENTIFY_TRIES; i++)
                r = process_identify(sysroot, pid, wants_exe, (void *)policies, ret_handle, ret);
        return r;
}

static int consider(const Sysroot *sysroot, const PolicySet *policies, pid_t pid,
                    RunningList *list) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        const Policy *policy;
        int r = identify(sysroot, policies, pid, &handle, &process);

        if (r == -ENOMEM)
                return r;
        list->n_denied += r == -EACCES || r == -EPERM;
        if (r < 0) /* gone, or none of ours */
                return 0;
        if (match_wants_args(policies, process.exe))
                (void)process_read_args(&handle, &process);
        policy = match_process(policies, &process);
        return policy ? add(list, policy, &process, &handle) : 0;
}

static Running *find_pid(const RunningList *list, pid_t pid) {
        for (size_t i = 0; i < list->n_instances; i++)
                for (size_t k = 0; k < list->instances[i].n_processes; k++)
                        if (list->instances[i].processes[k].id.pid == pid)
                                return &list->instances[i];
        return NULL;
}

static int take_data_dir(Running *r, const StatusInstance *told) {
        if (r->data_dir || !told->data_dir)
                return 0;
        r->data_dir = strdup(told->data_dir);
        return r->data_dir ? 0 : -ENOMEM;
}

/* Who it is, as far as everybody may see; its program by what the daemon has seen. -ESRCH: it is
 * not the daemon's any more. */
static int identify_told(const Sysroot *sysroot, const StatusInstance *told, ProcHandle *handle,
                         Process *ret) {
        ProcStatus status;
        int r = proc_open(sysroot, told->pid, handle);

        if (r >= 0)
                r = proc_status_read(handle, 0, &status);
        if (r >= 0)
                r = proc_cgroup_read(handle, &ret->cgroup);
        if (r >= 0)
                r = unit_from_cgroup(ret->cgroup, &ret->unit);
        if (r < 0 && r != -ENXIO)
                return r;
        if ((ret->unit && told->unit) ? strcmp(ret->unit, told->unit) != 0
                                      : ret->unit != NULL || told->unit != NULL)
                return -ESRCH;
        ret->id = (ProcessId){ .pid = told->pid, .start_ticks = handle->start_ticks };
        ret->uid = status.uid;
        ret->exe = strdup(told->exe);
        return ret->exe ? 0 : -ENOMEM;
}

static int add_told(const Sysroot *sysroot, const PolicySet *policies, const StatusInstance *told,
                    RunningList *list) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        const Policy *policy;
        int r;

        if (find_pid(list, told->pid))
                return 0;
        r = identify_told(sysroot, told, &handle, &process);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        policy = match_process(policies, &process);
        if (!policy)
                return 0;
        r = add(list, policy, &process, &handle);
        return r < 0 ? r : take_data_dir(find_pid(list, told->pid), told);
}

static bool is_name(const RunningList *list, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(list->instances[i].name, name) == 0)
                        return true;
        return false;
}

/* The best name that none before it has. */
static int give_name(RunningList *list, size_t index) {
        Running *r = &list->instances[index];
        const InstanceIdentity identity = { .unit = r->unit,
                                            .exe = r->processes[0].exe,
                                            .ports = r->ports,
                                            .n_ports = r->n_ports,
                                            .first = r->processes[0].id };

        for (unsigned rank = 0; rank < INSTANCE_NAME_RANKS; rank++) {
                int error;

                free(r->name);
                r->name = NULL;
                error = instance_name_render(&identity, rank, &r->name);
                if (error < 0)
                        return error;
                if (!is_name(list, index, r->name))
                        break;
        }
        return 0;
}

static int compare(const void *a, const void *b) {
        const Running *x = a, *y = b;

        return device_name_compare(x->name, y->name);
}

static int describe(const Sysroot *sysroot, const Topology *topology, RunningList *list) {
        for (size_t i = 0; i < list->n_instances; i++) {
                int r = running_read_facts(sysroot, topology, &list->instances[i]);

                if (r >= 0)
                        r = give_name(list, i);
                if (r < 0)
                        return r;
        }
        if (list->n_instances > 1)
                qsort(list->instances, list->n_instances, sizeof(*list->instances), compare);
        return 0;
}

int running_list_load(const Sysroot *sysroot, const Topology *topology, const PolicySet *policies,
                      const StatusFile *status, RunningList *ret) {
        _cleanup_running_list_ RunningList list = { 0 };
        _cleanup_pid_list_ PidList pids = { 0 };
        int r = pid_list_read(sysroot, &pids);

        for (size_t i = 0; r >= 0 && i < pids.n_pids; i++)
                r = consider(sysroot, policies, pids.pids[i], &list);
        for (size_t i = 0; r >= 0 && status && list.n_denied > 0 && i < status->n_instances; i++)
                r = add_told(sysroot, policies, &status->instances[i], &list);
        if (r >= 0)
                r = describe(sysroot, topology, &list);
        if (r < 0)
                return r;
        *ret = list;
        list = (RunningList){ 0 };
        return 0;
}

static bool is_unit(const Running *r, const char *subject) {
        size_t n = strlen(subject);

        return r->unit && strncmp(r->unit, subject, n) == 0 &&
               (r->unit[n] == '\0' || strcmp(r->unit + n, ".service") == 0);
}

const Running *running_find(const RunningList *list, const char *subject) {
        uint64_t pid = 0;
        bool is_pid = parse_u64(subject, &pid) == 0;

        for (size_t i = 0; i < list->n_instances; i++)
                if (strcmp(list->instances[i].name, subject) == 0)
                        return &list->instances[i];
        for (size_t i = 0; i < list->n_instances; i++) {
                const Running *r = &list->instances[i];

                if (is_unit(r, subject))
                        return r;
                for (size_t k = 0; k < r->n_processes && is_pid; k++)
                        if ((uint64_t)r->processes[k].id.pid == pid)
                                return r;
        }
        return NULL;
}
