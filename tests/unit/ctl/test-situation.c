/* From instances to a plan and its report: what the planner is given, what is reported, and what
 * differs between two plans. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/ctl/situation.h"

#define S(text) ((char *)(text))
#define GIB (UINT64_C(1) << 30)

/* Two nodes with a disk each, and instances of two policies. */
typedef struct World {
        Node nodes[2];
        uint16_t distances[4];
        Device disks[3];
        Machine machine;
        Policy policies[2];
        Policies all;
        HostInstance imagined[2];
        Member members[2];
        HostInstance running[2];
        NodeMemory by_node[2][2];
        Situation from; /* before it is planned */
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
        w->policies[0] = (Policy){ .name = S("tidb"), .file = S("a"), .at.line = 1 };
        w->policies[0].place = (Place){ .count = 1, .same_package = true };
        w->policies[1] = w->policies[0];
        w->policies[1].name = S("tikv");
        w->policies[1].place.near = NEAR_STORAGE;
        policy_set_init(&w->all.set);
        w->all.set.policies = w->policies;
        w->all.set.n_policies = 2;
        w->imagined[0] = (HostInstance){ .name = S("tidb-1"), .policy = &w->policies[0] };
        w->imagined[1] = (HostInstance){ .name = S("tikv-1"),
                                         .policy = &w->policies[1],
                                         .storage = S("nvme0n1"),
                                         .storage_nodes = node_set("1"),
                                         .in_turn = true };
        w->from = (Situation){ .machine = &w->machine,
                               .policies = &w->all,
                               .instances = { .instances = w->imagined, .n_instances = 2 } };
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
        w->from.instances.instances = w->running;
}

static void plan(const World *w, Situation *ret) {
        *ret = w->from;
        situation_plan(ret);
}

/* The instances are the world's. */
static void drop(Situation *s) {
        s->instances = (HostInstances){ 0 };
        situation_done(s);
}
#define _cleanup_situation_of_world_ _cleanup_(drop)

static void daemon_reports(World *w, InstanceInfo *instances, size_t n) {
        w->machine.daemon_runs = true;
        w->machine.status = (Snapshot){ .instances = instances, .n_instances = n };
}

#define WORLD_TEST(test) TEST_WITH(test, World, w, world_init, (void))

WORLD_TEST(imagined) {
        _cleanup_situation_of_world_ Situation p = { 0 };

        plan(w, &p);
        assert_int_equal(p.report.n_instances, 2);
        assert_string_equal(p.report.source, "test");
        assert_null(p.report.free_bytes);
        assert_string_equal(p.report.instances[0].in->name, "tidb-1");
        assert_ids(p.report.instances[0].choice->placement.nodes, "0");
        assert_null(p.report.instances[0].storage);
        assert_int_equal(p.report.instances[0].pid, 0);
        assert_string_equal(p.report.instances[1].storage, "nvme0n1");
        assert_ids(p.report.instances[1].in->device_nodes, "1");
        assert_ids(p.report.instances[1].choice->placement.nodes, "1");
        assert_int_equal(p.report.instances[1].choice->basis, BASIS_CHOSEN);
        assert_true(p.report.instances[1].choice->n_alternatives > 0);
        assert_false(situation_has_refusal(&p));
        assert_int_equal(p.report.notes.n_words, 1);
        assert_non_null(strstr(p.report.notes.words[0], "tikv-1 on nvme0n1; COUNT:POLICY@DISK"));
        assert_ptr_equal(situation_find(&p, "tikv-1"), &p.report.instances[1]);
        assert_null(situation_find(&p, "tikv"));
}

/* An instance that fits stays where it is; replanned, it goes where it would be put today. */
WORLD_TEST(replan) {
        _cleanup_situation_of_world_ Situation stays = { 0 }, moves = { 0 };
        char *word = S("tidb-*");

        world_run(w);
        w->from.instances.n_instances = 1;
        plan(w, &stays);
        assert_ids(stays.report.instances[0].choice->placement.nodes, "1");
        assert_int_equal(stays.report.instances[0].choice->basis, BASIS_KEPT);
        w->from.replan = (WordList){ .words = &word, .n_words = 1 };
        plan(w, &moves);
        assert_ids(moves.report.instances[0].choice->placement.nodes, "0");
        assert_int_equal(moves.report.instances[0].choice->basis, BASIS_CHOSEN);
}

/* What others have bound, and the daemon only watches, is not moved by a new plan. */
WORLD_TEST(watched_moves_nowhere) {
        InstanceInfo told = { .name = S("tidb-1"), .reason = S("") };

        world_run(w);
        w->from.instances.n_instances = 1;
        w->policies[0].built_in = true;
        daemon_reports(w, &told, 1);
        for (unsigned watched = 0; watched < 2; watched++) {
                _cleanup_situation_of_world_ Situation p = { 0 };
                _cleanup_free_ PlanChange *changes = NULL;
                size_t n;

                told.state = watched ? INSTANCE_WATCHED : INSTANCE_BOUND;
                plan(w, &p);
                changes = situation_compare(NULL, &p, &n);
                assert_int_equal(n, !watched);
        }
}

/* A disk whose node is unknown, and one that was given. */
WORLD_TEST(disks) {
        _cleanup_situation_of_world_ Situation p = { 0 };

        w->imagined[1].storage_nodes = (NodeSet){ 0 };
        w->imagined[1].storage = S("sda");
        w->imagined[1].in_turn = false;
        plan(w, &p);
        assert_string_equal(p.report.instances[1].storage, "sda");
        assert_ids(p.report.instances[1].in->device_nodes, "");
        assert_true(p.report.instances[1].choice->warnings & WARN_DEVICE_UNKNOWN);
        assert_int_equal(p.report.notes.n_words, 0);
}

WORLD_TEST(reserve) {
        _cleanup_situation_of_world_ Situation p = { 0 };

        w->all.set.host.reserve.kind = RESERVE_NIC;
        plan(w, &p);
        assert_ids(p.report.nic_nodes, "0");
        assert_ids(p.report.reserved, "0");
        drop(&p);
        /* Other cards than that of the default route. */
        w->all.set.host.reserve.devices =
                (WordList){ .words = (char *[]){ S("eth9") }, .n_words = 1 };
        plan(w, &p);
        assert_ids(p.report.nic_nodes, "");
        assert_ids(p.report.reserved, "");
}

WORLD_TEST(running) {
        InstanceInfo told = { .name = S("tidb-1"), .state = INSTANCE_BOUND, .reason = S("r") };
        _cleanup_situation_of_world_ Situation p = { 0 };

        world_run(w);
        daemon_reports(w, &told, 1);
        plan(w, &p);
        assert_ids(p.report.instances[0].in_force, "1");
        assert_ids(p.report.instances[0].choice->placement.nodes, "1");
        assert_int_equal(p.report.instances[0].choice->basis, BASIS_KEPT);
        assert_int_equal(p.report.instances[0].pid, 100);
        assert_true(p.report.instances[0].cost_known);
        assert_int_equal(p.report.instances[0].cost_bytes, 7);
        assert_ptr_equal(p.report.instances[0].published, &told);
        assert_string_equal(p.report.instances[1].storage, "/d: ext4 on sda");
        assert_ids(p.report.instances[1].choice->placement.nodes, "0"); /* its device's */
        assert_int_equal(p.report.instances[1].in->need_bytes, 4096);
        assert_false(p.report.instances[1].cost_known);
        assert_null(p.report.instances[1].published);
        assert_int_equal(p.report.notes.n_words, 0);
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
        _cleanup_situation_of_world_ Situation p = { 0 };

        world_run(w);
        w->running[0].cpus = (CpuSet){ 0 };
        w->running[1].storage_nodes = (NodeSet){ 0 };
        w->by_node[0][1].anon_bytes = GIB;
        w->policies[1].place.nodes = node_set("0"); /* which keeps a place in the plan */
        told[0].nodes = node_set("0");
        told[0].cpus = cpu_set("0-2");
        told[0].basis = told[1].basis = BASIS_CHOSEN;
        told[0].warnings = WARN_MEMORY;
        daemon_reports(w, told, 2);
        w->from.daemons_plan = true;
        plan(w, &p);
        assert_ids(p.report.instances[0].choice->placement.nodes, "0");
        assert_ids(p.report.instances[0].choice->placement.cpus, "0-2");
        assert_int_equal(p.report.instances[0].choice->basis, BASIS_CHOSEN);
        assert_int_equal(p.report.instances[0].choice->warnings, WARN_MEMORY);
        assert_int_equal(p.report.instances[0].choice->n_alternatives, 0);
        assert_true(p.report.instances[0].choice->grounds.outdone); /* node 1 has its memory */
        assert_false(p.report.instances[0].bound);
        assert_ids(p.report.instances[1].choice->placement.nodes, "");
        assert_string_equal(p.report.instances[1].unplaced, "q");
        assert_false(situation_has_refusal(&p));
        drop(&p);

        told[0].cpu_bound = true;
        plan(w, &p);
        assert_true(p.report.instances[0].bound);
        drop(&p);
        /* One that is to be placed again is computed. */
        w->from.replan = (WordList){ .words = (char *[]){ S("tidb-1") }, .n_words = 1 };
        plan(w, &p);
        assert_ids(p.report.instances[0].choice->placement.nodes, "1");
        assert_false(p.report.instances[0].bound);
        drop(&p);

        told[1].basis = BASIS_REFUSED;
        told[1].refusal = REFUSAL_TAKEN;
        plan(w, &p);
        assert_int_equal(p.report.instances[1].choice->refusal, REFUSAL_TAKEN);
        assert_true(situation_has_refusal(&p));
}

/* MemFree and idle page cache above the headroom (2 % of the node), and what the instances hold. */
WORLD_TEST(free_memory) {
        _cleanup_situation_of_world_ Situation p = { 0 };
        _cleanup_fake_ FakeTree tree;

        world_run(w);
        fake_init(&tree);
        w->machine.sysroot = tree.sysroot;
        w->machine.runs = true;
        plan(w, &p);
        assert_null(p.report.free_bytes);
        drop(&p);
        for (int node = 0; node < 2; node++) {
                fake_write(&tree, fmt("sys/devices/system/node/node%d/meminfo", node),
                           node == 0 ? "Node 0 MemTotal: 100 kB\nNode 0 MemFree: 10 kB\n"
                                       "Node 0 Inactive(file): 2 kB\nNode 0 Dirty: 0 kB\n"
                                       "Node 0 Writeback: 0 kB\n"
                                     : "Node 1 MemTotal: 8 kB\nNode 1 MemFree: 8 kB\n"
                                       "Node 1 Inactive(file): 0 kB\nNode 1 Dirty: 0 kB\n"
                                       "Node 1 Writeback: 0 kB\n");
        }
        plan(w, &p);
        assert_non_null(p.report.free_bytes);
        assert_int_equal(p.report.free_bytes[0], 10 * 1024 + 12);
        assert_int_equal(p.report.free_bytes[1], 8 * 1024); /* no more than there is */
}

WORLD_TEST(refusal) {
        _cleanup_situation_of_world_ Situation p = { 0 };

        w->policies[1].place.count = 3;
        w->policies[1].place.count_is_set = true;
        plan(w, &p);
        assert_int_equal(p.report.instances[1].choice->basis, BASIS_REFUSED);
        assert_true(situation_has_refusal(&p));
        drop(&p);
        w->policies[1].built_in = true; /* is meant so */
        plan(w, &p);
        assert_int_equal(p.report.instances[1].choice->refusal, REFUSAL_WATCH_ONLY);
        assert_false(situation_has_refusal(&p));
}

WORLD_TEST(nothing) {
        _cleanup_situation_of_world_ Situation p = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n = 77;

        w->from.instances.n_instances = 0;
        plan(w, &p);
        assert_int_equal(p.report.n_instances, 0);
        changes = situation_compare(NULL, &p, &n);
        assert_int_equal(n, 0);
}

WORLD_TEST(compare_with_force) {
        InstanceInfo published = { .name = S("tidb-1"),
                                   .state = INSTANCE_BOUND,
                                   .reason = S(""),
                                   .cpu_bound = true,
                                   .nodes = node_set("0") };
        _cleanup_situation_of_world_ Situation p = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n;

        world_run(w);
        plan(w, &p);
        changes = situation_compare(NULL, &p, &n);
        assert_int_equal(n, 1); /* tidb-1 is where it belongs */
        assert_string_equal(changes[0].name, "tikv-1");
        assert_null(changes[0].before);
        assert_ptr_equal(changes[0].after, &p.report.instances[1]);
        assert_ids(changes[0].from, "");
        assert_ids(changes[0].to, "0");
        free(TAKE_PTR(changes));
        drop(&p);
        /* On one node no thread shows that it is bound: only the daemon knows. */
        w->machine.topology.n_nodes = 1;
        w->running[0].cpus = cpu_set("0-7");
        w->running[1].storage_nodes = (NodeSet){ 0 };
        plan(w, &p);
        assert_ids(p.report.instances[0].choice->placement.nodes, "0");
        changes = situation_compare(NULL, &p, &n);
        assert_int_equal(n, 2);
        assert_ids(changes[0].from, "");
        assert_ids(changes[0].to, "0");
        free(TAKE_PTR(changes));
        drop(&p);
        daemon_reports(w, &published, 1);
        plan(w, &p);
        changes = situation_compare(NULL, &p, &n);
        assert_int_equal(n, 1);
        assert_string_equal(changes[0].name, "tikv-1");
}

static void assert_now(const Situation *p, const PlanReportInstance *row, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        situation_append_now(p, row, &text);
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
        _cleanup_situation_of_world_ Situation p = { 0 };

        world_run(w);
        plan(w, &p);
        assert_now(&p, &p.report.instances[0],
                   "no daemon runs; its threads may run on node 1 only");
        assert_now(&p, &p.report.instances[1], "no daemon runs");
        drop(&p);
        daemon_reports(w, &published, 1);
        w->policies[0].memory = MEMORY_BIND;
        plan(w, &p);
        assert_now(&p, &p.report.instances[0],
                   "partly (CPUs bound, memory not bound): r; by scope");
        published.bound_by = S("affinity");
        published.bound_by_reason = S("its unit is shared");
        drop(&p);
        plan(w, &p);
        assert_now(&p, &p.report.instances[0],
                   "partly (CPUs bound, memory not bound): r; by affinity, because its unit is "
                   "shared");
        assert_now(&p, &p.report.instances[1], "the daemon does not list it");
}

TEST(compare_plans) {
        _cleanup_situation_of_world_ Situation before = { 0 }, after = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        Policy other;
        size_t n;
        World w, x;

        world_init(&w);
        world_init(&x);
        /* tidb-1 is no policy's any more, tikv-1 moves, pd-1 is new. */
        other = x.policies[1];
        other.place.nodes = node_set("0");
        x.all.set.policies = &other;
        x.all.set.n_policies = 1;
        x.imagined[0] = (HostInstance){ .name = S("pd-1"), .policy = &other };
        x.imagined[1].policy = &other;
        plan(&w, &before);
        plan(&x, &after);
        changes = situation_compare(&before, &after, &n);
        assert_int_equal(n, 3);
        assert_string_equal(changes[0].name, "pd-1");
        assert_null(changes[0].before);
        assert_ids(changes[0].from, "");
        assert_ids(changes[0].to, "0");
        assert_string_equal(changes[1].name, "tikv-1");
        assert_ptr_equal(changes[1].before, &before.report.instances[1]);
        assert_ids(changes[1].from, "1");
        assert_ids(changes[1].to, "0");
        assert_string_equal(changes[2].name, "tidb-1");
        assert_null(changes[2].after);
        assert_ids(changes[2].from, "0");
        assert_ids(changes[2].to, "");
}

/* The same plan twice differs in nothing. */
WORLD_TEST(compare_same) {
        _cleanup_situation_of_world_ Situation before = { 0 }, after = { 0 };
        _cleanup_free_ PlanChange *changes = NULL;
        size_t n;

        plan(w, &before);
        plan(w, &after);
        changes = situation_compare(&before, &after, &n);
        assert_int_equal(n, 0);
}
