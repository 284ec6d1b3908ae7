/* Receives the kernel's process events, and scans all processes slowly. identify.c decides what a
 * process is. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc-connector.h"
#include "tidbnumad/sys/self.h"

/* --- the scan ---
 *
 * With the connector a round is spread over its whole interval, so that no single moment is
 * expensive; without the connector the scan is how new processes are found at all. */

/* Takes some 0.3 ms. */
enum { SLICE_PROCESSES = 64 };

/* A scan of all processes at once pauses after this time, so that the loop handles other events:
 * any user can have thousands of processes. */
#define SCAN_PASS_USEC (UINT64_C(20) * 1000)
#define SCAN_PAUSE_USEC (UINT64_C(1) * 1000)

/* One link is read for each process of an instance. */
#define ENDS_INTERVAL_USEC (UINT64_C(500) * 1000)

/* At least one process. Reads every known one, also one that now executes another program; of other
 * processes only those that may match. `*ret_n`: how many. */
static int scan_slice(Registry *registry, size_t n_max, uint64_t until_usec, size_t *ret_n) {
        for (*ret_n = 0; *ret_n < n_max && registry->scan_next < registry->scan.n_entries;) {
                ScanEntry *entry = &registry->scan.entries[registry->scan_next++];
                int r = 0;

                if (entry->passed)
                        continue;
                scan_entry_note(entry, identify_may_match(registry, entry->pid));
                if (registry_find_pid(registry, entry->pid, NULL))
                        entry->passed = false;
                if (!entry->passed)
                        r = identify_consider(registry, entry->pid);
                if (r < 0)
                        return r;
                ++*ret_n;
                if (clock_monotonic_usec() >= until_usec)
                        break;
        }
        return 0;
}

static int scan_begin_round(Registry *registry, bool whole) {
        registry->scan_next = 0;
        registry->scan_events.received++;
        ignored_prune(&registry->ignored);
        ignored_begin_round(&registry->ignored);
        if (whole) {
                scan_list_forget_all(&registry->scan);
                registry->scan_rounds = 0;
        }
        return scan_list_read(&registry->scan, &registry->host->sysroot);
}

/* Scans all processes at once: adds new ones, removes ended ones. `whole`: also those that no
 * policy named. `in_passes`: on_scan() scans those that are too many for one pass of the loop. */
static int scan_all(Registry *registry, bool whole, bool in_passes) {
        const uint64_t until = in_passes ? clock_monotonic_usec() + SCAN_PASS_USEC : UINT64_MAX;
        int r = scan_begin_round(registry, whole);
        size_t n;

        if (r >= 0)
                r = scan_slice(registry, registry->scan.n_entries, until, &n);
        registry->scan_at_once = r >= 0 && registry->scan_next < registry->scan.n_entries;
        if (registry->scan_at_once)
                (void)event_source_arm_after(registry->scan_timer, SCAN_PAUSE_USEC);
        return r;
}

/* Time until the next slice after one of `n` processes, which may be few on a slow host, so that a
 * round takes the whole interval. */
static uint64_t scan_pause_usec(const Registry *registry, size_t n) {
        const size_t n_unread = registry->scan.n_unread;

        return n < n_unread ? REGISTRY_SCAN_INTERVAL_USEC * n / n_unread
                            : REGISTRY_SCAN_INTERVAL_USEC;
}

static int on_scan(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Registry *registry = userdata;
        uint64_t pause;
        size_t n = 0;
        int r = 0;

        if (registry->scan_next >= registry->scan.n_entries) {
                /* An exec is reported by the connector, and a loss of events leads to scan_all().
                 * Without the connector nothing reports an exec: each process is read each time. */
                r = scan_begin_round(registry,
                                     registry->connector_fd < 0 ||
                                             ++registry->scan_rounds >= REGISTRY_WHOLE_ROUNDS);
                registry->scan_at_once = registry->connector_fd < 0;
                host_queue(registry->host, HOST_WORK_ROUND);
        }
        if (r >= 0)
                r = scan_slice(registry,
                               registry->scan_at_once ? registry->scan.n_entries : SLICE_PROCESSES,
                               clock_monotonic_usec() + SCAN_PASS_USEC, &n);
        if (r < 0) {
                registry->scan_next = registry->scan.n_entries; /* the next time a round begins */
                n = SLICE_PROCESSES;
        }
        registry->scan_at_once &= registry->scan_next < registry->scan.n_entries;
        pause = registry->scan_at_once        ? SCAN_PAUSE_USEC
                : registry->connector_fd >= 0 ? scan_pause_usec(registry, n)
                                              : REGISTRY_POLL_INTERVAL_USEC;
        (void)event_source_arm_after(source, pause);
        return 0;
}

/* --- ends ---
 *
 * Where the kernel has no pidfds, nothing reports the end of a process. */

static int on_ends(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Registry *registry = userdata;
        size_t index;

        for (size_t i = registry->n_entries; i > 0; i--) {
                Instance *instance =
                        registry_find_pid(registry, registry->entries[i - 1].pid, &index);

                if (!proc_is_alive(instance->members[index].handle))
                        registry_remove_process(registry, instance, index);
        }
        ignored_prune(&registry->ignored);
        return event_source_arm_after(source, ENDS_INTERVAL_USEC);
}

/* What becomes a daemon forks and ends, perhaps before its exec or its fork is looked at. No event
 * reports the process that it leaves: a scan finds it. On a busy host some process always ends
 * before its exec is looked at, so for those there is one scan in this time. */
#define ENDED_EXECS_USEC (UINT64_C(10) * 1000 * 1000)

static void on_process_event(const ProcEvent *event, void *userdata) {
        Registry *registry = userdata;

        registry->connector_events.received++;
        switch (event->kind) {
        case PROC_KIND_EXEC:
                workers_forget(registry->host->workers, event->pid);
                if (identify_exec(registry, event->pid) == IDENTIFY_ENDED &&
                    clock_monotonic_usec() >= registry->rescan_usec + ENDED_EXECS_USEC)
                        registry_scan_soon(registry, false);
                break;
        case PROC_KIND_UID: /* a server that root starts becomes its `user` without another exec */
                (void)identify_consider(registry, event->pid);
                break;
        case PROC_KIND_FORK: /* a worker that never execs, as haproxy's */
                /* With the filter, a parent that is not known has forked as a member, and ended. */
                if ((!registry->fork_filter_all ||
                     registry_find_pid(registry, event->parent, NULL)) &&
                    identify_consider(registry, event->pid) == IDENTIFY_ENDED)
                        registry_scan_soon(registry, false);
                break;
        case PROC_KIND_COMM: /* a process that renames itself may have changed more than its name */
                if (registry_find_pid(registry, event->pid, NULL))
                        (void)identify_consider(registry, event->pid);
                break;
        case PROC_KIND_ACK:
                break;
        }
}

static int on_rescan(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Registry *registry = userdata;
        const bool whole = registry->rescan_whole;

        if (registry->scan_at_once) /* which has read some processes before this was wanted */
                return event_source_arm_after(registry->rescan_timer,
                                              REGISTRY_RESCAN_INTERVAL_USEC);
        registry->rescan_whole = false;
        registry->connector_events.rescans += whole;
        registry->rescan_usec = clock_monotonic_usec();
        (void)scan_all(registry, whole, true);
        return 0;
}

/* Reads a whole batch of events before any instance is reconciled: bash, numactl, env and server on
 * one PID, or the many processes of a unit, cause one reconcile. */
static int on_connector(_unused_ sd_event_source *source, int fd, _unused_ uint32_t revents,
                        void *userdata) {
        static const JournalFields fields = { .message_id = JOURNAL_EVENTS_LOST, .repeats = true };
        Registry *registry = userdata;
        const uint64_t before = registry->n_considered;
        int r = proc_connector_read(fd, on_process_event, registry);

        if (r >= 0) {
                if (registry->n_considered == before)
                        host_queue(registry->host, HOST_WORK_NONE);
                return 0;
        }
        registry->connector_events.lost++;
        host_queue(registry->host, HOST_WORK_PUBLISH);
        if (event_source_is_armed(registry->rescan_timer) && registry->rescan_whole)
                return 0;
        registry->rescan_whole = true;
        journal_log(&registry->host->journal, LOG_WARNING, &fields,
                    "The kernel's process events were lost (%s); scanning all processes",
                    strerror(-r));
        (void)event_source_arm(registry->rescan_timer,
                               registry->rescan_usec + REGISTRY_RESCAN_INTERVAL_USEC);
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

int watch_start(Registry *registry) {
        sd_event *event = registry->host->event;
        const bool live = registry->host->sysroot.live;
        int r = 0;

        identify_start(registry);
        if (live && !registry->host->args->once) {
                r = proc_connector_open(REGISTRY_RECEIVE_BUFFER_BYTES, &registry->connector_fd);
                /* An attacker who takes over this process must not get to change the network.
                 * change/setting.c raises the capability again for a write. */
                (void)capability_set_effective(CAP_NET_ADMIN, false);
                if (r < 0)
                        journal_log(&registry->host->journal, LOG_WARNING, NULL,
                                    "The process connector cannot be used: %s (%s). New processes "
                                    "are found by a scan every %d s instead",
                                    strerror(-r), connector_hint(r),
                                    (int)(REGISTRY_POLL_INTERVAL_USEC / 1000000));
                r = 0;
        }
        if (registry->connector_fd >= 0) {
                r = event_source_add_off(event, &registry->rescan_timer, 1000, on_rescan, registry);
                if (r >= 0)
                        r = sd_event_source_set_priority(registry->rescan_timer,
                                                         SD_EVENT_PRIORITY_IMPORTANT);
                if (r >= 0)
                        r = sd_event_add_io(event, &registry->connector_source,
                                            registry->connector_fd, EPOLLIN, on_connector,
                                            registry);
                /* New processes have priority over samples and moves. */
                if (r >= 0)
                        r = sd_event_source_set_priority(registry->connector_source,
                                                         SD_EVENT_PRIORITY_IMPORTANT);
        }
        if (r >= 0 && live && !proc_has_pidfds()) {
                journal_log(&registry->host->journal, LOG_NOTICE, NULL,
                            "The kernel has no pidfd_open(2), or the unit's list of system calls "
                            "does not allow it: the end of a process is noticed within %d ms",
                            (int)(ENDS_INTERVAL_USEC / 1000));
                r = event_source_add_after(event, &registry->ends_timer, ENDS_INTERVAL_USEC,
                                           on_ends, registry);
        }
        /* Scan after the subscription, so that no process falls between the two. */
        if (r >= 0)
                r = scan_all(registry, true, false);
        if (r < 0)
                return r;
        /* Even without members, the filter must be set: to no process. */
        registry->fork_filter_stale = true;
        fork_filter_update(registry);
        return event_source_add_after(event, &registry->scan_timer,
                                      registry->connector_fd >= 0
                                              ? scan_pause_usec(registry, SLICE_PROCESSES)
                                              : REGISTRY_POLL_INTERVAL_USEC,
                                      on_scan, registry);
}

/* The policy that comes first in the files among those of its processes. NULL: none has one. */
static const Policy *match_first(const PolicySet *policies, const Instance *i) {
        const Policy *first = NULL;

        for (size_t k = 0; k < i->n_members; k++) {
                const Policy *p = match_process(policies, &i->members[k].process);

                first = p && (!first || p < first) ? p : first;
        }
        return first;
}

int watch_rematch(Registry *registry) {
        const PolicySet *policies = &registry->host->policies;

        ignored_done(&registry->ignored); /* the new policies decide who is ignored */
        instance_counts_done(&registry->counts);
        /* Each keeps the processes of its policy; the scan finds the others. */
        for (size_t i = registry->n_instances; i > 0; i--) {
                Instance *instance = registry->instances[i - 1];
                const Policy *policy = NULL;
                bool unread = false;

                for (size_t k = 0; k < instance->n_members; k++)
                        unread |= identify_read_args(registry, &instance->members[k].process,
                                                     instance->members[k].handle) < 0;
                /* A command line that cannot be read yet takes it from no policy: it stays with the
                 * one of that name. */
                if (unread && instance->policy)
                        policy = policy_set_find(policies, instance->policy->name);
                if (!policy)
                        policy = match_first(policies, instance);
                if (policy &&
                    instance_counts_of(&registry->counts, (size_t)(policy - policies->policies),
                                       instance->uid) >= policy->max_instances)
                        policy = NULL; /* the user has max_instances of it already */
                instance->policy = policy;
                /* The element behind the last policy counts for instances without one. */
                instance->policy_index =
                        policy ? (size_t)(policy - policies->policies) : policies->n_policies;
                if (policy) {
                        (void)instance_counts_add(&registry->counts, instance->policy_index,
                                                  instance->uid);
                        instance_counts_join(&registry->counts, instance->policy_index,
                                             instance->uid, instance->n_members);
                        instance_queue(instance, WORK_POLICY);
                }
                /* Removing the last process ends the instance. */
                for (size_t k = instance->n_members; k > 0; k--)
                        if (!policy ||
                            (!unread &&
                             match_process(policies, &instance->members[k - 1].process) != policy))
                                registry_remove_process(registry, instance, k - 1);
                if (instance->n_members == 0)
                        continue;
                describe_again(registry, instance, clock_monotonic_usec());
                /* Disks are read only where a place depends on them. The place is chosen next. */
                if (policy->place.near == NEAR_STORAGE && id_set_is_empty(&instance->storage_nodes))
                        (void)describe_storage(registry, instance);
        }
        if (!registry->host->ready)
                return scan_all(registry, true, false);
        workers_begin_pass(registry->host->workers, true); /* what comes now is others' doing */
        return scan_all(registry, true, registry->scan_timer);
}

/* Enough for generations of children that all started within one moment; the scan finds deeper
 * ones. */
enum { ROUNDS_MAX = 8 };

void fork_filter_update(Registry *registry) {
        size_t left = OTHERS_CHILDREN_AT_ONCE;

        if (registry->connector_fd < 0)
                return;
        for (unsigned n = 0; registry->fork_filter_stale && n < ROUNDS_MAX; n++) {
                PidList members = { 0 };
                PidList children = { 0 }; /* of members that joined since the last update */
                int r = 0;

                registry->fork_filter_stale = false;
                REGISTRY_FOREACH(i, registry)
                for (size_t p = 0; r >= 0 && p < i->n_members; p++)
                        r = pid_list_add(i->members[p].process.id.pid, &members);
                /* A filter that cannot be set costs events of foreign processes, but none is
                 * missed. */
                if (r < 0)
                        (void)proc_connector_filter(registry->connector_fd, NULL, 0);
                else if (members.n_pids <= PROC_CONNECTOR_PARENTS_MAX || !registry->fork_filter_all)
                        (void)proc_connector_filter(registry->connector_fd, members.pids,
                                                    members.n_pids);
                registry->fork_filter_all = members.n_pids > PROC_CONNECTOR_PARENTS_MAX;
                /* The kernel's filter is set: from now on each fork causes an event. The children
                 * of one that has ended are no longer its children: what it forked before is looked
                 * for when it is removed. */
                REGISTRY_FOREACH(i, registry)
                for (size_t p = 0; p < i->n_members; p++) {
                        Member *member = &i->members[p];

                        if (member->forks_reported)
                                continue;
                        (void)proc_children(member->handle, &children);
                        member->forks_reported = proc_is_alive(member->handle);
                }
                for (size_t k = 0; k < children.n_pids && left > 0; k++, left--)
                        if (identify_consider(registry, children.pids[k]) == IDENTIFY_ENDED)
                                registry_scan_soon(registry, false);
                pid_list_done(&members);
                pid_list_done(&children);
        }
        if (left == 0)
                registry_scan_soon(registry, true);
}
