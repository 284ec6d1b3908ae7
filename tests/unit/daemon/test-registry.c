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
                Instance *i = add(&m, pid, "/x", NULL, 0);

                instance_counts_remove(&m.registry.counts, 0, i->uid);
                i->uid = pid < 13 ? 7 : 8;
                assert_int_equal(instance_counts_add(&m.registry.counts, 0, i->uid), 0);
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
        for (Instance *i; (i = registry_take_ended(&m.registry));)
                instance_free(i);
        rooms_free_instances(&m);
}

/* A server that has run for hours, whose times of reading are over, gets a policy that places it
 * by its disk. */
TREE_TEST(placed_by_its_disk_from_now_on) {
        Policy near_disk = { .name = (char *)"ours",
                             .match = { .exe = (char *)"x" },
                             .max_instances = 2 };
        Instance *i;
        Rooms m;

        fake_process(tree, 50, 1, "/x", "/system.slice/x-1.service", "0");
        fake_write(tree, "proc/50/cmdline", "x");
        fake_link(tree, "proc/50/fd/3", "/data/LOCK");
        rooms_init(&m);
        m.host.sysroot = tree->sysroot;
        m.host.policies.policies = &near_disk;
        m.host.policies.n_policies = 1;
        assert_int_equal(watch_rematch(&m.registry), 0); /* its scan finds the server */
        assert_int_equal(m.registry.n_instances, 1);
        i = m.registry.instances[0];
        assert_null(i->data_dir); /* its place does not depend on it: not at once */
        i->describe_due_usec = INSTANCE_NEVER;
        near_disk.place.near = NEAR_STORAGE;
        assert_int_equal(watch_rematch(&m.registry), 0);
        assert_int_equal(m.registry.n_instances, 1);
        assert_ptr_equal(m.registry.instances[0], i);
        assert_non_null(i->data_dir);
        assert_string_equal(i->data_dir, "/data");
        assert_true(i->describe_due_usec != INSTANCE_NEVER);
        rooms_free_instances(&m);
}

/* A process that forks all the time is read all the same. */
TEST(a_read_is_not_put_off) {
        Instance i = { .describe_due_usec = INSTANCE_NEVER };
        Rooms m;

        rooms_init(&m);
        describe_again(&m.registry, &i, 1000000);
        assert_int_equal(i.describe_due_usec, 1200000);
        describe_again(&m.registry, &i, 1100000);
        assert_int_equal(i.describe_due_usec, 1200000);
        i.n_described = 3;
        i.describe_due_usec = 9000000;
        describe_again(&m.registry, &i, 2000000); /* it may listen by now */
        assert_int_equal(i.describe_due_usec, 3000000);
        describe_again(&m.registry, &i, 2900000);
        assert_int_equal(i.describe_due_usec, 3000000);
}
