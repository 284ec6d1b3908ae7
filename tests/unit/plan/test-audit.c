/* The audit: a host on which every rule holds, and each mistake alone. */

#include "../../support/test.h"

#include "audit-world.h"

WORLD_TEST(a_host_in_order) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        assert_int_equal(audit_build(&w->input, &report), 0);
        for (size_t i = 0; i < report.n_findings; i++)
                fail_msg("%s", report.findings[i].found);
        for (AuditRule rule = 0; rule < N_AUDIT_RULES; rule++)
                if (report.states[rule] != AUDIT_OK)
                        fail_msg("%s is %s", audit_rule_to_id(rule),
                                 audit_state_to_string(report.states[rule]));
        assert_int_equal(audit_report_worst(&report), AUDIT_OK);
}

/* --- each mistake -------------------------------------------------------------------------------
 */

static void numa_balancing(World *w) {
        w->facts.numa_balancing = 1;
}

static void memory_tiering(World *w) {
        w->facts.numa_balancing = 2;
}

static void demotion(World *w) {
        w->facts.demotion = 1;
        w->topology.nodes[1].cpus = (CpuSet){ 0 };
        w->instances[1].nodes = node_set("0");
        w->input.n_instances = 1;
}

static void zone_reclaim(World *w) {
        w->facts.zone_reclaim_mode = 1;
}

static void huge_pages(World *w) {
        (void)strcpy(w->facts.huge_pages, "always");
}

static void small_pool(World *w) {
        w->n_huge[0] = 20;
        w->n_free_huge[0] = 18;
}

static void swap_used(World *w) {
        w->facts.swap_used_bytes = GIB;
}

static void swappiness(World *w) {
        w->facts.swappiness = 60;
}

static void min_free(World *w) {
        w->facts.min_free_kib = (2 << 20) - 1;
}

/* 75 % of 128 GiB, on a node of 64. */
static void sized_for_the_host(World *w) {
        w->instances[1].limit_bytes = 0;
}

/* Each has room alone: 51 and 63.75 GiB. */
static void sized_for_more_than_a_node(World *w) {
        w->instances[0].nodes = node_set("1");
        w->instances[0].cpus = w->instances[0].allowed_cpus = cpu_set("4-6");
}

static void governor(World *w) {
        (void)strcpy(w->facts.governor, "powersave");
        w->facts.governor_cpu = 3;
}

static void no_pidfds(World *w) {
        w->facts.pidfds = false;
}
static void no_numa_stat(World *w) {
        w->facts.numa_stat = false;
}
static void no_cpuset(World *w) {
        w->facts.cpuset = false;
}

static void cpuset_closed(World *w) {
        w->facts.cpuset = false;
        (void)strcpy(w->facts.cpuset_closed, "/cgroup/cpuset");
}

static void no_cpuset_wanted(World *w) {
        w->facts.cpuset = false;
        w->policies[0].memory = w->policies[1].memory = MEMORY_PREFERRED;
}

static void nodes_hidden(World *w) {
        w->facts.n_packages = 4;
}

static void smaller_node(World *w) {
        w->nodes[1].memory_bytes = 48 * GIB;
        w->instances[1].limit_bytes = 32 * GIB;
}

static void node_not_trusted(World *w) {
        id_set_add(&w->topology.lost_nodes, 7);
}

static void card_without_node(World *w) {
        w->devices[0].node = DEVICE_NODE_UNKNOWN;
}

/* Node 1 is free. */
static void on_the_nic(World *w) {
        w->input.n_instances = 1;
        w->input.reserved_cpus = (CpuSet){ 0 };
        w->instances[0].pid = 0;
}

static void soft_interrupts(World *w) {
        w->now[1].cpu_seconds[MODE_SOFTIRQ] = 15;
}

static void no_irq_policy(World *w) {
        w->set.n_irqs = 0;
}

static void irq_policy_of_disks(World *w) {
        w->irq_policy.nvme = w->irq_policy.net;
        w->irq_policy.net = (WordList){ 0 };
}

static void on_reserved_cpus(World *w) {
        w->instances[1].allowed_cpus = cpu_set("0-7");
}

static void lists_reserved_cpus(World *w) {
        w->instances[0].cpus = w->instances[0].allowed_cpus = cpu_set("1-3");
}

static void slow_card_unbalanced(World *w) {
        w->set.n_irqs = 0;
        w->vector.effective_known = false;
        w->devices[0].speed_mbps = 10000;
        w->facts.irqbalance = false;
}

static void fast_card_balanced(World *w) {
        w->set.n_irqs = 0;
        w->vector.effective_known = false;
        w->devices[0].speed_mbps = 100000;
}

static void away_from_its_disk(World *w) {
        w->instances[1].storage_nodes = node_set("0");
}

static void bound_away_from_its_disk(World *w) {
        away_from_its_disk(w);
        w->policies[1].place.near = NEAR_STORAGE;
}

static void kept_away_from_its_disk(World *w) {
        bound_away_from_its_disk(w);
        w->policies[1].place.avoid = node_set("0");
}

static void two_on_a_disk(World *w) {
        w->instances[0].exe = S("pd-server");
        w->instances[0].device = "nvme0n1";
}

static void exceeds_its_node(World *w) {
        w->instances[1].need_bytes = 65 * GIB;
}

static void numactl(World *w) {
        w->instances[1].memory_policy = "interleave:0-1";
}

static void numa_policy(World *w) {
        numactl(w);
        w->instances[1].memory_source = START_NUMA;
        w->instances[1].unit = S("tikv-20160.service");
}

static void taskset(World *w) {
        w->instances[1].by_hand.thread_cpus = cpu_set("0-1");
}

static void taskset_of_a_unit(World *w) {
        taskset(w);
        w->instances[1].unit = S("tikv-20160.service");
}

static void by_itself(World *w) {
        taskset_of_a_unit(w);
        w->instances[1].start_known = true;
}

static void cpu_affinity(World *w) {
        by_itself(w);
        w->instances[1].by_hand.start = START_AFFINITY;
}

static void numactl_in_the_script(World *w) {
        by_itself(w);
        w->instances[1].by_hand.start = START_NUMACTL;
}

static void allowed_cpus(World *w) {
        by_itself(w);
        w->instances[1].by_hand = (ByHand){ .cpuset_cpus = cpu_set("0-1") };
}

static void allowed_nodes(World *w) {
        allowed_cpus(w);
        w->instances[1].by_hand.cpuset_nodes = node_set("0");
}

static void go_with_all_cpus(World *w) {
        w->instances[0].gomaxprocs = 8;
}

static void go_before_it_was_bound(World *w) {
        w->instances[1].go = GO_ONCE;
        w->instances[1].bound_after_start = true;
}

static void go_reports_all_cpus(World *w) {
        go_with_all_cpus(w);
        w->instances[0].gomaxprocs_reported = true;
        w->instances[0].go = GO_FOLLOWS;
}

static void threads_for_the_host(World *w) {
        w->instances[1].n_read_threads = 51;
        w->instances[1].unit = S("tikv-20160.service");
}

/* Of no use to PD, which tells hosts apart by another one. */
static void no_label(World *w) {
        w->settings[1].name = S("server.labels.rack");
}

static void no_labels_at_pd(World *w) {
        w->instances[2].exe = S("/opt/tikv-server");
        w->policies[0].match.exe = S("pd-server");
        w->instances[0].exe = S("/opt/pd-server");
        w->settings[1] = (ServerSetting){ S("replication.location-labels"), S("") };
        w->instances[0].said = w->said[1];
        w->instances[2].said = w->said[0];
}

/* It has less memory than TiKV takes by its own settings. */
static void sized_by_its_settings(World *w) {
        w->said[0].settings = w->settings;
        w->said[0].n_settings = 2;
        w->settings[1] = (ServerSetting){ S("memory-usage-limit"), S("96GiB") };
        w->instances[1].said = w->instances[2].said = w->said[0];
}

static void isolated(World *w) {
        w->topology.isolated_cpus = cpu_set("5");
}

static void isolated_beside(World *w) {
        isolated(w);
        w->instances[1].cpus = w->instances[1].allowed_cpus = cpu_set("4,6-7");
}

static void not_startable(World *w) {
        w->input.n_units = 1;
}

static void offline(World *w) {
        w->topology.offline_cpus = cpu_set("8");
}

TEST(each_mistake) {
        static const struct {
                void (*make)(World *w);
                AuditRule rule;
                AuditState state;
                const char *shows, *remedy;
        } rows[] = {
                { numa_balancing, AUDIT_NUMA_BALANCING, AUDIT_WARNING, "is 1",
                  "sysctl -w kernel.numa_balancing=0" },
                { memory_tiering, AUDIT_NUMA_BALANCING, AUDIT_WARNING, "is 2, memory tiering",
                  "unless slow memory" },
                { demotion, AUDIT_NUMA_BALANCING, AUDIT_WARNING, "demotion_enabled", "echo 0" },
                { zone_reclaim, AUDIT_ZONE_RECLAIM, AUDIT_WARNING, "is 1",
                  "sysctl -w vm.zone_reclaim_mode=0" },
                { huge_pages, AUDIT_HUGE_PAGES, AUDIT_WARNING, "'always'", "echo never" },
                { swap_used, AUDIT_SWAP, AUDIT_WARNING, "1024 MiB", "swapoff -a" },
                { min_free, AUDIT_MIN_FREE, AUDIT_WARNING, "is 2097151", "=2097152" },
                { sized_for_the_host, AUDIT_SERVER_SIZES, AUDIT_WARNING,
                  "for more than their nodes have: tikv-20160 up to 95 GiB of node 1 with 64",
                  "MemoryMax=" },
                { sized_for_more_than_a_node, AUDIT_SERVER_SIZES, AUDIT_WARNING,
                  "tidb-4000, tikv-20160 up to 114 GiB of node 1 with 64", "tidbnumactl advise" },
                { swappiness, AUDIT_SWAP, AUDIT_WARNING, "is 60", "sysctl -w vm.swappiness=10" },
                { governor, AUDIT_GOVERNOR, AUDIT_WARNING, "'powersave'", "cpupower" },
                { no_pidfds, AUDIT_KERNEL, AUDIT_WARNING, "0.5 s late", "5.3" },
                { no_numa_stat, AUDIT_KERNEL, AUDIT_WARNING, "is sampled", "5.10" },
                { no_cpuset, AUDIT_CPUSET, AUDIT_FAILURE, "memory: bind", "CONFIG_CPUSETS" },
                { cpuset_closed, AUDIT_CPUSET, AUDIT_FAILURE, "cannot write",
                  "ReadWritePaths=/cgroup/cpuset" },
                { no_cpuset_wanted, AUDIT_CPUSET, AUDIT_WARNING, "not available", "" },
                { nodes_hidden, AUDIT_HIDDEN_NODES, AUDIT_WARNING, "4 sockets", "NPS4" },
                { smaller_node, AUDIT_NODE_SIZES, AUDIT_WARNING, "node 1 has 49152 MiB", "[1]" },
                { node_not_trusted, AUDIT_TOPOLOGY, AUDIT_WARNING, "7", "firmware" },
                { card_without_node, AUDIT_DEVICE_NODE, AUDIT_WARNING, "eth0", "host.reserve" },
                { on_the_nic, AUDIT_NIC_NODE, AUDIT_WARNING, "tidb-4000", "nodes: nic" },
                { soft_interrupts, AUDIT_SOFTIRQ, AUDIT_WARNING, "14 %", "host.reserve" },
                { no_irq_policy, AUDIT_IRQ, AUDIT_WARNING, "1 interrupt of eth0 is served",
                  "net: eth0" },
                { irq_policy_of_disks, AUDIT_IRQ, AUDIT_WARNING, "1 interrupt of eth0 is served",
                  "net: eth0" },
                { on_reserved_cpus, AUDIT_RESERVED_CPUS, AUDIT_WARNING,
                  "tikv-20160 may run on CPUs 3", "mode: enforce" },
                { lists_reserved_cpus, AUDIT_RESERVED_CPUS, AUDIT_WARNING,
                  "tidb-4000 may run on CPUs 3", "`cpus` in policy tidb" },
                { slow_card_unbalanced, AUDIT_IRQBALANCE, AUDIT_WARNING, "does not run",
                  "enable --now" },
                { fast_card_balanced, AUDIT_IRQBALANCE, AUDIT_WARNING, "100 Gbit/s", "irq" },
                { away_from_its_disk, AUDIT_STORAGE_NODE, AUDIT_WARNING, "at node 0",
                  "near: storage" },
                { bound_away_from_its_disk, AUDIT_STORAGE_NODE, AUDIT_WARNING, "at node 0",
                  "tidbnumactl replan tikv-20160" },
                { kept_away_from_its_disk, AUDIT_STORAGE_NODE, AUDIT_WARNING, "at node 0",
                  "policy tikv keeps it away" },
                { two_on_a_disk, AUDIT_SHARED_DISK, AUDIT_WARNING, "tidb-4000 and tikv-20160", "" },
                { exceeds_its_node, AUDIT_NODE_EXCEEDED, AUDIT_FAILURE, "66560 MiB", "preferred" },
                { small_pool, AUDIT_HUGE_POOL, AUDIT_WARNING,
                  "needs 24 more of them on its nodes, for those that it has not touched there: "
                  "node 0 "
                  "has 18 free, others 28",
                  "echo 26 >/sys/devices/system/node/node0/hugepages/hugepages-2048kB/" },
                { numactl, AUDIT_BOUND_BY_HAND, AUDIT_WARNING, "interleave:0-1", "numactl" },
                { numa_policy, AUDIT_BOUND_BY_HAND, AUDIT_WARNING, "by NUMAPolicy=",
                  "remove NUMAPolicy= and NUMAMask= from the unit (systemctl cat tikv-20160" },
                { taskset, AUDIT_BOUND_BY_HAND, AUDIT_WARNING,
                  "tikv-20160 is bound to CPUs 0-1 by taskset, or by itself", "without taskset" },
                { taskset_of_a_unit, AUDIT_BOUND_BY_HAND, AUDIT_WARNING,
                  "by its unit (CPUAffinity=), by numactl or taskset", "take CPUAffinity=" },
                { by_itself, AUDIT_BOUND_BY_HAND, AUDIT_WARNING, "by taskset, or by itself",
                  "without taskset" },
                { cpu_affinity, AUDIT_BOUND_BY_HAND, AUDIT_WARNING, "by CPUAffinity= of its unit",
                  "remove CPUAffinity= from the unit (systemctl cat tikv-20160.service" },
                { numactl_in_the_script, AUDIT_BOUND_BY_HAND, AUDIT_WARNING,
                  "by numactl in its start", "take numactl out" },
                { allowed_cpus, AUDIT_BOUND_BY_HAND, AUDIT_WARNING,
                  "bound to CPUs 0-1 by AllowedCPUs=", "remove AllowedCPUs=" },
                { allowed_nodes, AUDIT_BOUND_BY_HAND, AUDIT_WARNING,
                  "bound to CPUs 0-1 and memory nodes 0 by", "policy tikv" },
                { not_startable, AUDIT_START, AUDIT_WARNING,
                  "tidb-4001.service does not start bound: numactl",
                  "journalctl -u tidb-4001.service" },
                { go_with_all_cpus, AUDIT_GOMAXPROCS, AUDIT_WARNING, "has 3 CPUs", "GOMAXPROCS=3" },
                { go_reports_all_cpus, AUDIT_GOMAXPROCS, AUDIT_WARNING, "has 3 CPUs",
                  "GOMAXPROCS=3" },
                { go_before_it_was_bound, AUDIT_GOMAXPROCS, AUDIT_WARNING,
                  "tikv-20160 was built with Go 1.24 or earlier and started before it was bound",
                  "GOMAXPROCS=4" },
                { threads_for_the_host, AUDIT_KEPT_POOLS, AUDIT_WARNING,
                  "tikv-20160 has 51 threads for reads, as for the CPUs that it had when it "
                  "started, and 4 CPUs",
                  "a restart of tikv-20160.service, or readpool.unified.max-thread-count = 4" },
                { no_label, AUDIT_LABELS, AUDIT_WARNING,
                  "2 TiKV servers are on this host, and tikv-20161 has no label", "labels.host" },
                { no_labels_at_pd, AUDIT_LABELS, AUDIT_WARNING, "PD has no labels",
                  "set location-labels host" },
                { sized_by_its_settings, AUDIT_SERVER_SIZES, AUDIT_WARNING, "up to 96 GiB",
                  "tidbnumactl advise" },
                { isolated, AUDIT_LOST_CPUS, AUDIT_WARNING, "CPUs 5 of tikv-20160", "isolcpus" },
                { isolated_beside, AUDIT_LOST_CPUS, AUDIT_WARNING, "CPUs 5 are isolated",
                  "isolcpus" },
                { offline, AUDIT_LOST_CPUS, AUDIT_WARNING, "CPUs 8", "online" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_audit_report_ AuditReport report = { 0 };
                const AuditFinding *f;
                World w;

                init(&w);
                rows[i].make(&w);
                assert_int_equal(audit_build(&w.input, &report), 0);
                if (report.n_findings != 1)
                        fail_msg("row %zu: %zu findings", i, report.n_findings);
                f = &report.findings[0];
                assert_string_equal(audit_rule_to_id(f->rule), audit_rule_to_id(rows[i].rule));
                assert_int_equal(f->state, rows[i].state);
                assert_int_equal(report.states[f->rule], rows[i].state);
                if (!strstr(f->found, rows[i].shows) || !strstr(f->remedy, rows[i].remedy))
                        fail_msg("row %zu: %s; %s", i, f->found, f->remedy);
                assert_true(*f->where && *f->remedy);
        }
}

/* No policy can steer it, and the host does not use it. */
WORLD_TEST(a_card_of_another_network_namespace_is_not_judged) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        no_irq_policy(w);
        w->card.in_other_netns = true;
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.states[AUDIT_IRQ], AUDIT_OK);
}

/* The file that decides is the PCI device's, not the one of the controller's class. */
WORLD_TEST(node_of_a_disk_is_where_its_pci_device_says) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        away_from_its_disk(w);
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.n_findings, 1);
        assert_string_equal(report.findings[0].where,
                            "/sys/bus/pci/devices/0000:02:00.0/numa_node");
}

/* CPU 8 may be online all the same, and its node be unknown. */
static void assert_doubts_that_cpu_8_is_offline(World *w) {
        _cleanup_audit_report_ AuditReport report = { 0 };
        bool found = false;

        offline(w);
        assert_int_equal(audit_build(&w->input, &report), 0);
        for (size_t i = 0; i < report.n_findings; i++)
                found |= strstr(report.findings[i].found,
                                "CPUs 8 are offline, or no node lists them") != NULL;
        assert_true(found);
}

WORLD_TEST(cpus_of_a_node_that_cannot_be_read) {
        id_set_add(&w->topology.lost_nodes, 7);
        assert_doubts_that_cpu_8_is_offline(w);
}

/* The firmware gives one node CPUs that another has as well. */
WORLD_TEST(cpus_beside_a_node_that_overlaps) {
        w->nodes[1].overlaps = true;
        assert_doubts_that_cpu_8_is_offline(w);
}

/* What the daemon did itself is not reported as a mistake. */
WORLD_TEST(bound_by_the_daemon) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->instances[1].allowed_cpus = cpu_set("4-5");
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.n_findings, 0);
}

/* Interrupts, and the time that they take, are where they are meant to be. */
WORLD_TEST(interrupts_on_reserved_cpus) {
        _cleanup_audit_report_ AuditReport report = { 0 }, more = { 0 };

        w->set.n_irqs = 0;
        w->input.n_instances = 1; /* node 1 is free */
        w->vector.effective = cpu_set("3");
        w->now[0].cpu_seconds[MODE_SOFTIRQ] = 45; /* of 140, one of four CPUs being reserved */
        w->facts.irqbalance_known = false;
        assert_int_equal(audit_build(&w->input, &report), 0);
        for (size_t i = 0; i < report.n_findings; i++)
                fail_msg("%s", report.findings[i].found);
        w->now[0].cpu_seconds[MODE_SOFTIRQ] = 60;
        assert_int_equal(audit_build(&w->input, &more), 0);
        assert_int_equal(more.states[AUDIT_SOFTIRQ], AUDIT_WARNING);
}

/* The kernel takes some memory of one node, which counts on small machines. */
WORLD_TEST(small_nodes) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->instances[0].need_bytes = w->instances[1].need_bytes = 0;
        w->nodes[0].memory_bytes = GIB * 3 / 8;
        w->nodes[1].memory_bytes = GIB / 4;
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.states[AUDIT_NODE_SIZES], AUDIT_OK);
}

WORLD_TEST(worst_first) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        numa_balancing(w);
        exceeds_its_node(w);
        smaller_node(w);
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.n_findings, 3);
        assert_int_equal(report.findings[0].state, AUDIT_FAILURE);
        assert_int_equal(report.findings[1].rule, AUDIT_NODE_SIZES);
        assert_int_equal(report.findings[2].rule, AUDIT_NUMA_BALANCING);
        assert_int_equal(audit_report_worst(&report), AUDIT_FAILURE);
}

/* --- what the audit does not know, or has nothing to compare with --- */

/* Of a machine that is only described nothing is claimed. */
WORLD_TEST(nothing_known) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->input = (AuditInput){ .topology = &w->topology,
                                 .devices = &(DeviceList){ 0 },
                                 .policies = &w->set };
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.n_findings, 0);
        for (AuditRule rule = 0; rule < N_AUDIT_RULES; rule++)
                assert_int_equal(report.states[rule],
                                 rule == AUDIT_TOPOLOGY || rule == AUDIT_NODE_SIZES
                                         ? AUDIT_OK
                                         : AUDIT_UNKNOWN);
}

/* Files that a kernel or a user's rights hide. */
WORLD_TEST(settings_that_cannot_be_read) {
        static const AuditRule rules[] = { AUDIT_NUMA_BALANCING, AUDIT_ZONE_RECLAIM,
                                           AUDIT_HUGE_PAGES,     AUDIT_GOVERNOR,
                                           AUDIT_CPUSET,         AUDIT_SOFTIRQ };
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->facts.numa_balancing = w->facts.zone_reclaim_mode = w->facts.swappiness =
                w->facts.min_free_kib = HOST_FACT_UNKNOWN;
        w->facts.huge_pages[0] = '\0';
        w->facts.governor_known = w->facts.cpuset_known = false;
        w->before[0].cpu_known = w->now[1].cpu_known = false;
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.n_findings, 0);
        for (size_t i = 0; i < ELEMENTSOF(rules); i++)
                if (report.states[rules[i]] != AUDIT_UNKNOWN)
                        fail_msg("%s is judged", audit_rule_to_id(rules[i]));
}

/* NULL: there is none; a second one is a failure. */
static const AuditFinding *only_finding(const AuditReport *report, AuditRule rule) {
        const AuditFinding *found = NULL;

        for (size_t i = 0; i < report->n_findings; i++) {
                if (report->findings[i].rule != rule)
                        continue;
                assert_null(found);
                found = &report->findings[i];
        }
        return found;
}

static void assert_unknown_nodes(World *w, const char *shows) {
        _cleanup_audit_report_ AuditReport report = { 0 };
        const AuditFinding *found;

        assert_int_equal(audit_build(&w->input, &report), 0);
        found = only_finding(&report, AUDIT_DEVICE_NODE);
        if (!shows) {
                assert_null(found);
                assert_int_equal(report.states[AUDIT_DEVICE_NODE], AUDIT_OK);
                return;
        }
        assert_non_null(found);
        assert_string_equal(found->found, shows);
}

/* A guest has no node of any device; most of them do not matter. */
WORLD_TEST(devices_without_a_node_count_where_they_are_used) {
        const DeviceList disks = { .devices = &w->devices[1], .n_devices = 1 };

        w->devices[0].node = w->devices[1].node = DEVICE_NODE_UNKNOWN;
        assert_unknown_nodes(w, "the firmware does not report the node of eth0");
        w->instances[1].disks = &disks;
        assert_unknown_nodes(w, "the firmware does not report the node of eth0, nvme0n1");
        w->set.n_irqs = 0;
        w->input.irqs = NULL;
        assert_unknown_nodes(w, "the firmware does not report the node of nvme0n1");
        w->set.host.reserve.kind = RESERVE_NIC;
        assert_unknown_nodes(w, "the firmware does not report the node of nvme0n1");
        w->devices[0].default_route = true;
        assert_unknown_nodes(w, "the firmware does not report the node of eth0, nvme0n1");
        w->set.host.reserve.kind = RESERVE_LIST;
        w->input.n_instances = 0;
        assert_unknown_nodes(w, NULL);
}

WORLD_TEST(nodes_without_memory_are_one_finding) {
        _cleanup_audit_report_ AuditReport report = { 0 };
        const AuditFinding *found;

        w->nodes[0].memory_bytes = w->nodes[1].memory_bytes = 0;
        w->input.n_instances = 0;
        assert_int_equal(audit_build(&w->input, &report), 0);
        found = only_finding(&report, AUDIT_NODE_SIZES);
        assert_non_null(found);
        assert_non_null(strstr(found->found, "nodes 0-1 (CPUs 0-7) have no memory"));
}

/* What its remedies say is done: for all policies, and not for one alone. */
WORLD_TEST(a_smaller_node_that_is_avoided_is_no_finding) {
        static const struct {
                const char *avoid, *nodes;
                MemoryMode memory;
        } rows[] = { { "1", "", MEMORY_BIND },
                     { "", "0", MEMORY_BIND },
                     { "", "", MEMORY_PREFERRED } };

        smaller_node(w);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                for (size_t k = 0; k < 2; k++) {
                        _cleanup_audit_report_ AuditReport report = { 0 };
                        Policy *p = &w->policies[k];

                        p->place.avoid = node_set(rows[i].avoid);
                        p->place.nodes = node_set(rows[i].nodes);
                        p->memory = rows[i].memory;
                        assert_int_equal(audit_build(&w->input, &report), 0);
                        assert_int_equal(report.states[AUDIT_NODE_SIZES],
                                         k == 0 ? AUDIT_WARNING : AUDIT_OK);
                }
                for (size_t k = 0; k < 2; k++)
                        w->policies[k] = (Policy){ .name = w->policies[k].name,
                                                   .match = w->policies[k].match };
        }
}

WORLD_TEST(a_node_without_memory_that_a_policy_uses_is_no_finding) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->nodes[1].memory_bytes = 0;
        assert_true(id_set_has(&w->instances[1].nodes, 1));
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_null(only_finding(&report, AUDIT_NODE_SIZES));
}

/* Of two processes that look alike, one was born bound, and of others it is not known by what they
 * were built. */
WORLD_TEST(go_that_counts_rightly_is_no_finding) {
        static const struct {
                GoCount go;
                bool late;
                uint32_t gomaxprocs, cpu_quota;
        } rows[] = { { GO_ONCE, false, 0, 0 },     { GO_FOLLOWS, true, 0, 0 },
                     { GO_UNKNOWN, true, 0, 0 },   { GO_ONCE, true, 4, 0 },
                     { GO_FOLLOWS, true, 2, 150 }, /* as Go itself counts */
                     { GO_FOLLOWS, true, 1, 150 }, /* as automaxprocs does */
                     { GO_FOLLOWS, true, 4, 350 } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_audit_report_ AuditReport report = { 0 };

                w->instances[1].go = rows[i].go;
                w->instances[1].bound_after_start = rows[i].late;
                w->instances[1].gomaxprocs = rows[i].gomaxprocs;
                w->instances[1].cpu_quota = rows[i].cpu_quota;
                assert_int_equal(audit_build(&w->input, &report), 0);
                assert_null(only_finding(&report, AUDIT_GOMAXPROCS));
        }
}

/* On CPUs that it shares with another heavy one, advise gives it fewer threads than CPUs. */
WORLD_TEST(go_that_has_its_part_of_shared_cpus_is_no_finding) {
        for (uint32_t n = 1; n <= 3; n++) {
                _cleanup_audit_report_ AuditReport report = { 0 };

                w->instances[0].gomaxprocs = n;
                w->instances[1].nodes = w->instances[0].nodes;
                w->instances[1].cpus = w->instances[0].cpus;
                assert_int_equal(audit_build(&w->input, &report), 0);
                assert_null(only_finding(&report, AUDIT_GOMAXPROCS));
        }
        {
                _cleanup_audit_report_ AuditReport report = { 0 };

                w->instances[0].gomaxprocs = 4;
                assert_int_equal(audit_build(&w->input, &report), 0);
                assert_string_equal(only_finding(&report, AUDIT_GOMAXPROCS)->remedy,
                                    "GOMAXPROCS=1 in its environment, and a restart");
        }
}

WORLD_TEST(one_node_has_no_other_to_be_equal_to) {
        _cleanup_audit_report_ AuditReport report = { 0 };

        w->topology.n_nodes = 1;
        assert_int_equal(audit_build(&w->input, &report), 0);
        assert_int_equal(report.states[AUDIT_NODE_SIZES], AUDIT_UNKNOWN);
}
