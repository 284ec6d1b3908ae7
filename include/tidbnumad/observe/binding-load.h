/* What the kernel shows of an instance's binding, read into the model. */
#pragma once

#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/proc.h"

/* The groups to look into. */
typedef struct BindingGroups {
        int group_fd;            /* whose processes are counted: see Binding.alone; -EBADF: none */
        int cpuset_fd;           /* whose cpuset holds the instance; -EBADF: none */
        const char *cpuset_path; /* the path that each member has in v1's cpuset hierarchy when that
                                  * is so; NULL: they are always in it */
        const char *group_path;  /* on v1 the path of `group_fd` in the memory hierarchy; NULL on
                                  * v2 */
        const char *unit_path; /* on v2 the path of the unit, where it has the cpuset; NULL: none */
        int32_t suspect;       /* the intruder of the last look, 0: none. v1 sorts a list of the
                                * whole group for whoever reads it, some 10 ms of a session's:
                                * while this one is still there, it is not read */
} BindingGroups;

/* Does the group hold only the instance's processes, their parents and their children? 1; 0:
 * `ret_intruder` is one of the others; -ESRCH: the group is gone. Of `groups` the group, its
 * path and the suspect count. */
int binding_group_is_alone(const Sysroot *sysroot, const Member *members, size_t n_members,
                           const BindingGroups *groups, int32_t *ret_intruder);

/* `members` are the instance's processes, `cpus` what every thread is to have. Reads each thread's
 * status file, so that a thread that set its own affinity is seen too. Members that have ended
 * meanwhile are passed over. -ESRCH: all of them have, or a group is gone. */
int binding_load(const Topology *topology, const Sysroot *sysroot, const Member *members,
                 size_t n_members, const BindingGroups *groups, const CpuSet *cpus, Binding *ret);

/* The same without a look at each thread, for an instance that rests: its sets, the other
 * processes of its group, and the number of its threads. What `binding` holds of its threads,
 * from an earlier binding_load() of the same members, stays. -ESRCH as above. */
int binding_reload_groups(const Topology *topology, const Sysroot *sysroot, const Member *members,
                          size_t n_members, const BindingGroups *groups, Binding *binding);
