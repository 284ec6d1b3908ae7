/* Moves processes to a scope, and back. scope-refuse.c decides whether. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/enforce/scope.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/cgroup.h"

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

/* Returns "a-b.slice" for "/a.slice/a-b.slice/x.scope"; the root slice if there is none. */
static char *slice_of(const char *home) {
        const size_t length = (size_t)(strrchr(home, '/') - home);
        const char *start = last_part(home, length);

        return length == 0 ? strdup("-.slice") : strndup(start, (size_t)(home + length - start));
}

/* --- present values --- */

static void on_former(int error, const BusScopeState *state, void *userdata) {
        BackendNote *note = userdata;

        if (error == 0)
                note->record->former = (UndoFormer){
                        .known = true,
                        .delegated = state->delegated,
                        .send_sighup = state->send_sighup,
                        .has_oom_policy = state->has_oom_policy,
                        .timeout_usec = state->stop_timeout_usec,
                        .limit = scope_lost_limit(state->limit),
                        .tasks_max = state->tasks_max,
                };
        note->call->reply(error, "", note->call->userdata);
}

static void on_default_tasks(int error, uint64_t tasks_max, void *userdata) {
        BackendNote *note = userdata;

        if (error == 0)
                note->record->former.default_tasks_max = tasks_max;
        note->call->reply(error, "", note->call->userdata);
}

static int read_former(Backend *backend, const char *home, BackendNote *note, BackendCall *call) {
        int r = backend_systemd_ensure_bus(backend);

        if (r < 0)
                return r;
        note->backend = backend;
        note->call = call;
        r = note->record->former.known ? bus_scope_read_default_tasks(
                                                 backend->bus, on_default_tasks, note, &call->slot)
                                       : bus_scope_read(backend->bus, last_part(home, strlen(home)),
                                                        on_former, note, &call->slot);
        return r < 0 ? r : 0;
}

int scope_note(Backend *backend, const BackendTarget *target, BackendNote *note,
               BackendCall *call) {
        const Process *first = scope_first_outside(target);
        UndoRecord *record = note->record;
        char name[NAME_MAX_BYTES + 1];
        int r;

        if (!first)
                return 1;
        r = undo_note_processes(backend, target, record, 0);
        if (r < 0)
                return r;
        if (!record->former.known ||
            (record->former.tasks_max != UINT64_MAX && record->former.default_tasks_max == 0))
                return read_former(backend, first->cgroup, note, call);
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
static int attach(int group_fd, const ProcHandle *handle) {
        char pid[16];
        int r;

        if (!proc_is_alive(handle))
                return -ESRCH;
        (void)snprintf(pid, sizeof(pid), "%d", handle->pid);
        r = cgroup_write(group_fd, "cgroup.procs", pid);
        return r == -ENODEV ? -ENOENT : r; /* the group is gone */
}

static int join(const BackendTarget *target, int group_fd) {
        for (size_t i = 0; i < target->n_members; i++) {
                int r = target->members[i].process.scope
                                ? 0
                                : attach(group_fd, target->members[i].handle);

                if (r < 0 && r != -ESRCH)
                        return r;
        }
        return 1;
}

static int ask(Backend *backend, const BackendTarget *target, const UndoRecord *record,
               BackendCall *call) {
        _cleanup_free_ pid_t *pids = calloc(target->n_members + 1, sizeof(*pids));
        _cleanup_free_ char *slice = slice_of(record->home), *description = NULL;
        BusScope scope = { .name = record->scope,
                           .slice = slice,
                           .part_of = last_part(record->home, strlen(record->home)),
                           .send_sighup = record->former.send_sighup,
                           .has_oom_policy = record->former.has_oom_policy,
                           .stop_timeout_usec = record->former.timeout_usec,
                           .tasks_max = record->former.tasks_max,
                           .pids = pids };

        if (asprintf(&description, "%s, bound by tidbnumad", target->instance) < 0)
                description = NULL;
        if (!pids || !slice || !description)
                return -ENOMEM;
        scope.description = description;
        for (size_t i = 0; i < target->n_members; i++)
                if (!target->members[i].process.scope && proc_is_alive(target->members[i].handle))
                        pids[scope.n_pids++] = target->members[i].handle->pid;
        return scope.n_pids == 0 ? -ESRCH
                                 : bus_scope_start(backend->bus, &scope, call->reply,
                                                   call->userdata, &call->slot);
}

int scope_start(Backend *backend, const BackendTarget *target, const UndoRecord *record,
                BackendCall *call) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r = open_scope(backend->sysroot, record, &path, &fd);

        if (r >= 0)
                return join(target, fd);
        if (r == -ESRCH)
                r = backend_systemd_ensure_bus(backend);
        if (r >= 0)
                r = ask(backend, target, record, call);
        return r < 0 ? r : 0;
}

/* --- and back ---
 *
 * With their children. systemd removes an empty scope with its properties. */

/* A process that forks faster than it is moved gets new children in the scope. */
enum { PASSES_MAX = 10 };

typedef struct Home {
        Backend *backend;
        const char *scope; /* path of the scope */
        int fd;
        size_t n_seen;
} Home;

/* Since the list was read the process may have ended and its pid may be reused. */
static bool is_inside(const ProcHandle *handle, const char *scope) {
        const size_t length = strlen(scope);
        _cleanup_free_ char *path = NULL;

        return proc_cgroup_read(handle, &path) == 0 && strncmp(path, scope, length) == 0 &&
               (path[length] == '\0' || path[length] == '/');
}

static int send(pid_t pid, void *userdata) {
        Home *home = userdata;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        int r = proc_open(home->backend->sysroot, pid, &handle);

        home->n_seen++;
        if (r >= 0 && is_inside(&handle, home->scope))
                r = attach(home->fd, &handle);
        return r == -ESRCH ? 0 : r;
}

static int send_all(Home *home, int scope_fd) {
        int r = 0;

        for (unsigned i = 0; i < PASSES_MAX; i++) {
                home->n_seen = 0;
                r = cgroup_foreach_pid(scope_fd, send, home);
                if (r < 0 || home->n_seen == 0)
                        break;
        }
        return r < 0 ? r : home->n_seen == 0 ? 1 : -EAGAIN;
}

static int stay(UndoRestore *restore) {
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
                return stay(restore);
        home.scope = path;
        r = cgroup_open(backend->sysroot, record->home, &home.fd);
        if (r >= 0)
                r = send_all(&home, scope_fd);
        closep(&home.fd);
        if (r == -ESRCH && faccessat(scope_fd, "cgroup.procs", F_OK, 0) < 0)
                return 1; /* the scope is gone with its last process */
        /* The unit has ended, or now contains groups of its own. */
        return r == -ESRCH || r == -ENOENT || r == -EOPNOTSUPP ? stay(restore) : r;
}
