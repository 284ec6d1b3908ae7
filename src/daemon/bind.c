/* Steps that a backend carries out. When one is due, look.c decides. */
#include <string.h>

#include "tidbnumad/daemon/bind.h"
#include "tidbnumad/sys/clock.h"

/* systemd answers before it has written the cgroup files: so long a property may take to show. */
#define EFFECT_TIMEOUT_USEC (UINT64_C(15) * 1000 * 1000)

#define BACKOFF_MAX_USEC (UINT64_C(30) * 1000 * 1000)
#define REPAIRS_WINDOW_USEC (UINT64_C(60) * 1000 * 1000)

static BackendTarget target_of(const Instance *i) {
        return (BackendTarget){ .instance = i->first_name,
                                .unit = i->unit,
                                .handles = i->handles,
                                .processes = i->processes,
                                .n_processes = i->n_processes };
}

const char *bind_refuses(Instance *i) {
        const BackendTarget target = target_of(i);

        /* The dump of another machine is planned for as if that host could. */
        return i->manager->sysroot.live
                       ? backend_refuses(&i->manager->backend, &target, &i->placement)
                       : backend_refuses_unit(i->unit);
}

bool bind_cpus_given(const Instance *i) {
        for (size_t k = 0; k < i->n_processes; k++)
                if (!i->processes[k].cpus_given)
                        return false;
        return true;
}

void bind_begin_anew(Instance *i) {
        for (size_t k = 0; k < i->n_processes; k++)
                i->processes[k].cpus_given = false;
        i->cpus_stood = false;
        i->n_repairs = 0;
}

unsigned bind_repairs(const Instance *i, uint64_t now_usec) {
        return now_usec < i->repairs_end_usec ? i->n_repairs : 0;
}

static void count_repair(Instance *i, uint64_t now_usec) {
        i->n_repairs = bind_repairs(i, now_usec) + 1;
        if (i->n_repairs == 1)
                i->repairs_end_usec = now_usec + REPAIRS_WINDOW_USEC;
        /* The minute of leaving it alone begins with the last one. */
        if (i->n_repairs == STEP_REPAIRS_MAX)
                i->repairs_end_usec = now_usec + REPAIRS_WINDOW_USEC;
}

static uint64_t backoff_usec(unsigned failures) {
        uint64_t usec = UINT64_C(1000000) << (failures < 5 ? failures : 5);

        return usec < BACKOFF_MAX_USEC ? usec : BACKOFF_MAX_USEC;
}

static void failed(Instance *i, int error, const char *message) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };
        const char *what = i->call_kind == STEP_SET_CPUS ? "CPUs" : "memory nodes";

        instance_set_failure(i, "%s did not set the %s: %s%s%s; trying again",
                             backend_name(&i->manager->backend), what, strerror(-error),
                             *message ? ": " : "", message);
        if (i->progress.call_failures == 0)
                journal_log(&i->manager->journal, LOG_WARNING, &fields, "%s: %s", i->name,
                            i->failure ? i->failure : strerror(-error));
        i->due_usec = clock_monotonic_usec() + backoff_usec(i->progress.call_failures++);
        i->bind_failures++;
        i->manager->policy_counters[i->policy_index].bind_failures++;
        i->effect_deadline_usec = 0;
        manager_publish_soon(i->manager);
}

static void succeeded(Instance *i) {
        Progress *p = &i->progress;

        p->call_failures = 0;
        if (i->call_kind == STEP_SET_CPUS) {
                p->cpu_writes++;
                for (size_t k = 0; k < i->n_processes; k++)
                        i->processes[k].cpus_given = true;
                return;
        }
        p->mem_writes++;
        i->we_narrowed |= i->call_kind == STEP_NARROW;
        /* What passes did before says nothing about what they will do now. */
        p->passes = p->sweeps = p->settles = 0;
}

static void on_reply(int error, const char *message, void *userdata) {
        Instance *i = userdata;
        uint64_t now = clock_monotonic_usec();

        i->call = sd_bus_slot_unref(i->call);
        if (error < 0)
                failed(i, error, message);
        else {
                succeeded(i);
                i->due_usec = now;
                i->effect_deadline_usec = now + EFFECT_TIMEOUT_USEC;
        }
        manager_schedule(i->manager);
}

static void tell_strangers(Instance *i, uint64_t before) {
        const JournalFields fields = { .instance = i->name, .policy = i->policy->name };

        if (i->manager->backend.n_strangers > before)
                journal_log(&i->manager->journal, LOG_WARNING, &fields,
                            "%s: the number of a thread of it was given to another process while "
                            "it was bound; that one has its own CPUs back (%llu such cases so far)",
                            i->name, (unsigned long long)i->manager->backend.n_strangers);
}

static int ask(Instance *i, const Step *step) {
        Backend *backend = &i->manager->backend;
        const BackendTarget target = target_of(i);
        const uint64_t strangers = backend->n_strangers;
        int r;

        if (step->kind == STEP_SET_CPUS)
                r = backend->ops->set_cpus(backend, &target, &i->placement.cpus, on_reply, i,
                                           &i->call);
        else if (backend->ops->set_mems)
                r = backend->ops->set_mems(backend, &target, &step->mems, on_reply, i, &i->call);
        else
                r = -EOPNOTSUPP;
        tell_strangers(i, strangers);
        return r;
}

bool bind_carry_out(Instance *i, const Step *step, uint64_t now_usec) {
        int r;

        if (step->kind == STEP_SET_CPUS && i->cpus_stood) {
                i->cpus_stood = false;
                count_repair(i, now_usec);
        }
        i->call_kind = step->kind;
        i->effect_deadline_usec = 0;
        i->bind_attempts++;
        i->manager->policy_counters[i->policy_index].bind_attempts++;
        i->due_usec = INSTANCE_NEVER;
        r = ask(i, step);
        if (r < 0 && r != -ESRCH) /* of one that has ended, the exit event is on its way */
                failed(i, r, "");
        if (r <= 0)
                return false;
        succeeded(i);
        return true;
}

int bind_open_cpuset(Instance *i, int *ret_fd, char **ret_path) {
        const BackendTarget target = target_of(i);

        return backend_cgroup1_open(&i->manager->backend, &target, ret_fd, ret_path);
}

void bind_tidy(Manager *m) {
        if (m->backend.ops && m->backend.ops->tidy && manager_enforces(m))
                m->backend.ops->tidy(&m->backend);
}

void bind_choose_backend(Manager *m) {
        const char *before = backend_name(&m->backend);

        if (!backend_choose(&m->backend, m->policies.backend))
                return;
        if (m->n_instances > 0)
                journal_log(&m->journal, LOG_NOTICE, NULL,
                            "Processes are bound by another backend from now on: %s, not %s. What "
                            "%s did stays as it is",
                            backend_name(&m->backend), before, before);
        for (size_t k = 0; k < m->n_instances; k++) {
                Instance *i = m->instances[k];

                i->call = sd_bus_slot_unref(i->call);
                i->due_usec = clock_monotonic_usec();
                bind_begin_anew(i);
        }
}
