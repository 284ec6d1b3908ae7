/* Processes and threads in /proc: holding one, what its files say, its memory, command line and
 * open files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* --- holding a process: by its directory of /proc, and by a pidfd where there are these --- */

#define NR_PIDFD_OPEN 434 /* the same on all architectures; headers before 5.3 do not have it */

/* -ENOSYS: the kernel has none, or forbids it. */
static int open_pidfd(pid_t pid) {
        int fd = (int)syscall(NR_PIDFD_OPEN, pid, 0);

        return fd >= 0 ? fd : errno == EPERM ? -ENOSYS : -errno;
}

bool proc_has_pidfds(void) {
        _cleanup_close_ int fd = open_pidfd(getpid());

        return fd != -ENOSYS;
}

int proc_open(const Sysroot *sysroot, pid_t pid, ProcHandle *ret) {
        return proc_open_stat(sysroot, pid, ret, &(ProcStat){ 0 });
}

int proc_open_twice(const Sysroot *sysroot, pid_t pid, ProcHandle *ret) {
        int r = proc_open(sysroot, pid, ret);

        return r == -ESRCH ? proc_open(sysroot, pid, ret) : r;
}

int proc_open_stat(const Sysroot *sysroot, pid_t pid, ProcHandle *ret, ProcStat *ret_stat) {
        _cleanup_proc_ ProcHandle h = PROC_HANDLE_NONE;
        ProcStat stat;
        int r;

        h.pid = pid;
        h.dir_fd = path_open(sysroot->proc_fd, O_RDONLY | O_DIRECTORY, "%d", pid);
        if (h.dir_fd < 0)
                return proc_error(h.dir_fd);
        if (sysroot->live) {
                h.live = true;
                h.pidfd = open_pidfd(pid);
                if (h.pidfd == -ENOSYS && proc_has_pidfds())
                        return -EAGAIN; /* refused this once: nobody would look for its end */
                if (h.pidfd < 0 && h.pidfd != -ENOSYS)
                        return proc_error(h.pidfd);
        }
        /* Read last and through the directory: if this answers, the directory's process was still
         * there after the pidfd was taken, so that both are of the same one. Of the first thread:
         * for the file of the whole process the kernel sums up the times of all threads. */
        r = proc_stat_read(&h, h.live ? pid : 0, &stat);
        if (r < 0)
                return r;
        h.start_ticks = stat.start_ticks;
        *ret_stat = stat;
        *ret = h;
        h = PROC_HANDLE_NONE;
        return 0;
}

void proc_close(ProcHandle *handle) {
        event_source_drop(handle->exit); /* before the pidfd that it polls */
        closep(&handle->dir_fd);
        closep(&handle->pidfd);
        *handle = PROC_HANDLE_NONE;
}

bool proc_is_alive(const ProcHandle *handle) {
        struct pollfd p = { .fd = handle->pidfd, .events = POLLIN };
        char exe[PATH_MAX]; /* quicker than stat, which sums up all threads */
        ProcStat stat;

        if (handle->pidfd >= 0)
                return poll(&p, 1, 0) <= 0; /* a failed poll proves nothing */
        /* A first thread that has ended is shown as a zombie while others still run. */
        return !handle->live || proc_held_is_in_exec(handle) ||
               proc_held_exe_read(handle, exe, sizeof(exe)) >= 0 ||
               (proc_stat_read(handle, 0, &stat) >= 0 &&
                ((stat.state != 'Z' && stat.state != 'X') || stat.n_threads > 1));
}

int proc_watch_exit(ProcHandle *handle, sd_event *event, sd_event_io_handler_t callback,
                    void *userdata) {
        int r;

        if (handle->pidfd < 0)
                return 0;
        r = sd_event_add_io(event, &handle->exit, handle->pidfd, EPOLLIN, callback, userdata);
        return r < 0 ? r
                     : sd_event_source_set_priority(handle->exit, SD_EVENT_PRIORITY_IMPORTANT - 1);
}

/* --- its files --- */

/* From the kernel's include/linux/sched.h; stable, for ps(1) shows it as a flag. */
#define PF_KTHREAD UINT64_C(0x00200000)
#define PF_FORKNOEXEC UINT64_C(0x00000040)

int proc_error(int r) {
        return r == -ENOENT ? -ESRCH : r;
}

int proc_stat_parse(const char *text, ProcStat *ret) {
        const char *p = strrchr(text, ')'); /* the comm may hold brackets itself */
        uint64_t flags, user, system;
        ProcStat s = { 0 };
        int parent;

        if (!p)
                return -EBADMSG;
        /* Fields 3 to 39 of proc(5). */
        if (sscanf(p + 1,
                   " %c %d %*d %*d %*d %*d %" SCNu64 " %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                   " %*d %*d %*d %*d"
                   " %" SCNu64 " %*d %" SCNu64 " %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u"
                   " %*u %*u %*u %*d %" SCNu32,
                   &s.state, &parent, &flags, &user, &system, &s.n_threads, &s.start_ticks,
                   &s.last_cpu) != 8)
                return -EBADMSG;
        s.parent = parent;
        s.cpu_ticks = user + system;
        s.kernel_thread = flags & PF_KTHREAD;
        s.forked_only = flags & PF_FORKNOEXEC;
        *ret = s;
        return 0;
}

/* The rest of the line that begins with `key`, or NULL. `text` begins at a line's start. */
static const char *find_line(const char *text, const char *key) {
        size_t length = strlen(key);

        for (const char *p = text; p; p = strchr(p, '\n')) {
                p += *p == '\n';
                if (strncmp(p, key, length) == 0)
                        return p + length;
        }
        return NULL;
}

static int parse_list_line(const char *text, const char *key, IdTarget ret) {
        const char *value = find_line(text, key);
        _cleanup_free_ char *list = NULL;

        if (!value)
                return -EBADMSG;
        list = strndup(value, strcspn(value, "\n"));
        if (!list)
                return -ENOMEM;
        return id_target_parse_list(list, ret);
}

int proc_status_parse(const char *text, ProcStatus *ret) {
        const char *uids = find_line(text, "Uid:");
        ProcStatus s = { 0 };
        int r;

        if (!uids || sscanf(uids, "%*u %u", &s.uid) != 1)
                return -EBADMSG;
        r = parse_list_line(text, "Cpus_allowed_list:", ID_TARGET(&s.cpus_allowed));
        if (r < 0)
                return r;
        r = parse_list_line(text, "Mems_allowed_list:", ID_TARGET(&s.mems_allowed));
        if (r < 0)
                return r;
        *ret = s;
        return 0;
}

static int read_task_file(const ProcHandle *handle, pid_t tid, const char *name, char *buffer,
                          size_t size) {
        ssize_t n =
                tid > 0 ? path_read_record(handle->dir_fd, buffer, size, "task/%d/%s", tid, name)
                        : path_read_record(handle->dir_fd, buffer, size, "%s", name);

        return n < 0 ? proc_error((int)n) : 0;
}

bool proc_has_thread(const ProcHandle *handle, pid_t tid) {
        return path_exists(handle->dir_fd, "task/%d", tid);
}

/* 1: the exec is under way; 0; -ESRCH: there is no such process. Of statm, "size resident shared
 * text …" in pages; none of a kernel thread or of what has ended. A map that exec has just begun
 * has a stack and no text. Read for each start on the host. */
static int check_exec(int dir_fd, const char *folder) {
        char text[256];
        const char *p = text;
        ssize_t n = path_read_record(dir_fd, text, sizeof(text), "%sstatm", folder);

        if (n <= 0)
                return n == -ENOENT || n == -ESRCH ? -ESRCH : 0;
        for (unsigned i = 0; p && i < 3; i++)
                p = strchr(p + 1, ' ');
        return p && text[0] != '0' && p[1] == '0' && (p[2] == ' ' || p[2] == '\0');
}

static int check_exec_of(const Sysroot *sysroot, pid_t pid) {
        char folder[16];

        (void)snprintf(folder, sizeof(folder), "%d/", pid);
        return sysroot->live ? check_exec(sysroot->proc_fd, folder) : 0;
}

bool proc_is_in_exec(const Sysroot *sysroot, pid_t pid) {
        return check_exec_of(sysroot, pid) > 0;
}

bool proc_held_is_in_exec(const ProcHandle *handle) {
        return handle->live && check_exec(handle->dir_fd, "") > 0;
}

/* An exec has ended all threads but the first. */
int proc_stat_read(const ProcHandle *handle, pid_t tid, ProcStat *ret) {
        char text[1024];
        int r = (tid == 0 || tid == handle->pid) && proc_held_is_in_exec(handle)
                        ? -EBUSY
                        : read_task_file(handle, tid, "stat", text, sizeof(text));

        return r < 0 ? r : proc_stat_parse(text, ret);
}

int proc_uptime_read(const Sysroot *sysroot, uint64_t *ret_ticks) {
        uint64_t seconds;
        char text[64];
        ssize_t n = path_read(sysroot->proc_fd, text, sizeof(text), "uptime");

        if (n < 0)
                return (int)n;
        if (sscanf(text, "%" SCNu64 ".", &seconds) != 1 || seconds > UINT32_MAX)
                return -EBADMSG;
        *ret_ticks = seconds * (uint64_t)sysconf(_SC_CLK_TCK);
        return 0;
}

int proc_status_read(const ProcHandle *handle, pid_t tid, ProcStatus *ret) {
        _cleanup_free_ char *all = NULL;
        char text[16384]; /* two bit masks of 8,192 CPUs among it */
        int r = read_task_file(handle, tid, "status", text, sizeof(text));

        if (r == -EFBIG) { /* of a process with thousands of supplementary groups */
                r = proc_error(
                        tid > 0 ? path_read_alloc(handle->dir_fd, &all, NULL, "task/%d/status", tid)
                                : path_read_alloc(handle->dir_fd, &all, NULL, "status"));
        }
        return r < 0 ? r : proc_status_parse(all ? all : text, ret);
}

static int read_exe(int dir_fd, const char *folder, char *buffer, size_t size) {
        static const char deleted[] = " (deleted)";
        ssize_t n = path_read_link(dir_fd, buffer, size, "%sexe", folder);

        if (n < 0)
                return (int)n;
        if (text_ends_with(buffer, deleted))
                buffer[(size_t)n - strlen(deleted)] = '\0';
        return 0;
}

int proc_exe_read(const Sysroot *sysroot, pid_t pid, char *buffer, size_t size) {
        int r = check_exec_of(sysroot, pid);
        char folder[16];

        if (r != 0)
                return r > 0 ? -EBUSY : r;
        (void)snprintf(folder, sizeof(folder), "%d/", pid);
        return read_exe(sysroot->proc_fd, folder, buffer, size);
}

int proc_held_exe_read(const ProcHandle *handle, char *buffer, size_t size) {
        return proc_held_is_in_exec(handle) ? -EBUSY : read_exe(handle->dir_fd, "", buffer, size);
}

bool proc_has_program(const ProcHandle *handle) {
        char start;

        return proc_held_is_in_exec(handle) || readlinkat(handle->dir_fd, "exe", &start, 1) >= 0;
}

int proc_cgroup_path_parse(const char *text, const char *controller, char **ret) {
        const char *found = NULL;

        for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
                const size_t n_id = strspn(p, "0123456789");
                const char *list = p + n_id + 1;
                size_t length;

                if (n_id == 0 || p[n_id] != ':')
                        return -ENXIO;
                length = strcspn(list, ":\n");
                if (list[length] != ':' || list[length + 1] != '/' ||
                    (length == 0) != (n_id == 1 && *p == '0'))
                        return -ENXIO;
                /* The unified hierarchy's list is empty, which has the word "" alone. */
                if (!text_has_word(list, ',', ':', controller))
                        continue;
                if (found)
                        return -ENXIO;
                found = list + length + 1;
        }
        if (!found)
                return -ENXIO;
        *ret = strndup(found, strcspn(found, "\n"));
        return *ret ? 0 : -ENOMEM;
}

/* In hybrid mode there are both lines; systemd keeps its units in either under the same path. On
 * pure v1 the unified line is absent, or all processes are in its root: another program has mounted
 * that hierarchy, as Cilium does. */
int proc_cgroup_parse(const char *text, char **ret) {
        _cleanup_free_ char *unified = NULL;
        int unified_r = proc_cgroup_path_parse(text, "", &unified), r;

        if (unified_r == -ENXIO || (unified && strcmp(unified, "/") == 0)) {
                r = proc_cgroup_path_parse(text, "name=systemd", ret);
                if (r != -ENXIO)
                        return r;
        }
        if (unified)
                *ret = TAKE_PTR(unified);
        return unified_r;
}

int proc_cgroup_read(const ProcHandle *handle, char **ret) {
        char text[PATH_MAX * 2], *end;
        int r = read_task_file(handle, 0, "cgroup", text, sizeof(text));

        if (r >= 0)
                r = proc_cgroup_parse(text, ret);
        if (r < 0)
                return r;
        /* From there the group is searched for that has a cpuset, step by step upwards. */
        end = *ret;
        for (unsigned i = 0; end && i < OTHERS_GROUP_DEPTH_MAX; i++)
                end = strchr(end + 1, '/');
        if (end)
                *end = '\0';
        return 0;
}

int proc_cgroup_path_read(const ProcHandle *handle, const char *controller, char **ret) {
        char text[PATH_MAX * 2];
        int r = read_task_file(handle, 0, "cgroup", text, sizeof(text));

        return r < 0 ? r : proc_cgroup_path_parse(text, controller, ret);
}

/* --- walks --- */

void numbers_begin(int dir_fd, Numbers *ret) {
        ret->dir_fd = dir_fd;
        ret->at = ret->n = 0;
}

void numbers_end(Numbers *w) {
        closep(&w->dir_fd);
}

/* Not by readdir(3): of a process that has just begun, four calls and an allocation are more than
 * what they are for. */
int numbers_next(Numbers *w, pid_t *ret) {
        for (;;) {
                const struct dirent64 *entry = (const struct dirent64 *)(w->entries + w->at);
                uint64_t id;
                ssize_t n;

                if (w->at < w->n) {
                        w->at += entry->d_reclen;
                        w->inode = entry->d_ino;
                        if (parse_u64(entry->d_name, &id) < 0 || id > INT_MAX)
                                continue;
                        *ret = (pid_t)id;
                        return 1;
                }
                if (w->dir_fd < 0)
                        return proc_error(w->dir_fd);
                /* glibc has a function for it since 2.30. */
                n = syscall(SYS_getdents64, w->dir_fd, w->entries, sizeof(w->entries));
                if (n <= 0)
                        return n < 0 ? proc_error(-errno) : 0;
                w->at = 0;
                w->n = (size_t)n;
        }
}

void proc_pids(const Sysroot *sysroot, Numbers *ret) {
        numbers_begin(path_open(sysroot->proc_fd, O_RDONLY | O_DIRECTORY, "."), ret);
}

void proc_threads(const ProcHandle *handle, Numbers *ret) {
        numbers_begin(path_open(handle->dir_fd, O_RDONLY | O_DIRECTORY, "task"), ret);
}

size_t proc_count_threads(const ProcHandle *handle) {
        struct stat st;

        /* Beside "." and "..", a directory for each. */
        return fstatat(handle->dir_fd, "task", &st, 0) == 0 && st.st_nlink > 2 ? st.st_nlink - 2
                                                                               : 0;
}

int proc_children(const ProcHandle *handle, PidList *list) {
        _cleanup_numbers_ Numbers threads;
        pid_t tid;
        int r;

        proc_threads(handle, &threads);
        while ((r = numbers_next(&threads, &tid)) > 0) {
                _cleanup_free_ char *text = NULL;
                char *save = NULL;
                uint64_t pid;

                if (path_read_alloc(handle->dir_fd, &text, NULL, "task/%d/children", tid) < 0)
                        continue; /* ended meanwhile, or a kernel without it */
                for (char *word = strtok_r(text, " \n", &save); word;
                     word = strtok_r(NULL, " \n", &save))
                        if (parse_u64(word, &pid) >= 0 && pid <= INT_MAX &&
                            pid_list_add((pid_t)pid, list) < 0)
                                return -ENOMEM;
        }
        return r;
}

/* --- resident memory by kind --- */

/* Names of processes are in the first line only, with their newlines escaped. */
int proc_memory_parse(const char *text, ProcMemory *ret) {
        ProcMemory m = { 0 };

        if (parse_kib_field(text, "\nRssAnon:", &m.anon_bytes) < 0 ||
            parse_kib_field(text, "\nRssFile:", &m.file_bytes) < 0 ||
            parse_kib_field(text, "\nRssShmem:", &m.shmem_bytes) < 0)
                return -EBADMSG;
        (void)parse_kib_field(text, "\nHugetlbPages:", &m.huge_bytes); /* not in every kernel */
        *ret = m;
        return 0;
}

int proc_memory_read(const ProcHandle *handle, ProcMemory *ret) {
        _cleanup_free_ char *text = NULL; /* of any length: thousands of supplementary groups */
        int r = proc_error(path_read_alloc(handle->dir_fd, &text, NULL, "status"));

        return r < 0 ? r : proc_memory_parse(text, ret);
}

/* --- the command line --- */

int proc_open_memory_file(const ProcHandle *handle, const char *name) {
        return handle->silent ? -EHOSTDOWN : path_open(handle->dir_fd, O_RDONLY, "%s", name);
}

int cmdline_read(const ProcHandle *handle, char **ret_bytes, size_t *ret_size) {
        _cleanup_close_ int fd = proc_open_memory_file(handle, "cmdline");
        _cleanup_free_ char *bytes = NULL;
        const char *end;
        char *exact;
        size_t size;
        ssize_t n;
        bool cut;

        if (fd < 0)
                return proc_error(fd);
        bytes = malloc(CMDLINE_MAX_BYTES + 2);
        if (!bytes)
                return -ENOMEM;
        n = read_up_to(fd, bytes, CMDLINE_MAX_BYTES + 1);
        if (n < 0)
                return (int)n;
        size = (size_t)n;
        cut = size > CMDLINE_MAX_BYTES;
        if (cut) { /* without the last argument, whose end is not seen */
                end = memrchr(bytes, '\0', CMDLINE_MAX_BYTES);
                size = end ? (size_t)(end - bytes) + 1 : 0;
        }
        if (size > 0 && bytes[size - 1] != '\0') /* a rewritten line may lack it */
                bytes[size++] = '\0';
        bytes[size] = '\0';
        exact = realloc(bytes, size + 1);
        *ret_bytes = exact ? exact : bytes;
        bytes = NULL;
        *ret_size = size;
        return cut;
}

const char *cmdline_next(const char *bytes, size_t size, const char *argument) {
        const char *next = argument ? argument + strlen(argument) + 1 : bytes;

        return next < bytes + size ? next : NULL;
}

int cmdline_join(const char *bytes, size_t size, char **ret) {
        char *text = malloc(size + 1);

        if (!text)
                return -ENOMEM;
        for (size_t i = 0; i < size; i++)
                text[i] = bytes[i] == '\0' ? ' ' : bytes[i];
        text[size > 0 ? size - 1 : 0] = '\0'; /* the last argument's */
        *ret = text;
        return 0;
}

/* --- environment --- */

const char *environment_find(const char *bytes, size_t size, const char *key) {
        const size_t length = strlen(key);

        for (const char *entry = bytes; entry < bytes + size; entry += strlen(entry) + 1)
                if (strncmp(entry, key, length) == 0 && entry[length] == '=')
                        return entry + length + 1;
        return NULL;
}

int environment_read(const ProcHandle *handle, const char *key, char *buffer, size_t size) {
        _cleanup_free_ char *bytes = NULL;
        const char *value;
        size_t n;
        int r = handle->silent ? -EHOSTDOWN
                               : proc_error(path_read_alloc(handle->dir_fd, &bytes, &n, "environ"));

        if (r < 0)
                return r;
        value = environment_find(bytes, n, key);
        if (!value)
                return -ENODATA;
        r = snprintf(buffer, size, "%s", value);
        return r < 0 || (size_t)r >= size ? -ENOSPC : 0;
}

/* --- open files --- */

int open_files_foreach(const ProcHandle *handle, OpenFileCallback callback, void *userdata) {
        _cleanup_numbers_ Numbers files = { .dir_fd = -EBADF };
        char target[PATH_MAX];
        size_t n = 0;
        pid_t fd;
        int r;

        if (proc_held_is_in_exec(handle))
                return -EBUSY;
        numbers_begin(path_open(handle->dir_fd, O_RDONLY | O_DIRECTORY, "fd"), &files);
        while ((r = numbers_next(&files, &fd)) > 0) {
                if (n++ >= OPEN_FILES_MAX)
                        return 1;
                r = (int)path_read_link(files.dir_fd, target, sizeof(target), "%d", fd);
                if (r >= 0)
                        r = callback(fd, target, userdata);
                /* EINVAL: no link, as only a dump has it. ENAMETOOLONG: the kernel itself gave up.
                 */
                else if (r == -ENOENT || r == -EINVAL || r == -ENAMETOOLONG)
                        continue;
                if (r < 0)
                        return r;
        }
        /* A process that has ended lists nothing. */
        return r < 0 ? r : proc_is_alive(handle) ? 0 : -ESRCH;
}

/* --- lists of numbers --- */

int pid_list_add(pid_t pid, void *userdata) {
        PidList *list = userdata;

        if (ARRAY_RESERVE(list->pids, list->allocated, list->n_pids + 1) < 0)
                return -ENOMEM;
        list->pids[list->n_pids++] = pid;
        return 0;
}

void pid_list_done(PidList *list) {
        free(list->pids);
        *list = (PidList){ 0 };
}
