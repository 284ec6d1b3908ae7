/* The daemon: what it owns, and the sources of its loop. */
#include <string.h>
#include <systemd/sd-daemon.h>

#include "tidbnumad/daemon/binding/drift.h"
#include "tidbnumad/daemon/binding/guard.h"
#include "tidbnumad/daemon/binding/look.h"
#include "tidbnumad/daemon/host/load.h"
#include "tidbnumad/daemon/host/runtime-dir.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/roster/describe.h"
#include "tidbnumad/daemon/roster/watch.h"
#include "tidbnumad/daemon/sampling/sample.h"
#include "tidbnumad/daemon/undo/record.h"
#include "tidbnumad/observe/devices-load.h"
#include "tidbnumad/observe/topology-load.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/sys/pages.h"
#include "tidbnumad/sys/self.h"

/* Changes within so long are published together. */
#define PUBLISH_DELAY_USEC (UINT64_C(100) * 1000)

/* The loop may wake so much later than asked, to wake together with others. */
#define WORK_ACCURACY_USEC UINT64_C(1000)

static int read_watermarks(Manager *m) {
        m->host.high_watermark_bytes = calloc(m->host.topology.n_nodes, sizeof(uint64_t));
        m->placing.left_bytes = calloc(m->host.topology.n_nodes, sizeof(uint64_t));
        if (!m->host.high_watermark_bytes || !m->placing.left_bytes)
                return -ENOMEM;
        for (size_t i = 0; i < m->host.topology.n_nodes; i++) {
                uint64_t pages;

                /* A node without memory has none, and a dump no zoneinfo: 2 % of the node then
                 * counts alone. */
                if (zoneinfo_high_read(&m->host.sysroot, m->host.topology.nodes[i].id, &pages) == 0)
                        m->host.high_watermark_bytes[i] = pages * page_size_bytes();
        }
        return 0;
}

static int fail(const Manager *m, int error, const char *what, const char *path, const char *hint) {
        journal_log(&m->host.journal, LOG_ERR, NULL, "%s %s: %s. %s", what, path, strerror(-error),
                    hint);
        return error;
}

/* Without them nothing can be near a device; everything else goes on. */
static void read_devices(Manager *m) {
        DeviceList devices = { 0 };
        int r = devices_load(&m->host.sysroot, &devices);

        if (r < 0) {
                journal_log(
                        &m->host.journal, LOG_WARNING, NULL,
                        "The network cards and disks cannot be read: %s. Nothing is placed near "
                        "them%s",
                        strerror(-r), m->host.devices.n_devices > 0 ? " anew" : "");
                return;
        }
        device_list_done(&m->host.devices);
        m->host.devices = devices;
        place_spoil(m);
}

static void log_topology_notes(Manager *m) {
        for (unsigned i = 0; i < TOPOLOGY_NOTES; i++) {
                _cleanup_text_ Text note = { 0 };

                topology_append_note(&m->host.topology, i, &note);
                if (note.length > 0 && note.error == 0)
                        journal_log(&m->host.journal, LOG_WARNING, NULL, "Topology: %s", note.data);
        }
}

static int read_machine(Manager *m) {
        const char *root = m->host.args->sysroot ? m->host.args->sysroot : "/";
        int r;

        r = sysroot_open(m->host.args->sysroot, &m->host.sysroot);
        if (r < 0)
                return fail(m, r, "Cannot open proc and sys below", root,
                            "--sysroot wants the folder that holds both");
        r = topology_load(&m->host.sysroot, &m->host.topology);
        if (r < 0)
                return fail(m, r, "Cannot read the topology below", root,
                            "Is sys/devices/system/node there?");
        log_topology_notes(m);
        read_devices(m);
        return read_watermarks(m);
}

int manager_new(const Args *args, Manager **ret) {
        _cleanup_(manager_freep) Manager *m = calloc(1, sizeof(*m));
        int r;

        if (!m)
                return -ENOMEM;
        m->host.args = args;
        m->host.sysroot = SYSROOT_NONE;
        undo_init(&m->undo.records, &m->host.sysroot);
        m->host.runtime_fd = m->host.lock_fd = m->roster.connector_fd = m->binding.drift_fd =
                -EBADF;
        journal_init(&m->host.journal, args->debug);
        policy_set_init(&m->host.policies);
        m->host.brakes = BRAKES_NONE;
        r = read_machine(m);
        if (r < 0)
                return r;
        if (args->runtime_dir) {
                r = runtime_dir_open(&m->host.journal, args->runtime_dir, &m->host.runtime_fd,
                                     &m->host.lock_fd);
                if (r < 0)
                        return r;
        }
        r = sd_event_default(&m->host.event);
        if (r < 0)
                return r;
        backend_init(&m->host.backend, &m->host.sysroot, m->host.event);
        m->host.backend.all_cpus = topology_cpus(&m->host.topology);
        m->host.backend.all_nodes = topology_memory_nodes(&m->host.topology);
        *ret = TAKE_PTR(m);
        return 0;
}

Manager *manager_free(Manager *m) {
        if (!m)
                return NULL;
        for (size_t i = 0; i < m->roster.n_instances; i++)
                instance_free(m->roster.instances[i]);
        free(m->roster.instances);
        guard_stop(m);
        drift_stop(m);
        hotplug_done(m);
        irq_done(m);
        strangers_done(&m->roster.strangers);
        pid_list_done(&m->roster.scan);
        units_done(m);
        release_done(m);
        undo_done(&m->undo.records);
        sd_event_source_unref(m->roster.connector_source);
        sd_event_source_unref(m->binding.work_timer);
        sd_event_source_unref(m->roster.scan_timer);
        sd_event_source_unref(m->roster.rescan_timer);
        sd_event_source_unref(m->sampling.timer);
        sd_event_source_unref(m->report.timer);
        sd_event_source_unref(m->sampling.rounds.source);
        sd_event_source_unref(m->roster.describe_timer);
        sd_event_source_unref(m->placing.source);
        backend_done(&m->host.backend);
        sd_event_unref(m->host.event);
        closep(&m->roster.connector_fd);
        closep(&m->host.runtime_fd);
        closep(&m->host.lock_fd);
        policy_set_done(&m->host.policies);
        brakes_done(&m->host.brakes);
        free(m->binding.policy_counters);
        diagnostics_done(&m->host.policy_errors);
        diagnostics_done(&m->host.policy_warnings);
        topology_done(&m->host.topology);
        device_list_done(&m->host.devices);
        free(m->host.high_watermark_bytes);
        free(m->placing.left_bytes);
        node_times_done(&m->report.node_times);
        sysroot_close(&m->host.sysroot);
        text_done(&m->report.metrics);
        free(m);
        return NULL;
}

bool manager_enforces(const Manager *m) {
        return m->host.sysroot.live && !m->host.args->dry_run &&
               m->host.policies.mode == ENFORCEMENT_ENFORCE && !m->undo.releases.stopping;
}

void manager_lock_memory(Manager *m) {
        int r;

        if (m->host.memory_lock_tried || !manager_enforces(m))
                return;
        m->host.memory_lock_tried = true;
        r = self_lock_memory();
        if (r < 0)
                journal_log(&m->host.journal, LOG_NOTICE, NULL,
                            "Its own memory could not be locked (%s): where the host runs out of "
                            "memory, a full node may be seen late. It needs LimitMEMLOCK=infinity",
                            strerror(-r));
}

static int arm(sd_event_source *timer, uint64_t usec) {
        int r = sd_event_source_set_time(timer, usec);

        return r < 0 ? r : sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

void manager_schedule(Manager *m) {
        uint64_t due = INSTANCE_NEVER;

        for (size_t i = 0; i < m->roster.n_instances; i++)
                if (m->roster.instances[i]->binding.due_usec < due)
                        due = m->roster.instances[i]->binding.due_usec;
        if (!m->binding.work_timer)
                return; /* not started yet */
        if (due == INSTANCE_NEVER)
                (void)sd_event_source_set_enabled(m->binding.work_timer, SD_EVENT_OFF);
        else
                (void)arm(m->binding.work_timer, due);
}

void manager_publish_soon(Manager *m) {
        int enabled = SD_EVENT_OFF;

        if (!m->report.timer)
                return;
        (void)sd_event_source_get_enabled(m->report.timer, &enabled);
        if (enabled == SD_EVENT_OFF)
                (void)arm(m->report.timer, clock_monotonic_usec() + PUBLISH_DELAY_USEC);
}

static int on_work(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void)source;
        (void)usec;
        look_at_due(m, clock_monotonic_usec());
        manager_schedule(m);
        return 0;
}

static int on_sample(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void)usec;
        look_at_all(m, clock_monotonic_usec());
        manager_schedule(m);
        sample_begin_round(m);
        return arm(source, clock_monotonic_usec() + sample_interval_usec(m));
}

static int on_publish(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        (void)publish_now(userdata);
        return 0;
}

static int on_hup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Manager *m = userdata;
        int r;

        (void)source;
        (void)info;
        (void)sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%llu",
                         (unsigned long long)clock_monotonic_usec());
        read_devices(m);
        r = load_policies(m);
        if (r >= 0)
                r = watch_rematch(m);
        manager_lock_memory(m);
        place_refresh(m);
        units_reload(m);
        release_unwanted(m);
        irq_look(m);
        if (r < 0)
                journal_log(&m->host.journal, LOG_ERR, NULL, "Reloading failed: %s", strerror(-r));
        manager_schedule(m);
        (void)publish_now(m); /* before systemd hears that the reload is over */
        (void)sd_notify(false, "READY=1");
        return 0;
}

static int on_term(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Manager *m = userdata;

        (void)info;
        (void)sd_notify(false, "STOPPING=1");
        if (m->undo.releases.stopping) /* for the second time: at once */
                return sd_event_exit(sd_event_source_get_event(source), 0);
        m->host.ready = false;
        if (m->host.policies.on_stop == ON_STOP_RESTORE)
                irq_give_all_back(m);
        if (release_before_stop(m)) {
                journal_log(&m->host.journal, LOG_INFO, NULL,
                            "Stopping; what is bound is released first (%zu records)",
                            m->undo.records.n_records);
                return 0;
        }
        journal_log(&m->host.journal, LOG_INFO, NULL,
                    "Stopping; what is bound stays bound (%zu instances)", m->roster.n_instances);
        (void)publish_now(m);
        return sd_event_exit(sd_event_source_get_event(source), 0);
}

static int add_timer(Manager *m, sd_event_source **timer, uint64_t accuracy_usec,
                     sd_event_time_handler_t handler) {
        int r = sd_event_add_time(m->host.event, timer, CLOCK_MONOTONIC, 0, accuracy_usec, handler,
                                  m);

        return r < 0 ? r : sd_event_source_set_enabled(*timer, SD_EVENT_OFF);
}

static int add_sources(Manager *m) {
        int r;

        r = add_timer(m, &m->binding.work_timer, WORK_ACCURACY_USEC, on_work);
        if (r >= 0)
                r = add_timer(m, &m->report.timer, 0, on_publish);
        if (r >= 0)
                r = add_timer(m, &m->sampling.timer, 0, on_sample);
        if (r >= 0)
                r = arm(m->sampling.timer,
                        clock_monotonic_usec() + m->host.policies.sampling_interval_usec);
        if (r >= 0)
                r = sample_start(m);
        if (r >= 0)
                r = sd_event_add_signal(m->host.event, NULL, SIGHUP, on_hup, m);
        if (r >= 0)
                r = sd_event_add_signal(m->host.event, NULL, SIGTERM, on_term, m);
        if (r >= 0)
                r = sd_event_add_signal(m->host.event, NULL, SIGINT, on_term, m);
        return r;
}

int manager_start(Manager *m) {
        int r;

        r = load_policies(m);
        if (r >= 0)
                r = record_start(m);
        if (r < 0)
                return r;
        r = add_sources(m);
        if (r >= 0)
                r = release_start(m);
        if (r >= 0)
                r = place_start(m);
        if (r < 0)
                return r;
        place_read_room(m);
        if (m->host.sysroot.live)
                drift_start(m);
        r = hotplug_start(m);
        if (r >= 0)
                r = guard_start(m);
        if (r < 0)
                return r;
        r = watch_start(m);
        if (r < 0)
                return r;
        if (m->host.args->once)
                describe_all(m);
        else
                r = describe_start(m);
        if (r < 0)
                return r;
        look_at_due(m, clock_monotonic_usec());
        manager_schedule(m);
        release_unwanted(m);
        r = units_start(m);
        if (r >= 0)
                r = irq_start(m);
        if (r < 0)
                return r;
        m->host.ready = true;
        (void)publish_now(m); /* has logged why not; a full /run must not keep it from binding */
        return 0;
}
