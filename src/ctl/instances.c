/* The instances that run on a machine: observed ones, and for processes that this user may not
 * read, published ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc.h"

static int take_data_dir(HostInstance *o, const InstanceInfo *published) {
        if (o->data_dir || !published->data_dir)
                return 0;
        o->data_dir = strdup(published->data_dir);
        return o->data_dir ? 0 : -ENOMEM;
}

/* Is it older than the published status? Otherwise its pid may have been reused. */
static bool is_older(const ProcHandle *handle, double time_seconds) {
        const double age = clock_boottime_seconds() -
                           (double)handle->start_ticks / (double)sysconf(_SC_CLK_TCK);

        return age > clock_realtime_seconds() - time_seconds;
}

/* Reads what every user may see of a process; its program and unit are those that the daemon
 * published. -ESRCH: the process does not belong to the daemon's instance any more. */
static int identify_published(const Sysroot *sysroot, const InstanceInfo *published,
                              double time_seconds, ProcHandle *handle, Process *ret) {
        ProcStatus status;
        int r = proc_open(sysroot, published->pid, handle);

        if (r >= 0 && !is_older(handle, time_seconds))
                r = -ESRCH;
        if (r >= 0)
                r = proc_status_read(handle, 0, &status);
        if (r >= 0)
                r = proc_cgroup_read(handle, &ret->cgroup);
        if (r < 0)
                return r;
        ret->id = (ProcessId){ .pid = published->pid, .start_ticks = handle->start_ticks };
        ret->uid = status.uid;
        ret->exe = strdup(published->exe);
        ret->unit = published->unit ? strdup(published->unit) : NULL;
        return ret->exe && (ret->unit || !published->unit) ? 0 : -ENOMEM;
}

/* The daemon has matched it with its command line, which only its owner may read. Policies other
 * than the daemon's, as with --policy, are matched with what is visible. */
static const Policy *policy_published(const PolicySet *policies, const InstanceInfo *published,
                                      const Process *process) {
        const Policy *policy = policy_set_find(policies, published->policy);

        return policy ? policy : match_process(policies, process);
}

static int add_published(const Sysroot *sysroot, const PolicySet *policies,
                         const InstanceInfo *published, double time_seconds, HostInstances *list) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        const Policy *policy;
        int r;

        if (host_instances_find_pid(list, published->pid))
                return 0;
        r = identify_published(sysroot, published, time_seconds, &handle, &process);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        policy = policy_published(policies, published, &process);
        if (!policy)
                return 0;
        r = host_instances_add(list, policy, &process, &handle);
        return r < 0 ? r : take_data_dir(host_instances_find_pid(list, published->pid), published);
}

static bool holds_published(const HostInstance *o, const InstanceInfo *published,
                            double time_seconds) {
        for (size_t i = 0; i < o->n_members; i++)
                if (o->members[i].process.id.pid == published->pid)
                        return is_older(o->members[i].handle, time_seconds);
        return false;
}

/* Keeps the daemon's name even if the ports would give another one: the first of two instances on
 * one port keeps the short name, and a server that shuts down keeps its last port. */
static int take_names(const Snapshot *status, HostInstances *list) {
        for (size_t i = 0; i < status->n_instances; i++) {
                const InstanceInfo *published = &status->instances[i];
                HostInstance *o = host_instances_find_pid(list, published->pid);

                if (!o || o->name || !holds_published(o, published, status->time_seconds))
                        continue;
                o->name = strdup(published->name);
                if (!o->name)
                        return -ENOMEM;
        }
        return 0;
}

int instances_find(const Sysroot *sysroot, const PolicySet *policies, const Snapshot *status,
                   HostInstances *ret) {
        _cleanup_host_instances_ HostInstances list = { 0 };
        int r = host_instances_find(sysroot, policies, &list);

        for (size_t i = 0; r >= 0 && status && list.n_denied > 0 && i < status->n_instances; i++)
                r = add_published(sysroot, policies, &status->instances[i], status->time_seconds,
                                  &list);
        if (r >= 0 && status)
                r = take_names(status, &list);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(list);
        return 0;
}

int instances_take_storage(const Snapshot *status, HostInstances *list) {
        for (size_t i = 0; i < status->n_instances; i++) {
                const InstanceInfo *published = &status->instances[i];
                HostInstance *o = host_instances_find_pid(list, published->pid);

                if (!o || o->storage || !published->storage ||
                    !holds_published(o, published, status->time_seconds))
                        continue;
                o->storage = strdup(published->storage);
                if (!o->storage)
                        return -ENOMEM;
                o->storage_nodes = published->storage_nodes;
        }
        return 0;
}

static bool is_published(const Snapshot *status, const HostInstance *o) {
        for (size_t i = 0; status && i < status->n_instances; i++)
                if (holds_published(o, &status->instances[i], status->time_seconds))
                        return true;
        return false;
}

/* Sets keep[i] if instance i is among the first max_instances of its policy and user. */
static int count_kept(const PolicySet *policies, const Snapshot *status, const HostInstances *list,
                      bool *keep) {
        InstanceCounts counts = { 0 };
        int r = 0;

        for (unsigned pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < list->n_instances && r >= 0; i++) {
                        const HostInstance *o = &list->instances[i];
                        const size_t policy = (size_t)(o->policy - policies->policies);
                        const uid_t uid = o->members[0].process.uid;

                        if (is_published(status, o) != (pass == 0) ||
                            instance_counts_of(&counts, policy, uid) >= o->policy->max_instances)
                                continue;
                        keep[i] = true;
                        r = instance_counts_add(&counts, policy, uid);
                }
        instance_counts_done(&counts);
        return r;
}

int instances_limit(const PolicySet *policies, const Snapshot *status, HostInstances *list,
                    HostInstances *ret_ignored) {
        _cleanup_free_ bool *keep = calloc(list->n_instances + 1, sizeof(*keep));
        const size_t n = list->n_instances;
        int r;

        ret_ignored->instances = calloc(n + 1, sizeof(*ret_ignored->instances));
        if (!keep || !ret_ignored->instances)
                return -ENOMEM;
        r = count_kept(policies, status, list, keep);
        if (r < 0)
                return r;
        list->n_instances = 0;
        for (size_t i = 0; i < n; i++) {
                HostInstances *to = keep[i] ? list : ret_ignored;

                to->instances[to->n_instances++] = list->instances[i];
        }
        return 0;
}

uint32_t instances_gomaxprocs(const HostInstance *o) {
        char value[16];
        uint64_t n;

        if (environment_read(o->members[0].handle, "GOMAXPROCS", value, sizeof(value)) < 0 ||
            parse_u64(value, &n) < 0 || n > UINT32_MAX)
                return 0;
        return (uint32_t)n;
}
