#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/path.h"
#include "tidbnumad/sys/proc.h"
#include "tidbnumad/sys/sysroot.h"

/* Number of samples, and seconds, that may be late. */
enum { LATE_SAMPLES = 2, LATE_SECONDS = 10 };

int status_file_read(const char *runtime_dir, Snapshot *ret) {
        _cleanup_close_ int fd = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        if (fd < 0)
                return -errno;
        r = path_read_alloc(fd, &text, &size, "status.json");
        return r < 0 ? r : status_parse(text, size, ret);
}

bool status_file_is_fresh(const Snapshot *status, double now_seconds) {
        const double age = now_seconds - status->time_seconds;

        return age > -LATE_SECONDS &&
               age < LATE_SAMPLES * status->sample_interval_seconds + LATE_SECONDS;
}

const InstanceInfo *status_file_find(const Snapshot *status, const char *name) {
        for (size_t i = 0; i < status->n_instances; i++)
                if (strcmp(status->instances[i].name, name) == 0)
                        return &status->instances[i];
        return NULL;
}

void status_unit_label(const UnitInfo *unit, char ret[static NAME_MAX]) {
        const size_t n = strlen(unit->name), suffix = strlen(".service");

        (void)snprintf(ret, NAME_MAX, "%.*s", (int)(n > suffix ? n - suffix : n), unit->name);
}

bool status_unit_is_named(const UnitInfo *unit, const WordList *globs) {
        char label[NAME_MAX];

        status_unit_label(unit, label);
        return word_list_names(globs, unit->name, label);
}

const UnitInfo *status_file_find_unit(const Snapshot *status, const char *name) {
        const WordList globs = { .words = (char *[]){ (char *)name }, .n_words = 1 };

        for (size_t i = 0; i < status->n_units; i++)
                if (status_unit_is_named(&status->units[i], &globs))
                        return &status->units[i];
        return NULL;
}

bool status_unit_runs(const Snapshot *status, const UnitInfo *unit) {
        for (size_t i = 0; i < status->n_instances; i++)
                if (status->instances[i].unit && strcmp(status->instances[i].unit, unit->name) == 0)
                        return true;
        return false;
}

bool status_unit_is_problem(const UnitInfo *unit) {
        return unit->code != REASON_NONE && unit->code != REASON_START_LIMITS;
}

bool status_is_at_rest(const InstanceInfo *i) {
        return i->state == INSTANCE_BOUND || i->state == INSTANCE_WATCHED ||
               i->state == INSTANCE_RELEASED;
}

bool status_is_problem(const InstanceInfo *i) {
        return !status_is_at_rest(i) && (i->reason_code != REASON_NONE || *i->reason);
}

/* --- the daemon as a process --- */

pid_t daemon_process_find(const char *runtime_dir, const Snapshot *status) {
        _cleanup_close_ int fd = open(runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const pid_t pid = status ? status->self.pid : 0;
        pid_t holder = 0;
        char comm[32], text[1024];
        ProcStat stat;
        ssize_t n;

        if (fd >= 0 && lock_file_holder(fd, RUNTIME_DIR_LOCK, &holder) >= 0 && holder > 0)
                return holder;
        if (pid <= 0 || (kill(pid, 0) < 0 && errno != EPERM))
                return 0;
        /* Not the exe, which other users may not read for a process of root. */
        n = path_read_record(AT_FDCWD, comm, sizeof(comm), "/proc/%d/comm", pid);
        if (n < 0) /* proc(5), hidepid=: only root sees all processes */
                return n == -ENOENT && geteuid() != 0 ? pid : 0;
        if (strcmp(comm, "tidbnumad") != 0)
                return 0;
        /* One that nobody waits for yet, as in a container, has ended all the same. */
        return path_read(AT_FDCWD, text, sizeof(text), "/proc/%d/stat", pid) >= 0 &&
                               proc_stat_parse(text, &stat) >= 0 && stat.state == 'Z' &&
                               stat.n_threads <= 1
                       ? 0
                       : pid;
}

bool daemon_process_is_replaced(pid_t pid) {
        char link[32], exe[PATH_MAX];
        ssize_t n;

        (void)snprintf(link, sizeof(link), "/proc/%d/exe", pid);
        n = readlink(link, exe, sizeof(exe));
        return n > 0 && text_ends_with_n(exe, (size_t)n, " (deleted)");
}

/* Each file is written beside the former one, which it replaces. */
bool daemon_process_lacks_room(const char *runtime_dir) {
        static const char *const files[] = { "status.json", "metrics.prom" };
        uint64_t needed = 0;
        struct statvfs fs;

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                char path[PATH_MAX];
                struct stat st;
                const int n = snprintf(path, sizeof(path), "%s/%s", runtime_dir, files[i]);

                if (n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0 &&
                    (uint64_t)st.st_size > needed)
                        needed = (uint64_t)st.st_size;
        }
        return statvfs(runtime_dir, &fs) == 0 &&
               (fs.f_bavail * fs.f_frsize <= needed || (fs.f_files > 0 && fs.f_favail == 0));
}
