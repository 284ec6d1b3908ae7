/* Cgroups below that of a unit. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/observe/inner-group.h"
#include "tidbnumad/sys/cgroup.h"

static int read_sets(const Sysroot *sysroot, const char *path, CpuSet *cpus, NodeSet *mems) {
        _cleanup_close_ int fd = -EBADF;
        int r = cgroup_open(sysroot, path, &fd);

        if (r >= 0)
                r = cgroup_effective_cpus_read(fd, cpus);
        return r < 0 ? r : cgroup_effective_mems_read(fd, mems);
}

int inner_group_read(const Sysroot *sysroot, const ProcHandle *handle, const char *unit_path,
                     char **ret_path, CpuSet *ret_cpus, NodeSet *ret_mems) {
        const size_t length = strlen(unit_path);
        _cleanup_free_ char *path = NULL;
        int r = proc_cgroup_read(handle, &path);

        if (r < 0)
                return r;
        while (strncmp(path, unit_path, length) == 0 && path[length] == '/') {
                CpuSet cpus;
                NodeSet mems;

                r = read_sets(sysroot, path, &cpus, &mems);
                if (r == 0) {
                        *ret_cpus = cpus;
                        *ret_mems = mems;
                        *ret_path = TAKE_PTR(path);
                        return 1;
                }
                if (r != -EOPNOTSUPP) /* without a cpuset it follows the one above it */
                        return r;
                *strrchr(path, '/') = '\0';
        }
        return 0;
}
