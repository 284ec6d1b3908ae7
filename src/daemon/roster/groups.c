/* Where an instance's control groups are, on either version of them. */
#include <fcntl.h>
#include <string.h>

#include "tidbnumad/daemon/binding/bind.h"
#include "tidbnumad/daemon/roster/groups.h"
#include "tidbnumad/daemon/roster/scope.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/cgroup1.h"

void groups_close(Groups *groups) {
        closep(&groups->group_fd);
        closep(&groups->cpuset_fd);
        free(groups->group_path);
        free(groups->unit_path);
        free(groups->cpuset_path);
        *groups = GROUPS_NONE;
}

/* The group of the memory controller, where all of its processes are in the same one that is not
 * everybody's. */
static int open_memory_group(const Instance *i, Groups *g) {
        _cleanup_close_ int root_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        for (size_t k = 0; k < i->n_processes; k++) {
                _cleanup_free_ char *other = NULL;

                r = cgroup1_path_read(&i->handles[k], "memory", &other);
                if (r == -ESRCH)
                        continue;
                if (r < 0 || strcmp(other, "/") == 0 || (path && strcmp(path, other) != 0))
                        return r < 0 ? r : -ENXIO;
                free(path);
                path = TAKE_PTR(other);
        }
        r = path ? cgroup1_open(&i->manager->host.sysroot, "memory", &root_fd) : -ESRCH;
        if (r >= 0)
                r = cgroup_open_below(root_fd, path, &g->group_fd);
        if (r >= 0)
                g->group_path = TAKE_PTR(path);
        return r;
}

char *groups_unit_path(const Instance *i) {
        const char *path = i->n_processes > 0 ? i->processes[0].cgroup : NULL;
        const char *unit = scope_of(i) ? scope_of(i) : instance_is_service(i) ? i->unit : NULL;
        const size_t length = path && unit ? unit_cgroup_length(path, unit) : 0;

        return !path ? NULL : length > 0 ? strndup(path, length) : strdup(path);
}

static int open_group(const Instance *i, Groups *g) {
        const Sysroot *sysroot = &i->manager->host.sysroot;

        if (sysroot->live && cgroup_version(sysroot) == CGROUP_V1)
                return open_memory_group(i, g);
        if (!i->unit && !i->processes[0].scope)
                return 0;
        g->unit_path = groups_unit_path(i);
        return g->unit_path ? cgroup_open(sysroot, g->unit_path, &g->group_fd) : -ENOMEM;
}

int groups_open(Instance *i, Groups *ret) {
        _cleanup_groups_ Groups g = GROUPS_NONE;
        int r = open_group(i, &g);

        switch (backend_kind(&i->manager->host.backend)) {
        case BACKEND_SYSTEMD: /* it cannot do without the unit */
                if (r < 0)
                        return r;
                /* fall through */
        case BACKEND_AUTO:
                g.cpuset_fd = g.group_fd < 0 ? -EBADF : fcntl(g.group_fd, F_DUPFD_CLOEXEC, 3);
                break;
        case BACKEND_CGROUP1:
                (void)bind_open_cpuset(i, &g.cpuset_fd, &g.cpuset_path);
                break;
        case BACKEND_AFFINITY:
                break;
        }
        *ret = g;
        g = GROUPS_NONE;
        return 0;
}
