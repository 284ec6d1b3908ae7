/* The verdict on an instance, by which all surfaces report. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/step.h"

typedef struct Facts {
        Placement placement;
        Binding binding;
        Step step;
        VerdictInput in;
} Facts;

/* Bound to node 1 of 0-3. */
static void init(Facts *f, MemoryMode memory) {
        *f = (Facts){
                .placement = { .nodes = node_set("1"), .cpus = cpu_set("4-7"), .memory = memory },
                .binding = { .cpuset = true,
                             .cpus = cpu_set("4-7"),
                             .mems = node_set(memory == MEMORY_BIND ? "1" : "0-3"),
                             .n_threads = 10 },
                .step = { .kind = STEP_DONE, .reason = "" },
        };
        f->in = (VerdictInput){ .state = INSTANCE_BOUND,
                                .step = &f->step,
                                .placement = &f->placement,
                                .binding = &f->binding,
                                .open_nodes = node_set("0-3"),
                                .memory_known = true };
}

#define FACTS_TEST(test, memory) TEST_AFTER(test, Facts, f, init(f, memory), test_no_done)

static void assert_verdict(const Facts *f, InstanceState state, bool cpus, bool memory) {
        const Verdict v = verdict_of(&f->in);

        assert_string_equal(instance_state_to_string(v.state), instance_state_to_string(state));
        assert_int_equal(v.cpu_bound, cpus);
        assert_int_equal(v.memory_bound, memory);
}

TEST(state_of_a_step) {
        static const struct {
                StepKind step;
                const char *enforced, *planned;
        } rows[] = {
                { STEP_SCOPE, "binding", "planned" },   { STEP_SET_CPUS, "binding", "planned" },
                { STEP_WIDEN, "narrowing", "planned" }, { STEP_NARROW, "narrowing", "planned" },
                { STEP_PULL, "moving", "planned" },     { STEP_SWEEP, "moving", "planned" },
                { STEP_SETTLE, "settling", "planned" }, { STEP_DONE, "bound", "bound" },
                { STEP_WIDENED, "widened", "widened" }, { STEP_PARTLY, "partly", "partly" },
                { STEP_REFUSE, "refused", "refused" },  { STEP_WATCH, "watched", "watched" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_string_equal(
                        instance_state_to_string(verdict_state(rows[i].step, true, false)),
                        rows[i].enforced);
                assert_string_equal(
                        instance_state_to_string(verdict_state(rows[i].step, false, false)),
                        rows[i].planned);
        }
        assert_int_equal(verdict_state(STEP_WATCH, true, true), INSTANCE_RELEASED);
}

TEST(bound) {
        static const MemoryMode modes[] = { MEMORY_NONE, MEMORY_PREFERRED, MEMORY_BIND };
        Facts f;

        for (size_t i = 0; i < ELEMENTSOF(modes); i++) {
                init(&f, modes[i]);
                assert_verdict(&f, INSTANCE_BOUND, true, modes[i] != MEMORY_NONE);
        }
}

/* Its unit's own AllowedMemoryNodes= leave it no others: what its nodes are beside these does not
 * count. */
FACTS_TEST(bound_within_what_it_could_have, MEMORY_BIND) {
        f->placement.nodes = node_set("1-2");
        f->in.open_nodes = node_set("0-1");
        assert_verdict(f, INSTANCE_BOUND, true, true);
}

/* The state stays while a few pages that went astray wait for the next move; so does the memory's.
 */
FACTS_TEST(bound_while_it_rests, MEMORY_BIND) {
        f->in.outside_bytes = 4096;
        assert_verdict(f, INSTANCE_BOUND, true, true);
        f->in.state = INSTANCE_MOVING;
        assert_verdict(f, INSTANCE_MOVING, true, false);
}

/* With systemd, narrow memory nodes are enough. */
FACTS_TEST(bound_without_a_count, MEMORY_BIND) {
        f->in.memory_known = false;
        assert_verdict(f, INSTANCE_BOUND, true, true);
        f->in.state = INSTANCE_PARTLY;
        assert_verdict(f, INSTANCE_PARTLY, true, false);
}

FACTS_TEST(undone_since, MEMORY_NONE) {
        f->binding.cpus = cpu_set("0-7");
        assert_verdict(f, INSTANCE_WAITING, false, false);
        init(f, MEMORY_BIND);
        f->binding.mems = node_set("0-3");
        assert_verdict(f, INSTANCE_WAITING, true, false);
}

/* What is told is what is true now, not when the step was decided. */
FACTS_TEST(widened, MEMORY_BIND) {
        const Step step = { .kind = STEP_WIDENED,
                            .code = REASON_NODE_FULL,
                            .reason = "its nodes are nearly full" };
        const Step other = { .kind = STEP_WIDENED, .code = REASON_SLICE_TOO_TIGHT, .reason = "x" };
        Verdict v;

        f->in.state = INSTANCE_WIDENED;
        f->in.step = &step;
        v = verdict_of(&f->in);
        assert_string_equal(v.reason, "its nodes are nearly full");
        f->in.widened_why = REASON_NODE_FULL;
        v = verdict_of(&f->in);
        assert_string_equal(v.reason, "its nodes are nearly full");
        f->in.widened_why = REASON_NODE_FREED;
        v = verdict_of(&f->in);
        assert_int_equal(v.code, REASON_NODE_FREED);
        assert_non_null(strstr(v.reason, "have room again"));
        f->in.step = &other;
        v = verdict_of(&f->in);
        assert_int_equal(v.code, REASON_SLICE_TOO_TIGHT); /* of another kind: it stands */
        f->in.step = &step;
        f->in.failure = "no other node";
        f->in.failure_code = REASON_NODE_FULL;
        v = verdict_of(&f->in);
        assert_string_equal(v.reason, "no other node");
        f->in.failure = NULL;
        f->in.state = INSTANCE_MOVING; /* on its way back */
        v = verdict_of(&f->in);
        assert_int_equal(v.code, REASON_NODE_FULL);
}

FACTS_TEST(threads_of_their_own_choice, MEMORY_NONE) {
        f->in.state = INSTANCE_PARTLY;
        f->binding.n_threads_off_cpus = 1;
        assert_verdict(f, INSTANCE_PARTLY, true, false);
        f->binding.n_threads_outside = 1;
        assert_verdict(f, INSTANCE_PARTLY, false, false);
        f->binding.n_threads_outside = 0;
        (void)strcpy(f->binding.inner_group, "/a");
        assert_verdict(f, INSTANCE_PARTLY, false, false);
}

FACTS_TEST(affinity_holds_no_memory, MEMORY_BIND) {
        f->in.backend = BACKEND_AFFINITY;
        f->in.state = INSTANCE_PARTLY;
        assert_verdict(f, INSTANCE_PARTLY, true, false);
        f->placement.memory = MEMORY_PREFERRED;
        assert_verdict(f, INSTANCE_PARTLY, true, true);
}

FACTS_TEST(nothing_known_yet, MEMORY_BIND) {
        f->in.state = INSTANCE_WAITING;
        f->in.binding = NULL;
        assert_verdict(f, INSTANCE_WAITING, false, false);
        init(f, MEMORY_BIND);
        f->in.state = INSTANCE_WATCHED;
        f->placement.nodes = (NodeSet){ 0 };
        f->placement.cpus = (CpuSet){ 0 };
        assert_verdict(f, INSTANCE_WATCHED, false, false);
}

FACTS_TEST(a_failure_comes_before_the_step, MEMORY_NONE) {
        f->step = (Step){ .kind = STEP_PARTLY, .code = REASON_NO_ROOM, .reason = "no room" };
        assert_string_equal(verdict_of(&f->in).reason, "no room");
        assert_int_equal(verdict_of(&f->in).code, REASON_NO_ROOM);
        f->in.failure = "no bus";
        f->in.failure_code = REASON_BUS_GONE;
        assert_string_equal(verdict_of(&f->in).reason, "no bus");
        assert_int_equal(verdict_of(&f->in).code, REASON_BUS_GONE);
}

TEST(memory_words) {
        assert_string_equal(verdict_memory_word(MEMORY_NONE, false), "left alone");
        assert_string_equal(verdict_memory_word(MEMORY_PREFERRED, true), "preferred");
        assert_string_equal(verdict_memory_word(MEMORY_BIND, true), "bound");
        assert_string_equal(verdict_memory_word(MEMORY_PREFERRED, false), "not bound");
        assert_string_equal(verdict_memory_word(MEMORY_BIND, false), "not bound");
}
