/* Sentences about places: each basis, each criterion, sets and sizes for people. */

#include "../../support/test.h"

#include "plan-example.h"
#include "tidbnumad/publish/plan-text.h"

static void check_why(const PlanReportInstance *instance, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        plan_words_why(instance, &text);
        assert_string_equal(text.data, expected);
}

PLAN_TEST(basis) {
        check_why(&e->instances[0], "nearest to its device (R4); leaves reserved nodes free (R2)");
        check_why(&e->instances[1], "it is bound there and still fits");
        check_why(&e->instances[2], placement_refusal_to_string(REFUSAL_TOO_FEW_NODES));
        check_why(&e->instances[3], "its policy names the node");
        e->placements[3].nodes = node_set("0-1");
        check_why(&e->instances[3], "its policy names the nodes");
        e->instances[0].bound = true;
        check_why(&e->instances[0], "it is bound there and still fits");
        e->instances[1].bound = false;
        check_why(&e->instances[1], "it is placed there and still fits");
        e->instances[0].bound = false;
        e->instances[0].grounds.outdone = true;
        check_why(&e->instances[0], "an earlier plan placed it there");
        e->instances[2].unplaced = "released on request";
        check_why(&e->instances[2], "released on request");
}

static void decide(PlanReportInstance *i, uint32_t criteria) {
        i->grounds = (PlacementGrounds){ .decides = criteria };
}

PLAN_TEST(chosen) {
        PlanReportInstance *i = &e->instances[0];

        decide(i, 1 << WEIGH_LOAD | 1 << WEIGH_EXCLUSIVE);
        check_why(i, "alone on its node (R3); its CPUs are the least loaded");
        decide(i, 1 << WEIGH_LOAD | 1 << WEIGH_EXCLUSIVE | 1 << WEIGH_RESERVED);
        /* Two suffice: the weightiest, and that of the nearest rivals. */
        check_why(i, "alone on its node (R3); its CPUs are the least loaded");
        e->placements[0].nodes = node_set("0-1");
        decide(i, 1 << WEIGH_NUMBER | 1 << WEIGH_EXCLUSIVE);
        check_why(i,
                  "alone on its nodes (R3); of equal nodes the lowest number"); /* a tie is one */
        decide(i, 1 << WEIGH_NUMBER);
        check_why(i, "a tie with other nodes; the lowest number is taken");
        i->n_alternatives = 0; /* what is kept of them does not matter */
        check_why(i, "a tie with other nodes; the lowest number is taken");
        decide(i, 0);
        check_why(i, "a tie with other nodes");
        i->n_feasible = 1;
        check_why(i, "no other nodes are available to it");
}

/* Where there are too few nodes for all, the best place is not said to be its own. */
PLAN_TEST(chosen_and_shared) {
        PlanReportInstance *i = &e->instances[0];

        decide(i, 1 << WEIGH_EXCLUSIVE | 1 << WEIGH_SPREAD);
        check_why(i, "alone on its node (R3); one per socket");
        i->grounds.others = 2;
        check_why(i, "no other exclusive instance on its node (R3); one per socket");
        i->grounds.exclusive = i->grounds.in_sockets = 1;
        check_why(i, "fewest exclusive instances on its node (R3); spread over the sockets");
        decide(i, 1 << WEIGH_POLICY | 1 << WEIGH_RESERVED);
        check_why(i, "no other of its policy on its node (R3); leaves reserved nodes free (R2)");
        i->grounds.of_policy = 1;
        i->reserved = node_set("1");
        check_why(i, "fewest of its policy on its node (R3); fewest reserved nodes (R2)");
        decide(i, 1 << WEIGH_MEMORY);
        check_why(i, "has the memory for it (R10)");
        i->warnings = WARN_MEMORY;
        check_why(i, "lacks the least memory (R10)");
}

PLAN_TEST(alternative) {
        _cleanup_text_ Text text = { 0 };

        plan_words_alternative(&e->alternatives[0], &text);
        assert_string_equal(text.data, "node 0: device 32 against 10 (R4)");
        text_reset(&text);
        e->alternatives[1].criterion = WEIGH_SPREAD;
        plan_words_alternative(&e->alternatives[1], &text);
        assert_string_equal(text.data, "nodes 0-1: spread 1 against 0");
}

TEST(criteria_have_words) {
        for (unsigned c = 0; c < N_CRITERIA; c++)
                assert_true(strlen(plan_words_criterion(c)) > 10);
}

static void check_set(const char *list, const char *expected) {
        const CpuSet set = cpu_set(list);
        _cleanup_text_ Text text = { 0 };

        plan_words_set(ID_VIEW(&set), &text);
        assert_string_equal(text.data, expected);
}

TEST(sets) {
        _cleanup_text_ Text text = { 0 };
        CpuSet many = { 0 };

        check_set("", "-");
        check_set("0-3,8", "0-3,8");
        check_set("0,2,4,6,8,10,12,14,16,1", "0-2,4,6,8,10,12,14,16");
        check_set("0,2,4,6,8,10,12,14,16,8", "0,2,4,6,8,10,12,14,16");
        check_set("100,102,104,106,108,110", "100,102,104,106,108,110"); /* 23 */
        check_set("0,2,4,6,8,10,12,14,16,18,20", "0,2,…,20 (11)");
        check_set("100,102,104,106,108,110,112", "100,102,…,112 (7)");
        check_set("0-1023,2048-3071,4096-5119", "0-1023,…,4096-5119 (3072)");
        check_set("0-31,64-95,128-159,192-193", "0-31,…,192-193 (98)");
        for (uint32_t i = 0; i < CPU_SET_MAX; i += 2)
                id_set_add(&many, i);
        plan_words_set(ID_VIEW(&many), &text);
        assert_string_equal(text.data, "0,…,8190 (4096)");
}

static void check_bytes(uint64_t bytes, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        plan_words_bytes(bytes, &text);
        assert_string_equal(text.data, expected);
}

TEST(bytes) {
        check_bytes(0, "0 B");
        check_bytes(1023, "1023 B");
        check_bytes(1024, "1.0 KiB");
        check_bytes(1536, "1.5 KiB");
        check_bytes((UINT64_C(1) << 20) - 1, "1.0 MiB");
        check_bytes(UINT64_C(64) << 30, "64.0 GiB");
        check_bytes(UINT64_C(3) << 40, "3.0 TiB");
        check_bytes(UINT64_MAX, "16.0 EiB");
}
