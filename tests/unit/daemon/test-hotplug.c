/* CPUs and memory that come and go: what is read again then, and how the plan changes. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "rooms.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/world/topology-load.h"

enum { NODES = 3 };

/* What the machine shows: node i has the CPUs 2i and 2i+1. */
static struct {
        unsigned n_loads;
        int error;
        size_t n_nodes;
        CpuSet online;
        NodeSet memory;
        uint64_t node_bytes;
        CpuSet taken;
} machine;

int __wrap_topology_load(const Sysroot *sysroot, Topology *ret);

static void fill_node(Node *node, uint32_t id) {
        *node = (Node){ .id = id, .package = 7 };
        if (id_set_has(&machine.memory, id))
                node->memory_bytes = machine.node_bytes;
        for (uint32_t cpu = 2 * id; cpu < 2 * id + 2; cpu++)
                if (id_set_has(&machine.online, cpu))
                        id_set_add(&node->cpus, cpu);
}

int __wrap_topology_load(const Sysroot *sysroot, Topology *ret) {
        (void)sysroot;
        machine.n_loads++;
        if (machine.error < 0)
                return machine.error;
        *ret = (Topology){ .nodes = calloc(machine.n_nodes, sizeof(Node)),
                           .n_nodes = machine.n_nodes,
                           .core = calloc(CPU_SET_MAX, sizeof(uint16_t)),
                           .taken_cpus = machine.taken,
                           .offline_cpus = cpu_set("5") };
        for (uint32_t i = 0; i < machine.n_nodes; i++)
                fill_node(&ret->nodes[i], i);
        for (uint16_t cpu = 0; cpu < 2 * NODES; cpu++) /* two threads each */
                ret->core[cpu] = id_set_has(&machine.online, cpu & ~1u) ? cpu & 0xfffeu : cpu;
        return 0;
}

typedef struct TestHost {
        FakeTree tree;
        Rooms m;
        uint64_t left[NODES + 1];
        Policy policy;
        Instance *instance;
        PlannedUnit unit, *units;
} TestHost;

static void show(TestHost *h, const char *cpus, const char *nodes, const char *memory) {
        fake_write(&h->tree, "sys/devices/system/cpu/online", cpus);
        fake_write(&h->tree, "sys/devices/system/node/online", nodes);
        fake_write(&h->tree, "sys/devices/system/node/has_memory", memory);
        machine.online = cpu_set(cpus);
        machine.memory = node_set(memory);
}

/* The live machine, but for its files; no event comes. */
static void host_init(TestHost *h) {
        Process process = { .id = { 10, 100 },
                            .exe = strdup("/i"),
                            .cgroup = strdup("/system.slice/tikv.service"),
                            .unit = strdup("tikv.service") };

        memset(&machine, 0, sizeof(machine));
        machine.n_nodes = NODES;
        machine.node_bytes = 1 << 30;
        *h = (TestHost){ .policy = { .name = (char *)"p",
                                     .file = (char *)"p.yaml",
                                     .match.unit = (char *)"tikv.service",
                                     .place = { .count = 1, .same_package = true } } };
        fake_init(&h->tree);
        show(h, "0-5", "0-2", "0-2");
        h->m = (Rooms){ .host.sysroot = h->tree.sysroot,
                        .host.journal = { .max_priority = -1 },
                        .placing.left_bytes = h->left,
                        .host.policies = { .policies = &h->policy, .n_policies = 1 },
                        .placing.units = &h->units,
                        .placing.n_units = 1 };
        rooms_wire(&h->m);
        h->m.host.sysroot.live = true;
        h->units = &h->unit;
        h->unit = (PlannedUnit){ .name = (char *)"tikv.service",
                                 .label = (char *)"tikv",
                                 .known = true,
                                 .loaded = true,
                                 .uid_known = true };
        h->instance = rooms_add(&h->m, &h->policy, &process, NULL);
        assert_int_equal(topology_load(&h->m.host.sysroot, &h->m.host.topology), 0);
        assert_int_equal(sd_event_new(&h->m.host.event), 0);
        assert_int_equal(hotplug_start(&h->m.host), 0);
        host_queue(&h->m.host, HOST_WORK_PLAN);
        place_refresh(&h->m.placing);
        (void)instance_take(h->instance, WORK_DISPATCHED);
        machine.n_loads = 0;
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->m);
        hotplug_done(&h->m.host);
        sd_event_unref(h->m.host.event);
        topology_done(&h->m.host.topology);
        free(h->m.host.high_watermark_bytes);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

static void check(TestHost *h) {
        hotplug_check(&h->m.host);
        if (host_take(&h->m.host, HOST_WORK_TOPOLOGY))
                place_note_topology(&h->m.placing);
        place_refresh(&h->m.placing);
}

static void assert_placed(const TestHost *h, const char *nodes, const char *cpus) {
        assert_ids(h->instance->planned.placement.nodes, nodes);
        assert_ids(h->instance->planned.placement.cpus, cpus);
}

HOST_TEST(nothing_new) {
        check(h);
        fake_write(&h->tree, "sys/devices/system/cpu/online", "x");
        check(h); /* what cannot be read has not changed */
        fake_remove(&h->tree, "sys/devices/system/cpu/online");
        check(h);
        assert_int_equal(machine.n_loads, 0);
        assert_false(h->m.host.queued & HOST_WORK_PLAN);
}

HOST_TEST(one_cpu_goes_and_comes) {
        assert_placed(h, "0", "0-1");
        show(h, "1-5", "0-2", "0-2");
        check(h);
        assert_int_equal(machine.n_loads, 1);
        assert_placed(h, "0", "1"); /* it stays */
        assert_true(instance_take(h->instance, WORK_PLACE));
        assert_ids(h->m.host.backend.all_cpus, "1-5");
        assert_ids(h->m.host.topology.offline_cpus, "5");
        assert_ids(topology_core(&h->m.host.topology, 1), "1"); /* the lowest of its core now */
        check(h);
        assert_int_equal(machine.n_loads, 1);
        show(h, "0-5", "0-2", "0-2");
        check(h);
        assert_placed(h, "0", "0-1");
}

/* The hardware stays as it is. */
HOST_TEST(a_partition_takes_cpus) {
        fake_write(&h->tree, "sys/fs/cgroup/cpuset.cpus.effective", "2-5");
        machine.taken = cpu_set("0-1");
        check(h);
        assert_int_equal(machine.n_loads, 1);
        assert_ids(h->m.host.topology.taken_cpus, "0-1");
        assert_placed(h, "1", "2-3");
        check(h);
        assert_int_equal(machine.n_loads, 1);
        fake_write(&h->tree, "sys/fs/cgroup/cpuset.cpus.effective", "0-5");
        machine.taken = cpu_set("");
        check(h);
        assert_ids(h->m.host.topology.taken_cpus, "");
        assert_placed(h, "1", "2-3"); /* it stays where it fits */
}

/* The root group lacks it a moment longer, and no partition is there. */
HOST_TEST(a_cpu_that_is_not_offered_yet) {
        fake_write(&h->tree, "sys/fs/cgroup/cpuset.cpus.effective", "0-4");
        show(h, "0-4", "0-2", "0-2");
        check(h);
        show(h, "0-5", "0-2", "0-2");
        machine.taken = cpu_set("5");
        check(h);
        assert_ids(h->m.host.topology.taken_cpus, "");
        check(h); /* but where that lasts, something has taken it */
        assert_ids(h->m.host.topology.taken_cpus, "5");
        fake_write(&h->tree, "sys/fs/cgroup/cpuset.cpus.effective", "0-5");
        machine.taken = cpu_set("");
        check(h);
        assert_ids(h->m.host.topology.taken_cpus, "");
}

static void allow(const TestHost *h, const char *cpus) {
        fake_write(&h->tree, "sys/fs/cgroup/cgroup.controllers", "cpuset\n");
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/cpuset.cpus.effective", cpus);
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/cpuset.mems.effective", "0-2");
}

/* To be opened fully takes those as well that may come. */
HOST_TEST(what_may_come) {
        fake_write(&h->tree, "sys/devices/system/cpu/possible", "0-7");
        fake_write(&h->tree, "sys/devices/system/node/possible", "0-3");
        show(h, "1-5", "0-2", "1-2");
        check(h);
        assert_ids(h->m.host.backend.all_cpus, "0-7");
        assert_ids(h->m.host.backend.all_nodes, "0-3");
}

/* What groups above allow is read again: it was without the CPU that has come. */
HOST_TEST(allowed_is_read_again) {
        allow(h, "1-4");
        show(h, "0-4", "0-2", "0-2");
        check(h);
        assert_placed(h, "0", "1");
        allow(h, "0-5");
        show(h, "0-5", "0-2", "0-2");
        check(h);
        assert_placed(h, "0", "0-1");
}

/* Of a unit that does not run it cannot be: what has come is allowed. */
TEST(allowed_to_a_unit_at_rest) {
        static const char *const online[] = { "0-4", "0-5", "1-5", "0-5" }, *const expected[][2] = {
                { "1", "0-1" },
                { "1", "0-1" }, /* another one has come */
                { "1", "1" },
                { "0-1", "0-1" },
        };

        for (unsigned all = 0; all < 2; all++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                if (!all)
                        allow(&h, "1-4");
                for (size_t k = 0; k < ELEMENTSOF(online); k++) {
                        show(&h, online[k], "0-2", "0-2");
                        check(&h);
                        assert_ids(h.unit.planned.placement.cpus, expected[k][all]);
                        if (k == 0)
                                registry_remove_process(&h.m.registry, h.instance, 0);
                }
        }
}

/* Nor what has got memory. */
HOST_TEST(memory_allowed_to_a_unit_at_rest) {
        h->policy.place = (Place){ .nodes = node_set("2") };
        h->policy.memory = MEMORY_BIND;
        allow(h, "0-5");
        fake_write(&h->tree, "sys/fs/cgroup/system.slice/cpuset.mems.effective", "0-1");
        show(h, "0-5", "0-2", "0-1");
        check(h);
        assert_int_equal(h->instance->planned.refusal, REFUSAL_NO_MEMORY);
        registry_remove_process(&h->m.registry, h->instance, 0);
        show(h, "0-5", "0-2", "0-2");
        check(h);
        assert_ids(h->unit.planned.placement.nodes, "2");
}

static void show_watermarks(const TestHost *h, const char *min_free, unsigned pages) {
        char zone[128];

        (void)snprintf(zone, sizeof(zone),
                       "Node 1, zone   Normal\n  pages free 9\n        high     %u\n", pages);
        fake_write(&h->tree, "proc/zoneinfo", zone);
        fake_write(&h->tree, "proc/sys/vm/min_free_kbytes", min_free);
}

/* `tidbnumactl check` advises to set it. */
HOST_TEST(watermarks_that_are_set) {
        const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

        fake_write(&h->tree, "proc/sys/vm/watermark_scale_factor", "10");
        show_watermarks(h, "67584", 100);
        check(h);
        assert_int_equal(h->m.host.high_watermark_bytes[1], 100 * page);
        show_watermarks(h, "67584", 5000); /* it is long, and not read in vain */
        check(h);
        assert_int_equal(h->m.host.high_watermark_bytes[1], 100 * page);
        show_watermarks(h, "1048576", 5000);
        check(h);
        assert_int_equal(h->m.host.high_watermark_bytes[1], 5000 * page);
        show_watermarks(h, "1048576", 200);
        fake_write(&h->tree, "proc/sys/vm/watermark_scale_factor", "200");
        check(h);
        assert_int_equal(h->m.host.high_watermark_bytes[1], 200 * page);
        show_watermarks(h, "1048576", 300);
        show(h, "0-5", "0-2", "0-1"); /* memory goes */
        check(h);
        assert_int_equal(h->m.host.high_watermark_bytes[1], 300 * page);
        assert_int_equal(h->m.host.high_watermark_bytes[0], 0);
}

/* Its first block changes what has memory, each further one only comes with an event. */
HOST_TEST(memory_that_comes_in_blocks) {
        show(h, "0-5", "0-2", "0-1");
        check(h);
        show(h, "0-5", "0-2", "0-2");
        machine.node_bytes = 1 << 27;
        check(h);
        assert_int_equal(h->m.host.topology.nodes[2].memory_bytes, 1 << 27);
        machine.node_bytes = 1 << 29;
        check(h);
        assert_int_equal(h->m.host.topology.nodes[2].memory_bytes, 1 << 27);
        fake_write(&h->tree, "sys/devices/system/node/node2/meminfo",
                   "Node 2 MemTotal: 524288 kB\nNode 2 MemFree: 524288 kB\n");
        h->m.host.hotplug.event_seen = true; /* as an event does */
        check(h);
        assert_int_equal(h->m.host.topology.nodes[2].memory_bytes, 1 << 29);
        machine.n_loads = 0;
        check(h); /* once */
        h->m.host.hotplug.event_seen = true;
        check(h); /* and not where an event tells nothing new */
        assert_int_equal(machine.n_loads, 0);
}

HOST_TEST(node_without_cpus_is_left) {
        assert_placed(h, "0", "0-1");
        show(h, "2-5", "0-2", "0-2");
        check(h);
        assert_placed(h, "1", "2-3");
        show(h, "0-5", "0-2", "0-2");
        check(h);
        assert_placed(h, "1", "2-3"); /* and not left again */
}

HOST_TEST(explicit_node_without_cpus_is_refused) {
        h->policy.place = (Place){ .nodes = node_set("2") };
        host_queue(&h->m.host, HOST_WORK_PLAN);
        place_refresh(&h->m.placing);
        assert_placed(h, "2", "4-5");
        show(h, "0-3", "0-2", "0-2");
        check(h);
        assert_placed(h, "", "");
        assert_int_equal(h->instance->planned.refusal, REFUSAL_NO_CPU);
        show(h, "0-5", "0-2", "0-2");
        check(h);
        assert_placed(h, "2", "4-5");
}

HOST_TEST(memory_and_nodes) {
        show(h, "0-5", "0-2", "1-2");
        check(h);
        assert_ids(h->m.host.backend.all_nodes, "1-2");
        assert_placed(h, "1", "2-3");
        machine.n_nodes = 1; /* two nodes go altogether: their places stay, and are empty */
        show(h, "0-1", "0", "0");
        check(h);
        assert_int_equal(h->m.host.topology.n_nodes, NODES);
        assert_placed(h, "0", "0-1");
        assert_int_equal(h->m.host.topology.nodes[2].id, 2);
        assert_int_equal(h->m.host.topology.nodes[2].package, 7);
        assert_true(id_set_is_empty(&h->m.host.topology.nodes[2].cpus));
        machine.n_nodes = NODES + 1; /* there is no place for a new one */
        show(h, "0-7", "0-3", "0-3");
        check(h);
        assert_int_equal(h->m.host.topology.n_nodes, NODES);
        assert_ids(h->m.host.hotplug.logged, "3");
        assert_ids(h->m.host.backend.all_cpus, "0-5");
}

HOST_TEST(failure_is_tried_again) {
        show(h, "1-5", "0-2", "0-2");
        machine.error = -EMFILE;
        check(h);
        assert_placed(h, "0", "0-1");
        machine.error = 0;
        check(h);
        assert_placed(h, "0", "1");
        assert_int_equal(machine.n_loads, 2);
}

/* The dump of another machine does not change. */
HOST_TEST(dump) {
        hotplug_done(&h->m.host);
        h->m.host.hotplug = (Hotplug){ 0 };
        h->m.host.sysroot.live = false;
        assert_int_equal(hotplug_start(&h->m.host), 0);
        assert_null(h->m.host.hotplug.timer);
        show(h, "1-5", "0-2", "0-2");
        check(h);
        assert_int_equal(machine.n_loads, 0);
}
