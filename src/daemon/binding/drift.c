/* Drift: how it is noticed and counted; plan/step.c decides what to do about it.
 *
 * Like any file system, cgroupfs reports writes through the VFS by inotify(7). It does not report
 * changes by the kernel itself or writes to a parent group. */

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WINDOW_USEC (UINT64_C(60) * 1000 * 1000)

/* A repair this long before the end of a daemon-reload was one of its effects. */
#define RELOAD_USEC (UINT64_C(2) * 1000 * 1000)

static const char *const FILES[] = { "cpuset.cpus", "cpuset.mems" };

/* --- noticing --- */

static void drift_look(const Binder *b, Instance *i, uint64_t now_usec) {
        /* What may not be repaired is read all the same: a release is to give it back. */
        if (i->binding.means.method == METHOD_UNIT && i->undo.record && !binding_may_change(b, i))
                undo_admin_read(b->undo, i->undo.record);
        /* After the last repair: one more look, which finds the conflict, and then none until the
         * minute is over. */
        if (i->binding.step.code != REASON_CONTESTED ||
            (drift_repairs(&i->binding.cpus_drift, now_usec) < STEP_REPAIRS_MAX &&
             drift_repairs(&i->binding.mems_drift, now_usec) < STEP_REPAIRS_MAX))
                (void)binding_enter(b, i, EVENT_DRIFT, now_usec);
}

void drift_note_events(Binder *b, const char *events, size_t size, uint64_t now_usec) {
        struct inotify_event event;

        for (size_t at = 0; at + sizeof(event) <= size; at += sizeof(event) + event.len) {
                Instance *its = NULL;

                memcpy(&event, events + at, sizeof(event));
                if (event.mask & IN_Q_OVERFLOW) { /* it is unknown whose events were lost */
                        REGISTRY_FOREACH(i, b->registry)
                        drift_look(b, i, now_usec);
                }
                REGISTRY_FOREACH(i, b->registry)
                for (size_t n = 0; n < ELEMENTSOF(FILES); n++)
                        if (!its && event.wd >= 0 && i->binding.drift_watches[n] == event.wd)
                                its = i;
                if (!its)
                        continue;
                if (!(event.mask & IN_IGNORED)) {
                        drift_look(b, its, now_usec);
                        continue;
                }
                for (size_t n = 0; n < ELEMENTSOF(FILES); n++) /* the group is gone */
                        if (its->binding.drift_watches[n] == event.wd)
                                its->binding.drift_watches[n] = -1;
        }
}

static int on_events(_unused_ sd_event_source *source, int fd, _unused_ uint32_t revents,
                     void *userdata) {
        Binder *b = userdata;
        char buffer[4096];
        ssize_t n = read(fd, buffer, sizeof(buffer));

        if (n > 0)
                drift_note_events(b, buffer, (size_t)n, clock_monotonic_usec());
        return 0;
}

void drift_start(Binder *b) {
        b->drift_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (b->drift_fd >= 0 && sd_event_add_io(b->host->event, &b->drift_source, b->drift_fd,
                                                EPOLLIN, on_events, b) < 0)
                closep(&b->drift_fd);
}

void drift_stop(Binder *b) {
        sd_event_source_unref(b->drift_source);
        closep(&b->drift_fd);
}

void drift_watch(const Binder *b, Instance *i, int cpuset_fd) {
        if (b->drift_fd < 0 || cpuset_fd < 0)
                return;
        for (size_t n = 0; n < ELEMENTSOF(FILES); n++) {
                int *known = &i->binding.drift_watches[n], watch;
                char path[64 + NAME_MAX];

                (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", cpuset_fd, FILES[n]);
                watch = inotify_add_watch(b->drift_fd, path, IN_MODIFY);
                /* A watch number may have been reused, so another instance may still have it. */
                if (*known >= 0 && *known != watch)
                        (void)inotify_rm_watch(b->drift_fd, *known);
                *known = watch;
        }
}

/* --- counting --- */

unsigned drift_repairs(const Drift *drift, uint64_t now_usec) {
        return now_usec < drift->end_usec ? drift->n_repairs : 0;
}

void drift_note(Instance *i, StepInput *in) {
        i->binding.cpus_drift.in_force |=
                step_cpus_in_force(in->backend, in->binding, in->placement);
        /* What is to be in force changes with the nodes that have memory. */
        if (!id_set_equal(&i->binding.all_nodes, &in->all_nodes))
                i->binding.mems_drift.in_force = false;
        i->binding.all_nodes = in->all_nodes;
        i->binding.mems_drift.in_force |= step_mems_in_force(in);
        if (i->binding.cpus_drift.in_force)
                in->cpu_writes = i->binding.progress.cpu_writes = 0;
        if (i->binding.mems_drift.in_force)
                in->mem_writes = i->binding.progress.mem_writes = 0;
}

void drift_note_reload(const Binder *b, Instance *i, uint64_t now_usec) {
        Drift *drifts[] = { &i->binding.cpus_drift, &i->binding.mems_drift };

        if (i->binding.means.method != METHOD_UNIT)
                return;
        /* Repaired before the signal came. */
        for (size_t k = 0; k < ELEMENTSOF(drifts); k++)
                if (drifts[k]->n_repairs > 0 && now_usec < drifts[k]->last_usec + RELOAD_USEC)
                        drifts[k]->n_repairs--;
        drift_look(b, i, now_usec);
}

static void drift_repair(const Binder *b, Instance *i, DriftKind kind, IdView ours,
                         uint64_t now_usec) {
        const JournalFields fields = INSTANCE_FIELDS(i, .message_id = JOURNAL_DRIFT);
        const bool mems = kind == DRIFT_MEMS;
        Drift *drift = mems ? &i->binding.mems_drift : &i->binding.cpus_drift;
        const char *ours_list = id_view_list(ours, (char[ID_SET_LIST_MAX]){ 0 });

        if (i->binding.means.method == METHOD_UNIT && i->undo.record)
                undo_admin_read(b->undo, i->undo.record);
        /* A daemon-reload puts in force what a unit file sets, before what was set at run time.
         * That is no contest: it is repaired as often as it happens. */
        if (now_usec < b->host->units_reload_usec && i->binding.means.method == METHOD_UNIT)
                return;
        drift->last_usec = now_usec;
        drift->n_repairs = drift_repairs(drift, now_usec) + 1;
        /* The minute of back-off begins with the last repair. */
        if (drift->n_repairs == 1 || drift->n_repairs == STEP_REPAIRS_MAX)
                drift->end_usec = now_usec + WINDOW_USEC;
        b->host->policy_counters[i->policy_index].drift_repairs[kind]++;
        if (kind == DRIFT_THREADS)
                journal_log(&b->host->journal, LOG_NOTICE, &fields,
                            "%s: something else let %zu of its %zu threads run outside CPUs %s; "
                            "restored",
                            i->name, i->binding.observed.n_threads_outside,
                            i->binding.observed.n_threads, ours_list);
        else
                journal_log(&b->host->journal, LOG_NOTICE, &fields,
                            "%s: something else changed its %s to %s instead of %s; restored",
                            i->name, mems ? "memory nodes" : "CPUs",
                            mems ? id_set_list(&i->binding.observed.mems)
                                 : id_set_list(&i->binding.observed.cpus),
                            ours_list);
}

void drift_count(const Binder *b, Instance *i, const Step *step, uint64_t now_usec) {
        const BackendKind backend = instance_backend(i, &b->host->backend);

        if (step->kind == STEP_SET_CPUS) {
                /* Where each process is bound individually, a new process without its CPUs is not
                 * drift. */
                if (i->binding.cpus_drift.in_force &&
                    (backend == BACKEND_SYSTEMD || binding_cpus_applied(i)))
                        drift_repair(b, i, backend == BACKEND_AFFINITY ? DRIFT_THREADS : DRIFT_CPUS,
                                     ID_VIEW(&i->binding.placement.cpus), now_usec);
                i->binding.cpus_drift.in_force = false;
                return;
        }
        if (i->binding.mems_drift.in_force)
                drift_repair(b, i, DRIFT_MEMS, ID_VIEW(&step->mems), now_usec);
        i->binding.mems_drift.in_force = false;
}
