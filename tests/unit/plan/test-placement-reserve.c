/* `host.reserve.cpus`: cores of a node that cannot be spared. */
#include "../../support/test.h"

#include "placement-support.h"

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
