/* The whole daemon on a fake machine: what it makes of a reload, and of processes that come and go.
 */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/manager.h"

int __wrap_topology_load(const Sysroot *sysroot, Topology *ret);
int __wrap_topology_load(const Sysroot *sysroot, Topology *ret) {
        (void)sysroot;
        *ret = (Topology){ .nodes = calloc(1, sizeof(Node)), .n_nodes = 1 };
        ret->nodes[0] = (Node){ .memory_bytes = 1 << 30, .cpus = cpu_set("0-1") };
        return 0;
}

typedef struct TestHost {
        FakeTree tree;
        char policies[64];
        Args args;
        Manager *m;
} TestHost;

static void write_policy(const TestHost *h, const char *name) {
        char text[256];

        (void)snprintf(text, sizeof(text),
                       "version: 1\npolicies:\n  - name: %s\n    match: {exe: /srv/tikv-server}\n",
                       name);
        fake_write(&h->tree, "policies/a.yaml", text);
}

static void host_init(TestHost *h) {
        sigset_t signals;

        *h = (TestHost){ .m = NULL };
        fake_init(&h->tree);
        (void)snprintf(h->policies, sizeof(h->policies), "%s/policies", h->tree.path);
        write_policy(h, "first");
        fake_process(&h->tree, 10, 1, "/srv/tikv-server", "/system.slice/a.service", "0-1");
        fake_process(&h->tree, 11, 1, "/srv/tikv-server", "/system.slice/a.service", "0-1");
        h->args = (Args){ .sysroot = h->tree.path,
                          .policy_dirs = { h->policies },
                          .n_policy_dirs = 1 };
        (void)sigemptyset(&signals);
        (void)sigaddset(&signals, SIGHUP);
        (void)sigaddset(&signals, SIGTERM);
        (void)sigaddset(&signals, SIGINT);
        assert_int_equal(sigprocmask(SIG_BLOCK, &signals, NULL), 0);
        assert_int_equal(manager_new(&h->args, &h->m), 0);
        assert_int_equal(manager_start(h->m), 0);
        assert_int_equal(h->m->registry.n_instances, 1);
        assert_int_equal(h->m->registry.instances[0]->n_members, 2);
}

static void host_done(TestHost *h) {
        manager_free(h->m);
        fake_done(&h->tree);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* The policies that were in force are freed: no instance may refer to one of them. */
HOST_TEST(a_reload_during_the_start_matches_anew) {
        const Policy *before = h->m->registry.instances[0]->policy;

        assert_string_equal(before->name, "first");
        h->m->host.ready = false; /* units are still being prepared */
        write_policy(h, "second");
        assert_int_equal(kill(getpid(), SIGHUP), 0);
        while (strcmp(h->m->host.policies.policies[0].name, "second") != 0)
                assert_true(sd_event_run(h->m->host.event, UINT64_MAX) >= 0);
        assert_int_equal(h->m->registry.n_instances, 1);
        assert_ptr_equal(h->m->registry.instances[0]->policy, &h->m->host.policies.policies[0]);
        assert_false(h->m->host.ready);
}

/* The pass holds on to a process that is gone. */
HOST_TEST(who_leaves_ends_a_pass) {
        Instance *i = h->m->registry.instances[0];

        i->binding.state = INSTANCE_MOVING;
        registry_remove_process(&h->m->registry, i, 1);
        manager_dispatch(h->m);
        assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
        assert_int_equal(i->n_members, 1);
}

/* It was mounted since, or could not be read for a moment. */
HOST_TEST(a_backend_that_was_missing_is_found_by_the_scan) {
        assert_null(h->m->host.backend.ops); /* of a dump */
        h->args.dry_run = true; /* the processes of the dump have numbers of this host's */
        h->m->host.sysroot.live = true;
        h->m->host.queued |= HOST_WORK_ROUND;
        manager_run_pass(h->m);
        h->m->host.sysroot.live = false;
        assert_non_null(h->m->host.backend.ops);
}

/* Whatever is queued is done once, and wakes who has to look again. */
HOST_TEST(work_is_done_by_its_reason) {
        static const struct {
                uint32_t work;
                bool wakes;       /* it is reconciled at once */
                bool begins;      /* from the beginning */
                bool forgets_all; /* nothing of it counts as applied any more */
        } rows[] = {
                { WORK_JOINED, true, true, false },
                { WORK_LEFT, true, true, false },
                { WORK_POLICY, true, true, false },
                { WORK_ADMIN, true, true, false },
                { WORK_REQUEST, true, true, false },
                { WORK_RECORD, true, true, true },
                { WORK_PLACE, true, false, false },
                { WORK_RENAMED, false, false, false },
                { WORK_STORAGE, false, false, false },
                { WORK_RELOADED, true, false, false },
                { WORK_PLACE | WORK_RECORD, true, true, true },
        };
        Instance *i = h->m->registry.instances[0];

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                manager_dispatch(h->m);
                i->binding.due_usec = INSTANCE_NEVER;
                i->binding.progress.passes = 1;
                i->members[0].cpus_applied = i->members[1].cpus_applied = true;
                instance_queue(i, rows[k].work);
                manager_dispatch(h->m);
                assert_int_equal(i->work & WORK_DISPATCHED, 0);
                assert_int_equal(i->binding.due_usec != INSTANCE_NEVER, rows[k].wakes);
                assert_int_equal(i->binding.progress.passes == 0, rows[k].begins);
                assert_int_equal(binding_cpus_applied(i), !rows[k].forgets_all);
                assert_int_equal(instance_take(i, WORK_FIRST) != 0, rows[k].work == WORK_JOINED);
        }
}

HOST_TEST(the_last_one_takes_the_instance_away) {
        registry_remove_process(&h->m->registry, h->m->registry.instances[0], 1);
        registry_remove_process(&h->m->registry, h->m->registry.instances[0], 0);
        assert_int_equal(h->m->registry.n_instances, 0);
        manager_dispatch(h->m);
        assert_null(h->m->registry.ended);
}
