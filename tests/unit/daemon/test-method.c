/* An instance from one means of being bound to another. */
#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "../change/set-before.h"
#include "rooms.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/undo/undoing.h"

#define SECOND UINT64_C(1000000)
#define SESSION "/user.slice/user-7.slice/session-3.scope"

typedef struct TestHost {
        FakeTree tree;
        Args args;
        Rooms m;
        Policy policy;
        Instance *instance;
} TestHost;

static void host_init(TestHost *h, const char *unit, const char *cgroup) {
        Process p = { .id = { .pid = 50, .start_ticks = 1050 },
                      .exe = strdup("/srv/tidb-server"),
                      .cgroup = strdup(cgroup),
                      .unit = strdup(unit) };
        ProcHandle handle = PROC_HANDLE_NONE;

        *h = (TestHost){ .policy = { .name = (char *)"p" } };
        fake_init(&h->tree);
        h->m = (Rooms){ .host.args = &h->args,
                        .host.sysroot = h->tree.sysroot,
                        .host.journal = { .max_priority = -1 } };
        h->m.host.sysroot.live = true;
        rooms_wire(&h->m);
        backend_init(&h->m.host.backend, &h->m.host.sysroot, NULL);
        h->m.host.backend.ops = &backend_systemd_ops;
        fake_write(&h->tree, "sys/fs/cgroup" SESSION "/cgroup.procs", "40\n50\n");
        fake_process(&h->tree, 50, 1, "/srv/tidb-server", cgroup, "0-7");
        assert_int_equal(proc_open(&h->tree.sysroot, 50, &handle), 0);
        h->instance = rooms_add(&h->m, &h->policy, &p, &handle);
        h->instance->binding.observed.alone = true;
        h->instance->planned.allowed_known = true;
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->m);
        undo_release_done(&h->m.undo);
        undo_done(&h->m.undo.records);
        backend_done(&h->m.host.backend);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define SERVICE_TEST(test) TEST_WITH(test, TestHost, h, host_init_service, host_done)

static void host_init_service(TestHost *h) {
        host_init(h, "agent.service", "/system.slice/agent.service");
}

static void assert_bound_by(const TestHost *h, BindMethod method, BackendKind kind) {
        assert_int_equal(h->instance->binding.means.method, method);
        assert_int_equal(instance_backend(h->instance, &h->m.host.backend), kind);
}

/* The record as the step that was carried out leaves it. */
static UndoRecord *bound_record(TestHost *h, const char *unit) {
        UndoRecord *r;
        CpuSet cpus = { 0 };

        id_set_add(&cpus, 1);
        assert_int_equal(undo_get(&h->m.undo.records, "agent", unit,
                                  &h->instance->members[0].process.id, &r),
                         0);
        if (unit) {
                assert_int_equal(undo_values_add(&r->cpus.ours, ID_VIEW(&cpus)), 1);
                r->cpus.noted = r->mems.noted = true;
        } else
                set_given(r, &cpus);
        h->instance->undo.record = r;
        return r;
}

TEST(a_scope_with_limits_is_not_left_but_bound_by_affinity) {
        _cleanup_host_ TestHost h;
        CpuSet own = { 0 };

        id_set_add(&own, 2);
        host_init(&h, "session-3.scope", SESSION);
        fake_write(&h.tree, "sys/fs/cgroup/cgroup.controllers", "cpuset\n");
        fake_write(&h.tree, "sys/fs/cgroup" SESSION "/cpuset.cpus.effective", "2\n");
        fake_write(&h.tree, "sys/fs/cgroup" SESSION "/cpuset.mems.effective", "0\n");
        assert_false(method_follow(&h.m.binding, h.instance, SECOND));
        assert_bound_by(&h, METHOD_SCOPE, BACKEND_SYSTEMD);
        fake_write(&h.tree, "sys/fs/cgroup" SESSION "/memory.max", "4096\n");
        h.instance->binding.due_usec = INSTANCE_NEVER;
        assert_true(method_follow(&h.m.binding, h.instance, 2 * SECOND));
        assert_bound_by(&h, METHOD_AFFINITY, BACKEND_AFFINITY);
        assert_non_null(strstr(h.instance->binding.means.why, "limits"));
        assert_int_equal(h.instance->binding.means.code, REASON_UNIT_LIMITS);
        assert_in_range(h.instance->binding.due_usec, 2 * SECOND,
                        3 * SECOND);                   /* to be reconciled again */
        assert_true(h.m.host.queued & HOST_WORK_PLAN); /* not at once: others may follow */
        place_refresh(&h.m.placing);
        assert_true(id_set_equal(&h.instance->allowed_cpus, &own)); /* not written to */
        assert_false(method_follow(&h.m.binding, h.instance, 3 * SECOND));
}

/* The limits of a scope are known in full only when it is about to be left: what is bound stays. */
TEST(without_a_service_it_keeps_affinity) {
        _cleanup_host_ TestHost h;

        host_init(&h, "session-3.scope", SESSION);
        bound_record(&h, NULL);
        assert_false(method_follow(&h.m.binding, h.instance, SECOND));
        assert_bound_by(&h, METHOD_AFFINITY, BACKEND_AFFINITY);
        assert_false(method_follow(&h.m.binding, h.instance, 1000 * SECOND));
        assert_int_equal(h.m.undo.releases.n, 0);
}

/* Behind the daemon's own calls at its start the answer takes some seconds; then what its start
 * asks for is known. One that never comes is not awaited for ever. */
SERVICE_TEST(a_unit_is_awaited_until_it_is_read) {
        h->policy.match.unit = (char *)"agent.service";
        h->m.host.policies.policies = &h->policy;
        h->m.host.policies.n_policies = 1;
        h->m.units.gathering = true;
        h->instance->first_seen_usec = SECOND;
        assert_true(method_follow(&h->m.binding, h->instance, 11 * SECOND));
        assert_int_equal(h->instance->binding.means.method, METHOD_NONE);
        assert_in_range(h->instance->binding.due_usec, 11 * SECOND, 12 * SECOND);
        assert_false(method_follow(&h->m.binding, h->instance, 61 * SECOND));
        assert_bound_by(h, METHOD_UNIT, BACKEND_SYSTEMD);
}

SERVICE_TEST(a_service_that_becomes_shared_is_released_after_a_while) {
        UndoRecord *r;

        assert_false(method_follow(&h->m.binding, h->instance, SECOND));
        assert_bound_by(h, METHOD_UNIT, BACKEND_SYSTEMD);
        r = bound_record(h, "agent.service");
        h->instance->binding.observed.alone = false;
        assert_false(method_follow(&h->m.binding, h->instance, 2 * SECOND));
        h->instance->binding.observed.alone = true; /* it was ExecReload= */
        assert_false(method_follow(&h->m.binding, h->instance, 11 * SECOND));
        h->instance->binding.observed.alone = false;
        assert_false(method_follow(&h->m.binding, h->instance, 12 * SECOND));
        assert_false(method_follow(&h->m.binding, h->instance, 21 * SECOND));
        assert_bound_by(h, METHOD_UNIT, BACKEND_SYSTEMD);
        assert_false(r->releasing);
        assert_true(method_follow(&h->m.binding, h->instance, 22 * SECOND));
        assert_true(r->releasing);
}

SERVICE_TEST(shared_from_the_start_it_is_bound_by_affinity_until_it_is_alone_for_a_minute) {
        UndoRecord *r;

        h->instance->binding.observed.alone = false;
        assert_true(method_follow(&h->m.binding, h->instance, SECOND));
        assert_bound_by(h, METHOD_AFFINITY, BACKEND_AFFINITY);
        assert_int_equal(h->instance->binding.means.code, REASON_SHARED_UNIT);
        r = bound_record(h, NULL);
        h->instance->binding.observed.alone = true;
        assert_false(method_follow(&h->m.binding, h->instance, 2 * SECOND));
        assert_bound_by(h, METHOD_AFFINITY, BACKEND_AFFINITY);
        assert_false(method_follow(&h->m.binding, h->instance, 61 * SECOND));
        assert_false(r->releasing);
        assert_true(method_follow(&h->m.binding, h->instance, 62 * SECOND));
        assert_true(r->releasing);
}

SERVICE_TEST(the_policy_is_followed_at_once_both_ways) {
        UndoRecord *r = bound_record(h, "agent.service");

        h->policy.backend = POLICY_BACKEND_AFFINITY;
        assert_true(method_follow(&h->m.binding, h->instance, SECOND));
        assert_true(r->releasing);
        assert_bound_by(h, METHOD_UNIT, BACKEND_SYSTEMD); /* until that is released */
        undo_release_done(&h->m.undo);
        undo_forget(&h->m.undo.records, r);
        h->instance->undo.record = NULL;
        assert_true(method_follow(&h->m.binding, h->instance, 2 * SECOND));
        assert_bound_by(h, METHOD_AFFINITY, BACKEND_AFFINITY);
        r = bound_record(h, NULL);
        assert_false(method_follow(&h->m.binding, h->instance, 3 * SECOND));
        h->policy.backend = POLICY_BACKEND_AUTO;
        assert_true(method_follow(&h->m.binding, h->instance, 4 * SECOND));
        assert_true(r->releasing);
}

SERVICE_TEST(a_daemon_that_changes_nothing_releases_nothing) {
        UndoRecord *r;

        h->m.host.policies.mode = ENFORCEMENT_OBSERVE;
        r = bound_record(h, "agent.service");
        h->policy.backend = POLICY_BACKEND_AFFINITY;
        assert_false(method_follow(&h->m.binding, h->instance, SECOND));
        assert_false(r->releasing);
}
