/* A pass of the loop: what an event has changed in one module is carried through the others. */
#include "config.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/registry/start.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"

/* Changes within this time are published together. */
#define PUBLISH_DELAY_USEC (UINT64_C(100) * 1000)

/* Instances that start within this time are planned together. */
#define PLAN_DELAY_USEC (UINT64_C(50) * 1000)

/* Arms the timer unless it fires earlier already. */
static void arm_by(sd_event_source *timer, uint64_t delay_usec) {
        const uint64_t due = clock_monotonic_usec() + delay_usec;
        uint64_t before = 0;

        (void)sd_event_source_get_time(timer, &before);
        if (!event_source_is_armed(timer) || due < before)
                (void)event_source_arm(timer, due);
}

/* The policies, the CPUs of the host or what is enforced have changed: which CPUs processes are
 * given at their exec, see registry/start.h. */
static void manager_announce_starts(Manager *m) {
        const Host *h = &m->host;
        const PolicySet *policies = &h->policies;
        const bool gives_cpus =
                h->ready && host_enforces(h) && backend_sets_threads(backend_kind(&h->backend)) &&
                !requests_release_any(&h->requests); /* an instance has no name yet */
        CpuSet *cpus = gives_cpus ? calloc(policies->n_policies + 1, sizeof(*cpus)) : NULL;

        for (size_t i = 0; cpus && i < policies->n_policies; i++)
                (void)place_start_cpus(&m->placing, &policies->policies[i], &cpus[i]);
        if (undo_announce_starts(&m->undo, cpus, policies->n_policies) < 0) {
                free(cpus);
                cpus = NULL;
        }
        start_announce(&m->registry, cpus, policies->n_policies);
}

/* Puts policies in force in every module, by `take_over`: load_take_over() or load_adopt().
 * Afterwards `fresh` contains the former ones, to which instances refer until they are matched
 * again. */
static int manager_put_in_force(Manager *m, PolicySet *fresh,
                                int (*take_over)(Host *, PolicySet *)) {
        int r;

        place_note_policies(&m->placing, fresh);
        r = take_over(&m->host, fresh);
        if (r < 0)
                return r;
        access_choose(&m->sampling);
        (void)bind_choose_backend(&m->binding);
        manager_announce_starts(m);
        return 0;
}

int manager_adopt(Manager *m) {
        _cleanup_policy_set_ PolicySet adopted = { 0 };
        int r = m->host.policies_known ? 0 : undo_make_policies(&m->undo, &adopted);

        if (m->host.policies_known || r < 0)
                return r;
        r = load_add_watched(&adopted);
        if (r >= 0)
                r = manager_put_in_force(m, &adopted, load_adopt);
        if (r >= 0 && m->registry.scan_timer)
                r = watch_rematch(&m->registry);
        manager_dispatch(m); /* instances refer to the former policies until now */
        return r;
}

/* Tries to open the undo records that could not be opened at the start, and uses them. At each
 * reload and scan. */
static void manager_retry_records(Manager *m) {
        if (!undo_start_late(&m->undo))
                return;
        if (manager_adopt(m) < 0)
                journal_log(&m->host.journal, LOG_ERR, NULL, "Bindings cannot be adopted: %s",
                            strerror(ENOMEM));
        irq_reconcile(m->irq);
        undo_release_check_all(&m->undo);
        manager_announce_starts(m);
}

Instance *manager_free_instance(Instance *i) {
        binding_end(i);
        place_end(i);
        sample_end(i);
        undo_end(i);
        return instance_free(i);
}

void manager_dispatch(Manager *m) {
        const uint64_t now = clock_monotonic_usec();

        for (Instance *i; (i = registry_take_ended(&m->registry));) {
                undo_release_note_left(&m->undo, i);
                access_end(&m->sampling, i);
                manager_free_instance(i);
        }
        REGISTRY_FOREACH(i, &m->registry) {
                uint32_t work = instance_take(i, WORK_DISPATCHED);

                if (!work)
                        continue;
                /* From the lowest module up. */
                if (work & WORK_LEFT)
                        undo_release_note_left(&m->undo, i);
                if (work & (WORK_JOINED | WORK_LEFT))
                        undo_adopt(&m->undo, i);
                if (work & WORK_STORAGE)
                        place_note_devices(&m->placing, i);
                work |= instance_take(i, WORK_RECORD); /* by undo, just now */
                binding_work(&m->binding, i, work, now);
        }
}

/* What systemctl status shows. ERRNO= is the only mark of a running unit that systemd shows beside
 * a text: a start that fails, or an exit, would end what still watches the bindings. */
static void manager_notify(Manager *m, const char *prefix) {
        const Host *h = &m->host;
        const char *error = h->policy_errors.n_messages > 0 ? h->policy_errors.messages[0] : "";
        _cleanup_text_ Text text = { 0 };

        m->notified_error = m->report.error;
        if (m->report.error < 0)
                text_appendf(&text, "ERRNO=%d\nSTATUS=Cannot publish in %s: %s; ", -m->report.error,
                             h->args->runtime_dir, strerror(-m->report.error));
        else
                text_appendf(&text, "ERRNO=%d\nSTATUS=", h->policy_load_success ? 0 : EINVAL);
        if (h->policy_load_success)
                text_appendf(&text, "%zu policies, %zu nodes",
                             policy_set_count_written(&h->policies), h->topology.n_nodes);
        else
                text_appendf(&text, "%s: %s",
                             h->policies_kept    ? "Policies refused, those of before the start "
                                                   "are in force"
                             : h->policies_known ? "Policies refused, the previous ones stay in "
                                                   "force"
                                                 : "Policies refused, no policy is in force",
                             error);
        if (text.error == 0)
                notify_state(&m->host.notifier, "%s%s", prefix, text.data);
        else /* at least that it is ready */
                notify_state(&m->host.notifier, "%s", prefix);
}

int manager_load_policies(Manager *m) {
        _cleanup_policy_set_ PolicySet policies = { 0 };
        int r;

        r = load_policies(&m->host, &policies);
        if (r > 0)
                r = manager_put_in_force(m, &policies, load_take_over);
        if (r < 0)
                return r;
        /* Instances refer to the former policies until now. A reload may also come while the start
         * waits for units, after the first scan and before the daemon is ready. */
        r = m->registry.scan_timer ? watch_rematch(&m->registry) : 0;
        manager_dispatch(m);
        return r;
}

void manager_follow_requests(Manager *m, bool all) {
        manager_announce_starts(m);
        REGISTRY_FOREACH(i, &m->registry)
        if (all || requests_release(&m->host.requests, i->name, i->unit) != i->undo.released)
                instance_queue(i, WORK_REQUEST);
        host_lock_memory(&m->host);
        place_refresh(&m->placing);
        units_reload(&m->units);
        undo_release_check_all(&m->undo);
        sampling_forget_steady(&m->sampling);
        irq_reconcile(m->irq);
        manager_dispatch(m); /* what is published, or answered to the request, is true of it */
}

/* A trial has ended, and all is given back: what was requested before it counts again. Where the
 * mode is enforce that is so at once, and what was released before is released again. */
static bool trial_is_over(const Host *h, const Undoing *undo, const Interrupts *irq) {
        return h->requests.trial == TRIAL_REQUEST_ENDS && h->ready && !h->reloading &&
               (h->policies.mode == ENFORCEMENT_ENFORCE ||
                (undo->records.n_records == 0 && undo->releases.n == 0 &&
                 !(irq && irq->last_known && irq_is_asked_back(irq, &irq->last))));
}

int manager_reload(Manager *m) {
        int r;

        /* An answer that is late would release instances, for no policy would match them. */
        workers_end_passes(m->host.workers);
        if (m->host.ready)
                notify_state(&m->host.notifier, "RELOADING=1\nMONOTONIC_USEC=%llu",
                             (unsigned long long)clock_monotonic_usec());
        host_read_devices(&m->host);
        manager_retry_records(m);
        r = manager_load_policies(m);
        if (r < 0)
                journal_log(&m->host.journal, LOG_ERR, NULL, "Reloading failed: %s", strerror(-r));
        else if (m->host.requests.trial == TRIAL_REQUEST_KEPT && m->host.policy_load_success) {
                /* The files decide again. With mode observe nothing would guard what is bound; what
                 * is paused stays as it is until it is loaded once more. */
                if (m->host.policies.mode == ENFORCEMENT_ENFORCE)
                        m->host.requests.trial = TRIAL_REQUEST_NONE;
                else if (!m->host.requests.paused) {
                        m->host.requests.trial = TRIAL_REQUEST_ENDS;
                        journal_log(&m->host.journal, LOG_NOTICE, NULL,
                                    "The policy files are loaded with mode observe: what the trial "
                                    "has bound is released");
                }
                (void)requested_write(&m->host);
        }
        m->host.reloading = true; /* this pass ends it, or one that ends the scan */
        return r;
}

int manager_finish_start(Manager *m) {
        const Host *h = &m->host;
        int r = irq_start(&m->host, &m->registry, &m->placing, &m->undo, &m->irq);

        if (r < 0)
                return r;
        m->start_waits = false;
        m->host.ready = true;
        manager_announce_starts(m);
        /* The failure is logged; a full /run must not prevent binding. */
        (void)publish_now(&m->report);
        if (h->args->once)
                return 0;
        host_lock_memory(&m->host);
        manager_notify(m, "READY=1\n");
        journal_log(&h->journal, LOG_INFO, NULL,
                    "tidbnumad %s: %zu nodes, %zu policies, %zu instances, backend %s%s%s%s%s%s",
                    TIDBNUMAD_VERSION, h->topology.n_nodes, policy_set_count_written(&h->policies),
                    m->registry.n_instances, backend_name(&h->backend),
                    host_enforces(h) ? "" : ", changing nothing",
                    h->backend.ops ? "" : "; nothing can be bound: ",
                    h->backend.ops ? "" : h->backend.why_not, h->backend.weaker ? "; " : "",
                    h->backend.weaker ? h->backend.weaker : "");
        return 0;
}

void manager_run_pass(Manager *m) {
        uint64_t work_due = INSTANCE_NEVER;

        manager_dispatch(m);
        if (m->host.reloading && !m->registry.scan_at_once) {
                /* All processes have been looked at by the new policies. */
                m->host.reloading = false;
                manager_follow_requests(m, false);
                /* What it changes, such as the end of mode observe, shows in what is published,
                 * before systemd is notified of its end. */
                reconcile_due(&m->binding, clock_monotonic_usec());
                (void)publish_now(&m->report);
                if (m->host.ready)
                        manager_notify(m, "READY=1\n");
        }
        if (host_take(&m->host, HOST_WORK_ROUND)) {
                /* A round of the scan begins: finds units that no signal reported, bound processes
                 * that belong to no instance, a backend that the host did not have, or that could
                 * not be read, at the reload, and undo records that could not be read before. */
                journal_tell_left_out(&m->host.journal);
                host_keep_lock(&m->host);
                manager_retry_records(m);
                if (undo_repair_records(&m->undo))
                        manager_announce_starts(m);
                if (!m->host.backend.ops) {
                        (void)bind_choose_backend(&m->binding);
                        manager_announce_starts(m);
                }
                units_scan(&m->units);
                place_look_for_room(&m->placing);
                undo_release_check_all(&m->undo);
        }
        if (host_take(&m->host, HOST_WORK_CARDS)) {
                host_read_devices(&m->host);
                place_note_cards(&m->placing);
        }
        if (host_take(&m->host, HOST_WORK_TOPOLOGY)) {
                place_note_topology(&m->placing);
                manager_announce_starts(m);
        }
        units_follow_event(&m->units);
        reconcile_first(&m->binding, clock_monotonic_usec());
        /* Reads the children of new members, which takes longer. */
        fork_filter_update(&m->registry);
        manager_dispatch(m);
        reconcile_first(&m->binding, clock_monotonic_usec());
        if (host_take(&m->host, HOST_WORK_OWNERS))
                irq_note_owners(m->irq);
        if (host_take(&m->host, HOST_WORK_TIDY))
                bind_tidy(&m->binding);
        if (m->host.ready)
                reconcile_log_found(&m->binding);
        if (trial_is_over(&m->host, &m->undo, m->irq)) {
                m->host.requests.trial = TRIAL_REQUEST_NONE;
                /* Else a later daemon finds that nothing is left. */
                (void)requested_write(&m->host);
                manager_follow_requests(m, true);
        }
        REGISTRY_FOREACH(i, &m->registry) {
                if (i->binding.due_usec < work_due)
                        work_due = i->binding.due_usec;
                if (i->work & WORK_DISPATCHED) /* of what has run since the dispatch */
                        work_due = 0;
        }
        if (work_due == INSTANCE_NEVER)
                (void)sd_event_source_set_enabled(m->binding.work_timer, SD_EVENT_OFF);
        else
                (void)event_source_arm(m->binding.work_timer, work_due);
        /* What a scan still finds is planned together. */
        if ((m->host.queued & HOST_WORK_PLAN) && !m->registry.scan_at_once)
                arm_by(m->placing.timer, PLAN_DELAY_USEC);
        if (host_take(&m->host, HOST_WORK_PUBLISH))
                arm_by(m->report.timer, PUBLISH_DELAY_USEC);
        if (m->host.ready && m->report.error != m->notified_error)
                manager_notify(m, "");
        if (host_take(&m->host, HOST_WORK_EXIT) && !irq_is_stopping(m->irq) &&
            !undo_release_is_stopping(&m->undo)) {
                (void)publish_now(&m->report);
                (void)sd_event_exit(m->host.event, 0);
        }
}

/* Not a post source: for this, sd-event would query the kernel for events once more. */
int manager_next(Manager *m, uint64_t timeout_usec) {
        int code, r;

        workers_begin_pass(m->host.workers, m->host.ready || m->host.stopping);
        r = sd_event_run(m->host.event, timeout_usec);
        if (r <= 0 || host_take(&m->host, HOST_WORK_NONE) ||
            sd_event_get_exit_code(m->host.event, &code) >= 0)
                return r;
        manager_run_pass(m);
        r = m->start_waits && !m->units.starting ? manager_finish_start(m) : 0;
        return r < 0 ? sd_event_exit(m->host.event, r) : 0;
}
