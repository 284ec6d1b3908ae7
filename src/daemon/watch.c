/* Which processes there are. Events and scans only say where to look; who a process is, /proc says.
 */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/watch.h"
#include "tidbnumad/observe/processes.h"
#include "tidbnumad/plan/match.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc-connector.h"

/* A process that execs faster than we look, bash to numactl to env to the server: tried so often at
 * once; its next exec brings an event anyway. */
enum { IDENTIFY_TRIES = 3 };

static bool wants_exe(const char *exe, void *userdata) {
        const Manager *m = userdata;

        return match_wants_exe(&m->policies, exe);
}

static void remove_instance(Manager *m, size_t index) {
        const Instance *i = m->instances[index];
        const JournalFields fields = { .instance = i->name };

        journal_log(&m->journal, LOG_DEBUG, &fields, "%s has ended", i->name);
        instance_free(m->instances[index]);
        m->n_instances--;
        memmove(m->instances + index, m->instances + index + 1,
                (m->n_instances - index) * sizeof(m->instances[0]));
        manager_publish_soon(m);
}

static void forget_process(Manager *m, pid_t pid) {
        for (size_t i = m->n_instances; i > 0; i--) {
                Instance *instance = m->instances[i - 1];
                ssize_t index = instance_find(instance, pid);

                if (index < 0)
                        continue;
                instance_remove_process(instance, (size_t)index);
                if (instance->n_processes == 0)
                        remove_instance(m, i - 1);
                else
                        instance_restart(instance, clock_monotonic_usec());
        }
}

static int insert_instance(Manager *m, Instance *instance) {
        size_t i = m->n_instances;

        if (ARRAY_RESERVE(m->instances, m->instances_allocated, i + 1) < 0)
                return -ENOMEM;
        for (; i > 0 && strcmp(m->instances[i - 1]->name, instance->name) > 0; i--)
                m->instances[i] = m->instances[i - 1];
        m->instances[i] = instance;
        m->n_instances++;
        return 0;
}

static int find_or_make_instance(Manager *m, const Process *process, const Policy *policy,
                                 Instance **ret) {
        uint64_t now = clock_monotonic_usec();
        Instance *i;
        int r;

        for (size_t k = 0; k < m->n_instances; k++)
                if (instance_owns(m->instances[k], process)) {
                        *ret = m->instances[k];
                        return 0;
                }
        r = instance_new(m, process, m->topology.n_nodes, now, &i);
        if (r < 0)
                return r;
        i->policy = policy;
        i->policy_index = (size_t)(policy - m->policies.policies);
        r = insert_instance(m, i);
        if (r < 0) {
                instance_free(i);
                return r;
        }
        *ret = i;
        return 0;
}

static int add_process(Manager *m, Process *process, ProcHandle *handle) {
        const Policy *policy = match_process(&m->policies, process);
        Instance *instance;
        int r;

        if (!policy)
                return 0;
        r = find_or_make_instance(m, process, policy, &instance);
        if (r < 0)
                return r;
        journal_log(&m->journal, LOG_DEBUG, NULL, "process %d (%s) belongs to %s of policy '%s'",
                    process->id.pid, process->exe, instance->name, policy->name);
        r = instance_add_process(instance, process, handle);
        if (r < 0)
                return r;
        instance_restart(instance, clock_monotonic_usec());
        return 0;
}

/* Is it in an instance already, as the very process that the handle holds? */
static bool is_known(const Manager *m, const ProcHandle *handle, const Process *process) {
        for (size_t i = 0; i < m->n_instances; i++) {
                ssize_t index = instance_find(m->instances[i], handle->pid);
                const Process *known;

                if (index < 0)
                        continue;
                known = &m->instances[i]->processes[index];
                return known->id.start_ticks == process->id.start_ticks &&
                       known->uid == process->uid && strcmp(known->exe, process->exe) == 0 &&
                       instance_owns(m->instances[i], process);
        }
        return false;
}

static int consider(Manager *m, pid_t pid) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        int r = -EAGAIN;

        for (unsigned i = 0; r == -EAGAIN && i < IDENTIFY_TRIES; i++)
                r = process_identify(&m->sysroot, pid, wants_exe, m, &handle, &process);
        if (r == -ENOMEM)
                return r;
        if (r == -ESRCH || r == -EAGAIN || r == -EACCES || r == -EPERM) {
                forget_process(m, pid);
                return 0;
        }
        if (r < 0) { /* no descriptor free, a file that cannot be read: the next scan tries again */
                if (!m->identify_failed)
                        journal_log(&m->journal, LOG_WARNING, NULL,
                                    "Process %d cannot be looked at: %s. It is tried again at each "
                                    "scan; further ones are not told",
                                    pid, strerror(-r));
                m->identify_failed = true;
                return 0;
        }
        m->identify_failed = false;
        if (is_known(m, &handle, &process))
                return 0;
        forget_process(m, pid);
        return add_process(m, &process, &handle);
}

static bool is_member(const Manager *m, pid_t pid) {
        for (size_t i = 0; i < m->n_instances; i++)
                if (instance_find(m->instances[i], pid) >= 0)
                        return true;
        return false;
}

static void on_process_event(const ProcEvent *event, void *userdata) {
        Manager *m = userdata;

        m->connector_events.received++;
        switch (event->kind) {
        case PROC_KIND_EXEC:
        case PROC_KIND_UID: /* a server that root starts becomes its `user` without another exec */
                (void)consider(m, event->pid);
                break;
        case PROC_KIND_FORK: /* a worker that never execs, as haproxy's */
                if (is_member(m, event->parent))
                        (void)consider(m, event->pid);
                break;
        case PROC_KIND_EXIT:
                forget_process(m, event->pid);
                break;
        case PROC_KIND_ACK:
                break;
        }
}

static int on_connector(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        static const JournalFields fields = { .message_id = JOURNAL_EVENTS_LOST };
        Manager *m = userdata;
        int r;

        (void)source;
        (void)revents;
        r = proc_connector_read(fd, on_process_event, m);
        if (r < 0) {
                m->connector_events.lost++;
                m->connector_events.rescans++;
                journal_log(&m->journal, LOG_WARNING, &fields,
                            "The kernel's process events were lost (%s); looking at all processes",
                            strerror(-r));
                (void)watch_scan(m);
        }
        manager_schedule(m);
        return 0;
}

static int scan_interval(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void)usec;
        (void)watch_scan(m);
        units_scan(m);
        manager_schedule(m);
        (void)sd_event_source_set_time_relative(source, m->connector_fd >= 0
                                                                ? MANAGER_SCAN_INTERVAL_USEC
                                                                : MANAGER_POLL_INTERVAL_USEC);
        (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

static const char *connector_hint(int error) {
        switch (error) {
        case -EPERM:
        case -EACCES:
                return "it wants CAP_NET_ADMIN; run the daemon by its unit or as root";
        case -ECONNREFUSED:
                return "it does not exist in a network namespace of its own (PrivateNetwork=)";
        case -ETIMEDOUT:
                return "no acknowledgement came, as in another user or PID namespace (a container)";
        case -EPROTONOSUPPORT:
                return "the kernel was built without it (CONFIG_PROC_EVENTS)";
        default:
                return "unexpected";
        }
}

static int start_connector(Manager *m) {
        int r;

        r = proc_connector_open(MANAGER_RECEIVE_BUFFER_BYTES, &m->connector_fd);
        if (r < 0) {
                journal_log(&m->journal, LOG_WARNING, NULL,
                            "The process connector cannot be used: %s (%s). New processes are "
                            "found by a look every %d s instead",
                            strerror(-r), connector_hint(r),
                            (int)(MANAGER_POLL_INTERVAL_USEC / 1000000));
                return 0;
        }
        r = sd_event_add_io(m->event, &m->connector_source, m->connector_fd, EPOLLIN, on_connector,
                            m);
        if (r < 0)
                return r;
        /* New processes go before samples and moving. */
        return sd_event_source_set_priority(m->connector_source, SD_EVENT_PRIORITY_IMPORTANT);
}

int watch_start(Manager *m) {
        int r = 0;

        if (m->sysroot.live && !m->args->once)
                r = start_connector(m);
        if (r < 0)
                return r;
        /* After the subscription, so that nothing falls between the two. */
        r = watch_scan(m);
        if (r < 0)
                return r;
        return sd_event_add_time_relative(m->event, &m->scan_timer, CLOCK_MONOTONIC,
                                          m->connector_fd >= 0 ? MANAGER_SCAN_INTERVAL_USEC
                                                               : MANAGER_POLL_INTERVAL_USEC,
                                          0, scan_interval, m);
}

int watch_scan(Manager *m) {
        _cleanup_free_ pid_t *pids = NULL;
        size_t n_pids = 0;
        int r;

        m->scan_events.received++;
        for (size_t i = m->n_instances; i > 0; i--) {
                instance_remove_dead(m->instances[i - 1]);
                if (m->instances[i - 1]->n_processes == 0)
                        remove_instance(m, i - 1);
        }
        r = processes_scan(&m->sysroot, wants_exe, m, &pids, &n_pids);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n_pids; i++) {
                r = consider(m, pids[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Keeps the processes that still belong to the policy of the instance's first one. */
static void rematch_instance(Manager *m, Instance *instance) {
        const Policy *policy = match_process(&m->policies, &instance->processes[0]);

        instance->policy = policy;
        for (size_t i = instance->n_processes; i > 0; i--)
                if (!policy || match_process(&m->policies, &instance->processes[i - 1]) != policy)
                        instance_remove_process(instance, i - 1);
        if (!policy)
                return;
        instance->policy_index = (size_t)(policy - m->policies.policies);
        instance_restart(instance, clock_monotonic_usec());
}

int watch_rematch(Manager *m) {
        for (size_t i = m->n_instances; i > 0; i--) {
                rematch_instance(m, m->instances[i - 1]);
                if (m->instances[i - 1]->n_processes == 0)
                        remove_instance(m, i - 1);
        }
        return watch_scan(m);
}
