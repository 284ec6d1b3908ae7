/* When the ports, the data directory, the disks and the memory policy of an instance are read, and
 * what follows from a change. Workers read them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

/* Times of reading after the start of the last process. A TiKV replays its log before it listens,
 * which may take minutes. What listens later than the last time is found when it starts again. */
static const unsigned delays_ms[] = { 200, 1000, 3000, 10000, 30000, 120000, 600000 };

/* What is not answered yet is read again then, or by this time. */
#define WAIT_AGAIN_USEC (UINT64_C(500) * 1000)

static bool answer_is_pending(int r) {
        return r == -EAGAIN || r == -EBUSY;
}

int describe_storage(const Registry *registry, Instance *i) {
        const Members members = facts_members(&i->facts, &registry->host->sysroot);
        _cleanup_storage_devices_ StorageDevices storage = { 0 };
        /* On which to read its command line: that touches a page of its memory. */
        const CpuSet cpus = id_set_is_empty(&i->binding.placement.nodes)
                                    ? topology_cpus_of(&registry->host->topology,
                                                       &i->binding.observed.last_nodes)
                                    : i->binding.placement.cpus;
        int r = 0;

        if (!members_are_vouched_for(&members, i->policy))
                return 0;
        if (!i->data_dir)
                r = worker_read_data_dir(registry->host->workers, &members, &cpus, &i->data_dir);
        if (!i->data_dir || i->policy->place.near != NEAR_STORAGE)
                return answer_is_pending(r) ? r : 0;
        /* Read again each time: a disk may be mounted over the directory later, and a link may
         * change. */
        r = worker_read_storage(registry->host->workers, &members, i->data_dir, &storage);
        if (r < 0) {
                journal_log(&registry->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i),
                            "%s: the disk under %s cannot be found: %s", i->name, i->data_dir,
                            strerror(-r));
                return answer_is_pending(r) ? r : 0;
        }
        journal_log(&registry->host->journal, LOG_DEBUG, &INSTANCE_FIELDS(i), "%s: %s", i->name,
                    storage.chain);
        free(i->storage);
        i->storage = TAKE_PTR(storage.chain);
        i->storage_nodes = storage.nodes;
        i->storage_known = true;
        instance_queue(i, WORK_STORAGE);
        return 0;
}

int describe_memory_policy(const Registry *registry, Instance *i) {
        const char *before = i->memory_policy ? i->memory_policy : "default";
        char policy[256];
        int r;

        /* Where a policy names nodes and leaves memory alone, nothing depends on it. */
        if (i->policy->built_in || i->n_members == 0 ||
            (i->policy->memory == MEMORY_NONE &&
             placement_is_explicit(i->policy, i->unit, i->ports, i->n_ports)))
                return 0;
        r = worker_read_memory_policy(registry->host->workers, i->members[0].handle, i->uid, policy,
                                      sizeof(policy));
        if (i->memory_policy_awaited && !answer_is_pending(r))
                instance_queue(i, WORK_PLACE); /* it can be given one now, and not only when due */
        i->memory_policy_awaited = answer_is_pending(r);
        if (r < 0 || strcmp(policy, before) == 0)
                return i->memory_policy_awaited ? r : 0;
        free(i->memory_policy);
        i->memory_policy = strcmp(policy, "default") == 0 ? NULL : strdup(policy);
        host_queue(registry->host, HOST_WORK_PLAN);
        return 0;
}

/* -EAGAIN, -EBUSY: to be read again soon. */
static int describe(Registry *registry, Instance *i) {
        _cleanup_listen_ports_ ListenPorts ports = { 0 };
        const int policy = describe_memory_policy(registry, i);
        const int storage = describe_storage(registry, i);
        const Members members = facts_members(&i->facts, &registry->host->sysroot);
        bool placed_by_port = false;
        int r = worker_read_ports(registry->host->workers, &members, &ports);

        if (answer_is_pending(r))
                return r;
        /* A server that shuts down closes its ports: keep the last ones, which are part of its
         * name. */
        if (r < 0 || ports.n_ports == 0 ||
            (i->n_ports == ports.n_ports &&
             memcmp(i->ports, ports.ports, ports.n_ports * sizeof(uint16_t)) == 0))
                return policy < 0 ? policy : storage;
        free(i->ports);
        i->ports = TAKE_PTR(ports.ports);
        i->n_ports = ports.n_ports;
        for (size_t k = 0; k < i->policy->n_instances; k++)
                placed_by_port |= i->policy->instances[k].match.port != 0;
        if (placed_by_port) {
                host_queue(registry->host, HOST_WORK_PLAN);
                instance_queue(i, WORK_POLICY);
        }
        host_queue(registry->host, HOST_WORK_PUBLISH);
        (void)registry_rename(registry, i); /* without memory it keeps its name */
        return policy < 0 ? policy : storage;
}

static void describe_arm(Registry *registry) {
        uint64_t due = INSTANCE_NEVER;

        REGISTRY_FOREACH(i, registry)
        if (i->describe_due_usec < due)
                due = i->describe_due_usec;
        if (!registry->describe_timer)
                return; /* with --once nothing is read again */
        if (due == INSTANCE_NEVER)
                (void)sd_event_source_set_enabled(registry->describe_timer, SD_EVENT_OFF);
        else
                (void)event_source_arm(registry->describe_timer, due);
}

static int on_describe(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Registry *registry = userdata;
        const uint64_t now = clock_monotonic_usec();
        Instance *due = NULL;

        /* One at a time, so that other events are handled in between; a rename also moves the
         * instance in the registry. */
        REGISTRY_FOREACH(i, registry)
        if (!due && i->describe_due_usec <= now)
                due = i;
        if (due) {
                due->describe_due_usec = INSTANCE_NEVER;
                due->describe_waits = answer_is_pending(describe(registry, due));
                if (due->describe_waits)
                        due->describe_due_usec = now + WAIT_AGAIN_USEC;
                else if (++due->n_described < ELEMENTSOF(delays_ms))
                        /* it may find what is missing */
                        due->describe_due_usec = now + delays_ms[due->n_described] * UINT64_C(1000);
        }
        describe_arm(registry);
        return 0;
}

static void on_describe_answer(const ProcessId *process, WorkerJob job, void *userdata) {
        Registry *registry = userdata;
        Instance *i = registry_find_pid(registry, process->pid, NULL);

        if (i && job == WORKER_MEMORY_POLICY && i->memory_policy_awaited)
                (void)describe_memory_policy(registry, i);
        if (!i || !i->describe_waits)
                return;
        i->describe_due_usec = clock_monotonic_usec();
        describe_arm(registry);
}

/* A read that is due earlier sees it as well: whoever starts processes all the time would put it
 * off for ever. */
void describe_again(Registry *registry, Instance *i, uint64_t now_usec) {
        const unsigned first = i->n_described > 0 ? 1 : 0;
        const uint64_t due = now_usec + delays_ms[first] * UINT64_C(1000);

        if (due >= i->describe_due_usec)
                return;
        i->n_described = first;
        i->describe_due_usec = due;
        describe_arm(registry);
}

static int instance_compare_pids(const void *a, const void *b) {
        const Instance *const *x = a, *const *y = b;
        const pid_t p = (*x)->members[0].process.id.pid, q = (*y)->members[0].process.id.pid;

        return p < q ? -1 : p > q;
}

/* In a fixed order, as the first of two instances that listen on one port gets the short name. From
 * a copy, as a new name moves an instance in the registry. */
int describe_all(Registry *registry) {
        const size_t n = registry->n_instances;
        _cleanup_free_ Instance **all = calloc(n + 1, sizeof(Instance *));

        if (!all)
                return -ENOMEM;
        if (n > 0)
                memcpy(all, registry->instances, n * sizeof(Instance *));
        qsort(all, n, sizeof(Instance *), instance_compare_pids);
        for (size_t k = 0; k < n; k++)
                (void)describe(registry, all[k]);
        return 0;
}

int describe_start(Registry *registry) {
        static const WorkerJob asked[] = { WORKER_PORTS, WORKER_DATA_DIR, WORKER_STORAGE,
                                           WORKER_MEMORY_POLICY };
        int r = event_source_add_off(registry->host->event, &registry->describe_timer, 0,
                                     on_describe, registry);

        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                workers_on_answer(registry->host->workers, asked[i], on_describe_answer, registry);
        describe_arm(registry);
        return 0;
}
