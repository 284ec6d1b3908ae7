/* The states of an instance's binding: one table says what each event leads to. status.json and the
 * metrics have the state as it is, src/README.md has the table.
 *
 * Pure. daemon/binding/state.c holds the state and does what the table says; plan/step.h decides
 * from what the kernel shows, and its decision is an event like the others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/instance.h"
#include "tidbnumad/plan/step.h"

typedef enum InstanceEvent {
        /* Its time has come, or something that it depends on has changed. */
        EVENT_DUE,
        EVENT_ROUND,  /* of all instances, at each sample; for those that wait for nothing */
        EVENT_DRIFT,  /* something may have changed its CPUs or memory nodes */
        EVENT_PLACE,  /* the plan gives it another place, or the host has another backend */
        EVENT_CHANGE, /* its processes, its policy, the admin's settings or a request changed */
        EVENT_HALT,   /* the same, and nothing of it may be changed any more: a pause */
        EVENT_RECORD, /* its undo record is being released, or is gone */
        EVENT_UNDONE, /* what was verified is no longer so, and nothing is decided yet */
        /* What has become of the last action. */
        EVENT_ANSWER,  /* the backend has done it */
        EVENT_FAILURE, /* it has not */
        EVENT_WORKER,  /* a worker has answered */
        EVENT_PASSED,  /* a pass over its memory has ended */
        /* What was decided after it was observed; see state_event(). */
        EVENT_WATCH,
        EVENT_RELEASE,
        EVENT_PLAN,
        EVENT_SET_CPUS,
        EVENT_SET_MEMS,
        EVENT_PULL,
        EVENT_SWEEP,
        EVENT_SETTLE,
        EVENT_DONE,
        EVENT_WIDENED,
        EVENT_PARTLY,
        EVENT_REFUSE,
        N_INSTANCE_EVENTS,
} InstanceEvent;

typedef enum InstanceAction {
        ACTION_NONE,
        ACTION_RECONCILE,  /* observe it, decide, and act */
        ACTION_BEGIN,      /* forget the progress, be due now: what had no effect is tried again */
        ACTION_SLICE,      /* move the next piece of its memory */
        ACTION_LOOK,       /* be due now */
        ACTION_LOOK_SOON,  /* be due in a moment, with what else comes meanwhile */
        ACTION_LOOK_LATER, /* be due after a time that grows with each failure */
        ACTION_RESTART,    /* end a pass, forget the progress, be due now */
        ACTION_RESET,      /* the same; drop the call in flight, and forget what was applied */
        ACTION_REST,       /* wait for an event or the next round */
        ACTION_REPORT,     /* the same, with what would be done */
        ACTION_CALL,       /* have the backend do it, or wait for the effect of that */
        ACTION_PULL,       /* begin a pass of the mover */
        ACTION_SWEEP,      /* begin a pass of migrate_pages(2) */
        ACTION_SETTLE,     /* be due when the kernel's counters have followed */
        N_INSTANCE_ACTIONS,
} InstanceAction;

/* Of the rules of an event the first that names the state counts. src/README.md has them. */
typedef struct StateRule {
        InstanceEvent event;
        unsigned states; /* bits: 1 << InstanceState */
        InstanceAction action;
        InstanceState next; /* N_INSTANCE_STATES: no other */
} StateRule;

extern const StateRule state_rules[];
extern const size_t n_state_rules;

typedef struct Transition {
        InstanceAction action;
        InstanceState state; /* from now on */
} Transition;

/* What an event leads to. A decision is not possible while memory is being moved: nothing is
 * observed then. */
Transition state_next(InstanceState state, InstanceEvent event);

/* The event of a decision. `may_change`: false in a dry run, in mode observe and while paused; what
 * would change something is only planned then. */
InstanceEvent state_event(StepKind step, bool may_change, bool released);

const char *state_event_to_string(InstanceEvent event); /* "another place or backend" */

/* The verdict on an instance: the one for the journal, status.json, the metrics and tidbnumactl.
 *
 * Everything that reports on an instance uses it, so that no two reports can differ: what is
 * `bound` has its CPUs, and its memory unless its policy leaves that alone. */

typedef struct VerdictInput {
        InstanceState state;
        const Step *step; /* the last decision */
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
        bool undone;       /* it is INSTANCE_BOUND, and not verified to be so any more */
        Reason code;
        const char *reason; /* a sentence, borrowed; "" when all is well */
} Verdict;

Verdict verdict_of(const VerdictInput *input);

/* "bound", "preferred", "not bound", "left alone": what of the memory is true, in the mode of its
 * policy. */
const char *verdict_memory_word(MemoryMode mode, bool memory_bound);
