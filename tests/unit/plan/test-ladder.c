/* By which means an instance is bound. */

#include "../../support/test.h"

#include "tidbnumad/plan/step.h"

static const LadderInput SERVICE = { .host = BACKEND_SYSTEMD, .is_service = true, .alone = true };

static void assert_rung(const LadderInput *in, Rung rung, const char *why, Reason code) {
        const Ladder l = ladder_choose(in);

        assert_int_equal(l.rung, rung);
        assert_int_equal(l.code, code);
        if (*why)
                assert_non_null(strstr(l.why, why));
        else
                assert_null(l.why);
}

TEST(a_service_of_its_own_is_bound_by_its_unit) {
        LadderInput in = SERVICE;

        assert_rung(&in, RUNG_UNIT, "", REASON_NONE);
        in.host = BACKEND_AUTO; /* of a dump */
        assert_rung(&in, RUNG_UNIT, "", REASON_NONE);
}

/* Its unit would keep the values at its next start. */
TEST(what_could_not_be_started_again_is_bound_by_affinity) {
        LadderInput in = SERVICE;

        in.start = "numactl in its start asks for others";
        assert_rung(&in, RUNG_AFFINITY, "numactl", REASON_START_LIMITS);
        in.in_scope = true;
        assert_rung(&in, RUNG_SCOPE, "", REASON_NONE);
        in = (LadderInput){ .host = BACKEND_CGROUP1, .is_service = true, .alone = true };
        in.start = "numactl in its start asks for others";
        assert_rung(&in, RUNG_DIRECTORY, "", REASON_NONE);
}

TEST(what_shares_its_service_is_bound_by_affinity) {
        LadderInput in = SERVICE;

        in.alone = false;
        assert_true(ladder_needs_scope(&in));
        in.no_scope = "unrelated processes share its unit";
        in.no_scope_code = REASON_SHARED_UNIT;
        assert_rung(&in, RUNG_AFFINITY, "share its unit", REASON_SHARED_UNIT);
}

TEST(without_a_service_it_gets_a_scope_if_that_loosens_nothing) {
        LadderInput in = { .host = BACKEND_SYSTEMD, .alone = true };

        assert_true(ladder_needs_scope(&in));
        assert_rung(&in, RUNG_SCOPE, "", REASON_NONE);
        in.no_scope = "its scope has limits of its own (TasksMax=)";
        in.no_scope_code = REASON_UNIT_LIMITS;
        assert_rung(&in, RUNG_AFFINITY, "TasksMax=", REASON_UNIT_LIMITS);
        in.in_scope = true; /* it was moved before the limits came */
        assert_false(ladder_needs_scope(&in));
        assert_rung(&in, RUNG_SCOPE, "", REASON_NONE);
}

TEST(affinity_says_what_the_host_only_seems_to_have) {
        LadderInput in = { .host = BACKEND_AFFINITY };

        assert_rung(&in, RUNG_AFFINITY, "", REASON_NONE);
        in.weaker = "it cannot be written";
        assert_rung(&in, RUNG_AFFINITY, "cannot be written", REASON_NONE);
}

/* The step refuses, and says by whom. */
TEST(a_contested_scope_is_a_scope) {
        const LadderInput in = { .host = BACKEND_SYSTEMD,
                                 .no_scope = "something else has moved it",
                                 .no_scope_code = REASON_CONTESTED };

        assert_rung(&in, RUNG_SCOPE, "", REASON_NONE);
}

TEST(the_policy_asks_for_affinity) {
        LadderInput in = SERVICE;

        in.policy = POLICY_BACKEND_AFFINITY;
        assert_false(ladder_needs_scope(&in));
        assert_rung(&in, RUNG_AFFINITY, "backend: affinity", REASON_NONE);
        in.host = BACKEND_CGROUP1;
        assert_rung(&in, RUNG_AFFINITY, "backend: affinity", REASON_NONE);
        in.host = BACKEND_AFFINITY; /* which is all that the host has */
        assert_rung(&in, RUNG_AFFINITY, "", REASON_NONE);
}

TEST(on_cgroup_v1_it_gets_a_directory_but_not_out_of_a_container) {
        LadderInput in = { .host = BACKEND_CGROUP1 };

        assert_false(ladder_needs_scope(&in));
        assert_rung(&in, RUNG_DIRECTORY, "", REASON_NONE);
        in.in_container = true;
        assert_rung(&in, RUNG_AFFINITY, "container", REASON_SHARED_UNIT);
}

TEST(words) {
        static const char *const words[] = { "", "unit", "scope", "cgroup1", "affinity" };

        for (Rung rung = RUNG_NONE; rung <= RUNG_AFFINITY; rung++)
                assert_string_equal(rung_to_string(rung), words[rung]);
}
