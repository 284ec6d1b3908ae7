/* What a process was given at its exec, once it is known what becomes of it. */

#include <limits.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "rooms.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/registry/start.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

typedef struct TestHost {
        Args args;
        Rooms m;
        FakeTree folder; /* of records */
        Node node;
        Policy policy;
        BackendOps ops;
        Instance *instance;
        pid_t pid;
        CpuSet all, one;
        char exe[PATH_MAX]; /* this test's */
} TestHost;

static const char *why; /* the backend refuses */

static const char *refuses(Backend *backend, const BackendTarget *target, const Placement *p) {
        (void)backend;
        (void)target;
        (void)p;
        return why;
}

/* What it has is being read, so that nothing else is done to it; and nothing else is observed. */
static int is_noting(_unused_ Backend *backend, _unused_ const BackendTarget *target,
                     _unused_ UndoRecord *record, _unused_ BackendCall *call) {
        return 0;
}

int __wrap_worker_probe_members(Workers *workers, const Members *members);
int __wrap_worker_probe_members(_unused_ Workers *workers, _unused_ const Members *members) {
        return 0;
}

int __wrap_binding_load(const Topology *topology, const Sysroot *sysroot, Member *members,
                        size_t n_members, const BindingGroups *groups, const CpuSet *cpus,
                        Binding *ret);
int __wrap_binding_load(_unused_ const Topology *topology, _unused_ const Sysroot *sysroot,
                        _unused_ Member *members, _unused_ size_t n_members,
                        _unused_ const BindingGroups *groups, _unused_ const CpuSet *cpus,
                        _unused_ Binding *ret) {
        return -ESRCH;
}

/* A real process with the two or more CPUs that this test has, which the daemon does not know. */
static void host_wire(TestHost *h, BackendKind kind) {
        *h = (TestHost){ .policy = { .name = (char *)"p" },
                         .ops = { .kind = kind, .refuses = refuses, .note = is_noting } };
        why = NULL;
        assert_int_equal(affinity_read_thread(0, &h->all), 0);
        if (id_set_count(&h->all) < 2)
                skip(); /* with one CPU to be bound changes nothing */
        id_set_add(&h->one, (uint32_t)id_set_next(&h->all, 0));
        assert_int_equal(sysroot_open(NULL, &h->m.host.sysroot), 0);
        h->m.host.args = &h->args;
        h->m.host.journal.max_priority = -1;
        h->pid = child_start();
        rooms_wire(&h->m);
        fake_init(&h->folder);
        assert_int_equal(undo_open(&h->m.undo.records, h->folder.fd), 0);
        backend_init(&h->m.host.backend, &h->m.host.sysroot, NULL);
        h->m.host.backend.ops = &h->ops;
}

/* The process has one CPU, and is of an instance whose place is the whole host. */
static void host_init(TestHost *h, BackendKind kind) {
        ProcHandle handle = PROC_HANDLE_NONE;
        Process p = { .exe = strdup("/srv/tidb-server") };

        host_wire(h, kind);
        assert_int_equal(proc_open(&h->m.host.sysroot, h->pid, &handle), 0);
        p.id = (ProcessId){ h->pid, handle.start_ticks };
        h->instance = rooms_add(&h->m, &h->policy, &p, &handle);
        h->node = (Node){ .cpus = h->all, .memory_bytes = 1 << 30 };
        h->m.host.topology = (Topology){ .nodes = &h->node, .n_nodes = 1 };
        h->m.host.policies =
                (PolicySet){ .policies = &h->policy, .n_policies = 1, .mode = ENFORCEMENT_ENFORCE };
        h->m.host.policies_known = h->m.host.ready = true;
        h->policy.place = (Place){ .count = 1, .nodes = node_set("0") };
        h->instance->members[0].start = calloc(1, sizeof(StartCpus));
        assert_non_null(h->instance->members[0].start);
        start_cpus_set(&h->m.host.sysroot, h->instance->members[0].handle, &h->one,
                       &h->m.host.backend.n_pid_reuses, h->instance->members[0].start);
        assert_true(h->instance->members[0].start->set);
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->m);
        undo_done(&h->m.undo.records);
        h->m.host.backend.ops = NULL;
        backend_done(&h->m.host.backend);
        child_end(h->pid);
        fake_done(&h->folder);
        sysroot_close(&h->m.host.sysroot);
}
#define _cleanup_host_ _cleanup_(host_done)

static void assert_cpus(const TestHost *h, const CpuSet *expected) {
        CpuSet now;

        assert_int_equal(affinity_read_thread(h->pid, &now), 0);
        assert_true(id_set_equal(&now, expected));
}

/* Kept where the threads are bound themselves, and by an instance that is to be bound. */
TEST(kept_or_taken_back) {
        static const struct {
                BackendKind kind;
                const char *why;
                bool no_place, stopping, kept;
        } cases[] = {
                { BACKEND_AFFINITY, .kept = true },
                { BACKEND_CGROUP1, .kept = true },
                { BACKEND_SYSTEMD },
                /* The cpuset of a container does not allow its nodes: nothing is recorded. */
                { BACKEND_CGROUP1, .why = "no" },
                { BACKEND_CGROUP1, .no_place = true },
                { BACKEND_AFFINITY, .stopping = true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ TestHost h;

                host_init(&h, cases[i].kind);
                why = cases[i].why;
                if (cases[i].no_place)
                        h.policy.place.nodes = node_set("1");
                h.m.host.stopping = cases[i].stopping;
                binding_work(&h.m.binding, h.instance, WORK_JOINED, clock_monotonic_usec());
                reconcile_due(&h.m.binding, clock_monotonic_usec());
                assert_cpus(&h, cases[i].kept ? &h.one : &h.all);
        }
}

/* There is a policy for the process. */
static void stranger_init(TestHost *h) {
        ssize_t n;

        host_wire(h, BACKEND_AFFINITY);
        n = readlink("/proc/self/exe", h->exe, sizeof(h->exe) - 1);
        assert_true(n > 0);
        h->exe[n] = '\0';
        h->policy.match.exe = strrchr(h->exe, '/') + 1;
        h->policy.max_instances = 10;
        h->m.host.policies =
                (PolicySet){ .policies = &h->policy, .n_policies = 1, .mode = ENFORCEMENT_ENFORCE };
}

static void stranger_done(TestHost *h) {
        host_done(h);
        sd_event_unref(h->m.host.event);
}

#define STRANGER_TEST(test) TEST_WITH(test, TestHost, h, stranger_init, stranger_done)

static void announce(TestHost *h) {
        CpuSet *cpus = calloc(1, sizeof(*cpus));

        assert_non_null(cpus);
        *cpus = h->one;
        start_announce(&h->m.registry, cpus, 1);
}

STRANGER_TEST(given_at_its_exec) {
        assert_int_equal(sd_event_new(&h->m.host.event), 0);
        announce(h);
        assert_int_equal(identify_exec(&h->m.registry, h->pid), 0);
        assert_int_equal(h->m.registry.n_instances, 1);
        assert_non_null(h->m.registry.instances[0]->members[0].start);
        assert_cpus(h, &h->one);
}

/* Without an event loop its end cannot be watched, which is found after it was made a member. */
STRANGER_TEST(taken_back_from_one_that_cannot_be_entered) {
        announce(h);
        assert_true(identify_exec(&h->m.registry, h->pid) < 0);
        assert_int_equal(h->m.registry.n_instances, 0);
        assert_cpus(h, &h->all);
}

/* The scan that identifies it may be a later one than the first. */
STRANGER_TEST(recalled_if_older_than_the_daemon) {
        Process p = { .exe = (char *)"/srv/tidb-server" };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        StartCpus start;

        assert_int_equal(proc_open(&h->m.host.sysroot, h->pid, &handle), 0);
        start_cpus_set(&h->m.host.sysroot, &handle, &h->one, &h->m.host.backend.n_pid_reuses,
                       &start);
        assert_true(start.set);
        assert_int_equal(undo_starts_add(&h->m.undo.records.former, &h->one), 0);
        h->m.host.ready = true;
        p.id = (ProcessId){ h->pid, clock_boottime_ticks() + 1 };
        start_recall(&h->m.registry, &p, &handle, &start);
        assert_false(start.set);
        p.id.start_ticks = handle.start_ticks;
        start_recall(&h->m.registry, &p, &handle, &start);
        assert_true(start.set);
        assert_true(id_set_equal(&start.before, &h->all));
}
