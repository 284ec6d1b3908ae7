/* Which units are known, and when to look at them. */
#include <string.h>
#include <systemd/sd-login.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/units.h"
#include "tidbnumad/sys/clock.h"

/* The bus, or systemd, is away: asked again after so long. */
#define RETRY_USEC (UINT64_C(1000) * 1000)

/* The start of the daemon waits so long at most for the first preparation. */
#define FIRST_TIMEOUT_USEC (UINT64_C(5) * 1000 * 1000)

/* Through systemd, on this machine, in earnest. */
static bool is_wanted(const Manager *m) {
        return manager_enforces(m) && !m->args->once && m->backend.ops &&
               strcmp(m->backend.ops->name, "systemd") == 0;
}

/* --- the array --- */

static size_t position(const Units *units, const char *name) {
        size_t low = 0, high = units->n_units;

        while (low < high) {
                size_t middle = (low + high) / 2;

                if (strcmp(units->units[middle]->name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static Unit *find(const Units *units, const char *name) {
        size_t i = position(units, name);

        return i < units->n_units && strcmp(units->units[i]->name, name) == 0 ? units->units[i]
                                                                              : NULL;
}

static Unit *add(Manager *m, const char *name) {
        Units *units = &m->units;
        size_t i = position(units, name);
        Unit *u;

        if (ARRAY_RESERVE(units->units, units->allocated, units->n_units + 1) < 0 ||
            unit_new(m, name, &u) < 0)
                return NULL; /* the next scan tries again */
        memmove(units->units + i + 1, units->units + i,
                (units->n_units - i) * sizeof(units->units[0]));
        units->units[i] = u;
        units->n_units++;
        if (unit_watch(u) < 0)
                journal_log(&m->journal, LOG_DEBUG, NULL, "%s cannot be followed", name);
        return u;
}

/* Those that no policy names any more, once they have their own values back. */
static void forget_strangers(Manager *m) {
        Units *units = &m->units;
        size_t n = 0;

        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                if (!u->call && !u->cpus.ours && !u->mems.ours &&
                    !known_unit_is_named(&m->policies, u->name))
                        unit_free(u);
                else
                        units->units[n++] = u;
        }
        units->n_units = n;
}

/* A unit was heard of: known from now on, if a policy names it. NULL: not ours. */
static Unit *get(Manager *m, const char *name) {
        Unit *u = find(&m->units, name);

        if (u)
                return u;
        if (!known_unit_is_service(name) || !known_unit_is_named(&m->policies, name) ||
            (m->units.own_unit && strcmp(name, m->units.own_unit) == 0))
                return NULL;
        return add(m, name);
}

/* --- lists --- */

static void on_listed(int error, const char *name, const char *load_state, const char *active_state,
                      void *userdata) {
        Manager *m = userdata;
        Unit *u;

        if (!name) {
                m->units.n_lists--;
                if (error < 0)
                        journal_log(&m->journal, LOG_DEBUG, NULL, "listing units failed: %s",
                                    strerror(-error));
                return;
        }
        u = get(m, name);
        if (!u)
                return;
        u->listed = true;
        if (!u->known)
                unit_look(u);
        else if (active_state[0] == '\0')
                return; /* a unit file */
        else if (!u->loaded && strcmp(load_state, "loaded") == 0)
                unit_look(u);
        else if (u->idle !=
                 (strcmp(active_state, "inactive") == 0 || strcmp(active_state, "failed") == 0))
                unit_set_state(u, active_state);
}

/* At a scan: what systemd has not even loaded does not run. */
static void on_scanned(int error, const char *name, const char *load_state,
                       const char *active_state, void *userdata) {
        Manager *m = userdata;

        on_listed(error, name, load_state, active_state, userdata);
        if (name || error < 0)
                return;
        for (size_t i = 0; i < m->units.n_units; i++) {
                Unit *u = m->units.units[i];

                if (!u->known || (!u->listed && !u->idle))
                        unit_look(u);
        }
}

static void list_units(Manager *m, char *const *globs, BusListReply reply) {
        if (globs && bus_manager_list_units(&m->units.bus, globs, reply, m) >= 0)
                m->units.n_lists++;
}

static void list_patterns(Manager *m, bool files) {
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };

        if (known_unit_patterns(&m->policies, &p) < 0)
                return;
        for (size_t i = 0; i < p.n_names; i++) {
                Unit *u = get(m, p.names[i]);

                if (u && !u->known && !u->call)
                        unit_look(u);
        }
        list_units(m, p.globs, on_listed);
        if (files && p.globs &&
            bus_manager_list_unit_files(&m->units.bus, p.globs, on_listed, m) >= 0)
                m->units.n_lists++;
}

/* Everything anew. First those that are known by name: a start may follow at once. */
static void look_at_all(Manager *m) {
        if (!m->units.subscribed)
                return;
        for (size_t i = 0; i < m->units.n_units; i++)
                unit_look(m->units.units[i]);
        if (is_wanted(m))
                list_patterns(m, true);
}

/* --- signals --- */

/* Loaded for the first time, often because it is being started. Asked for its state first, and read
 * only if it stays loaded: reading loads a unit, and that would tell of it again, for ever. */
static void on_unit_new(Manager *m, const char *name) {
        char *globs[] = { (char *)name, NULL };

        if (find(&m->units, name) ||
            (known_unit_is_service(name) && known_unit_is_named(&m->policies, name)))
                list_units(m, globs, on_listed);
}

static void on_subscribed(Manager *m) {
        m->units.subscribed = true;
        if (m->units.lost_said)
                journal_log(&m->journal, LOG_INFO, NULL, "systemd is heard on D-Bus again");
        m->units.lost_said = false;
        for (size_t i = 0; i < m->units.n_units; i++)
                (void)unit_watch(m->units.units[i]);
        look_at_all(m);
}

static void on_unit_file(const char *name, void *userdata) {
        Manager *m = userdata;
        Unit *u = m->units.subscribed && is_wanted(m) ? get(m, name) : NULL;

        if (u)
                unit_look(u);
}

static void try_later(Manager *m) {
        Units *units = &m->units;

        units->subscribed = false;
        if (!units->lost_said)
                journal_log(&m->journal, LOG_NOTICE, NULL,
                            "systemd is not heard on D-Bus: units are not prepared before they "
                            "start until it is; tried again every second");
        units->lost_said = true;
        (void)sd_event_source_set_time_relative(units->retry, RETRY_USEC);
        (void)sd_event_source_set_enabled(units->retry, SD_EVENT_ONESHOT);
}

static void on_bus_event(BusEvent event, const char *name, const char *active_state,
                         void *userdata) {
        Manager *m = userdata;
        Unit *u = name ? find(&m->units, name) : NULL;

        switch (event) {
        case BUS_EVENT_SUBSCRIBED:
                on_subscribed(m);
                break;
        case BUS_EVENT_LOST:
                try_later(m);
                break;
        case BUS_EVENT_RELOADED:
                look_at_all(m);
                break;
        case BUS_EVENT_UNIT_NEW:
                on_unit_new(m, name);
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
        return bus_manager_open(&m->units.bus, m->event, on_bus_event, m);
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
               sd_event_get_exit_code(m->event, &code) == -ENODATA) {
                r = sd_event_run(m->event, FIRST_TIMEOUT_USEC);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int begin(Manager *m) {
        int r;

        (void)sd_pid_get_unit(0, &m->units.own_unit);
        r = sd_event_add_time(m->event, &m->units.retry, CLOCK_MONOTONIC, 0, 0, on_retry, m);
        if (r >= 0)
                r = sd_event_source_set_enabled(m->units.retry, SD_EVENT_OFF);
        if (r < 0)
                return r;
        unit_files_watch(&m->units.files, m->event, on_unit_file, m);
        if (open_bus(m) < 0)
                try_later(m);
        return 0;
}

int units_start(Manager *m) {
        int r;

        if (!is_wanted(m))
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
                if (is_wanted(m))
                        (void)begin(m);
                return;
        }
        for (size_t i = 0; i < m->units.n_units; i++)
                m->units.units[i]->released = false;
        look_at_all(m);
}

void units_scan(Manager *m) {
        const uint64_t now = clock_monotonic_usec();
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };
        _cleanup_free_ char **globs = NULL;
        size_t n = 0;

        if (!m->units.subscribed || !is_wanted(m) || m->units.n_lists > 0)
                return;
        for (size_t i = 0; i < m->units.n_units; i++) {
                Unit *u = m->units.units[i];

                u->listed = false;
                if (unit_is_misused(u, now))
                        unit_release(u);
                else
                        unit_decide(u);
        }
        forget_strangers(m);
        if (known_unit_patterns(&m->policies, &p) < 0)
                return;
        globs = calloc(p.n_globs + m->units.n_units + 1, sizeof(*globs));
        if (!globs)
                return;
        for (size_t i = 0; i < p.n_globs; i++)
                globs[n++] = p.globs[i];
        for (size_t i = 0; i < m->units.n_units; i++)
                globs[n++] = m->units.units[i]->name;
        if (n > 0)
                list_units(m, globs, on_scanned);
}

bool units_did_narrow(const Manager *m, const char *unit) {
        const Unit *u = unit ? find(&m->units, unit) : NULL;

        return u && u->mems.ours;
}

void units_foreach(const Manager *m, UnitsVisitor visit, void *userdata) {
        for (size_t i = 0; i < m->units.n_units; i++)
                visit(m->units.units[i], userdata);
}
