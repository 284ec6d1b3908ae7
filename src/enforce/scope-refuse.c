/* Whether a process may be moved to a scope: never if that would loosen a limit. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/enforce/scope.h"
#include "tidbnumad/sys/cgroup.h"

/* Files of a group that contain no limit (in a dump, those that only the kernel writes are
 * not distinguishable), or whose limit scope_refuses_by() checks. */
static const char *const HARMLESS[] = { "cgroup.controllers",     "cgroup.freeze",  "cgroup.kill",
                                        "cgroup.procs",           "cgroup.threads", "cgroup.type",
                                        "cgroup.subtree_control", "pids.max" };

static const char *const HARMLESS_ENDS[] = { ".pressure",  ".peak",   ".reclaim",
                                             ".current",   ".events", ".local",
                                             ".numa_stat", ".stat",   ".effective" };

/* Files whose default is neither "max" nor 0. */
static const struct {
        const char *file, *unset;
} UNSET[] = {
        { "cpu.max", "max 100000" },
        { "cpu.max.burst", "0" },
        { "cpu.weight", "100" },
        { "cpuset.cpus.partition", "member" },
        { "io.prio.class", "no-change" },
        { "io.weight", "default 100" },
        { "io.bfq.weight", "default 100" },
        { "memory.zswap.writeback", "1" },
};

static bool is_harmless(const char *file) {
        for (size_t i = 0; i < ELEMENTSOF(HARMLESS); i++)
                if (strcmp(file, HARMLESS[i]) == 0)
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(HARMLESS_ENDS); i++)
                if (text_ends_with(file, HARMLESS_ENDS[i]))
                        return true;
        return false;
}

/* Is the file at its default? Zero is a limit in a file "max" or "high", also in
 * "hugetlb.2MB.rsvd.max" and "cgroup.max.depth". A line of several words begins with the name of
 * its resource: "sev 10", "mlx5_0 hca_handle=max". */
static bool is_unset(const char *file, char *text) {
        const bool upper = strstr(file, ".max") || strstr(file, ".high");
        char *line_end = NULL, *word_end;

        for (size_t i = 0; i < ELEMENTSOF(UNSET); i++)
                if (strcmp(file, UNSET[i].file) == 0)
                        return strcmp(text, UNSET[i].unset) == 0;
        for (char *line = strtok_r(text, "\n", &line_end); line;
             line = strtok_r(NULL, "\n", &line_end)) {
                const char *word = strtok_r(line, " ", &word_end), *next;

                while (word && (next = strtok_r(NULL, " ", &word_end))) {
                        const char *value = strchr(next, '=');

                        word = value ? value + 1 : next;
                        if (strcmp(word, "max") != 0)
                                return false;
                }
                if (word && strcmp(word, "max") != 0 &&
                    (upper || (strcmp(word, "0") != 0 && strcmp(word, "0.00") != 0)))
                        return false;
        }
        return true;
}

static bool sets_limit(int group_fd, const char *file) {
        char text[4096];
        struct stat st;

        if (is_harmless(file) || fstatat(group_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            !S_ISREG(st.st_mode) || !(st.st_mode & S_IWUSR) || !(st.st_mode & S_IRUSR))
                return false;
        /* A file that cannot be read may contain a limit. */
        if (path_read(group_fd, text, sizeof(text), "%s", file) < 0)
                return true;
        return !is_unset(file, text);
}

/* Does the group have limits or guarantees that a scope would not have? Those of the slice above
 * still apply. Every writable file is checked, because new kernels have new controllers. */
static bool has_limits(int group_fd) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        int fd = openat(group_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir) {
                closep(&fd);
                return true;
        }
        while ((entry = readdir(dir)))
                if (sets_limit(group_fd, entry->d_name))
                        return true;
        return false;
}

/* systemd marks delegated groups with one of two attributes, depending on its version. */
static bool is_delegated(int group_fd) {
        char value[8];

        return fgetxattr(group_fd, "user.delegate", value, sizeof(value)) > 0 ||
               fgetxattr(group_fd, "trusted.delegate", value, sizeof(value)) > 0;
}

/* "/a.slice/a-b.slice/x.scope": only slices above, so that the new scope can be made in the last of
 * them. */
static bool is_right_below_slice(const char *path) {
        for (const char *p = path + 1, *slash; (slash = strchr(p, '/')); p = slash + 1)
                if (!text_ends_with_n(p, (size_t)(slash - p), ".slice"))
                        return false;
        return true;
}

static const char no_unit[] = "it does not run in a systemd unit; run it in its own service";

static const char user_manager[] = "it runs under a user's own manager; run it as a system service";

static const char *refuses_path(const char *path) {
        if (path[0] != '/' || path[1] == '\0')
                return no_unit;
        if (strstr(path, "/user@"))
                return user_manager;
        if (!is_right_below_slice(path))
                return "it runs in a cgroup below its unit that another manager created; run it in "
                       "its own service";
        if (text_ends_with(path, ".service"))
                return "unrelated processes share its unit; run it in its own unit";
        if (!text_ends_with(path, ".scope") || strcmp(path, "/init.scope") == 0)
                return no_unit;
        return NULL;
}

static const char delegated[] = "its scope is delegated to another manager, perhaps of containers; "
                                "run it in its own service";

static const char limited[] =
        "its scope has limits of its own (memory, CPU, I/O or others in its cgroup), which would "
        "not hold for it elsewhere; run it in a service of its own";

/* Properties without a file in the cgroup: filters, and limits that systemd itself enforces. */
#define LOST(property)                                                                             \
        {                                                                                          \
                property, "its scope has limits of its own (" property                             \
                          "=), which would not hold for it elsewhere; run it in a service of its " \
                          "own"                                                                    \
        }
static const struct {
        const char *property, *sentence;
} LOST_LIMITS[] = {
        LOST("BPFProgram"),
        LOST("DeviceAllow"),
        LOST("DevicePolicy"),
        LOST("IPAddressAllow"),
        LOST("IPAddressDeny"),
        LOST("IPEgressFilterPath"),
        LOST("IPIngressFilterPath"),
        LOST("ManagedOOMMemoryPressure"),
        LOST("ManagedOOMSwap"),
        LOST("NFTSet"),
        LOST("RestrictNetworkInterfaces"),
        LOST("RuntimeMaxUSec"),
        LOST("SocketBindAllow"),
        LOST("SocketBindDeny"),
        LOST("TasksMax"),
};

const char *scope_lost_limit(const char *property) {
        for (size_t i = 0; property && i < ELEMENTSOF(LOST_LIMITS); i++)
                if (strcmp(property, LOST_LIMITS[i].property) == 0)
                        return LOST_LIMITS[i].sentence;
        return property ? limited : NULL;
}

static const char *refuses_group(const Sysroot *sysroot, const char *path) {
        _cleanup_close_ int fd = -EBADF;

        if (cgroup_open(sysroot, path, &fd) < 0)
                return NULL; /* it has ended or is being moved: the next reconcile checks again */
        if (is_delegated(fd))
                return delegated;
        if (has_limits(fd))
                return limited;
        return NULL;
}

static const char *refuses(const Sysroot *sysroot, const BackendTarget *target) {
        const char *home = NULL;

        for (size_t i = 0; i < target->n_members; i++) {
                const Process *p = &target->members[i].process;

                if (p->scope)
                        continue;
                if (p->foreign != FOREIGN_NONE)
                        return "it runs in a container, whose manager created its cgroup";
                if (!p->cgroup)
                        return no_unit;
                if (home && strcmp(home, p->cgroup) != 0)
                        return "its processes are in several cgroups; run it in its own service";
                home = p->cgroup;
        }
        if (!home)
                return NULL;
        return refuses_path(home) ? refuses_path(home) : refuses_group(sysroot, home);
}

const char *scope_refuses(const Sysroot *sysroot, const BackendTarget *target, Reason *ret_code) {
        const char *why = refuses(sysroot, target);

        *ret_code = !why                                    ? REASON_NONE
                    : why == no_unit || why == user_manager ? REASON_NO_UNIT
                    : why == limited                        ? REASON_UNIT_LIMITS
                                                            : REASON_SHARED_UNIT;
        return why;
}

const Process *scope_first_outside(const BackendTarget *target) {
        for (size_t i = 0; i < target->n_members; i++)
                if (!target->members[i].process.scope)
                        return &target->members[i].process;
        return NULL;
}

/* Was pids.max set, by systemd or by hand? */
static bool was_pids_max_changed(const Sysroot *sysroot, const char *group, uint64_t tasks_max) {
        _cleanup_close_ int fd = -EBADF;
        char text[32], expected[32] = "max";

        if (cgroup_open(sysroot, group, &fd) < 0 ||
            path_read(fd, text, sizeof(text), "pids.max") < 0)
                return false; /* it has ended, or the controller is not enabled for it */
        if (tasks_max != UINT64_MAX)
                (void)snprintf(expected, sizeof(expected), "%" PRIu64, tasks_max);
        return strcmp(text, expected) != 0;
}

/* Two groups with the same limit together have twice the limit: so only the default limit is set
 * again. */
static const char *former_limit(const Sysroot *sysroot, const UndoFormer *former,
                                const char *group) {
        if (former->limit)
                return former->limit;
        if ((former->default_tasks_max > 0 && former->tasks_max != former->default_tasks_max) ||
            was_pids_max_changed(sysroot, group, former->tasks_max))
                return scope_lost_limit("TasksMax");
        return NULL;
}

const char *scope_refuses_by(const Sysroot *sysroot, const UndoRecord *record,
                             const BackendTarget *target, Reason *ret_code) {
        const Process *outside = scope_first_outside(target);
        const char *why;

        *ret_code = REASON_NONE;
        if (!outside || !outside->cgroup)
                return NULL;
        if (record->scope && strcmp(record->home, outside->cgroup) != 0) {
                *ret_code = REASON_CONTESTED;
                return "something else has moved it out of its scope";
        }
        if (!record->former.known)
                return NULL;
        if (record->former.delegated) {
                *ret_code = REASON_SHARED_UNIT;
                return delegated;
        }
        why = former_limit(sysroot, &record->former, outside->cgroup);
        if (why)
                *ret_code = REASON_UNIT_LIMITS;
        return why;
}
