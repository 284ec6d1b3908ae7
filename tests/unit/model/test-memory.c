/* What an instance may still touch, and the pools that have it. */
#include "../../support/id-sets.h"
#include "../../support/test.h"

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

TEST(nodes_of_a_memory_policy) {
        assert_ids(memory_policy_nodes("bind:0"), "0");
        assert_ids(memory_policy_nodes("prefer (many):0-1"), "0-1");
        assert_ids(memory_policy_nodes("weighted interleave:0,2"), "0,2");
        assert_ids(memory_policy_nodes("bind=static:3"), "3");
        assert_ids(memory_policy_nodes("bind=relative:3"), ""); /* the fourth that it may use */
        assert_ids(memory_policy_nodes("local"), "");
        assert_ids(memory_policy_nodes("default"), "");
        assert_ids(memory_policy_nodes(NULL), "");
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
        assert_int_equal(huge_need_untouched(&need, MIB2), 26 - 4);
        huge_need_raise(&need, &(HugeNeed){ 0 });
        assert_int_equal(huge_need_untouched(&need, MIB2), 26 - 4);
}

TEST(more_sizes_than_any_machine_has) {
        HugeNeed need = { 0 };

        for (uint64_t i = 1; i <= HUGE_SIZES_MAX + 2; i++)
                huge_need_add(&need, &(HugeUse){ .page_bytes = i << 16, .n_mapped = i });
        assert_int_equal(need.n, HUGE_SIZES_MAX);
        assert_int_equal(huge_need_untouched(&need, UINT64_C(1) << 16), 1);
}

/* --- Which processors count what. The codes are repeated here, as numbers of the vendors' files
 * --- */

enum { RAW = 4 };

typedef struct Known {
        Processor processor;
        const char *source, *coverage;
        uint64_t local, remote; /* 0: not counted */
} Known;

static const Known known[] = {
        { { PROCESSOR_INTEL, 6, 85 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 106 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 108 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 143 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 207 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 173 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_INTEL, 6, 174 }, "intel", "loads", 0x1d3, 0x2d3 },
        { { PROCESSOR_AMD, 23, 49 }, "amd", "demand-fills", 0x843, 0x4043 }, /* Rome */
        { { PROCESSOR_AMD, 23, 0x30 }, "amd", "demand-fills", 0x843, 0x4043 },
        { { PROCESSOR_AMD, 25, 1 }, "amd", "fills", 0x844, 0x4044 },  /* Milan */
        { { PROCESSOR_AMD, 25, 17 }, "amd", "fills", 0x844, 0x4044 }, /* Genoa */
        { { PROCESSOR_AMD, 25, 160 }, "amd", "fills", 0x844, 0x4044 },
        { { PROCESSOR_AMD, 26, 2 }, "amd", "fills", 0x844, 0x4044 }, /* Turin */
        { { PROCESSOR_AMD, 26, 0x70 }, "amd", "fills", 0x844, 0x4044 },
        { { PROCESSOR_ARM, 0, 0xd0c }, "arm", "other-chip", 0, 0x31 },
        { { PROCESSOR_ARM, 0, 0xd40 }, "arm", "other-chip", 0, 0x31 },
        { { PROCESSOR_ARM, 0, 0xd49 }, "arm", "other-chip", 0, 0x31 },
        { { PROCESSOR_ARM, 0, 0xd4f }, "arm", "other-chip", 0, 0x31 },
};

static void assert_event(const AccessEvent *event, uint64_t config) {
        assert_int_equal(event->given, config != 0);
        if (!event->given)
                return;
        assert_int_equal(event->type, RAW);
        assert_int_equal(event->config, config);
}

TEST(known) {
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
                AccessEvents found;

                assert_int_equal(access_events_find(&known[i].processor, &found), 0);
                assert_string_equal(found.source, known[i].source);
                assert_string_equal(found.coverage, known[i].coverage);
                assert_event(&found.events[LOCALITY_LOCAL], known[i].local);
                assert_event(&found.events[LOCALITY_REMOTE], known[i].remote);
        }
}

TEST(unknown) {
        const Processor unknown[] = {
                { PROCESSOR_OTHER, 6, 85 },
                { PROCESSOR_INTEL, 6, 45 },  /* Sandy Bridge: another event */
                { PROCESSOR_INTEL, 6, 151 }, /* a client */
                { PROCESSOR_INTEL, 15, 6 },
                { PROCESSOR_AMD, 23, 1 }, /* Naples: no such event */
                { PROCESSOR_AMD, 23, 0x2f },
                { PROCESSOR_AMD, 24, 0 },
                { PROCESSOR_AMD, 26, 0x50 }, /* not Zen 5 */
                { PROCESSOR_AMD, 26, 0x80 },
                { PROCESSOR_AMD, 21, 1 },
                { PROCESSOR_ARM, 0, 0xd4a }, /* Neoverse E1 */
                { PROCESSOR_ARM, 0, 0xd01 },
        };
        AccessEvents found = { .source = "as it was" };

        for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
                assert_int_equal(access_events_find(&unknown[i], &found), -ENOENT);
        assert_string_equal(found.source, "as it was");
}

/* It counts, and nothing of it belongs to a thread. */
TEST(by_die) {
        const Processor kunpeng = { PROCESSOR_HISILICON, 0, 0xd01 };
        AccessEvents found = { .source = "as it was" };

        assert_int_equal(access_events_find(&kunpeng, &found), -EOPNOTSUPP);
        assert_string_equal(found.source, "as it was");
}

TEST(equal) {
        const AccessEvents none = { .source = NULL };
        AccessEvents a, b;

        assert_int_equal(access_events_find(&known[0].processor, &a), 0);
        b = a;
        assert_true(access_events_equal(&a, &b));
        b.events[LOCALITY_REMOTE].config++;
        assert_false(access_events_equal(&a, &b));
        b = a;
        b.events[LOCALITY_LOCAL].type++;
        assert_false(access_events_equal(&a, &b));
        b = a;
        b.events[LOCALITY_LOCAL].given = false;
        assert_false(access_events_equal(&a, &b));
        b = a;
        b.source = "policy";
        assert_false(access_events_equal(&a, &b));
        assert_false(access_events_equal(&a, &none));
        assert_true(access_events_equal(&none, &none));
}

TEST(words) {
        assert_string_equal(locality_to_string(LOCALITY_LOCAL), "local");
        assert_string_equal(locality_to_string(LOCALITY_REMOTE), "remote");
}
