/* From instances to a plan and its report: what the planner is given, what is reported, and what
 * differs between two plans. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/ctl/plan-run.h"

#define S(text) ((char *)(text))
#define GIB (UINT64_C(1) << 30)

/* Two nodes with a disk each, and instances of two policies. */
typedef struct World {
        Node nodes[2];
        uint16_t distances[4];
        Device disks[3];
        Machine machine;
        Policy policies[2];
        PolicySet set;
        HostInstance imagined[2];
        HostInstances imagined_list;
        Member members[2];
        HostInstance running[2];
        HostInstances running_list;
        NodeMemory by_node[2][2];
        PlanRunFrom from;
} World;

static void world_machine(World *w) {
        w->nodes[0] = (Node){ .id = 0, .cpus = cpu_set("0-3"), .memory_bytes = 8 * GIB };
        w->nodes[1] =
                (Node){ .id = 1, .package = 1, .cpus = cpu_set("4-7"), .memory_bytes = 8 * GIB };
        memcpy(w->distances, (uint16_t[]){ 10, 20, 20, 10 }, sizeof(w->distances));
        w->disks[0] =
                (Device){ .kind = DEVICE_NET, .name = S("eth0"), .node = 0, .default_route = true };
        w->disks[1] = (Device){ .kind = DEVICE_DISK, .name = S("nvme0n1"), .node = 1 };
        w->disks[2] =
                (Device){ .kind = DEVICE_DISK, .name = S("sda"), .node = DEVICE_NODE_UNKNOWN };
        w->machine = (Machine){
                .sysroot = SYSROOT_NONE,
                .topology = { .nodes = w->nodes, .n_nodes = 2, .distances = w->distances },
                .devices = { .devices = w->disks, .n_devices = 3 },
                .title = S("test")
        };
}

static void world_init(World *w) {
        *w = (World){ 0 };
        world_machine(w);
        w->policies[0] = (Policy){ .name = S("tidb"), .file = S("a"), .line = 1 };
        w->policies[0].place = (Place){ .count = 1, .same_package = true };
        w->policies[1] = w->policies[0];
        w->policies[1].name = S("tikv");
        w->policies[1].place.near = NEAR_STORAGE;
        policy_set_init(&w->set);
        w->set.policies = w->policies;
        w->set.n_policies = 2;
        w->imagined[0] = (HostInstance){ .name = S("tidb-1"), .policy = &w->policies[0] };
        w->imagined[1] = (HostInstance){ .name = S("tikv-1"),
                                         .policy = &w->policies[1],
                                         .storage = S("nvme0n1"),
                                         .storage_nodes = node_set("1"),
                                         .in_turn = true };
        w->imagined_list = (HostInstances){ .instances = w->imagined, .n_instances = 2 };
        w->from = (PlanRunFrom){ .machine = &w->machine,
                                 .policies = &w->set,
                                 .instances = &w->imagined_list };
}

/* The same two, running: tidb-1 on node 1, tikv-1 anywhere. */
static void world_run(World *w) {
        for (size_t i = 0; i < 2; i++) {
                w->members[i].process.id.pid = 100 + (pid_t)i;
                w->running[i] = (HostInstance){ .name = w->imagined[i].name,
                                                .policy = w->imagined[i].policy,
                                                .members = &w->members[i],
                                                .n_members = 1 };
        }
        w->running[0].cpus = cpu_set("4-7");
        w->running[0].by_node = w->by_node[0];
        w->running[0].memory_known = true;
        w->by_node[0][0].anon_bytes = 7;
        w->by_node[0][0].shmem_bytes = 5;
        w->by_node[0][1].anon_bytes = 100;
        w->by_node[0][1].shmem_bytes = 1000;
        w->running[1].storage_nodes = node_set("0");
        w->running[1].storage = S("/d: ext4 on sda");
        w->running[1].limit_bytes = 4096;
        w->running_list = (HostInstances){ .instances = w->running, .n_instances = 2 };
        w->from.instances = &w->running_list;
}

#define WORLD_TEST(test) TEST_WITH(test, World, w, world_init, (void))

WORLD_TEST(imagined) {
        _cleanup_plan_run_ PlanRun p = { 0 };

        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_int_equal(p.report.n_instances, 2);
        assert_string_equal(p.report.source, "test");
        assert_null(p.report.free_bytes);
        assert_string_equal(p.rows[0].in->name, "tidb-1");
        assert_ids(p.rows[0].choice->placement.nodes, "0");
        assert_null(p.rows[0].storage);
        assert_int_equal(p.rows[0].pid, 0);
        assert_string_equal(p.rows[1].storage, "nvme0n1");
        assert_ids(p.rows[1].in->device_nodes, "1");
        assert_ids(p.rows[1].choice->placement.nodes, "1");
        assert_int_equal(p.rows[1].choice->basis, BASIS_CHOSEN);
        assert_true(p.rows[1].choice->n_alternatives > 0);
        assert_false(plan_run_has_refusal(&p));
        assert_int_equal(p.report.n_notes, 1);
        assert_non_null(strstr(p.report.notes[0], "tikv-1 on nvme0n1; COUNT:POLICY@DISK"));
        assert_ptr_equal(plan_run_find(&p, "tikv-1"), &p.rows[1]);
        assert_null(plan_run_find(&p, "tikv"));
}

/* An instance that fits stays where it is; replanned, it goes where it would be put today. */
WORLD_TEST(replan) {
        _cleanup_plan_run_ PlanRun stays = { 0 }, moves = { 0 };
        char *word = S("tidb-*");

        world_run(w);
        w->running_list.n_instances = 1;
        assert_int_equal(plan_run_build(&w->from, &stays), 0);
        assert_ids(stays.rows[0].choice->placement.nodes, "1");
        assert_int_equal(stays.rows[0].choice->basis, BASIS_KEPT);
        w->from.replan = (WordList){ .words = &word, .n_words = 1 };
        assert_int_equal(plan_run_build(&w->from, &moves), 0);
        assert_ids(moves.rows[0].choice->placement.nodes, "0");
        assert_int_equal(moves.rows[0].choice->basis, BASIS_CHOSEN);
}

/* A disk whose node is unknown, and one that was given. */
WORLD_TEST(disks) {
        _cleanup_plan_run_ PlanRun p = { 0 };

        w->imagined[1].storage_nodes = (NodeSet){ 0 };
        w->imagined[1].storage = S("sda");
        w->imagined[1].in_turn = false;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_string_equal(p.rows[1].storage, "sda");
        assert_ids(p.rows[1].in->device_nodes, "");
        assert_true(p.rows[1].choice->warnings & WARN_DEVICE_UNKNOWN);
        assert_int_equal(p.report.n_notes, 0);
}

WORLD_TEST(reserve) {
        _cleanup_plan_run_ PlanRun p = { 0 };

        w->set.host.reserve.kind = RESERVE_NIC;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_ids(p.report.nic_nodes, "0");
        assert_ids(p.report.reserved, "0");
        plan_run_done(&p);
        /* Other cards than that of the default route. */
        w->set.host.reserve.devices = (WordList){ .words = (char *[]){ S("eth9") }, .n_words = 1 };
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_ids(p.report.nic_nodes, "");
        assert_ids(p.report.reserved, "");
}

WORLD_TEST(running) {
        InstanceInfo told = { .name = S("tidb-1"), .state = INSTANCE_BOUND, .reason = S("r") };
        const Snapshot status = { .instances = &told, .n_instances = 1 };
        _cleanup_plan_run_ PlanRun p = { 0 };

        world_run(w);
        w->from.status = &status;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_ids(p.rows[0].in_force, "1");
        assert_ids(p.rows[0].choice->placement.nodes, "1");
        assert_int_equal(p.rows[0].choice->basis, BASIS_KEPT);
        assert_int_equal(p.rows[0].pid, 100);
        assert_true(p.rows[0].cost_known);
        assert_int_equal(p.rows[0].cost_bytes, 7);
        assert_ptr_equal(p.rows[0].published, &told);
        assert_string_equal(p.rows[1].storage, "/d: ext4 on sda");
        assert_ids(p.rows[1].choice->placement.nodes, "0"); /* its device's */
        assert_int_equal(p.rows[1].in->need_bytes, 4096);
        assert_false(p.rows[1].cost_known);
        assert_null(p.rows[1].published);
        assert_int_equal(p.report.n_notes, 0);
}

/* Whether bound or not, the places are the daemon's; computed is what speaks for them. */
WORLD_TEST(daemons_plan) {
        InstanceInfo told[] = {
                { .name = S("tidb-1"),
                  .policy = S("tidb"),
                  .state = INSTANCE_PLANNED,
                  .reason = S("r") },
                { .name = S("tikv-1"),
                  .policy = S("tikv"),
                  .state = INSTANCE_RELEASED,
                  .reason = S("q") },
        };
        const Snapshot status = { .instances = told, .n_instances = 2 };
        _cleanup_plan_run_ PlanRun p = { 0 };

        world_run(w);
        w->running[0].cpus = (CpuSet){ 0 };
        w->running[1].storage_nodes = (NodeSet){ 0 };
        w->by_node[0][1].anon_bytes = GIB;
        w->policies[1].place.nodes = node_set("0"); /* which keeps a place in the plan */
        told[0].nodes = node_set("0");
        told[0].cpus = cpu_set("0-2");
        told[0].basis = told[1].basis = BASIS_CHOSEN;
        told[0].warnings = WARN_MEMORY;
        w->from.status = &status;
        w->from.daemons = true;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_ids(p.rows[0].choice->placement.nodes, "0");
        assert_ids(p.rows[0].choice->placement.cpus, "0-2");
        assert_int_equal(p.rows[0].choice->basis, BASIS_CHOSEN);
        assert_int_equal(p.rows[0].choice->warnings, WARN_MEMORY);
        assert_int_equal(p.rows[0].choice->n_alternatives, 0);
        assert_true(p.rows[0].choice->grounds.outdone); /* node 1 has its memory */
        assert_false(p.rows[0].bound);
        assert_ids(p.rows[1].choice->placement.nodes, "");
        assert_string_equal(p.rows[1].unplaced, "q");
        assert_false(plan_run_has_refusal(&p));
        plan_run_done(&p);

        told[0].cpu_bound = true;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_true(p.rows[0].bound);
        plan_run_done(&p);
        /* One that is to be placed again is computed. */
        w->from.replan = (WordList){ .words = (char *[]){ S("tidb-1") }, .n_words = 1 };
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_ids(p.rows[0].choice->placement.nodes, "1");
        assert_false(p.rows[0].bound);
        plan_run_done(&p);

        told[1].basis = BASIS_REFUSED;
        told[1].refusal = REFUSAL_TAKEN;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_int_equal(p.rows[1].choice->refusal, REFUSAL_TAKEN);
        assert_true(plan_run_has_refusal(&p));
}

/* MemFree and idle page cache above the headroom (2 % of the node), and what the instances hold. */
WORLD_TEST(free_memory) {
        _cleanup_plan_run_ PlanRun p = { 0 };
        _cleanup_fake_ FakeTree tree;

        world_run(w);
        fake_init(&tree);
        w->machine.sysroot = tree.sysroot;
        w->machine.runs = true;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_null(p.report.free_bytes);
        plan_run_done(&p);
        for (int node = 0; node < 2; node++) {
                fake_write(&tree, fmt("sys/devices/system/node/node%d/meminfo", node),
                           node == 0 ? "Node 0 MemTotal: 100 kB\nNode 0 MemFree: 10 kB\n"
                                       "Node 0 Inactive(file): 2 kB\nNode 0 Dirty: 0 kB\n"
                                       "Node 0 Writeback: 0 kB\n"
                                     : "Node 1 MemTotal: 8 kB\nNode 1 MemFree: 8 kB\n"
                                       "Node 1 Inactive(file): 0 kB\nNode 1 Dirty: 0 kB\n"
                                       "Node 1 Writeback: 0 kB\n");
        }
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_non_null(p.report.free_bytes);
        assert_int_equal(p.report.free_bytes[0], 10 * 1024 + 12);
        assert_int_equal(p.report.free_bytes[1], 8 * 1024); /* no more than there is */
}

WORLD_TEST(refusal) {
        _cleanup_plan_run_ PlanRun p = { 0 };

        w->policies[1].place.count = 3;
        w->policies[1].place.count_is_set = true;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_int_equal(p.rows[1].choice->basis, BASIS_REFUSED);
        assert_true(plan_run_has_refusal(&p));
        plan_run_done(&p);
        w->policies[1].built_in = true; /* is meant so */
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_int_equal(p.rows[1].choice->refusal, REFUSAL_WATCH_ONLY);
        assert_false(plan_run_has_refusal(&p));
}

WORLD_TEST(nothing) {
        _cleanup_plan_run_ PlanRun p = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n = 77;

        w->imagined_list.n_instances = 0;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_int_equal(p.report.n_instances, 0);
        assert_int_equal(plan_run_compare(NULL, &p, &changes, &n), 0);
        assert_int_equal(n, 0);
}

WORLD_TEST(compare_with_force) {
        InstanceInfo published = { .name = S("tidb-1"),
                                   .state = INSTANCE_BOUND,
                                   .reason = S(""),
                                   .cpu_bound = true,
                                   .nodes = node_set("0") };
        const Snapshot status = { .instances = &published, .n_instances = 1 };
        _cleanup_plan_run_ PlanRun p = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n;

        world_run(w);
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_int_equal(plan_run_compare(NULL, &p, &changes, &n), 0);
        assert_int_equal(n, 1); /* tidb-1 is where it belongs */
        assert_string_equal(changes[0].name, "tikv-1");
        assert_null(changes[0].before);
        assert_ptr_equal(changes[0].after, &p.rows[1]);
        assert_ids(changes[0].from, "");
        assert_ids(changes[0].to, "0");
        free(TAKE_PTR(changes));
        plan_run_done(&p);
        /* On one node no thread shows that it is bound: only the daemon knows. */
        w->machine.topology.n_nodes = 1;
        w->running[0].cpus = cpu_set("0-7");
        w->running[1].storage_nodes = (NodeSet){ 0 };
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_ids(p.rows[0].choice->placement.nodes, "0");
        assert_int_equal(plan_run_compare(NULL, &p, &changes, &n), 0);
        assert_int_equal(n, 2);
        assert_ids(changes[0].from, "");
        assert_ids(changes[0].to, "0");
        free(TAKE_PTR(changes));
        plan_run_done(&p);
        w->from.status = &status;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_int_equal(plan_run_compare(NULL, &p, &changes, &n), 0);
        assert_int_equal(n, 1);
        assert_string_equal(changes[0].name, "tikv-1");
}

static void assert_now(const PlanRun *p, const PlanReportInstance *row, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        plan_run_append_now(p, row, &text);
        assert_string_equal(text.data, expected);
}

WORLD_TEST(now) {
        InstanceInfo published = {
                .name = S("tidb-1"),
                .state = INSTANCE_PARTLY,
                .reason = S("r"),
                .cpu_bound = true,
                .bound_by = S("scope"),
        };
        const Snapshot status = { .instances = &published, .n_instances = 1 };
        _cleanup_plan_run_ PlanRun p = { 0 };

        world_run(w);
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_now(&p, &p.rows[0], "no daemon runs; its threads may run on node 1 only");
        assert_now(&p, &p.rows[1], "no daemon runs");
        plan_run_done(&p);
        w->from.status = &status;
        w->policies[0].memory = MEMORY_BIND;
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_now(&p, &p.rows[0], "partly (CPUs bound, memory not bound): r; by scope");
        published.bound_by = S("affinity");
        published.bound_by_reason = S("its unit is shared");
        plan_run_done(&p);
        assert_int_equal(plan_run_build(&w->from, &p), 0);
        assert_now(&p, &p.rows[0],
                   "partly (CPUs bound, memory not bound): r; by affinity, because its unit is "
                   "shared");
        assert_now(&p, &p.rows[1], "the daemon does not list it");
}

TEST(compare_plans) {
        _cleanup_plan_run_ PlanRun before = { 0 }, after = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        Policy other;
        PolicySet set;
        size_t n;
        World w, x;

        world_init(&w);
        world_init(&x);
        /* tidb-1 is no policy's any more, tikv-1 moves, pd-1 is new. */
        other = x.policies[1];
        other.place.nodes = node_set("0");
        set = x.set;
        set.policies = &other;
        set.n_policies = 1;
        x.imagined[0] = (HostInstance){ .name = S("pd-1"), .policy = &other };
        x.imagined[1].policy = &other;
        x.from.policies = &set;
        assert_int_equal(plan_run_build(&w.from, &before), 0);
        assert_int_equal(plan_run_build(&x.from, &after), 0);
        assert_int_equal(plan_run_compare(&before, &after, &changes, &n), 0);
        assert_int_equal(n, 3);
        assert_string_equal(changes[0].name, "pd-1");
        assert_null(changes[0].before);
        assert_ids(changes[0].from, "");
        assert_ids(changes[0].to, "0");
        assert_string_equal(changes[1].name, "tikv-1");
        assert_ptr_equal(changes[1].before, &before.rows[1]);
        assert_ids(changes[1].from, "1");
        assert_ids(changes[1].to, "0");
        assert_string_equal(changes[2].name, "tidb-1");
        assert_null(changes[2].after);
        assert_ids(changes[2].from, "0");
        assert_ids(changes[2].to, "");
}

/* The same plan twice differs in nothing. */
WORLD_TEST(compare_same) {
        _cleanup_plan_run_ PlanRun before = { 0 }, after = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n;

        assert_int_equal(plan_run_build(&w->from, &before), 0);
        assert_int_equal(plan_run_build(&w->from, &after), 0);
        assert_int_equal(plan_run_compare(&before, &after, &changes, &n), 0);
        assert_int_equal(n, 0);
}
