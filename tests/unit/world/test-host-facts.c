/* The host's settings, from a fake /proc and /sys. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/world/host-facts.h"

static HostFacts load(const FakeTree *tree) {
        Node node = { .id = 0, .cpus = cpu_set("0-1") };
        const Topology topology = { .nodes = &node, .n_nodes = 1 };
        HostFacts facts;

        host_facts_load(&tree->sysroot, &topology, &facts);
        return facts;
}

FAKE_TEST(nothing_there) {
        HostFacts facts = load(tree);

        assert_int_equal(facts.numa_balancing, HOST_FACT_UNKNOWN);
        assert_int_equal(facts.zone_reclaim_mode, HOST_FACT_UNKNOWN);
        assert_int_equal(facts.swappiness, HOST_FACT_UNKNOWN);
        assert_string_equal(facts.huge_pages, "");
        assert_false(facts.swap_known || facts.governor_known || facts.irqbalance_known);
        assert_int_equal(facts.n_packages, 0);
}

FAKE_TEST(all_there) {
        HostFacts facts;

        fake_write(tree, "proc/sys/kernel/numa_balancing", "1\n");
        fake_write(tree, "proc/sys/vm/zone_reclaim_mode", "3\n");
        fake_write(tree, "proc/sys/vm/swappiness", "60\n");
        fake_write(tree, "proc/meminfo",
                   "MemTotal:  9 kB\nSwapTotal:  4096 kB\nSwapFree:  1024 kB\n");
        fake_write(tree, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        fake_write(tree, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
        fake_write(tree, "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
        fake_write(tree, "sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
        fake_write(tree, "sys/devices/system/cpu/cpu1/topology/physical_package_id", "36\n");
        fake_process(tree, 9, 1, "/usr/sbin/irqbalance", "/system.slice/irqbalance.service", "0-1");
        facts = load(tree);
        assert_int_equal(facts.numa_balancing, 1);
        assert_int_equal(facts.zone_reclaim_mode, 3);
        assert_int_equal(facts.swappiness, 60);
        assert_true(facts.swap_known);
        assert_int_equal(facts.swap_used_bytes, 3 << 20);
        assert_string_equal(facts.huge_pages, "madvise");
        assert_true(facts.governor_known);
        assert_string_equal(facts.governor, "powersave");
        assert_int_equal(facts.governor_cpu, 1);
        assert_true(facts.irqbalance_known && facts.irqbalance);
        assert_int_equal(facts.n_packages, 2);
}

/* What is not as expected is not known, and breaks nothing. */
FAKE_TEST(nonsense) {
        HostFacts facts;

        fake_write(tree, "proc/sys/kernel/numa_balancing", "on\n");
        fake_write(tree, "proc/meminfo", "SwapTotal\n");
        fake_write(tree, "sys/kernel/mm/transparent_hugepage/enabled",
                   "[a word that is too long to be one]\n");
        fake_write(tree, "sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n");
        fake_process(tree, 9, 1, "/bin/sh", "/", "0-1");
        facts = load(tree);
        assert_int_equal(facts.numa_balancing, HOST_FACT_UNKNOWN);
        assert_string_equal(facts.huge_pages, "");
        assert_false(facts.swap_known);
        assert_true(facts.irqbalance_known);
        assert_false(facts.irqbalance);
        assert_int_equal(facts.n_packages, 0);
}
