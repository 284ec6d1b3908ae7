/* What a cgroup leaves of the machine, on either version. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/world/topology-load.h"

#define GROUPS "sys/fs/cgroup/"

FAKE_TEST(v2) {
        CpuSet cpus = cpu_set("99");
        NodeSet nodes;

        fake_process(tree, 7, 1, "/x", "/system.slice/a.service", "0-3");
        fake_write(tree, GROUPS "cgroup.controllers", "cpuset cpu\n");
        /* By this file the kernel's groups are known to be there. */
        fake_write(tree, GROUPS "cgroup.procs", "");
        fake_write(tree, GROUPS "system.slice/cgroup.procs", "");
        fake_write(tree, GROUPS "system.slice/a.service/cgroup.procs", "7\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), -EOPNOTSUPP);
        assert_ids(cpus, "99");
        fake_write(tree, GROUPS "cpuset.cpus.effective", "0-15\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-15");
        fake_write(tree, GROUPS "system.slice/cpuset.cpus.effective", "0-7\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-7");
        fake_write(tree, GROUPS "system.slice/a.service/cpuset.cpus.effective", "0-5\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-5");
        assert_int_equal(own_cpuset_read_nodes(&tree->sysroot, 7, &nodes), 0);
        assert_ids(nodes, "0-1");
        assert_int_equal(own_cpuset_read_nodes(&tree->sysroot, 8, &nodes), -ESRCH);
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 8, &cpus), -ESRCH);
}

FAKE_TEST(v1) {
        CpuSet cpus;

        fake_process(tree, 7, 1, "/x", "/", "0-3");
        fake_write(tree, "proc/7/cgroup", "4:cpuset:/a/b\n1:name=systemd:/c\n");
        fake_write(tree, "proc/self/mountinfo",
                   "33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
        fake_write(tree, GROUPS "cpuset/cpuset.effective_cpus", "0-15\n");
        fake_write(tree, GROUPS "cpuset/a/cpuset.effective_cpus", "0-7\n");
        fake_write(tree, GROUPS "cpuset/a/b/cpuset.effective_cpus", "\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "0-7");
        fake_write(tree, GROUPS "cpuset/a/b/cpuset.effective_cpus", "4-5\n");
        assert_int_equal(own_cpuset_read_cpus(&tree->sysroot, 7, &cpus), 0);
        assert_ids(cpus, "4-5");
}
