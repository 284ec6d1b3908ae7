/* Identifies a process by /proc after an event or a scan, and assigns it to an instance. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/registry/start.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

static bool policies_want_exe(const char *exe, void *userdata) {
        const Registry *registry = userdata;

        return match_wants_exe(&registry->host->policies, exe);
}

int identify_may_match(Registry *registry, pid_t pid) {
        return process_may_match(&registry->host->sysroot, pid, policies_want_exe, registry);
}

static void process_forget(Registry *registry, pid_t pid) {
        Instance *instance;
        size_t index;

        registry->n_considered += ignored_forget(&registry->ignored, pid);
        instance = registry_find_pid(registry, pid, &index);
        registry->n_considered += instance != NULL;
        if (instance)
                registry_remove_process(registry, instance, index);
}

static int on_process_exit(_unused_ sd_event_source *source, int fd, _unused_ uint32_t revents,
                           void *userdata) {
        Registry *registry = userdata;
        Instance *instance;
        size_t index, k = 0;

        while (k < registry->n_entries && registry->entries[k].pidfd != fd)
                k++;
        if (k < registry->n_entries) {
                instance = registry_find_pid(registry, registry->entries[k].pid, &index);
                registry_remove_process(registry, instance, index);
        }
        return 0;
}

/* A process of `policy` has joined. The processes of a service are one instance with one place: by
 * the policy among theirs that comes first in the files, in whatever order they have started. One
 * that has its max_instances takes no more. */
static void instance_prefer_policy(Registry *registry, Instance *i, const Policy *policy,
                                   const Process *process) {
        const size_t index = (size_t)(policy - registry->host->policies.policies);
        const Policy *other = i->policy;

        if (policy == other)
                return;
        if (index < i->policy_index &&
            instance_counts_of(&registry->counts, index, i->uid) < policy->max_instances &&
            instance_counts_add(&registry->counts, index, i->uid) >= 0) {
                instance_counts_join(&registry->counts, index, i->uid, i->n_members);
                for (size_t k = 0; k < i->n_members; k++)
                        instance_counts_leave(&registry->counts, i->policy_index, i->uid);
                instance_counts_remove(&registry->counts, i->policy_index, i->uid);
                i->policy = policy;
                i->policy_index = index;
                i->mixed = false;
                instance_queue(i, WORK_POLICY);
                host_queue(registry->host, HOST_WORK_PLAN);
        }
        if (!i->mixed)
                journal_log(&registry->host->journal, LOG_NOTICE, &INSTANCE_FIELDS(i),
                            "%s has processes of two policies, '%s' and '%s' (by process %d, %s): "
                            "its place is by '%s'%s",
                            i->name, other->name, policy->name, process->id.pid, process->exe,
                            i->policy->name,
                            index < i->policy_index ? ", as the other has its max_instances"
                                                    : ", which comes first in the files");
        i->mixed = true;
}

static int add_process(Registry *registry, const Policy *policy, Process *process,
                       ProcHandle *handle, const StartCpus *start) {
        const pid_t pid = process->id.pid;
        const uint64_t now = clock_monotonic_usec();
        Instance *instance = registry_find_owner(registry, process), *fresh = NULL;
        _cleanup_free_ StartCpus *own = start->set ? malloc(sizeof(*own)) : NULL;
        size_t index;
        int r;

        if (start->set && !own)
                return -ENOMEM;
        if (!instance) {
                r = instance_new(process, now, &fresh);
                if (r < 0)
                        return r;
                instance = fresh;
                fresh->policy = policy;
                fresh->policy_index = (size_t)(policy - registry->host->policies.policies);
        }
        r = instance_add_process(instance, process, handle);
        if (r >= 0) {
                registry->fork_filter_stale = true;
                index = (size_t)facts_find(&instance->facts, pid);
                /* Exits are handled before starts: a process that has ended does not count for
                 * max_instances. */
                r = proc_watch_exit(instance->members[index].handle, registry->host->event,
                                    on_process_exit, registry);
                if (r >= 0 && !fresh) /* a new one is entered by registry_add() */
                        r = registry_enter(registry, instance, &instance->members[index]);
                if (r < 0)
                        instance_remove_process(instance, index);
        }
        if (r >= 0 && fresh)
                r = registry_add(registry, fresh);
        if (r < 0) {
                instance_free(fresh);
                return r;
        }
        instance = registry_find_pid(registry, pid, &index);
        instance_prefer_policy(registry, instance, policy, &instance->members[index].process);
        if (own)
                *own = *start;
        instance->members[index].start = TAKE_PTR(own);
        describe_again(registry, instance, now);
        if (instance->policy->place.near == NEAR_STORAGE && !instance->data_dir)
                (void)describe_storage(registry, instance);
        if (fresh)
                (void)describe_memory_policy(registry, instance);
        journal_log(&registry->host->journal, LOG_DEBUG, NULL,
                    "process %d (%s) belongs to %s of policy '%s'", pid,
                    instance->members[index].process.exe, instance->name, instance->policy->name);
        return 0;
}

static int on_ignored_exit(_unused_ sd_event_source *source, _unused_ int fd,
                           _unused_ uint32_t revents, void *userdata) {
        Registry *registry = userdata;

        ignored_prune(&registry->ignored);
        host_queue(registry->host, HOST_WORK_PUBLISH);
        return 0;
}

static int add_ignored(Registry *registry, const Policy *policy, MatchVerdict verdict,
                       Process *process, ProcHandle *handle) {
        IgnoredProcess *s;
        int r = ignored_add(&registry->ignored, process, handle, policy, verdict);

        if (r == -ENOSPC)
                return ignored_add_counted(&registry->ignored, process->id.pid, verdict);
        if (r < 0)
                return r;
        s = &registry->ignored.processes[registry->ignored.n_processes - 1];
        (void)proc_watch_exit(&s->handle, registry->host->event, on_ignored_exit, registry);
        journal_log(&registry->host->journal, LOG_DEBUG, NULL, "process %d (%s) is ignored: %s",
                    s->process.id.pid, s->process.exe, s->reason);
        host_queue(registry->host, HOST_WORK_PUBLISH);
        /* What its unit has may be of former processes, as before a restart with another User=. */
        if (undo_find(registry->records, s->process.unit, NULL))
                host_queue(registry->host, HOST_WORK_ROUND);
        return 0;
}

/* Are as many processes watched as may be: of the instance that it would join, or of its policy and
 * user? */
static bool process_is_crowded(Registry *registry, const Policy *policy, const Process *process) {
        const JournalFields fields = { .policy = policy->name };
        const Instance *owner = registry_find_owner(registry, process);
        const size_t index =
                owner ? owner->policy_index : (size_t)(policy - registry->host->policies.policies);
        const uid_t uid = owner ? owner->uid : process->uid;
        size_t n_places = 0;
        struct rlimit limit;

        if (owner && owner->n_members >= INSTANCE_PROCESSES_MAX) {
                if (instance_counts_log(&registry->counts, index, uid, INSTANCE_LIMIT_PROCESSES))
                        journal_log(&registry->host->journal, LOG_WARNING, &INSTANCE_FIELDS(owner),
                                    "%s has %zu processes, the most that are watched of an "
                                    "instance: process %d (%s) and further ones are bound only "
                                    "with its unit, or by what they inherit",
                                    owner->name, owner->n_members, process->id.pid, process->exe);
                return true;
        }
        /* Each process takes two descriptors. The rest is for counters of accesses, which take up
         * to half of all, and for what the daemon needs: workers, files, sockets. */
        if (getrlimit(RLIMIT_NOFILE, &limit) >= 0)
                n_places = limit.rlim_cur / 5;
        if (instance_counts_have_place(&registry->counts, index, uid, n_places))
                return false;
        if (instance_counts_log(&registry->counts, index, uid, INSTANCE_LIMIT_PLACES))
                journal_log(&registry->host->journal, LOG_WARNING, &fields,
                            "Policy '%s' has as many processes of user %u as the limit of "
                            "descriptors allows without taking the places of others: process %d "
                            "(%s) and further ones are ignored until one ends. LimitNOFILE= of "
                            "the unit raises the limit",
                            policy->name, uid, process->id.pid, process->exe);
        return true;
}

/* Is the same process known already, with the same executable, user and unit? */
static bool process_is_known(const Registry *registry, const Process *process) {
        size_t index;
        const Instance *instance = registry_find_pid(registry, process->id.pid, &index);

        if (!instance)
                return ignored_has(&registry->ignored, process);
        return process_is_same(&instance->members[index].process, process) &&
               facts_own(&instance->facts, process);
}

/* It is read again when the answer is there, or by a later scan. */
static bool process_is_unanswered(Registry *registry, int r) {
        static const JournalFields fields = { .repeats = true };

        if (r == -EBUSY || r == -ECHILD)
                registry_scan_soon(registry, true);
        if (r == -ECHILD && !registry->workers_missing)
                journal_log(&registry->host->journal, LOG_WARNING, &fields,
                            "No worker process can be started, or one was killed (TasksMax= of the "
                            "unit, memory?). The command lines and mounts of new processes are not "
                            "known until one runs, and those that need them for their policy are "
                            "not bound; trying again each second");
        if (r >= 0 || r == -ECHILD)
                registry->workers_missing = r == -ECHILD;
        return r == -EAGAIN || r == -EBUSY || r == -ECHILD;
}

int identify_read_args(Registry *registry, Process *process, const ProcHandle *handle) {
        int r;

        if (process->args || !match_wants_args(&registry->host->policies, process->exe))
                return 0;
        r = worker_read_args(registry->host->workers, handle, process);
        return process_is_unanswered(registry, r) ? r : 0;
}

/* Assigns a process that was just read. `*process` and `*handle` may be taken over. */
static int process_assign(Registry *registry, Process *process, ProcHandle *handle, Start *start) {
        const PolicySet *policies = &registry->host->policies;
        const Policy *policy = NULL;
        StartCpus given;
        MatchVerdict verdict;
        size_t index;
        int r;

        scope_resolve(registry, process);
        /* Once it was known to have its own memory, it has that until its next exec. */
        if (process->forked_by != 0 && !process_is_known(registry, process)) {
                r = worker_is_vforked(registry->host->workers, handle, process);
                if (process_is_unanswered(registry, r) || r == -EHOSTDOWN)
                        return 0;
                if (r > 0) {
                        process_forget(registry, process->id.pid);
                        return 0;
                }
        }
        r = identify_read_args(registry, process, handle);
        if (process_is_known(registry, process))
                return 0;
        process_forget(registry, process->id.pid);
        /* Without it a policy behind the right one would take the process, and keep it. */
        if (r < 0)
                return 0;
        if (match_wants_mounts(policies, process)) {
                r = worker_check_mounts(registry->host->workers, &registry->host->sysroot, handle,
                                        process);
                if (process_is_unanswered(registry, r) || r == -ESRCH)
                        return 0; /* it has ended, or is tried again */
                if (r == -ENOMEM)
                        return r;
                /* A process that executes from a file system that does not answer, or has its root
                 * there, is not trusted. */
                if (r < 0)
                        process->foreign = FOREIGN_MOUNT;
        }
        verdict = match_judge(policies, process, &policy);
        if (verdict == MATCH_NONE)
                return 0;
        if (verdict != MATCH_POLICY)
                return add_ignored(registry, policy, verdict, process, handle);
        index = (size_t)(policy - policies->policies);
        /* Only for processes that would be new instances: more processes of an instance always join
         * it. */
        if (instance_counts_of(&registry->counts, index, process->uid) >= policy->max_instances &&
            !registry_find_owner(registry, process)) {
                const JournalFields fields = { .policy = policy->name };

                if (instance_counts_log(&registry->counts, index, process->uid,
                                        INSTANCE_LIMIT_INSTANCES)) {
                        journal_log(&registry->host->journal, LOG_WARNING, &fields,
                                    "Policy '%s' has %u instances of user %u, its max_instances: "
                                    "process %d (%s) and further ones are ignored. If all of them "
                                    "are wanted, raise max_instances; else name the owner in "
                                    "`match: {user: ...}`",
                                    policy->name, policy->max_instances, process->uid,
                                    process->id.pid, process->exe);
                        host_queue(registry->host, HOST_WORK_PUBLISH);
                }
                /* The first scan that finds room makes it an instance. */
                return ignored_add_counted(&registry->ignored, process->id.pid, MATCH_FULL);
        }
        if (process_is_crowded(registry, policy, process))
                return ignored_add_counted(&registry->ignored, process->id.pid, MATCH_CROWDED);
        start_take_over(registry, policy, process, start, &given);
        if (!given.set)
                start_recall(registry, process, handle, &given);
        r = add_process(registry, policy, process, handle, &given);
        if (r < 0)
                start->cpus = given; /* for start_end(): `handle` may be closed */
        return r;
}

/* A process lives as long as any of its threads. When its first thread has ended it shows no
 * executable, but is still the same process. */
static bool lives_on_without_its_first_thread(const Registry *registry, pid_t pid) {
        char exe[PATH_MAX];
        size_t index;
        const Instance *instance = registry_find_pid(registry, pid, &index);

        return instance &&
               proc_exe_read(&registry->host->sysroot, pid, exe, sizeof(exe)) == -ENOENT &&
               instance->members[index].handle->live &&
               proc_is_alive(instance->members[index].handle);
}

/* `exe`: as it was just read; NULL: it was not. */
static int process_consider(Registry *registry, pid_t pid, const char *exe, Start *start) {
        static const JournalFields fields = { .repeats = true };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        int r = process_identify(&registry->host->sysroot, pid, exe, policies_want_exe, registry,
                                 &handle, &process);

        registry->n_considered++;
        switch (r) {
        case 0:
                registry->identify_failed = false;
                return process_assign(registry, &process, &handle, start);
        case -ENOMEM:
                return r;
        case -ESRCH:
        case -EAGAIN:
        case -EACCES:
        case -EPERM:
                if (!lives_on_without_its_first_thread(registry, pid))
                        process_forget(registry, pid);
                return r == -ESRCH ? IDENTIFY_ENDED : 0;
        case -EBUSY: /* in its exec, whose event will follow */
                return 0;
        default: /* no descriptor free, a file that cannot be read: the next scan tries again */
                if (!registry->identify_failed)
                        journal_log(&registry->host->journal, LOG_WARNING, &fields,
                                    "Process %d cannot be read: %s. Trying again at each scan; "
                                    "further processes are not logged",
                                    pid, strerror(-r));
                registry->identify_failed = true;
                return 0;
        }
}

int identify_consider(Registry *registry, pid_t pid) {
        Start none = START_NONE;

        return process_consider(registry, pid, NULL, &none);
}

static void on_identify_answer(const ProcessId *process, _unused_ WorkerJob job, void *userdata) {
        (void)identify_consider(userdata, process->pid);
}

void identify_start(Registry *registry) {
        static const WorkerJob asked[] = { WORKER_ARGS, WORKER_VFORK, WORKER_EXE };

        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                workers_on_answer(registry->host->workers, asked[i], on_identify_answer, registry);
}

/* For most of them on a host this ends with one link read, and nothing allocated; for those that
 * have ended meanwhile with one file that cannot be opened. */
int identify_exec(Registry *registry, pid_t pid) {
        Start start = START_NONE;
        char exe[PATH_MAX];
        int r = proc_exe_read(&registry->host->sysroot, pid, exe, sizeof(exe));

        if (r == -ESRCH || (r >= 0 && !policies_want_exe(exe, registry))) {
                process_forget(registry, pid);
                return r == -ESRCH ? IDENTIFY_ENDED : 0;
        }
        scan_list_forget(&registry->scan, pid);
        if (r >= 0)
                start_bind(registry, pid, exe, &start);
        r = process_consider(registry, pid, r < 0 ? NULL : exe, &start);
        start_end(registry, &start);
        return r;
}
