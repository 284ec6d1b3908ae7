/* Identifies processes: by the target of /proc/PID/exe, never by the name that they set
 * themselves. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/namespace.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/unit-file.h"
#include "tidbnumad/world/processes.h"

/* A process may exec faster than it is read: bash to numactl to env to the server. Its next exec
 * brings an event anyway. */
enum { IDENTIFY_TRIES = 3 };

static int process_read_foreign(const Sysroot *sysroot, const ProcHandle *handle, const char *unit,
                                Foreign *ret) {
        Foreign other = FOREIGN_MOUNT;
        int r;

        if (!handle->live)
                return 0;
        /* Checked once for all namespaces: three checks would take longer than reading the three
         * links. */
        r = proc_in_host_namespace(sysroot, handle, PROC_NAMESPACE_PID);
        if (r < 0)
                return r;
        if (r == 0) {
                *ret = FOREIGN_PID;
                return 0;
        }
        r = proc_folder_in_host_namespace(sysroot, handle->dir_fd, PROC_NAMESPACE_USER);
        if (r < 0)
                return r;
        if (r == 0) {
                *ret = FOREIGN_USER;
                return 0;
        }
        /* systemd gives each hardened service a mount namespace with the host's root in it. Any
         * other mount namespace, as of a container or of unshare(1), can have any file at the path
         * of a server. */
        r = proc_folder_in_host_namespace(sysroot, handle->dir_fd, PROC_NAMESPACE_MOUNT);
        if (r == 0 && text_ends_with(unit, ".service")) {
                r = proc_has_host_root(handle);
                other = FOREIGN_ROOT;
        }
        if (r < 0)
                return r;
        *ret = r > 0 ? FOREIGN_NONE : other;
        return 0;
}

static int process_identify_as(const Sysroot *sysroot, pid_t pid, const char *exe,
                               ProcHandle *ret_handle, Process *ret) {
        _cleanup_process_ Process process = { 0 };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char again[PATH_MAX];
        ProcStatus status;
        ProcStat stat;
        int r;

        r = proc_open_stat(sysroot, pid, &handle, &stat);
        if (r < 0)
                return r;
        if (stat.kernel_thread || stat.state == 'Z' || stat.state == 'X')
                return -ESRCH;
        r = proc_status_read(&handle, 0, &status);
        if (r < 0)
                return r;
        process.id = (ProcessId){ .pid = handle.pid, .start_ticks = handle.start_ticks };
        process.uid = status.uid;
        process.forked_by = stat.forked_only ? stat.parent : 0;
        process.exe = strdup(exe);
        if (!process.exe)
                return -ENOMEM;
        r = proc_cgroup_read(&handle, &process.cgroup);
        if (r >= 0)
                r = unit_from_cgroup(process.cgroup, &process.unit);
        if (r < 0 && r != -ENXIO)
                return r;
        if (r == 0 && unit_is_own_scope(process.unit))
                process.scope = TAKE_PTR(process.unit);
        r = process_read_foreign(sysroot, &handle, process.unit, &process.foreign);
        if (r < 0)
                return r;
        /* The first reading was by pid alone; the executable of the process that is now held must
         * be the same. */
        r = proc_held_exe_read(&handle, again, sizeof(again));
        if (r < 0)
                return r == -ENOENT ? -ESRCH : r;
        if (strcmp(exe, again) != 0)
                return -EAGAIN;
        *ret_handle = handle;
        handle = PROC_HANDLE_NONE;
        *ret = TAKE_STRUCT(process);
        return 0;
}

int process_identify(const Sysroot *sysroot, pid_t pid, const char *exe, ExeFilter wanted,
                     void *userdata, ProcHandle *ret_handle, Process *ret) {
        int r = exe ? process_identify_as(sysroot, pid, exe, ret_handle, ret) : -EAGAIN;

        for (unsigned i = exe ? 1 : 0; r == -EAGAIN && i < IDENTIFY_TRIES; i++) {
                char found[PATH_MAX];

                r = proc_exe_read(sysroot, pid, found, sizeof(found));
                if (r >= 0 && wanted(found, userdata))
                        r = process_identify_as(sysroot, pid, found, ret_handle, ret);
                else if (r >= 0 || r == -ENOENT)
                        r = -ESRCH;
        }
        return r;
}

int process_may_match(const Sysroot *sysroot, pid_t pid, ExeFilter wanted, void *userdata) {
        char exe[PATH_MAX];
        int r = proc_exe_read(sysroot, pid, exe, sizeof(exe));

        return r < 0 ? r : wanted(exe, userdata);
}

static int compare_pids(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

int pid_list_read(const Sysroot *sysroot, PidList *list) {
        _cleanup_numbers_ Numbers pids;
        pid_t pid;
        int r;

        list->n_pids = 0;
        proc_pids(sysroot, &pids);
        while ((r = numbers_next(&pids, &pid)) > 0)
                if (pid_list_add(pid, list) < 0)
                        return -ENOMEM;
        if (r < 0)
                return r;
        if (list->n_pids > 1)
                qsort(list->pids, list->n_pids, sizeof(pid_t), compare_pids);
        return 0;
}

/* The child of a vfork(2) shows its parent's executable until it has one of its own. */
int process_is_vforked(const ProcHandle *handle, const Process *process) {
        return process->forked_by > 0 ? proc_shares_memory(handle, process->forked_by) : 0;
}

int process_check_mounts(const Sysroot *sysroot, const ProcHandle *handle, Process *process) {
        int r;

        if (process->foreign == FOREIGN_ROOT) {
                _cleanup_proc_ ProcHandle first = PROC_HANDLE_NONE;
                unsigned n_ancestors = 0;
                ProcStat stat;

                /* A chroot inside the mount namespace of its unit is no container, as that of
                 * haproxy's worker. The namespace is the unit's if its main process is in it: the
                 * ancestor that PID 1 has started, which may be the process itself. */
                r = proc_stat_read(handle, 0, &stat);
                while (r >= 0 && stat.parent > 1) {
                        if (n_ancestors++ == OTHERS_ANCESTORS_MAX)
                                return -ELOOP;
                        proc_close(&first);
                        r = proc_open_stat(sysroot, stat.parent, &first, &stat);
                }
                if (r >= 0)
                        r = first.dir_fd < 0
                                    ? 1
                                    : proc_shares_namespace(handle, &first, PROC_NAMESPACE_MOUNT);
                if (r > 0)
                        r = proc_namespace_has_host_root(sysroot, handle);
                if (r < 0)
                        return r;
                process->foreign = r > 0 ? FOREIGN_NONE : FOREIGN_MOUNT;
        }
        if (process->foreign != FOREIGN_NONE)
                return 0;
        r = proc_exe_is_mounted(sysroot, handle);
        if (r == 0)
                process->foreign = FOREIGN_MOUNT;
        return r < 0 ? r : 0;
}

int process_read_args(const ProcHandle *handle, Process *process) {
        _cleanup_free_ char *bytes = NULL;
        char *args;
        size_t size;
        int r;

        r = cmdline_read(handle, &bytes, &size);
        if (r >= 0)
                r = cmdline_join(bytes, size, &args);
        if (r < 0)
                return r;
        free(process->args);
        process->args = args;
        return 0;
}

/* A busy process keeps the lock of its memory map for milliseconds. */
enum { ANSWER_MSEC = 3000 };

bool process_answers(ProcHandle *handle, void (*read)(void *userdata), void *userdata) {
        _cleanup_close_ int in = -EBADF, out = -EBADF;
        struct pollfd end = { 0 };
        int fds[2], r;
        pid_t pid;

        if (!handle->live || handle->silent || pipe2(fds, O_CLOEXEC) < 0)
                return !handle->silent;
        in = fds[0];
        out = fds[1];
        pid = fork();
        if (pid == 0) {
                /* Who waits for the end of the output must not wait for this process. */
                for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                        (void)close(fd);
                read(userdata);
                _exit(EXIT_SUCCESS);
        }
        closep(&out);
        if (pid < 0)
                return true;
        end.fd = in;
        do
                r = poll(&end, 1, ANSWER_MSEC);
        while (r < 0 && errno == EINTR);
        handle->silent = r == 0;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, handle->silent ? WNOHANG : 0);
        return !handle->silent;
}

/* What process_complete() asks. */
typedef struct Rest {
        const Sysroot *sysroot;
        const ProcHandle *handle;
        Process *process;
        bool args, mounts;
        bool vforked;
} Rest;

static void rest_read(void *userdata) {
        Rest *rest = userdata;

        rest->vforked = process_is_vforked(rest->handle, rest->process) > 0;
        if (rest->args && !rest->vforked)
                (void)process_read_args(rest->handle, rest->process);
        if (rest->mounts && !rest->vforked)
                (void)process_check_mounts(rest->sysroot, rest->handle, rest->process);
}

int process_complete(const Sysroot *sysroot, ProcHandle *handle, Process *process, bool args,
                     bool mounts) {
        Rest rest = { sysroot, handle, process, args, mounts, false };

        if ((process->forked_by > 0 || args || mounts) &&
            !process_answers(handle, rest_read, &rest))
                return -EHOSTDOWN;
        rest_read(&rest);
        return rest.vforked ? -ESRCH : 0;
}

void policy_users_look_up(PolicySet *set, const SourceFileList *files, const Sysroot *sysroot,
                          UserLookup look_up, void *userdata, Diagnostics *warnings) {
        for (size_t i = 0; i < set->n_policies; i++) {
                Policy *policy = &set->policies[i];
                PolicyMatch *match = &policy->match;
                int r;

                if (!match->user)
                        continue;
                if (!sysroot->live && !user_is_number(match->user)) {
                        match->uid_known =
                                sysroot->path &&
                                user_to_uid_below(sysroot->path, match->user, &match->uid) == 0;
                        continue;
                }
                r = look_up(match->user, &match->uid, userdata);
                match->uid_known = r == 0;
                if (r < 0)
                        diagnostics_add_at(warnings, source_file_find(files, policy->file),
                                           policy->at,
                                           "user '%s' of policy '%s' %s, so the policy matches "
                                           "nothing",
                                           match->user, policy->name,
                                           r == -ETIME ? "is not known: the name service does not "
                                                         "answer (write the number of the user, or "
                                                         "reload later)"
                                                       : "does not exist on this host");
        }
}
