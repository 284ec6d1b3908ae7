/* Moves the processes of a scope, and their children, back to where they came from. systemd removes
 * an empty scope with its properties. */
#include <limits.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/scope.h"
#include "tidbnumad/sys/cgroup.h"

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
                r = scope_attach(home->fd, &handle);
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

/* True if the processes cannot return: the unit has ended, or now contains groups of its own. */
static bool is_gone(int error) {
        return error == -ESRCH || error == -ENOENT || error == -EOPNOTSUPP;
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
        int r = scope_open(backend->sysroot, record, &path, &scope_fd);

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
        return is_gone(r) ? stay(restore) : r;
}
