/* What the cgroup of a process leaves of the machine. hwloc's own answer knows only the group
 * itself and not those above it. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/observe/own-cpuset.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/cgroup1.h"
#include "tidbnumad/sys/proc.h"

static int open_group(const Sysroot *sysroot, const ProcHandle *handle, int *ret_root,
                      char **ret_path) {
        int r;

        if (cgroup_version(sysroot) == CGROUP_V1) {
                r = proc_cgroup_path_read(handle, "cpuset", ret_path);
                return r < 0 ? r : cgroup1_open(sysroot, "cpuset", ret_root);
        }
        if (sysroot->cgroup_fd < 0)
                return -EOPNOTSUPP;
        r = cgroup_open(sysroot, "/", ret_root);
        return r < 0 ? r : proc_cgroup_read(handle, ret_path);
}

static int read_nearest(int root, char *path, CpuSet *ret) {
        for (;;) {
                _cleanup_close_ int group = -EBADF;
                char *slash = strrchr(path, '/');
                CpuSet cpus;
                int r = cgroup_open_below(root, path, &group);

                if (r >= 0)
                        r = cgroup_effective_cpus_read(group, &cpus);
                /* v1's empty ones are of a group that nobody has set up: nothing runs there. */
                if (r >= 0 && !id_set_is_empty(&cpus)) {
                        *ret = cpus;
                        return 0;
                }
                if (r < 0 && r != -EOPNOTSUPP)
                        return r;
                if (!slash)
                        return -EOPNOTSUPP;
                *slash = '\0';
        }
}

int own_cpuset_read_cpus(const Sysroot *sysroot, pid_t pid, CpuSet *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int root = -EBADF;
        int r = proc_open(sysroot, pid, &handle);

        if (r >= 0)
                r = open_group(sysroot, &handle, &root, &path);
        return r < 0 ? r : read_nearest(root, path, ret);
}

/* They are those of its cpuset: nothing else changes them. */
int own_cpuset_read_nodes(const Sysroot *sysroot, pid_t pid, NodeSet *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        ProcStatus status;
        int r = proc_open(sysroot, pid, &handle);

        if (r >= 0)
                r = proc_status_read(&handle, 0, &status);
        if (r < 0)
                return r;
        *ret = status.mems_allowed;
        return 0;
}
