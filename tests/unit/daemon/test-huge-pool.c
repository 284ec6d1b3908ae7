/* Pools of reserved huge pages: the guard widens to those that have what may still be touched, and
 * a unit is prepared only within nodes that have what its last run had mapped. What the process has
 * mapped is the test's, too. */
#include "guard-host.h"
#include "tidbnumad/daemon/units/units.h"

static HugeMaps maps;
static int maps_error;
static unsigned n_reads;

int __wrap_worker_read_huge_maps(Workers *workers, const Members *members, const NodeSet *nodes,
                                 HugeMaps *ret);
int __wrap_worker_read_huge_maps(_unused_ Workers *workers, _unused_ const Members *members,
                                 _unused_ const NodeSet *nodes, HugeMaps *ret) {
        n_reads++;
        *ret = maps;
        return maps_error;
}

static void set_touched(uint64_t n_mapped, uint64_t n_touched) {
        maps = (HugeMaps){ .list = { { .page_bytes = MIB(2),
                                       .n_mapped = n_mapped,
                                       .n_touched = n_touched,
                                       .n_inside = n_touched } },
                           .n = 1 };
}

static void set_pool(unsigned node, unsigned n_pages, unsigned n_free) {
        const char *folder = fmt("sys/devices/system/node/node%u/hugepages/hugepages-2048kB", node);

        fake_write(&kernel.tree, fmt("%s/nr_hugepages", folder), fmt("%u\n", n_pages));
        fake_write(&kernel.tree, fmt("%s/free_hugepages", folder), fmt("%u\n", n_free));
}

static void set_reserved(unsigned n) {
        fake_write(&kernel.tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "90\n");
        fake_write(&kernel.tree, "sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages",
                   fmt("%u\n", n));
}

/* 30 pages a node; 26 are mapped, 2 of them touched on node 1. */
static void pools_init(TestHost *h) {
        host_init(h);
        n_reads = 0;
        maps_error = 0;
        for (unsigned node = 0; node < NODES; node++)
                set_pool(node, 30, 30);
        set_pool(1, 30, 28);
        set_reserved(24);
        set_touched(26, 2);
}
#define POOL_TEST(test) TEST_WITH(test, TestHost, h, pools_init, host_done)

POOL_TEST(nothing_while_its_nodes_have_enough) {
        (void)serve(h, 10, "1");
        seconds(h, 5);
        set_pool(1, 30, 24); /* to the page */
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 0);
        assert_int_equal(n_reads, 1);
}

/* What it has touched itself is no shortage; what another program took is. */
POOL_TEST(who_took_the_pages) {
        const Instance *i = serve(h, 10, "1");

        seconds(h, 1);
        set_pool(1, 30, 10);
        set_touched(26, 20);
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 0);
        assert_int_equal(n_reads, 2);
        set_pool(1, 30, 5);
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 1);
        assert_mems(i, "0-1"); /* the nearest, the lowest */
        assert_state(h, i, INSTANCE_WIDENED, REASON_HUGE_POOL);
}

POOL_TEST(as_many_nodes_as_it_takes) {
        const Instance *i = serve(h, 10, "1");
        set_pool(0, 30, 0);
        set_pool(1, 30, 3);
        set_pool(2, 30, 20);
        set_pool(3, 30, 1);
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 1);
        assert_mems(i, "1-3");
}

/* A group above does not allow the first choice. */
POOL_TEST(a_node_that_is_not_allowed) {
        const Instance *i = serve(h, 10, "1");

        kernel.forbidden = node_set("0");
        set_pool(1, 30, 3);
        seconds(h, 2);
        assert_int_equal(kernel.n_widened, 1);
        assert_mems(i, "1-2");
        assert_state(h, i, INSTANCE_WIDENED, REASON_HUGE_POOL);
}

/* Pages on nodes without CPUs come last, as with base pages. */
POOL_TEST(nodes_without_cpus_last) {
        const Instance *i = serve(h, 10, "1");
        h->nodes[0].cpus = h->nodes[2].cpus = (CpuSet){ 0 };
        set_pool(1, 30, 3);
        seconds(h, 1);
        assert_mems(i, "1,3");
        set_pool(1, 30, 0);
        set_pool(3, 30, 0);
        seconds(h, 1);
        assert_mems(i, "0-1,3");
}

/* It is narrowed again once its own nodes have had enough for a minute. */
POOL_TEST(and_back) {
        const Instance *i = serve(h, 10, "1");

        set_pool(1, 30, 3);
        seconds(h, 1);
        assert_mems(i, "0-1");
        seconds(h, 70);
        assert_mems(i, "0-1");
        set_pool(1, 30, 28);
        seconds(h, 50);
        assert_mems(i, "0-1");
        seconds(h, 15);
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
        assert_mems(i, "1");
}

/* It has mapped more since it was bound. */
POOL_TEST(a_larger_mapping) {
        (void)serve(h, 10, "1");
        seconds(h, 1);
        set_touched(52, 2);
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 0); /* as the pools are read, nothing has changed */
        set_reserved(50);
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 1);
}

/* Two on a node, each of which would fit alone. One that comes then is not narrowed to it. */
POOL_TEST(others_on_the_node) {
        const Instance *late;

        set_reserved(4);
        set_touched(4, 2);
        (void)serve(h, 10, "1");
        (void)serve(h, 11, "1");
        set_reserved(28);
        set_touched(16, 2);
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 0);
        late = serve(h, 12, "1");
        assert_state(h, late, INSTANCE_PARTLY, REASON_HUGE_POOL);
        assert_mems(late, ALL_NODES);
        set_reserved(30);
        set_touched(17, 2);
        seconds(h, 1);
        assert_true(kernel.n_widened > 0);
}

POOL_TEST(what_cannot_be_read_may_be_all_that_is_reserved) {
        maps_error = -ETIME;
        (void)serve(h, 10, "1");
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 0); /* 24 of 28 */
        set_reserved(29);
        seconds(h, 2);
        assert_int_equal(kernel.n_widened, 1);
}

POOL_TEST(nothing_can_be_done) {
        const Instance *i = serve(h, 10, "1");

        h->policies[0].on_full = ON_FULL_KEEP;
        set_pool(1, 30, 3);
        seconds(h, 1);
        assert_int_equal(kernel.n_widened, 0);
        assert_state(h, i, INSTANCE_BOUND, REASON_HUGE_POOL);
        assert_contains(reported(h, i).reason, "SIGBUS");
}

/* Nobody's mappings are read where the host has no such pages. */
HOST_TEST(a_host_without_pools) {
        n_reads = 0;
        (void)serve(h, 10, "1");
        seconds(h, 1);
        fake_write(&kernel.tree, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n");
        seconds(h, 1);
        assert_int_equal(n_reads, 0);
        assert_int_equal(kernel.n_widened, 0);
}

/* --- units --- */

static UnitDesired desired(TestHost *h, bool known, uint64_t n_mapped) {
        Unit unit = { .units = &h->rooms.units,
                      .place = { .name = (char *)"tidb-4000.service",
                                 .label = (char *)"tidb-4000",
                                 .known = true,
                                 .loaded = true,
                                 .uid_known = true } };
        Policy *policy = &h->policies[SERVICES - 1];

        policy->name = (char *)"units";
        policy->match.unit = (char *)"tidb-4000.service";
        policy->match.exe = (char *)"tidb-server";
        h->rooms.host.policies.policies = policy;
        h->rooms.host.policies.n_policies = 1;
        unit.place.planned.known = true;
        unit.place.planned.placement = (Placement){
                .nodes = node_set("1"), .cpus = cpu_set("1"), .memory = MEMORY_BIND, .reason = ""
        };
        unit.place.facts.huge_known = known;
        huge_need_add(&unit.place.facts.huge,
                      &(HugeUse){ .page_bytes = MIB(2), .n_mapped = n_mapped });
        return unit_desired_make(&unit);
}

POOL_TEST(a_unit_whose_need_is_there) {
        UnitDesired w = desired(h, true, 26);

        assert_string_equal(w.reason, "");
        assert_ids(w.cpus, "1");
        assert_ids(w.mems, "1");
        set_pool(1, 30, 25); /* one too few: its start would fail */
        w = desired(h, true, 26);
        assert_ids(w.cpus, "1");
        assert_ids(w.mems, "");
        assert_int_equal(w.code, REASON_HUGE_POOL);
        w = desired(h, true, 0);
        assert_ids(w.mems, "1");
}

/* That others on the node may touch is not there for it. */
POOL_TEST(a_unit_beside_others) {
        UnitDesired w;

        (void)serve(h, 10, "1");
        seconds(h, 1);
        w = desired(h, true, 4);
        assert_ids(w.mems, "1");
        w = desired(h, true, 5);
        assert_ids(w.mems, "");
}

POOL_TEST(a_unit_that_has_not_run) {
        UnitDesired w = desired(h, false, 0);

        assert_ids(w.cpus, "1");
        assert_ids(w.mems, "");
        assert_non_null(strstr(w.reason, "not known before it has run"));
        assert_int_equal(w.code, REASON_NONE);
        set_pool(0, 0, 0);
        set_pool(2, 0, 0);
        set_pool(3, 0, 0); /* nothing is kept from it */
        w = desired(h, false, 0);
        assert_ids(w.mems, "1");
        assert_string_equal(w.reason, "");
}
