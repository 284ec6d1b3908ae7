/* What an instance may still touch, and the pools that have it. */
#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/model/memory.h"

enum { MIB2 = 2 << 20, GIB1 = 1 << 30 };

static Node nodes[3] = { { .id = 0 }, { .id = 1 }, { .id = 4 } };
static const Topology topology = { .nodes = nodes, .n_nodes = 3 };

/* Two sizes; free pages of each node. */
typedef struct Pools {
        uint64_t small[3], large[3];
        HugePools pools;
} Pools;

static void pools_init(Pools *p, uint64_t on_0, uint64_t on_1, uint64_t on_4) {
        *p = (Pools){ .small = { on_0, on_1, on_4 } };
        p->pools = (HugePools){
                .list = { { .page_bytes = MIB2, .n_reserved = 7, .n_free = p->small },
                          { .page_bytes = GIB1, .n_reserved = 1, .n_free = p->large } },
                .n = 2
        };
}

static HugeNeed need_of(uint64_t n_mapped, uint64_t n_touched, uint64_t n_inside) {
        HugeNeed need = { 0 };

        huge_need_add(&need, &(HugeUse){ .page_bytes = MIB2,
                                         .n_mapped = n_mapped,
                                         .n_touched = n_touched,
                                         .n_inside = n_inside });
        return need;
}

static bool lacks(const Pools *p, const HugeNeed *need, const char *on) {
        const NodeSet set = node_set(on);

        return huge_pools_lack(&p->pools, &topology, need, &set, NULL);
}

TEST(what_is_touched_is_not_needed_again) {
        HugeNeed need = need_of(26, 2, 2);
        Pools p;

        pools_init(&p, 20, 18, 0);
        assert_true(lacks(&p, &need, "1"));
        assert_false(lacks(&p, &need, "0-1"));
        need = need_of(26, 8, 8);
        assert_false(lacks(&p, &need, "1")); /* 18 of 18 */
        need = need_of(26, 7, 7);
        assert_true(lacks(&p, &need, "1"));
}

/* Then no other binding would help. */
TEST(nothing_is_kept_from_it_where_no_other_node_has_pages) {
        const HugeNeed need = need_of(26, 0, 0);
        Pools p;

        pools_init(&p, 0, 18, 0);
        assert_false(lacks(&p, &need, "1"));
        p.small[2] = 1;
        assert_true(lacks(&p, &need, "1"));
        assert_true(lacks(&p, &need, "0"));
}

TEST(shortage_in_numbers) {
        const HugeNeed need = need_of(26, 2, 0);
        const NodeSet set = node_set("1,4");
        HugeShortage s;
        Pools p;

        pools_init(&p, 5, 3, 4);
        assert_true(huge_pools_lack(&p.pools, &topology, &need, &set, &s));
        assert_int_equal(s.page_bytes, MIB2);
        assert_int_equal(s.n_wanted, 24);
        assert_int_equal(s.n_free, 7);
        assert_int_equal(s.n_elsewhere, 5);
}

/* Each size is a pool of its own. */
TEST(sizes) {
        HugeNeed need = need_of(4, 0, 0);
        Pools p;

        pools_init(&p, 100, 100, 100);
        huge_need_add(&need, &(HugeUse){ .page_bytes = GIB1, .n_mapped = 2 });
        assert_false(lacks(&p, &need, "0")); /* nobody has any */
        p.large[1] = 2;
        assert_true(lacks(&p, &need, "0"));
        assert_false(lacks(&p, &need, "1"));
}

/* Touched elsewhere, it must be found on its nodes by the next start. */
TEST(restart) {
        const HugeNeed need = need_of(26, 26, 20), restart = huge_need_of_restart(&need);
        Pools p;

        pools_init(&p, 14, 0, 0);
        assert_false(lacks(&p, &need, "1"));
        assert_true(lacks(&p, &restart, "1"));
        p.small[1] = 6;
        assert_false(lacks(&p, &restart, "1"));
}

TEST(unknown_is_all_that_is_reserved) {
        HugeNeed need;
        Pools p;

        pools_init(&p, 100, 6, 0);
        need = huge_need_unknown(&p.pools);
        assert_int_equal(huge_need_untouched(&need, MIB2), 7);
        assert_int_equal(huge_need_untouched(&need, GIB1), 1);
        assert_true(lacks(&p, &need, "1"));
        p.small[1] = 7;
        assert_false(lacks(&p, &need, "1"));
}

TEST(sums) {
        HugeNeed need = need_of(10, 4, 4), other = need_of(26, 2, 2);

        huge_need_add_untouched(&need, &other);
        assert_int_equal(huge_need_untouched(&need, MIB2), 6 + 24);
        need = need_of(10, 4, 4);
        huge_need_raise(&need, &other);
        assert_int_equal(huge_need_mapped(&need, MIB2), 26);
        huge_need_raise(&need, &(HugeNeed){ 0 });
        assert_int_equal(huge_need_mapped(&need, MIB2), 26);
}

TEST(more_sizes_than_any_machine_has) {
        HugeNeed need = { 0 };

        for (uint64_t i = 1; i <= HUGE_SIZES_MAX + 2; i++)
                huge_need_add(&need, &(HugeUse){ .page_bytes = i << 16, .n_mapped = i });
        assert_int_equal(need.n, HUGE_SIZES_MAX);
        assert_int_equal(huge_need_mapped(&need, UINT64_C(1) << 16), 1);
}
