/* The verdict on an instance: the one for the journal, status.json, the metrics and tidbnumactl.
 *
 * Pure. Everything that reports on an instance uses it, so that no two reports can differ: what
 * is `bound` has its CPUs, and its memory unless its policy leaves that alone. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/plan/step.h"

/* The state after the last decision. `enforces`: false in a dry run, in mode observe and while
 * paused; the steps are then only planned. */
InstanceState verdict_state(StepKind step, bool enforces, bool released);

typedef struct VerdictInput {
        InstanceState state; /* of the last decision; WAITING before the first */
        const Step *step;    /* the last decision */
        const Placement *placement;
        const Binding *binding; /* NULL: not read yet */
        BackendKind backend;
        NodeSet open_nodes;     /* all memory nodes that it could have */
        bool memory_known;      /* `outside_bytes` was read */
        uint64_t outside_bytes; /* anonymous bytes outside its nodes */
        Reason widened_why;  /* of INSTANCE_WIDENED: what is now true of its nodes; REASON_NONE: not
                              * known */
        const char *failure; /* of the last attempt; NULL: none */
        Reason failure_code;
} VerdictInput;

typedef struct Verdict {
        InstanceState state;
        bool cpu_bound;    /* it has its CPUs, and no thread may run elsewhere */
        bool memory_bound; /* its anonymous memory is on its nodes, but for what is too little to
                            * move; with memory: bind the kernel allows it no other nodes, too */
        Reason code;
        const char *reason; /* a sentence, borrowed; "" when all is well */
} Verdict;

Verdict verdict_of(const VerdictInput *input);

/* "bound", "preferred", "not bound", "left alone": what of the memory is true, in the mode of its
 * policy. */
const char *verdict_memory_word(MemoryMode mode, bool memory_bound);
