/* What the processes of one instance show: the ports they listen on, their data directory, and the
 * control group that is theirs. */
#pragma once

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/ports.h"
#include "tidbnumad/sys/proc.h"
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

/* Takes over both (they are empty afterwards). -ENOMEM: they stay with the caller. */
int member_init(Member *member, Process *process, ProcHandle *handle);
void member_done(Member *member);

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
#define MEMBERS_GROUP_MAX 128u
void members_read_allowed(const Members *members, bool with_own,
                          char ret_group[static MEMBERS_GROUP_MAX], CpuSet *ret_cpus,
                          NodeSet *ret_nodes);

/* The CPUs to which it is bound. Of a service on v2 its unit's cpuset decides, because the threads
 * of a service may be narrower for other reasons (CPUAffinity= of the manager, a cpu-map). Where
 * there is no such cpuset, the CPUs that its threads may use. -ENODATA: neither can be read. */
int members_read_cpus(const Members *members, CpuSet *ret);

/* The first part of it, the unit's cpuset. -EOPNOTSUPP: no service, or it has none. */
int members_read_unit_cpus(const Members *members, CpuSet *ret);

/* The CPUs that its threads may use, all together; of no more threads than show all of `whole`.
 * -ENODATA: none can be read. */
int members_read_thread_cpus(const Members *members, const CpuSet *whole, CpuSet *ret);

/* The memory nodes that its group allows, or the kernel its first process. -ENODATA, or another
 * negative errno: neither can be read. */
int members_read_mems(const Members *members, NodeSet *ret);
