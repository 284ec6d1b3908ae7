/* Hierarchies of cgroup v1. What is in their groups, cgroup.c reads. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/cgroup1.h"
#include "tidbnumad/sys/mountinfo.h"

static bool has_word(const char *list, const char *word) {
        size_t length = strlen(word);

        for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
                if (strcspn(p, ",") == length && strncmp(p, word, length) == 0)
                        return true;
        return false;
}

void cgroup1_mount_done(Cgroup1Mount *mount) {
        free(mount->point);
        *mount = (Cgroup1Mount){ 0 };
}

/* With noprefix the files have other names: the cpusets of old, mounted by hand. */
static bool is_hierarchy(const Mount *m, const char *controller) {
        return strcmp(m->type, "cgroup") == 0 && strcmp(m->root, "/") == 0 &&
               has_word(m->options, controller) && !has_word(m->options, "noprefix");
}

int cgroup1_mount_parse(const char *mountinfo, const char *controller, Cgroup1Mount *ret) {
        _cleanup_mount_table_ MountTable table = { 0 };
        const Mount *found = NULL;
        char *point;
        int r = mountinfo_parse(mountinfo, &table);

        if (r < 0)
                return r;
        for (size_t i = 0; i < table.n_mounts && (!found || mount_is_read_only(found)); i++) {
                const Mount *m = &table.mounts[i];

                if (is_hierarchy(m, controller) && (!found || !mount_is_read_only(m)))
                        found = m;
        }
        if (!found)
                return -ENOENT;
        point = strdup(found->point);
        if (!point)
                return -ENOMEM;
        *ret = (Cgroup1Mount){ .point = point, .read_only = mount_is_read_only(found) };
        return 0;
}

int cgroup1_mount_read(const Sysroot *sysroot, const char *controller, Cgroup1Mount *ret) {
        _cleanup_free_ char *text = NULL;
        int r = read_file_alloc_at(sysroot->proc_fd, "self/mountinfo", &text, NULL);

        return r < 0 ? r : cgroup1_mount_parse(text, controller, ret);
}

static int open_mount(const Sysroot *sysroot, const Cgroup1Mount *mount, int *ret_fd) {
        _cleanup_free_ char *path =
                text_new("%s%s", sysroot->live ? "" : sysroot->path, mount->point);
        _cleanup_close_ int fd = -EBADF;
        struct statfs fs;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        /* Something else may be mounted over it, into which a folder would be made. */
        if (sysroot->live && (fstatfs(fd, &fs) < 0 || fs.f_type != CGROUP_SUPER_MAGIC))
                return -ENOENT;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int cgroup1_open(const Sysroot *sysroot, const char *controller, int *ret_fd) {
        _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };
        int r = cgroup1_mount_read(sysroot, controller, &mount);

        return r < 0 ? r : open_mount(sysroot, &mount, ret_fd);
}

int cgroup1_may_write(const Sysroot *sysroot, const char *controller) {
        _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r = cgroup1_mount_read(sysroot, controller, &mount);

        if (r >= 0)
                r = open_mount(sysroot, &mount, &fd);
        if (r < 0)
                return r;
        if (mount.read_only)
                return -EROFS;
        /* The mode does not count where the folder is ours, see change_root(). */
        if (fstat(fd, &st) < 0)
                return -errno;
        return st.st_uid == geteuid() || faccessat(fd, ".", W_OK, AT_EACCESS) == 0 ? 0 : -EACCES;
}

static int make_or_remove(int root_fd, const char *name, bool make) {
        int r = make ? mkdirat(root_fd, name, 0755) : unlinkat(root_fd, name, AT_REMOVEDIR);

        return r < 0 ? -errno : 0;
}

/* The root is of mode 0555, and ours. For the moment of the call we let ourselves in: far less than
 * a capability that would let us into everything. */
static int change_root(int root_fd, const char *name, bool make) {
        int r = make_or_remove(root_fd, name, make);
        struct stat st;

        if (r != -EACCES || fstat(root_fd, &st) < 0 ||
            fchmod(root_fd, (st.st_mode & 07777) | S_IWUSR) < 0)
                return r;
        r = make_or_remove(root_fd, name, make);
        (void)fchmod(root_fd, st.st_mode & 07777);
        return r;
}

int cgroup1_mkdir(int root_fd, const char *name) {
        return change_root(root_fd, name, true);
}

int cgroup1_rmdir(int root_fd, const char *name) {
        return change_root(root_fd, name, false);
}

/* Files that the kernel puts into every folder. */
static bool is_taken(const char *name) {
        static const char *const files[] = { "tasks", "notify_on_release", "release_agent" };
        static const char *const controllers[] = { "cgroup", "cpuset", "cpu", "cpuacct", "memory" };
        size_t length = strcspn(name, ".");

        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (strcmp(name, files[i]) == 0)
                        return true;
        for (size_t i = 0; name[length] && i < ELEMENTSOF(controllers); i++)
                if (strlen(controllers[i]) == length && strncmp(name, controllers[i], length) == 0)
                        return true;
        return false;
}

/* FNV-1a of 64 bits. */
static uint64_t checksum(const char *text) {
        uint64_t sum = UINT64_C(14695981039346656037);

        for (; *text; text++)
                sum = (sum ^ (unsigned char)*text) * UINT64_C(1099511628211);
        return sum;
}

void cgroup1_name(const char *name, char buffer[static CGROUP1_NAME_MAX]) {
        size_t n = 0, most = CGROUP1_NAME_MAX - 1 - strlen("~0123456789abcdef");
        bool changed = is_taken(name);

        for (; name[n] && n < most; n++) {
                unsigned char c = (unsigned char)name[n];
                bool bad = c == '/' || iscntrl(c) || (c == '.' && n == 0);

                /* The mark of a changed name must not come about otherwise. */
                changed |= bad || c == '~';
                buffer[n] = bad ? '_' : (char)c;
        }
        changed |= n == 0 || name[n];
        if (changed)
                n += (size_t)snprintf(buffer + n, CGROUP1_NAME_MAX - n, "~%016" PRIx64,
                                      checksum(name));
        buffer[n] = '\0';
}
