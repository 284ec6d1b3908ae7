/* On which mount a directory of the host or of a process lies. On the live machine the kernel tells
 * that of the opened directory, links and chroots and all; in a dump only the paths do. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "tidbnumad/observe/storage-mount.h"

/* As the process would, but through no magic link of /proc, which leads anywhere. O_PATH opens
 * nothing, and O_DIRECTORY lets no device be found. */
static int open_below(int root_fd, const char *path) {
        const struct open_how how = {
                .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
        };
        int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

        return fd < 0 ? -errno : fd;
}

/* A directory that is not there yet will lie where the one above it does. */
static int open_nearest(int root_fd, const char *dir) {
        char path[PATH_MAX];

        if (dir[0] != '/' || strlen(dir) >= sizeof(path))
                return -EINVAL;
        (void)strcpy(path, dir);
        for (;;) {
                int fd = open_below(root_fd, path);
                char *slash;

                if (fd != -ENOENT && fd != -ENOTDIR)
                        return fd;
                slash = strrchr(path, '/');
                if (slash == path)
                        return fd == -ENOENT && path[1] == '\0' ? fd : open_below(root_fd, "/");
                *slash = '\0';
        }
}

/* "mnt_id:\t27" of /proc/PID/fdinfo/FD, proc(5). */
static int read_mount_id(const Sysroot *sysroot, int fd, uint64_t *ret) {
        static const char key[] = "\nmnt_id:";
        char path[64], text[1024];
        const char *at;
        ssize_t n;

        (void)snprintf(path, sizeof(path), "self/fdinfo/%d", fd);
        n = read_file_at(sysroot->proc_fd, path, text, sizeof(text));
        if (n < 0)
                return (int)n;
        at = strstr(text, key);
        return at && sscanf(at + strlen(key), "%" SCNu64, ret) == 1 ? 0 : -EBADMSG;
}

/* In a chroot whose root is no mount point, mountinfo does not show what that lies on. */
static int find_by_number(const Sysroot *sysroot, const MountTable *table, int fd, const char *dir,
                          StorageDevices *ret) {
        Mount mount = { .point = dir, .type = "", .source = "" };
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        mount.major = major(st.st_dev);
        mount.minor = minor(st.st_dev);
        return storage_find_mount(sysroot, table, &mount, ret);
}

static int find_live(const Sysroot *sysroot, int root_fd, const char *mountinfo, const char *dir,
                     StorageDevices *ret) {
        _cleanup_mount_table_ MountTable table = { 0 };
        _cleanup_close_ int fd = open_nearest(root_fd, dir);
        const Mount *mount;
        uint64_t id;
        int r;

        if (fd < 0)
                return fd;
        r = mountinfo_parse(mountinfo, &table);
        if (r >= 0)
                r = read_mount_id(sysroot, fd, &id);
        if (r < 0)
                return r;
        mount = mount_table_find_id(&table, id);
        return mount ? storage_find_mount(sysroot, &table, mount, ret)
                     : find_by_number(sysroot, &table, fd, dir, ret);
}

/* What ".." means depends on links, which a dump does not show. */
static bool has_dots(const char *path) {
        for (const char *p = path; *p; p += p[0] == '/') {
                size_t n = strcspn(p, "/");

                if (n == 2 && p[0] == '.' && p[1] == '.')
                        return true;
                p += n;
        }
        return false;
}

static int find_dumped(const Sysroot *sysroot, int proc_fd, const char *name, const char *dir,
                       StorageDevices *ret) {
        _cleanup_free_ char *mountinfo = NULL;
        int r;

        if (dir[0] != '/' || has_dots(dir))
                return -EINVAL;
        r = read_file_alloc_at(proc_fd, name, &mountinfo, NULL);
        return r < 0 ? r : storage_find(sysroot, mountinfo, dir, ret);
}

int storage_find_host(const Sysroot *sysroot, const char *dir, StorageDevices *ret) {
        _cleanup_free_ char *mountinfo = NULL;
        _cleanup_close_ int root = -EBADF;
        int r;

        if (!sysroot->live)
                return find_dumped(sysroot, sysroot->proc_fd, "1/mountinfo", dir, ret);
        root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return -errno;
        r = read_file_alloc_at(sysroot->proc_fd, "self/mountinfo", &mountinfo, NULL);
        return r < 0 ? r : find_live(sysroot, root, mountinfo, dir, ret);
}

/* The kernel answers EINVAL for the mounts of a process that has ended. */
static int gone(int r) {
        return r == -ENOENT || r == -EINVAL ? -ESRCH : r;
}

static int find_of_process(const Sysroot *sysroot, int proc_pid_fd, const char *dir,
                           StorageDevices *ret) {
        _cleanup_free_ char *mountinfo = NULL;
        _cleanup_close_ int root = openat(proc_pid_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (root < 0)
                return gone(-errno);
        r = read_file_alloc_at(proc_pid_fd, "mountinfo", &mountinfo, NULL);
        return r < 0 ? gone(r) : find_live(sysroot, root, mountinfo, dir, ret);
}

int storage_find_process(const Sysroot *sysroot, int proc_pid_fd, const char *dir,
                         StorageDevices *ret) {
        int r;

        if (sysroot->live)
                return find_of_process(sysroot, proc_pid_fd, dir, ret);
        r = find_dumped(sysroot, proc_pid_fd, "mountinfo", dir, ret);
        /* Many dumps hold the host's mounts only. */
        if (r == -ENOENT && faccessat(proc_pid_fd, "mountinfo", F_OK, 0) < 0)
                r = find_dumped(sysroot, sysroot->proc_fd, "1/mountinfo", dir, ret);
        return r;
}
