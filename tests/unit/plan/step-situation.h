/* Situations, for tests of the step that comes next, branch by branch. Each begins as one in which
 * everything is in place and is changed where the case differs. */
#pragma once

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/step.h"

typedef struct Situation {
        Placement placement;
        Binding binding;
        StepInput in;
} Situation;

/* Bound to node 1 of 0-3, with nothing outside. */
static inline void init(Situation *s, MemoryMode memory) {
        *s = (Situation){
                .placement = { .nodes = node_set("1"),
                               .cpus = cpu_set("4-7"),
                               .memory = memory,
                               .rate_bytes_per_sec = 1000,
                               .reason = "" },
                .binding = { .cpuset = true,
                             .cpus = cpu_set("4-7"),
                             .mems = node_set(memory == MEMORY_BIND ? "1" : "0-3"),
                             .n_threads = 10,
                             .alone = true },
        };
        s->in = (StepInput){
                .placement = &s->placement,
                .binding = &s->binding,
                .all_nodes = node_set("0-3"),
                .can_enforce = true,
                .memory_known = true,
                .fits = true,
        };
}

#define SITUATION_TEST(test, memory) TEST_AFTER(test, Situation, s, init(s, memory), test_no_done)

static inline void assert_step(const Situation *s, StepKind kind, Reason code) {
        const Step step = step_next(&s->in);

        assert_int_equal(step.kind, kind);
        assert_string_equal(reason_to_string(step.code), reason_to_string(code));
        assert_non_null(step.reason);
        assert_int_equal(step.code == REASON_NONE, *step.reason == '\0');
}

/* Of a code that several problems have: which of them it is. */
static inline void assert_says(const Situation *s, StepKind kind, Reason code, const char *words) {
        assert_step(s, kind, code);
        if (!strstr(step_next(&s->in).reason, words))
                fail_msg("'%s' does not say '%s'", step_next(&s->in).reason, words);
}

static inline void assert_mems(const Situation *s, StepKind kind, const char *mems) {
        assert_step(s, kind, REASON_NONE);
        assert_ids(step_next(&s->in).mems, mems);
}
