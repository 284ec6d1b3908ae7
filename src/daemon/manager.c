/* The daemon: what it owns, and the sources of its loop. */
#include <string.h>

#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/control.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/registry/start.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"

/* The timer may fire this much later, together with other timers. */
#define WORK_ACCURACY_USEC UINT64_C(1000)

int manager_new(const Args *args, Manager **ret) {
        _cleanup_(manager_freep) Manager *m = calloc(1, sizeof(*m));
        int r;

        if (!m)
                return -ENOMEM;
        registry_init(&m->registry, &m->host, &m->undo.records);
        m->sampling = (Sampling){ .host = &m->host, .registry = &m->registry };
        m->undo.host = &m->host;
        m->undo.registry = &m->registry;
        m->placing = (Placing){ .host = &m->host,
                                .registry = &m->registry,
                                .sampling = &m->sampling,
                                .undo = &m->undo };
        m->units = (Units){
                .host = &m->host, .registry = &m->registry, .undo = &m->undo, .placing = &m->placing
        };
        m->binding = (Binder){ .host = &m->host,
                               .registry = &m->registry,
                               .sampling = &m->sampling,
                               .undo = &m->undo,
                               .placing = &m->placing,
                               .units = &m->units,
                               .drift_fd = -EBADF };
        m->report = (Report){ .host = &m->host,
                              .registry = &m->registry,
                              .sampling = &m->sampling,
                              .undo = &m->undo,
                              .units = &m->units,
                              .binding = &m->binding,
                              .irq = &m->irq };
        undo_init(&m->undo.records, &m->host.sysroot);
        r = host_open(&m->host, args);
        if (r < 0)
                return r;
        m->placing.left_bytes = calloc(m->host.topology.n_nodes, sizeof(uint64_t));
        if (!m->placing.left_bytes)
                return -ENOMEM;
        *ret = TAKE_PTR(m);
        return 0;
}

Manager *manager_free(Manager *m) {
        if (!m)
                return NULL;
        REGISTRY_FOREACH(i, &m->registry)
        manager_free_instance(i);
        for (Instance *i; (i = registry_take_ended(&m->registry));)
                manager_free_instance(i);
        guard_stop(&m->binding);
        drift_stop(&m->binding);
        m->control = control_free(m->control);
        m->irq = irq_free(m->irq);
        units_done(&m->units);
        undo_release_done(&m->undo);
        undo_admin_end(&m->undo);
        undo_done(&m->undo.records);
        sd_event_source_unref(m->binding.work_timer);
        sampling_done(&m->sampling);
        registry_done(&m->registry);
        sd_event_source_unref(m->placing.timer);
        free(m->placing.left_bytes);
        huge_pools_done(&m->placing.pools);
        free(m->placing.units);
        hotplug_done(&m->host);
        report_done(&m->report);
        host_close(&m->host);
        free(m);
        return NULL;
}

static int on_work(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Manager *m = userdata;

        manager_dispatch(m);
        reconcile_due(&m->binding, clock_monotonic_usec());
        return 0;
}

static int on_plan(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Manager *m = userdata;

        place_refresh(&m->placing);
        units_follow_plan(&m->units);
        return 0;
}

static int on_publish(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void)publish_now(&m->report);
        /* A round of sampling publishes as well. With hundreds of instances it may take minutes. */
        return event_source_arm_after(source, m->host.policies.sampling_interval_usec * 3 / 2);
}

/* Who reads what is published judges its age by that clock. */
static int on_clock_set(_unused_ sd_event_source *source, int fd, _unused_ uint32_t events,
                        void *userdata) {
        Manager *m = userdata;

        event_clock_set_read(fd);
        (void)publish_now(&m->report);
        return 0;
}

static int on_sample(sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        const uint64_t now = clock_monotonic_usec();
        Manager *m = userdata;

        control_keep(m->control);
        reconcile_all(&m->binding, now);
        if (sampling_is_due(&m->sampling, now))
                sampling_begin_round(&m->sampling, now);
        return event_source_arm_after(source, binding_interval_usec(&m->binding));
}

static int on_hup(_unused_ sd_event_source *source, _unused_ const struct signalfd_siginfo *info,
                  void *userdata) {
        manager_reload(userdata);
        return 0;
}

static int on_term(sd_event_source *source, _unused_ const struct signalfd_siginfo *info,
                   void *userdata) {
        Manager *m = userdata;
        bool waits;

        notify_state(&m->host.notifier, "STOPPING=1");
        if (m->host.stopping) { /* a second signal waits for no release */
                undo_release_end_stop(&m->undo);
                return irq_is_stopping(m->irq)
                               ? 0
                               : sd_event_exit(sd_event_source_get_event(source), 0);
        }
        m->host.ready = false;
        start_announce(&m->registry, NULL, 0);
        limit_lift_all(&m->binding);
        waits = irq_stop(m->irq, m->host.policies.on_stop == ON_STOP_RESTORE);
        if (undo_release_before_stop(&m->undo)) {
                (void)undo_announce_starts(&m->undo, NULL, 0);
                REGISTRY_FOREACH(i, &m->registry) /* ends all moves */
                instance_queue(i, WORK_REQUEST);
                journal_log(&m->host.journal, LOG_INFO, NULL,
                            "Stopping; releasing all bindings first (%zu records)",
                            m->undo.records.n_records);
                return 0;
        }
        journal_log(&m->host.journal, LOG_INFO, NULL,
                    "Stopping; bindings are kept (%zu instance%s)", m->registry.n_instances,
                    m->registry.n_instances == 1 ? "" : "s");
        if (waits) {
                m->host.stopping = true;
                return 0;
        }
        (void)publish_now(&m->report);
        return sd_event_exit(sd_event_source_get_event(source), 0);
}

int manager_start(Manager *m) {
        sd_event *event = m->host.event;
        int r;

        requested_read(&m->host);
        r = manager_load_policies(m);
        if (r >= 0)
                r = undo_start(&m->undo);
        if (r >= 0)
                r = manager_adopt(m);
        if (r < 0)
                return r;
        r = event_source_add_after(event, &m->sampling.timer, binding_interval_usec(&m->binding),
                                   on_sample, m);
        if (r >= 0)
                r = sampling_start(&m->sampling);
        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGHUP, on_hup, m);
        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGTERM, on_term, m);
        if (r >= 0)
                r = sd_event_add_signal(event, NULL, SIGINT, on_term, m);
        if (r >= 0)
                r = undo_release_start(&m->undo);
        if (r >= 0)
                r = event_source_add_off(event, &m->binding.work_timer, WORK_ACCURACY_USEC, on_work,
                                         m);
        if (r >= 0)
                r = event_source_add_off(event, &m->placing.timer, 0, on_plan, m);
        if (r >= 0)
                r = event_source_add_off(event, &m->report.timer, 0, on_publish, m);
        if (r >= 0)
                r = event_source_add_clock_set(event, &m->report.clock_set, on_clock_set, m);
        /* As new processes: thousands that start one after the other must not delay it. */
        if (r >= 0)
                r = sd_event_source_set_priority(m->report.timer, SD_EVENT_PRIORITY_IMPORTANT);
        if (r < 0)
                return r;
        if (m->host.sysroot.live)
                drift_start(&m->binding);
        r = hotplug_start(&m->host);
        if (r >= 0)
                r = guard_start(&m->binding);
        if (r < 0)
                return r;
        r = watch_start(&m->registry);
        if (r < 0)
                return r;
        manager_dispatch(m);
        r = describe_all(&m->registry);
        manager_dispatch(m);
        if (r >= 0 && !m->host.args->once)
                r = describe_start(&m->registry);
        if (r < 0)
                return r;
        reconcile_due(&m->binding, clock_monotonic_usec());
        manager_run_pass(m);
        undo_release_check_all(&m->undo);
        r = units_start(&m->units);
        if (r >= 0)
                r = control_start(m, &m->control);
        m->start_waits = r >= 0 && m->units.starting;
        return r < 0 || m->start_waits ? r : manager_finish_start(m);
}
