/* The backend cgroup1: directories tidbnumad/<instance> in the cpuset hierarchy of cgroup v1. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/cgroup1.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/sys/cgroup.h"

#define CPUS "cpuset.cpus"
#define MEMS "cpuset.mems"

/* --- making and removing groups ---
 *
 * The kernel makes one such change at a time, so each call waits while another process changes any
 * group of the host: a worker does it. */

/* Sets the CPUs and nodes of the parent group. The kernel does not allow a group more than its
 * parent has, accepts no process into a group without CPUs or nodes, and removes a CPU that goes
 * offline from all groups without ever restoring it. */
static int groups_fill_from(int above_fd, int group_fd, const char *name) {
        char wanted[ID_SET_LIST_MAX], has[ID_SET_LIST_MAX];
        ssize_t n = path_read(above_fd, wanted, sizeof(wanted), "%s", name);

        if (n < 0)
                return (int)n;
        n = path_read(group_fd, has, sizeof(has), "%s", name);
        if (n >= 0 && strcmp(wanted, has) == 0)
                return 0;
        return cgroup_write(group_fd, name, wanted);
}

static int groups_open(int above_fd, const char *name, bool create, int *ret_fd) {
        int r = create ? cgroup1_mkdir(above_fd, name) : 0;

        if (r < 0 && r != -EEXIST)
                return r;
        *ret_fd = openat(above_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return *ret_fd < 0 ? -errno : 0;
}

int cgroup1_groups_make(const Sysroot *sysroot, const char *instance) {
        _cleanup_close_ int root_fd = -EBADF, own_fd = -EBADF, fd = -EBADF;
        char name[CGROUP1_NAME_MAX], byte[2];
        int r = cgroup1_open(sysroot, "cpuset", &root_fd);

        if (r < 0)
                return r;
        /* Another process may remove our directory while it is empty; then it is created again. */
        r = -ENOENT;
        for (unsigned i = 0; (r == -ENOENT || r == -ENODEV) && i < 2; i++) {
                closep(&own_fd);
                r = groups_open(root_fd, CGROUP1_FOLDER, true, &own_fd);
                if (r == 0)
                        r = groups_fill_from(root_fd, own_fd, CPUS);
                if (r == 0)
                        r = groups_fill_from(root_fd, own_fd, MEMS);
        }
        if (r < 0)
                return r;
        cgroup1_name(instance, name);
        r = groups_open(own_fd, name, true, &fd);
        if (r < 0 || path_read(fd, byte, sizeof(byte), "cgroup.procs") != 0)
                return r; /* it has processes */
        /* An empty one may be left from a former instance of that name, with the memory nodes that
         * were right for it. */
        r = groups_fill_from(own_fd, fd, MEMS);
        /* The gentle mover has that job: the kernel does it under the writer's feet. */
        return r < 0 ? r : cgroup_write(fd, "cpuset.memory_migrate", "0");
}

int cgroup1_groups_remove(const Sysroot *sysroot) {
        _cleanup_close_ int root_fd = -EBADF, own_fd = -EBADF;
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        int r = cgroup1_open(sysroot, "cpuset", &root_fd);

        if (r >= 0)
                r = groups_open(root_fd, CGROUP1_FOLDER, false, &own_fd);
        if (r < 0)
                return r;
        /* Directories of instances that ended unnoticed. The kernel keeps those in use. */
        dir = dir_from_fd(openat(own_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        while (dir && (entry = readdir(dir)))
                if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
                        (void)unlinkat(own_fd, entry->d_name, AT_REMOVEDIR);
        return cgroup1_rmdir(root_fd, CGROUP1_FOLDER);
}

/* --- binding --- */

static int ensure_root(Backend *backend) {
        return backend->root_fd >= 0 ? 0
                                     : cgroup1_open(backend->sysroot, "cpuset", &backend->root_fd);
}

static bool has_folder(Backend *backend) {
        return ensure_root(backend) >= 0 &&
               faccessat(backend->root_fd, CGROUP1_FOLDER, F_OK, 0) == 0;
}

static char *own_path(const char *instance) {
        char name[CGROUP1_NAME_MAX], *path;

        cgroup1_name(instance, name);
        return asprintf(&path, "/" CGROUP1_FOLDER "/%s", name) < 0 ? NULL : path;
}

static int open_group(Backend *backend, const char *instance, int *ret_fd) {
        _cleanup_free_ char *path = own_path(instance);
        int r = path ? ensure_root(backend) : -ENOMEM;

        return r < 0 ? r : groups_open(backend->root_fd, path + 1, false, ret_fd);
}

static int ensure_group(Backend *backend, const ProcHandle *process, const char *instance,
                        int *ret_fd) {
        int r = backend->make_group
                        ? backend->make_group(process, instance, backend->write_userdata)
                        : cgroup1_groups_make(backend->sysroot, instance);

        if (r >= 0)
                return open_group(backend, instance, ret_fd);
        backend_note_refusal(backend, r);
        return r;
}

static bool process_is_in(const ProcHandle *handle, const char *path) {
        _cleanup_free_ char *now = NULL;

        return proc_cgroup_path_read(handle, "cpuset", &now) == 0 && strcmp(now, path) == 0;
}

static int group_write_pid(const Backend *backend, int group_fd, const ProcHandle *process) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%d", process->pid);
        return backend_write_group(backend, process, group_fd, "cgroup.procs", text);
}

/* Moves the process with all its threads; threads and children that it makes meanwhile come along,
 * the kernel sees to that. No pidfd can be used for this: hence the check afterwards. 0; -ESRCH: it
 * is gone; -ENOSPC: the directory, which has that path, has no CPUs or no memory nodes. */
static int cgroup1_attach(Backend *backend, int group_fd, const char *path,
                          const ProcHandle *handle) {
        _cleanup_proc_ ProcHandle other = PROC_HANDLE_NONE, parent = PROC_HANDLE_NONE;
        _cleanup_free_ char *home = NULL;
        _cleanup_close_ int home_fd = -EBADF;
        ProcStat stat;
        int r;

        if (!proc_is_alive(handle))
                return -ESRCH;
        if (process_is_in(handle, path))
                return 0;
        r = group_write_pid(backend, group_fd, handle);
        if (proc_is_alive(handle))
                return r;
        /* Our process had ended when the write returned; whatever the result was, the write may
         * have taken effect late. Usually no process has its number; in the worst case the numbers
         * have wrapped meanwhile and another process was moved, so young that it belongs where its
         * parent is. (The former group of our own process does not matter for it.) With a parent in
         * our directory it is a child of the instance, and right there. */
        if (proc_open(backend->sysroot, handle->pid, &other) < 0 || !process_is_in(&other, path) ||
            proc_stat_read(&other, 0, &stat) < 0)
                return -ESRCH;
        if (proc_open(backend->sysroot, stat.parent, &parent) < 0 ||
            proc_cgroup_path_read(&parent, "cpuset", &home) < 0)
                home = strdup("/");
        if (home && strcmp(home, path) != 0 &&
            cgroup_open_below(backend->root_fd, home, &home_fd) >= 0 && proc_is_alive(&other) &&
            group_write_pid(backend, home_fd, &other) == 0)
                backend->n_pid_reuses++;
        return -ESRCH;
}

int cgroup1_join(Backend *backend, const char *instance, const CpuSet *cpus,
                 const ProcHandle *process) {
        _cleanup_free_ char *path = own_path(instance);
        _cleanup_close_ int fd = -EBADF;
        char list[ID_SET_LIST_MAX];
        int r = path ? ensure_group(backend, process, instance, &fd) : -ENOMEM;

        if (r >= 0)
                r = id_set_render_list(cpus, list, sizeof(list));
        if (r >= 0)
                r = backend_write_group(backend, process, fd, CPUS, list);
        return r < 0 ? r : cgroup1_attach(backend, fd, path, process);
}

/* Is the process in its group, and has the group these CPUs? */
static bool process_has_joined(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                               const ProcHandle *process) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        CpuSet now;

        return backend_cgroup1_open(backend, target, &fd, &path) >= 0 &&
               process_is_in(process, path) && cgroup_cpus_read(fd, &now) >= 0 &&
               id_set_equal(&now, cpus);
}

static int cgroup1_set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                            _unused_ BackendCall *call) {
        int result = -ESRCH;

        /* Attaching waits for a grace period of the whole machine, milliseconds; sched_setaffinity
         * does not. So the threads get their CPUs first, where the present group lets them. It is
         * also the way to threads with a narrow mask of their own, which the kernel keeps in any
         * cpuset. */
        backend->threads_left = backend->threads_whole ? SIZE_MAX : OTHERS_THREADS_AT_ONCE;
        for (size_t i = 0; i < target->n_members; i++)
                if (!target->members[i].cpus_applied &&
                    backend_affinity_set(backend, target->members[i].handle, cpus, true) ==
                            -EINPROGRESS)
                        return -EINPROGRESS;
        for (size_t i = 0; i < target->n_members; i++) {
                const Member *m = &target->members[i];
                int r;

                if (!backend->join_group)
                        r = cgroup1_join(backend, target->instance, cpus, m->handle);
                else if (process_has_joined(backend, target, cpus, m->handle))
                        r = 0;
                else
                        r = backend->join_group(m, target->instance, cpus, backend->write_userdata);
                if (r == -EALREADY)
                        result = r;
                else if (r < 0 && r != -ESRCH)
                        return r;
                else if (r == 0 && result != -EALREADY)
                        result = 1;
        }
        return result;
}

/* The kernel has done it when the write returns: what waits for memory elsewhere is not moved
 * (memory_migrate is off), so that this is quick. */
static int cgroup1_set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                            _unused_ BackendCall *call) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = ensure_group(backend, target->members[0].handle, target->instance, &fd);
        if (r < 0)
                return r;
        r = backend_write_mems(backend, target, fd, mems, false);
        return r < 0 ? r : 1;
}

static int cgroup1_note(Backend *backend, const BackendTarget *target, UndoRecord *record,
                        _unused_ BackendCall *call) {
        int r = undo_note_processes(backend, target, record, NOTE_MASKS | NOTE_CPUSET);

        return r < 0 ? r : 1;
}

static int cgroup1_widen_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        _cleanup_close_ int fd = -EBADF;
        int r = open_group(backend, target->instance, &fd);

        return r < 0 ? r : backend_write_mems(backend, target, fd, mems, true);
}

static const char *cgroup1_refuses(Backend *backend, const BackendTarget *target,
                                   const Placement *placement) {
        for (size_t i = 0; i < target->n_members; i++) {
                _cleanup_close_ int fd = -EBADF;
                _cleanup_free_ char *path = NULL;
                CpuSet cpus;
                NodeSet mems;

                if (proc_cgroup_path_read(target->members[i].handle, "cpuset", &path) < 0)
                        continue; /* it has ended */
                if (strcmp(path, "/") == 0 || cgroup1_is_ours(path))
                        continue;
                if (ensure_root(backend) < 0 ||
                    cgroup_open_below(backend->root_fd, path, &fd) < 0 ||
                    cgroup_effective_cpus_read(fd, &cpus) < 0 ||
                    cgroup_effective_mems_read(fd, &mems) < 0 ||
                    !id_set_is_subset(&placement->cpus, &cpus) ||
                    (placement->memory != MEMORY_NONE &&
                     !id_set_is_subset(&placement->nodes, &mems)))
                        return "its present cpuset cgroup, of a container or another manager, does "
                               "not allow all CPUs and memory of its nodes";
        }
        return NULL;
}

static void cgroup1_tidy(Backend *backend) {
        if (!has_folder(backend))
                return;
        if (backend->make_group)
                (void)backend->make_group(NULL, NULL, backend->write_userdata);
        else
                (void)cgroup1_groups_remove(backend->sysroot);
}

int backend_cgroup1_open(Backend *backend, const BackendTarget *target, int *ret_fd,
                         char **ret_path) {
        _cleanup_close_ int fd = -EBADF;
        int r = open_group(backend, target->instance, &fd);

        if (r < 0)
                return r;
        *ret_path = own_path(target->instance);
        if (!*ret_path)
                return -ENOMEM;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* --- restoring: processes out of our directories, back to where they were --- */

typedef struct Home {
        Backend *backend;
        UndoRestore *restore;
} Home;

static int cpuset_send_home(pid_t pid, void *userdata) {
        const Home *way = userdata;
        Backend *backend = way->backend;
        UndoRestore *restore = way->restore;
        const UndoRecord *record = restore->record;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL, *now = NULL;
        const UndoProcess *entry, *like;
        const char *home;
        ProcessId id;
        ProcStat stat = { 0 };
        int r = proc_open(backend->sysroot, pid, &handle);

        if (r < 0)
                return r;
        /* Since the list was read it may have ended, and its number may be another's. */
        if (proc_cgroup_path_read(&handle, "cpuset", &now) < 0 || !cgroup1_is_ours(now))
                return -ESRCH;
        /* A child that is not in the record belongs where its parent was, or where all of them
         * were.
         */
        id = (ProcessId){ .pid = handle.pid, .start_ticks = handle.start_ticks };
        entry = like = undo_record_find(record, &id);
        if (!entry)
                (void)proc_stat_read(&handle, 0, &stat);
        for (size_t i = 0; !like && i < record->n_processes; i++)
                if (record->processes[i].id.pid == stat.parent)
                        like = &record->processes[i];
        if (!like && record->n_processes > 0)
                like = &record->processes[0];
        home = like && like->cpuset ? like->cpuset : "/";
        path = strdup(home);
        if (!path)
                return -ENOMEM;
        /* The directory, or what is left above it. */
        do
                r = cgroup_open_below(backend->root_fd, path, &fd);
        while (r == -ESRCH && path_cut_last(path));
        if (r < 0)
                return r;
        if (strcmp(path, home) != 0)
                restore->shortfall = "the original cpuset directory of a process is gone: it is in "
                                     "the parent directory";
        r = cgroup1_attach(backend, fd, path, &handle);
        /* undo_restore_masks() restores the masks of processes that are in the record. */
        return r < 0 || entry || record->n_processes == 0
                       ? r
                       : undo_restore_threads(backend, record, &record->processes[0], &handle);
}

int undo_restore_cpuset(Backend *backend, UndoRestore *restore, _unused_ BackendCall *call) {
        _cleanup_close_ int fd = -EBADF;
        const UndoRecord *record = restore->record;
        Home way = { .backend = backend, .restore = restore };
        int r, result = 1;

        backend->threads_left = SIZE_MAX; /* a process is found in our directory only once */
        r = open_group(backend, record->instance, &fd);
        if (r == -ENOENT && !has_folder(backend))
                return 1;
        if (r < 0 && r != -ENOENT)
                return r;
        r = r < 0 ? 1 : backend_empty_group(fd, cpuset_send_home, &way);
        if (r < 0)
                return r;
        /* Processes that the kernel has moved to the parent group, when the last CPU of their group
         * went offline. */
        for (size_t i = 0; i < record->n_processes; i++) {
                const UndoProcess *entry = &record->processes[i];
                _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
                _cleanup_free_ char *path = NULL;

                r = proc_open(backend->sysroot, entry->id.pid, &handle);
                if (r < 0 || handle.start_ticks != entry->id.start_ticks ||
                    proc_cgroup_path_read(&handle, "cpuset", &path) < 0 ||
                    strcmp(path, "/" CGROUP1_FOLDER) != 0)
                        continue;
                r = cpuset_send_home(entry->id.pid, &way);
                if (r < 0 && r != -ESRCH)
                        result = r;
        }
        return result;
}

const BackendOps backend_cgroup1_ops = {
        .name = "cgroup1",
        .kind = BACKEND_CGROUP1,
        .set_cpus = cgroup1_set_cpus,
        .set_mems = cgroup1_set_mems,
        .note = cgroup1_note,
        .restore = undo_restore_cpuset,
        .widen_mems = cgroup1_widen_mems,
        .refuses = cgroup1_refuses,
        .tidy = cgroup1_tidy,
};
