#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/world/kinship.h"

void kinship_done(Kinship *k) {
        free(k->known);
        free(k->makers);
        *k = (Kinship){ 0 };
}

static size_t place_of(const Kin *list, size_t n, pid_t pid) {
        return ARRAY_LOWER_BOUND(n, i, list[i].pid < pid);
}

static const Kin *find(const Kin *list, size_t n, pid_t pid) {
        const size_t at = place_of(list, n, pid);

        return at < n && list[at].pid == pid ? &list[at] : NULL;
}

/* The members of an instance are ascending by pid. */
static const ProcHandle *find_member(const Kinship *k, pid_t pid) {
        const size_t at = ARRAY_LOWER_BOUND(k->n_members, i, k->members[i].handle->pid < pid);

        return at < k->n_members && k->members[at].handle->pid == pid ? k->members[at].handle
                                                                      : NULL;
}

/* Called for many processes, so without a handle: a wrong result can only make the daemon do
 * less. */
static pid_t parent_by_pid(const Sysroot *sysroot, pid_t pid) {
        char text[1024];
        ProcStat stat;

        if (proc_is_in_exec(sysroot, pid) ||
            path_read_record(sysroot->proc_fd, text, sizeof(text), "%d/stat", pid) < 0 ||
            proc_stat_parse(text, &stat) < 0)
                return 0;
        return stat.parent;
}

/* Of a member by its first thread: for a file of the whole process the kernel sums up all threads,
 * which takes half a millisecond for 500. 0: it has ended; -1: no more may be read. */
static pid_t read_parent(Kinship *k, pid_t pid) {
        const ProcHandle *member = find_member(k, pid);
        ProcStat stat;

        if (k->n_reads >= KINSHIP_READS_MAX)
                return -1;
        k->n_reads++;
        if (!member)
                return parent_by_pid(k->sysroot, pid);
        return proc_stat_read(member, member->live ? member->pid : 0, &stat) < 0 ? 0 : stat.parent;
}

static bool add(Kin **list, size_t *n, size_t *allocated, pid_t pid, bool ours) {
        const Kin one = { .pid = pid, .ours = ours };

        return array_insert((void **)list, n, allocated, place_of(*list, *n, pid), &one,
                            sizeof(one)) >= 0;
}

/* 1: the chain of its parents leads to a member; 0: it does not; -1: no more may be read. */
static int descends(Kinship *k, pid_t pid) {
        pid_t chain[OTHERS_ANCESTORS_MAX];
        size_t n = 0;
        int ours = 0;

        while (pid > 1 && n < OTHERS_ANCESTORS_MAX) {
                const Kin *known = find(k->known, k->n_known, pid);

                if (known || (n > 0 && find_member(k, pid))) {
                        ours = known ? known->ours : 1;
                        break;
                }
                chain[n++] = pid;
                pid = read_parent(k, pid);
                if (pid < 0)
                        return -1;
        }
        while (n > 0)
                if (!add(&k->known, &k->n_known, &k->known_allocated, chain[--n], ours))
                        return -1;
        return ours;
}

/* False: no more may be read. */
static bool read_makers(Kinship *k) {
        for (size_t i = 0; i < k->n_members && !k->makers_known; i++) {
                pid_t pid = read_parent(k, k->members[i].handle->pid);

                for (unsigned depth = 0;
                     pid > 1 && depth < OTHERS_ANCESTORS_MAX && !find(k->makers, k->n_makers, pid);
                     depth++) {
                        if (!add(&k->makers, &k->n_makers, &k->makers_allocated, pid, true))
                                return false;
                        pid = read_parent(k, pid);
                }
                if (pid < 0)
                        return false;
        }
        k->makers_known = true;
        return true;
}

/* Programs that only start others and wait for them. Anything else that started the instance, such
 * as the agent of a control plane, has work of its own. */
static bool is_launcher(const Sysroot *sysroot, pid_t pid) {
        static const char *const names[] = {
                "ash",     "bash",      "busybox", "chrt",
                "dash",    "dumb-init", "env",     "haproxy-systemd-wrapper",
                "ionice",  "ksh",       "mksh",    "nice",
                "numactl", "runuser",   "setpriv", "setsid",
                "sh",      "su",        "sudo",    "supervise",
                "taskset", "timeout",   "tini",    "zsh"
        };
        char exe[PATH_MAX];

        if (proc_exe_read(sysroot, pid, exe, sizeof(exe)) < 0)
                return true; /* the process is ending, or this user may not read it */
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strcmp(basename(exe), names[i]) == 0)
                        return true;
        return false;
}

KinshipVerdict kinship_judge(Kinship *k, pid_t pid) {
        int ours;

        if (find_member(k, pid))
                return KINSHIP_OURS;
        ours = descends(k, pid);
        if (ours != 0)
                return ours < 0 ? KINSHIP_TOO_MANY : KINSHIP_OURS;
        if (k->n_reads++ >= KINSHIP_READS_MAX)
                return KINSHIP_TOO_MANY;
        if (is_launcher(k->sysroot, pid)) {
                if (!read_makers(k))
                        return KINSHIP_TOO_MANY;
                if (find(k->makers, k->n_makers, pid))
                        return KINSHIP_OURS;
        }
        return parent_by_pid(k->sysroot, pid) == 0 ? KINSHIP_ENDED : KINSHIP_STRANGER;
}
