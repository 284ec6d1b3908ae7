/* Where an instance is to be, on a machine with a memory-only node and one without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/id-sets.h"
#include "tidbnumad/plan/placement.h"

/* Nodes 0 and 1 as usual, 2 without CPUs, 3 without memory; 4 is missing, 5 as usual. */
static Placement place_listener(const Policy *policy, const char *unit, const uint16_t *ports,
                                size_t n_ports) {
        Node nodes[5] = { { .id = 0, .memory_bytes = 1 },
                          { .id = 1, .memory_bytes = 1 },
                          { .id = 2, .memory_bytes = 1 },
                          { .id = 3 },
                          { .id = 5, .memory_bytes = 1 } };
        Topology topology = { .nodes = nodes, .n_nodes = 5 };

        nodes[0].cpus = ids("0-1,8-9");
        nodes[1].cpus = ids("2-3");
        nodes[3].cpus = ids("4-5");
        nodes[4].cpus = ids("6-7");
        return placement_build(&topology, policy, unit, ports, n_ports);
}

static Placement place(const Policy *policy, const char *unit) {
        return place_listener(policy, unit, NULL, 0);
}

static Placement place_on(const char *nodes) {
        Policy policy = { .nodes = ids(nodes) };

        return place(&policy, "a.service");
}

static void assert_placed(const char *nodes, const char *cpus) {
        Placement p = place_on(nodes);

        assert_ids(p.nodes, nodes);
        assert_ids(p.cpus, cpus);
        assert_string_equal(p.reason, "");
}

static void assert_not_placed(const char *nodes, const char *reason) {
        Placement p = place_on(nodes);

        assert_ids(p.nodes, "");
        assert_ids(p.cpus, "");
        assert_string_equal(p.reason, reason);
}

static void test_nodes(void **state) {
        (void)state;
        assert_placed("0", "0-1,8-9");
        assert_placed("5", "6-7");
        assert_placed("0-1", "0-3,8-9");
}

static void test_nodes_that_lack_something(void **state) {
        (void)state;
        assert_not_placed("", "its policy names no nodes for it: watched and reported only");
        assert_not_placed("4", "its policy names a node that this machine does not have now");
        assert_not_placed("0,4", "its policy names a node that this machine does not have now");
        assert_not_placed("2", "its nodes have no CPU that is online; name a node with CPUs");
        assert_not_placed("3", "its nodes have no memory; name a node with memory");
        /* One has the CPUs, the other the memory: a home together. */
        assert_placed("2-3", "4-5");
        assert_placed("0,2", "0-1,8-9");
}

static void test_cpus_of_the_nodes(void **state) {
        Policy policy = { .nodes = ids("0-1"), .cpus = ids("1,8") };
        Placement p = place(&policy, NULL);

        (void)state;
        assert_ids(p.nodes, "0-1");
        assert_ids(p.cpus, "1,8");
        policy.cpus = ids("1,6"); /* 6 is of node 5 */
        p = place(&policy, NULL);
        assert_ids(p.nodes, "");
        assert_ids(p.cpus, "");
        assert_string_equal(p.reason,
                            "its policy names CPUs that are not online CPUs of its nodes");
        policy.nodes = ids("4"); /* what is wrong with the nodes is said first */
        assert_string_equal(place(&policy, NULL).reason,
                            "its policy names a node that this machine does not have now");
}

static void test_instance_goes_before_policy(void **state) {
        PolicyInstance instances[2] = { { .match = { .unit = (char *)"a-*.service" },
                                          .nodes = ids("1") },
                                        { .match = { .unit = (char *)"b.service" } } };
        Policy policy = { .nodes = ids("0"), .instances = instances, .n_instances = 2 };

        (void)state;
        assert_ids(place(&policy, "a-1.service").nodes, "1");
        assert_ids(place(&policy, "a-1.service").cpus, "2-3");
        assert_ids(place(&policy, "c.service").nodes, "0");
        assert_ids(place(&policy, NULL).nodes, "0");
        /* An instance without nodes is watched, also where the policy has some. */
        assert_ids(place(&policy, "b.service").nodes, "");
        /* The policy's own nodes are not looked at for it. */
        policy.nodes = ids("4");
        assert_ids(place(&policy, "a-1.service").nodes, "1");
}

static void test_how_comes_from_the_policy(void **state) {
        Policy policy = { .nodes = ids("0"),
                          .memory = MEMORY_PREFERRED,
                          .migrate = MIGRATE_NONE,
                          .rate_bytes_per_sec = 77 };
        Placement p;

        (void)state;
        p = place(&policy, NULL);
        assert_int_equal(p.memory, MEMORY_PREFERRED);
        assert_int_equal(p.migrate, MIGRATE_NONE);
        assert_int_equal(p.rate_bytes_per_sec, 77);
        policy.nodes = ids("");
        p = place(&policy, NULL);
        assert_int_equal(p.memory, MEMORY_PREFERRED);
}

/* Before it listens its place is not known, and the policy's own nodes would be a wrong one. */
static void test_by_port(void **state) {
        PolicyInstance instances[2] = {
                { .match = { .port = 4001 }, .nodes = ids("1") },
                { .match = { .port = 4002 }, .nodes = ids("5") },
        };
        const Policy policy = { .nodes = ids("0"), .instances = instances, .n_instances = 2 };
        const uint16_t second[] = { 80, 4002 }, other[] = { 4003 };
        Placement p = place(&policy, NULL);

        (void)state;
        assert_ids(p.nodes, "");
        assert_string_equal(p.reason,
                            "its policy places it by its port, and it listens on none yet");
        assert_ids(place_listener(&policy, NULL, second, 2).nodes, "5");
        assert_ids(place_listener(&policy, NULL, other, 1).nodes, "0");
        instances[0].match.unit = (char *)"a.service"; /* not its entry, and the next one may be */
        assert_ids(place(&policy, "b.service").nodes, "");
        instances[1].match.unit = (char *)"a.service";
        assert_ids(place(&policy, "b.service").nodes, "0"); /* no entry speaks of it */
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nodes),
                cmocka_unit_test(test_by_port),
                cmocka_unit_test(test_nodes_that_lack_something),
                cmocka_unit_test(test_cpus_of_the_nodes),
                cmocka_unit_test(test_instance_goes_before_policy),
                cmocka_unit_test(test_how_comes_from_the_policy),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
