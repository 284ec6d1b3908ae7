/* Into a scope of our own. The way back is scope-restore.c's. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/xattr.h>

#include "tidbnumad/enforce/scope.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/sys/bus-scope.h"
#include "tidbnumad/sys/cgroup.h"

/* systemd's limit for names of units, UNIT_NAME_MAX. */
#define NAME_MAX_BYTES 255u

/* --- whether --- */

/* Limits and guarantees that would not go with it. Those of the slice above do. */
static const struct {
        const char *file, *unset;
} LIMITS[] = {
        { "memory.max", "max" },      { "memory.high", "max" },
        { "memory.low", "0" },        { "memory.min", "0" },
        { "memory.swap.max", "max" }, { "cpu.max", "max 100000" },
        { "cpu.weight", "100" },      { "io.max", "" },
        { "cpuset.cpus", "" },        { "cpuset.mems", "" },
};

static bool has_limits(int group_fd) {
        for (size_t i = 0; i < ELEMENTSOF(LIMITS); i++) {
                char text[256];

                if (read_file_at(group_fd, LIMITS[i].file, text, sizeof(text)) < 0)
                        continue; /* that controller is not enabled for it */
                text[strcspn(text, "\n")] = '\0';
                if (strcmp(text, LIMITS[i].unset) != 0)
                        return true;
        }
        return false;
}

/* systemd marks what it has delegated; by which of the two, depends on its age. */
static bool is_delegated(int group_fd) {
        char value[8];

        return fgetxattr(group_fd, "user.delegate", value, sizeof(value)) > 0 ||
               fgetxattr(group_fd, "trusted.delegate", value, sizeof(value)) > 0;
}

static bool ends_with(const char *text, size_t length, const char *suffix) {
        const size_t n = strlen(suffix);

        return length > n && memcmp(text + length - n, suffix, n) == 0;
}

/* "/a.slice/a-b.slice/x.scope": in slices and nothing else, so that the scope's neighbour is to be
 * made in the last of them. */
static bool is_right_below_slice(const char *path) {
        for (const char *p = path + 1, *slash; (slash = strchr(p, '/')); p = slash + 1)
                if (!ends_with(p, (size_t)(slash - p), ".slice"))
                        return false;
        return true;
}

static const char no_unit[] =
        "it does not run in a unit of systemd; run it in a systemd service of its own";

static const char user_manager[] = "it runs under a user's own manager; run it as a system service";

static const char *refuses_path(const char *path) {
        if (path[0] != '/' || path[1] == '\0')
                return no_unit;
        if (strstr(path, "/user@"))
                return user_manager;
        if (!is_right_below_slice(path))
                return "it runs in a cgroup below its unit, which another manager has made; run it "
                       "in a service of its own";
        if (ends_with(path, strlen(path), ".service"))
                return "other processes that it did not start share its unit; run it in a unit of "
                       "its own";
        if (!ends_with(path, strlen(path), ".scope") || strcmp(path, "/init.scope") == 0)
                return no_unit;
        return NULL;
}

static const char delegated[] =
        "its scope is delegated to another manager, of containers perhaps; run it in a service of "
        "its own";

static const char *refuses_group(const Sysroot *sysroot, const char *path) {
        _cleanup_close_ int fd = -EBADF;

        if (cgroup_open(sysroot, path, &fd) < 0)
                return NULL; /* it has ended, or moves: the next look sees */
        if (is_delegated(fd))
                return delegated;
        if (has_limits(fd))
                return "its scope has limits of its own (memory, CPU, I/O), which would not hold "
                       "for it elsewhere; run it in a service of its own";
        return NULL;
}

static const char *refuses(const Sysroot *sysroot, const BackendTarget *target) {
        const char *home = NULL;

        for (size_t i = 0; i < target->n_processes; i++) {
                const Process *p = &target->processes[i];

                if (p->scope)
                        continue;
                if (p->foreign != FOREIGN_NONE)
                        return "it runs in a container, whose manager made its cgroup; use "
                               "`backend: affinity` for it";
                if (!p->cgroup)
                        return no_unit;
                if (home && strcmp(home, p->cgroup) != 0)
                        return "its processes are in several cgroups; run it in a service of its "
                               "own";
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
                                                            : REASON_SHARED_UNIT;
        return why;
}

static const Process *first_outside(const BackendTarget *target) {
        for (size_t i = 0; i < target->n_processes; i++)
                if (!target->processes[i].scope)
                        return &target->processes[i];
        return NULL;
}

const char *scope_refuses_by(const UndoRecord *record, const BackendTarget *target,
                             Reason *ret_code) {
        const Process *outside = first_outside(target);

        *ret_code = REASON_NONE;
        if (!outside || !outside->cgroup)
                return NULL;
        if (record->scope && strcmp(record->home, outside->cgroup) != 0) {
                *ret_code = REASON_CONTESTED;
                return "something else has moved it out of the scope that was made for it";
        }
        if (!record->former.known || !record->former.delegated)
                return NULL;
        *ret_code = REASON_SHARED_UNIT;
        return delegated;
}

/* --- names --- */

/* What the name of a unit may not have is written as systemd-escape(1) does, so that two never
 * become one. */
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
        /* Numbers of processes and ports come again. */
        length = snprintf(buffer, NAME_MAX_BYTES + 1, OWN_SCOPE_PREFIX "%s-%" PRIu64 ".scope",
                          escaped, target->processes[0].id.start_ticks);
        return length > (int)NAME_MAX_BYTES ? -ENAMETOOLONG : 0;
}

static const char *last_part(const char *path, size_t length) {
        const char *slash = memrchr(path, '/', length);

        return slash ? slash + 1 : path;
}

/* Of "/a.slice/a-b.slice/x.scope": "a-b.slice"; what is in none is in the root's. */
static char *slice_of(const char *home) {
        const size_t length = (size_t)(strrchr(home, '/') - home);
        const char *start = last_part(home, length);

        return length == 0 ? strdup("-.slice") : strndup(start, (size_t)(home + length - start));
}

/* --- what stands before --- */

static void on_former(int error, const BusUnit *unit, void *userdata) {
        BackendNote *note = userdata;

        if (error == 0)
                note->record->former = (UndoFormer){
                        .known = true,
                        .delegated = unit->delegated,
                        .send_sighup = unit->send_sighup,
                        .has_oom_policy = unit->oom_policy[0] != '\0',
                        .timeout_usec = unit->stop_timeout_usec,
                };
        note->reply(error, "", note->userdata);
}

static int read_former(Backend *backend, const char *home, BackendNote *note, BackendReply reply,
                       void *userdata, sd_bus_slot **ret_slot) {
        int r = backend_systemd_ensure_bus(backend);

        if (r < 0)
                return r;
        note->backend = backend;
        note->reply = reply;
        note->userdata = userdata;
        r = bus_manager_read_unit(backend->bus, last_part(home, strlen(home)), on_former, note,
                                  ret_slot);
        return r < 0 ? r : 0;
}

int scope_note(Backend *backend, const BackendTarget *target, BackendNote *note, BackendReply reply,
               void *userdata, sd_bus_slot **ret_slot) {
        const Process *first = first_outside(target);
        UndoRecord *record = note->record;
        char name[NAME_MAX_BYTES + 1];
        int r;

        if (!first)
                return 1;
        r = undo_note_processes(backend, target, record, 0);
        if (r < 0)
                return r;
        if (!record->former.known)
                return read_former(backend, first->cgroup, note, reply, userdata, ret_slot);
        if (record->scope)
                return 1;
        r = render_name(target, name);
        if (r >= 0)
                r = undo_record_set_scope(record, name, first->cgroup);
        return r < 0 ? r : 1;
}

/* --- the move --- */

int scope_open(const Sysroot *sysroot, const UndoRecord *record, char **ret_path, int *ret_fd) {
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

int scope_attach(int group_fd, const ProcHandle *handle) {
        char pid[16];
        int r;

        if (!proc_is_alive(handle))
                return -ESRCH;
        (void)snprintf(pid, sizeof(pid), "%d", handle->pid);
        r = cgroup_write(group_fd, "cgroup.procs", pid);
        return r == -ENODEV ? -ENOENT : r; /* the group has gone */
}

static int join(const BackendTarget *target, int group_fd) {
        for (size_t i = 0; i < target->n_processes; i++) {
                int r = target->processes[i].scope ? 0
                                                   : scope_attach(group_fd, &target->handles[i]);

                if (r < 0 && r != -ESRCH)
                        return r;
        }
        return 1;
}

static int ask(Backend *backend, const BackendTarget *target, const UndoRecord *record,
               BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        _cleanup_free_ pid_t *pids = calloc(target->n_processes + 1, sizeof(*pids));
        _cleanup_free_ char *slice = slice_of(record->home), *description = NULL;
        BusScope scope = { .name = record->scope,
                           .slice = slice,
                           .part_of = last_part(record->home, strlen(record->home)),
                           .send_sighup = record->former.send_sighup,
                           .has_oom_policy = record->former.has_oom_policy,
                           .stop_timeout_usec = record->former.timeout_usec,
                           .pids = pids };

        if (asprintf(&description, "%s, bound by tidbnumad", target->instance) < 0)
                description = NULL;
        if (!pids || !slice || !description)
                return -ENOMEM;
        scope.description = description;
        for (size_t i = 0; i < target->n_processes; i++)
                if (!target->processes[i].scope && proc_is_alive(&target->handles[i]))
                        pids[scope.n_pids++] = target->handles[i].pid;
        return scope.n_pids == 0 ? -ESRCH
                                 : bus_scope_start(backend->bus, &scope, reply, userdata, ret_slot);
}

int scope_start(Backend *backend, const BackendTarget *target, const UndoRecord *record,
                BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = scope_open(backend->sysroot, record, &path, &fd);

        if (r >= 0)
                return join(target, fd);
        if (r == -ESRCH)
                r = backend_systemd_ensure_bus(backend);
        if (r >= 0)
                r = ask(backend, target, record, reply, userdata, ret_slot);
        return r < 0 ? r : 0;
}
