/* A host on which every rule of the audit holds. */
#pragma once

#include "../../support/id-sets.h"
#include "tidbnumad/plan/audit.h"

#define GIB (UINT64_C(1) << 30)
#define S(text) ((char *)(text))

/* Two sockets of a node each; a TiDB on node 0 beside the reserved CPU 3, a TiKV with its disk on
 * node 1, and another TiKV that has no place. Both have said that they have the host's label. */
typedef struct World {
        Node nodes[2];
        Topology topology;
        Device devices[2];
        DeviceList device_list;
        HostFacts facts;
        IrqVector vector;
        IrqDevice card;
        IrqHost irqs;
        NodeCounters before[2], now[2];
        Policy policies[2];
        char *all_cards[2];
        IrqPolicy irq_policy;
        PolicySet set;
        ServerInstance instances[3];
        ServerSetting settings[2];
        ServerReport said[2];
        AuditUnit units[1];
        uint64_t n_huge[2], n_free_huge[2];
        HugePools pools;
        AuditInput input;
} World;

static inline void init_machine(World *w) {
        for (uint32_t i = 0; i < 2; i++) {
                w->nodes[i] = (Node){ .id = i,
                                      .package = i,
                                      .memory_bytes = 64 * GIB,
                                      .cpus = cpu_set(i == 0 ? "0-3" : "4-7") };
                w->before[i] = (NodeCounters){ .cpu_known = true };
                w->now[i] = (NodeCounters){ .cpu_known = true };
                w->now[i].cpu_seconds[MODE_IDLE] = 95;
                w->now[i].cpu_seconds[MODE_SOFTIRQ] = 5;
        }
        w->topology = (Topology){ .nodes = w->nodes, .n_nodes = 2 };
        w->devices[0] = (Device){
                .kind = DEVICE_NET, .name = S("eth0"), .pci = S("0000:01:00.0"), .speed_mbps = 25000
        };
        w->devices[1] = (Device){
                .kind = DEVICE_DISK, .name = S("nvme0n1"), .pci = S("0000:02:00.0"), .node = 1
        };
        w->device_list = (DeviceList){ .devices = w->devices, .n_devices = 2 };
        w->facts = (HostFacts){ .swap_known = true,
                                .swappiness = 1,
                                .min_free_kib = 2 << 20,
                                .huge_pages = "never",
                                .governor_known = true,
                                .kernel_known = true,
                                .pidfds = true,
                                .numa_stat_known = true,
                                .numa_stat = true,
                                .cpuset_known = true,
                                .cpuset = true,
                                .irqbalance_known = true,
                                .irqbalance = true,
                                .n_packages = 2 };
        w->vector = (IrqVector){ .irq = 40, .effective_known = true, .effective = cpu_set("2") };
        w->card = (IrqDevice){
                .kind = DEVICE_NET, .name = S("eth0"), .vectors = &w->vector, .n_vectors = 1
        };
        w->irqs = (IrqHost){ .devices = &w->card, .n_devices = 1 };
}

static inline void init(World *w) {
        *w = (World){ 0 };
        init_machine(w);
        w->policies[0] = (Policy){ .name = S("tidb"), .memory = MEMORY_BIND };
        w->policies[1] = (Policy){ .name = S("tikv"), .memory = MEMORY_BIND };
        w->all_cards[0] = S("*");
        w->irq_policy.net = (WordList){ .words = w->all_cards, .n_words = 1 };
        w->set = (PolicySet){
                .policies = w->policies, .n_policies = 2, .irqs = &w->irq_policy, .n_irqs = 1
        };
        w->instances[0] = (ServerInstance){ .name = S("tidb-4000"),
                                            .policy = &w->policies[0],
                                            .exe = S("/opt/tidb-server"),
                                            .pid = 10,
                                            .nodes = node_set("0"),
                                            .cpus = cpu_set("0-2"),
                                            .allowed_cpus = cpu_set("0-2"),
                                            .need_bytes = 8 * GIB,
                                            .limit_bytes = 64 * GIB,
                                            .gomaxprocs = 3 };
        w->instances[1] = (ServerInstance){ .name = S("tikv-20160"),
                                            .policy = &w->policies[1],
                                            .exe = S("/opt/tikv-server"),
                                            .pid = 11,
                                            .nodes = node_set("1"),
                                            .cpus = cpu_set("4-7"),
                                            .allowed_cpus = cpu_set("4-7"),
                                            .device = "nvme0n1",
                                            .storage_nodes = node_set("1"),
                                            .need_bytes = 8 * GIB,
                                            .limit_bytes = 85 * GIB,
                                            .n_read_threads = 4 };
        w->instances[2] = (ServerInstance){ .name = S("tikv-20161"),
                                            .policy = &w->policies[1],
                                            .exe = S("/opt/tikv-server") };
        for (size_t i = 0; i < 2; i++) {
                w->settings[i] = (ServerSetting){ S("server.labels.host"), S("db1") };
                w->said[i] = (ServerReport){ .settings = &w->settings[i], .n_settings = 1 };
                w->instances[i + 1].said = w->said[i];
        }
        /* A node's pool holds what the TiDB has reserved, another's has pages as well. */
        huge_need_add(
                &w->instances[0].huge,
                &(HugeUse){ .page_bytes = 2 << 20, .n_mapped = 26, .n_touched = 2, .n_inside = 2 });
        for (size_t i = 0; i < 2; i++) {
                w->n_huge[i] = 30;
                w->n_free_huge[i] = 28;
        }
        w->pools = (HugePools){ .list = { { .page_bytes = 2 << 20,
                                            .n_reserved = 24,
                                            .n_pages = w->n_huge,
                                            .n_free = w->n_free_huge } },
                                .n = 1 };
        w->units[0] =
                (AuditUnit){ "tidb-4001.service", "numactl in its start", REASON_START_FAILED };
        w->input = (AuditInput){ .topology = &w->topology,
                                 .devices = &w->device_list,
                                 .facts = &w->facts,
                                 .irqs = &w->irqs,
                                 .nodes_before = w->before,
                                 .nodes = w->now,
                                 .pools = &w->pools,
                                 .policies = &w->set,
                                 .instances = w->instances,
                                 .n_instances = 3,
                                 .units = w->units,
                                 .nic_nodes = node_set("0"),
                                 .reserved_cpus = cpu_set("3") };
}

#define WORLD_TEST(test) TEST_WITH(test, World, w, init, test_no_done)
