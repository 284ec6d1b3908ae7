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
