/* The kernel's events: what to look at, and when. Who a process is, identify.c asks /proc; scan.c
 * is the net below both.
 */
#include <string.h>

#include "tidbnumad/daemon/roster/follow.h"
#include "tidbnumad/daemon/roster/identify.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/daemon/roster/scan.h"
#include "tidbnumad/daemon/roster/watch.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc-connector.h"

static bool is_member(const Manager *m, pid_t pid) {
        size_t unused;

        return roster_find_pid(m, pid, &unused) != NULL;
}

/* For most events on a host this ends with one link read, and nothing allocated. */
static void on_process_event(const ProcEvent *event, void *userdata) {
        Manager *m = userdata;

        m->roster.connector_events.received++;
        switch (event->kind) {
        case PROC_KIND_EXEC:
        case PROC_KIND_UID: /* a server that root starts becomes its `user` without another exec */
                (void)identify_consider(m, event->pid);
                break;
        case PROC_KIND_FORK: /* a worker that never execs, as haproxy's */
                if (is_member(m, event->parent))
                        (void)identify_consider(m, event->pid);
                break;
        case PROC_KIND_COMM: /* the name it gives itself says nothing, that it does so may */
                if (is_member(m, event->pid))
                        (void)identify_consider(m, event->pid);
                break;
        case PROC_KIND_ACK:
                break;
        }
}

static int on_rescan(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void)source;
        (void)usec;
        m->roster.connector_events.rescans++;
        m->roster.rescan_usec = clock_monotonic_usec();
        (void)scan_all(m);
        return 0;
}

static void events_were_lost(Manager *m, int error) {
        static const JournalFields fields = { .message_id = JOURNAL_EVENTS_LOST };
        int pending = SD_EVENT_OFF;

        m->roster.connector_events.lost++;
        host_mark(&m->host, HOST_MARK_PUBLISH);
        (void)sd_event_source_get_enabled(m->roster.rescan_timer, &pending);
        if (pending != SD_EVENT_OFF)
                return;
        journal_log(&m->host.journal, LOG_WARNING, &fields,
                    "The kernel's process events were lost (%s); looking at all processes",
                    strerror(-error));
        (void)sd_event_source_set_time(m->roster.rescan_timer,
                                       m->roster.rescan_usec + MANAGER_RESCAN_INTERVAL_USEC);
        (void)sd_event_source_set_enabled(m->roster.rescan_timer, SD_EVENT_ONESHOT);
}

/* A whole batch of events is read before any instance is looked at: bash, numactl, env and server
 * on one PID, or a unit's many processes, cost one look. */
static int on_connector(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Manager *m = userdata;
        int r;

        (void)source;
        (void)revents;
        r = proc_connector_read(fd, on_process_event, m);
        if (r < 0)
                events_were_lost(m, r);
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

static int add_connector_sources(Manager *m) {
        int r;

        r = sd_event_add_time(m->host.event, &m->roster.rescan_timer, CLOCK_MONOTONIC, 0, 1000,
                              on_rescan, m);
        if (r >= 0)
                r = sd_event_source_set_enabled(m->roster.rescan_timer, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_source_set_priority(m->roster.rescan_timer,
                                                 SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_event_add_io(m->host.event, &m->roster.connector_source,
                                    m->roster.connector_fd, EPOLLIN, on_connector, m);
        /* New processes go before samples and moving. */
        return r < 0 ? r
                     : sd_event_source_set_priority(m->roster.connector_source,
                                                    SD_EVENT_PRIORITY_IMPORTANT);
}

static int start_connector(Manager *m) {
        int r = proc_connector_open(MANAGER_RECEIVE_BUFFER_BYTES, &m->roster.connector_fd);

        if (r >= 0)
                return add_connector_sources(m);
        journal_log(&m->host.journal, LOG_WARNING, NULL,
                    "The process connector cannot be used: %s (%s). New processes are "
                    "found by a look every %d s instead",
                    strerror(-r), connector_hint(r), (int)(MANAGER_POLL_INTERVAL_USEC / 1000000));
        return 0;
}

int watch_start(Manager *m) {
        int r = 0;

        if (m->host.sysroot.live && !m->host.args->once)
                r = start_connector(m);
        /* After the subscription, so that nothing falls between the two. */
        return r < 0 ? r : scan_start(m);
}

/* The policy of its first process, unless that has max_instances of the user already. */
static const Policy *match_within_limit(const Manager *m, const Instance *instance) {
        const Policy *policy = match_process(&m->host.policies, &instance->processes[0]);

        return policy && instance_counts_of(&m->roster.counts,
                                            (size_t)(policy - m->host.policies.policies),
                                            instance->uid) < policy->max_instances
                       ? policy
                       : NULL;
}

/* Keeps the processes that still belong to the policy of the instance's first one. */
static void rematch_instance(Manager *m, Instance *instance) {
        size_t i = instance->n_processes;
        const Policy *policy;

        for (size_t k = 0; k < i; k++)
                identify_read_args(m, &instance->processes[k], &instance->handles[k]);
        policy = match_within_limit(m, instance);
        instance->policy = policy;
        /* The counters behind the last policy's are nobody's. */
        instance->policy_index =
                policy ? (size_t)(policy - m->host.policies.policies) : m->host.policies.n_policies;
        if (policy) {
                (void)instance_counts_add(&m->roster.counts, instance->policy_index, instance->uid);
                instance_restart(instance, clock_monotonic_usec());
        }
        /* The last of them takes the instance away. */
        for (; i > 0; i--)
                if (!policy ||
                    match_process(&m->host.policies, &instance->processes[i - 1]) != policy)
                        roster_remove_process(m, instance, i - 1);
}

int watch_rematch(Manager *m) {
        strangers_done(&m->roster.strangers); /* who is one, the policies say */
        instance_counts_done(&m->roster.counts);
        for (size_t i = m->roster.n_instances; i > 0; i--)
                rematch_instance(m, m->roster.instances[i - 1]);
        return scan_all(m);
}
