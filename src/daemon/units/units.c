/* Known units: when to look at them. Which they are is the business of unit-list.c. */
#include <string.h>
#include <systemd/sd-login.h>

#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/units/unit-list.h"
#include "tidbnumad/sys/clock.h"

/* The bus, or systemd, is away: asked again after so long. */
#define RETRY_USEC (UINT64_C(1000) * 1000)

/* The start of the daemon waits so long at most for the first preparation. */
#define FIRST_TIMEOUT_USEC (UINT64_C(5) * 1000 * 1000)

/* --- signals --- */

static void on_subscribed(Manager *m) {
        m->units.subscribed = true;
        if (m->units.lost_said)
                journal_log(&m->host.journal, LOG_INFO, NULL, "systemd is heard on D-Bus again");
        m->units.lost_said = false;
        for (size_t i = 0; i < m->units.n_units; i++)
                (void)unit_watch(m->units.units[i]);
        unit_list_look_at_all(m);
}

static void on_unit_file(const char *name, void *userdata) {
        Manager *m = userdata;
        Unit *u = m->units.subscribed && units_enforce(m) ? unit_list_get(m, name) : NULL;

        if (u)
                unit_look(u);
}

static void try_later(Manager *m) {
        Units *units = &m->units;

        units->subscribed = false;
        if (!units->lost_said)
                journal_log(&m->host.journal, LOG_NOTICE, NULL,
                            "systemd is not heard on D-Bus: units are not prepared before they "
                            "start until it is; tried again every second");
        units->lost_said = true;
        (void)sd_event_source_set_time_relative(units->retry, RETRY_USEC);
        (void)sd_event_source_set_enabled(units->retry, SD_EVENT_ONESHOT);
}

static void on_bus_event(BusEvent event, const char *name, const char *active_state,
                         void *userdata) {
        Manager *m = userdata;
        Unit *u = name ? unit_list_find(&m->units, name) : NULL;

        switch (event) {
        case BUS_EVENT_SUBSCRIBED:
                on_subscribed(m);
                break;
        case BUS_EVENT_LOST:
                try_later(m);
                break;
        case BUS_EVENT_RELOADED:
                unit_list_look_at_all(m);
                break;
        case BUS_EVENT_UNIT_NEW:
                unit_list_ask(m, name);
                break;
        case BUS_EVENT_JOB_REMOVED:
                if (u && u->idle)
                        unit_look(u);
                break;
        case BUS_EVENT_STATE:
                if (u)
                        unit_set_state(u, active_state);
                break;
        }
}

static int open_bus(Manager *m) {
        bus_manager_close(&m->units.bus);
        m->units.n_lists = 0;
        return bus_manager_open(&m->units.bus, m->host.event, on_bus_event, m);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        (void)source;
        (void)usec;
        if (open_bus(m) < 0)
                try_later(m);
        return 0;
}

/* --- what others call --- */

bool units_enforce(const Manager *m) {
        return host_enforces(&m->host) && !m->host.args->once && m->host.backend.ops &&
               strcmp(m->host.backend.ops->name, "systemd") == 0;
}

static bool is_busy(const Units *units) {
        if (!units->bus.bus || units->lost_said)
                return false;
        for (size_t i = 0; i < units->n_units; i++)
                if (units->units[i]->call)
                        return true;
        return !units->subscribed || units->n_lists > 0;
}

static int wait_for_first(Manager *m) {
        const uint64_t end = clock_monotonic_usec() + FIRST_TIMEOUT_USEC;
        int r, code;

        while (is_busy(&m->units) && clock_monotonic_usec() < end &&
               sd_event_get_exit_code(m->host.event, &code) == -ENODATA) {
                r = sd_event_run(m->host.event, FIRST_TIMEOUT_USEC);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int begin(Manager *m) {
        int r;

        (void)sd_pid_get_unit(0, &m->units.own_unit);
        r = sd_event_add_time(m->host.event, &m->units.retry, CLOCK_MONOTONIC, 0, 0, on_retry, m);
        if (r >= 0)
                r = sd_event_source_set_enabled(m->units.retry, SD_EVENT_OFF);
        if (r < 0)
                return r;
        unit_files_watch(&m->units.files, m->host.event, on_unit_file, m);
        if (open_bus(m) < 0)
                try_later(m);
        return 0;
}

int units_start(Manager *m) {
        int r;

        if (!units_enforce(m))
                return 0;
        r = begin(m);
        return r < 0 ? r : wait_for_first(m);
}

void units_done(Manager *m) {
        Units *units = &m->units;

        for (size_t i = 0; i < units->n_units; i++)
                unit_free(units->units[i]);
        free(units->units);
        bus_manager_close(&units->bus);
        unit_files_done(&units->files);
        sd_event_source_unref(units->retry);
        free(units->own_unit);
        *units = (Units){ 0 };
}

void units_reload(Manager *m) {
        if (!m->units.retry) {
                if (units_enforce(m))
                        (void)begin(m);
                return;
        }
        for (size_t i = 0; i < m->units.n_units; i++)
                m->units.units[i]->released = false;
        unit_list_look_at_all(m);
}

void units_scan(Manager *m) {
        const uint64_t now = clock_monotonic_usec();

        if (!m->units.subscribed || !units_enforce(m) || m->units.n_lists > 0)
                return;
        for (size_t i = 0; i < m->units.n_units; i++) {
                Unit *u = m->units.units[i];

                if (unit_is_misused(u, now))
                        unit_release(u);
                else
                        unit_decide(u);
        }
        unit_list_forget(m);
        unit_list_scan(m);
}

bool units_did_narrow(const Manager *m, const char *unit) {
        const Unit *u = unit ? unit_list_find(&m->units, unit) : NULL;

        return u && u->mems.ours;
}

void units_note_mems(Manager *m, const char *unit, const NodeSet *mems) {
        Unit *u = unit ? unit_list_find(&m->units, unit) : NULL;

        if (u && u->mems.ours)
                id_set_convert(mems, &u->mems.value);
}
