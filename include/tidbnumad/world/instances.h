/* What the processes of one instance show: the ports they listen on, their data directory, and the
 * control group that is theirs. */
#pragma once

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/ports.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/world/memory.h"
#include "tidbnumad/world/processes.h"
#include "tidbnumad/world/storage.h"

/* The processes of one instance. Borrowed. */
typedef struct Members {
        const Sysroot *sysroot;
        const Member *list; /* ascending by pid */
        size_t n;
        const char *unit; /* NULL: none */
        /* The process that was last found in a group with others, of whichever instance: a group
         * that many of them share is then read once and not by each. NULL: not kept. */
        int32_t *intruder;
} Members;

void member_done(Member *member);

/* A new instance of the policy (may be NULL), with the unit and the executable of its first
 * process, which is to be added. -ENOMEM: to be freed all the same. */
int instance_facts_init(InstanceFacts *facts, const Policy *policy, const Process *first);

/* Takes over both (they are empty afterwards), but for -ENOMEM. */
int facts_add_member(InstanceFacts *facts, Process *process, ProcHandle *handle);

/* Frees what the facts own. */
void instance_facts_done(InstanceFacts *facts);

/* Its processes. */
Members facts_members(const InstanceFacts *facts, const Sysroot *sysroot);

/* The first so many of `list` are read, see MEMBERS_ASKED_MAX. */
size_t members_n_asked(const Members *members);

/* The ports of all its processes, because a master of haproxy passes its sockets on to its workers.
 * A process that cannot be read counts as one without ports. 0 or -ENOMEM. */
int members_read_ports(const Members *members, ListenPorts *ret);

/* May its processes be followed to the files that they name? Only if the administrator vouches for
 * them, by the user in their policy or by a system service. */
bool members_are_vouched_for(const Members *members, const Policy *policy);

/* The data directory that the first of its processes names, and the disks below it. The caller must
 * call members_are_vouched_for() first. -ENODATA: no process names a directory; -ENOMEM; another
 * negative errno: the last process that was tried cannot be read. */
int members_read_data_dir(const Members *members, char **ret);
int members_read_storage(const Members *members, const char *data_dir, StorageDevices *ret);

/* The CPUs that its processes have used on average since the oldest of them started, rounded up:
 * every caller gets the same number, however often it calls. 0: the instance has run for less than
 * a minute, or the kernel does not show it. */
uint32_t members_read_cpus_used(const Members *members);

/* The threads of all its processes whose names begin with `prefix`, as far as they can be read; at
 * most OTHERS_THREADS_READ_MAX of a process are. */
size_t members_count_threads(const Members *members, const char *prefix);

/* The scope that the daemon made for it, or NULL. */
const char *members_scope(const Members *members);

/* The path of the unit's control group on v2, without groups that the unit has created below it;
 * for an instance without its own unit, the group of its oldest process. The caller owns it; NULL:
 * none, or no memory. */
char *members_group_path(const Members *members);

/* Opens the group that counts its memory: the unit's on v2, on v1 the one of the memory controller.
 * `ret_path` (owned by the caller) is its path in that hierarchy. 1; 0: it has none of its own;
 * -ESRCH: the group is gone. */
int members_open_group(const Members *members, int *ret_fd, char **ret_path);

/* The cpuset of the nearest parent group that has one: the limit of the instance, which no setting
 * can exceed. `with_own`: includes the instance's own group, if tidbnumad does not write to it.
 * Both stay empty (everything is allowed) if there is none, and on v1, where the instance gets a
 * group beside the others. `ret_group`: the highest group that allows no more, "/db.slice"; "" if
 * that is the root, or its path is longer. */
void members_read_allowed(const Members *members, bool with_own,
                          char ret_group[static ALLOWED_BY_MAX], CpuSet *ret_cpus,
                          NodeSet *ret_nodes);

/* The CPUs to which it is bound. Of a service on v2 its unit's cpuset decides, because the threads
 * of a service may be narrower for other reasons (CPUAffinity= of the manager, a cpu-map). Where
 * there is no such cpuset, the CPUs that its threads may use. -ENODATA: neither can be read. */
int members_read_cpus(const Members *members, CpuSet *ret);

/* The first part of it, the unit's cpuset. -EOPNOTSUPP: no service, or it has none. */
int members_read_unit_cpus(const Members *members, CpuSet *ret);

/* How much memory an instance holds on which node, and how much it may have. */

/* What its control group counts, into `by_node` (n_nodes of the topology, by index), if the group
 * is its own. -EBUSY: the group holds other processes as well; -EOPNOTSUPP: it has no group that
 * counts; -ENODATA: the group has not counted most of it, see residency_covers(). `ret_limit_bytes`
 * is its memory limit, also where nothing is counted; 0: none. */
int members_read_memory(const Members *members, const Topology *topology, NodeMemory *by_node,
                        uint64_t *ret_limit_bytes);

/* The count of a group that is known to be the instance's own. -ENODATA as above. */
int members_count_memory(const Members *members, const Topology *topology, int group_fd,
                         NodeMemory *by_node);

/* The memory limit of a group: its own, unless a group above it has less. 0: the group has none, or
 * one above all memory of the machine. */
uint64_t members_limit_bytes(const Topology *topology, int group_fd);

/* --- residency: how much of an instance's memory is on which node --- */

/* Reads memory.numa_stat of the unit's cgroup into `by_node` (n_nodes of the topology, by index).
 * Costs the same whatever the size of the process. -EOPNOTSUPP: no memory controller there; -ESRCH:
 * the unit is gone; other: not readable. */
int residency_read(const Topology *topology, int cgroup_fd, NodeMemory *by_node);

/* What the CPUs may have charged or uncharged and not reported yet. Before Linux 5.16 they keep it
 * until it is more, so that a node may show bytes for ever that are no longer there. */
uint64_t residency_uncounted_max(const Topology *topology);

/* Does the count of the cgroup include the anonymous memory of a process whose resident anonymous
 * memory (RssAnon) is `resident_bytes`? Memory from before the process came to the cgroup, or
 * before the controller was enabled, stays charged elsewhere (cgroup-v2.rst, "Memory Ownership");
 * v1 counts locked memory separately. Tolerates the normal difference between the two counters of
 * the kernel. */
bool residency_covers(const Topology *topology, const NodeMemory *by_node, uint64_t resident_bytes);

/* The sums over the nodes that are not in `nodes` of the two kinds that may be moved: anonymous
 * memory, and files and shared memory that are mapped (what others map too is among them, and
 * stays). The other fields of the result are 0. */
NodeMemory residency_outside(const Topology *topology, const NodeMemory *by_node,
                             const NodeSet *nodes);

/* Anonymous bytes outside as a share of all anonymous bytes, 0..1; NAN when there are none. */
double residency_ratio(const Topology *topology, const NodeMemory *by_node, const NodeSet *nodes);

/* All processes of the instance that are read (MEMBERS_ASKED_MAX), each by `read`; what cannot be
 * read makes it partial. 0; -ESRCH: all of them are gone; -ENOMEM, -ETIME, -EBUSY of `read`: ask
 * again later. */
typedef int (*HugeMapsRead)(const Member *member, const NodeSet *nodes, void *userdata,
                            HugeMaps *ret);
int members_collect_huge_maps(const Members *members, const NodeSet *nodes, HugeMapsRead read,
                              void *userdata, HugeMaps *ret);

/* The same in this process. */
int members_read_huge_maps(const Members *members, const NodeSet *nodes, HugeMaps *ret);

/* An instance as a program has it that reads it once. The daemon reads repeatedly, so it keeps its
 * own list, of the same facts and by the same functions. */
typedef struct HostInstance {
        INSTANCE_FACTS;
        DeviceList disks;   /* under its data directory */
        CpuSet cpus;        /* that it is bound to, see members_read_cpus(); empty: not known */
        CpuSet unit_cpus;   /* the cpuset of its unit; empty: none */
        CpuSet thread_cpus; /* that its threads may use, all together; empty: not known */
        NodeSet mems;       /* that its group allows it; empty: not known */
        bool shared;        /* unrelated processes are in its unit */
        uint32_t cpu_quota; /* CPUQuota= of its unit, in percent of one CPU; 0: none, not known */

        /* Of one that is imagined, and so has no members. What it needs is its limit. */
        NodeSet in_force; /* the nodes to which it counts as bound */
        bool in_turn;     /* its disk was assigned in turn, not named */
} HostInstance;

typedef struct HostInstances {
        HostInstance *instances; /* owned */
        size_t n_instances, allocated;
        size_t n_denied;   /* processes that this user may not read */
        size_t n_reported; /* that were added by what the daemon reports of them */
        PidList silent; /* whose memory map or file system does not answer; without their arguments
                         * they may be in no instance */
} HostInstances;

void host_instances_done(HostInstances *list);
#define _cleanup_host_instances_ _cleanup_(host_instances_done)

/* All processes that a policy names, by the instances that they form. 0, -ENOMEM, or another
 * negative errno: /proc cannot be read at all. */
int host_instances_find(const Sysroot *sysroot, const PolicySet *policies, HostInstances *ret);

/* One process more, found otherwise. Takes over both, but for -ENOMEM. */
int host_instances_add(HostInstances *list, const Policy *policy, Process *process,
                       ProcHandle *handle);

/* Reads what the kernel shows of each, names those without a name, and sorts them by name, numbers
 * in names by value. What cannot be read stays unknown. 0 or -ENOMEM. */
int host_instances_describe(const Sysroot *sysroot, const Topology *topology, HostInstances *list);

/* By process number. NULL: none. */
/* How many of them are of that policy. */
size_t host_instances_count(const HostInstances *list, const Policy *policy);

HostInstance *host_instances_find_pid(const HostInstances *list, pid_t pid);

/* The instance of that name, unit (with or without suffix) or process number, or NULL. */
const HostInstance *host_instances_find_subject(const HostInstances *list, const char *subject);
