/* What the start of a unit itself asks for: CPUAffinity=, NUMAPolicy= and NUMAMask= of its unit,
 * and numactl or taskset in the command line or the script of its ExecStart=, as TiUP writes it for
 * `numa_node`.
 *
 * Inside a cpuset without their CPUs or nodes these fail, and the service with them: numactl(8)
 * refuses nodes and CPUs that are not all allowed (libnuma, numa_parse_nodestring()),
 * sched_setaffinity(2) and set_mempolicy(2) fail where nothing is left, with which systemd ends a
 * start with the status 215 or 242 (systemd.exec(5)). So a unit is prepared only with what lets
 * these succeed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/topology.h"

/* As the operator knows it: "CPUAffinity="; "" for nothing. There is nothing of another name, or of
 * NULL. */
const char *start_source_to_string(StartSource source);
StartSource start_source_from_string(const char *name);

typedef struct StartLimits {
        bool any_cpus_set, any_nodes_set;
        CpuSet any_cpus;    /* at least one must be allowed: CPUAffinity=, taskset */
        NodeSet any_nodes;  /* at least one must be allowed: NUMAMask= */
        CpuSet all_cpus;    /* each must be allowed: numactl --physcpubind */
        NodeSet all_nodes;  /* each must be allowed, as a memory node: numactl's options */
        NodeSet cpu_nodes;  /* at least one CPU of each must be allowed: numactl --cpunodebind */
        StartSource source; /* what asks, for messages; the last one if there are several */
        StartSource cpu_source, memory_source; /* likewise, what chooses CPUs, and memory nodes */
        bool unknown; /* it asks for something that is not understood, or cannot be read */
} StartLimits;

/* CPUAffinity= of the unit; empty: not set. */
void start_limits_add_affinity(StartLimits *limits, const CpuSet *cpus);

/* NUMAPolicy= as the number of set_mempolicy(2), NUMAMask=, and CPUAffinity=numa. */
void start_limits_add_numa(StartLimits *limits, const Topology *topology, int policy,
                           const NodeSet *mask, bool affinity_too);

/* The text of a shell script. */
void start_limits_add_script(StartLimits *limits, const char *text);

/* The words of a command; one with blanks is a script (`bash -c '…'`). */
void start_limits_add_command(StartLimits *limits, const char *const *words, size_t n);

/* A script that cannot be read. */
void start_limits_add_unreadable(StartLimits *limits);

/* The CPUs on which the start itself will put the service; empty: no certain ones. */
CpuSet start_limits_cpus(const StartLimits *limits, const Topology *topology);

/* Does the start succeed with these CPUs and memory nodes? Empty: all of them. */
bool start_limits_allow(const StartLimits *limits, const Topology *topology, const CpuSet *cpus,
                        const NodeSet *mems);

/* Why it is not prepared with these: a constant sentence; NULL: the start succeeds with both, and
 * without conflict.
 * `ret_cpus`: it does with the CPUs alone, and asks for memory of their nodes. */
const char *start_limits_refuse(const StartLimits *limits, const Topology *topology,
                                const CpuSet *cpus, const NodeSet *mems, bool *ret_cpus);

/* What in its start excludes some of these CPUs. START_NOTHING: nothing that is known. */
StartSource start_limits_leave_out(const StartLimits *limits, const Topology *topology,
                                   const CpuSet *cpus);

/* Are all memory nodes that it asks for outside of these? On such CPUs all its memory is remote. */
bool start_limits_conflict(const StartLimits *limits, const NodeSet *nodes);

bool start_limits_equal(const StartLimits *a, const StartLimits *b);

/* To which CPUs and memory nodes a running instance is restricted by something else than the
 * daemon, and by what: the unit, numactl or taskset in its start, or the program itself. */

/* Borrowed. */
typedef struct ByHandInput {
        const Topology *topology;
        const CpuSet *thread_cpus;  /* all that its threads may use, together; empty: not known */
        const CpuSet *unit_cpus;    /* the cpuset of its unit; empty: none, or not known */
        const NodeSet *mems;        /* the memory nodes that it may use; empty: not known */
        const CpuSet *above_cpus;   /* what the groups above its own allow; empty: everything */
        const NodeSet *above_nodes; /* likewise */
        const CpuSet *place_cpus;   /* the planned ones */
        const NodeSet *place_nodes;
        bool bound_by_daemon;   /* so that its cpuset is the daemon's own */
        StartSource cpu_source; /* what chooses CPUs in its start */
} ByHandInput;

/* Threads that have chosen single CPUs are the program's own business (a haproxy's cpu-map): the
 * CPUs count that they have together. Isolated CPUs nobody has without asking for them. */
ByHand by_hand_find(const ByHandInput *input);

/* What it leaves of these CPUs. All of them where that would be none: a thread whose own CPUs are
 * all outside of its cpuset gets those of the cpuset. */
CpuSet by_hand_left(const ByHand *found, const CpuSet *cpus);
