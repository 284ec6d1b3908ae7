/* Control groups of either version: finding, reading and writing them, and the hierarchies of v1.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/sysroot.h"

CgroupVersion cgroup_version(const Sysroot *sysroot) {
        struct statfs fs;

        if (sysroot->cgroup_fd < 0)
                return CGROUP_NONE;
        if (fstatfs(sysroot->cgroup_fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
                return CGROUP_V2;
        /* In a dump the file system's type is unknown; only v2 has this file. */
        return path_exists(sysroot->cgroup_fd, "cgroup.controllers") ? CGROUP_V2 : CGROUP_V1;
}

int cgroup_open_below(int root_fd, const char *path, int *ret_fd) {
        const char *relative = path + strspn(path, "/");
        int fd;

        /* "/../" is what a process outside our cgroup namespace shows. */
        if (path_has_dot_dot(path))
                return -ENXIO;
        fd = path_open(root_fd, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, "%s",
                       *relative ? relative : ".");
        if (fd < 0)
                return proc_error(fd);
        *ret_fd = fd;
        return 0;
}

int cgroup_open(const Sysroot *sysroot, const char *path, int *ret_fd) {
        return cgroup_open_below(sysroot->cgroup_fd, path, ret_fd);
}

int cgroup_write(int cgroup_fd, const char *name, const char *text) {
        _cleanup_close_ int fd = openat(cgroup_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        size_t length = strlen(text);
        ssize_t n;

        if (fd < 0)
                return -errno;
        /* The kernel takes a write as a whole. An empty set is written as an empty line. */
        n = length > 0 ? write(fd, text, length) : write(fd, "\n", 1);
        return n < 0 ? -errno : 0;
}

/* If a file is missing but its group exists, the controller is not enabled. */
static int absent_file_error(int cgroup_fd, int error) {
        if (error == -ENODEV)
                return -ESRCH;
        if (error != -ENOENT)
                return error;
        return path_exists(cgroup_fd, "cgroup.procs") ? -EOPNOTSUPP : -ESRCH;
}

static int cgroup_read_list(int cgroup_fd, const char *name, const char *name_v1, IdTarget ret) {
        int r = path_read_list_to(cgroup_fd, ret, "%s", name);

        if (r == -ENOENT && name_v1)
                r = path_read_list_to(cgroup_fd, ret, "%s", name_v1);
        return r < 0 ? absent_file_error(cgroup_fd, r) : 0;
}

int cgroup_effective_cpus_read(int cgroup_fd, CpuSet *ret) {
        return cgroup_read_list(cgroup_fd, "cpuset.cpus.effective", "cpuset.effective_cpus",
                                ID_TARGET(ret));
}

int cgroup_effective_mems_read(int cgroup_fd, NodeSet *ret) {
        return cgroup_read_list(cgroup_fd, "cpuset.mems.effective", "cpuset.effective_mems",
                                ID_TARGET(ret));
}

int cgroup_effective_read(int cgroup_fd, CpuSet *ret_cpus, NodeSet *ret_mems) {
        int r = cgroup_effective_cpus_read(cgroup_fd, ret_cpus);

        return r < 0 ? r : cgroup_effective_mems_read(cgroup_fd, ret_mems);
}

int cgroup_effective_read_of(const Sysroot *sysroot, const char *path, CpuSet *ret_cpus,
                             NodeSet *ret_mems) {
        _cleanup_close_ int fd = -EBADF;
        int r = cgroup_open(sysroot, path, &fd);

        return r < 0 ? r : cgroup_effective_read(fd, ret_cpus, ret_mems);
}

int cgroup_nearest_cpus_read(int root_fd, char *path, CpuSet *ret) {
        do {
                _cleanup_close_ int fd = -EBADF;
                int r = cgroup_open_below(root_fd, path, &fd);

                if (r >= 0)
                        r = cgroup_effective_cpus_read(fd, ret);
                if (r < 0 ? r != -EOPNOTSUPP : !id_set_is_empty(ret))
                        return r;
        } while (path_cut_last(path));
        return -EOPNOTSUPP;
}

int cgroup_cpus_read(int cgroup_fd, CpuSet *ret) {
        return cgroup_read_list(cgroup_fd, "cpuset.cpus", NULL, ID_TARGET(ret));
}

int cgroup_mems_read(int cgroup_fd, NodeSet *ret) {
        return cgroup_read_list(cgroup_fd, "cpuset.mems", NULL, ID_TARGET(ret));
}

int cgroup_mems_write(int cgroup_fd, const NodeSet *mems) {
        char list[ID_SET_LIST_MAX];
        int r = id_set_render_list(mems, list, sizeof(list));

        return r < 0 ? r : cgroup_write(cgroup_fd, "cpuset.mems", list);
}

int cgroup_mems_widen(int cgroup_fd, const NodeSet *mems) {
        NodeSet wide;
        int r;

        r = cgroup_effective_mems_read(cgroup_fd, &wide);
        if (r < 0)
                return r;
        if (id_set_is_subset(mems, &wide))
                return 0;
        id_set_union(&wide, mems);
        r = cgroup_mems_write(cgroup_fd, &wide);
        if (r == -EACCES || r == -EINVAL) /* v1: more than the group above has; not online */
                return -ENODEV;
        /* A write that fails half way (ENOMEM) may have done it: the kernel's file is what counts.
         */
        if (cgroup_effective_mems_read(cgroup_fd, &wide) >= 0 && id_set_is_subset(mems, &wide))
                return 0;
        return r < 0 ? r : -ENODEV;
}

static int foreach_pid_below(int cgroup_fd, int (*callback)(pid_t, void *), void *userdata,
                             unsigned depth, unsigned *n_groups) {
        _cleanup_closedir_ DIR *dir = NULL;
        _cleanup_free_ char *text = NULL;
        const struct dirent *entry;
        char *save = NULL;
        int r = path_read_alloc(cgroup_fd, &text, NULL, "cgroup.procs");

        /* -EOPNOTSUPP: a threaded group: its domain above lists the processes. */
        if (r < 0 && r != -EOPNOTSUPP)
                return absent_file_error(cgroup_fd, r);
        for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
             line = strtok_r(NULL, "\n", &save)) {
                uint64_t pid;

                if (parse_u64(line, &pid) < 0 || pid == 0 || pid > INT_MAX)
                        continue; /* 0: a process of another PID namespace */
                r = callback((pid_t)pid, userdata);
                if (r < 0)
                        return r;
        }
        dir = dir_from_fd(path_open(cgroup_fd, O_RDONLY | O_DIRECTORY, "."));
        if (!dir)
                return proc_error(-errno);
        while (depth < OTHERS_GROUP_DEPTH_MAX && *n_groups < OTHERS_GROUPS_MAX &&
               (entry = readdir(dir))) {
                _cleanup_close_ int child = -EBADF;

                if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
                        continue;
                child = path_open(dirfd(dir), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, "%s",
                                  entry->d_name);
                if (child < 0)
                        continue; /* removed meanwhile */
                ++*n_groups;
                r = foreach_pid_below(child, callback, userdata, depth + 1, n_groups);
                if (r < 0 && r != -ESRCH)
                        return r;
        }
        return 0;
}

int cgroup_foreach_pid(int cgroup_fd, int (*callback)(pid_t pid, void *userdata), void *userdata) {
        unsigned n_groups = 0;

        return foreach_pid_below(cgroup_fd, callback, userdata, 0, &n_groups);
}

int numa_stat_parse(const char *text, uint64_t page_bytes, NumaStatRow *rows, size_t n_rows) {
        static const struct {
                const char *name;
                size_t field;
        } kinds[] = {
                { "anon", offsetof(NumaStatRow, anon_bytes) },
                { "file", offsetof(NumaStatRow, file_bytes) },
                { "shmem", offsetof(NumaStatRow, shmem_bytes) },
                { "file_mapped", offsetof(NumaStatRow, mapped_bytes) },
                { "hierarchical_anon=", offsetof(NumaStatRow, anon_bytes) },
                { "hierarchical_file=", offsetof(NumaStatRow, file_bytes) },
        };
        const uint64_t unit = strncmp(text, "total=", 6) == 0 ? page_bytes : 1;
        _cleanup_free_ char *copy = strdup(text);
        char *save = NULL;
        size_t n = 0;

        if (!copy)
                return -ENOMEM;
        for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                size_t length = strcspn(line, " ="), k = 0;
                char *values = NULL, *v;

                /* v1: "hierarchical_anon=374 N0=374", with the total at the name. */
                length += line[length] == '=';
                while (k < ELEMENTSOF(kinds) &&
                       (strncmp(line, kinds[k].name, length) != 0 || kinds[k].name[length] != '\0'))
                        k++;
                if (length > 0 && line[length - 1] == '=')
                        length += strcspn(line + length, " ");
                /* "N0=4096 N1=0 …" after the kind. */
                for (v = k < ELEMENTSOF(kinds) ? strtok_r(line + length, " ", &values) : NULL; v;
                     v = strtok_r(NULL, " ", &values)) {
                        uint64_t amount;
                        unsigned node;
                        size_t i = 0;

                        if (sscanf(v, "N%u=%" SCNu64, &node, &amount) != 2)
                                return -EBADMSG;
                        while (i < n && rows[i].node != node)
                                i++;
                        if (i == n_rows)
                                return -ENOSPC;
                        if (i == n)
                                rows[n++] = (NumaStatRow){ .node = node };
                        *(uint64_t *)((char *)&rows[i] + kinds[k].field) = amount * unit;
                }
        }
        return n > 0 ? (int)n : -EBADMSG;
}

int numa_stat_read(int cgroup_fd, NumaStatRow *rows, size_t n_rows) {
        _cleanup_free_ char *text = NULL;
        int r = path_read_alloc(cgroup_fd, &text, NULL, "memory.numa_stat");

        if (r < 0)
                return absent_file_error(cgroup_fd, r);
        return numa_stat_parse(text, (uint64_t)sysconf(_SC_PAGESIZE), rows, n_rows);
}

/* --- what is charged, and the limits --- */

int cgroup_memory_stat_parse(const char *text, CgroupMemory *ret) {
        static const struct {
                const char *v1, *v2;
                size_t field;
        } rows[] = {
                { "\ntotal_inactive_file ", "\ninactive_file ",
                  offsetof(CgroupMemory, inactive_file_bytes) },
                { "\ntotal_active_file ", "\nactive_file ",
                  offsetof(CgroupMemory, active_file_bytes) },
                { "\ntotal_dirty ", "\nfile_dirty ", offsetof(CgroupMemory, unclean_bytes) },
                { "\ntotal_writeback ", "\nfile_writeback ",
                  offsetof(CgroupMemory, unclean_bytes) },
        };
        const bool v1 = strstr(text, "\ntotal_") != NULL;
        int r = -EBADMSG;

        ret->inactive_file_bytes = ret->active_file_bytes = ret->unclean_bytes = 0;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t bytes;

                if (parse_field(text, v1 ? rows[i].v1 : rows[i].v2, &bytes) < 0)
                        continue;
                *(uint64_t *)((char *)ret + rows[i].field) += bytes;
                r = 0;
        }
        return r;
}

/* "max" of v2, and the number of pages that no memory has of v1, are none. */
static int read_limit(int cgroup_fd, const char *name, uint64_t *ret) {
        char text[32];
        ssize_t n = path_read(cgroup_fd, text, sizeof(text), "%s", name);

        if (n < 0)
                return (int)n;
        if (parse_u64(text, ret) < 0 || *ret > (uint64_t)INT64_MAX / 2)
                *ret = UINT64_MAX;
        return 0;
}

int cgroup_limit_read(int cgroup_fd, uint64_t *ret) {
        int r = read_limit(cgroup_fd, "memory.max", ret);

        if (r != -ENOENT)
                return r;
        r = read_limit(cgroup_fd, "memory.limit_in_bytes", ret);
        return r < 0 ? r : 1;
}

uint32_t cgroup_cpu_quota_read(int cgroup_fd) {
        uint64_t quota = 0, period = 1;
        char text[64];

        if (path_read(cgroup_fd, text, sizeof(text), "cpu.max") >= 0) {
                if (sscanf(text, "%" SCNu64 " %" SCNu64, &quota, &period) != 2)
                        return 0; /* "max 100000" */
        } else if (path_read_u64(cgroup_fd, UINT64_MAX, &quota, "cpu.cfs_quota_us") < 0 || /* -1 */
                   path_read_u64(cgroup_fd, UINT64_MAX, &period, "cpu.cfs_period_us") < 0)
                return 0;
        return period > 0 && quota < UINT32_MAX ? (uint32_t)(quota * 100 / period) : 0;
}

int cgroup_memory_read(int cgroup_fd, CgroupMemory *ret) {
        CgroupMemory m = { .brake_bytes = UINT64_MAX };
        _cleanup_free_ char *stat = NULL;
        int r = cgroup_limit_read(cgroup_fd, &m.limit_bytes);
        const bool v1 = r == 1;

        if (r == 0)
                r = read_limit(cgroup_fd, "memory.high", &m.brake_bytes);
        m.has_brake = !v1;
        if (r >= 0)
                r = path_read_u64(cgroup_fd, UINT64_MAX, &m.current_bytes, "%s",
                                  v1 ? "memory.usage_in_bytes" : "memory.current");
        if (r >= 0)
                r = path_read_alloc(cgroup_fd, &stat, NULL, "memory.stat");
        if (r < 0)
                return absent_file_error(cgroup_fd, r);
        r = cgroup_memory_stat_parse(stat, &m);
        if (r >= 0)
                *ret = m;
        return r;
}

/* --- pressure --- */

int pressure_parse(const char *text, Pressure *ret) {
        uint64_t total;
        double recent;

        if (sscanf(text, "some avg10=%lf avg60=%*f avg300=%*f total=%" SCNu64, &recent, &total) !=
                    2 ||
            !(recent >= 0 && recent <= 100))
                return -EBADMSG;
        *ret = (Pressure){ .recent = recent / 100, .total_usec = total };
        return 0;
}

int pressure_read_file(int cgroup_fd, const char *name, Pressure *ret) {
        char text[512];
        ssize_t n = path_read(cgroup_fd, text, sizeof(text), "%s", name);

        if (n == -ENODEV)
                return -ESRCH;
        return n < 0 ? -EOPNOTSUPP : pressure_parse(text, ret);
}

int pressure_read(int cgroup_fd, Pressure *ret) {
        Pressure memory, cpu;
        int r;

        r = pressure_read_file(cgroup_fd, "memory.pressure", &memory);
        if (r >= 0)
                r = pressure_read_file(cgroup_fd, "cpu.pressure", &cpu);
        if (r < 0)
                return r;
        *ret = (Pressure){ .recent = memory.recent + cpu.recent,
                           .total_usec = memory.total_usec + cpu.total_usec };
        return 0;
}

/* --- the hierarchies of v1 --- */

void cgroup1_mount_done(Cgroup1Mount *mount) {
        free(mount->point);
        *mount = (Cgroup1Mount){ 0 };
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

                /* With noprefix the files have other names: the cpusets of old, mounted by hand. */
                if (strcmp(m->type, "cgroup") == 0 && strcmp(m->root, "/") == 0 &&
                    text_has_word(m->options, ',', '\0', controller) &&
                    !text_has_word(m->options, ',', '\0', "noprefix") &&
                    (!found || !mount_is_read_only(m)))
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
        int r = path_read_alloc(sysroot->proc_fd, &text, NULL, "self/mountinfo");

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

        /* The list of mounts was not read: that is no refusal by the hierarchy. */
        if (r == -EACCES || r == -EPERM)
                return -EAGAIN;
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

/* The root is of mode 0555, and ours. For the moment of the call we let ourselves in: far less than
 * a capability that would let us into everything. */
static int change_root(int root_fd, const char *name, bool make) {
        struct stat st;
        int r = 0;

        for (unsigned attempt = 0; attempt < 2; attempt++) {
                r = (make ? mkdirat(root_fd, name, 0755) : unlinkat(root_fd, name, AT_REMOVEDIR)) <
                                    0
                            ? -errno
                            : 0;
                if (attempt == 0 && (r != -EACCES || fstat(root_fd, &st) < 0 ||
                                     fchmod(root_fd, (st.st_mode & 07777) | S_IWUSR) < 0))
                        return r;
        }
        (void)fchmod(root_fd, st.st_mode & 07777);
        return r;
}

int cgroup1_mkdir(int root_fd, const char *name) {
        return change_root(root_fd, name, true);
}

int cgroup1_rmdir(int root_fd, const char *name) {
        return change_root(root_fd, name, false);
}

bool cgroup1_is_ours(const char *path) {
        static const char own[] = "/" CGROUP1_FOLDER;
        const size_t length = strlen(own);

        return strncmp(path, own, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

void cgroup1_name(const char *name, char buffer[static CGROUP1_NAME_MAX]) {
        /* Files that the kernel puts into every folder. */
        static const char *const taken[] = { "tasks",         "notify_on_release",
                                             "release_agent", "cgroup.",
                                             "cpuset.",       "cpu.",
                                             "cpuacct.",      "memory." };
        size_t n = 0, most = CGROUP1_NAME_MAX - 1 - strlen("~0123456789abcdef");
        bool changed = false;

        for (size_t i = 0; i < ELEMENTSOF(taken); i++)
                changed |= strchr(taken[i], '.') ? strncmp(name, taken[i], strlen(taken[i])) == 0
                                                 : strcmp(name, taken[i]) == 0;
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
                                      hash_bytes(HASH_BEGIN, name, strlen(name)));
        buffer[n] = '\0';
}
