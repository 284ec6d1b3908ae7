/* Handles processes that block a worker. */
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

/* A process that has not answered after this time is reported. */
#define AGAIN_USEC (UINT64_C(200) * 1000)

static const Reason reasons[N_WORKER_WAITS] = {
        [WORKER_WAIT_FILES] = REASON_FILES_SILENT,
        [WORKER_WAIT_MEMORY] = REASON_MEMORY_SILENT,
};

static void on_hung(const ProcessId *process, WorkerJob job, void *userdata) {
        Binder *b = userdata;
        const Reason reason = reasons[worker_jobs[job].wait];
        size_t index;
        Instance *i = registry_find_pid(b->registry, process->pid, &index);
        const JournalFields fields = { .instance = i ? i->name : NULL,
                                       .policy = i ? i->policy->name : NULL,
                                       .reason = reason,
                                       .repeats = true };

        if (worker_jobs[job].wait == WORKER_WAIT_NAMES) {
                journal_log(&b->host->journal, LOG_WARNING, NULL,
                            "The name service of this host does not answer (%u s); a user that is "
                            "not in /etc/passwd is not known until it does. Write such a user as a "
                            "number",
                            (unsigned)(worker_jobs[WORKER_USER].deadline_usec / 1000000));
                return;
        }
        if (worker_jobs[job].wait == WORKER_WAIT_GROUPS) {
                journal_log(&b->host->journal, LOG_WARNING, NULL,
                            "The kernel does not make or remove control groups (%u s): another "
                            "process holds their lock. What is in their control groups already "
                            "stays as it is; other processes are bound when the lock is free. Look "
                            "for tasks in state D: ps -eo pid,stat,wchan:30,comm",
                            (unsigned)(worker_jobs[WORKER_MAKE_GROUP].deadline_usec / 1000000));
                return;
        }
        journal_log(&b->host->journal, LOG_WARNING, &fields,
                    "process %d%s%s: %s (%s, %u s). It is not asked again as long as it runs this "
                    "program; %s",
                    process->pid, i ? " of " : "", i ? i->name : "", reason_to_sentence(reason),
                    worker_jobs[job].name, (unsigned)(worker_jobs[job].deadline_usec / 1000000),
                    reason_to_remedy(reason));
        if (i)
                (void)unresponsive_set_failure(b, i);
        host_queue(b->host, HOST_WORK_PUBLISH);
}

/* Each instance that waits looks whether it is its own, or whether a move can be made now. */
static void on_answer(const ProcessId *process, WorkerJob job, void *userdata) {
        const uint64_t now_usec = clock_monotonic_usec();
        Binder *b = userdata;
        size_t index;
        Instance *i =
                job == WORKER_HUGE ? registry_find_pid(b->registry, process->pid, &index) : NULL;

        if (i)
                (void)binding_enter(b, i, EVENT_WORKER, now_usec);
        REGISTRY_FOREACH(waits, b->registry) {
                if (waits->binding.at_worker)
                        (void)binding_enter(b, waits, EVENT_WORKER, now_usec);
                waits->binding.at_worker = false;
        }
}

/* The effect in the kernel counts, whether or not the worker has returned. */
static int write_mems(const BackendTarget *target, int group_fd, const NodeSet *mems, bool widen,
                      void *userdata) {
        Binder *b = userdata;
        NodeSet now;
        int r = worker_write_mems(b->host->workers, target->members[0].handle, group_fd, mems,
                                  widen);

        if (r == -ECHILD)
                return -ENOMEM;
        if (r != -ETIME && r != -EBUSY && r != -EHOSTDOWN)
                return r;
        if (widen && cgroup_effective_mems_read(group_fd, &now) >= 0 &&
            id_set_is_subset(mems, &now))
                return -EINPROGRESS;
        return -ETIME;
}

static int as_error_of_writer(int r) {
        return r == -ECHILD                                    ? -ENOMEM
               : r == -ETIME || r == -EBUSY || r == -EHOSTDOWN ? -ETIMEDOUT
                                                               : r;
}

static int write_group(const ProcHandle *process, int group_fd, const char *file, const char *text,
                       void *userdata) {
        const Binder *b = userdata;

        return as_error_of_writer(
                worker_write_group(b->host->workers, process, group_fd, file, text));
}

static int make_group(const ProcHandle *process, const char *instance, void *userdata) {
        const Binder *b = userdata;
        Workers *workers = b->host->workers;

        return as_error_of_writer(process ? worker_make_group(workers, process, instance)
                                          : worker_remove_groups(workers, &b->host->sysroot));
}

static int join_group(const Member *member, const char *instance, const CpuSet *cpus,
                      void *userdata) {
        const Binder *b = userdata;
        int r = worker_join_group(b->host->workers, member, instance, cpus);

        return r >= 0 ? -EALREADY : r == -EAGAIN ? r : as_error_of_writer(r);
}

static void on_joined(const ProcessId *process, _unused_ WorkerJob job, void *userdata) {
        Binder *b = userdata;
        Backend *backend = &b->host->backend;
        const uint64_t reuses = backend->n_pid_reuses;
        size_t index;
        Instance *i = registry_find_pid(b->registry, process->pid, &index);
        int refused, r;

        r = worker_take_joined(b->host->workers, process, &backend->n_pid_reuses, &refused);
        backend_note_refusal(backend, refused);
        /* Else a write that was given up has come back; or our process has ended, and its number is
         * another's. */
        if (i && r != -ENODATA && process_id_equal(&i->members[index].process.id, process))
                bind_joined(b, i, as_error_of_writer(r), reuses);
        bind_join_next(b);
}

int unresponsive_start(Binder *b, const char *program) {
        static const WorkerJob asked[] = { WORKER_PROBE, WORKER_HUGE, WORKER_MOVE, WORKER_SWEEP,
                                           WORKER_ONCE };
        int r = workers_new(program, b->host->event, on_hung, b, &b->host->workers);

        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(asked); i++)
                workers_on_answer(b->host->workers, asked[i], on_answer, b);
        workers_on_answer(b->host->workers, WORKER_GROUP, on_joined, b);
        b->host->backend.write_mems = write_mems;
        b->host->backend.write_group = write_group;
        b->host->backend.make_group = make_group;
        b->host->backend.join_group = join_group;
        b->host->backend.write_userdata = b;
        return 0;
}

/* A blocked memory map is the more important reason. */
bool unresponsive_set_failure(const Binder *b, Instance *i) {
        for (int wait = N_WORKER_WAITS - 1; wait >= 0; wait--)
                for (size_t k = 0; k < i->n_members; k++) {
                        if (!workers_is_hung(b->host->workers, &i->members[k].process.id,
                                             (WorkerWait)wait))
                                continue;
                        binding_set_failure(i, reasons[wait], "%s; %s",
                                            reason_to_sentence(reasons[wait]),
                                            reason_to_remedy(reasons[wait]));
                        return true;
                }
        return false;
}

bool unresponsive_refuses(const Binder *b, Instance *i, uint64_t now_usec) {
        const Members members = facts_members(&i->facts, &b->host->sysroot);
        bool again;
        int r;

        if (instance_backend(i, &b->host->backend) == BACKEND_AFFINITY)
                return false;
        if (bind_awaits_group(b, i, now_usec))
                return true;
        r = worker_probe_members(b->host->workers, &members);
        again = i->binding.at_worker;
        i->binding.at_worker = r == -EAGAIN;
        if (r >= 0)
                return false;
        i->binding.due_usec = r == -EHOSTDOWN ? INSTANCE_NEVER : now_usec + AGAIN_USEC;
        if (r == -EBUSY || (r == -EAGAIN && !again)) /* it was not asked, or only just now */
                return true;
        binding_set_failure(i, REASON_MEMORY_SILENT, "%s, so nothing is changed; %s",
                            reason_to_sentence(REASON_MEMORY_SILENT),
                            reason_to_remedy(REASON_MEMORY_SILENT));
        host_queue(b->host, HOST_WORK_PUBLISH);
        return true;
}
