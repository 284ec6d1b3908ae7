/* What a process sees: its mounts, its root, its namespaces; and opening a path as it would. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/namespace.h"

/* --- opening a path below a root: openat2(2), or a walk on kernels before 5.6 --- */

/* Of linux/openat2.h and asm/unistd.h; the headers of the build host may be older. */
#define NR_OPENAT2 437

typedef struct How {
        uint64_t flags, mode, resolve;
} How;

#define IN_ROOT UINT64_C(0x10)
#define NO_MAGIC_LINKS UINT64_C(0x02)

/* O_DIRECTORY lets no device be found. */
enum { FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC, LINKS_MAX = 40, PROC_ROOT_INO = 1 };

static int walk_to(int *walk_fd, int from_fd, const char *name, int flags) {
        int fd = openat(from_fd, name, FLAGS | flags);

        if (fd < 0)
                return -errno;
        closep(walk_fd);
        *walk_fd = fd;
        return 0;
}

int open_below_walk(int root_fd, const char *path) {
        _cleanup_close_ int start = openat(root_fd, ".", FLAGS);
        int walk_fd = start;
        char rest[PATH_MAX]; /* still to go */
        struct stat root;
        unsigned n_links = 0;
        int r = 0;

        if (start < 0 || fstat(start, &root) < 0)
                return -errno;
        if (*path == '\0')
                return -ENOENT;
        if (snprintf(rest, sizeof(rest), "%s", path) >= PATH_MAX)
                return -ENAMETOOLONG;
        start = -EBADF;
        while (r >= 0) {
                char name[NAME_MAX + 1], target[PATH_MAX], behind[PATH_MAX];
                const char *begin = rest + strspn(rest, "/");
                const size_t length = strcspn(begin, "/");
                struct statfs fs;
                struct stat st;
                ssize_t n;

                if (length == 0)
                        return walk_fd;
                if (length > NAME_MAX) {
                        r = -ENAMETOOLONG;
                        break;
                }
                (void)snprintf(name, sizeof(name), "%.*s", (int)length, begin);
                memmove(rest, begin + length, strlen(begin + length) + 1);
                if (strcmp(name, "..") == 0) {
                        /* The root's parent is the root. Where the root is mounted inside itself,
                         * that place is one too. */
                        if (fstat(walk_fd, &st) < 0)
                                r = -errno;
                        else if (st.st_dev != root.st_dev || st.st_ino != root.st_ino)
                                r = walk_to(&walk_fd, walk_fd, "..", 0);
                        continue;
                }
                r = walk_to(&walk_fd, walk_fd, name, O_NOFOLLOW);
                if (r != -ENOTDIR && r != -ELOOP)
                        continue;
                /* It is a link: its target comes before what is still to go. */
                n = readlinkat(walk_fd, name, target, sizeof(target));
                if (n < 0)
                        r = errno == EINVAL ? -ENOTDIR : -errno;
                /* Are the links in this directory magic? Those in /proc itself, such as self, are
                 * not; of the others there are more than these, but none on the way to a data
                 * directory. */
                else if (++n_links > LINKS_MAX || fstatfs(walk_fd, &fs) < 0 ||
                         fstat(walk_fd, &st) < 0 ||
                         (fs.f_type == PROC_SUPER_MAGIC && st.st_ino != PROC_ROOT_INO))
                        r = -ELOOP;
                else {
                        (void)strcpy(behind, rest);
                        r = snprintf(rest, sizeof(rest), "%.*s/%s", (int)n, target, behind) >=
                                            PATH_MAX
                                    ? -ENAMETOOLONG
                            : target[0] == '/' ? walk_to(&walk_fd, root_fd, ".", 0)
                                               : 0;
                }
        }
        closep(&walk_fd);
        return r;
}

int open_below(int root_fd, const char *path) {
        const How how = { .flags = FLAGS, .resolve = IN_ROOT | NO_MAGIC_LINKS };
        int fd = (int)syscall(NR_OPENAT2, root_fd, path, &how, sizeof(how));

        /* EPERM: a list of system calls that is older than this one. */
        if (fd < 0 && (errno == ENOSYS || errno == EPERM))
                return open_below_walk(root_fd, path);
        return fd < 0 ? -errno : fd;
}

bool path_has_dot_dot(const char *path) {
        for (const char *p = path; *p; p += strcspn(p, "/")) {
                p += strspn(p, "/");
                if (strcspn(p, "/") == 2 && strncmp(p, "..", 2) == 0)
                        return true;
        }
        return false;
}

/* --- the mounts that a process sees, and which one holds a path --- */

void mount_table_done(MountTable *table) {
        free(table->text);
        free(table->mounts);
        *table = (MountTable){ 0 };
}

static bool is_octal(char c) {
        return c >= '0' && c <= '7';
}

void mountinfo_unescape(char *text) {
        char *to = text;

        for (const char *p = text; *p; to++) {
                if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && is_octal(p[2]) &&
                    is_octal(p[3]) && memcmp(p + 1, "000", 3) != 0) {
                        *to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
                        p += 4;
                } else
                        *to = *p++;
        }
        *to = '\0';
}

/* "36 35 98:0 /root /point rw,noatime master:1 shared:2 - ext3 /dev/root rw". The source may be
 * empty: fields are separated by single blanks. */
static int mountinfo_parse_line(char *line, Mount *ret) {
        enum { ID, PARENT, DEVICE, ROOT, POINT, OPTIONS, N_FIELDS };
        char *fields[N_FIELDS], *field, *type, *source, *minor;
        uint64_t major_number, minor_number;
        Mount mount = { 0 };

        for (size_t i = 0; i < N_FIELDS; i++) {
                fields[i] = strsep(&line, " ");
                if (!fields[i])
                        return -EBADMSG;
        }
        do
                field = strsep(&line, " ");
        while (field && strcmp(field, "-") != 0);
        type = strsep(&line, " ");
        source = strsep(&line, " ");
        minor = fields[DEVICE];
        (void)strsep(&minor, ":");
        if (!source || !line || fields[POINT][0] != '/' || parse_u64(fields[ID], &mount.id) < 0 ||
            parse_u64(fields[PARENT], &mount.parent) < 0 || !minor ||
            parse_u64(fields[DEVICE], &major_number) < 0 || parse_u64(minor, &minor_number) < 0 ||
            major_number > UINT32_MAX || minor_number > UINT32_MAX)
                return -EBADMSG;
        mount.major = (uint32_t)major_number;
        mount.minor = (uint32_t)minor_number;
        mountinfo_unescape(fields[POINT]);
        mountinfo_unescape(type);
        mountinfo_unescape(source);
        mount.root = fields[ROOT];
        mount.point_options = fields[OPTIONS];
        mount.options = line;
        mount.point = fields[POINT];
        mount.type = type;
        mount.source = source;
        *ret = mount;
        return 0;
}

int mountinfo_error(int r) {
        return r == -ENOENT || r == -EINVAL ? -ESRCH : r;
}

int mountinfo_parse(const char *text, MountTable *ret) {
        _cleanup_mount_table_ MountTable table = { .text = strdup(text) };
        char *rest = table.text;

        if (!table.text)
                return -ENOMEM;
        while (rest && *rest) {
                char *line = strsep(&rest, "\n");
                int r;

                if (ARRAY_RESERVE(table.mounts, table.allocated, table.n_mounts + 1) < 0)
                        return -ENOMEM;
                r = mountinfo_parse_line(line, &table.mounts[table.n_mounts]);
                if (r < 0)
                        return r;
                table.n_mounts++;
        }
        *ret = TAKE_STRUCT(table);
        return 0;
}

static bool begins_read_only(const char *options) {
        return strcmp(options, "ro") == 0 || strncmp(options, "ro,", strlen("ro,")) == 0;
}

/* The kernel shows "ro" or "rw" first of all options (show_mnt_opts(), show_sb_opts()). */
bool mount_is_read_only(const Mount *mount) {
        return begins_read_only(mount->point_options) || begins_read_only(mount->options);
}

const Mount *mount_table_find_id(const MountTable *table, uint64_t id) {
        for (size_t i = 0; i < table->n_mounts; i++)
                if (table->mounts[i].id == id)
                        return &table->mounts[i];
        return NULL;
}

static bool mount_holds(const Mount *mount, const char *path) {
        size_t length = strlen(mount->point);

        if (strcmp(mount->point, "/") == 0)
                return path[0] == '/';
        return strncmp(mount->point, path, length) == 0 &&
               (path[length] == '/' || path[length] == '\0');
}

/* As the kernel walks: not the deepest mount point counts, for a later mount above it hides it. */
const Mount *mount_table_find(const MountTable *table, const char *path) {
        const Mount *found = NULL;

        /* The way to the path begins on a mount that is mounted on none of these. In a whole table
         * that is the one at "/"; of several, as in a part of one, the deepest. */
        for (size_t i = 0; i < table->n_mounts; i++) {
                const Mount *mount = &table->mounts[i];
                const Mount *below = mount_table_find_id(table, mount->parent);

                if (mount_holds(mount, path) &&
                    (!below || below == mount || !mount_holds(below, path)) &&
                    (!found || strlen(mount->point) >= strlen(found->point)))
                        found = mount;
        }
        for (size_t n = 0; found && n < table->n_mounts; n++) {
                const Mount *next = NULL; /* what the way to the path meets first on that mount */

                for (size_t i = 0; i < table->n_mounts; i++) {
                        const Mount *mount = &table->mounts[i];

                        if (mount != found && mount->parent == found->id &&
                            mount_holds(mount, path) &&
                            (!next || strlen(mount->point) <= strlen(next->point)))
                                next = mount;
                }
                if (!next)
                        break;
                found = next;
        }
        return found;
}

/* "mnt_id:\t27" of /proc/PID/fdinfo/FD, proc(5). */
int mount_id_read(const Sysroot *sysroot, int fd, uint64_t *ret) {
        char text[1024];
        ssize_t n = path_read(sysroot->proc_fd, text, sizeof(text), "self/fdinfo/%d", fd);

        return n < 0 ? (int)n : parse_field(text, "\nmnt_id:", ret);
}

/* --- namespaces and roots --- */

/* Folders between a chroot and the root of its namespace; a path has no more. */
enum { DEPTH_MAX = PATH_MAX / 2 };

static bool identity_equal(const FileIdentity *a, const FileIdentity *b) {
        return a->dev == b->dev && a->ino == b->ino;
}

/* Where PID 1 does not let itself be seen, it counts as another. */
static bool identity_is_at(const FileIdentity *file, const char *path) {
        FileIdentity init;

        return path_identify(AT_FDCWD, &init, "%s", path) == 0 && identity_equal(file, &init);
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
        int r = path_identify(dir_fd, &file, "%s", PROC_NAMESPACE_FILES[namespace]);

        if (r < 0)
                return r;
        if (identity_equal(&file, &sysroot->namespaces[namespace]))
                return 1;
        return namespace == PROC_NAMESPACE_MOUNT && identity_is_at(&file, "/proc/1/ns/mnt");
}

int proc_has_host_root(const ProcHandle *handle) {
        FileIdentity file;
        int r;

        if (!handle->live)
                return 1;
        r = proc_held_is_in_exec(handle) ? -EBUSY : path_identify(handle->dir_fd, &file, "root");
        if (r < 0)
                return r;
        return identity_is_at(&file, "/proc/self/root") || identity_is_at(&file, "/proc/1/root");
}

int proc_shares_namespace(const ProcHandle *a, const ProcHandle *b, ProcNamespace namespace) {
        FileIdentity x, y;
        int r;

        if (!a->live || !b->live)
                return 1;
        r = path_identify(a->dir_fd, &x, "%s", PROC_NAMESPACE_FILES[namespace]);
        if (r >= 0)
                r = path_identify(b->dir_fd, &y, "%s", PROC_NAMESPACE_FILES[namespace]);
        return r < 0 ? r : identity_equal(&x, &y);
}

/* --- beyond a chroot --- */

typedef struct Folder {
        FileIdentity id;
        uint64_t mount; /* a folder that is mounted inside itself is its own parent elsewhere */
} Folder;

static int read_folder(const Sysroot *sysroot, int fd, Folder *ret) {
        int r = path_identify(fd, &ret->id, "%s", "");

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
                if (r >= 0 && identity_equal(&at.id, &above.id) && at.mount == above.mount) {
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
        return identity_is_at(&folder.id, "/proc/self/root") ||
               identity_is_at(&folder.id, "/proc/1/root");
}

static int has_mount(int dir_fd, const char *path, uint64_t id) {
        _cleanup_mount_table_ MountTable table = { 0 };
        _cleanup_free_ char *mountinfo = NULL;
        int r = mountinfo_error(path_read_alloc(dir_fd, &mountinfo, NULL, "%s", path));

        if (r >= 0)
                r = mountinfo_parse(mountinfo, &table);
        return r < 0 ? r : mount_table_find_id(&table, id) != NULL;
}

int proc_exe_is_mounted(const Sysroot *sysroot, const ProcHandle *handle) {
        _cleanup_close_ int exe = -EBADF, root = -EBADF, file = -EBADF;
        char path[PATH_MAX] = "";
        uint64_t id, found;
        Folder folder = { 0 };
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
        if (r != 0)
                return r;
        /* mountinfo shows a process in a chroot only the mounts below its root. Is it the mount on
         * which its namespace has the path of its executable? */
        r = proc_held_exe_read(handle, path, sizeof(path));
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

int proc_shares_memory(const ProcHandle *handle, pid_t other) {
        long r;

        if (!handle->live || other <= 0)
                return 0;
        r = syscall(SYS_kcmp, handle->pid, other, KCMP_VM, 0UL, 0UL);
        return r < 0 ? -errno : r == 0;
}
