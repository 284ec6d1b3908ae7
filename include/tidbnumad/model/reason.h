/* Why an instance is not as its policy wants it: a word for metrics and filters, a sentence, and
 * what to do. The words are a stable interface, listed in tidbnumad(8). */
#pragma once

#include "tidbnumad/base/text.h"

typedef enum Reason {
        REASON_NONE,

        /* From the policies or the machine. */
        REASON_NO_PLACE,           /* the plan has no nodes for it */
        REASON_RELEASED,           /* on request */
        REASON_OBSERVE,            /* paused, mode: observe or dry run */
        REASON_NOT_STRICT,         /* the backend cannot bind memory */
        REASON_NOT_MOVED,          /* migrate: none */
        REASON_NO_ROOM,            /* its memory does not fit on its nodes */
        REASON_HUGE_POOL,          /* its nodes have too few of the huge pages it has reserved */
        REASON_NODE_FULL,          /* its nodes are nearly full */
        REASON_NODE_FILLING,       /* they are being filled fast */
        REASON_NODE_FREED,         /* they have room again */
        REASON_PINNED_PAGES,       /* the kernel does not move some pages */
        REASON_MEMORY_UNREADABLE,  /* the location of its memory is not counted */
        REASON_STATE_UNREADABLE,   /* its /proc or cgroup files cannot be read */
        REASON_MEMORY_SILENT,      /* its memory map does not answer */
        REASON_FILES_SILENT,       /* the file system of its data directory does not */
        REASON_SHARED_UNIT,        /* unrelated processes in its unit */
        REASON_UNIT_LIMITS,        /* its scope has limits that another would not have */
        REASON_NO_UNIT,            /* not in a service of its own */
        REASON_OWN_LIMITS,         /* the unit's own settings exclude its nodes */
        REASON_SLICE_TOO_TIGHT,    /* a cgroup above it allows less */
        REASON_INNER_GROUP,        /* a cgroup created by the service allows less */
        REASON_CONTROLLER_MISSING, /* the host lacks what the backend needs */
        REASON_CONTESTED,          /* something else keeps changing it */
        REASON_OWN_CPUS,           /* threads chose fewer CPUs themselves */
        REASON_UNIT_AFFINITY,      /* CPUAffinity= of its unit leaves some CPUs out */
        REASON_START_AFFINITY,     /* numactl or taskset in its start does */
        REASON_START_FAILED,       /* a prepared unit failed soon after its start */
        REASON_START_LIMITS,       /* its start asks for other CPUs or nodes than its place */

        /* Why an attempt failed. */
        REASON_PERMISSION,
        REASON_UNIT_MASKED,
        REASON_UNIT_GONE,
        REASON_NODE_OFFLINE,
        REASON_BUS_GONE,
        REASON_NO_ANSWER,
        REASON_RECORD_UNWRITABLE,
        REASON_NO_VECTOR,    /* no CPU of the interrupt has a free one */
        REASON_NOT_FOLLOWED, /* an interrupt fires outside its mask */
        REASON_NO_MEMORY,
        REASON_OTHER,
        N_REASONS,
} Reason;

/* What something else changed on an instance. */
typedef enum DriftKind {
        DRIFT_CPUS,    /* CPUs of its cpuset */
        DRIFT_MEMS,    /* memory nodes of its cpuset */
        DRIFT_THREADS, /* CPUs of threads, without a cpuset */
        N_DRIFTS,
} DriftKind;

const char *drift_to_string(DriftKind drift); /* "mems" */

const char *reason_to_string(Reason reason);   /* "no-room"; "" for none */
const char *reason_to_sentence(Reason reason); /* what it means, without a full stop */
const char *reason_to_remedy(Reason reason);   /* what to do, without a full stop */

/* The same, with the name of the unit in it. NULL: it is not known. */
void reason_append_remedy(Text *text, Reason reason, const char *unit);

/* The reason for a negative errno from the kernel or systemd (sys/bus-units.h); never NONE. */
Reason reason_of_error(int error);
