/* Identifies a process by /proc after an event or a scan, and assigns it to an instance. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tidbnumad/daemon/roster/describe.h"
#include "tidbnumad/daemon/roster/identify.h"
#include "tidbnumad/daemon/roster/roster.h"
#include "tidbnumad/daemon/roster/start.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

static bool wants_exe(const char *exe, void *userdata) {
        const Roster *roster = userdata;

        return match_wants_exe(&roster->host->policies, exe);
}

int identify_may_match(Roster *roster, pid_t pid) {
        return process_may_match(&roster->host->sysroot, pid, wants_exe, roster);
}

static void forget(Roster *roster, pid_t pid) {
        Instance *instance;
        size_t index;

        roster->n_considered += ignored_forget(&roster->ignored, pid);
        instance = roster_find_pid(roster, pid, &index);
        roster->n_considered += instance != NULL;
        if (instance)
                roster_remove_process(roster, instance, index);
}

static int on_process_exit(_unused_ sd_event_source *source, int fd, _unused_ uint32_t revents,
                           void *userdata) {
        Roster *roster = userdata;
        size_t index;
        Instance *instance = roster_find_pidfd(roster, fd, &index);

        if (instance)
                roster_remove_process(roster, instance, index);
        return 0;
}

static int join(Roster *roster, Instance *instance, Process *process, ProcHandle *handle) {
        const pid_t pid = process->id.pid;
        size_t at;
        int r;

        r = instance_add_process(instance, process, handle);
        if (r < 0)
                return r;
        roster->fork_filter_stale = true;
        /* Exits are handled before starts: a process that has ended does not count for
         * max_instances. */
        at = (size_t)instance_find(instance, pid);
        r = proc_watch_exit(instance->members[at].handle, roster->host->event, on_process_exit,
                            roster);
        if (r >= 0 && instance->name) /* a new one is entered by roster_add() */
                r = roster_enter(roster, instance, &instance->members[at]);
        if (r < 0)
                instance_remove_process(instance, at);
        return r;
}

static int found(Roster *roster, const Policy *policy, Process *process, ProcHandle *handle) {
        Instance *instance;
        int r;

        r = instance_new(process, clock_monotonic_usec(), &instance);
        if (r < 0)
                return r;
        instance->policy = policy;
        instance->policy_index = (size_t)(policy - roster->host->policies.policies);
        r = join(roster, instance, process, handle);
        if (r >= 0)
                r = roster_add(roster, instance);
        if (r < 0)
                instance_free(instance);
        return r;
}

static int add_process(Roster *roster, const Policy *policy, Process *process, ProcHandle *handle,
                       const StartCpus *start) {
        const pid_t pid = process->id.pid;
        Instance *instance = roster_find_owner(roster, process);
        _cleanup_free_ StartCpus *own = start->set ? malloc(sizeof(*own)) : NULL;
        size_t index;
        int r;

        if (start->set && !own)
                return -ENOMEM;
        r = instance ? join(roster, instance, process, handle)
                     : found(roster, policy, process, handle);
        if (r < 0)
                return r;
        instance = roster_find_pid(roster, pid, &index);
        if (own)
                *own = *start;
        instance->members[index].start = TAKE_PTR(own);
        describe_again(roster, instance, clock_monotonic_usec());
        if (policy->place.near == NEAR_STORAGE && !instance->data_dir)
                (void)describe_storage(roster, instance);
        journal_log(&roster->host->journal, LOG_DEBUG, NULL,
                    "process %d (%s) belongs to %s of policy '%s'", pid,
                    instance->members[index].process.exe, instance->name, policy->name);
        return 0;
}

static int on_ignored_exit(_unused_ sd_event_source *source, _unused_ int fd,
                           _unused_ uint32_t revents, void *userdata) {
        Roster *roster = userdata;

        ignored_prune(&roster->ignored);
        host_mark(roster->host, HOST_MARK_PUBLISH);
        return 0;
}

static int add_ignored(Roster *roster, const Policy *policy, MatchVerdict verdict, Process *process,
                       ProcHandle *handle) {
        IgnoredProcess *s;
        int r = ignored_add(&roster->ignored, process, handle, policy, verdict);

        if (r == -ENOSPC)
                return ignored_add_counted(&roster->ignored, process->id.pid, verdict);
        if (r < 0)
                return r;
        s = &roster->ignored.processes[roster->ignored.n_processes - 1];
        (void)proc_watch_exit(&s->handle, roster->host->event, on_ignored_exit, roster);
        journal_log(&roster->host->journal, LOG_DEBUG, NULL, "process %d (%s) is ignored: %s",
                    s->process.id.pid, s->process.exe, s->reason);
        host_mark(roster->host, HOST_MARK_PUBLISH);
        return 0;
}

/* Only for processes that would be new instances: more processes of an instance always join it. */
static bool is_full(const Roster *roster, const Policy *policy, const Process *process) {
        const size_t index = (size_t)(policy - roster->host->policies.policies);

        return instance_counts_of(&roster->counts, index, process->uid) >= policy->max_instances &&
               !roster_find_owner(roster, process);
}

/* The first scan that finds room makes it an instance. */
static int ignore(Roster *roster, const Policy *policy, const Process *process) {
        const JournalFields fields = { .policy = policy->name };
        const size_t index = (size_t)(policy - roster->host->policies.policies);

        if (instance_counts_log(&roster->counts, index, process->uid, INSTANCE_LIMIT_INSTANCES)) {
                journal_log(&roster->host->journal, LOG_WARNING, &fields,
                            "Policy '%s' has %u instances of user %u, its max_instances: process "
                            "%d (%s) and further ones are ignored. If all of them are wanted, "
                            "raise max_instances; else name the owner in `match: {user: ...}`",
                            policy->name, policy->max_instances, process->uid, process->id.pid,
                            process->exe);
                host_mark(roster->host, HOST_MARK_PUBLISH);
        }
        return ignored_add_counted(&roster->ignored, process->id.pid, MATCH_FULL);
}

/* Each process takes two descriptors. The rest is for counters of accesses, which take up to half
 * of all, and for what the daemon needs: workers, files, sockets. */
static size_t count_places(void) {
        struct rlimit limit;

        return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 0 : limit.rlim_cur / 5;
}

/* Are as many processes watched as may be: of the instance that it would join, or of its policy and
 * user? */
static bool is_crowded(Roster *roster, const Policy *policy, const Process *process) {
        const JournalFields fields = { .policy = policy->name };
        const Instance *owner = roster_find_owner(roster, process);
        const size_t index =
                owner ? owner->policy_index : (size_t)(policy - roster->host->policies.policies);
        const uid_t uid = owner ? owner->uid : process->uid;

        if (owner && owner->n_members >= INSTANCE_PROCESSES_MAX) {
                if (instance_counts_log(&roster->counts, index, uid, INSTANCE_LIMIT_PROCESSES))
                        journal_log(&roster->host->journal, LOG_WARNING, &INSTANCE_FIELDS(owner),
                                    "%s has %zu processes, the most that are watched of an "
                                    "instance: process %d (%s) and further ones are bound only "
                                    "with its unit, or by what they inherit",
                                    owner->name, owner->n_members, process->id.pid, process->exe);
                return true;
        }
        if (instance_counts_have_place(&roster->counts, index, uid, count_places()))
                return false;
        if (instance_counts_log(&roster->counts, index, uid, INSTANCE_LIMIT_PLACES))
                journal_log(&roster->host->journal, LOG_WARNING, &fields,
                            "Policy '%s' has as many processes of user %u as the limit of "
                            "descriptors allows without taking the places of others: process %d "
                            "(%s) and further ones are ignored until one ends. LimitNOFILE= of "
                            "the unit raises the limit",
                            policy->name, uid, process->id.pid, process->exe);
        return true;
}

/* Is the same process known already, with the same executable, user and unit? */
static bool is_known(const Roster *roster, const Process *process) {
        size_t index;
        const Instance *instance = roster_find_pid(roster, process->id.pid, &index);

        if (!instance)
                return ignored_has(&roster->ignored, process);
        return process_is_same(&instance->members[index].process, process) &&
               instance_owns(instance, process);
}

/* It is read again when the answer is there, or by a later scan. */
static bool is_unanswered(Roster *roster, int r) {
        if (r == -EBUSY || r == -ECHILD)
                roster_scan_soon(roster);
        return r == -EAGAIN || r == -EBUSY || r == -ECHILD;
}

int identify_read_args(Roster *roster, Process *process, const ProcHandle *handle) {
        int r;

        if (process->args || !match_wants_args(&roster->host->policies, process->exe))
                return 0;
        r = worker_read_args(roster->host->workers, handle, process);
        return is_unanswered(roster, r) ? r : 0;
}

/* 0: `process->foreign` is correct. A process that executes from a file system that does not
 * answer, or has its root there, is not trusted. Negative: the process has ended, or it is tried
 * again. */
static int check_mounts(Roster *roster, Process *process, const ProcHandle *handle) {
        int r;

        if (process->foreign != FOREIGN_ROOT &&
            !match_wants_path(&roster->host->policies, process->exe))
                return 0;
        r = worker_check_mounts(roster->host->workers, &roster->host->sysroot, handle, process);
        if (!is_unanswered(roster, r) && r < 0 && r != -ESRCH && r != -ENOMEM) {
                process->foreign = FOREIGN_MOUNT;
                return 0;
        }
        return r;
}

static int sort_in(Roster *roster, Process *process, ProcHandle *handle, Start *start) {
        const Policy *policy = NULL;
        StartCpus given;
        MatchVerdict verdict;
        int r;

        r = identify_read_args(roster, process, handle);
        if (is_known(roster, process))
                return 0;
        forget(roster, process->id.pid);
        /* Without it a policy behind the right one would take the process, and keep it. */
        if (r < 0)
                return 0;
        r = check_mounts(roster, process, handle);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        verdict = match_judge(&roster->host->policies, process, &policy);
        if (verdict == MATCH_NONE)
                return 0;
        if (verdict != MATCH_POLICY)
                return add_ignored(roster, policy, verdict, process, handle);
        if (is_full(roster, policy, process))
                return ignore(roster, policy, process);
        if (is_crowded(roster, policy, process))
                return ignored_add_counted(&roster->ignored, process->id.pid, MATCH_CROWDED);
        start_take_over(roster, policy, process, start, &given);
        if (!given.set)
                start_recall(roster, process, handle, &given);
        r = add_process(roster, policy, process, handle, &given);
        if (r < 0)
                start->cpus = given; /* for start_end(): `handle` may be closed */
        return r;
}

/* A process lives as long as any of its threads. When its first thread has ended it shows no
 * executable, but is still the same process. */
static bool lives_on_without_its_first_thread(const Roster *roster, pid_t pid) {
        char exe[PATH_MAX];
        size_t index;
        const Instance *instance = roster_find_pid(roster, pid, &index);

        return instance &&
               proc_exe_read(&roster->host->sysroot, pid, exe, sizeof(exe)) == -ENOENT &&
               instance->members[index].handle->live &&
               proc_is_alive(instance->members[index].handle);
}

static void cannot_identify(Roster *roster, pid_t pid, int error) {
        static const JournalFields fields = { .repeats = true };

        if (!roster->identify_failed)
                journal_log(&roster->host->journal, LOG_WARNING, &fields,
                            "Process %d cannot be read: %s. Trying again at each scan; further "
                            "processes are not logged",
                            pid, strerror(-error));
        roster->identify_failed = true;
}

/* Once it was known to have its own memory, it has that until its next exec. */
static int is_vforked(Roster *roster, const ProcHandle *handle, const Process *process) {
        int r;

        if (process->forked_by == 0 || is_known(roster, process))
                return 0;
        r = worker_is_vforked(roster->host->workers, handle, process);
        return is_unanswered(roster, r) || r == -EHOSTDOWN ? -EBUSY : r > 0;
}

/* `*process` and `*handle` may be taken over. */
static int identified(Roster *roster, Process *process, ProcHandle *handle, Start *start) {
        int r;

        roster->identify_failed = false;
        scope_resolve(roster, process);
        r = is_vforked(roster, handle, process);
        if (r > 0)
                forget(roster, process->id.pid);
        return r != 0 ? 0 : sort_in(roster, process, handle, start);
}

/* `exe`: as it was just read; NULL: it was not. */
static int consider(Roster *roster, pid_t pid, const char *exe, Start *start) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 };
        int r = process_identify(&roster->host->sysroot, pid, exe, wants_exe, roster, &handle,
                                 &process);

        roster->n_considered++;
        switch (r) {
        case 0:
                return identified(roster, &process, &handle, start);
        case -ENOMEM:
                return r;
        case -ESRCH:
        case -EAGAIN:
        case -EACCES:
        case -EPERM:
                if (!lives_on_without_its_first_thread(roster, pid))
                        forget(roster, pid);
                return 0;
        case -EBUSY: /* in its exec, whose event will follow */
                return 0;
        default: /* no descriptor free, a file that cannot be read: the next scan tries again */
                cannot_identify(roster, pid, r);
                return 0;
        }
}

int identify_consider(Roster *roster, pid_t pid) {
        Start none = START_NONE;

        return consider(roster, pid, NULL, &none);
}

static void on_answer(const ProcessId *process, _unused_ WorkerJob job, void *userdata) {
        (void)identify_consider(userdata, process->pid);
}

void identify_start(Roster *roster) {
        static const WorkerJob asked[] = { WORKER_ARGS, WORKER_VFORK, WORKER_EXE };

        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                workers_on_answer(roster->host->workers, asked[i], on_answer, roster);
}

/* For most of them on a host this ends with one link read, and nothing allocated; for those that
 * have ended meanwhile with one file that cannot be opened. */
int identify_exec(Roster *roster, pid_t pid) {
        Start start = START_NONE;
        char exe[PATH_MAX];
        int r = proc_exe_read(&roster->host->sysroot, pid, exe, sizeof(exe));

        if (r == -ESRCH || (r >= 0 && !wants_exe(exe, roster))) {
                forget(roster, pid);
                return 0;
        }
        scan_list_forget(&roster->scan, pid);
        if (r >= 0)
                start_bind(roster, pid, exe, &start);
        r = consider(roster, pid, r < 0 ? NULL : exe, &start);
        start_end(roster, &start);
        return r;
}
