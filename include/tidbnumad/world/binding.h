/* What the kernel shows of an instance's binding, read into the model. */
#pragma once

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/binding.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/proc.h"

/* The control groups to read. */
typedef struct BindingGroups {
        int group_fd;            /* whose processes are counted: see Binding.alone; -EBADF: none */
        int cpuset_fd;           /* whose cpuset holds the instance; -EBADF: none */
        const char *cpuset_path; /* the path that each member has in v1's cpuset hierarchy when that
                                  * is so; NULL: they are always in it */
        const char *group_path;  /* on v1 the path of `group_fd` in the memory hierarchy; NULL on
                                  * v2 */
        const char *unit_path; /* on v2 the path of the unit, where it has the cpuset; NULL: none */
        int32_t suspect;       /* the foreign process of the last reading, 0: none. cgroup v1 sorts
                                * the list of a whole group for each reader, which takes some 10 ms
                                * for a session's group: the list is not read while this process is
                                * still in the group */
} BindingGroups;

/* Does the group hold only the instance's processes, their parents and their children? 1; 0:
 * `ret_intruder` is one of the others; -ESRCH: the group is gone. Of `groups` the group, its
 * path and the suspect count. */
int binding_group_is_alone(const Sysroot *sysroot, const Member *members, size_t n_members,
                           const BindingGroups *groups, int32_t *ret_intruder);

/* `members` are the instance's processes, `cpus` what every thread is to have. Reads the CPUs of
 * each thread, so that one that set its own affinity is seen too. To list the threads is most of
 * the work, as the kernel makes a directory for each: while a process has as many as it had and
 * none of them has ended, its former list serves, at most THREAD_LIST_USES times. Members that have
 * ended meanwhile are passed over. -ESRCH: all of them have, or a group is gone. */
enum { THREAD_LIST_USES = 10 };
int binding_load(const Topology *topology, const Sysroot *sysroot, Member *members,
                 size_t n_members, const BindingGroups *groups, const CpuSet *cpus, Binding *ret);

/* The same without reading each thread, for an instance whose binding is complete: its sets, the
 * other processes of its group, and the number of its threads. The values of its threads in
 * `binding`, from an earlier binding_load() of the same members, are kept. -ESRCH as above. */
int binding_reload_groups(const Topology *topology, const Sysroot *sysroot, const Member *members,
                          size_t n_members, const BindingGroups *groups, Binding *binding);

/* Which processes of a control group belong to an instance: its members, what they have started,
 * and the wrappers that started them. Each process is read once for all questions of a pass. */

typedef struct Kin {
        pid_t pid;
        bool ours; /* its chain of parents leads to a member */
} Kin;

typedef struct Kinship {
        const Sysroot *sysroot; /* borrowed, as the members */
        const Member *members;
        size_t n_members;
        Kin *known; /* ascending by pid; owned, as the next */
        size_t n_known, known_allocated;
        Kin *makers; /* the parents of members, and theirs; likewise */
        size_t n_makers, makers_allocated;
        bool makers_known;
        unsigned n_reads;
} Kinship;

/* Also one that is not read: see KINSHIP_READS_MAX, or without memory. What has ended is none. */
bool kinship_is_stranger(Kinship *kinship, pid_t pid);
void kinship_done(Kinship *kinship);
