/* The whole daemon on a fake machine: what it makes of a reload, and of processes that come and go.
 */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
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

HOST_TEST(the_last_one_takes_the_instance_away) {
        registry_remove_process(&h->m->registry, h->m->registry.instances[0], 1);
        registry_remove_process(&h->m->registry, h->m->registry.instances[0], 0);
        assert_int_equal(h->m->registry.n_instances, 0);
        manager_dispatch(h->m);
        assert_null(h->m->registry.ended);
}
