/* How an instance is bound now, and which processes share its group. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/world/binding.h"

/* What is bound now: the cpuset's effective sets, every thread's own mask, and the other
 * processes of the unit. */

typedef struct Load {
        const Topology *topology;
        const Sysroot *sysroot;
        const Member *members;
        size_t n_members;
        const ProcHandle *member; /* the one whose threads are read */
        const CpuSet *cpus;
        CpuSet last_cpus;
        Kinship kinship;
        Binding binding;
} Load;

/* 1: the thread has ended. */
static int load_thread(Load *load, pid_t tid) {
        NodeSet mems = load->binding.mems;
        CpuSet cpus;
        ProcStat stat;
        int r;

        /* This is most of the work of reading a server with thousands of threads: on a live host
         * one system call for each thread instead of two files, some 0.5 us instead of 30. Values
         * that are the same for all threads are read for the first one. */
        if (load->member->live && (tid != load->member->pid || load->binding.cpuset)) {
                r = affinity_read_thread(tid, &cpus);
        } else {
                ProcStatus status;

                r = proc_status_read(load->member, tid, &status);
                if (r >= 0) {
                        id_set_intersect(&mems, &status.mems_allowed);
                        cpus = status.cpus_allowed;
                }
        }
        if (r < 0)
                return 1; /* ended since the folder was read */
        if (!load->binding.cpuset)
                load->binding.mems = mems;
        load->binding.n_threads++;
        load->binding.n_threads_off_cpus += !id_set_equal(&cpus, load->cpus);
        load->binding.n_threads_outside += !id_set_is_subset(&cpus, load->cpus);
        id_set_subtract(&load->binding.unused_cpus, &cpus);
        /* Where it has no place to be, where it is counts. */
        if (id_set_is_empty(load->cpus) && load->binding.n_threads <= OTHERS_THREAD_FILES_MAX &&
            proc_stat_read(load->member, tid, &stat) == 0)
                id_set_add(&load->last_cpus, stat.last_cpu);
        return 0;
}

static int check_neighbour(pid_t pid, void *userdata) {
        Load *load = userdata;

        if (!kinship_is_stranger(&load->kinship, pid))
                return 0;
        load->binding.alone = false;
        load->binding.intruder = pid;
        return -EBUSY; /* one is enough: the group may be the whole host's */
}

static int load_neighbours(Load *load, const BindingGroups *groups) {
        int r = 0;

        load->kinship = (Kinship){ .sysroot = load->sysroot,
                                   .members = load->members,
                                   .n_members = load->n_members };
        load->binding.alone = true;
        if (groups->suspect > 0 && groups->group_path) { /* is it still there? */
                _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
                _cleanup_free_ char *path = NULL;
                const size_t length = strlen(groups->group_path);

                if (proc_open(load->sysroot, groups->suspect, &handle) >= 0 &&
                    proc_cgroup_path_read(&handle, "memory", &path) >= 0 &&
                    strncmp(path, groups->group_path, length) == 0 &&
                    (path[length] == '\0' || path[length] == '/'))
                        (void)check_neighbour(groups->suspect, load);
        }
        if (load->binding.alone && groups->group_fd >= 0)
                r = cgroup_foreach_pid(groups->group_fd, check_neighbour, load);
        kinship_done(&load->kinship);
        return load->binding.alone ? r : 0;
}

int binding_group_is_alone(const Sysroot *sysroot, const Member *members, size_t n_members,
                           const BindingGroups *groups, int32_t *ret_intruder) {
        Load load = { .sysroot = sysroot, .members = members, .n_members = n_members };
        int r = load_neighbours(&load, groups);

        if (r < 0 || load.binding.alone)
                return r < 0 ? r : 1;
        *ret_intruder = load.binding.intruder;
        return 0;
}

static int load_groups(Load *load, const BindingGroups *groups) {
        const size_t length = groups->unit_path ? strlen(groups->unit_path) : 0;
        bool in_cpuset = groups->cpuset_fd >= 0;
        Binding *b = &load->binding;

        b->mems = topology_nodes(load->topology);
        b->cpus = topology_cpus(load->topology);
        /* A directory of v1 only counts for those that are in it. */
        for (size_t i = 0; in_cpuset && groups->cpuset_path && i < load->n_members; i++) {
                _cleanup_free_ char *now = NULL;
                int r = proc_cgroup_path_read(load->members[i].handle, "cpuset", &now);

                in_cpuset = r == -ESRCH || (r >= 0 && strcmp(now, groups->cpuset_path) == 0);
        }
        if (in_cpuset) {
                CpuSet cpus;
                NodeSet mems;
                int r = cgroup_effective_read(groups->cpuset_fd, &cpus, &mems);

                if (r < 0 && r != -EOPNOTSUPP)
                        return r;
                if (r >= 0) {
                        _cleanup_close_ int above_fd =
                                openat(groups->cpuset_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                        b->cpuset = true;
                        b->cpus = cpus;
                        b->mems = mems;
                        if (above_fd >= 0) {
                                (void)cgroup_effective_cpus_read(above_fd, &b->cpus_above);
                                (void)cgroup_effective_mems_read(above_fd, &b->mems_above);
                        }
                }
        }
        /* The unit's own sets are no witness for processes in groups below it: a cgroup that a
         * service has created below its own (Delegate=) has the unit's properties if its own cpuset
         * files are empty. The cgroup nearest to the process that has a cpuset counts. */
        b->inner_cpus = b->cpus;
        b->inner_mems = b->mems;
        for (size_t i = 0; b->cpuset && groups->unit_path && i < load->n_members; i++) {
                _cleanup_free_ char *path = NULL;
                bool found = false;
                CpuSet cpus;
                NodeSet mems;
                int r = proc_cgroup_read(load->members[i].handle, &path);

                while (r >= 0 && !found && strncmp(path, groups->unit_path, length) == 0 &&
                       path[length] == '/') {
                        r = cgroup_effective_read_of(load->sysroot, path, &cpus, &mems);
                        found = r >= 0;
                        if (r == -EOPNOTSUPP) { /* without a cpuset it follows the one above it */
                                *strrchr(path, '/') = '\0';
                                r = 0;
                        }
                }
                if (r == -ESRCH || (r >= 0 && !found))
                        continue;
                if (r < 0)
                        return r;
                if (b->inner_group[0] == '\0' &&
                    (!id_set_is_subset(&b->cpus, &cpus) || !id_set_is_subset(&b->mems, &mems)))
                        (void)snprintf(b->inner_group, sizeof(b->inner_group), "%s", path);
                id_set_intersect(&b->inner_cpus, &cpus);
                id_set_intersect(&b->inner_mems, &mems);
        }
        return load_neighbours(load, groups);
}

int binding_load(const Topology *topology, const Sysroot *sysroot, Member *members,
                 size_t n_members, const BindingGroups *groups, const CpuSet *cpus, Binding *ret) {
        Load load = { .topology = topology,
                      .sysroot = sysroot,
                      .members = members,
                      .n_members = n_members,
                      .cpus = cpus,
                      .binding.unused_cpus = *cpus };
        int r = load_groups(&load, groups);

        if (r < 0)
                return r;
        for (size_t i = 0; i < n_members; i++) {
                Member *member = &members[i];
                _cleanup_numbers_ Numbers threads = { .dir_fd = -EBADF };
                pid_t tid;

                load.member = member->handle;
                /* The former list of its threads serves while all of them are there. */
                if (member->handle->live && member->n_threads > 0 &&
                    ++member->n_listed <= THREAD_LIST_USES &&
                    proc_count_threads(member->handle) == member->n_threads) {
                        const CpuSet last_cpus = load.last_cpus;
                        const Binding before = load.binding;
                        size_t n = 0;

                        while (n < member->n_threads && load_thread(&load, member->threads[n]) == 0)
                                n++;
                        if (n == member->n_threads)
                                continue;
                        load.last_cpus = last_cpus;
                        load.binding = before;
                }
                member->n_threads = 0;
                member->n_listed = 0;
                proc_threads(member->handle, &threads);
                while ((r = numbers_next(&threads, &tid)) > 0) {
                        /* Without memory for it, and of very many threads, there is no list. */
                        if (member->n_threads < OTHERS_THREADS_READ_MAX &&
                            ARRAY_RESERVE(member->threads, member->threads_allocated,
                                          member->n_threads + 1) >= 0)
                                member->threads[member->n_threads++] = tid;
                        (void)load_thread(&load, tid);
                }
                if (r < 0 && r != -ESRCH)
                        return r;
        }
        if (load.binding.n_threads == 0)
                return -ESRCH;
        load.binding.last_nodes = topology_nodes_of(topology, &load.last_cpus);
        *ret = load.binding;
        return 0;
}

int binding_reload_groups(const Topology *topology, const Sysroot *sysroot, const Member *members,
                          size_t n_members, const BindingGroups *groups, Binding *binding) {
        Load load = {
                .topology = topology, .sysroot = sysroot, .members = members, .n_members = n_members
        };
        int r = load_groups(&load, groups);

        if (r < 0)
                return r;
        for (size_t i = 0; i < n_members; i++)
                load.binding.n_threads += proc_count_threads(members[i].handle);
        if (load.binding.n_threads == 0)
                return -ESRCH;
        if (!load.binding.cpuset) /* of its threads' own */
                load.binding.mems = binding->mems;
        load.binding.n_threads_off_cpus = binding->n_threads_off_cpus;
        load.binding.n_threads_outside = binding->n_threads_outside;
        load.binding.unused_cpus = binding->unused_cpus;
        load.binding.last_nodes = binding->last_nodes;
        *binding = load.binding;
        return 0;
}

void kinship_done(Kinship *k) {
        free(k->known);
        free(k->makers);
        *k = (Kinship){ 0 };
}

static size_t kin_place(const Kin *list, size_t n, pid_t pid) {
        return ARRAY_LOWER_BOUND(n, i, list[i].pid < pid);
}

static const Kin *kin_find(const Kin *list, size_t n, pid_t pid) {
        const size_t at = kin_place(list, n, pid);

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

static bool kin_add(Kin **list, size_t *n, size_t *allocated, pid_t pid, bool ours) {
        const Kin one = { .pid = pid, .ours = ours };

        return array_insert((void **)list, n, allocated, kin_place(*list, *n, pid), &one,
                            sizeof(one)) >= 0;
}

/* Programs that only start others and wait for them. Anything else that started the instance, such
 * as the agent of a control plane, has work of its own. */
static bool kinship_is_launcher(const Sysroot *sysroot, pid_t pid) {
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

bool kinship_is_stranger(Kinship *k, pid_t pid) {
        pid_t chain[OTHERS_ANCESTORS_MAX], at = pid;
        bool ours = false;
        size_t n = 0;

        if (find_member(k, pid))
                return false;
        /* Does the chain of its parents lead to a member? */
        while (at > 1 && n < OTHERS_ANCESTORS_MAX) {
                const Kin *known = kin_find(k->known, k->n_known, at);

                if (known || (n > 0 && find_member(k, at))) {
                        ours = !known || known->ours;
                        break;
                }
                chain[n++] = at;
                at = read_parent(k, at);
                if (at < 0)
                        return true;
        }
        while (n > 0)
                if (!kin_add(&k->known, &k->n_known, &k->known_allocated, chain[--n], ours))
                        return true;
        if (ours)
                return false;
        if (k->n_reads++ >= KINSHIP_READS_MAX)
                return true;
        if (kinship_is_launcher(k->sysroot, pid)) {
                for (size_t i = 0; i < k->n_members && !k->makers_known; i++) {
                        pid_t maker = read_parent(k, k->members[i].handle->pid);

                        for (unsigned depth = 0; maker > 1 && depth < OTHERS_ANCESTORS_MAX &&
                                                 !kin_find(k->makers, k->n_makers, maker);
                             depth++) {
                                if (!kin_add(&k->makers, &k->n_makers, &k->makers_allocated, maker,
                                             true))
                                        return true;
                                maker = read_parent(k, maker);
                        }
                        if (maker < 0)
                                return true;
                }
                k->makers_known = true;
                if (kin_find(k->makers, k->n_makers, pid))
                        return false;
        }
        return parent_by_pid(k->sysroot, pid) != 0; /* has it ended meanwhile? */
}
