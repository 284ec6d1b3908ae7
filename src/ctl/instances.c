/* The instances that run on a machine: what the observer finds, and for processes that this user
 * may not look at, what the daemon published. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/plan/match.h"

static bool wants_exe(const char *exe, void *userdata) {
        return match_wants_exe(userdata, exe);
}

static bool wants_args(const char *exe, void *userdata) {
        return match_wants_args(userdata, exe);
}

static const Policy *policy_of(const Process *process, void *userdata) {
        return match_process(userdata, process);
}

static int take_data_dir(Observed *o, const StatusInstance *published) {
        if (o->data_dir || !published->data_dir)
                return 0;
        o->data_dir = strdup(published->data_dir);
        return o->data_dir ? 0 : -ENOMEM;
}

/* What everybody may see of a process; its program is the one that the daemon has seen. -ESRCH: the
 * process does not belong to the daemon's instance any more. */
static int identify_published(const Sysroot *sysroot, const StatusInstance *published,
                              ProcHandle *handle, Process *ret) {
        ProcStatus status;
        int r = proc_open(sysroot, published->pid, handle);

        if (r >= 0)
                r = proc_status_read(handle, 0, &status);
        if (r >= 0)
                r = proc_cgroup_read(handle, &ret->cgroup);
        if (r >= 0)
                r = unit_from_cgroup(ret->cgroup, &ret->unit);
        if (r < 0 && r != -ENXIO)
                return r;
        if ((ret->unit && published->unit) ? strcmp(ret->unit, published->unit) != 0
                                           : ret->unit != NULL || published->unit != NULL)
                return -ESRCH;
        ret->id = (ProcessId){ .pid = published->pid, .start_ticks = handle->start_ticks };
        ret->uid = status.uid;
        ret->exe = strdup(published->exe);
        return ret->exe ? 0 : -ENOMEM;
}

static int add_published(const Sysroot *sysroot, const PolicySet *policies,
                         const StatusInstance *published, ObservedList *list) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        const Policy *policy;
        int r;

        if (observed_list_find_pid(list, published->pid))
                return 0;
        r = identify_published(sysroot, published, &handle, &process);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        policy = match_process(policies, &process);
        if (!policy)
                return 0;
        r = observed_list_add(list, policy, &process, &handle);
        return r < 0 ? r : take_data_dir(observed_list_find_pid(list, published->pid), published);
}

int instances_find(const Sysroot *sysroot, const PolicySet *policies, const StatusFile *status,
                   ObservedList *ret) {
        const ObservedRules rules = { .wants_exe = wants_exe,
                                      .wants_args = wants_args,
                                      .policy_of = policy_of,
                                      .userdata = (void *)policies };
        _cleanup_observed_list_ ObservedList list = { 0 };
        int r = observed_list_find(sysroot, &rules, &list);

        for (size_t i = 0; r >= 0 && status && list.n_denied > 0 && i < status->n_instances; i++)
                r = add_published(sysroot, policies, &status->instances[i], &list);
        if (r < 0)
                return r;
        *ret = list;
        list = (ObservedList){ 0 };
        return 0;
}
