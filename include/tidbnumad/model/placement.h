/* Where an instance is to be, and why. Plain data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/policy.h"

typedef struct Placement {
        NodeSet nodes;     /* empty: it is only watched */
        CpuSet cpus;       /* online CPUs of the nodes: all, or those that the policy chooses */
        MemoryMode memory; /* the policy's; MEMORY_NONE where the nodes have no memory */
        MigrateMode migrate;
        uint64_t rate_bytes_per_sec;
        const char *reason; /* why `nodes` is empty; a constant, "" otherwise */
} Placement;

/* The planner's input for one instance. Borrowed. */
typedef struct PlacementInstance {
        const char *name; /* unique */
        const Policy *policy;
        const char *unit; /* NULL: none */
        const uint16_t *ports;
        size_t n_ports;
        NodeSet in_force; /* the nodes it is bound to; empty: none, or not by us */
        bool unbound;     /* `in_force` is its place by an earlier plan, but it is not bound: it
                           * keeps the place, and its grounds are those of a choice */
        bool pinned;      /* `in_force` is a person's choice, as by TiUP's numa_node: it keeps it
                           * against `place`, where the machine has such nodes */
        NodeSet allowed_nodes; /* what its parent cgroup allows; empty: everything */
        CpuSet allowed_cpus;
        const char *allowed_by; /* what allows no more: a cgroup such as "/db.slice", or its
                                 * unit by its own settings; NULL or "": not known */
        NodeSet own_nodes; /* of its own memory policy, which stays in force: from nowhere else is
                            * its new memory; empty: it has none, or its cpuset overrules it */
        NodeSet device_nodes; /* near: storage: the nodes of the disks under its data directory;
                               * empty: not known */
        const NodeMemory *by_node; /* what it holds, by index of the topology's nodes; NULL: not
                                    * known */
        uint64_t need_bytes;       /* resident now, or the limit of its cgroup; 0: not known */
        const HugeNeed *huge; /* reserved huge pages that it may still touch; NULL: none known */
        const char *exe;      /* path or base name; NULL: not known, then the policy's counts */
        uint32_t cpus_used;   /* on average while it has run, see members_read_cpus_used(); 0: not
                                 known */
} PlacementInstance;

/* What an instance is refused for. Each has a sentence about what would help. */
typedef enum PlacementRefusal {
        REFUSAL_NONE,
        REFUSAL_WATCH_ONLY,     /* a built-in policy */
        REFUSAL_NO_PORT_YET,    /* an entry of `instances` names a port, and the instance listens on
                                 * none */
        REFUSAL_TOO_MANY_NODES, /* the machine has more nodes than PLACEMENT_NODES_MAX */
        REFUSAL_NODE_ABSENT,    /* explicit nodes that the machine does not have */
        REFUSAL_NO_CPU,         /* explicit nodes without an online CPU */
        REFUSAL_NO_MEMORY,      /* explicit nodes without memory, and memory is to be bound */
        REFUSAL_CPUS_ABSENT,    /* `cpus` lists what is no online CPU of its nodes */
        REFUSAL_NO_HOME,        /* no node of the machine has both CPUs and memory */
        REFUSAL_NO_NODE_LEFT,   /* place.nodes less place.avoid, homes only: nothing is left */
        REFUSAL_TOO_FEW_NODES,  /* fewer are left than place.count */
        REFUSAL_NO_PACKAGE,     /* no socket has so many of them */
        REFUSAL_ISOLATED,       /* all CPUs of its nodes are isolated, and not named */
        REFUSAL_TAKEN,          /* all CPUs of its nodes are a cpuset partition's */
        REFUSAL_CGROUP_NODES,   /* its parent cgroup does not allow such nodes */
        REFUSAL_CGROUP_CPUS,    /* nor CPUs of them */
        REFUSAL_OWN_MEMORY,     /* its own memory policy leaves all of its memory elsewhere */
        REFUSAL_RESERVED,       /* only reserved nodes are left, and `strict` is set */
        N_REFUSALS,
} PlacementRefusal;

const char *placement_refusal_to_string(PlacementRefusal refusal); /* the sentence */
const char *placement_refusal_to_id(PlacementRefusal refusal);     /* "too-few-nodes" */

/* Appends the sentence, and for a refusal by a cgroup or its own memory policy what the limit is.
 */
void placement_refusal_append(PlacementRefusal refusal, const PlacementInstance *in, Text *text);

/* What is weighed, best first: one differing number decides, those behind it do not count. All are
 * sums over the whole plan, lower is better. The rules are described in tidbnumad(7); R… are their
 * ids. */
typedef enum PlacementCriterion {
        WEIGH_STABILITY, /* nodes given up that an instance is bound to */
        WEIGH_DEVICE, /* R4 R6 R13: `near`: distances from the instances' nodes to their devices */
        WEIGH_EXCLUSIVE, /* R3 R5: pairs of exclusive instances on one node */
        WEIGH_POLICY,    /* pairs of instances of one policy on one node */
        WEIGH_RESERVED,  /* R2: reserved nodes that instances use. Before the spread: a socket
                          * less is not worth a network card's node */
        WEIGH_SPREAD,    /* pairs of exclusive instances, and of instances of one policy, on one
                          * socket */
        WEIGH_MEMORY,    /* R8 R10: MiB that instances need beyond what their nodes have left */
        WEIGH_ROOM,      /* R8: the squares of the weights on each node per quarter of the memory
                          * of the largest node; 0 where the nodes have the same memory */
        WEIGH_DISTANCE,  /* R13: distances among the nodes of each instance */
        WEIGH_ASIDE,     /* pairs of an exclusive instance and one of monitoring on one node */
        WEIGH_LOAD,      /* thousandths: the squares of the weights on each node per CPU of it */
        WEIGH_MOVE,      /* MiB of anonymous memory that instances have elsewhere than on their
                          * nodes, so that it must be moved */
        WEIGH_NUMBER,    /* the tie-break: sums of the nodes' ranks by number */
        N_CRITERIA,
} PlacementCriterion;

const char *placement_criterion_to_string(PlacementCriterion criterion); /* "exclusive" */
const char *placement_criterion_to_rule(PlacementCriterion criterion);   /* "R3"; "" for none */

typedef struct PlacementScore {
        uint64_t by[N_CRITERIA];
} PlacementScore;

/* Why an instance is where it is. */
typedef enum PlacementBasis {
        BASIS_REFUSED,
        BASIS_EXPLICIT, /* the policy names its nodes */
        BASIS_KEPT,     /* it is bound there and still fits */
        BASIS_CHOSEN,   /* weighed */
} PlacementBasis;

const char *placement_basis_to_string(PlacementBasis basis); /* "chosen" */

/* Nodes that were open to the instance and lost: had it been there, the others as they are, the
 * plan would be worse by `criterion`. */
typedef struct PlacementAlternative {
        NodeSet nodes;
        PlacementCriterion criterion;
        uint64_t chosen, other; /* the sums of that criterion, with the plan and with this */
} PlacementAlternative;

/* Why the nodes were chosen: the criteria by which other nodes are worse, independent of how many
 * alternatives are kept, and the number of other instances on the nodes. */
typedef struct PlacementGrounds {
        uint32_t decides;    /* bits: 1 << PlacementCriterion */
        uint32_t others;     /* on its nodes */
        uint32_t exclusive;  /* of these, exclusive ones; 0 where the instance itself is neither
                              * exclusive nor monitoring */
        uint32_t of_policy;  /* of these, those of its policy */
        uint32_t in_sockets; /* in the sockets of its nodes, as WEIGH_SPREAD counts them */
        bool outdone;        /* of a place by an earlier plan: other nodes would be better by now */
} PlacementGrounds;

/* Warnings for the operator about an instance that is placed. Bits. */
typedef enum PlacementWarning {
        WARN_RESERVED = 1 << 0,      /* R2: it is on a reserved node that was chosen for it */
        WARN_NOT_EXCLUSIVE = 1 << 1, /* R3: it shares a node although it is exclusive */
        WARN_FAR_DEVICE = 1 << 2,    /* R4: not on the node of its device */
        WARN_DEVICE_UNKNOWN =
                1 << 3,           /* R4: `near`, but its device, or the node of it, is unknown */
        WARN_MEMORY = 1 << 4,     /* R10: strict binding whose need exceeds the nodes */
        WARN_PACKAGES = 1 << 5,   /* R5: explicit nodes of several sockets */
        WARN_MANY_NODES = 1 << 6, /* R3: a tidb-server on more than one node */
        WARN_MOVED = 1 << 7,      /* its former nodes were given up: they fit no more */
        WARN_RESERVED_NAMED = 1 << 8, /* R2: its policy, or TiUP, names a reserved node */
        WARN_NO_MEMORY = 1 << 9,      /* its policy names nodes without memory */
        WARN_FEW_CPUS = 1 << 10,      /* it is heavy, and its nodes have few of their CPUs */
} PlacementWarning;
enum { N_PLACEMENT_WARNINGS = 11 };

const char *placement_warning_to_string(PlacementWarning warning); /* a sentence */
const char *placement_warning_to_rule(PlacementWarning warning);   /* "R2" */

/* The result for one instance; results are in the order of the input. */
typedef struct PlacementChoice {
        Placement placement;
        PlacementBasis basis;
        PlacementRefusal refusal;
        const PolicyInstance *entry; /* of `instances`, by which its nodes are explicit; borrowed */
        uint32_t warnings;           /* PlacementWarning */
        NodeSet reserved;            /* of its nodes, those that are reserved */
        PlacementGrounds grounds;    /* of chosen nodes, with `explain` */
        size_t n_feasible;           /* feasible sets of nodes; 1 for an explicit one */
        PlacementAlternative *alternatives; /* the best first, at most
                                             * PLACEMENT_ALTERNATIVES_MAX; owned */
        size_t n_alternatives;
} PlacementChoice;
