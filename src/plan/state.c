/* The table of states, and the verdict that is reported. */
#include <assert.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/plan/state.h"

/* --- the table --- */

enum {
        PLANNED = 1 << INSTANCE_PLANNED,
        BOUND = 1 << INSTANCE_BOUND,
        MOVING = 1 << INSTANCE_MOVING,
        UNDER_WAY =
                1 << INSTANCE_BINDING | MOVING | 1 << INSTANCE_NARROWING | 1 << INSTANCE_SETTLING,
        APPLIED = BOUND | 1 << INSTANCE_WIDENED | 1 << INSTANCE_PARTLY,
        ANY = (1 << N_INSTANCE_STATES) - 1,
        STILL = ANY & ~MOVING,
};

#define SAME N_INSTANCE_STATES

const StateRule state_rules[] = {
        { EVENT_DUE, MOVING, ACTION_SLICE, SAME },
        { EVENT_DUE, ANY, ACTION_RECONCILE, SAME },
        { EVENT_ROUND, STILL, ACTION_BEGIN, SAME },
        { EVENT_DRIFT, MOVING, ACTION_NONE, SAME }, /* the pass ends with a look at all of it */
        { EVENT_DRIFT, ANY, ACTION_LOOK_SOON, SAME },
        { EVENT_PLACE, ANY, ACTION_LOOK, SAME },
        /* A pass has indexes into the processes, and a target. What is bound counts as bound until
         * it is seen not to be. */
        { EVENT_CHANGE, MOVING | PLANNED, ACTION_RESTART, INSTANCE_WAITING },
        { EVENT_CHANGE, ANY, ACTION_RESTART, SAME },
        /* A call that is in flight may take seconds to be answered. */
        { EVENT_HALT, UNDER_WAY, ACTION_RESTART, INSTANCE_PLANNED },
        { EVENT_HALT, ANY, ACTION_RESTART, SAME },
        { EVENT_RECORD, UNDER_WAY | APPLIED, ACTION_RESET, INSTANCE_WAITING },
        { EVENT_RECORD, ANY, ACTION_RESET, SAME },
        { EVENT_UNDONE, BOUND, ACTION_NONE, INSTANCE_WAITING },

        { EVENT_ANSWER, ANY, ACTION_LOOK, SAME },
        { EVENT_FAILURE, ANY, ACTION_LOOK_LATER, SAME },
        { EVENT_WORKER, ANY, ACTION_LOOK, SAME },
        { EVENT_PASSED, MOVING, ACTION_LOOK, INSTANCE_SETTLING },

        { EVENT_WATCH, STILL, ACTION_REST, INSTANCE_WATCHED },
        { EVENT_RELEASE, STILL, ACTION_REST, INSTANCE_RELEASED },
        { EVENT_PLAN, STILL, ACTION_REPORT, INSTANCE_PLANNED },
        { EVENT_SET_CPUS, STILL, ACTION_CALL, INSTANCE_BINDING },
        { EVENT_SET_MEMS, STILL, ACTION_CALL, INSTANCE_NARROWING },
        { EVENT_PULL, STILL, ACTION_PULL, INSTANCE_MOVING },
        { EVENT_SWEEP, STILL, ACTION_SWEEP, INSTANCE_MOVING },
        { EVENT_SETTLE, STILL, ACTION_SETTLE, INSTANCE_SETTLING },
        { EVENT_DONE, STILL, ACTION_REST, INSTANCE_BOUND },
        { EVENT_WIDENED, STILL, ACTION_REST, INSTANCE_WIDENED },
        { EVENT_PARTLY, STILL, ACTION_REST, INSTANCE_PARTLY },
        { EVENT_REFUSE, STILL, ACTION_REST, INSTANCE_REFUSED },
};
const size_t n_state_rules = ELEMENTSOF(state_rules);

Transition state_next(InstanceState state, InstanceEvent event) {
        for (const StateRule *r = state_rules; r < state_rules + n_state_rules; r++)
                if (r->event == event && (r->states & 1u << state))
                        return (Transition){ r->action, r->next == SAME ? state : r->next };
        assert(event < EVENT_WATCH);
        return (Transition){ ACTION_NONE, state };
}

InstanceEvent state_event(StepKind step, bool may_change, bool released) {
        static const InstanceEvent events[] = {
                [STEP_WATCH] = EVENT_WATCH,     [STEP_REFUSE] = EVENT_REFUSE,
                [STEP_SCOPE] = EVENT_SET_CPUS,  [STEP_SET_CPUS] = EVENT_SET_CPUS,
                [STEP_WIDEN] = EVENT_SET_MEMS,  [STEP_PULL] = EVENT_PULL,
                [STEP_NARROW] = EVENT_SET_MEMS, [STEP_SWEEP] = EVENT_SWEEP,
                [STEP_SETTLE] = EVENT_SETTLE,   [STEP_DONE] = EVENT_DONE,
                [STEP_WIDENED] = EVENT_WIDENED, [STEP_PARTLY] = EVENT_PARTLY,
        };

        if (!may_change && !step_is_final(step))
                return EVENT_PLAN;
        return step == STEP_WATCH && released ? EVENT_RELEASE : events[step];
}

static const char *const event_words[N_INSTANCE_EVENTS] = {
        [EVENT_DUE] = "its time has come",
        [EVENT_ROUND] = "the round of a sample, and it is not due",
        [EVENT_DRIFT] = "a write by others",
        [EVENT_PLACE] = "another place or backend",
        [EVENT_CHANGE] = "its processes, policy, requests changed",
        [EVENT_HALT] = "the same, and nothing may be changed",
        [EVENT_RECORD] = "its undo record is released or gone",
        [EVENT_UNDONE] = "not verified any more",
        [EVENT_ANSWER] = "the backend has done it",
        [EVENT_FAILURE] = "the backend has failed",
        [EVENT_WORKER] = "a worker has answered",
        [EVENT_PASSED] = "the pass has ended",
        [EVENT_WATCH] = "decided: no place",
        [EVENT_RELEASE] = "decided: released on request",
        [EVENT_PLAN] = "decided: a change that may not be made",
        [EVENT_SET_CPUS] = "decided: its scope or CPUs",
        [EVENT_SET_MEMS] = "decided: its memory nodes",
        [EVENT_PULL] = "decided: memory is elsewhere",
        [EVENT_SWEEP] = "decided: what the mover cannot see",
        [EVENT_SETTLE] = "decided: the counters lag behind",
        [EVENT_DONE] = "decided: all is as wanted",
        [EVENT_WIDENED] = "decided: wide, as its nodes are full",
        [EVENT_PARTLY] = "decided: a part is missing",
        [EVENT_REFUSE] = "decided: it must not, or cannot",
};
DEFINE_STRING_TABLE(state_event_to_string, InstanceEvent, event_words)

/* --- the verdict --- */

Verdict verdict_of(const VerdictInput *in) {
        const Binding *b = in->binding;
        const MemoryMode mode = in->placement->memory;
        const bool placed = b && !id_set_is_empty(&in->placement->nodes);
        const NodeSet home = id_set_and(&in->placement->nodes, &in->open_nodes);
        Verdict verdict = {
                .state = in->state,
                .code = in->failure ? in->failure_code : in->step->code,
                .reason = in->failure ? in->failure : in->step->reason,
        };

        /* A thread that has fewer of the CPUs by its own choice is where it belongs: HAProxy's
         * cpu-map and cpu-policy, and TiFlash's read pools, give each thread a part, and together
         * they have all. In a group of its own making that leaves it fewer, it is not as it is
         * wanted. */
        verdict.cpu_bound = placed && step_cpus_in_force(in->backend, b, in->placement) &&
                            (b->n_threads_off_cpus == 0 ||
                             (b->n_threads_outside == 0 && b->inner_group[0] == '\0'));
        /* Does the kernel allow what the mode requires? With affinity memory cannot be held to any
         * nodes. */
        if (placed && mode == MEMORY_BIND)
                verdict.memory_bound =
                        in->backend != BACKEND_AFFINITY && id_set_equal(&b->mems, &home);
        else
                verdict.memory_bound = placed && mode == MEMORY_PREFERRED;
        /* An instance becomes bound only when no memory is left outside; the few pages that are
         * allocated outside later do not change its state. */
        if (in->state != INSTANCE_BOUND && (!in->memory_known || in->outside_bytes > 0))
                verdict.memory_bound = false;
        /* The step was decided when it was widened, and its nodes may have room again since. */
        if (!in->failure && in->state == INSTANCE_WIDENED && in->widened_why != REASON_NONE &&
            in->widened_why != REASON_NODE_FULL && in->step->code == REASON_NODE_FULL) {
                verdict.code = in->widened_why;
                verdict.reason = reason_to_sentence(in->widened_why);
        }
        verdict.undone = in->state == INSTANCE_BOUND &&
                         !(verdict.cpu_bound && (verdict.memory_bound || mode == MEMORY_NONE));
        return verdict;
}

const char *verdict_memory_word(MemoryMode mode, bool memory_bound) {
        if (mode == MEMORY_NONE)
                return "left alone";
        return !memory_bound ? "not bound" : mode == MEMORY_BIND ? "bound" : "preferred";
}
