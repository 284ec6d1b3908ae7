#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tidbnumad/sys/mountinfo.h"
#include "tidbnumad/sys/proc-namespace.h"

static const char *const files[] = {
        [PROC_NAMESPACE_PID] = "ns/pid",
        [PROC_NAMESPACE_USER] = "ns/user",
        [PROC_NAMESPACE_MOUNT] = "ns/mnt",
        [PROC_NAMESPACE_NETWORK] = "ns/net",
};
_Static_assert(ELEMENTSOF(files) == SYSROOT_NAMESPACES, "one entry a namespace");

/* A process may have its root on a file system that does not answer (FUSE): only what the kernel
 * has cached is requested. */
static int identify(int dir_fd, const char *path, FileIdentity *ret) {
        const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
        struct statx s;

        if (statx(dir_fd, path, flags, STATX_INO, &s) < 0)
                return errno == ENOENT ? -ESRCH : -errno;
        *ret = (FileIdentity){ .dev = makedev(s.stx_dev_major, s.stx_dev_minor), .ino = s.stx_ino };
        return 0;
}

static bool is_same(const FileIdentity *a, const FileIdentity *b) {
        return a->dev == b->dev && a->ino == b->ino;
}

/* Where PID 1 does not let itself be seen, it counts as another. */
static bool is_of_init(const FileIdentity *file, const char *path) {
        FileIdentity init;

        return identify(AT_FDCWD, path, &init) == 0 && is_same(file, &init);
}

void proc_namespaces_read_own(Sysroot *sysroot) {
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                char path[32];

                (void)snprintf(path, sizeof(path), "self/%s", files[i]);
                (void)identify(sysroot->proc_fd, path, &sysroot->namespaces[i]);
        }
}

int proc_in_host_namespace(const Sysroot *sysroot, const ProcHandle *handle,
                           ProcNamespace namespace) {
        if (!handle->live)
                return 1;
        return proc_held_is_in_exec(handle)
                       ? -EBUSY
                       : proc_folder_in_host_namespace(sysroot, handle->dir_fd, namespace);
}

int proc_folder_in_host_namespace(const Sysroot *sysroot, int dir_fd, ProcNamespace namespace) {
        FileIdentity file;
        int r = identify(dir_fd, files[namespace], &file);

        if (r < 0)
                return r;
        if (is_same(&file, &sysroot->namespaces[namespace]))
                return 1;
        return namespace == PROC_NAMESPACE_MOUNT && is_of_init(&file, "/proc/1/ns/mnt");
}

int proc_has_host_root(const ProcHandle *handle) {
        FileIdentity file;
        int r;

        if (!handle->live)
                return 1;
        r = proc_held_is_in_exec(handle) ? -EBUSY : identify(handle->dir_fd, "root", &file);
        if (r < 0)
                return r;
        return is_of_init(&file, "/proc/self/root") || is_of_init(&file, "/proc/1/root");
}

static int has_mount(int dir_fd, const char *path, uint64_t id) {
        _cleanup_mount_table_ MountTable table = { 0 };
        _cleanup_free_ char *mountinfo = NULL;
        int r = mountinfo_error(read_file_alloc_at(dir_fd, path, &mountinfo, NULL));

        if (r >= 0)
                r = mountinfo_parse(mountinfo, &table);
        return r < 0 ? r : mount_table_find_id(&table, id) != NULL;
}

int proc_exe_is_mounted(const Sysroot *sysroot, const ProcHandle *handle) {
        _cleanup_close_ int exe = -EBADF;
        uint64_t id;
        int r;

        if (!handle->live)
                return 1;
        if (proc_held_is_in_exec(handle))
                return -EBUSY;
        exe = openat(handle->dir_fd, "exe", O_PATH | O_CLOEXEC);
        if (exe < 0)
                return mountinfo_error(-errno);
        r = mount_id_read(sysroot, exe, &id);
        if (r >= 0)
                r = has_mount(handle->dir_fd, "mountinfo", id);
        return r == 0 ? has_mount(sysroot->proc_fd, "1/mountinfo", id) : r;
}

int proc_shares_memory(const ProcHandle *handle, pid_t other) {
        long r;

        if (!handle->live || other <= 0)
                return 0;
        r = syscall(SYS_kcmp, handle->pid, other, KCMP_VM, 0UL, 0UL);
        return r < 0 ? -errno : r == 0;
}
