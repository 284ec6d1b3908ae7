/* The planner's hard rules: what is refused for what, what is explicit, and which CPUs come
 * with the nodes. */
#include "../../support/test.h"

#include "placement-one.h"
#include "placement-random.h"
#include "placement-support.h"

ONE_TEST(watch_only, true) {
        assert_placed(one, BASIS_CHOSEN, "0", "0-3", 0);
        one->policy->built_in = true;
        one->policy->place.nodes = node_set("0");
        assert_refused(one, REFUSAL_WATCH_ONLY);
}

ONE_TEST(how_comes_from_the_policy, true) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };

        one->policy->memory = MEMORY_PREFERRED;
        one->policy->migrate = MIGRATE_KERNEL;
        one->policy->rate_bytes_per_sec = 77;
        one->policy->place.avoid = node_set("0-3"); /* also of a refused one */
        plan = plan_of(one->world);
        assert_int_equal(plan.choices[0].refusal, REFUSAL_NO_NODE_LEFT);
        assert_int_equal(plan.choices[0].placement.memory, MEMORY_PREFERRED);
        assert_int_equal(plan.choices[0].placement.migrate, MIGRATE_KERNEL);
        assert_int_equal(plan.choices[0].placement.rate_bytes_per_sec, 77);
}

/* --- the input of an instance --- */

TEST(what_counts_of_an_instance) {
        Node nodes[2] = { { .id = 0 }, { .id = 1 } };
        const Topology topology = { .nodes = nodes, .n_nodes = 2 };
        const NodeUse uses[2] = { { .total_bytes = 900 }, { .total_bytes = 2000 } };
        Policy policy = { .memory = MEMORY_BIND };
        NodeMemory by_node[2] = { { .anon_bytes = 1000 }, { .shmem_bytes = 30 } };
        InstanceFacts facts = { .policy = &policy, .by_node = by_node, .huge_known = true };
        PlacementInstance in = placement_instance_of(&facts, &topology, false);
        uint64_t left[2];

        assert_null(in.by_node); /* an estimate */
        assert_int_equal(in.need_bytes, 0);
        facts.memory_known = true;
        in = placement_instance_of(&facts, &topology, false);
        assert_int_equal(in.need_bytes, 1030);
        placement_fill_free(&topology, uses, &in, 1, left);
        assert_int_equal(left[0], 900); /* no more than there is */
        assert_int_equal(left[1], 30);
        facts.limit_bytes = 77;
        assert_int_equal(placement_instance_of(&facts, &topology, false).need_bytes, 77);
        assert_int_equal(placement_instance_of(&facts, &topology, true).need_bytes, 1030);
        assert_ptr_equal(in.huge, &facts.huge);
        policy.memory = MEMORY_PREFERRED; /* whose memory nodes stay wide, also at its next start */
        assert_null(placement_instance_of(&facts, &topology, false).huge);
}

/* --- explicit nodes --- */

ONE_TEST(explicit_entry, true) {
        static const uint16_t ports[] = { 80, 4001 };
        PolicyInstance entries[] = {
                { .match = { .unit = (char *)"tidb-*.service", .port = 4001 },
                  .nodes = node_set("1") },
                { .match = { .unit = (char *)"tidb-1.service" }, .nodes = node_set("2") },
        };
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };

        one->policy->instances = entries;
        one->policy->n_instances = 2;
        assert_refused(one, REFUSAL_NO_PORT_YET);
        one->in->ports = ports;
        one->in->n_ports = 1;
        assert_placed(one, BASIS_EXPLICIT, "2", "8-11", 0);
        one->in->n_ports = 2;
        assert_placed(one, BASIS_EXPLICIT, "1", "4-7", 0);
        plan = plan_of(one->world);
        assert_ptr_equal(plan.choices[0].entry, &entries[0]);
        /* Neither what the policy says of nodes, nor what is reserved, counts against it. */
        one->policy->place.nodes = node_set("0");
        one->policy->place.avoid = node_set("1");
        one->world->host.reserve = (Reserve){ .kind = RESERVE_LIST, .strict = true };
        one->world->host.reserve.nodes = node_set("1,7"); /* 7 is not there */
        assert_placed(one, BASIS_EXPLICIT, "1", "4-7", WARN_RESERVED_NAMED);
        one->in->unit = "other.service"; /* no entry speaks of it */
        assert_placed(one, BASIS_CHOSEN, "0", "0-3", 0);
}

ONE_TEST(explicit_nodes_of_the_policy, true) {
        one->policy->place.nodes = node_set("1-2");
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", 0); /* with a count it chooses among them */
        one->policy->place.count_is_set = false;
        assert_placed(one, BASIS_EXPLICIT, "1-2", "4-11", WARN_PACKAGES);
        one->policy->place.nodes = node_set("2-3");
        assert_placed(one, BASIS_EXPLICIT, "2-3", "8-15", 0);
        one->policy->place.nodes = (NodeSet){ 0 }; /* neither: one node of all */
        one->policy->place.count = 0;
        assert_placed(one, BASIS_CHOSEN, "0", "0-3", 0);
}

/* Whether a place needs to be searched for. */
TEST(what_is_explicit) {
        static const uint16_t ports[] = { 4000 };
        PolicyInstance entry = { .match = { .port = 4000 }, .nodes = node_set("1") };
        Policy policy = { .instances = &entry, .n_instances = 1 };

        assert_true(placement_is_explicit(&policy, "tidb-1.service", ports, 1));
        assert_false(placement_is_explicit(&policy, "tidb-1.service", NULL, 0));
        policy.place.nodes = node_set("2-3");
        assert_true(placement_is_explicit(&policy, "tidb-1.service", NULL, 0));
        policy.place.count_is_set = true; /* some of these */
        assert_false(placement_is_explicit(&policy, "tidb-1.service", NULL, 0));
}

static void assert_explicit(const char *nodes, PlacementRefusal refusal) {
        _cleanup_one_ One one;

        one_init(&one, false);
        one.policy->place.count_is_set = false;
        one.policy->place.nodes = node_set(nodes);
        assert_refused(&one, refusal);
}

ONE_TEST(explicit_nodes_that_lack_something, false) {
        assert_explicit("4", REFUSAL_NODE_ABSENT);
        assert_explicit("0,4", REFUSAL_NODE_ABSENT);
        assert_explicit("2", REFUSAL_NO_CPU);
        assert_explicit("3", REFUSAL_NO_MEMORY);
        /* One has the CPUs, the other the memory: a home together. */
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("2-3");
        assert_placed(one, BASIS_EXPLICIT, "2-3", "12-15", 0);
        /* Nobody runs on node 2: one socket only. */
        one->policy->place.nodes = node_set("0,2");
        assert_placed(one, BASIS_EXPLICIT, "0,2", "0-3", 0);
}

static void assert_memory(const One *one, MemoryMode memory) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(one->world);

        assert_string_equal(memory_mode_to_string(plan.choices[0].placement.memory),
                            memory_mode_to_string(memory));
}

/* Its CPUs can be bound all the same. No cgroup has such a node among its memory nodes. */
ONE_TEST(explicit_nodes_without_memory, false) {
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("3");
        one->policy->memory = MEMORY_NONE;
        assert_placed(one, BASIS_EXPLICIT, "3", "12-15", WARN_NO_MEMORY);
        one->policy->memory = MEMORY_PREFERRED;
        assert_placed(one, BASIS_EXPLICIT, "3", "12-15", WARN_NO_MEMORY);
        assert_memory(one, MEMORY_NONE);
        one->in->allowed_nodes = node_set("0-2");
        assert_placed(one, BASIS_EXPLICIT, "3", "12-15", WARN_NO_MEMORY);
        one->policy->place.nodes = node_set("2-3");
        assert_placed(one, BASIS_EXPLICIT, "2-3", "12-15", 0);
        assert_memory(one, MEMORY_PREFERRED);
        one->policy->memory = MEMORY_BIND;
        assert_placed(one, BASIS_EXPLICIT, "2-3", "12-15", 0);
        one->in->allowed_nodes = node_set("0-1");
        assert_refused(one, REFUSAL_CGROUP_NODES);
}

ONE_TEST(explicit_nodes_in_a_cgroup, true) {
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("0-1");
        one->in->allowed_nodes = node_set("0,2");
        assert_refused(one, REFUSAL_CGROUP_NODES);
        one->in->allowed_nodes = node_set("0-2");
        one->in->allowed_cpus = cpu_set("8-11");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
        one->in->allowed_cpus = cpu_set("3-4,9");
        assert_placed(one, BASIS_EXPLICIT, "0-1", "3-4", 0);
        one->policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("3,8") };
        assert_refused(one, REFUSAL_CPUS_ABSENT);
        one->policy->cpus.list = cpu_set("3,5");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
        one->policy->cpus.list = cpu_set("3-4");
        assert_placed(one, BASIS_EXPLICIT, "0-1", "3-4", 0);
}

/* --- isolated CPUs, and those of a partition --- */

ONE_TEST(isolated_cpus, true) {
        PolicyInstance entry = { .match = { .unit = (char *)"tidb-*.service" },
                                 .nodes = node_set("0") };
        CpuSet *isolated = &one->world->topology.isolated_cpus;

        *isolated = cpu_set("0-2");
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", 0); /* it has more */
        one->policy->place.nodes = node_set("0");
        assert_placed(one, BASIS_CHOSEN, "0", "3", 0); /* what is left of it */
        one->world->topology.nohz_full_cpus = cpu_set("3");
        assert_refused(one, REFUSAL_ISOLATED);
        one->policy->place.nodes = (NodeSet){ 0 };
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", 0);
        one->policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("1-2") };
        assert_placed(one, BASIS_CHOSEN, "0", "1-2", 0); /* it is named */
        one->policy->cpus = (PolicyCpus){ 0 };
        one->policy->instances = &entry;
        one->policy->n_instances = 1;
        assert_placed(one, BASIS_EXPLICIT, "0", "0-3", 0);
        one->policy->n_instances = 0;
        one->policy->place.nodes = node_set("0");
        assert_refused(one, REFUSAL_ISOLATED);
        one->policy->place.count_is_set = false;
        assert_refused(one, REFUSAL_ISOLATED);
        one->policy->place.nodes = node_set("0-1");
        assert_placed(one, BASIS_EXPLICIT, "0-1", "4-7", 0);
}

/* Nobody else gets them, whatever a policy says. */
ONE_TEST(cpus_of_a_partition, true) {
        PolicyInstance entry = { .match = { .unit = (char *)"tidb-*.service" },
                                 .nodes = node_set("0") };

        one->in->in_force = node_set("0");
        assert_placed(one, BASIS_KEPT, "0", "0-3", 0);
        one->world->topology.taken_cpus = cpu_set("0-1");
        assert_placed(one, BASIS_KEPT, "0", "2-3", 0);
        one->policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("1-2") };
        assert_refused(one, REFUSAL_TAKEN);
        one->policy->cpus = (PolicyCpus){ 0 };
        one->world->topology.taken_cpus = cpu_set("0-3");
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", WARN_MOVED);
        one->policy->place.nodes = node_set("0");
        assert_refused(one, REFUSAL_TAKEN);
        one->policy->instances = &entry;
        one->policy->n_instances = 1;
        assert_refused(one, REFUSAL_TAKEN);
        one->world->topology.taken_cpus = cpu_set("0-1");
        assert_placed(one, BASIS_EXPLICIT, "0", "2-3", 0);
}

/* --- chosen nodes --- */

ONE_TEST(no_node_left, false) {
        one->policy->place.nodes = node_set("2-3"); /* no home among them */
        assert_refused(one, REFUSAL_NO_NODE_LEFT);
        one->policy->place.nodes = node_set("1-3");
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", 0);
        one->policy->place.avoid = node_set("1");
        assert_refused(one, REFUSAL_NO_NODE_LEFT);
        one->policy->place.nodes = node_set("9");
        assert_refused(one, REFUSAL_NO_NODE_LEFT);
}

ONE_TEST(too_few_nodes, false) {
        give_count(one->policy, 3);
        assert_refused(one, REFUSAL_TOO_FEW_NODES);
        give_count(one->policy, 2);
        assert_placed(one, BASIS_CHOSEN, "0-1", "0-7", 0);
        one->policy->place.avoid = node_set("0");
        assert_refused(one, REFUSAL_TOO_FEW_NODES);
}

ONE_TEST(no_package, true) {
        give_count(one->policy, 2);
        one->policy->place.nodes = node_set("1-2");
        assert_refused(one, REFUSAL_NO_PACKAGE);
        one->policy->place.same_package = false;
        assert_placed(one, BASIS_CHOSEN, "1-2", "4-11", 0);
}

ONE_TEST(cgroup_nodes, true) {
        one->policy->place.nodes = node_set("0-1");
        one->in->allowed_nodes = node_set("2-3");
        assert_refused(one, REFUSAL_CGROUP_NODES);
        one->in->allowed_nodes = node_set("1-3");
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", 0);
        give_count(one->policy, 2);
        assert_refused(one, REFUSAL_CGROUP_NODES);
        one->policy->place.nodes = (NodeSet){ 0 };
        assert_placed(one, BASIS_CHOSEN, "2-3", "8-15", 0);
}

ONE_TEST(cgroup_cpus, true) {
        one->policy->place.nodes = node_set("0-1");
        one->in->allowed_cpus = cpu_set("8-15");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
        one->in->allowed_cpus = cpu_set("6,8-15");
        assert_placed(one, BASIS_CHOSEN, "1", "6", 0);
        give_count(one->policy, 2);
        assert_refused(one, REFUSAL_CGROUP_CPUS);
}

ONE_TEST(one_per_core, true) {
        world_pair_threads(one->world);
        one->policy->cpus.choice = CPUS_ONE_PER_CORE;
        assert_placed(one, BASIS_CHOSEN, "0", "0,2", 0);
        one->in->allowed_cpus = cpu_set("1-3,4-15");
        assert_placed(one, BASIS_CHOSEN, "0", "1-2", 0);
        one->in->allowed_cpus = cpu_set("14-15");
        assert_placed(one, BASIS_CHOSEN, "3", "14", 0);
        one->in->allowed_cpus = cpu_set("16");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("0");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
}

/* A core counts by the thread of it that is left. */
ONE_TEST(one_per_core_beside_isolated_threads, true) {
        world_pair_threads(one->world);
        one->world->topology.isolated_cpus = cpu_set("0,3");
        one->policy->cpus.choice = CPUS_ONE_PER_CORE;
        one->policy->place.nodes = node_set("0");
        assert_placed(one, BASIS_CHOSEN, "0", "1-2", 0);
        one->world->topology.isolated_cpus = cpu_set("0-1,4,6,8,10,12,14");
        one->policy->place.nodes = node_set("1");
        assert_placed(one, BASIS_CHOSEN, "1", "5,7", 0);
}

/* A list of CPUs is meant to the letter, so that it decides the nodes. */
ONE_TEST(cpu_list, true) {
        one->policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("9-10") };
        assert_placed(one, BASIS_CHOSEN, "2", "9-10", 0);
        one->policy->cpus.list = cpu_set("7-8"); /* of two nodes, and it may have one */
        assert_refused(one, REFUSAL_CPUS_ABSENT);
        give_count(one->policy, 2); /* of two sockets */
        assert_refused(one, REFUSAL_CPUS_ABSENT);
        one->policy->place.same_package = false;
        assert_placed(one, BASIS_CHOSEN, "1-2", "7-8", 0);
        one->policy->cpus.list = cpu_set("7");
        one->policy->place.same_package = true;
        assert_placed(one, BASIS_CHOSEN, "0-1", "7", 0);
        one->policy->cpus.list = cpu_set("7,99");
        assert_refused(one, REFUSAL_CPUS_ABSENT);
        one->policy->cpus.list = cpu_set("3,7");
        assert_placed(one, BASIS_CHOSEN, "0-1", "3,7", 0);
        one->policy->place.avoid = node_set("0");
        one->policy->cpus.list = cpu_set("7"); /* its socket has one node left, the other two */
        assert_refused(one, REFUSAL_CPUS_ABSENT);
        one->policy->cpus.list = cpu_set("3,7");
        one->policy->place.same_package = false;
        assert_refused(one, REFUSAL_CPUS_ABSENT);
}

/* Also where there are too many nodes for the proof to look after the quick search. */
PLAN_TEST(cpu_list_of_many_nodes, 4, 8, 4) {
        Policy *tidb = world_policy(w, "tidb");

        tidb->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("13") };
        (void)world_add_many(w, tidb, 3);
        assert_plan(w, "3 3 3");
}

ONE_TEST(cpu_list_in_a_cgroup, true) {
        one->policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("4-5") };
        one->in->allowed_cpus = cpu_set("5-15");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
        one->in->allowed_cpus = cpu_set("4-15");
        one->in->allowed_nodes = node_set("0,2-3");
        assert_refused(one, REFUSAL_CGROUP_NODES);
        one->in->allowed_nodes = node_set("1");
        assert_placed(one, BASIS_CHOSEN, "1", "4-5", 0);
        one->world->host.reserve = (Reserve){ .kind = RESERVE_LIST, .strict = true };
        one->world->host.reserve.nodes = node_set("1");
        assert_refused(one, REFUSAL_RESERVED);
}

ONE_TEST(reserved, true) {
        one->policy->place.nodes = node_set("0-1");
        one->world->host.reserve.kind = RESERVE_LIST;
        one->world->host.reserve.nodes = node_set("0-1");
        assert_placed(one, BASIS_CHOSEN, "0", "0-3", WARN_RESERVED_NAMED); /* it names no other */
        one->world->host.reserve.strict = true;
        assert_refused(one, REFUSAL_RESERVED);
        one->world->host.reserve.nodes = node_set("0");
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", 0);
        give_count(one->policy, 2);
        assert_refused(one, REFUSAL_RESERVED);
        one->world->host.reserve.kind = RESERVE_NONE;
        assert_placed(one, BASIS_CHOSEN, "0-1", "0-7", 0);
}

/* What numactl or the program has set stays in force, so its CPUs belong where its memory comes
 * from. */
ONE_TEST(own_memory_policy, true) {
        one->in->own_nodes = node_set("2");
        assert_placed(one, BASIS_CHOSEN, "2", "8-11", 0);
        one->policy->place.avoid = node_set("2");
        assert_refused(one, REFUSAL_OWN_MEMORY);
        one->policy->place.avoid = (NodeSet){ 0 };
        one->in->own_nodes = node_set("0-3"); /* an interleave over all */
        assert_placed(one, BASIS_CHOSEN, "0", "0-3", 0);
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("0-1");
        one->in->own_nodes = node_set("1-2");
        assert_placed(one, BASIS_EXPLICIT, "0-1", "0-7", 0);
        one->in->own_nodes = node_set("2");
        assert_refused(one, REFUSAL_OWN_MEMORY);
        one->policy->memory = MEMORY_NONE; /* the operator decides all of it */
        assert_placed(one, BASIS_EXPLICIT, "0-1", "0-7", 0);
}

TEST(a_refusal_by_its_own_memory_policy_names_it) {
        const PlacementInstance in = { .own_nodes = node_set("2") };
        _cleanup_text_ Text text = { 0 };

        placement_refusal_append(REFUSAL_OWN_MEMORY, &in, &text);
        assert_non_null(strstr(text.data, "those of its place (node 2); take numactl"));
}

TEST(a_refusal_by_a_cgroup_names_it) {
        const PlacementInstance limit = { .allowed_by = "/db.slice",
                                          .allowed_cpus = cpu_set("0-7"),
                                          .allowed_nodes = node_set("0") };
        _cleanup_text_ Text by_group = { 0 }, unknown = { 0 }, other = { 0 };

        placement_refusal_append(REFUSAL_CGROUP_NODES, &limit, &by_group);
        assert_non_null(strstr(by_group.data,
                               "leaves (/db.slice allows CPUs 0-7 and memory nodes 0); widen "));
        placement_refusal_append(REFUSAL_CGROUP_NODES, &(PlacementInstance){ 0 }, &unknown);
        assert_string_equal(unknown.data, placement_refusal_to_string(REFUSAL_CGROUP_NODES));
        placement_refusal_append(REFUSAL_NO_MEMORY, &limit, &other);
        assert_string_equal(other.data, placement_refusal_to_string(REFUSAL_NO_MEMORY));
}

/* --- The machines of the field and what was found best on them, by name --- */

static void on_storage(World *w, PlacementInstance *first, const char *const *nodes, size_t n) {
        ((Policy *)first->policy)->place.near = NEAR_STORAGE;
        (void)w;
        for (size_t i = 0; i < n; i++)
                first[i].device_nodes = node_set(nodes[i]);
}

/* 8-node EPYC, 8 TiKV: one a node, each at its own NVMe, in whatever order the disks are. */
TEST(epyc8_8_tikv) {
        static const char *const disks[] = { "7", "6", "5", "4", "3", "2", "1", "0" };
        _cleanup_world_ World *w = world_new(2, 4, 16);
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };

        on_storage(w, world_add_many(w, world_policy(w, "tikv"), 8), disks, 8);
        assert_plan(w, "7 6 5 4 3 2 1 0");
        plan = plan_of(w);
        for (size_t i = 0; i < 8; i++) {
                assert_int_equal(plan.choices[i].basis, BASIS_CHOSEN);
                assert_int_equal(plan.choices[i].warnings, 0);
        }
}

/* 8-node EPYC, 4 TiKV: two nodes of one socket each, however the two are asked for. */
TEST(epyc8_4_tikv) {
        static const char *const disks[] = { "0", "2", "5", "7" };
        _cleanup_world_ World *w = world_new(2, 4, 16);
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *first = world_add_many(w, tikv, 4);

        give_count(tikv, 2);
        assert_plan(w, "0-1 2-3 4-5 6-7");
        give_count(tikv, PLACE_COUNT_AUTO);
        assert_plan(w, "0-1 2-3 4-5 6-7");
        on_storage(w, first, disks, 4);
        assert_plan(w, "0-1 2-3 4-5 6-7");
        first[1].device_nodes = node_set("1"); /* two disks on one socket's first two nodes */
        assert_plan(w, "0,3 1-2 4-5 6-7");
}

/* All disks in one socket: what that has is divided, so that each is near its disk and alone. */
TEST(disks_in_one_socket) {
        static const char *const disks[] = { "0", "3", "1", "2" };
        _cleanup_world_ World *w = world_new(2, 4, 16);
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *first = world_add_many(w, tikv, 2);

        give_count(tikv, PLACE_COUNT_AUTO);
        on_storage(w, first, disks, 2);
        assert_plan(w, "0-1 2-3");
        first[1].device_nodes = node_set("0"); /* at one disk they cannot be apart */
        assert_plan(w, "0-3 0-3");
        first[1].device_nodes = node_set("4");
        assert_plan(w, "0-3 4-7");
        (void)world_add(w, tikv, "tikv-3");
        (void)world_add(w, tikv, "tikv-4");
        on_storage(w, first, disks, 4);
        assert_plan(w, "0 3 1 2");
}

/* Distances decide, not numbers: pairs of neighbours within a socket. */
PLAN_TEST(epyc8_4_tikv_odd_distances, 2, 4, 16) {
        Policy *tikv = world_policy(w, "tikv");

        for (unsigned i = 0; i < 8; i++) /* 0 and 2, 1 and 3, … are the closest */
                for (unsigned k = 0; k < 8; k++)
                        if (i != k && i / 4 == k / 4)
                                w->distances[i * 8 + k] = i % 2 == k % 2 ? 11 : 14;
        give_count(tikv, 2);
        (void)world_add_many(w, tikv, 4);
        assert_plan(w, "0,2 1,3 4,6 5,7");
}

/* 16-node Arm: 2 sockets of 8 nodes with 8 cores each. Node 0 is left to the network, one TiKV has
 * four nodes of one socket, eleven TiDB have one each, PD and HAProxy share. */
static void build_arm(World *w) {
        Policy *tidb = world_policy(w, "tidb"), *tikv = world_policy(w, "tikv");
        Policy *shared = world_policy(w, "pd"), *haproxy = world_policy(w, "haproxy");

        tidb->match.exe = (char *)"tidb-server";
        tikv->match.exe = (char *)"tikv-server";
        shared->match.exe = (char *)"pd-server";
        haproxy->match.exe = (char *)"haproxy";
        give_count(tikv, PLACE_COUNT_AUTO);
        shared->place.share = haproxy->place.share = SHARE_SHARED;
        w->host.reserve.kind = RESERVE_NIC;
        w->input.nic_nodes = node_set("0");
        (void)world_add_many(w, tidb, 11);
        (void)world_add(w, tikv, "tikv-1");
        (void)world_add(w, shared, "pd-1");
        (void)world_add(w, haproxy, "haproxy-1");
}

PLAN_TEST(arm16, 2, 8, 8) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        NodeSet seen = { 0 };

        build_arm(w);
        plan = plan_of(w);
        for (size_t i = 0; i < 14; i++) {
                const Placement *p = &plan.choices[i].placement;

                assert_int_equal(plan.choices[i].warnings, 0);
                assert_int_equal(id_set_count(&p->nodes), i == 11 ? 4 : 1);
                assert_false(id_set_has(&p->nodes, 0));
                if (i < 12)
                        assert_false(id_set_intersects(&seen, &p->nodes));
                id_set_union(&seen, &p->nodes);
        }
        assert_int_equal(id_set_count(&seen), 15);
        /* beside the TiKV, which weighs a fourth on each of its nodes; haproxy-1 goes before pd-1,
         * by name */
        assert_plan(w, "1 2 3 4 5 6 7 12 13 14 15 8-11 9 8");
}

/* 2 × Xeon 6252, one node a socket: one TiDB each. */
PLAN_TEST(xeon_6252, 2, 1, 48) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb");

        tidb->match.exe = (char *)"tidb-server";
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "0 1");
        plan = plan_of(w);
        assert_ids(plan.choices[1].placement.cpus, "48-95");
        assert_int_equal(plan.choices[0].warnings | plan.choices[1].warnings, 0);
}

/* Mixed: tidb, tikv, pd and haproxy on two nodes. One of each kind a node. */
PLAN_TEST(xeon_mixed, 2, 1, 48) {
        Policy *pd = world_policy(w, "pd");

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        (void)world_add_many(w, world_policy(w, "tikv"), 2);
        (void)world_add_many(w, pd, 1);
        assert_plan(w, "0 1 0 1 0");
}

/* The node of the network card is used only when nothing else is left, and with the warning. */
PLAN_TEST(nic_node_last, 2, 4, 16) {
        Policy *tidb = world_policy(w, "tidb");
        uint32_t reserved = 0;

        w->host.reserve.kind = RESERVE_NIC;
        w->input.nic_nodes = node_set("2");
        (void)world_add_many(w, tidb, 7);
        assert_plan(w, "0 1 3 4 5 6 7");
        (void)world_add(w, tidb, "tidb-8");
        assert_plan(w, "0 1 2 3 4 5 6 7");
        {
                _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

                for (size_t i = 0; i < 8; i++) {
                        bool there = id_set_has(&plan.choices[i].placement.nodes, 2);

                        assert_int_equal(plan.choices[i].warnings, there ? WARN_RESERVED : 0);
                        assert_ids(plan.choices[i].reserved, there ? "2" : "");
                        reserved += there;
                }
        }
        assert_int_equal(reserved, 1);
        /* One more than nodes: two share, and not the card's node. */
        (void)world_add(w, tidb, "tidb-9");
        assert_plan(w, "0 0 1 2 3 4 5 6 7");
}

/* Strict: not even in need. Two share a node rather than use it. */
PLAN_TEST(nic_node_strict, 2, 4, 16) {
        w->host.reserve.kind = RESERVE_NIC;
        w->host.reserve.strict = true;
        w->input.nic_nodes = node_set("2");
        (void)world_add_many(w, world_policy(w, "tidb"), 8);
        assert_plan(w, "0 0 1 3 4 5 6 7");
}

/* HAProxy near the card: on the node beside, of the card's socket, while the card's is reserved. */
PLAN_TEST(near_the_nic, 2, 4, 16) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *haproxy = world_policy(w, "haproxy");

        haproxy->place.near = NEAR_NIC;
        haproxy->place.share = SHARE_SHARED;
        w->input.nic_nodes = node_set("5");
        (void)world_add(w, haproxy, "haproxy-1");
        assert_plan(w, "5");
        w->host.reserve.kind = RESERVE_NIC;
        assert_plan(w, "4");
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].warnings, 0);
        haproxy->place.nodes = node_set("5"); /* with a count: chosen, though there is one only */
        haproxy->place.count_is_set = true;
        assert_plan(w, "5");
}

/* --- `count: auto`: the nodes left for a policy, divided by its instances, within a socket --- */

static Policy *auto_policy(World *w, const char *name) {
        Policy *policy = world_policy(w, name);

        give_count(policy, PLACE_COUNT_AUTO);
        return policy;
}

static void assert_divided(unsigned packages, unsigned nodes_each, unsigned n,
                           const char *expected) {
        _cleanup_world_ World *w = world_new(packages, nodes_each, 4);

        (void)world_add_many(w, auto_policy(w, "tikv"), n);
        assert_plan(w, expected);
}

TEST(alone) {
        assert_divided(2, 4, 1, "0-3"); /* not more than a socket has */
        assert_divided(2, 4, 2, "0-3 4-7");
        assert_divided(2, 4, 3, "0-1 2-3 4-5");
        assert_divided(2, 4, 8, "0 1 2 3 4 5 6 7");
        assert_divided(1, 4, 5, "0 0 1 2 3"); /* at least one */
        /* Six nodes by three are two, but of three a socket has one pair only. */
        assert_divided(2, 3, 3, "0 1 3");
        assert_divided(2, 3, 2, "0-2 3-5");
}

PLAN_TEST(any_socket, 2, 3, 4) {
        Policy *tikv = auto_policy(w, "tikv");

        tikv->place.same_package = false;
        (void)world_add_many(w, tikv, 1);
        assert_plan(w, "0-5");
        (void)world_add(w, tikv, "tikv-2");
        assert_plan(w, "0-2 3-5");
}

/* Reserved nodes, and those of others' exclusive instances, are not left for it. */
PLAN_TEST(what_is_left, 1, 8, 4) {
        Policy *tikv = auto_policy(w, "tikv"), *tidb = world_policy(w, "tidb");
        Policy *pd = world_policy(w, "pd");
        PlacementInstance *in;

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, tikv, 2);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("0-1");
        assert_plan(w, "2-4 5-7");
        in = world_add(w, pd, "pd-1"); /* a shared one takes nothing, nor does one that stays */
        assert_plan(w, "2-4 5-7 2");
        in->in_force = node_set("2");
        assert_plan(w, "2-4 5-7 2");
        in->in_force = (NodeSet){ 0 };
        in = world_add(w, tidb, "tidb-1");
        assert_plan(w, "2-3 4-5 7 6");
        in->in_force = node_set("7");
        assert_plan(w, "2-3 4-5 6 7");
        in->in_force = node_set("0"); /* which was not left anyway */
        assert_plan(w, "2-4 5-7 2 0");
        tidb->place.nodes = node_set("0-1"); /* nor would it take what is */
        in->in_force = (NodeSet){ 0 };
        tidb->place.count_is_set = true;
        assert_plan(w, "2-4 5-7 2 0");
}

/* Others that want more nodes than they may have take no more than those. */
PLAN_TEST(others_in_a_corner, 1, 8, 4) {
        Policy *tikv = auto_policy(w, "tikv"), *tidb = world_policy(w, "tidb");

        tidb->place.nodes = node_set("0-1");
        tidb->place.count_is_set = true;
        (void)world_add_many(w, tikv, 2);
        (void)world_add_many(w, tidb, 4);
        assert_plan(w, "2-4 5-7 0 0 1 1");
        tikv->place.avoid = node_set("0"); /* of the two, one is open to it */
        assert_plan(w, "2-4 5-7 0 0 1 1");
}

PLAN_TEST(two_policies_divide, 2, 4, 4) {
        Policy *tikv = auto_policy(w, "tikv"), *tidb = auto_policy(w, "tidb");

        (void)world_add_many(w, tikv, 2);
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "2-3 6-7 0-1 4-5");
        tidb->place.share = SHARE_SHARED; /* it fills gaps */
        assert_plan(w, "0-3 4-7 0-3 4-7");
}

/* One that came later gets what is left, and moves no other. */
PLAN_TEST(one_more, 2, 2, 4) {
        Policy *tikv = auto_policy(w, "tikv");
        PlacementInstance *in = world_add_many(w, tikv, 3);

        in[0].in_force = node_set("0-1");
        in[1].in_force = node_set("2");
        assert_plan(w, "0-1 2 3");
        in[1].in_force = node_set("2-3");
        assert_plan(w, "0-1 2-3 0");
}

PLAN_TEST(cpu_list_is_more, 1, 4, 4) {
        Policy *tikv = auto_policy(w, "tikv");

        tikv->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("1,9") };
        (void)world_add_many(w, tikv, 4);
        assert_plan(w, "0,2 0,2 0,2 0,2");
}

/* Instances of one policy in cgroups of their own divide what is open to each. */
PLAN_TEST(cgroups, 2, 4, 4) {
        PlacementInstance *in = world_add_many(w, auto_policy(w, "tikv"), 2);

        in[0].allowed_nodes = node_set("0");
        assert_plan(w, "0 4-7");
        in[1].allowed_nodes = node_set("4-5");
        assert_plan(w, "0 4");
}

/* --- `host.reserve.cpus`: cores of a node that cannot be spared --- */

/* Two sockets, 8 cores of two threads each: CPU n and n + 16 are a core. The card is at node 0. */
static World *two_sockets(uint32_t cpus) {
        World *w = world_new(2, 1, 8);

        w->topology.core = calloc(CPU_SET_MAX, sizeof(uint16_t));
        assert_non_null(w->topology.core);
        for (uint32_t cpu = 0; cpu < 32; cpu++)
                w->topology.core[cpu] = (uint16_t)(cpu % 16);
        for (uint32_t cpu = 16; cpu < 32; cpu++)
                id_set_add(&w->nodes[cpu / 8 - 2].cpus, cpu);
        w->host.reserve.cpus = cpus;
        w->input.nic_nodes = node_set("0");
        return w;
}

static void world_done(World **w) {
        free((*w)->topology.core);
        world_free(w);
}
#define _cleanup_two_sockets_ _cleanup_(world_done)

static void assert_reserves(const World *w, const char *cpus) {
        assert_ids(placement_reserved_cpus(&w->input), cpus);
}

TEST(whole_cores) {
        _cleanup_two_sockets_ World *w = two_sockets(2);

        assert_reserves(w, "0-1,16-17");
        w->host.reserve.cpus = 8; /* one core is left */
        assert_reserves(w, "0-6,16-22");
        w->topology.isolated_cpus = cpu_set("0"); /* of which the other thread can be used */
        assert_reserves(w, "1-7,17-23");
        w->topology.isolated_cpus = cpu_set("0,16");
        assert_reserves(w, "1-6,17-22");
        w->topology.isolated_cpus = (CpuSet){ 0 };
        w->host.reserve.cpus = 0;
        assert_reserves(w, "");
}

TEST(none_where_the_node_is_reserved) {
        _cleanup_two_sockets_ World *w = two_sockets(2);

        w->host.reserve.kind = RESERVE_NIC;
        assert_reserves(w, "");
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("1");
        assert_reserves(w, "0-1,16-17");
        w->input.nic_nodes = (NodeSet){ 0 }; /* which card is not known */
        assert_reserves(w, "");
}

TEST(auto_by_speed) {
        static const struct {
                uint32_t n_cores, speed, expected;
        } cases[] = {
                { 64, 0, 1 },     { 64, 10000, 1 },  { 64, 25000, 4 },
                { 64, 99999, 4 }, { 64, 100000, 8 }, { 24, 100000, 3 }, /* an eighth */
                { 4, 100000, 1 }, { 1, 100000, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_world_ World *w = world_new(2, 1, cases[i].n_cores);
                CpuSet cpus;

                w->host.reserve.cpus = RESERVE_CPUS_AUTO;
                w->input.nic_nodes = node_set("1");
                w->input.nic_speed_mbps = cases[i].speed;
                cpus = placement_reserved_cpus(&w->input);
                assert_int_equal(id_set_count(&cpus), cases[i].expected);
        }
}

/* No instance gets them, however it is placed, unless its policy lists them. */
TEST(taken_from_placements) {
        _cleanup_two_sockets_ World *w = two_sockets(1);
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb"), *one = world_policy(w, "one"),
               *named = world_policy(w, "named"), *listed = world_policy(w, "listed");

        named->place.nodes = listed->place.nodes = one->place.nodes = node_set("0");
        one->cpus.choice = CPUS_ONE_PER_CORE;
        listed->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("0-3") };
        world_add(w, tidb, "tidb-1")->in_force = node_set("0"); /* kept there */
        (void)world_add(w, named, "named-1");
        (void)world_add(w, one, "one-1");
        (void)world_add(w, listed, "listed-1");
        plan = plan_of(w);
        assert_ids(plan.reserved_cpus, "0,16");
        assert_ids(plan.choices[0].placement.cpus, "1-7,17-23");
        assert_ids(plan.choices[1].placement.cpus, "1-7,17-23");
        assert_ids(plan.choices[2].placement.cpus, "1-7");
        assert_ids(plan.choices[3].placement.cpus, "0-3");
}

/* TiDB alone has the node with more CPUs left. */
TEST(weighed) {
        _cleanup_two_sockets_ World *w = two_sockets(1);
        Policy *tidb = world_policy(w, "tidb");

        (void)world_add(w, tidb, "tidb-1");
        assert_plan(w, "1");
        w->host.reserve.cpus = 0;
        assert_plan(w, "0");
}

/* --- What stays where it is bound, and what has to move --- */

ONE_TEST(kept, true) {
        one->in->in_force = node_set("2"); /* not the best, and good enough */
        assert_placed(one, BASIS_KEPT, "2", "8-11", 0);
        one->world->host.reserve.kind = RESERVE_LIST;
        one->world->host.reserve.nodes = node_set("2");
        assert_placed(one, BASIS_KEPT, "2", "8-11", WARN_RESERVED);
        one->policy->place.near = NEAR_NIC;
        one->world->input.nic_nodes = node_set("2");
        assert_placed(one, BASIS_KEPT, "2", "8-11", WARN_RESERVED);
}

static void assert_moved(void (*change)(One *one), const char *nodes, const char *cpus) {
        _cleanup_one_ One one;

        one_init(&one, true);
        one.in->in_force = node_set("1-2");
        give_count(one.policy, 2);
        one.policy->place.same_package = false;
        assert_placed(&one, BASIS_KEPT, "1-2", "4-11", 0);
        change(&one);
        assert_placed(&one, BASIS_CHOSEN, nodes, cpus, WARN_MOVED);
}

static void set_same_package(One *one) {
        one->policy->place.same_package = true;
}

static void set_count(One *one) {
        give_count(one->policy, 1);
}

static void avoid_node(One *one) {
        one->policy->place.avoid = node_set("2");
}

static void disallow_node(One *one) {
        one->in->allowed_nodes = node_set("0,2-3");
}

static void disallow_cpus(One *one) {
        one->in->allowed_cpus = cpu_set("0-7");
}

static void remove_memory(One *one) {
        one->world->nodes[1].memory_bytes = 0;
}

static void reserve_strictly(One *one) {
        one->world->host.reserve = (Reserve){ .kind = RESERVE_LIST, .strict = true };
        one->world->host.reserve.nodes = node_set("1");
}

static void need_other_cpus(One *one) {
        one->policy->cpus = (PolicyCpus){ .choice = CPUS_LIST, .list = cpu_set("0") };
}

static void lose_node(One *one) {
        one->in->in_force = node_set("2,9");
}

/* What does not fit any more is given up, and of that as little as can be. */
TEST(moved) {
        assert_moved(set_same_package, "0-1", "0-7");
        assert_moved(set_count, "1", "4-7");
        assert_moved(avoid_node, "0-1", "0-7");
        assert_moved(disallow_node, "2-3", "8-15");
        assert_moved(disallow_cpus, "0-1", "0-7");
        assert_moved(remove_memory, "2-3", "8-15");
        assert_moved(reserve_strictly, "2-3", "8-15");
        assert_moved(need_other_cpus, "0-1", "0");
        assert_moved(lose_node, "2-3", "8-15");
}

/* What a person chose stays, and is warned of, where the machine has it. */
ONE_TEST(pinned, true) {
        one->in->pinned = true;
        one->in->in_force = node_set("1-2");
        assert_placed(one, BASIS_KEPT, "1-2", "4-11", WARN_PACKAGES);
        one->world->host.reserve = (Reserve){ .kind = RESERVE_LIST, .nodes = node_set("3") };
        one->in->in_force = node_set("3");
        one->policy->place.avoid = node_set("3");
        assert_placed(one, BASIS_KEPT, "3", "12-15", WARN_RESERVED_NAMED);
        one->in->in_force = node_set("9");
        assert_placed(one, BASIS_CHOSEN, "0", "0-3", WARN_MOVED);
}

/* With a count that is automatic any size is a possible one. */
ONE_TEST(kept_with_auto_count, true) {
        give_count(one->policy, PLACE_COUNT_AUTO);
        assert_placed(one, BASIS_CHOSEN, "0-1", "0-7", 0);
        one->in->in_force = node_set("3");
        assert_placed(one, BASIS_KEPT, "3", "12-15", 0);
        one->in->in_force = node_set("1-2"); /* but of two sockets */
        assert_placed(one, BASIS_CHOSEN, "0-1", "0-7", WARN_MOVED);
}

/* Explicit nodes win over what is in force; nothing is given up where there are only more. */
ONE_TEST(explicit_moves, true) {
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("2-3");
        one->in->in_force = node_set("1-2");
        assert_placed(one, BASIS_EXPLICIT, "2-3", "8-15", WARN_MOVED);
        one->in->in_force = node_set("2");
        assert_placed(one, BASIS_EXPLICIT, "2-3", "8-15", 0);
}

/* --- What the planner weighs: for each criterion a case that it decides, against those behind it
 * --- */

/* The plan is this one; beside `other`, which has the same numbers up to there, it is better by the
 * criterion, by these sums. */
static void assert_decides(const World *w, const char *const *other, PlacementCriterion criterion,
                           uint64_t chosen, uint64_t lost) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);
        NodeSet nodes[INSTANCES_MOST];
        PlacementScore score = score_of(w, &plan), others;

        for (size_t i = 0; i < w->input.n_instances; i++)
                nodes[i] = node_set(other[i]);
        others = placement_score(&w->input, nodes);
        assert_memory_equal(&score, &plan.score, sizeof(score));
        for (unsigned i = 0; i < criterion; i++)
                assert_int_equal(score.by[i], others.by[i]);
        assert_int_equal(score.by[criterion], chosen);
        assert_int_equal(others.by[criterion], lost);
        assert_true(placement_score_compare(&score, &others) < 0);
}

#define NODES(...) ((const char *const[]){ __VA_ARGS__ })

/* One of its two nodes is open no more: the other one stays, though its device is elsewhere. */
PLAN_TEST(stability, 2, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        give_count(tikv, 2);
        tikv->place.near = NEAR_STORAGE;
        tikv->place.avoid = node_set("2");
        in->device_nodes = node_set("5");
        in->in_force = node_set("2-3");
        assert_plan(w, "0,3");
        assert_decides(w, NODES("4-5"), WEIGH_STABILITY, 1, 2);
}

/* Two on one node, rather than one away from its disk. */
PLAN_TEST(device, 2, 2, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add_many(w, tikv, 2);

        tikv->place.near = NEAR_STORAGE;
        in[0].device_nodes = in[1].device_nodes = node_set("2");
        assert_plan(w, "2 2");
        assert_decides(w, NODES("2", "3"), WEIGH_DEVICE, 20, 22);
}

/* Of several devices the nearest, by distance and not by number; of several nodes each counts. */
PLAN_TEST(device_by_distance, 1, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        tikv->place.near = NEAR_STORAGE;
        tikv->place.avoid = node_set("0");
        in->device_nodes = node_set("0,9"); /* 9 is not there */
        w->distances[3 * 4 + 0] = 11;
        assert_plan(w, "3");
        assert_decides(w, NODES("1"), WEIGH_DEVICE, 11, 12);
        in->device_nodes = node_set("0,2");
        assert_plan(w, "2");
        give_count(tikv, 2);
        assert_plan(w, "2-3");
        assert_decides(w, NODES("1-2"), WEIGH_DEVICE, 21, 22);
        in->device_nodes = node_set("9"); /* not known: it does not count */
        assert_plan(w, "1-2");
}

/* Exclusive instances of two policies: apart, though a weigh_reserved node is taken for it. */
PLAN_TEST(exclusive, 1, 2, 4) {
        (void)world_add(w, world_policy(w, "tidb"), "tidb-1");
        (void)world_add(w, world_policy(w, "tikv"), "tikv-1");
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("0");
        assert_plan(w, "1 0");
        assert_decides(w, NODES("1", "1"), WEIGH_EXCLUSIVE, 0, 1);
}

/* Shared instances of one policy: apart, though a weigh_reserved node is taken for it. */
PLAN_TEST(policy, 1, 2, 4) {
        Policy *pd = world_policy(w, "pd");

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, pd, 2);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("0");
        assert_plan(w, "0 1");
        assert_decides(w, NODES("1", "1"), WEIGH_POLICY, 0, 1);
}

/* Both on one socket, rather than one on the network card's node. */
PLAN_TEST(weigh_reserved, 2, 2, 4) {
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        w->host.reserve.kind = RESERVE_NIC;
        w->input.nic_nodes = node_set("0-1");
        assert_plan(w, "2 3");
        assert_decides(w, NODES("0", "2"), WEIGH_RESERVED, 0, 1);
}

/* On two sockets, though one has less memory left. */
PLAN_TEST(spread, 2, 2, 4) {
        Policy *tidb = world_policy(w, "tidb");
        PlacementInstance *in = world_add_many(w, tidb, 2);

        in[0].need_bytes = in[1].need_bytes = UINT64_C(8) << 30;
        for (unsigned i = 0; i < 4; i++)
                w->free_bytes[i] = i < 2 ? UINT64_C(64) << 30 : UINT64_C(1) << 30;
        w->input.free_bytes = w->free_bytes;
        assert_plan(w, "0 2");
        assert_decides(w, NODES("0", "1"), WEIGH_SPREAD, 0, 2);
        tidb->place.share = SHARE_SHARED; /* of one policy all the same */
        assert_decides(w, NODES("0", "1"), WEIGH_SPREAD, 0, 1);
}

/* An instance on both nodes of a socket is there once. */
PLAN_TEST(spread_counts_sockets, 2, 2, 4) {
        Policy *tikv = world_policy(w, "tikv"), *tidb = world_policy(w, "tidb");

        give_count(tikv, 2);
        (void)world_add(w, tikv, "tikv-1");
        (void)world_add(w, tidb, "tidb-1");
        assert_plan(w, "0-1 2");
        assert_decides(w, NODES("0-1", "1"), WEIGH_EXCLUSIVE, 0, 1);
        assert_int_equal(placement_score(&w->input, (NodeSet[]){ node_set("0-1"), node_set("1") })
                                 .by[WEIGH_SPREAD],
                         1);
}

/* Where its memory fits, though it is a socket's second node by number and has company. */
PLAN_TEST(memory, 1, 3, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        in->need_bytes = (UINT64_C(4) << 30) + 1;
        w->free_bytes[0] = (UINT64_C(4) << 30) - 1;
        w->free_bytes[1] = UINT64_C(4) << 30;
        w->free_bytes[2] = UINT64_C(1) << 30;
        w->input.free_bytes = w->free_bytes;
        assert_plan(w, "1"); /* in whole MiB: one is missing there, and two on node 0 */
        assert_decides(w, NODES("0"), WEIGH_MEMORY, 1, 2);
        give_count(tikv, 2);
        assert_plan(w, "0-1");
        assert_decides(w, NODES("0,2"), WEIGH_MEMORY, 0, 1025);
        w->input.free_bytes = NULL; /* then all of their memory */
        give_count(tikv, 1);
        assert_plan(w, "0");
}

/* Two large ones and two small ones: one of each on a node. */
PLAN_TEST(memory_packs, 1, 2, 4) {
        Policy *pd = world_policy(w, "pd");
        PlacementInstance *in = world_add_many(w, pd, 4);

        pd->place.share = SHARE_SHARED;
        in[0].need_bytes = in[1].need_bytes = UINT64_C(50) << 30;
        in[2].need_bytes = in[3].need_bytes = UINT64_C(10) << 30;
        assert_plan(w, "0 1 0 1");
        assert_decides(w, NODES("0", "0", "1", "1"), WEIGH_MEMORY, 0, 36 * 1024);
}

/* The two nodes that are near each other, not the first two. */
PLAN_TEST(distance, 1, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");

        give_count(tikv, 2);
        (void)world_add(w, tikv, "tikv-1");
        w->distances[1 * 4 + 3] = 11;
        assert_plan(w, "1,3");
        assert_decides(w, NODES("0-1"), WEIGH_DISTANCE, 23, 24);
        w->distances[3 * 4 + 1] = 16; /* the way back counts as well */
        assert_plan(w, "0-1");
        assert_decides(w, NODES("1,3"), WEIGH_DISTANCE, 24, 27);
}

/* A shared one goes where the least of the CPUs is taken. */
PLAN_TEST(load, 1, 3, 4) {
        Policy *pd = world_policy(w, "pd"), *tidb = world_policy(w, "tidb");

        pd->match.exe = (char *)"pd-server";
        tidb->match.exe = (char *)"tidb-server";
        pd->place.share = SHARE_SHARED;
        (void)world_add(w, pd, "pd-1");
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "2 0 1");
        /* weights 1, 8 and 8, 250 thousandths a CPU: alone each, or PD and a TiDB together */
        assert_decides(w, NODES("0", "0", "1"), WEIGH_LOAD, (1 + 64 + 64) * 250, (81 + 64) * 250);
        (void)world_add(w, tidb, "tidb-3");
        id_set_union(&w->nodes[1].cpus, &(CpuSet){ .words[1] = 0xf }); /* eight there */
        assert_plan(w, "1 0 1 2");
        assert_decides(w, NODES("0", "0", "1", "2"), WEIGH_LOAD, 81 * 125 + 2 * 64 * 250,
                       81 * 250 + 64 * 125 + 64 * 250);
}

static Policy *shared_policy(World *w, const char *name, const char *exe) {
        Policy *policy = world_policy(w, name);

        policy->place.share = SHARE_SHARED;
        policy->match.exe = (char *)exe;
        return policy;
}

/* R3: on two sockets the two that work are apart, and PD is beside one of them, whatever the order
 * of their names. */
PLAN_TEST(two_sockets, 2, 1, 48) {
        (void)world_add(w, shared_policy(w, "tidb", "tidb-server"), "b-tidb");
        (void)world_add(w, shared_policy(w, "tikv", "tikv-server"), "c-tikv");
        (void)world_add(w, shared_policy(w, "pd", "pd-server"), "a-pd");
        assert_plan(w, "0 1 0");
        w->instances[2].name = "d-pd";
        assert_plan(w, "0 1 0");
}

/* A single one takes the node with more CPUs left to it; PD goes where the work is not. */
PLAN_TEST(more_cpus, 2, 1, 8) {
        id_set_subtract(&w->nodes[0].cpus, &(CpuSet){ .words[0] = 1 });
        (void)world_add(w, shared_policy(w, "tidb", "tidb-server"), "tidb-1");
        (void)world_add(w, shared_policy(w, "pd", "pd-server"), "pd-1");
        assert_plan(w, "1 0");
}

/* Monitoring goes where no exclusive instance is, even if more is on the CPUs there; others go
 * where the CPUs are free. Being bound there, nobody moves for it. */
PLAN_TEST(monitoring, 1, 3, 4) {
        Policy *tikv = world_policy(w, "tikv");

        tikv->match.exe = (char *)"tikv-server";
        tikv->place.nodes = node_set("0-1");
        (void)world_add(w, tikv, "tikv-1");
        (void)world_add(w, shared_policy(w, "tidb", "tidb-server"), "tidb-1"); /* 8; tikv 4 each */
        (void)world_add(w, shared_policy(w, "prometheus", "prometheus"), "prometheus-1");
        assert_plan(w, "0-1 2 2");
        assert_decides(w, NODES("0-1", "2", "0"), WEIGH_ASIDE, 0, 1);
        w->policies[2].match.exe = (char *)"cdc";
        assert_plan(w, "0-1 2 0");
        w->policies[2].match.exe = (char *)"prometheus";
        w->instances[2].in_force = node_set("0");
        assert_plan(w, "0-1 2 0");
        /* where each node has an exclusive one, load decides */
        w->instances[2].in_force = (NodeSet){ 0 };
        w->policies[1].place.share = SHARE_EXCLUSIVE;
        assert_plan(w, "0-1 2 0");
}

/* Not all that one policy matches is monitoring. */
PLAN_TEST(monitoring_beside_others_of_its_policy, 1, 3, 4) {
        Policy *tikv = world_policy(w, "tikv"), *rest = shared_policy(w, "rest", NULL);

        tikv->match.exe = (char *)"tikv-server";
        tikv->place.nodes = node_set("0-1");
        (void)world_add(w, tikv, "tikv-1");
        (void)world_add(w, shared_policy(w, "tidb", "tidb-server"), "tidb-1");
        world_add(w, rest, "rest-1")->exe = "alertmanager";
        world_add(w, rest, "rest-2")->exe = "pd-server";
        assert_plan(w, "0-1 2 2 0");
}

/* R8: of nodes of 16 and 64 GiB the large ones come first, and weights are in proportion. */
PLAN_TEST(room, 1, 4, 4) {
        const Policy *tidb = shared_policy(w, "tidb", "tidb-server");

        w->nodes[0].memory_bytes = w->nodes[2].memory_bytes = UINT64_C(16) << 30;
        (void)world_add_many(w, tidb, 2);
        assert_plan(w, "1 3");
        assert_decides(w, NODES("0", "1"), WEIGH_ROOM, 2 * 64 * 3, 64 * 12 + 64 * 3);
        (void)world_add(w, shared_policy(w, "pd", "pd-server"), "pd-1");
        assert_plan(w, "1 3 0"); /* 1 x 12 there, 17 x 3 more beside a TiDB */
        /* what the kernel keeps for itself on the first node decides nothing */
        for (unsigned i = 0; i < 4; i++)
                w->nodes[i].memory_bytes = UINT64_C(64) << 30;
        w->nodes[0].memory_bytes -= UINT64_C(3) << 30;
        assert_plan(w, "0 1 2");
}

TEST(weight) {
        static const struct {
                const char *pattern, *exe;
                uint32_t of_policy, cpus_used, weight;
        } cases[] = {
                { "tidb-server", NULL, WEIGHT_AUTO, 0, 8 },
                { "/srv/*/bin/tikv-server", NULL, WEIGHT_AUTO, 0, 8 },
                { "tiflash", NULL, WEIGHT_AUTO, 0, 8 },
                { "java", NULL, WEIGHT_AUTO, 0, 8 },
                { "haproxy", NULL, WEIGHT_AUTO, 0, 2 },
                { "pd-server", NULL, WEIGHT_AUTO, 0, 1 },
                { "/srv/bin/*", NULL, WEIGHT_AUTO, 0, 2 }, /* any of them */
                { NULL, NULL, WEIGHT_AUTO, 0, 2 },
                { NULL, "/srv/bin/tikv-server", WEIGHT_AUTO, 0, 8 },
                { "tidb-server", NULL, WEIGHT_AUTO, 1, 8 }, /* idle now */
                { "tidb-server", NULL, WEIGHT_AUTO, 8, 8 },
                { "tidb-server", NULL, WEIGHT_AUTO, 9, 16 },
                { "tidb-server", NULL, WEIGHT_AUTO, 16, 16 },
                { "pd-server", NULL, WEIGHT_AUTO, 3, 4 },
                { "pd-server", NULL, WEIGHT_AUTO, UINT32_MAX, WEIGHT_MAX },
                { "pd-server", NULL, 5, 40, 5 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const Policy policy = { .match.exe = (char *)cases[i].pattern,
                                        .weight = cases[i].of_policy };
                const PlacementInstance in = { .policy = &policy,
                                               .exe = cases[i].exe,
                                               .cpus_used = cases[i].cpus_used };

                assert_int_equal(placement_weight(&in), cases[i].weight);
        }
}

/* Each where most of its memory is, if nothing else tells the nodes apart: 18 GiB are moved, and
 * not the 25 of the order of their names. */
PLAN_TEST(move, 1, 4, 4) {
        PlacementInstance *in = world_add_many(w, world_policy(w, "tikv"), 4);

        for (size_t i = 0; i < 4; i++) {
                world_hold(w, &in[i], i, 3 * 1024);
                world_hold(w, &in[i], (i + 1) % 4, 5 * 1024);
                world_hold(w, &in[i], (i + 2) % 4, 2 * 1024);
        }
        world_hold(w, &in[3], 0, 4 * 1024);
        world_hold(w, &in[3], 1, 0);
        assert_plan(w, "1 2 3 0");
        assert_decides(w, NODES("0", "1", "2", "3"), WEIGH_MOVE, 18 * 1024, 25 * 1024);
}

/* It decides nothing before the load of the CPUs, and some MiB decide nothing at all. */
PLAN_TEST(move_comes_late, 1, 2, 4) {
        Policy *tidb = world_policy(w, "tidb"), *pd = world_policy(w, "pd"),
               *proxy = world_policy(w, "haproxy");
        PlacementInstance *a, *b, *c;

        tidb->place.share = pd->place.share = proxy->place.share = SHARE_SHARED;
        a = world_add(w, tidb, "tidb-1");
        b = world_add(w, pd, "pd-1");
        a->exe = "tidb-server";
        b->exe = "pd-server";
        world_hold(w, a, 0, 1024);
        world_hold(w, b, 0, 1024);
        assert_plan(w, "0 1");
        world_hold(w, a, 1, 1536); /* now it is the heavier one's memory that stays */
        assert_plan(w, "1 0");
        world_hold(w, a, 1, 1024 + 7);
        world_hold(w, b, 1, 1024);
        assert_plan(w, "0 1");
        c = world_add(w, proxy, "haproxy-1");
        c->exe = "haproxy";
        world_hold(w, c, 0, 4096); /* not beside tidb, so all three change places */
        assert_plan(w, "1 0 0");
}

PLAN_TEST(number, 1, 3, 4) {
        w->nodes[1].id = 4; /* ranks, not numbers */
        w->nodes[2].id = 9;
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        assert_plan(w, "0 4");
        assert_decides(w, NODES("0", "9"), WEIGH_NUMBER, 1, 2);
}

/* Of interchangeable ones the lower name gets the lower nodes, in whatever order they come. */
PLAN_TEST(names, 1, 4, 4) {
        Policy *tidb = world_policy(w, "tidb");

        (void)world_add(w, tidb, "tidb-10");
        (void)world_add(w, tidb, "tidb-2");
        (void)world_add(w, tidb, "tidb-9");
        (void)world_add(w, tidb, "tidb-1");
        assert_plan(w, "3 1 2 0");
        give_count(tidb, 2);
        assert_plan(w, "2-3 0-1 2-3 0-1");
}

/* What cannot be placed has no part in the score, and takes nothing from the others. */
PLAN_TEST(refused_count_nothing, 1, 2, 4) {
        Policy *other = world_policy(w, "other");

        give_count(other, 3);
        world_add(w, other, "a-1")->in_force = node_set("0-1");
        (void)world_add_many(w, world_policy(w, "tidb"), 2);
        assert_plan(w, "- 0 1");
        assert_decides(w, NODES("", "1", "1"), WEIGH_EXCLUSIVE, 0, 1);
}

/* Reserved huge pages are memory of their own: the node that has them, though it comes later. */
PLAN_TEST(memory_of_a_pool, 1, 4, 4) {
        uint64_t n_free[4] = { 20, 10, 30, 60 };
        const HugePools pools = { .list = { { .page_bytes = 2 << 20, .n_free = n_free } }, .n = 1 };
        Policy *tidb = world_policy(w, "tidb");
        PlacementInstance *in = world_add_many(w, tidb, 2);
        HugeNeed need = { 0 }, other = { 0 };

        tidb->memory = MEMORY_BIND;
        huge_need_add(&need, &(HugeUse){ .page_bytes = 2 << 20, .n_mapped = 26, .n_touched = 2 });
        huge_need_add(&other, &(HugeUse){ .page_bytes = 2 << 20, .n_mapped = 50 });
        assert_plan(w, "0 1");
        in[0].huge = &need;
        in[1].huge = &other;
        assert_plan(w, "0 1"); /* pools that are not known decide nothing */
        w->input.pools = &pools;
        assert_plan(w, "2 3");
        n_free[2] = 23; /* one page less than it may still touch */
        n_free[1] = 24;
        assert_plan(w, "1 3");
}

/* --- What the planner reports beside the nodes: warnings, and the alternatives that lost --- */

static void assert_warnings(const World *w, size_t i, uint32_t warnings) {
        _cleanup_placement_plan_ PlacementPlan plan = plan_of(w);

        assert_int_equal(plan.choices[i].warnings, warnings);
}

PLAN_TEST(not_exclusive, 1, 2, 4) {
        Policy *tidb = world_policy(w, "tidb"), *pd = world_policy(w, "pd");

        pd->place.share = SHARE_SHARED;
        (void)world_add_many(w, tidb, 2);
        (void)world_add_many(w, pd, 3);
        for (size_t i = 0; i < 5; i++)
                assert_warnings(w, i, 0);
        (void)world_add(w, tidb, "tidb-3"); /* beside tidb-1 on node 0 */
        assert_plan(w, "0 0 0 1 1 1");
        assert_warnings(w, 0, WARN_NOT_EXCLUSIVE);
        assert_warnings(w, 1, WARN_NOT_EXCLUSIVE);
        assert_warnings(w, 2, 0);
        assert_warnings(w, 5, 0);
}

PLAN_TEST(explain_device, 1, 4, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        assert_warnings(w, 0, 0);
        tikv->place.near = NEAR_STORAGE;
        assert_warnings(w, 0, WARN_DEVICE_UNKNOWN);
        in->device_nodes = node_set("77"); /* a node that is not there */
        assert_warnings(w, 0, WARN_DEVICE_UNKNOWN);
        in->device_nodes = node_set("2,77");
        assert_warnings(w, 0, 0);
        give_count(tikv, 2); /* one of the two is enough */
        assert_warnings(w, 0, 0);
        tikv->place.avoid = node_set("2");
        assert_warnings(w, 0, WARN_FAR_DEVICE);
        tikv->place.near = NEAR_NIC;
        assert_warnings(w, 0, WARN_DEVICE_UNKNOWN);
        w->input.nic_nodes = node_set("2");
        assert_warnings(w, 0, WARN_FAR_DEVICE);
        w->host.reserve.kind = RESERVE_NIC; /* it keeps off the card's node as it should */
        assert_warnings(w, 0, 0);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("1");
        assert_warnings(w, 0, WARN_FAR_DEVICE);
}

PLAN_TEST(explain_memory, 1, 2, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add_many(w, tikv, 2);

        in[0].need_bytes = UINT64_C(64) << 30;
        assert_warnings(w, 0, 0);
        in[0].need_bytes++;
        assert_warnings(w, 0, WARN_MEMORY);
        assert_warnings(w, 1, 0);
        tikv->memory = MEMORY_PREFERRED;
        assert_warnings(w, 0, 0);
        tikv->memory = MEMORY_BIND;
        tikv->place.nodes = node_set("0"); /* with another one there that needs little */
        tikv->place.count_is_set = true;
        in[0].need_bytes = UINT64_C(63) << 30;
        in[1].need_bytes = UINT64_C(1) << 30;
        assert_warnings(w, 0, WARN_NOT_EXCLUSIVE);
        in[1].need_bytes++;
        assert_warnings(w, 0, WARN_NOT_EXCLUSIVE | WARN_MEMORY);
        assert_warnings(w, 1, WARN_NOT_EXCLUSIVE | WARN_MEMORY);
        in[1].need_bytes = 0;
        in[0].need_bytes = UINT64_C(80) << 30;
        assert_warnings(w, 1, WARN_NOT_EXCLUSIVE); /* it holds nothing itself */
}

/* A strict binding to several nodes takes from all of them. */
PLAN_TEST(memory_of_several_nodes, 1, 2, 4) {
        Policy *tikv = world_policy(w, "tikv");
        PlacementInstance *in = world_add(w, tikv, "tikv-1");

        tikv->place.nodes = node_set("0-1");
        in->need_bytes = UINT64_C(70) << 30;
        w->free_bytes[0] = UINT64_C(10) << 30;
        w->free_bytes[1] = UINT64_C(60) << 30;
        w->input.free_bytes = w->free_bytes;
        assert_warnings(w, 0, 0);
        w->free_bytes[1]--;
        assert_warnings(w, 0, WARN_MEMORY);
        w->nodes[0].memory_bytes = 0; /* then the other one has to hold all of it */
        in->need_bytes = w->free_bytes[1] - (1 << 20);
        assert_warnings(w, 0, 0);
}

PLAN_TEST(many_nodes, 1, 4, 4) {
        Policy *tidb = world_policy(w, "tidb");

        (void)world_add(w, tidb, "tidb-1");
        tidb->match.exe = (char *)"tidb-server";
        assert_warnings(w, 0, 0);
        give_count(tidb, 2);
        assert_warnings(w, 0, WARN_MANY_NODES);
        tidb->match.exe = (char *)"/opt/*/bin/tidb-server";
        assert_warnings(w, 0, WARN_MANY_NODES);
        tidb->match.exe = (char *)"/opt/tidb-server/tikv-server";
        assert_warnings(w, 0, 0);
        tidb->match.exe = NULL;
        assert_warnings(w, 0, 0);
}

/* Eight nodes of nine CPUs, most of which are offline: node 0 has one left. */
PLAN_TEST(few_cpus, 2, 4, 9) {
        Policy *tidb = world_policy(w, "tidb"), *pd = world_policy(w, "pd");

        tidb->match.exe = (char *)"tidb-server";
        pd->match.exe = (char *)"pd-server";
        tidb->place.nodes = pd->place.nodes = node_set("0");
        tidb->place.share = pd->place.share = SHARE_SHARED;
        (void)world_add(w, tidb, "tidb-1");
        (void)world_add(w, pd, "pd-1");
        assert_warnings(w, 0, 0);
        w->topology.offline_cpus = cpu_set("1-8");
        w->nodes[0].cpus = cpu_set("0");
        assert_warnings(w, 0, WARN_FEW_CPUS);
        assert_warnings(w, 1, 0);      /* a PD is light */
        tidb->cpus.choice = CPUS_LIST; /* chosen by the policy */
        tidb->cpus.list = cpu_set("0");
        assert_warnings(w, 0, 0);
        tidb->cpus.choice = CPUS_ALL;
        /* All but one node are offline: that one has what it should have. */
        for (uint32_t i = 1; i < 8; i++) {
                id_set_union(&w->topology.offline_cpus, &w->nodes[i].cpus);
                w->nodes[i].cpus = (CpuSet){ 0 };
        }
        w->nodes[0].cpus = cpu_set("0-2");
        assert_warnings(w, 0, 0);
}

/* --- alternatives --- */

static void assert_alternative(const PlacementAlternative *a, const char *nodes,
                               PlacementCriterion criterion, uint64_t chosen, uint64_t other) {
        assert_ids(a->nodes, nodes);
        assert_string_equal(placement_criterion_to_string(a->criterion),
                            placement_criterion_to_string(criterion));
        assert_int_equal(a->chosen, chosen);
        assert_int_equal(a->other, other);
}

PLAN_TEST(alternatives, 2, 2, 4) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb");
        const PlacementAlternative *a;

        (void)world_add_many(w, tidb, 2);
        w->host.reserve.kind = RESERVE_LIST;
        w->host.reserve.nodes = node_set("3");
        world_add(w, tidb, "tidb-3")->in_force = node_set("1");
        w->input.explain = true;
        plan = plan_of(w);
        assert_plan(w, "0 2 1");
        assert_int_equal(plan.choices[0].n_feasible, 4);
        assert_int_equal(plan.choices[0].n_alternatives, 3);
        a = plan.choices[0].alternatives;
        assert_alternative(&a[0], "3", WEIGH_RESERVED, 0, 1);
        assert_alternative(&a[1], "1", WEIGH_EXCLUSIVE, 0, 1);
        assert_alternative(&a[2], "2", WEIGH_EXCLUSIVE, 0, 1);
        assert_int_equal(plan.choices[0].grounds.decides,
                         1 << WEIGH_RESERVED | 1 << WEIGH_EXCLUSIVE);
        assert_int_equal(plan.choices[0].grounds.others, 0);
        assert_int_equal(plan.choices[0].grounds.in_sockets, 2); /* exclusive, of its policy */
        assert_int_equal(plan.choices[2].basis, BASIS_KEPT);
        assert_int_equal(plan.choices[2].n_alternatives, 0);
        w->input.explain = false;
        placement_plan_done(&plan);
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_alternatives, 0);
        assert_null(plan.choices[0].alternatives);
}

/* Sets that are just as good say so: the last number, the same on both sides. */
PLAN_TEST(alternative_that_ties, 1, 4, 4) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tikv = world_policy(w, "tikv");

        give_count(tikv, 2);
        tikv->place.nodes = node_set("0-3");
        tikv->cpus = (PolicyCpus){ .choice = CPUS_ALL };
        (void)world_add_many(w, tikv, 2);
        w->input.explain = true;
        assert_plan(w, "0-1 2-3");
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_feasible, 6);
        assert_int_equal(plan.choices[0].n_alternatives, 5);
        assert_alternative(&plan.choices[0].alternatives[0], "0,2", WEIGH_EXCLUSIVE, 0, 1);
}

/* All share, and the grounds say so. */
PLAN_TEST(grounds_of_those_who_share, 2, 1, 8) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tidb = world_policy(w, "tidb"), *tikv = world_policy(w, "tikv");

        (void)world_add_many(w, tidb, 2);
        (void)world_add_many(w, tikv, 2);
        w->input.explain = true;
        plan = plan_of(w);
        for (size_t i = 0; i < 4; i++) {
                const PlacementGrounds *grounds = &plan.choices[i].grounds;

                assert_int_equal(grounds->decides, 1 << WEIGH_EXCLUSIVE);
                assert_int_equal(grounds->others, 1);
                assert_int_equal(grounds->exclusive, 1);
                assert_int_equal(grounds->of_policy, 0);
                assert_int_equal(grounds->in_sockets, 1);
        }
}

/* Hundreds of sets are as good but for their numbers and fill the list of alternatives; those that
 * lost by more decide all the same. */
PLAN_TEST(grounds_beyond_what_is_kept, 2, 32, 1) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tikv = world_policy(w, "tikv");
        bool kept = false;

        give_count(tikv, 2);
        (void)world_add_many(w, tikv, 2);
        w->input.explain = true;
        plan = plan_of(w);
        for (size_t k = 0; k < plan.choices[0].n_alternatives; k++)
                kept |= plan.choices[0].alternatives[k].criterion != WEIGH_NUMBER;
        assert_false(kept);
        assert_int_equal(plan.choices[0].grounds.decides,
                         1 << WEIGH_NUMBER | 1 << WEIGH_SPREAD | 1 << WEIGH_EXCLUSIVE);
}

PLAN_TEST(not_more_than_are_read, 2, 32, 1) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        Policy *tikv = world_policy(w, "tikv");

        give_count(tikv, 2);
        (void)world_add(w, tikv, "tikv-1");
        w->input.explain = true;
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_feasible, 2 * 32 * 31 / 2);
        assert_int_equal(plan.choices[0].n_alternatives, PLACEMENT_ALTERNATIVES_MAX);
        /* The best ones: by the sums of their numbers. */
        assert_alternative(&plan.choices[0].alternatives[0], "0,2", WEIGH_NUMBER, 1, 2);
        give_count(tikv, 16); /* some hundred million: only those around each node are reported */
        placement_plan_done(&plan);
        plan = plan_of(w);
        assert_int_equal(plan.choices[0].n_feasible, UINT64_C(2) * 601080390);
        assert_ids(plan.choices[0].placement.nodes, "0-15");
        assert_true(plan.choices[0].n_alternatives > 32);
}

/* Each alternative, put into the plan, makes it worse by what it says; the best come first. */
static void check_alternatives(const World *w, const PlacementPlan *plan, size_t i) {
        const PlacementChoice *choice = &plan->choices[i];
        PlacementScore before = plan->score;
        NodeSet nodes[INSTANCES_MOST];

        for (size_t k = 0; k < plan->n_choices; k++)
                nodes[k] = plan->choices[k].placement.nodes;
        for (size_t k = 0; k < choice->n_alternatives; k++) {
                const PlacementAlternative *a = &choice->alternatives[k];
                PlacementScore score;

                assert_false(id_set_equal(&a->nodes, &choice->placement.nodes));
                nodes[i] = a->nodes;
                score = placement_score(&w->input, nodes);
                for (unsigned c = 0; c < a->criterion; c++)
                        assert_int_equal(score.by[c], plan->score.by[c]);
                assert_int_equal(plan->score.by[a->criterion], a->chosen);
                assert_int_equal(score.by[a->criterion], a->other);
                assert_true(a->other > a->chosen ||
                            (a->criterion == WEIGH_NUMBER && a->other == a->chosen));
                assert_true(placement_score_compare(&before, &score) <= 0);
                before = score;
        }
}

TEST(generated) {
        const Shape shape = {
                .nodes = 8, .instances = 6, .policies = 3, .count = 3, .memory = true
        };

        for (uint32_t i = 1; i <= 100; i++) {
                uint32_t seed = i;
                _cleanup_world_ World *w = world_random(&seed, &shape);
                _cleanup_placement_plan_ PlacementPlan plan = { 0 };

                w->input.explain = true;
                plan = plan_of(w);
                for (size_t k = 0; k < plan.n_choices; k++)
                        check_alternatives(w, &plan, k);
        }
}
