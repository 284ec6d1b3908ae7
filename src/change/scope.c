/* Scopes of ours: whether a process may be moved to one, the move, and the way back. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/change/scope.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

/* --- whether: never if that would loosen a limit --- */

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

/* Is the file at its default? Zero is a limit in a file "max" or "high", also in
 * "hugetlb.2MB.rsvd.max" and "cgroup.max.depth". A line of several words begins with the name of
 * its resource: "sev 10", "mlx5_0 hca_handle=max". */
static bool file_is_unset(const char *file, char *text) {
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

/* The sentence if this property of its scope forbids the move; NULL: it does not. */
static const char *scope_lost_limit(const char *property) {
        for (size_t i = 0; property && i < ELEMENTSOF(LOST_LIMITS); i++)
                if (strcmp(property, LOST_LIMITS[i].property) == 0)
                        return LOST_LIMITS[i].sentence;
        return property ? limited : NULL;
}

static const char *target_refused(const Sysroot *sysroot, const BackendTarget *target) {
        _cleanup_closedir_ DIR *dir = NULL;
        _cleanup_close_ int fd = -EBADF;
        const struct dirent *entry;
        const char *home = NULL;
        char value[8], text[4096];
        struct stat st;

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
        if (home[0] != '/' || home[1] == '\0')
                return no_unit;
        if (strstr(home, "/user@"))
                return user_manager;
        if (!is_right_below_slice(home))
                return "it runs in a cgroup below its unit that another manager created; run it in "
                       "its own service";
        if (text_ends_with(home, ".service"))
                return "unrelated processes share its unit; run it in its own unit";
        if (!text_ends_with(home, ".scope") || strcmp(home, "/init.scope") == 0)
                return no_unit;
        if (cgroup_open(sysroot, home, &fd) < 0)
                return NULL; /* it has ended or is being moved: the next reconcile checks again */
        /* systemd marks delegated groups with one of two attributes, depending on its version. */
        if (fgetxattr(fd, "user.delegate", value, sizeof(value)) > 0 ||
            fgetxattr(fd, "trusted.delegate", value, sizeof(value)) > 0)
                return delegated;
        /* Does the group have limits or guarantees that a scope would not have? Those of the slice
         * above still apply. Every writable file is checked, because new kernels have new
         * controllers. */
        dir = dir_from_fd(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!dir)
                return limited;
        while ((entry = readdir(dir))) {
                const char *file = entry->d_name;
                bool harmless = false;

                for (size_t i = 0; i < ELEMENTSOF(HARMLESS); i++)
                        harmless |= strcmp(file, HARMLESS[i]) == 0;
                for (size_t i = 0; i < ELEMENTSOF(HARMLESS_ENDS); i++)
                        harmless |= text_ends_with(file, HARMLESS_ENDS[i]);
                if (harmless || fstatat(fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    !S_ISREG(st.st_mode) || !(st.st_mode & S_IWUSR) || !(st.st_mode & S_IRUSR))
                        continue;
                /* A file that cannot be read may contain a limit. */
                if (path_read(fd, text, sizeof(text), "%s", file) < 0 || !file_is_unset(file, text))
                        return limited;
        }
        return NULL;
}

const char *scope_refuses(const Sysroot *sysroot, const BackendTarget *target, Reason *ret_code) {
        const char *why = target_refused(sysroot, target);

        *ret_code = !why                                    ? REASON_NONE
                    : why == no_unit || why == user_manager ? REASON_NO_UNIT
                    : why == limited                        ? REASON_UNIT_LIMITS
                                                            : REASON_SHARED_UNIT;
        return why;
}

/* The first process of the target that is in no scope of tidbnumad; NULL: none. */
static const Process *scope_first_outside(const BackendTarget *target) {
        for (size_t i = 0; i < target->n_members; i++)
                if (!target->members[i].process.scope)
                        return &target->members[i].process;
        return NULL;
}

const char *scope_refuses_by(const Sysroot *sysroot, const UndoRecord *record,
                             const BackendTarget *target, Reason *ret_code) {
        const Process *outside = scope_first_outside(target);
        const UndoFormer *former = &record->former;
        char pids_max[32], expected[32] = "max";
        _cleanup_close_ int fd = -EBADF;
        const char *why;

        *ret_code = REASON_NONE;
        if (!outside || !outside->cgroup)
                return NULL;
        if (record->scope && strcmp(record->home, outside->cgroup) != 0) {
                *ret_code = REASON_CONTESTED;
                return "something else has moved it out of its scope";
        }
        if (!former->known)
                return NULL;
        if (former->delegated) {
                *ret_code = REASON_SHARED_UNIT;
                return delegated;
        }
        why = former->limit;
        /* Two groups with the same limit together have twice the limit: so only the default limit
         * is set again. */
        if (!why && former->default_tasks_max > 0 && former->tasks_max != former->default_tasks_max)
                why = scope_lost_limit("TasksMax");
        /* Was pids.max set, by systemd or by hand? A group that has ended, or for which the
         * controller is not enabled, has none. */
        if (former->tasks_max != UINT64_MAX)
                (void)snprintf(expected, sizeof(expected), "%" PRIu64, former->tasks_max);
        if (!why && cgroup_open(sysroot, outside->cgroup, &fd) >= 0 &&
            path_read(fd, pids_max, sizeof(pids_max), "pids.max") >= 0 &&
            strcmp(pids_max, expected) != 0)
                why = scope_lost_limit("TasksMax");
        if (why)
                *ret_code = REASON_UNIT_LIMITS;
        return why;
}

/* systemd's limit for names of units, UNIT_NAME_MAX. */
#define NAME_MAX_BYTES 255u

/* --- names --- */

/* Characters that a unit's name may not contain are escaped as systemd-escape(1) does, so that two
 * names never become one. */
static int render_name(const BackendTarget *target, char buffer[static NAME_MAX_BYTES + 1]) {
        char escaped[NAME_MAX_BYTES + 1];
        size_t n = 0;
        int length;

        for (const unsigned char *p = (const unsigned char *)target->instance; *p; p++) {
                if (n + 5 > sizeof(escaped))
                        return -ENAMETOOLONG;
                if (isalnum(*p) || (*p && strchr(":_.-", *p)))
                        escaped[n++] = (char)*p;
                else
                        n += (size_t)snprintf(escaped + n, 5, "\\x%02x", *p);
        }
        escaped[n] = '\0';
        /* The start time makes the name unique, because pids and ports are reused. */
        length = snprintf(buffer, NAME_MAX_BYTES + 1, OWN_SCOPE_PREFIX "%s-%" PRIu64 ".scope",
                          escaped, target->members[0].process.id.start_ticks);
        return length > (int)NAME_MAX_BYTES ? -ENAMETOOLONG : 0;
}

static const char *last_part(const char *path, size_t length) {
        const char *slash = memrchr(path, '/', length);

        return slash ? slash + 1 : path;
}

/* --- present values --- */

static void on_former(int error, const BusScopeState *state, void *userdata) {
        const BackendCall *call = userdata;

        if (error == 0) {
                call->record->former = (UndoFormer){ .known = true, .state = *state };
                call->record->former.limit = scope_lost_limit(state->limit);
        }
        call->reply(&(Error){ .code = error }, call->userdata);
}

static void on_default_tasks(int error, uint64_t tasks_max, void *userdata) {
        const BackendCall *call = userdata;

        if (error == 0)
                call->record->former.default_tasks_max = tasks_max;
        call->reply(&(Error){ .code = error }, call->userdata);
}

int scope_note(Backend *backend, const BackendTarget *target, UndoRecord *record,
               BackendCall *call) {
        const Process *first = scope_first_outside(target);
        char name[NAME_MAX_BYTES + 1];
        int r;

        if (!first)
                return 1;
        r = undo_note_processes(backend, target, record, 0);
        if (r < 0)
                return r;
        if (!record->former.known ||
            (record->former.tasks_max != UINT64_MAX && record->former.default_tasks_max == 0)) {
                r = backend_systemd_ensure_bus(backend);
                if (r < 0)
                        return r;
                call->record = record;
                r = record->former.known
                            ? bus_scope_read_default_tasks(backend->bus, on_default_tasks, call,
                                                           &call->slot)
                            : bus_scope_read(backend->bus,
                                             last_part(first->cgroup, strlen(first->cgroup)),
                                             on_former, call, &call->slot);
                return r < 0 ? r : 0;
        }
        if (record->scope)
                return 1;
        r = render_name(target, name);
        if (r >= 0)
                r = undo_record_set_scope(record, name, first->cgroup);
        return r < 0 ? r : 1;
}

/* --- the move --- */

/* The group of the record's scope, and its path; the caller owns both. -ESRCH: there is none. */
static int open_scope(const Sysroot *sysroot, const UndoRecord *record, char **ret_path,
                      int *ret_fd) {
        const char *slash = strrchr(record->home, '/');
        char *path;
        int r;

        if (asprintf(&path, "%.*s/%s", (int)(slash - record->home), record->home, record->scope) <
            0)
                return -ENOMEM;
        r = cgroup_open(sysroot, path, ret_fd);
        if (r < 0)
                free(path);
        else
                *ret_path = path;
        return r;
}

/* Moves one process into a group. -ESRCH: it has ended; -ENOENT: the group is gone. */
static int process_attach(int group_fd, const ProcHandle *handle) {
        char pid[16];
        int r;

        if (!proc_is_alive(handle))
                return -ESRCH;
        (void)snprintf(pid, sizeof(pid), "%d", handle->pid);
        r = cgroup_write(group_fd, "cgroup.procs", pid);
        return r == -ENODEV ? -ENOENT : r; /* the group is gone */
}

int scope_start(Backend *backend, const BackendTarget *target, const UndoRecord *record,
                BackendCall *call) {
        _cleanup_free_ char *path = NULL, *slice = NULL, *description = NULL;
        _cleanup_free_ pid_t *pids = NULL;
        const size_t slice_end = (size_t)(strrchr(record->home, '/') - record->home);
        const char *slice_start = last_part(record->home, slice_end);
        _cleanup_close_ int fd = -EBADF;
        BusScope scope = { .name = record->scope,
                           .part_of = last_part(record->home, strlen(record->home)),
                           .like = record->former.state };
        int r = open_scope(backend->sysroot, record, &path, &fd);

        if (r != -ESRCH) {
                for (size_t i = 0; r >= 0 && i < target->n_members; i++) {
                        const Member *m = &target->members[i];

                        r = m->process.scope ? 0 : process_attach(fd, m->handle);
                        r = r == -ESRCH ? 0 : r;
                }
                return r < 0 ? r : 1;
        }
        /* There is no scope yet. */
        r = backend_systemd_ensure_bus(backend);
        if (r < 0)
                return r;
        pids = calloc(target->n_members + 1, sizeof(*pids));
        /* "a-b.slice" of "/a.slice/a-b.slice/x.scope"; the root slice if there is none. */
        slice = slice_end == 0
                        ? strdup("-.slice")
                        : strndup(slice_start, (size_t)(record->home + slice_end - slice_start));
        if (asprintf(&description, "%s, bound by tidbnumad", target->instance) < 0)
                description = NULL;
        if (!pids || !slice || !description)
                return -ENOMEM;
        scope.slice = slice;
        scope.description = description;
        scope.pids = pids;
        for (size_t i = 0; i < target->n_members; i++)
                if (!target->members[i].process.scope && proc_is_alive(target->members[i].handle))
                        pids[scope.n_pids++] = target->members[i].handle->pid;
        if (scope.n_pids == 0)
                return -ESRCH;
        r = bus_scope_start(backend->bus, &scope, call->reply, call->userdata, &call->slot);
        return r < 0 ? r : 0;
}

/* --- and back ---
 *
 * With their children. systemd removes an empty scope with its properties. */

typedef struct Home {
        Backend *backend;
        const char *scope; /* path of the scope */
        int fd;
} Home;

static int process_send_home(pid_t pid, void *userdata) {
        Home *home = userdata;
        const size_t length = strlen(home->scope);
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *path = NULL;
        int r = proc_open(home->backend->sysroot, pid, &handle);

        /* Since the list was read the process may have ended and its pid may be reused. */
        if (r >= 0 && proc_cgroup_read(&handle, &path) == 0 &&
            strncmp(path, home->scope, length) == 0 &&
            (path[length] == '\0' || path[length] == '/'))
                r = process_attach(home->fd, &handle);
        return r;
}

static int scope_stay(UndoRestore *restore) {
        restore->shortfall = "its original cgroup is gone: it stays in its own scope, which no "
                             "longer has limits";
        return 0;
}

int scope_send_home(Backend *backend, UndoRestore *restore) {
        const UndoRecord *record = restore->record;
        Home home = { .backend = backend, .fd = -EBADF };
        _cleanup_close_ int scope_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r = open_scope(backend->sysroot, record, &path, &scope_fd);

        if (r < 0)
                return r == -ESRCH ? 1 : r;
        if (strcmp(path, record->home) == 0)
                return scope_stay(restore);
        home.scope = path;
        r = cgroup_open(backend->sysroot, record->home, &home.fd);
        if (r >= 0)
                r = backend_empty_group(scope_fd, process_send_home, &home);
        closep(&home.fd);
        if (r == -ESRCH && faccessat(scope_fd, "cgroup.procs", F_OK, 0) < 0)
                return 1; /* the scope is gone with its last process */
        /* The unit has ended, or now contains groups of its own. */
        return r == -ESRCH || r == -ENOENT || r == -EOPNOTSUPP ? scope_stay(restore) : r;
}
