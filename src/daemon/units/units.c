/* Known units: when they are reconciled. unit-list.c keeps the list. */
#include <sys/inotify.h>
#include <systemd/sd-login.h>

#include "tidbnumad/daemon/undo/undo-admin.h"
#include "tidbnumad/daemon/units/unit-list.h"
#include "tidbnumad/daemon/units/unit-start.h"
#include "tidbnumad/daemon/units/units.h"
#include "tidbnumad/sys/clock.h"

/* Retry interval while the bus or systemd is not available. */
#define RETRY_USEC (UINT64_C(1000) * 1000)

/* A reload lasts milliseconds for each unit. It writes the cgroup files before its signal. */
#define RELOAD_USEC (UINT64_C(90) * 1000 * 1000)
#define RELOADED_USEC (UINT64_C(2) * 1000 * 1000)

/* Maximum time that the start of the daemon waits for the first preparation. */
#define FIRST_TIMEOUT_USEC (UINT64_C(5) * 1000 * 1000)

/* systemd.unit(5), "System Unit Search Path": the folders that administrators and packages write
 * to. */
static const char *const FOLDERS[UNITS_FOLDERS] = {
        "/etc/systemd/system",
        "/run/systemd/system",
        "/usr/local/lib/systemd/system",
        "/usr/lib/systemd/system",
};

/* --- signals --- */

static void on_subscribed(Units *units) {
        units->subscribed = true;
        if (units->loss_logged)
                journal_log(&units->host->journal, LOG_INFO, NULL,
                            "connected to systemd on D-Bus again");
        units->loss_logged = false;
        for (size_t i = 0; i < units->n_units; i++)
                (void)unit_watch(units->units[i]);
        unit_list_reconcile_all(units);
}

/* A new file is noticed before systemd loads it, which leaves time to prepare a unit that is
 * started immediately after the reload. systemd decides which files count and what they contain. */
static int on_unit_file(_unused_ sd_event_source *source, const struct inotify_event *event,
                        void *userdata) {
        Units *units = userdata;
        Unit *u;

        if (event->len == 0 || (event->mask & IN_ISDIR) || !units->subscribed ||
            !units_enforce(units))
                return 0;
        u = unit_list_get(units, event->name);
        if (u)
                unit_reconcile(u);
        return 0;
}

/* Where a folder cannot be watched, systemd's own signals have to do. */
static void watch_unit_files(Units *units) {
        /* Not IN_CREATE: systemd would load the unit from a file that is still empty. */
        for (size_t i = 0; i < ELEMENTSOF(FOLDERS); i++)
                if (sd_event_add_inotify(units->host->event, &units->folders[i], FOLDERS[i],
                                         IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR, on_unit_file,
                                         units) < 0)
                        units->folders[i] = NULL;
}

static void try_later(Units *units) {
        units->subscribed = false;
        if (!units->loss_logged)
                journal_log(&units->host->journal, LOG_NOTICE, NULL,
                            "not connected to systemd on D-Bus: units are not prepared before they "
                            "start; trying again every second");
        units->loss_logged = true;
        (void)event_source_arm_after(units->retry, RETRY_USEC);
}

static void on_bus_event(BusEvent event, const char *name, const char *active_state,
                         void *userdata) {
        Units *units = userdata;
        Unit *u = name ? unit_list_find(units, name) : NULL;

        switch (event) {
        case BUS_EVENT_SUBSCRIBED:
                on_subscribed(units);
                break;
        case BUS_EVENT_LOST:
                try_later(units);
                break;
        case BUS_EVENT_RELOADING:
                units->host->units_reload_usec = clock_monotonic_usec() + RELOAD_USEC;
                break;
        case BUS_EVENT_RELOADED:
                units->host->units_reload_usec = clock_monotonic_usec() + RELOADED_USEC;
                host_mark(units->host, HOST_MARK_RELOADED);
                unit_list_reconcile_all(units);
                undo_admin_read_all(units->undo);
                break;
        case BUS_EVENT_UNIT_NEW:
                unit_list_ask(units, name);
                break;
        case BUS_EVENT_JOB_REMOVED:
                if (u && u->idle)
                        unit_reconcile(u);
                break;
        case BUS_EVENT_STATE:
                if (u)
                        unit_set_state(u, active_state);
                break;
        }
}

static int open_bus(Units *units) {
        bus_manager_close(&units->bus);
        units->n_lists = 0;
        return bus_manager_open(&units->bus, units->host->event, on_bus_event, units);
}

static int on_retry(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Units *units = userdata;

        if (open_bus(units) < 0)
                try_later(units);
        return 0;
}

/* --- called by the turn and by binding --- */

static bool is_busy(const Units *units) {
        if (!units->bus.bus || units->loss_logged)
                return false;
        for (size_t i = 0; i < units->n_units; i++)
                if (units->units[i]->call)
                        return true;
        return !units->subscribed || units->n_lists > 0;
}

static int begin(Units *units) {
        int r;

        (void)sd_pid_get_unit(0, &units->own_unit);
        r = event_source_add_off(units->host->event, &units->retry, 0, on_retry, units);
        if (r < 0)
                return r;
        watch_unit_files(units);
        if (open_bus(units) < 0)
                try_later(units);
        return 0;
}

static int on_start_timeout(_unused_ sd_event_source *source, _unused_ uint64_t usec,
                            void *userdata) {
        Units *units = userdata;

        units->starting = false;
        return 0;
}

int units_start(Units *units) {
        int r;

        if (!units_enforce(units))
                return 0;
        r = begin(units);
        if (r >= 0)
                r = event_source_add_after(units->host->event, &units->start_timer,
                                           FIRST_TIMEOUT_USEC, on_start_timeout, units);
        units->starting = r >= 0;
        return r;
}

bool units_are_starting(const Units *units) {
        return units->starting;
}

void units_turn(Units *units) {
        if (host_take_mark(units->host, HOST_MARK_UNITS))
                for (size_t i = 0; i < units->n_units; i++)
                        unit_note_release(units->units[i]);
        unit_list_settle(units);
        units->starting = units->starting && is_busy(units);
}

void units_follow_plan(Units *units) {
        for (size_t i = 0; i < units->n_units; i++)
                if (place_take_change(&units->units[i]->place.planned))
                        unit_decide(units->units[i]);
}

void units_done(Units *units) {
        for (size_t i = 0; i < units->n_units; i++)
                unit_free(units->units[i]);
        free(units->units);
        bus_manager_close(&units->bus);
        for (size_t i = 0; i < ELEMENTSOF(FOLDERS); i++)
                sd_event_source_unref(units->folders[i]);
        event_source_drop(units->retry);
        event_source_drop(units->start_timer);
        free(units->own_unit);
        *units = (Units){ 0 };
}

void units_reload(Units *units) {
        if (!units->retry) {
                if (units_enforce(units))
                        (void)begin(units);
                return;
        }
        for (size_t i = 0; i < units->n_units; i++) {
                units->units[i]->place.released = false;
                unit_start_forgive(units->units[i]);
        }
        unit_list_reconcile_all(units);
}

void units_scan(Units *units) {
        const uint64_t now = clock_monotonic_usec();

        if (!units->subscribed || !units_enforce(units) || units->n_lists > 0)
                return;
        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                if (unit_is_misused(u, now))
                        unit_release(u);
                else
                        unit_decide(u);
        }
        unit_list_forget(units);
        unit_list_scan(units);
}

bool units_did_narrow(const Units *units, const char *unit) {
        const Unit *u = unit ? unit_list_find(units, unit) : NULL;

        return u && u->mems.ours;
}

const char *units_start_refuses(const Units *units, const char *unit, const Placement *place,
                                bool *ret_conflict) {
        const Unit *u = unit ? unit_list_find(units, unit) : NULL;
        const Topology *topology = &units->host->topology;
        NodeSet mems = { 0 };
        CpuSet cpus;
        bool cpus_alone;

        if (ret_conflict)
                *ret_conflict = false;
        if (!u || id_set_is_empty(&place->nodes))
                return NULL;
        if (place->memory == MEMORY_BIND) {
                mems = topology_memory_nodes(topology);
                id_set_intersect(&mems, &place->nodes);
        }
        if (ret_conflict)
                *ret_conflict = start_limits_conflict(&u->place.start, &place->nodes);
        if (u->start_failed_again)
                return u->start_refused;
        id_set_convert(&place->cpus, &cpus);
        return start_limits_refuse(&u->place.start, topology, &cpus, &mems, &cpus_alone);
}

const StartLimits *units_start_limits(const Units *units, const char *unit) {
        const Unit *u = unit ? unit_list_find(units, unit) : NULL;

        return u && u->place.known ? &u->place.start : NULL;
}

bool units_is_reading(const Units *units, const char *unit) {
        const Unit *u = unit ? unit_list_find(units, unit) : NULL;

        if (u)
                return !u->place.known && u->call;
        return unit && units->starting && known_unit_is_named(&units->host->policies, unit);
}

void units_note_shared(const Units *units, const char *unit, bool shared) {
        Unit *u = unit ? unit_list_find(units, unit) : NULL;

        if (u)
                u->shared = shared;
}

void units_note_huge(const Units *units, const char *unit, const HugeNeed *need, bool starting) {
        Unit *u = unit ? unit_list_find(units, unit) : NULL;

        if (!u)
                return;
        if (starting)
                huge_need_raise(&u->place.huge, need);
        else
                u->place.huge = *need;
        u->place.huge_known = true;
}

const HugeNeed *units_last_huge(const Units *units, const char *unit) {
        const Unit *u = unit ? unit_list_find(units, unit) : NULL;

        return u && u->place.huge_known ? &u->place.huge : NULL;
}

void units_note_mems(Units *units, const char *unit, const NodeSet *mems) {
        Unit *u = unit ? unit_list_find(units, unit) : NULL;

        if (u && u->mems.ours)
                id_set_convert(mems, &u->mems.value);
}
