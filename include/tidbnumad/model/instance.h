/* An instance: who it is and what is there of it (InstanceFacts), and what is published of it
 * (InstanceInfo). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/model/field.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/reason.h"
#include "tidbnumad/model/workload.h"

typedef enum InstanceState {
        INSTANCE_WAITING,
        INSTANCE_WATCHED,
        INSTANCE_RELEASED,
        INSTANCE_PLANNED,
        INSTANCE_BINDING,
        INSTANCE_MOVING,
        INSTANCE_NARROWING,
        INSTANCE_SETTLING,
        INSTANCE_BOUND,
        INSTANCE_WIDENED,
        INSTANCE_PARTLY,
        INSTANCE_REFUSED,
        N_INSTANCE_STATES,
} InstanceState;

const char *instance_state_to_string(InstanceState state); /* "bound" */
/* False: nothing binds the instance, and nothing is about to. */
bool instance_state_binds(InstanceState state);

/* What has become of MemoryMax= of its unit, where the policy sets it. */
typedef enum LimitState {
        LIMIT_NONE,       /* the policy sets none */
        LIMIT_WAITING,    /* its place or its memory is not known yet */
        LIMIT_NO_UNIT,    /* it has no service to itself, or is bound by affinity */
        LIMIT_SMALLER,    /* its unit has a smaller limit, or one that something else has set */
        LIMIT_HELD,       /* it holds nine tenths of the limit or more */
        LIMIT_PLANNED,    /* it would be set, and nothing may be changed */
        LIMIT_PENDING,    /* it is being set */
        LIMIT_SET,        /* since before its start */
        LIMIT_NEXT_START, /* since its start, so that its sizes are those of before */
        LIMIT_LIFTED,     /* by the guard */
        N_LIMIT_STATES,
} LimitState;

const char *limit_state_to_string(LimitState state);   /* "next-start" */
const char *limit_state_to_sentence(LimitState state); /* "" of LIMIT_NONE */

/* What an instance holds on one node (NodeMemory), as it is published. */
typedef struct InstanceMemory {
        uint32_t node;
        uint64_t anon_bytes, file_bytes, shmem_bytes;
} InstanceMemory;

/* The longest path that is kept of the group that limits an instance, with its end. */
#define ALLOWED_BY_MAX 128u

/* Who an instance is. InstanceFacts owns what it points to; the others borrow it. */
typedef struct InstanceIdentity {
        char *name;      /* metric label `instance`; NULL: it has none yet */
        char *unit;      /* NULL: none */
        char *exe;       /* path of its oldest process; NULL: not known */
        uint16_t *ports; /* TCP ports that it listens on, ascending, once known; may be NULL */
        size_t n_ports;
        char *data_dir;        /* NULL: none, or not known */
        char *storage;         /* the disks under it, as a text; NULL: not known */
        NodeSet storage_nodes; /* their nodes; empty: not known */
} InstanceIdentity;

/* A member of a struct that is about an instance: the fields are its own, and together they are
 * `identity`. */
#define INSTANCE_IDENTITY                                                                          \
        union {                                                                                    \
                struct InstanceIdentity;                                                           \
                InstanceIdentity identity;                                                         \
        }

/* Who an instance is, and what its processes and its control group show of it: all that a plan
 * depends on, beside what is in force. The daemon keeps it up to date, tidbnumactl reads it once,
 * and of an imagined instance it holds what was given. Owned, except for what is borrowed. */
typedef struct InstanceFacts {
        INSTANCE_IDENTITY;
        const Policy *policy; /* borrowed */
        Member *members;      /* ascending by pid; none: it is imagined */
        size_t n_members, members_allocated;
        CpuSet allowed_cpus;             /* that its parent cgroup allows; empty: all */
        NodeSet allowed_nodes;           /* likewise, memory nodes */
        char allowed_by[ALLOWED_BY_MAX]; /* the group that allows no more; "": not known */
        NodeMemory *by_node;  /* by index of the topology's nodes; NULL: nothing is known */
        bool memory_known;    /* `by_node` was counted by the kernel, so it is exact */
        uint64_t limit_bytes; /* memory limit of its control group; 0: none, or the group is shared
                               */
        HugeNeed huge;        /* reserved huge pages that it has mapped */
        bool huge_known;      /* these were read; else `huge` is what it may be at most */
        char *memory_policy; /* that it has set, or numactl(8) for it, as /proc/PID/numa_maps of its
                              * first process has it; NULL: none, or not known */
        uint32_t cpus_used;  /* on average while it has run, see members_read_cpus_used(); 0: not
                              * known */
} InstanceFacts;

/* The first member of a struct that is an instance and more: the fields are its own, and together
 * they are `facts`. */
#define INSTANCE_FACTS                                                                             \
        union {                                                                                    \
                struct InstanceFacts;                                                              \
                InstanceFacts facts;                                                               \
        }

/* Are all of its processes in one scope that the daemon made for it? */
bool facts_in_scope(const InstanceFacts *facts);

/* Is one of its processes in a container, which its policy includes? */
bool facts_in_container(const InstanceFacts *facts);

/* Does the process belong to it: the same system service, or the same scope that the daemon made
 * for it, or else the same process? Without the first two each process is an instance of its own.
 */
bool facts_own(const InstanceFacts *facts, const Process *process);

/* The index of the member with that number; -1: it has none. */
ssize_t facts_find(const InstanceFacts *facts, pid_t pid);

/* Names of an instance from the best to the longest: those after the first are for where others
 * have it already. The last one holds the pid. */
enum { INSTANCE_NAME_RANKS = 3 };

/* What an instance is called, in metrics, in the journal and by the operator: the best name that is
 * not taken by another one. The unit without its suffix; without a service "program:port", or
 * "program:pid" until a port is known. The instance must have a process. The caller owns the name.
 * -ENOMEM; -EEXIST: all of them are taken. */
typedef bool (*NameTaken)(const char *name, void *userdata);
int facts_choose_name(const InstanceFacts *facts, NameTaken is_taken, void *userdata, char **ret);

/* What is published of it. The daemon fills it, status.json and the metrics are made from it, and
 * tidbnumactl reads it back. */
typedef struct InstanceInfo {
        INSTANCE_IDENTITY;
        const char *policy;   /* metric label `policy` */
        const char *backend;  /* "systemd", "cgroup1", "affinity", or "none" where nothing can be
                               * enforced */
        const char *bound_by; /* "unit", "scope", "cgroup1", "affinity"; "": not yet */
        const char *bound_by_reason; /* why by affinity, where the host has more; NULL: it is not */
        Reason bound_by_code;
        const char *start_cpus_by; /* what of the start of its unit chooses CPUs, such as "numactl";
                                    * "": nothing; NULL: not known */
        const char *start_memory_by; /* likewise, memory nodes */
        pid_t pid;                   /* the oldest process of the instance */
        size_t n_processes;
        NodeSet nodes; /* where it is to be; empty = the policy names none */
        CpuSet cpus;   /* the CPUs that it is to have */
        MemoryMode memory;
        PlacementBasis basis;     /* why it is to be there */
        PlacementRefusal refusal; /* why it is to be nowhere; REFUSAL_NONE: it has a place */
        uint32_t warnings;        /* PlacementWarning */

        InstanceState state;
        const char *reason; /* a sentence for the operator; "" when all is well */
        Reason reason_code; /* of what kind it is */
        bool bind_wanted;   /* a written policy names it, and its release was not requested */
        bool cpu_bound, memory_bound; /* verified, see plan/step.h */
        size_t n_threads;
        size_t n_threads_outside; /* threads whose CPUs are not exactly `cpus` */

        const InstanceMemory *memory_by_node; /* NULL: not sampled yet */
        size_t n_memory;
        const char *memory_method;     /* how that was had: "numa_stat", counted; "sampled", an
                                        * estimate; NULL: it was not */
        double remote_ratio;           /* anonymous memory, 0..1; NAN: not known */
        double remote_ratio_halfwidth; /* of its 95 % confidence interval; 0: exact; NAN: not known
                                        */

        bool access_known;               /* some of its threads have counters, or had */
        uint64_t accesses[N_LOCALITIES]; /* since it was first counted */
        double remote_access_ratio;      /* of the last sample; NAN: not known */
        double access_coverage;          /* 0..1, likewise */

        uint64_t bind_attempts;
        uint64_t bind_failures;
        uint64_t migrated_bytes;
        uint64_t pending_bytes;           /* anonymous bytes that are still to be moved */
        uint64_t failed_pages;            /* pages that the kernel refused to move */
        uint64_t migration_bytes_per_sec; /* the rate in force; 0: nothing is being moved */
        double migration_left_seconds;    /* NAN: nothing is being moved */
        bool memory_widened; /* a strict binding has more nodes, for its own are nearly full, or
                              * were and it is not narrow again yet */
        NodeSet memory_extra_nodes; /* those that are held open for that; empty: none */
        uint64_t memory_widenings;
        LimitState memory_limit_state;
        uint64_t memory_limit_bytes; /* MemoryMax= of its unit by its policy; 0: none */
        bool bound_after_start; /* its first process had run for a while when its CPUs were set, so
                                 * that it may count on those that it had before */
        bool changed; /* the daemon has set CPUs or memory nodes, and knows what was there before */
        double bind_seconds; /* from the first sight of it to the verified state; NAN: not yet */
} InstanceInfo;

/* All that is published of it. What has no key is a metric only. */
extern const FieldTable instance_fields;

/* The field at that offset, if it is a metric; else NULL. */
const Field *instance_metric(size_t offset);
