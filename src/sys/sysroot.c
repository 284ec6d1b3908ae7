/* Where /proc and /sys are read from. */
#include <fcntl.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/sysroot.h"

const char *const PROC_NAMESPACE_FILES[N_PROC_NAMESPACES] = {
        [PROC_NAMESPACE_PID] = "ns/pid",
        [PROC_NAMESPACE_USER] = "ns/user",
        [PROC_NAMESPACE_MOUNT] = "ns/mnt",
        [PROC_NAMESPACE_NETWORK] = "ns/net",
};

static int open_dir(const char *root, const char *name, int *ret) {
        _cleanup_free_ char *path = text_new("%s/%s", root, name);

        if (!path)
                return -ENOMEM;
        *ret = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return *ret < 0 ? -errno : 0;
}

int sysroot_open(const char *path, Sysroot *ret) {
        _cleanup_sysroot_ Sysroot s = SYSROOT_NONE;
        const char *root = path ? path : "";
        int r;

        s.live = !path;
        s.path = strdup(path ? path : "/");
        if (!s.path)
                return -ENOMEM;
        r = open_dir(root, "proc", &s.proc_fd);
        if (r < 0)
                return r;
        r = open_dir(root, "sys", &s.sys_fd);
        if (r < 0)
                return r;
        r = open_dir(root, "sys/fs/cgroup", &s.cgroup_fd);
        if (r < 0)
                s.cgroup_fd = -EBADF; /* dumps rarely have it */
        for (size_t i = 0; s.live && i < N_PROC_NAMESPACES; i++)
                (void)path_identify(s.proc_fd, &s.namespaces[i], "self/%s",
                                    PROC_NAMESPACE_FILES[i]);
        *ret = s;
        s = SYSROOT_NONE;
        return 0;
}

void sysroot_close(Sysroot *sysroot) {
        closep(&sysroot->proc_fd);
        closep(&sysroot->sys_fd);
        closep(&sysroot->cgroup_fd);
        free(sysroot->path);
        *sysroot = SYSROOT_NONE;
}
