/* Who shares the unit, on a fake machine of two nodes. */
#include "binding-host.h"

#include "tidbnumad/world/binding.h"

/* Puts one more process into the unit and returns whether it counts as an intruder. */
static bool intrudes_as(Host *h, int pid, int parent, const char *exe) {
        Binding b;

        fake_process(&h->tree, pid, parent, exe, CGROUP, "4-7");
        fake_write(&h->tree, FOLDER "cgroup.procs", fmt("%d\n50\n", pid));
        b = load_good(h);
        assert_int_equal(b.intruder, b.alone ? 0 : pid);
        assert_int_equal(b.n_threads, 1); /* a neighbour's threads are not the instance's */
        return !b.alone;
}

static bool intrudes(Host *h, int pid, int parent) {
        return intrudes_as(h, pid, parent, "/bin/other");
}

HOST_TEST(neighbours) {
        assert_true(intrudes(h, 70, 1));   /* a sibling */
        assert_false(intrudes(h, 71, 50)); /* a helper */
        assert_false(intrudes(h, 72, 71)); /* and what that started */
        assert_true(intrudes(h, 73, 70));  /* a sibling's child */
        assert_true(intrudes(h, 500, 1));  /* whose number begins as ours does */
}

/* bash → numactl → server: all of the unit's own. */
HOST_TEST(wrappers) {
        fake_process(&h->tree, 41, 40, "/bin/numactl", CGROUP, "4-7");
        fake_stat_file(&h->tree, "proc/50", 50, 41, 'S', 1050, 0);
        assert_false(intrudes_as(h, 40, 1, "/bin/bash"));
        assert_false(intrudes_as(h, 41, 40, "/usr/bin/numactl"));
        /* Another child of the wrapper is not the server's. */
        assert_true(intrudes(h, 42, 40));
}

/* It has work of its own, whether it started the server or not. */
HOST_TEST(an_agent_is_no_wrapper) {
        fake_stat_file(&h->tree, "proc/50", 50, 41, 'S', 1050, 0);
        assert_true(intrudes_as(h, 41, 1, "/opt/agent/bin/agent"));
        assert_false(intrudes_as(h, 41, 1, "/usr/bin/bash"));
}

HOST_TEST(neighbour_below) {
        Binding b;

        fake_process(&h->tree, 70, 1, "/bin/other", CGROUP "/sub", "4-7");
        fake_write(&h->tree, FOLDER "sub/cgroup.procs", "70\n");
        b = load_good(h);
        assert_false(b.alone);
        assert_int_equal(b.intruder, 70);
}

HOST_TEST(neighbour_that_has_ended) {
        fake_write(&h->tree, FOLDER "cgroup.procs", "50\n77\n");
        assert_true(load_good(h).alone);
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

TEST(the_intruder_of_the_last_look) {
        _cleanup_host_ Host h;

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
        assert_true(intrudes(&h, 72, 1)); /* another process: the list is read */
}

/* Never read before: the group is not read where another process of it is known. */
HOST_TEST(the_intruder_that_another_instance_has_met) {
        int32_t intruder = 0;

        fake_process(&h->tree, 70, 1, "/bin/other", CGROUP, "4-7");
        fake_write(&h->tree, "proc/70/cgroup", "4:memory:/g\n");
        const BindingGroups groups = { .group_fd = h->cgroup_fd,
                                       .group_path = "/g",
                                       .suspect = 70 };

        assert_int_equal(binding_group_is_alone(&h->tree.sysroot, h->members, h->n_members, &groups,
                                                &intruder),
                         0);
        assert_int_equal(intruder, 70);
}

static unsigned n_reads(Host *h, const char *pids) {
        Kinship k = { .sysroot = &h->tree.sysroot, .members = h->members, .n_members = 1 };
        unsigned n;

        for (const char *p = pids; *p; p += strcspn(p, " "), p += *p == ' ')
                (void)kinship_is_stranger(&k, atoi(p));
        n = k.n_reads;
        kinship_done(&k);
        return n;
}

/* A long chain below one member, and many leaves at its end: each process is read once. */
HOST_TEST(a_chain_with_leaves) {
        for (int pid = 101; pid <= 150; pid++)
                fake_process(&h->tree, pid, pid == 101 ? 50 : pid - 1, "/bin/a", CGROUP, "4-7");
        for (int pid = 201; pid <= 220; pid++)
                fake_process(&h->tree, pid, 150, "/bin/a", CGROUP, "4-7");
        assert_int_equal(n_reads(h, "150"), 50);
        assert_int_equal(n_reads(h, "201 202 203 204 205"), 55);
        assert_int_equal(n_reads(h, "110 120 130 140 150 201"), 51);
        assert_false(intrudes_as(h, 220, 150, "/bin/a"));
}

/* Whoever makes more processes than are read has no group to himself. */
HOST_TEST(too_many) {
        Kinship k = { .sysroot = &h->tree.sysroot, .members = h->members, .n_members = 1 };

        fake_process(&h->tree, 60, 50, "/bin/a", CGROUP, "4-7");
        fake_process(&h->tree, 61, 60, "/bin/a", CGROUP, "4-7");
        k.n_reads = KINSHIP_READS_MAX - 1;
        assert_false(kinship_is_stranger(&k, 60));
        assert_true(kinship_is_stranger(&k, 61));  /* it was not read */
        assert_false(kinship_is_stranger(&k, 60)); /* it is known */
        assert_false(kinship_is_stranger(&k, 50));
        kinship_done(&k);
}

/* Reused pids can look like a circle of parents. */
HOST_TEST(circle_of_parents) {
        fake_process(&h->tree, 80, 81, "/bin/other", CGROUP, "4-7");
        assert_true(intrudes(h, 81, 80));
}
