/* Where an instance's control groups are, on either version of them. */
#include <fcntl.h>

#include "tidbnumad/daemon/binding/groups.h"
#include "tidbnumad/daemon/undo/undo-change.h"
#include "tidbnumad/sys/cgroup.h"

void groups_close(Groups *groups) {
        closep(&groups->group_fd);
        closep(&groups->cpuset_fd);
        free(groups->group_path);
        free(groups->unit_path);
        free(groups->cpuset_path);
        *groups = GROUPS_NONE;
}

int groups_open(const Binder *b, Instance *i, Groups *ret) {
        const Members members = instance_members(i, &b->host->sysroot);
        const BackendTarget target = undo_target(i);
        const bool v1 = cgroup_version(members.sysroot) == CGROUP_V1;
        _cleanup_groups_ Groups g = GROUPS_NONE;
        int r = members_open_group(&members, &g.group_fd, v1 ? &g.group_path : &g.unit_path);

        switch (instance_backend(i, &b->host->backend)) {
        case BACKEND_SYSTEMD: /* this backend needs the unit */
                if (r < 0)
                        return r;
                /* fall through */
        case BACKEND_AUTO:
                g.cpuset_fd = g.group_fd < 0 ? -EBADF : fcntl(g.group_fd, F_DUPFD_CLOEXEC, 3);
                break;
        case BACKEND_CGROUP1:
                (void)backend_cgroup1_open(&b->host->backend, &target, &g.cpuset_fd,
                                           &g.cpuset_path);
                break;
        case BACKEND_AFFINITY:
                break;
        }
        *ret = g;
        g = GROUPS_NONE;
        return 0;
}
