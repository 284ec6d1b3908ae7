/* Control groups: which version, who is in one, what it may use and what it holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

typedef enum CgroupVersion {
        CGROUP_NONE,
        CGROUP_V1, /* also hybrid: the controllers are on v1 */
        CGROUP_V2,
} CgroupVersion;

CgroupVersion cgroup_version(const Sysroot *sysroot);

/* Opens the folder of a path out of /proc/PID/cgroup. -ESRCH: gone. The caller closes it. */
int cgroup_open(const Sysroot *sysroot, const char *path, int *ret_fd);

/* The same below the root of a hierarchy of v1. */
int cgroup_open_below(int root_fd, const char *path, int *ret_fd);

/* Writes one of the group's files. */
int cgroup_write(int cgroup_fd, const char *name, const char *text);

/* cpuset.{cpus,mems}.effective, on v1 cpuset.effective_{cpus,mems}. -EOPNOTSUPP: the controller is
 * not enabled for this group; -ESRCH: gone. */
int cgroup_effective_cpus_read(int cgroup_fd, CpuSet *ret);
int cgroup_effective_mems_read(int cgroup_fd, NodeSet *ret);

/* Both, of an open group or by its path. */
int cgroup_effective_read(int cgroup_fd, CpuSet *ret_cpus, NodeSet *ret_mems);
int cgroup_effective_read_of(const Sysroot *sysroot, const char *path, CpuSet *ret_cpus,
                             NodeSet *ret_mems);

/* The effective CPUs of the group below the root of a hierarchy, or of the nearest group above it
 * that has any: without a controller a group follows the one above, and in a group of v1 that was
 * not set up nothing runs. `path` is cut on the way. -EOPNOTSUPP: none has. */
int cgroup_nearest_cpus_read(int root_fd, char *path, CpuSet *ret);

/* cpuset.{cpus,mems}: what was written to it, empty where nothing was. Otherwise the same. */
int cgroup_cpus_read(int cgroup_fd, CpuSet *ret);
int cgroup_mems_read(int cgroup_fd, NodeSet *ret);

/* Adds memory nodes to those of a cpuset, and verifies that the cpuset then has them. This moves no
 * memory: the kernel migrates only from nodes that are removed. -ENODEV: a group above does not
 * allow all of them (v1: nothing was written, v2: what is allowed counts). */
int cgroup_mems_widen(int cgroup_fd, const NodeSet *mems);

/* Sets exactly these nodes. */
int cgroup_mems_write(int cgroup_fd, const NodeSet *mems);

/* Calls back for each process of the group and of the groups below it. A negative answer of the
 * callback ends the walk and is returned. */
int cgroup_foreach_pid(int cgroup_fd, int (*callback)(pid_t pid, void *userdata), void *userdata);

/* What memory.numa_stat says of one node (cgroup-v2.rst). Unknown kinds are passed over. */
typedef struct NumaStatRow {
        uint32_t node;
        uint64_t anon_bytes;
        uint64_t file_bytes; /* as the kernel counts it: with shmem */
        uint64_t shmem_bytes;
        uint64_t mapped_bytes; /* the part of file_bytes that is mapped; unknown on v1 */
} NumaStatRow;

/* Fills up to `n_rows` rows, one a node, and returns their number. v1's file begins with a total
 * and counts pages (cgroup-v1/memory.rst): of it the hierarchical rows, with the groups below as on
 * v2. Shared memory is part of `anon_bytes` there, and no row of its own. -EBADMSG: not such a
 * file; -ENOSPC: more nodes than rows. */
int numa_stat_parse(const char *text, uint64_t page_bytes, NumaStatRow *rows, size_t n_rows);

/* Reads memory.numa_stat of either version. -EOPNOTSUPP: no memory controller for this group;
 * -ESRCH: gone. */
int numa_stat_read(int cgroup_fd, NumaStatRow *rows, size_t n_rows);

/* What a group with those below it has charged, and its limits, in bytes. */
typedef struct CgroupMemory {
        uint64_t limit_bytes;   /* memory.max, of v1 memory.limit_in_bytes; UINT64_MAX: none */
        bool has_brake;         /* v2 */
        uint64_t brake_bytes;   /* memory.high, above which the kernel slows allocations down
                                 * instead of killing; UINT64_MAX: none, and always on v1 */
        uint64_t current_bytes; /* with page cache and kernel memory */
        uint64_t inactive_file_bytes, active_file_bytes; /* page cache, without shared memory */
        uint64_t unclean_bytes;                          /* of it, dirty and under writeback */
} CgroupMemory;

/* Parses memory.stat of either version into the three fields about page cache (cgroup-v2.rst,
 * cgroup-v1/memory.rst: the total_ ones have the groups below as well). -EBADMSG: none of them. */
int cgroup_memory_stat_parse(const char *text, CgroupMemory *ret);

/* The first of these fields alone. 0: of v2; 1: of v1; -ENOENT: no such file, as in the root. */
int cgroup_limit_read(int cgroup_fd, uint64_t *ret);

/* CPUQuota= in percent of one CPU: cpu.max, of v1 cpu.cfs_quota_us. 0: none, or not known. */
uint32_t cgroup_cpu_quota_read(int cgroup_fd);

/* -EOPNOTSUPP: the memory controller is not enabled for the group, or it is the root. */
int cgroup_memory_read(int cgroup_fd, CgroupMemory *ret);

typedef struct Pressure {
        double recent;       /* share of the last ten seconds, 0..1 */
        uint64_t total_usec; /* since the group was made */
} Pressure;

/* -EBADMSG: not such a file. */
int pressure_parse(const char *text, Pressure *ret);

/* "cpu.pressure", "memory.pressure". -EOPNOTSUPP: the kernel keeps none (v1, psi=0); -ESRCH: the
 * group is gone. */
int pressure_read_file(int cgroup_fd, const char *name, Pressure *ret);

/* Memory and CPU together, so that `recent` may be up to 2. Errors as above. */
int pressure_read(int cgroup_fd, Pressure *ret);

/* --- the hierarchies of v1; where a process is in one: proc_cgroup_path_read() --- */

/* A mount of a controller's hierarchy. */
typedef struct Cgroup1Mount {
        char *point;    /* owned */
        bool read_only; /* for who reads this, as the sandbox of a service makes it */
} Cgroup1Mount;

void cgroup1_mount_done(Cgroup1Mount *mount);
#define _cleanup_cgroup1_mount_ _cleanup_(cgroup1_mount_done)

/* The mount of the controller's hierarchy out of /proc/PID/mountinfo (proc(5)), alone or together
 * with other controllers: the first that is not read-only, else the first. Only a mount of the
 * whole hierarchy counts: below the part that a container sees, the paths of /proc/PID/cgroup lead
 * nowhere. -ENOENT: none; -EBADMSG: not a mountinfo. */
int cgroup1_mount_parse(const char *mountinfo, const char *controller, Cgroup1Mount *ret);

/* The same of this process, or of the one that made the dump. -ENOENT: none, or of a dump: not
 * known. */
int cgroup1_mount_read(const Sysroot *sysroot, const char *controller, Cgroup1Mount *ret);

/* Opens that folder, below the sysroot. -ENOENT: none. */
int cgroup1_open(const Sysroot *sysroot, const char *controller, int *ret_fd);

/* May this process make groups there, as far as that can be told without making one? 0; -EROFS: it
 * is read-only; -EACCES: it is another user's; -ENOENT: none; -EAGAIN: the list of mounts may not
 * be read. */
int cgroup1_may_write(const Sysroot *sysroot, const char *controller);

/* Makes and removes a group directly below the root of a hierarchy, which needs
 * CAP_DAC_OVERRIDE. -EEXIST; -EBUSY: in use; -ENOENT. */
int cgroup1_mkdir(int root_fd, const char *name);
int cgroup1_rmdir(int root_fd, const char *name);

/* Our directory below the root of the cpuset hierarchy. */
#define CGROUP1_FOLDER "tidbnumad"

/* Is this path, out of /proc/PID/cgroup, our directory or below it? In our directory itself are the
 * processes whose own has lost its last CPU: the kernel moves them to the one above (cpusets.rst).
 */
bool cgroup1_is_ours(const char *path);

/* Makes a valid directory name from any `name`: at most CGROUP1_NAME_MAX - 1 bytes, no slash, no
 * leading dot, no control character, and not the name of one of the kernel's own files. Names that
 * had to be changed end with a checksum of the whole name, so that two names never become one. */
#define CGROUP1_NAME_MAX 128u
void cgroup1_name(const char *name, char buffer[static CGROUP1_NAME_MAX]);
