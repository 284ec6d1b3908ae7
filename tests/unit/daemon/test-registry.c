/* The instances by name: their order, names that two could have, names that change. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "rooms.h"
#include "tidbnumad/daemon/registry/registry.h"

static Policy policy = { .name = (char *)"ours" };

static Instance *add(Rooms *m, pid_t pid, const char *exe, const char *unit, uint16_t port) {
        Process process = { .id = { pid, 100 },
                            .exe = strdup(exe),
                            .unit = unit ? strdup(unit) : NULL };
        ProcHandle none = PROC_HANDLE_NONE;
        Instance *i = NULL;

        assert_int_equal(instance_new(&process, 0, &i), 0);
        i->policy = &policy;
        assert_int_equal(instance_add_process(i, &process, &none), 0);
        if (port > 0)
                rooms_set_port(i, port);
        assert_int_equal(registry_add(&m->registry, i), 0);
        return i;
}

static void assert_names(const Rooms *m, size_t n, const char *const *names) {
        assert_int_equal(m->registry.n_instances, n);
        for (size_t i = 0; i < n; i++)
                assert_string_equal(m->registry.instances[i]->name, names[i]);
}

#define ASSERT_NAMES(m, ...)                                                                       \
        assert_names(m, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *),             \
                     (const char *const[]){ __VA_ARGS__ })

ROOMS_TEST(order_and_search) {
        Process other = { .id = { 31, 100 }, .unit = (char *)"b.service" };
        Instance *i;
        size_t index;

        (void)add(m, 30, "/x", "b.service", 0);
        (void)add(m, 10, "/x", "c.service", 0);
        (void)add(m, 20, "/x", "a.service", 0);
        ASSERT_NAMES(m, "a", "b", "c");
        assert_ptr_equal(registry_find_pid(&m->registry, 10, &index), m->registry.instances[2]);
        assert_int_equal(index, 0);
        assert_null(registry_find_pid(&m->registry, 11, &index));
        assert_ptr_equal(registry_find_owner(&m->registry, &other), m->registry.instances[1]);
        i = m->registry.instances[1];
        registry_remove_process(&m->registry, i, 0);
        assert_ptr_equal(registry_take_ended(&m->registry), i);
        assert_int_equal(i->n_members, 0);
        instance_free(i);
        assert_null(registry_take_ended(&m->registry));
        ASSERT_NAMES(m, "a", "c");
        assert_null(registry_find_owner(&m->registry, &other));
}

/* Found by their numbers, in whatever order they come and go. */
ROOMS_TEST(many_processes) {
        enum { N = 500 };
        size_t index;

        for (pid_t pid = 1; pid <= N; pid++)
                (void)add(m, pid * 7 % N + 1, "/x", NULL, 0);
        assert_int_equal(m->registry.n_entries, N);
        for (pid_t pid = 1; pid <= N; pid += 2) {
                Instance *i = registry_find_pid(&m->registry, pid, &index);

                assert_int_equal(i->members[index].process.id.pid, pid);
                registry_remove_process(&m->registry, i, index);
                rooms_free_instance(registry_take_ended(&m->registry));
        }
        for (pid_t pid = 1; pid <= N; pid++)
                assert_int_equal(registry_find_pid(&m->registry, pid, &index) != NULL,
                                 pid % 2 == 0);
        for (size_t i = 1; i < m->registry.n_instances; i++)
                assert_true(strcmp(m->registry.instances[i - 1]->name,
                                   m->registry.instances[i]->name) < 0);
}

ROOMS_TEST(collisions) {
        (void)add(m, 10, "/x", NULL, 4000);
        (void)add(m, 20, "/y/x", NULL, 4000);
        ASSERT_NAMES(m, "x:4000", "x:4000:20");
        /* The first goes: the second gets the name when it is asked for again, and not before. */

        registry_remove_process(&m->registry, m->registry.instances[0], 0);
        rooms_free_instance(registry_take_ended(&m->registry));
        ASSERT_NAMES(m, "x:4000:20");
        assert_int_equal(registry_rename(&m->registry, m->registry.instances[0]), 0);
        ASSERT_NAMES(m, "x:4000");
}

ROOMS_TEST(service_beside_process) {
        (void)add(m, 10, "/x", NULL, 80);
        (void)add(m, 20, "/x", "x:80.service", 0);
        ASSERT_NAMES(m, "x:80", "x:80.service");
}

ROOMS_TEST(rename) {
        Instance *i = add(m, 99, "/x", NULL, 0);

        (void)add(m, 5, "/x", "x:5.service", 0);
        ASSERT_NAMES(m, "x:5", "x:99");
        rooms_set_port(i, 4000);
        assert_int_equal(registry_rename(&m->registry, i), 0);
        ASSERT_NAMES(m, "x:4000", "x:5"); /* and in its place */
        assert_true(instance_take(i, WORK_RENAMED));
        assert_int_equal(registry_rename(&m->registry, i), 0);
        ASSERT_NAMES(m, "x:4000", "x:5");
        assert_int_equal(instance_take(i, WORK_RENAMED), 0);
}

static size_t count_of_user(const Rooms *m, uid_t uid) {
        size_t n = 0;

        for (size_t i = 0; i < m->registry.n_instances; i++)
                n += m->registry.instances[i]->uid == uid;
        return n;
}

/* max_instances is lowered: of each user so many stay, and the counts follow. */
TREE_TEST(max_instances_is_lowered) {
        Policy few = { .name = (char *)"ours",
                       .match = { .exe = (char *)"x" },
                       .max_instances = 2 };
        Rooms m;

        rooms_init(&m);
        m.host.sysroot = tree->sysroot;
        m.host.policies.policies = &few;
        m.host.policies.n_policies = 1;
        for (pid_t pid = 10; pid < 18; pid++) {
                Process process = { .id = { pid, 100 },
                                    .exe = strdup("/x"),
                                    .uid = pid < 13 ? 7 : 8 };

                (void)rooms_add(&m, &policy, &process, NULL);
        }
        assert_int_equal(instance_counts_of(&m.registry.counts, 0, 8), 5);
        assert_int_equal(watch_rematch(&m.registry), 0);
        assert_int_equal(count_of_user(&m, 7), 2);
        assert_int_equal(count_of_user(&m, 8), 2);
        assert_int_equal(instance_counts_of(&m.registry.counts, 0, 7), 2);
        registry_remove_process(&m.registry, m.registry.instances[0], 0);
        assert_int_equal(instance_counts_of(&m.registry.counts, 0, 7) +
                                 instance_counts_of(&m.registry.counts, 0, 8),
                         3);
        rooms_free_instances(&m);
}

/* Two programs of two policies in one service: its place is by the policy that comes first in the
 * files, whatever came first, at each start and at each reload. */
typedef struct TwoPolicies {
        FakeTree tree;
        Policy policies[2];
        Rooms rooms;
} TwoPolicies;

static void two_policies_init(TwoPolicies *t) {
        *t = (TwoPolicies){ .policies = { { .name = (char *)"first",
                                            .match = { .exe = (char *)"server" },
                                            .max_instances = 1 },
                                          { .name = (char *)"second",
                                            .match = { .exe = (char *)"helper" },
                                            .max_instances = 1 } } };
        fake_init(&t->tree);
        rooms_init(&t->rooms);
        t->rooms.host.sysroot = t->tree.sysroot;
        t->rooms.host.policies.policies = t->policies;
        t->rooms.host.policies.n_policies = ELEMENTSOF(t->policies);
}

static void two_policies_done(TwoPolicies *t) {
        rooms_free_instances(&t->rooms);
        ignored_done(&t->rooms.registry.ignored);
        undo_done(&t->rooms.undo.records);
        fake_done(&t->tree);
}

#define TWO_POLICIES_TEST(test)                                                                    \
        TEST_WITH(test, TwoPolicies, t, two_policies_init, two_policies_done)

static void two_policies_exec(TwoPolicies *t, pid_t pid, const char *exe, const char *unit) {
        fake_process(&t->tree, pid, 1, exe, fmt("/system.slice/%s", unit), "0-7");
        assert_int_equal(identify_consider(&t->rooms.registry, pid), 0);
}

static void assert_one_of(const TwoPolicies *t, size_t of, size_t n_members) {
        const Registry *registry = &t->rooms.registry;
        const Instance *i = registry->instances[0];

        assert_int_equal(registry->n_instances, 1);
        assert_ptr_equal(i->policy, &t->policies[of]);
        assert_int_equal(i->policy_index, of);
        assert_int_equal(i->n_members, n_members);
        for (size_t k = 0; k < 2; k++)
                assert_int_equal(instance_counts_of(&registry->counts, k, i->uid), k == of);
        for (size_t k = 0; k < registry->counts.n_counts; k++)
                assert_int_equal(registry->counts.counts[k].n_processes,
                                 registry->counts.counts[k].policy == of ? n_members : 0);
}

TWO_POLICIES_TEST(the_first_policy_comes_last) {
        Instance *i;

        two_policies_exec(t, 50, "/bin/helper", "x.service");
        two_policies_exec(t, 51, "/bin/helper", "x.service");
        assert_one_of(t, 1, 2);
        i = t->rooms.registry.instances[0];
        (void)instance_take(i, WORK_POLICY);
        (void)host_take(&t->rooms.host, HOST_WORK_PLAN);
        two_policies_exec(t, 60, "/bin/server", "x.service");
        assert_one_of(t, 0, 3);
        assert_true(instance_take(i, WORK_POLICY));
        assert_true(host_take(&t->rooms.host, HOST_WORK_PLAN));
        /* It is the same after a reload, which begins with the oldest process. */
        assert_int_equal(watch_rematch(&t->rooms.registry), 0);
        assert_one_of(t, 0, 3);
}

TWO_POLICIES_TEST(the_first_policy_comes_first) {
        two_policies_exec(t, 60, "/bin/server", "x.service");
        two_policies_exec(t, 50, "/bin/helper", "x.service");
        assert_one_of(t, 0, 2);
        (void)instance_take(t->rooms.registry.instances[0], WORK_POLICY);
        two_policies_exec(t, 51, "/bin/helper", "x.service");
        assert_false(instance_take(t->rooms.registry.instances[0], WORK_POLICY));
        /* The other one stays until the next reload: a helper that comes and goes moves nothing. */
        registry_remove_process(&t->rooms.registry, t->rooms.registry.instances[0], 2);
        fake_link(&t->tree, "proc/60/exe", "/bin/other");
        assert_one_of(t, 0, 2);
        assert_int_equal(watch_rematch(&t->rooms.registry), 0);
        assert_one_of(t, 1, 2);
}

/* A policy is not exceeded by what joins another one's instance. */
TWO_POLICIES_TEST(the_first_policy_is_full) {
        const Instance *i;

        two_policies_exec(t, 40, "/bin/server", "a.service");
        two_policies_exec(t, 50, "/bin/helper", "x.service");
        two_policies_exec(t, 60, "/bin/server", "x.service");
        assert_int_equal(t->rooms.registry.n_instances, 2);
        i = t->rooms.registry.instances[1];
        assert_string_equal(i->name, "x");
        assert_ptr_equal(i->policy, &t->policies[1]);
        assert_int_equal(i->n_members, 2);
}

/* A unit that was restarted as another user's: what it has of ours is given back at once, and not
 * by the next scan. */
TWO_POLICIES_TEST(what_a_stranger_has_of_ours) {
        UndoRecord *record;

        t->policies[0].match.user = (char *)"tidb";
        t->policies[0].match.uid = 7;
        t->policies[0].match.uid_known = true;
        two_policies_exec(t, 60, "/bin/server", "x.service");
        assert_int_equal(t->rooms.registry.n_instances, 0);
        assert_int_equal(t->rooms.registry.ignored.n_processes, 1);
        assert_false(host_take(&t->rooms.host, HOST_WORK_ROUND));
        assert_int_equal(undo_get(&t->rooms.undo.records, "y", "y.service", NULL, &record), 0);
        two_policies_exec(t, 61, "/bin/server", "y.service");
        assert_int_equal(t->rooms.registry.ignored.n_processes, 2);
        assert_true(host_take(&t->rooms.host, HOST_WORK_ROUND));
}
