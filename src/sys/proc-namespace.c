#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
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
/* Folders between a chroot and the root of its namespace; a path has no more. */
enum { DEPTH_MAX = PATH_MAX / 2 };

_Static_assert(ELEMENTSOF(files) == SYSROOT_NAMESPACES, "one entry a namespace");

/* A process may have its root on a file system that does not answer (FUSE): only what the kernel
 * has cached is requested. */
static int identify(int dir_fd, const char *path, FileIdentity *ret) {
        const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
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

int proc_shares_namespace(const ProcHandle *a, const ProcHandle *b, ProcNamespace namespace) {
        FileIdentity x, y;
        int r;

        if (!a->live || !b->live)
                return 1;
        r = identify(a->dir_fd, files[namespace], &x);
        if (r >= 0)
                r = identify(b->dir_fd, files[namespace], &y);
        return r < 0 ? r : is_same(&x, &y);
}

/* --- beyond a chroot --- */

typedef struct Folder {
        FileIdentity id;
        uint64_t mount; /* a folder that is mounted inside itself is its own parent elsewhere */
} Folder;

static int read_folder(const Sysroot *sysroot, int fd, Folder *ret) {
        int r = identify(fd, "", &ret->id);

        return r < 0 ? r : mount_id_read(sysroot, fd, &ret->mount);
}

/* Opens the root of its mount namespace: a chroot binds the process and not us, for whom ".." leads
 * on to the topmost folder, which is its own parent. */
static int open_namespace_root(const Sysroot *sysroot, const ProcHandle *handle, Folder *ret) {
        _cleanup_close_ int fd = openat(handle->dir_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        Folder at, above;
        int r;

        if (fd < 0)
                return mountinfo_error(-errno);
        r = read_folder(sysroot, fd, &at);
        for (unsigned depth = 0; r >= 0 && depth < DEPTH_MAX; depth++) {
                int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

                if (up < 0)
                        return -errno;
                closep(&fd);
                fd = up;
                r = read_folder(sysroot, fd, &above);
                if (r >= 0 && is_same(&at.id, &above.id) && at.mount == above.mount) {
                        *ret = at;
                        return TAKE_FD(fd);
                }
                at = above;
        }
        return r < 0 ? r : -ELOOP;
}

int proc_namespace_has_host_root(const Sysroot *sysroot, const ProcHandle *handle) {
        _cleanup_close_ int root = -EBADF;
        Folder folder = { 0 };

        if (!handle->live)
                return 1;
        if (proc_held_is_in_exec(handle))
                return -EBUSY;
        root = open_namespace_root(sysroot, handle, &folder);
        if (root < 0)
                return root;
        return is_of_init(&folder.id, "/proc/self/root") || is_of_init(&folder.id, "/proc/1/root");
}

static int has_mount(int dir_fd, const char *path, uint64_t id) {
        _cleanup_mount_table_ MountTable table = { 0 };
        _cleanup_free_ char *mountinfo = NULL;
        int r = mountinfo_error(read_file_alloc_at(dir_fd, path, &mountinfo, NULL));

        if (r >= 0)
                r = mountinfo_parse(mountinfo, &table);
        return r < 0 ? r : mount_table_find_id(&table, id) != NULL;
}

/* mountinfo shows a process in a chroot only the mounts below its root. Is `id` the mount on which
 * its namespace has the path of its executable? */
static int has_exe_on(const Sysroot *sysroot, const ProcHandle *handle, uint64_t id) {
        _cleanup_close_ int root = -EBADF, file = -EBADF;
        char path[PATH_MAX] = "";
        uint64_t found;
        Folder folder = { 0 };
        int r = proc_held_exe_read(handle, path, sizeof(path));

        if (r < 0 || path[0] != '/')
                return r < 0 ? r : 0;
        root = open_namespace_root(sysroot, handle, &folder);
        if (root < 0)
                return root;
        file = openat(root, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (file < 0 && errno == ENOENT) { /* removed, or replaced, since its exec */
                *strrchr(path, '/') = '\0';
                file = path[0] ? openat(root, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC)
                               : TAKE_FD(root);
        }
        if (file < 0)
                return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
        r = mount_id_read(sysroot, file, &found);
        return r < 0 ? r : found == id;
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
        if (r == 0)
                r = has_mount(sysroot->proc_fd, "1/mountinfo", id);
        return r == 0 ? has_exe_on(sysroot, handle, id) : r;
}

int proc_shares_memory(const ProcHandle *handle, pid_t other) {
        long r;

        if (!handle->live || other <= 0)
                return 0;
        r = syscall(SYS_kcmp, handle->pid, other, KCMP_VM, 0UL, 0UL);
        return r < 0 ? -errno : r == 0;
}
