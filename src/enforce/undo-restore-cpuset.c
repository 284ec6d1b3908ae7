/* Processes out of our directories of cgroup v1, back to where they were. */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/enforce/cgroup1-groups.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/sys/cgroup.h"

/* A process that forks faster than we move has children that are born inside. */
enum { PASSES_MAX = 10 };

typedef struct Pids {
        pid_t *pids;
        size_t n, allocated;
} Pids;

static int collect(pid_t pid, void *userdata) {
        Pids *list = userdata;

        if (ARRAY_RESERVE(list->pids, list->allocated, list->n + 1) < 0)
                return -ENOMEM;
        list->pids[list->n++] = pid;
        return 0;
}

/* A child that is not in the record belongs where its parent was, or where all of them were. */
static const char *home_of(const UndoRecord *record, const ProcHandle *handle,
                           const UndoProcess **ret_entry) {
        const ProcessId id = { .pid = handle->pid, .start_ticks = handle->start_ticks };
        const UndoProcess *entry = undo_record_find(record, &id);
        ProcStat stat = { 0 };

        *ret_entry = entry;
        if (!entry)
                (void)proc_stat_read(handle, 0, &stat);
        for (size_t i = 0; !entry && i < record->n_processes; i++)
                if (record->processes[i].id.pid == stat.parent)
                        entry = &record->processes[i];
        if (!entry && record->n_processes > 0)
                entry = &record->processes[0];
        return entry && entry->cpuset ? entry->cpuset : "/";
}

/* The directory, or what is left above it. */
static int open_home(Backend *backend, char *path, int *ret_fd) {
        for (;;) {
                char *slash = strrchr(path, '/');
                int r = cgroup_open_below(backend->root_fd, path, ret_fd);

                if (r != -ESRCH || !slash || strcmp(path, "/") == 0)
                        return r;
                slash[slash == path] = '\0';
        }
}

/* Since the list was read it may have ended, and its number may be another's. */
static bool is_inside(const ProcHandle *handle) {
        _cleanup_free_ char *path = NULL;

        return proc_cgroup_path_read(handle, "cpuset", &path) == 0 && backend_cgroup1_is_ours(path);
}

static int send_home(Backend *backend, UndoRestore *restore, pid_t pid) {
        const UndoRecord *record = restore->record;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        const UndoProcess *entry;
        const char *home;
        int r = proc_open(backend->sysroot, pid, &handle);

        if (r < 0 || !is_inside(&handle))
                return r < 0 ? r : -ESRCH;
        home = home_of(record, &handle, &entry);
        path = strdup(home);
        if (!path)
                return -ENOMEM;
        r = open_home(backend, path, &fd);
        if (r < 0)
                return r;
        if (strcmp(path, home) != 0)
                restore->shortfall = "the original cpuset directory of a process is gone: it is in "
                                     "the parent directory";
        r = backend_cgroup1_attach(backend, fd, path, &handle);
        /* undo_restore_masks() restores the masks of processes that are in the record. */
        return r < 0 || entry || record->n_processes == 0
                       ? r
                       : undo_restore_threads(backend, record, &record->processes[0], &handle);
}

static int send_all_home(Backend *backend, UndoRestore *restore, int group_fd, size_t *ret_n) {
        Pids list = { 0 };
        int r = cgroup_foreach_pid(group_fd, collect, &list), result = 0;

        for (size_t i = 0; r >= 0 && i < list.n; i++) {
                int sent = send_home(backend, restore, list.pids[i]);

                if (sent < 0 && sent != -ESRCH && result == 0)
                        result = sent;
        }
        *ret_n = list.n;
        free(list.pids);
        return r < 0 ? r : result;
}

/* Processes that the kernel has moved to the parent group, when the last CPU of their group went
 * offline. */
static int send_fallen(Backend *backend, UndoRestore *restore) {
        const UndoRecord *record = restore->record;
        int result = 1;

        for (size_t i = 0; i < record->n_processes; i++) {
                const UndoProcess *entry = &record->processes[i];
                _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
                _cleanup_free_ char *path = NULL;
                int r = proc_open(backend->sysroot, entry->id.pid, &handle);

                if (r < 0 || handle.start_ticks != entry->id.start_ticks ||
                    proc_cgroup_path_read(&handle, "cpuset", &path) < 0 ||
                    strcmp(path, "/" CGROUP1_FOLDER) != 0)
                        continue;
                r = send_home(backend, restore, entry->id.pid);
                if (r < 0 && r != -ESRCH)
                        result = r;
        }
        return result;
}

int undo_restore_cpuset(Backend *backend, UndoRestore *restore, _unused_ BackendCall *call) {
        const BackendTarget target = { .instance = restore->record->instance };
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n = 1;
        int r;

        backend->threads_left = SIZE_MAX; /* a process is found in our directory only once */
        r = backend_cgroup1_open(backend, &target, &fd, &path);
        if (r == -ENOENT)
                return backend->own_fd < 0 ? 1 : send_fallen(backend, restore);
        for (unsigned i = 0; r >= 0 && n > 0 && i < PASSES_MAX; i++)
                r = send_all_home(backend, restore, fd, &n);
        return r < 0 ? r : n > 0 ? -EAGAIN : send_fallen(backend, restore);
}
