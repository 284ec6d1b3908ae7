/* The states of an instance: the table, the table on a kernel whose calls fail, and the verdict.
 *
 * `test-state --render` prints the text between the two marks of src/README.md. */
#include <assert.h>
#include <sys/resource.h>

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "../../support/page-section.h"
#include "step-kernel.h"
#include "tidbnumad/plan/state.h"

static const char *path;

/* --- the table --- */

static const char *const action_words[N_INSTANCE_ACTIONS] = {
        [ACTION_NONE] = "",
        [ACTION_RECONCILE] = "observe, decide, act",
        [ACTION_BEGIN] = "forget the progress, due now",
        [ACTION_SLICE] = "move the next piece",
        [ACTION_LOOK] = "due now",
        [ACTION_LOOK_SOON] = "due in 20 ms, unless contested",
        [ACTION_LOOK_LATER] = "due after a growing delay",
        [ACTION_RESTART] = "end the pass, forget the progress, due now",
        [ACTION_RESET] = "likewise; drop the call, forget what was applied",
        [ACTION_REST] = "wait for an event",
        [ACTION_REPORT] = "wait for an event; report what would be done",
        [ACTION_CALL] = "ask the backend, or await its effect",
        [ACTION_PULL] = "begin a pass of the mover",
        [ACTION_SWEEP] = "begin a pass of migrate_pages(2)",
        [ACTION_SETTLE] = "due in a second",
};

static void render_table(Text *text) {
        const unsigned any = (1u << N_INSTANCE_STATES) - 1;

        text_append(text, "| event | in state | action | state |\n| --- | --- | --- | --- |\n");
        for (const StateRule *rule = state_rules; rule < state_rules + n_state_rules; rule++) {
                const bool follows = rule > state_rules && rule[-1].event == rule->event;
                const char *between = "";

                text_appendf(text, "| %s | ", state_event_to_string(rule->event));
                if (rule->states == (any & ~(1u << INSTANCE_MOVING)))
                        text_append(text, "not moving");
                else if (rule->states == any)
                        text_append(text, follows ? "any other" : "any");
                else
                        for (InstanceState s = 0; s < N_INSTANCE_STATES; s++)
                                if (rule->states & 1u << s) {
                                        text_appendf(text, "%s%s", between,
                                                     instance_state_to_string(s));
                                        between = ", ";
                                }
                text_appendf(text, " | %s | %s |\n", action_words[rule->action],
                             rule->next == N_INSTANCE_STATES
                                     ? ""
                                     : instance_state_to_string(rule->next));
        }
}

TEST(readme_has_the_table) {
        page_section_check(path, "STATES", render_table);
}

/* What each event leads to in each state: as it is wanted, so not made from the table of the code.
 * A letter is the state from then on, a dot the same one, and a cross what may not be asked for:
 * nothing is decided while memory is being moved. */
static const char LETTERS[] = "worpbmnsBWPR"; /* in the order of InstanceState */

static_assert(sizeof(LETTERS) == N_INSTANCE_STATES + 1, "a new state has no letter");

static const struct {
        InstanceAction still, moving; /* in any other state; in INSTANCE_MOVING */
        const char *next;
} wanted[N_INSTANCE_EVENTS] = {
        [EVENT_DUE] = { ACTION_RECONCILE, ACTION_SLICE, "............" },
        [EVENT_ROUND] = { ACTION_BEGIN, ACTION_NONE, "............" },
        [EVENT_DRIFT] = { ACTION_LOOK_SOON, ACTION_NONE, "............" },
        [EVENT_PLACE] = { ACTION_LOOK, ACTION_LOOK, "............" },
        [EVENT_CHANGE] = { ACTION_RESTART, ACTION_RESTART, "...w.w......" },
        [EVENT_HALT] = { ACTION_RESTART, ACTION_RESTART, "....pppp...." },
        [EVENT_RECORD] = { ACTION_RESET, ACTION_RESET, "....wwwwwww." },
        [EVENT_UNDONE] = { ACTION_NONE, ACTION_NONE, "........w..." },
        [EVENT_ANSWER] = { ACTION_LOOK, ACTION_LOOK, "............" },
        [EVENT_FAILURE] = { ACTION_LOOK_LATER, ACTION_LOOK_LATER, "............" },
        [EVENT_WORKER] = { ACTION_LOOK, ACTION_LOOK, "............" },
        [EVENT_PASSED] = { ACTION_NONE, ACTION_LOOK, ".....s......" },
        [EVENT_WATCH] = { ACTION_REST, 0, "oooooxoooooo" },
        [EVENT_RELEASE] = { ACTION_REST, 0, "rrrrrxrrrrrr" },
        [EVENT_PLAN] = { ACTION_REPORT, 0, "pppppxpppppp" },
        [EVENT_SET_CPUS] = { ACTION_CALL, 0, "bbbbbxbbbbbb" },
        [EVENT_SET_MEMS] = { ACTION_CALL, 0, "nnnnnxnnnnnn" },
        [EVENT_PULL] = { ACTION_PULL, 0, "mmmmmxmmmmmm" },
        [EVENT_SWEEP] = { ACTION_SWEEP, 0, "mmmmmxmmmmmm" },
        [EVENT_SETTLE] = { ACTION_SETTLE, 0, "sssssxssssss" },
        [EVENT_DONE] = { ACTION_REST, 0, "BBBBBxBBBBBB" },
        [EVENT_WIDENED] = { ACTION_REST, 0, "WWWWWxWWWWWW" },
        [EVENT_PARTLY] = { ACTION_REST, 0, "PPPPPxPPPPPP" },
        [EVENT_REFUSE] = { ACTION_REST, 0, "RRRRRxRRRRRR" },
};

/* Nobody may go on with it, also not with a state that looks harmless. */
static void assert_is_refused(InstanceState state, InstanceEvent event) {
        const struct rlimit no_core = { 0 };
        const pid_t pid = fork();
        int status = 0;

        if (pid == 0) {
                (void)setrlimit(RLIMIT_CORE, &no_core);
                (void)close(STDERR_FILENO);
                (void)state_next(state, event);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
                fail_msg("'%s' is accepted as %s", state_event_to_string(event),
                         instance_state_to_string(state));
}

TEST(each_event_in_each_state) {
        for (InstanceEvent e = 0; e < N_INSTANCE_EVENTS; e++) {
                if (!wanted[e].next || strlen(wanted[e].next) != N_INSTANCE_STATES)
                        fail_msg("'%s' has no row", state_event_to_string(e));
                for (InstanceState s = 0; s < N_INSTANCE_STATES; s++) {
                        const bool moving = s == INSTANCE_MOVING;
                        const char next = wanted[e].next[s];
                        Transition t;

                        if (next == 'x') {
                                assert_is_refused(s, e);
                                continue;
                        }
                        t = state_next(s, e);
                        if (t.action != (moving ? wanted[e].moving : wanted[e].still) ||
                            LETTERS[t.state] != (next == '.' ? LETTERS[s] : next))
                                fail_msg("'%s' as %s: action %d, %s", state_event_to_string(e),
                                         instance_state_to_string(s), t.action,
                                         instance_state_to_string(t.state));
                }
        }
}

/* Which event a decision is; what changes nothing is the same while nothing may be changed. */
TEST(decisions) {
        static const struct {
                StepKind step;
                InstanceEvent enforced, planned;
        } rows[] = {
                { STEP_SCOPE, EVENT_SET_CPUS, EVENT_PLAN },
                { STEP_SET_CPUS, EVENT_SET_CPUS, EVENT_PLAN },
                { STEP_WIDEN, EVENT_SET_MEMS, EVENT_PLAN },
                { STEP_NARROW, EVENT_SET_MEMS, EVENT_PLAN },
                { STEP_PULL, EVENT_PULL, EVENT_PLAN },
                { STEP_SWEEP, EVENT_SWEEP, EVENT_PLAN },
                { STEP_SETTLE, EVENT_SETTLE, EVENT_PLAN },
                { STEP_DONE, EVENT_DONE, EVENT_DONE },
                { STEP_WIDENED, EVENT_WIDENED, EVENT_WIDENED },
                { STEP_PARTLY, EVENT_PARTLY, EVENT_PARTLY },
                { STEP_REFUSE, EVENT_REFUSE, EVENT_REFUSE },
                { STEP_WATCH, EVENT_WATCH, EVENT_WATCH },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++)
                for (int released = 0; released < 2; released++) {
                        const bool watch = rows[k].step == STEP_WATCH && released;

                        assert_int_equal(state_event(rows[k].step, true, released),
                                         watch ? EVENT_RELEASE : rows[k].enforced);
                        assert_int_equal(state_event(rows[k].step, false, released),
                                         watch ? EVENT_RELEASE : rows[k].planned);
                }
}

/* --- the table on the small kernel, with calls that fail --- */

/* What happens to an instance on its way, and when. */
typedef struct Fault {
        unsigned fails_at;   /* the call of the backend, or the pass, that fails; 0: none */
        unsigned happens_at; /* the transition behind which `event` comes; 0: none */
        InstanceEvent event;
} Fault;

typedef struct Drive {
        Kernel *k;
        Fault fault;
        InstanceState state;
        Step step;
        bool passing;
        unsigned n_transitions, n_calls;
} Drive;

static bool does_fail(Drive *d) {
        return ++d->n_calls == d->fault.fails_at;
}

static void forget(Drive *d, bool we_narrowed) {
        d->passing = false;
        d->k->in = (StepInput){ .we_narrowed = we_narrowed };
        d->k->passes_on_the_way = 0;
}

/* Does the action; true: `*next` comes of it, false: the instance is at rest. */
static bool drive_act(Drive *d, InstanceAction action, InstanceEvent *next) {
        *next = EVENT_DUE;
        switch (action) {
        case ACTION_RECONCILE:
                assert_false(d->passing);
                observe(d->k);
                d->step = step_next(&d->k->in);
                assert_harmless(d->k, &d->step);
                *next = state_event(d->step.kind, true, false);
                return true;
        case ACTION_CALL:
                *next = does_fail(d) ? EVENT_FAILURE : EVENT_ANSWER;
                if (*next == EVENT_ANSWER)
                        (void)carry_out(d->k, &d->step);
                return true;
        case ACTION_PULL:
        case ACTION_SWEEP:
                d->passing = true;
                return true;
        case ACTION_SLICE:
                if (!does_fail(d)) /* else it ends without a result */
                        (void)carry_out(d->k, &d->step);
                d->passing = false;
                *next = EVENT_PASSED;
                return true;
        case ACTION_SETTLE:
                (void)carry_out(d->k, &d->step);
                return true;
        case ACTION_RESTART:
                forget(d, d->k->in.we_narrowed);
                return true;
        case ACTION_RESET:
                forget(d, false);
                return true;
        case ACTION_REST:
        case ACTION_REPORT:
                return false;
        default:
                return true;
        }
}

/* From its exec to rest. */
static void drive(Drive *d) {
        InstanceEvent event = EVENT_DUE;

        for (;;) {
                const Transition t = state_next(d->state, event);
                bool goes_on;

                d->state = t.state;
                goes_on = drive_act(d, t.action, &event);
                assert_int_equal(d->state == INSTANCE_MOVING && event != EVENT_PASSED, d->passing);
                if (++d->n_transitions == d->fault.happens_at)
                        event = event == EVENT_PASSED ? EVENT_PASSED : d->fault.event;
                else if (!goes_on)
                        return;
                if (d->n_transitions > 10 * STEPS_MAX)
                        fail_msg("no end as %s", instance_state_to_string(d->state));
        }
}

static Drive drive_with(Kernel *k, uint32_t number, Fault fault) {
        uint32_t seed = number * 2654435761u + 5;
        Drive d = { .k = k, .fault = fault };

        init_cooperative(k, &seed, MEMORY_BIND);
        k->deaf_cpu_writes = k->deaf_mem_writes = 0;
        drive(&d);
        assert_string_equal(instance_state_to_string(d.state), "bound");
        assert_true(id_set_equal(&k->binding.cpus, &k->placement.cpus));
        assert_true(id_set_equal(&k->binding.mems, &k->placement.nodes));
        return d;
}

/* Whichever call fails, it is bound in the end; and it was asked once more. */
TEST(each_call_may_fail) {
        Kernel k;

        for (uint32_t i = 0; i < SITUATIONS / 10; i++) {
                const unsigned n = drive_with(&k, i, (Fault){ 0 }).n_calls;

                for (unsigned at = 1; at <= n; at++)
                        assert_true(drive_with(&k, i, (Fault){ .fails_at = at }).n_calls > n - 1);
        }
}

/* Whatever happens on the way, and wherever. */
TEST(each_event_may_come_at_any_time) {
        static const InstanceEvent events[] = { EVENT_CHANGE, EVENT_RECORD, EVENT_PLACE,
                                                EVENT_DRIFT,  EVENT_WORKER, EVENT_DUE,
                                                EVENT_ANSWER, EVENT_FAILURE };
        Kernel k;

        for (uint32_t i = 0; i < SITUATIONS / 10; i++) {
                const unsigned n = drive_with(&k, i, (Fault){ 0 }).n_transitions;

                for (size_t e = 0; e < ELEMENTSOF(events); e++)
                        for (unsigned at = 1; at <= n; at++)
                                (void)drive_with(&k, i,
                                                 (Fault){ .happens_at = at, .event = events[e] });
        }
}

/* --- The verdict on an instance, by which all surfaces report --- */

typedef struct Facts {
        Placement placement;
        Binding binding;
        Step step;
        VerdictInput in;
} Facts;

/* Bound to node 1 of 0-3. */
static void facts_init(Facts *f, MemoryMode memory) {
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

#define FACTS_TEST(test, memory) TEST_AFTER(test, Facts, f, facts_init(f, memory), test_no_done)

static void assert_verdict(const Facts *f, InstanceState state, bool cpus, bool memory) {
        const Verdict v = verdict_of(&f->in);

        assert_string_equal(instance_state_to_string(v.state), instance_state_to_string(state));
        assert_int_equal(v.cpu_bound, cpus);
        assert_int_equal(v.memory_bound, memory);
}

TEST(bound) {
        static const MemoryMode modes[] = { MEMORY_NONE, MEMORY_PREFERRED, MEMORY_BIND };
        Facts f;

        for (size_t i = 0; i < ELEMENTSOF(modes); i++) {
                facts_init(&f, modes[i]);
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

/* The state stays while a few misplaced pages wait for the next move; so does the memory's. */
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
        assert_false(verdict_of(&f->in).undone);
        f->binding.cpus = cpu_set("0-7");
        assert_true(verdict_of(&f->in).undone);
        facts_init(f, MEMORY_BIND);
        assert_false(verdict_of(&f->in).undone);
        f->binding.mems = node_set("0-3");
        assert_true(verdict_of(&f->in).undone);
        f->in.state = INSTANCE_PARTLY;
        assert_false(verdict_of(&f->in).undone);
}

/* What is told is what is true now, not when the step was decided. */
FACTS_TEST(verdict_widened, MEMORY_BIND) {
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
        facts_init(f, MEMORY_BIND);
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

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return page_section_print(render_table);
        path = argv[1];
        return test_run_all();
}
