/* Makes and removes our groups in the cpuset hierarchy of cgroup v1. The kernel makes one such
 * change at a time, so each call waits while another process changes any group of the host: a
 * worker does it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tidbnumad/enforce/cgroup1-groups.h"
#include "tidbnumad/sys/cgroup.h"

#define CPUS "cpuset.cpus"
#define MEMS "cpuset.mems"

typedef struct Groups {
        int root_fd, own_fd; /* of the hierarchy, and our folder in it */
} Groups;

static void groups_done(Groups *groups) {
        closep(&groups->own_fd);
        closep(&groups->root_fd);
}

static bool is_empty_group(int group_fd) {
        char byte[2];

        return path_read(group_fd, byte, sizeof(byte), "cgroup.procs") == 0;
}

/* Sets the CPUs and nodes of the parent group. The kernel does not allow a group more than its
 * parent has, accepts no process into a group without CPUs or nodes, and removes a CPU that goes
 * offline from all groups without ever restoring it. */
static int fill_from(int above_fd, int group_fd, const char *name) {
        char wanted[ID_SET_LIST_MAX], has[ID_SET_LIST_MAX];
        ssize_t n = path_read(above_fd, wanted, sizeof(wanted), "%s", name);

        if (n < 0)
                return (int)n;
        n = path_read(group_fd, has, sizeof(has), "%s", name);
        if (n >= 0 && strcmp(wanted, has) == 0)
                return 0;
        return cgroup_write(group_fd, name, wanted);
}

static int open_group(int above_fd, const char *name, bool create, int *ret_fd) {
        int r = create ? cgroup1_mkdir(above_fd, name) : 0;

        if (r < 0 && r != -EEXIST)
                return r;
        *ret_fd = openat(above_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return *ret_fd < 0 ? -errno : 0;
}

/* Directories of instances that ended unnoticed. The kernel keeps those in use. */
static void sweep(int own_fd) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        int fd = openat(own_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                closep(&fd);
                return;
        }
        while ((entry = readdir(dir)))
                if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
                        (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
}

/* Another process may remove the directory while it is empty; then it is created again. */
static int make_own(Groups *groups) {
        int r = -ENOENT;

        for (unsigned i = 0; (r == -ENOENT || r == -ENODEV) && i < 2; i++) {
                closep(&groups->own_fd);
                groups->own_fd = -EBADF;
                r = open_group(groups->root_fd, CGROUP1_FOLDER, true, &groups->own_fd);
                if (r == 0)
                        r = fill_from(groups->root_fd, groups->own_fd, CPUS);
                if (r == 0)
                        r = fill_from(groups->root_fd, groups->own_fd, MEMS);
        }
        return r;
}

/* An empty one may be left from a former instance of that name, with the memory nodes that were
 * right for it. */
static int make_group(const Groups *groups, const char *instance) {
        _cleanup_close_ int fd = -EBADF;
        char name[CGROUP1_NAME_MAX];
        int r;

        cgroup1_name(instance, name);
        r = open_group(groups->own_fd, name, true, &fd);
        if (r < 0 || !is_empty_group(fd))
                return r;
        r = fill_from(groups->own_fd, fd, MEMS);
        /* The gentle mover has that job: the kernel does it under the writer's feet. */
        return r < 0 ? r : cgroup_write(fd, "cpuset.memory_migrate", "0");
}

int cgroup1_groups_make(const Sysroot *sysroot, const char *instance) {
        _cleanup_(groups_done) Groups groups = { -EBADF, -EBADF };
        int r = cgroup1_open(sysroot, "cpuset", &groups.root_fd);

        if (r >= 0)
                r = make_own(&groups);
        return r < 0 ? r : make_group(&groups, instance);
}

int cgroup1_groups_remove(const Sysroot *sysroot) {
        _cleanup_(groups_done) Groups groups = { -EBADF, -EBADF };
        int r = cgroup1_open(sysroot, "cpuset", &groups.root_fd);

        if (r >= 0)
                r = open_group(groups.root_fd, CGROUP1_FOLDER, false, &groups.own_fd);
        if (r < 0)
                return r;
        sweep(groups.own_fd);
        return cgroup1_rmdir(groups.root_fd, CGROUP1_FOLDER);
}
