/* The planner's hard rules: what is refused for what, what is explicit, and which CPUs come
 * with the nodes. */

#include "../../support/test.h"

#include "placement-one.h"

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
        for (unsigned i = 0; i < 4; i++) {
                id_set_subtract(&one->world->nodes[i].first_threads, &one->world->nodes[i].cpus);
                id_set_add(&one->world->nodes[i].first_threads, 4 * i);
                id_set_add(&one->world->nodes[i].first_threads, 4 * i + 2);
        }
        one->policy->cpus.choice = CPUS_ONE_PER_CORE;
        assert_placed(one, BASIS_CHOSEN, "0", "0,2", 0);
        one->in->allowed_cpus = cpu_set("1-3,4-15");
        assert_placed(one, BASIS_CHOSEN, "0", "2", 0);
        one->in->allowed_cpus = cpu_set("1,3,5,14"); /* first threads of node 3 only */
        assert_placed(one, BASIS_CHOSEN, "3", "14", 0);
        one->in->allowed_cpus = cpu_set("1,3,5,7,9");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
        one->policy->place.count_is_set = false;
        one->policy->place.nodes = node_set("0");
        assert_refused(one, REFUSAL_CGROUP_CPUS);
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
        assert_placed(one, BASIS_CHOSEN, "0", "0-3", WARN_RESERVED);
        one->world->host.reserve.strict = true;
        assert_refused(one, REFUSAL_RESERVED);
        one->world->host.reserve.nodes = node_set("0");
        assert_placed(one, BASIS_CHOSEN, "1", "4-7", 0);
        give_count(one->policy, 2);
        assert_refused(one, REFUSAL_RESERVED);
        one->world->host.reserve.kind = RESERVE_NONE;
        assert_placed(one, BASIS_CHOSEN, "0-1", "0-7", 0);
}

TEST(a_refusal_by_a_cgroup_names_it) {
        const PlacementLimit limit = { "/db.slice", cpu_set("0-7"), node_set("0") };
        _cleanup_text_ Text by_group = { 0 }, unknown = { 0 }, other = { 0 };

        placement_refusal_append(REFUSAL_CGROUP_NODES, &limit, &by_group);
        assert_non_null(strstr(by_group.data,
                               "leaves (/db.slice allows CPUs 0-7 and memory nodes 0); widen "));
        placement_refusal_append(REFUSAL_CGROUP_NODES, &(PlacementLimit){ 0 }, &unknown);
        assert_string_equal(unknown.data, placement_refusal_to_string(REFUSAL_CGROUP_NODES));
        placement_refusal_append(REFUSAL_NO_MEMORY, &limit, &other);
        assert_string_equal(other.data, placement_refusal_to_string(REFUSAL_NO_MEMORY));
}
