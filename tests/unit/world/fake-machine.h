/* A machine of a few files. To be included after fake-tree.h. */
#pragma once

#define NODES "sys/devices/system/node/"
#define CPUS "sys/devices/system/cpu/"

static inline void fake_node(const FakeTree *tree, unsigned id, const char *cpumap,
                             const char *distance, unsigned kib) {
        fake_write(tree, fmt(NODES "node%u/cpumap", id), cpumap);
        fake_write(tree, fmt(NODES "node%u/distance", id), distance);
        fake_write(tree, fmt(NODES "node%u/meminfo", id),
                   fmt("Node %u MemTotal: %u kB\nNode %u MemFree: 0 kB\n", id, kib, id));
}

static inline void fake_cpu(const FakeTree *tree, unsigned cpu, unsigned package) {
        char text[32];

        fake_write(tree, fmt(CPUS "cpu%u/topology/physical_package_id", cpu), fmt("%u\n", package));
        fake_write(tree, fmt(CPUS "cpu%u/topology/core_id", cpu), fmt("%u\n", cpu));
        (void)snprintf(text, sizeof(text), "%x\n", 1u << cpu);
        fake_write(tree, fmt(CPUS "cpu%u/topology/thread_siblings", cpu), text);
        fake_write(tree, fmt(CPUS "cpu%u/topology/core_cpus", cpu), text);
        (void)snprintf(text, sizeof(text), "%x\n", package == 0 ? 0x3 : 0xc);
        fake_write(tree, fmt(CPUS "cpu%u/topology/core_siblings", cpu), text);
        fake_write(tree, fmt(CPUS "cpu%u/topology/package_cpus", cpu), text);
}

/* Nodes 0 and 2 with two CPUs each, node 5 with memory alone. */
static inline void fake_machine(FakeTree *tree) {
        fake_init(tree);
        for (unsigned cpu = 0; cpu < 4; cpu++)
                fake_cpu(tree, cpu, cpu / 2);
        fake_write(tree, CPUS "online", "0-3\n");
        fake_write(tree, CPUS "possible", "0-3\n");
        fake_write(tree, CPUS "present", "0-3\n");
        fake_write(tree, NODES "online", "0,2,5\n");
        fake_node(tree, 0, "3\n", "10 21 17\n", 1000);
        fake_node(tree, 2, "c\n", "21 10 28\n", 2000);
        fake_node(tree, 5, "0\n", "17 28 10\n", 4000);
        fake_write(tree, NODES "has_cpu", "0,2\n");
}

#define MACHINE_TEST(test) TEST_WITH(test, FakeTree, tree, fake_machine, fake_done)
