/* Control groups: which version, who is in one, what it may use and what it holds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

typedef enum CgroupVersion {
        CGROUP_NONE,
        CGROUP_V1, /* also hybrid: the controllers are on v1 */
        CGROUP_V2,
} CgroupVersion;

CgroupVersion cgroup_version(const Sysroot *sysroot);

/* Opens the folder of a path out of /proc/PID/cgroup. -ESRCH: gone. The caller closes it. */
int cgroup_open(const Sysroot *sysroot, const char *path, int *ret_fd);

/* cpuset.{cpus,mems}.effective. -EOPNOTSUPP: the controller is not enabled for this group; -ESRCH:
 * gone. */
int cgroup_effective_cpus_read(int cgroup_fd, CpuSet *ret);
int cgroup_effective_mems_read(int cgroup_fd, NodeSet *ret);

/* Calls back for each process of the group and of the groups below it. A negative answer of the
 * callback ends the walk and is returned. */
int cgroup_foreach_pid(int cgroup_fd, int (*callback)(pid_t pid, void *userdata), void *userdata);

/* One row of memory.numa_stat on v2 (cgroup-v2.rst): bytes of one kind by node. Unknown kinds are
 * passed over. */
typedef struct NumaStatRow {
        uint32_t node;
        uint64_t anon_bytes;
        uint64_t file_bytes; /* as the kernel counts it: with shmem */
        uint64_t shmem_bytes;
} NumaStatRow;

/* Fills up to `n_rows` rows, one a node, and returns their number. -EBADMSG: not such a file;
 * -ENOSPC: more nodes than rows. */
int numa_stat_parse(const char *text, NumaStatRow *rows, size_t n_rows);

/* -EOPNOTSUPP: no memory controller for this group; -ESRCH: gone. */
int numa_stat_read(int cgroup_fd, NumaStatRow *rows, size_t n_rows);
