#include "tidbnumad/plan/verdict.h"

InstanceState verdict_state(StepKind step, bool enforces, bool released) {
        switch (step) {
        case STEP_WATCH:
                return released ? INSTANCE_RELEASED : INSTANCE_WATCHED;
        case STEP_REFUSE:
                return INSTANCE_REFUSED;
        case STEP_DONE:
                return INSTANCE_BOUND;
        case STEP_WIDENED:
                return INSTANCE_WIDENED;
        case STEP_PARTLY:
                return INSTANCE_PARTLY;
        case STEP_SCOPE:
        case STEP_SET_CPUS:
                return enforces ? INSTANCE_BINDING : INSTANCE_PLANNED;
        case STEP_WIDEN:
        case STEP_NARROW:
                return enforces ? INSTANCE_NARROWING : INSTANCE_PLANNED;
        case STEP_PULL:
        case STEP_SWEEP:
                return enforces ? INSTANCE_MOVING : INSTANCE_PLANNED;
        case STEP_SETTLE:
                return enforces ? INSTANCE_SETTLING : INSTANCE_PLANNED;
        }
        return INSTANCE_WAITING;
}

static bool is_placed(const VerdictInput *in) {
        return in->binding && !id_set_is_empty(&in->placement->nodes);
}

/* A thread that has fewer of the CPUs by its own choice (a haproxy's cpu-map) is where it belongs;
 * in a group of its own making that leaves it fewer, it is not as it is wanted. */
static bool are_cpus_bound(const VerdictInput *in) {
        const Binding *b = in->binding;

        return is_placed(in) && step_cpus_in_force(in->backend, b, in->placement) &&
               (b->n_threads_off_cpus == 0 ||
                (b->n_threads_outside == 0 && b->inner_group[0] == '\0'));
}

/* Does the kernel allow what the mode requires? With affinity memory cannot be held to any
 * nodes. */
static bool is_memory_held(const VerdictInput *in) {
        NodeSet home = in->open_nodes;

        if (in->placement->memory != MEMORY_BIND)
                return in->placement->memory == MEMORY_PREFERRED;
        id_set_intersect(&home, &in->placement->nodes);
        return in->backend != BACKEND_AFFINITY && id_set_equal(&in->binding->mems, &home);
}

/* An instance becomes bound only when no memory is left outside; the few pages that are allocated
 * outside later do not change its state. */
static bool is_memory_inside(const VerdictInput *in) {
        return in->state == INSTANCE_BOUND || (in->memory_known && in->outside_bytes == 0);
}

static bool has_what_it_wants(const VerdictInput *in, const Verdict *v) {
        return v->cpu_bound && (v->memory_bound || in->placement->memory == MEMORY_NONE);
}

/* The step was decided when it was widened, and its nodes may have room again since. */
static bool is_widened_otherwise(const VerdictInput *in) {
        return !in->failure && in->state == INSTANCE_WIDENED && in->widened_why != REASON_NONE &&
               in->widened_why != REASON_NODE_FULL && in->step->code == REASON_NODE_FULL;
}

/* A binding that was undone since the last decision is not reported as bound until the next one. */
Verdict verdict_of(const VerdictInput *in) {
        Verdict verdict = {
                .state = in->state,
                .cpu_bound = are_cpus_bound(in),
                .memory_bound = is_placed(in) && is_memory_held(in) && is_memory_inside(in),
                .code = in->failure ? in->failure_code : in->step->code,
                .reason = in->failure ? in->failure : in->step->reason,
        };

        if (is_widened_otherwise(in)) {
                verdict.code = in->widened_why;
                verdict.reason = reason_to_sentence(in->widened_why);
        }
        if (verdict.state == INSTANCE_BOUND && !has_what_it_wants(in, &verdict))
                verdict.state = INSTANCE_WAITING;
        return verdict;
}

const char *verdict_memory_word(MemoryMode mode, bool memory_bound) {
        switch (mode) {
        case MEMORY_NONE:
                return "left alone";
        case MEMORY_PREFERRED:
                return memory_bound ? "preferred" : "not bound";
        case MEMORY_BIND:
                return memory_bound ? "bound" : "not bound";
        }
        return "";
}
