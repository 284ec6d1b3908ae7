/* What is bound now, and who shares the unit, on a fake machine of two nodes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/observe/binding-load.h"
#include "tidbnumad/sys/cgroup.h"

#define CGROUP "/system.slice/a.service"
#define FOLDER "sys/fs/cgroup/system.slice/a.service/"

typedef struct Host {
        FakeTree tree;
        Node nodes[2];
        Topology topology;
        ProcHandle members[2];
        size_t n_members;
        int cgroup_fd;
        int own_cpuset_fd; /* 0: the unit's counts */
        const char *cpuset_path;
        const char *group_path;
        int32_t suspect;
} Host;

/* Node 0 with the CPUs 0-3, node 2 with 4-7; the unit of a server, pid 50, under pid 1. */
static void host_init(Host *h) {
        *h = (Host){ .nodes = { { .id = 0, .cpus = ids("0-3") }, { .id = 2, .cpus = ids("4-7") } },
                     .cgroup_fd = -EBADF };
        h->topology = (Topology){ .nodes = h->nodes, .n_nodes = 2 };
        fake_init(&h->tree);
        fake_process(&h->tree, 1, 0, "/sbin/init", "/init.scope", "0-7");
        fake_process(&h->tree, 50, 1, "/srv/a", CGROUP, "4-7");
        fake_write(&h->tree, FOLDER "cgroup.procs", "50\n");
        fake_write(&h->tree, FOLDER "cpuset.cpus.effective", "4-7\n");
        fake_write(&h->tree, FOLDER "cpuset.mems.effective", "2\n");
        assert_int_equal(proc_open(&h->tree.sysroot, 50, &h->members[0]), 0);
        h->n_members = 1;
        assert_int_equal(cgroup_open(&h->tree.sysroot, CGROUP, &h->cgroup_fd), 0);
}

static void host_done(Host *h) {
        for (size_t i = 0; i < h->n_members; i++)
                proc_close(&h->members[i]);
        closep(&h->cgroup_fd);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

static int load_for(const Host *h, const CpuSet *cpus, Binding *ret) {
        const BindingGroups groups = { .group_fd = h->cgroup_fd,
                                       .cpuset_fd = h->own_cpuset_fd > 0 ? h->own_cpuset_fd
                                                                         : h->cgroup_fd,
                                       .cpuset_path = h->cpuset_path,
                                       .group_path = h->group_path,
                                       .unit_path = CGROUP,
                                       .suspect = h->suspect };

        return binding_load(&h->topology, &h->tree.sysroot, h->members, h->n_members, &groups, cpus,
                            ret);
}

static int load(const Host *h, Binding *ret) {
        const CpuSet cpus = ids("4-7");

        return load_for(h, &cpus, ret);
}

static Binding load_good(const Host *h) {
        Binding b = { .intruder = 7 };

        assert_int_equal(load(h, &b), 0);
        return b;
}

static void test_bound(void **state) {
        _cleanup_host_ Host h;
        Binding b;

        (void)state;
        host_init(&h);
        b = load_good(&h);
        assert_true(b.cpuset);
        assert_ids(b.cpus, "4-7");
        assert_ids(b.mems, "2");
        assert_int_equal(b.n_threads, 1);
        assert_int_equal(b.n_threads_off_cpus, 0);
        assert_true(b.alone);
        assert_int_equal(b.intruder, 0);
}

static void test_threads(void **state) {
        _cleanup_host_ Host h;
        Binding b;

        (void)state;
        host_init(&h);
        fake_thread(&h.tree, 50, 50, "4-7", 5);
        fake_thread(&h.tree, 50, 51, "4-7", 6);
        fake_thread(&h.tree, 50, 52, "4", 4);   /* by its own choice */
        fake_thread(&h.tree, 50, 53, "0-7", 7); /* a wider one counts as well */
        b = load_good(&h);
        assert_int_equal(b.n_threads, 4);
        assert_int_equal(b.n_threads_off_cpus, 2);
        assert_int_equal(b.n_threads_outside, 1);
        assert_ids(b.last_nodes, ""); /* of one with a place nobody asks */
        /* Ended while its folder was read. */
        fake_remove(&h.tree, "proc/50/task/52/status");
        b = load_good(&h);
        assert_int_equal(b.n_threads, 3);
        assert_int_equal(b.n_threads_off_cpus, 1);
}

/* Below the unit, with these sets of its own; CPUs NULL: without the controller. */
static void inner(Host *h, const char *name, int pid, const char *cpus, const char *mems) {
        char path[128];

        (void)snprintf(path, sizeof(path), CGROUP "/%s", name);
        fake_process(&h->tree, pid, 1, "/srv/a", path, cpus ? cpus : "4-7");
        (void)snprintf(path, sizeof(path), FOLDER "%s/cgroup.procs", name);
        fake_write(&h->tree, path, "");
        if (!cpus)
                return;
        (void)snprintf(path, sizeof(path), FOLDER "%s/cpuset.cpus.effective", name);
        fake_write(&h->tree, path, cpus);
        (void)snprintf(path, sizeof(path), FOLDER "%s/cpuset.mems.effective", name);
        fake_write(&h->tree, path, mems);
}

static void test_inner_groups(void **state) {
        static const struct {
                const char *cpus, *mems; /* of the group that process 50 is in */
                const char *inner_cpus, *inner_mems;
                bool less;
        } cases[] = {
                { "4-7", "2", "4-7", "2", false }, /* it follows */
                { "4-5", "2", "4-5", "2", true },
                { "0-1", "2", "", "2", true }, /* apart from the unit's: never by the kernel */
                { "4-7", "0", "4-7", "", true },
                { NULL, NULL, "4-7", "2", false },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host h;
                Binding b;

                host_init(&h);
                inner(&h, "payload", 50, cases[i].cpus, cases[i].mems);
                b = load_good(&h);
                assert_ids(b.cpus, "4-7"); /* the unit's, which is what its properties set */
                assert_ids(b.mems, "2");
                assert_ids(b.inner_cpus, cases[i].inner_cpus);
                assert_ids(b.inner_mems, cases[i].inner_mems);
                assert_string_equal(b.inner_group, cases[i].less ? CGROUP "/payload" : "");
        }
}

static void test_inner_groups_of_several(void **state) {
        _cleanup_host_ Host h;
        Binding b;

        (void)state;
        host_init(&h);
        fake_write(&h.tree, FOLDER "cpuset.mems.effective", "0,2");
        inner(&h, "a", 50, "4-6", "0,2");
        inner(&h, "b/c", 51, NULL, NULL); /* the nearest above it that has a cpuset counts */
        inner(&h, "b", 60, "5-7", "2");
        assert_int_equal(proc_open(&h.tree.sysroot, 51, &h.members[1]), 0);
        h.n_members = 2;
        b = load_good(&h);
        assert_ids(b.inner_cpus, "5-6");
        assert_ids(b.inner_mems, "2");
        assert_string_equal(b.inner_group, CGROUP "/a");
        fake_remove(&h.tree, FOLDER "a"); /* it moves just now */
        b = load_good(&h);
        assert_ids(b.inner_cpus, "5-7");
        assert_string_equal(b.inner_group, CGROUP "/b");
}

/* A group of a like name is none below it. */
static void test_neighbour_is_no_inner_group(void **state) {
        _cleanup_host_ Host h;
        Binding b;

        (void)state;
        host_init(&h);
        fake_process(&h.tree, 50, 1, "/srv/a", CGROUP "-2/x", "4-7");
        fake_write(&h.tree, "sys/fs/cgroup" CGROUP "-2/x/cpuset.cpus.effective", "1");
        fake_write(&h.tree, "sys/fs/cgroup" CGROUP "-2/x/cpuset.mems.effective", "0");
        b = load_good(&h);
        assert_string_equal(b.inner_group, "");
        assert_ids(b.inner_cpus, "4-7");
}

static void test_where_it_ran(void **state) {
        const CpuSet none = { 0 };
        _cleanup_host_ Host h;
        Binding b;

        (void)state;
        host_init(&h);
        assert_int_equal(load_for(&h, &none, &b), 0);
        assert_ids(b.last_nodes, "0");
        fake_thread(&h.tree, 50, 50, "4-7", 5);
        fake_thread(&h.tree, 50, 51, "4-7", 99); /* a CPU that went offline since */
        assert_int_equal(load_for(&h, &none, &b), 0);
        assert_ids(b.last_nodes, "2");
        fake_thread(&h.tree, 50, 52, "4-7", 2);
        assert_int_equal(load_for(&h, &none, &b), 0);
        assert_ids(b.last_nodes, "0,2");
        fake_remove(&h.tree, "proc/50/task/52/stat"); /* ended in the middle */
        assert_int_equal(load_for(&h, &none, &b), 0);
        assert_ids(b.last_nodes, "2");
}

static void test_several_members(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        fake_process(&h.tree, 60, 50, "/srv/a", CGROUP, "4-7");
        fake_thread(&h.tree, 60, 61, "0", 0);
        fake_write(&h.tree, FOLDER "cgroup.procs", "50\n60\n");
        assert_int_equal(proc_open(&h.tree.sysroot, 60, &h.members[1]), 0);
        h.n_members = 2;
        assert_int_equal(load_good(&h).n_threads, 3);
        assert_int_equal(load_good(&h).n_threads_off_cpus, 1);
        /* One has ended: the other counts. */
        fake_remove(&h.tree, "proc/50");
        assert_int_equal(load_good(&h).n_threads, 2);
}

static void test_gone(void **state) {
        _cleanup_host_ Host h;
        Binding b = { .intruder = 7 };

        (void)state;
        host_init(&h);
        fake_remove(&h.tree, "proc/50");
        assert_int_equal(load(&h, &b), -ESRCH);
        fake_process(&h.tree, 50, 1, "/srv/a", CGROUP, "4-7");
        fake_remove(&h.tree, FOLDER "cgroup.procs");
        fake_remove(&h.tree, FOLDER "cpuset.cpus.effective");
        assert_int_equal(load(&h, &b), -ESRCH); /* the unit has */
        assert_int_equal(b.intruder, 7);
}

static void assert_nothing_holds_it(const Host *h) {
        Binding b = load_good(h);

        assert_false(b.cpuset);
        assert_ids(b.cpus, "0-7");
        assert_ids(b.mems, "0"); /* of 0 and 2, what its thread may use: 0-1 */
        assert_int_equal(b.n_threads, 1);
        assert_true(b.alone);
}

static void test_without_cpuset(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        fake_remove(&h.tree, FOLDER "cpuset.cpus.effective");
        fake_remove(&h.tree, FOLDER "cpuset.mems.effective");
        assert_nothing_holds_it(&h);
        closep(&h.cgroup_fd); /* and without a unit at all */
        h.cgroup_fd = -EBADF;
        assert_nothing_holds_it(&h);
}

/* A directory of v1: it counts when all are in it. */
static void test_own_cpuset(void **state) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_host_ Host h;
        Binding b;

        (void)state;
        host_init(&h);
        fake_write(&h.tree, "own/cpuset.effective_cpus", "4-6\n");
        fake_write(&h.tree, "own/cpuset.effective_mems", "2\n");
        fake_write(&h.tree, "proc/50/cgroup", "9:name=systemd:/a\n3:cpu,cpuset:/tidbnumad/a\n");
        fd = h.own_cpuset_fd = openat(h.tree.fd, "own", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        h.cpuset_path = "/tidbnumad/a";
        b = load_good(&h);
        assert_true(b.cpuset);
        assert_ids(b.cpus, "4-6");
        assert_ids(b.mems, "2");
        fake_process(&h.tree, 60, 50, "/srv/a", CGROUP, "4-7");
        fake_write(&h.tree, "proc/60/cgroup", "3:cpu,cpuset:/tidbnumad/ab\n");
        assert_int_equal(proc_open(&h.tree.sysroot, 60, &h.members[1]), 0);
        h.n_members = 2;
        b = load_good(&h);
        assert_false(b.cpuset);
        assert_ids(b.cpus, "0-7");
        fake_remove(&h.tree, "proc/60"); /* one that has ended does not count */
        assert_true(load_good(&h).cpuset);
}

static void test_unreadable_cpuset(void **state) {
        _cleanup_host_ Host h;
        Binding b = { .intruder = 7 };

        (void)state;
        host_init(&h);
        fake_write(&h.tree, FOLDER "cpuset.mems.effective", "rubbish\n");
        assert_int_equal(load(&h, &b), -EINVAL);
        assert_int_equal(b.intruder, 7);
}

/* Puts one more process into the unit and tells whether it is seen as an intruder. */
static bool intrudes(Host *h, int pid, int parent) {
        char list[64];
        Binding b;

        fake_process(&h->tree, pid, parent, "/bin/other", CGROUP, "4-7");
        (void)snprintf(list, sizeof(list), "%d\n50\n", pid);
        fake_write(&h->tree, FOLDER "cgroup.procs", list);
        b = load_good(h);
        assert_int_equal(b.intruder, b.alone ? 0 : pid);
        assert_int_equal(b.n_threads, 1); /* a neighbour's threads are not the instance's */
        return !b.alone;
}

static void test_neighbours(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        assert_true(intrudes(&h, 70, 1));   /* a sibling */
        assert_false(intrudes(&h, 71, 50)); /* a helper */
        assert_false(intrudes(&h, 72, 71)); /* and what that started */
        assert_true(intrudes(&h, 73, 70));  /* a sibling's child */
        assert_true(intrudes(&h, 500, 1));  /* whose number begins as ours does */
}

/* bash → wrapper → server: all of the unit's own. */
static void test_wrappers(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        fake_process(&h.tree, 41, 40, "/bin/wrapper", CGROUP, "4-7");
        fake_stat_file(&h.tree, "proc/50", 50, 41, 'S', 1050, 0);
        assert_false(intrudes(&h, 40, 1));
        assert_false(intrudes(&h, 41, 40));
        /* Another child of the wrapper is not the server's. */
        assert_true(intrudes(&h, 42, 40));
}

static void test_neighbour_below(void **state) {
        _cleanup_host_ Host h;
        Binding b;

        (void)state;
        host_init(&h);
        fake_process(&h.tree, 70, 1, "/bin/other", CGROUP "/sub", "4-7");
        fake_write(&h.tree, FOLDER "sub/cgroup.procs", "70\n");
        b = load_good(&h);
        assert_false(b.alone);
        assert_int_equal(b.intruder, 70);
}

static void test_neighbour_that_has_ended(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        fake_write(&h.tree, FOLDER "cgroup.procs", "50\n77\n");
        assert_true(load_good(&h).alone);
}

/* The list of the group is empty here: that it was not read is seen by who is told. */
static bool is_suspected(const char *cgroup, int parent, const char *group_path) {
        _cleanup_host_ Host h;
        Binding b;

        host_init(&h);
        fake_process(&h.tree, 70, parent, "/bin/other", CGROUP, "4-7");
        fake_write(&h.tree, "proc/70/cgroup", cgroup);
        h.group_path = group_path;
        h.suspect = 70;
        b = load_good(&h);
        assert_int_equal(b.intruder, b.alone ? 0 : 70);
        return !b.alone;
}

static void test_the_intruder_of_the_last_look(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        assert_true(is_suspected("4:memory:/g\n", 1, "/g"));
        assert_true(is_suspected("4:memory:/g/sub\n", 1, "/g"));
        assert_false(is_suspected("4:memory:/gg\n", 1, "/g"));
        assert_false(is_suspected("4:memory:/\n", 1, "/g"));
        assert_false(is_suspected("4:memory:/g\n", 50, "/g")); /* a helper by now */
        assert_false(is_suspected("4:memory:/g\n", 1, NULL));
        host_init(&h);
        h.group_path = "/g";
        h.suspect = 71; /* ended */
        assert_true(load_good(&h).alone);
        assert_true(intrudes(&h, 72, 1)); /* somebody else: the list is read */
}

/* Pids that were given anew meanwhile can look like a circle of parents. */
static void test_circle_of_parents(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        fake_process(&h.tree, 80, 81, "/bin/other", CGROUP, "4-7");
        assert_true(intrudes(&h, 81, 80));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bound),
                cmocka_unit_test(test_threads),
                cmocka_unit_test(test_inner_groups),
                cmocka_unit_test(test_inner_groups_of_several),
                cmocka_unit_test(test_neighbour_is_no_inner_group),
                cmocka_unit_test(test_where_it_ran),
                cmocka_unit_test(test_several_members),
                cmocka_unit_test(test_gone),
                cmocka_unit_test(test_without_cpuset),
                cmocka_unit_test(test_own_cpuset),
                cmocka_unit_test(test_unreadable_cpuset),
                cmocka_unit_test(test_neighbours),
                cmocka_unit_test(test_wrappers),
                cmocka_unit_test(test_neighbour_below),
                cmocka_unit_test(test_neighbour_that_has_ended),
                cmocka_unit_test(test_the_intruder_of_the_last_look),
                cmocka_unit_test(test_circle_of_parents),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
