/* The host's settings, from a fake /proc and /sys. */
#include "../../support/fake-tree.h"
#include "../../support/test.h"

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
        fake_write(tree, "proc/sys/vm/min_free_kbytes", "67584\n");
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
        assert_int_equal(facts.min_free_kib, 67584);
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

/* --- processor --- */

/* Processors of real machines, from the dumps in $TIDBNUMAD_TOPOLOGIES; and of two made-up ones. */

static void assert_processor(const FakeTree *tree, Processor expected) {
        Processor p;

        assert_int_equal(processor_load(&tree->sysroot, &p), 0);
        assert_int_equal(p.vendor, expected.vendor);
        assert_int_equal(p.family, expected.family);
        assert_int_equal(p.model, expected.model);
}

FAKE_TEST(vendors) {
        fake_write(tree, "proc/cpuinfo", "CPU implementer : 0x41\nCPU part : 0xd49\n");
        assert_processor(tree, (Processor){ PROCESSOR_ARM, 0, 0xd49 });
        fake_write(tree, "proc/cpuinfo", "CPU implementer : 0xc0\nCPU part : 0xac3\n");
        assert_processor(tree, (Processor){ PROCESSOR_OTHER, 0, 0xac3 });
        fake_write(tree, "proc/cpuinfo", "vendor_id : HygonGenuine\ncpu family:24\nmodel:1\n");
        assert_processor(tree, (Processor){ PROCESSOR_OTHER, 24, 1 });
}

typedef struct Dump {
        const char *archive;
        Processor processor;
        int r; /* whether the table has it */
} Dump;

static const Dump dumps[] = {
        { "128arm-2pa2n8cluster4co", { PROCESSOR_HISILICON, 0, 0xd01 }, -EOPNOTSUPP },
        { "16em64t-4s2c2t-offlines", { PROCESSOR_INTEL, 15, 6 }, -ENOENT },
        { "32em64t-2n8c+dax+nvme+mic+dimms", { PROCESSOR_INTEL, 6, 45 }, -ENOENT },
        { "40intel64-2g2n4c+pcilocality", { PROCESSOR_INTEL, 6, 47 }, -ENOENT },
        { "48amd64-4pa2n6c-sparse", { PROCESSOR_AMD, 16, 9 }, -ENOENT },
        { "64amd64-4s2n4ca2co", { PROCESSOR_AMD, 21, 1 }, -ENOENT },
        { "fakememinitiators-1np2c+1npp+gi", { PROCESSOR_INTEL, 6, 85 }, 0 },
};

static void test_dump(void **state) {
        const Dump *dump = *state;
        const char *from = getenv("TIDBNUMAD_TOPOLOGIES");
        _cleanup_fake_ FakeTree tree;
        char path[512], command[1024];
        AccessEvents events;

        (void)snprintf(path, sizeof(path), "%s/%s.tar.bz2", from ? from : "", dump->archive);
        if (!from || access(path, R_OK) < 0) /* before the tree is made: a skip cleans nothing up */
                skip_because("no %s.tar.bz2 in $TIDBNUMAD_TOPOLOGIES", dump->archive);
        fake_init(&tree);
        (void)snprintf(command, sizeof(command),
                       "tar -C %s -xf %s --strip-components=1 --no-same-owner --wildcards "
                       "'*/proc/cpuinfo'",
                       tree.path, path);
        assert_int_equal(system(command), 0);
        assert_processor(&tree, dump->processor);
        assert_int_equal(access_events_find(&dump->processor, &events), dump->r);
}

__attribute__((constructor)) static void register_dumps(void) {
        for (size_t i = 0; i < sizeof(dumps) / sizeof(dumps[0]); i++)
                test_register(&(struct CMUnitTest){ .name = dumps[i].archive,
                                                    .test_func = test_dump,
                                                    .initial_state = (void *)&dumps[i] });
}
