/* Why something is not as its policy wants it: one word for metrics and filters, and a sentence for
 * the operator that names what to do. The words are a contract, listed in tidbnumad(8). */
#pragma once

typedef enum Reason {
        REASON_NONE,

        /* What follows from the policies, or from the machine. */
        REASON_NO_PLACE,           /* the plan gives it no nodes */
        REASON_RELEASED,           /* enforcement.release names it */
        REASON_OBSERVE,            /* nothing may be changed */
        REASON_NOT_STRICT,         /* this backend cannot hold memory to nodes */
        REASON_NOT_MOVED,          /* migrate: none */
        REASON_NO_ROOM,            /* its nodes have none for all of its memory */
        REASON_NODE_FULL,          /* its nodes run full, or are */
        REASON_PINNED_PAGES,       /* pages that the kernel does not move */
        REASON_MEMORY_UNREADABLE,  /* where its memory lies is not known */
        REASON_STATE_UNREADABLE,   /* what stands of it cannot be read */
        REASON_SHARED_UNIT,        /* others live in its unit */
        REASON_NO_UNIT,            /* it has none that could be bound */
        REASON_OWN_LIMITS,         /* what the admin has set on its unit leaves nothing */
        REASON_SLICE_TOO_TIGHT,    /* what is above it allows less */
        REASON_INNER_GROUP,        /* a group that its service made below its own does */
        REASON_CONTROLLER_MISSING, /* the host has not what the backend needs */
        REASON_CONTESTED,          /* somebody else changes it again and again */
        REASON_OWN_CPUS,           /* its threads have chosen CPUs themselves */

        /* What an attempt failed for. */
        REASON_PERMISSION,
        REASON_UNIT_MASKED,
        REASON_UNIT_GONE,
        REASON_NODE_OFFLINE,
        REASON_BUS_GONE,
        REASON_NO_ANSWER,
        REASON_RECORD_UNWRITABLE,
        REASON_NO_VECTOR,    /* of an interrupt: these CPUs have none free */
        REASON_NOT_FOLLOWED, /* of an interrupt: it fires elsewhere than its mask says */
        REASON_NO_MEMORY,
        REASON_OTHER,
        N_REASONS,
} Reason;

/* What of an instance was changed by somebody else. */
typedef enum DriftKind {
        DRIFT_CPUS,    /* of its cpuset */
        DRIFT_MEMS,    /* likewise */
        DRIFT_THREADS, /* the CPUs of threads, where no cpuset holds them */
        N_DRIFTS,
} DriftKind;

const char *drift_to_string(DriftKind drift); /* "mems" */

const char *reason_to_string(Reason reason);   /* "no-room"; "" for none */
const char *reason_to_sentence(Reason reason); /* what it means; without a full stop */
const char *reason_to_remedy(Reason reason);   /* what to do about it, likewise */

/* What a negative errno of a change, be it the kernel's or systemd's, comes to; never NONE. See
 * sys/bus-units.h for those of systemd. */
Reason reason_of_error(int error);
