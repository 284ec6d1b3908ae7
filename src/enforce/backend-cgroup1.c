/* The backend cgroup1: directories tidbnumad/<instance> in the cpuset hierarchy of cgroup v1. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/enforce/cgroup1-groups.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/enforce/undo-restore.h"
#include "tidbnumad/sys/cgroup.h"

#define CPUS "cpuset.cpus"

static int ensure_root(Backend *backend) {
        return backend->root_fd >= 0 ? 0
                                     : cgroup1_open(backend->sysroot, "cpuset", &backend->root_fd);
}

static int open_folder(int above_fd, const char *name, int *ret_fd) {
        *ret_fd = openat(above_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return *ret_fd < 0 ? -errno : 0;
}

static int open_own(Backend *backend) {
        int r = backend->own_fd >= 0 ? 0 : ensure_root(backend);

        return r < 0 || backend->own_fd >= 0
                       ? r
                       : open_folder(backend->root_fd, CGROUP1_FOLDER, &backend->own_fd);
}

static void close_own(Backend *backend) {
        closep(&backend->own_fd);
        backend->own_fd = -EBADF;
}

/* Our directory may have been removed since it was opened, and made again. */
static int open_group(Backend *backend, const char *instance, int *ret_fd) {
        char name[CGROUP1_NAME_MAX];
        int r = -ENOENT;

        cgroup1_name(instance, name);
        for (unsigned i = 0; (r == -ENOENT || r == -ENODEV) && i < 2; i++) {
                if (i > 0)
                        close_own(backend);
                r = open_own(backend);
                if (r == 0)
                        r = open_folder(backend->own_fd, name, ret_fd);
        }
        return r;
}

static int ensure_group(Backend *backend, const BackendTarget *target, int *ret_fd) {
        int r = backend->make_group ? backend->make_group(target->members[0].handle,
                                                          target->instance, backend->write_userdata)
                                    : cgroup1_groups_make(backend->sysroot, target->instance);

        if (r >= 0)
                return open_group(backend, target->instance, ret_fd);
        backend_note_refusal(backend, r);
        return r;
}

static char *own_path(const char *instance) {
        char name[CGROUP1_NAME_MAX], *path;

        cgroup1_name(instance, name);
        return asprintf(&path, "/" CGROUP1_FOLDER "/%s", name) < 0 ? NULL : path;
}

static bool is_in(const ProcHandle *handle, const char *path) {
        _cleanup_free_ char *now = NULL;

        return proc_cgroup_path_read(handle, "cpuset", &now) == 0 && strcmp(now, path) == 0;
}

static int write_pid(const Backend *backend, int group_fd, const ProcHandle *process) {
        char text[16];

        (void)snprintf(text, sizeof(text), "%d", process->pid);
        return backend_write_group(backend, process, group_fd, "cgroup.procs", text);
}

/* Our process had ended when the write returned. Usually no process has its number; in the worst
 * case the numbers have wrapped meanwhile and another process was moved, so young that it
 * belongs where its parent is. (The former group of our own process does not matter for it.)
 * With a parent in our directory it is a child of the instance, and right there. */
static void put_right(Backend *backend, pid_t pid, const char *path) {
        _cleanup_proc_ ProcHandle other = PROC_HANDLE_NONE, parent = PROC_HANDLE_NONE;
        _cleanup_free_ char *home = NULL;
        _cleanup_close_ int home_fd = -EBADF;
        ProcStat stat;

        if (proc_open(backend->sysroot, pid, &other) < 0 || !is_in(&other, path) ||
            proc_stat_read(&other, 0, &stat) < 0)
                return;
        if (proc_open(backend->sysroot, stat.parent, &parent) < 0 ||
            proc_cgroup_path_read(&parent, "cpuset", &home) < 0)
                home = strdup("/");
        if (!home || strcmp(home, path) == 0 ||
            cgroup_open_below(backend->root_fd, home, &home_fd) < 0)
                return;
        if (proc_is_alive(&other) && write_pid(backend, home_fd, &other) == 0)
                backend->n_pid_reuses++;
}

/* Moves the process with all its threads; threads and children that it makes meanwhile come along,
 * the kernel sees to that. No pidfd can be used for this: hence the check afterwards. */
int backend_cgroup1_attach(Backend *backend, int group_fd, const char *path,
                           const ProcHandle *handle) {
        int r;

        if (!proc_is_alive(handle))
                return -ESRCH;
        if (is_in(handle, path))
                return 0;
        r = write_pid(backend, group_fd, handle);
        if (proc_is_alive(handle))
                return r;
        put_right(backend, handle->pid, path); /* whatever the result was: the write may have taken
                                                * effect late */
        return -ESRCH;
}

/* Attaching waits for a grace period of the whole machine, milliseconds; sched_setaffinity does
 * not. So the threads get their CPUs first, where the present group lets them. It is also the way
 * to threads with a narrow mask of their own, which the kernel keeps in any cpuset. */
static int give_cpus_early(Backend *backend, const BackendTarget *target, const CpuSet *cpus) {
        backend->threads_left = backend->threads_whole ? SIZE_MAX : OTHERS_THREADS_AT_ONCE;
        for (size_t i = 0; i < target->n_members; i++)
                if (!target->members[i].cpus_applied &&
                    backend_affinity_set(backend, target->members[i].handle, cpus, true) ==
                            -EINPROGRESS)
                        return -EINPROGRESS;
        return 0;
}

static int write_cpus(const Backend *backend, const BackendTarget *target, int group_fd,
                      const CpuSet *cpus) {
        char list[ID_SET_LIST_MAX];
        int r = id_set_render_list(cpus, list, sizeof(list));

        return r < 0 ? r
                     : backend_write_group(backend, target->members[0].handle, group_fd, CPUS,
                                           list);
}

static int attach_all(Backend *backend, const BackendTarget *target, int group_fd) {
        _cleanup_free_ char *path = own_path(target->instance);
        int result = -ESRCH;

        if (!path)
                return -ENOMEM;
        for (size_t i = 0; i < target->n_members; i++) {
                int r = backend_cgroup1_attach(backend, group_fd, path, target->members[i].handle);

                if (r < 0 && r != -ESRCH)
                        return r;
                if (r == 0)
                        result = 1;
        }
        return result;
}

static int set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                    _unused_ BackendCall *call) {
        _cleanup_close_ int fd = -EBADF;
        int r = give_cpus_early(backend, target, cpus);

        if (r < 0)
                return r;
        r = ensure_group(backend, target, &fd);
        if (r < 0)
                return r;
        r = write_cpus(backend, target, fd, cpus);
        return r < 0 ? r : attach_all(backend, target, fd);
}

/* The kernel has done it when the write returns: what waits for memory elsewhere is not moved
 * (memory_migrate is off), so that this is quick. */
static int set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                    _unused_ BackendCall *call) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = ensure_group(backend, target, &fd);
        if (r < 0)
                return r;
        r = backend_write_mems(backend, target, fd, mems, false);
        return r < 0 ? r : 1;
}

static int note(Backend *backend, const BackendTarget *target, BackendNote *note,
                _unused_ BackendCall *call) {
        int r = undo_note_processes(backend, target, note->record, NOTE_MASKS | NOTE_CPUSET);

        return r < 0 ? r : 1;
}

static int widen_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r = backend_cgroup1_open(backend, target, &fd, &path);

        return r < 0 ? r : backend_write_mems(backend, target, fd, mems, true);
}

/* Does this group, of a container or of another manager, allow what the process is to get? */
static bool allows(Backend *backend, const char *path, const Placement *placement) {
        _cleanup_close_ int fd = -EBADF;
        CpuSet cpus;
        NodeSet mems;

        if (ensure_root(backend) < 0 || cgroup_open_below(backend->root_fd, path, &fd) < 0 ||
            cgroup_effective_cpus_read(fd, &cpus) < 0 || cgroup_effective_mems_read(fd, &mems) < 0)
                return false;
        return id_set_is_subset(&placement->cpus, &cpus) &&
               (placement->memory == MEMORY_NONE || id_set_is_subset(&placement->nodes, &mems));
}

bool backend_cgroup1_is_ours(const char *path) {
        static const char own[] = "/" CGROUP1_FOLDER;
        const size_t length = strlen(own);

        return strncmp(path, own, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static const char *refuses(Backend *backend, const BackendTarget *target,
                           const Placement *placement) {
        for (size_t i = 0; i < target->n_members; i++) {
                _cleanup_free_ char *path = NULL;

                if (proc_cgroup_path_read(target->members[i].handle, "cpuset", &path) < 0)
                        continue; /* it has ended */
                if (strcmp(path, "/") != 0 && !backend_cgroup1_is_ours(path) &&
                    !allows(backend, path, placement))
                        return "its present cpuset cgroup, of a container or another manager, does "
                               "not allow all CPUs and memory of its nodes";
        }
        return NULL;
}

static void tidy(Backend *backend) {
        int r = open_own(backend);

        if (r >= 0)
                r = backend->make_group ? backend->make_group(NULL, NULL, backend->write_userdata)
                                        : cgroup1_groups_remove(backend->sysroot);
        if (r >= 0)
                close_own(backend);
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

/* ProtectSystem=strict makes what is mounted elsewhere read-only: the hierarchies of TuneD, Slurm
 * and others, which they also have to themselves. */
static bool is_closed_to_the_unit(const Sysroot *sysroot) {
        _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };

        return backend_systemd_runs(sysroot) &&
               cgroup1_mount_read(sysroot, "cpuset", &mount) >= 0 &&
               strncmp(mount.point, "/sys/", strlen("/sys/")) != 0;
}

int backend_cgroup1_probe(const Sysroot *sysroot, bool in_unit) {
        int r = cgroup1_may_write(sysroot, "cpuset");

        if (in_unit && r == -EACCES && geteuid() != 0)
                r = 0; /* the daemon is root */
        return r == 0 && in_unit && is_closed_to_the_unit(sysroot) ? -EROFS : r;
}

const BackendOps backend_cgroup1_ops = {
        .name = "cgroup1",
        .kind = BACKEND_CGROUP1,
        .set_cpus = set_cpus,
        .set_mems = set_mems,
        .note = note,
        .restore = undo_restore_cpuset,
        .widen_mems = widen_mems,
        .refuses = refuses,
        .tidy = tidy,
};
