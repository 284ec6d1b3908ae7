/* Which units are known, and what systemd lists of them. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/daemon/units/unit-list.h"

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

Unit *unit_list_find(const Units *units, const char *name) {
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
        (void)ARRAY_INSERT(units->units, units->n_units, units->allocated, i, &u);
        if (unit_watch(u) < 0)
                journal_log(&m->host.journal, LOG_DEBUG, NULL, "%s cannot be followed", name);
        return u;
}

void unit_list_forget(Manager *m) {
        Units *units = &m->units;
        size_t n = 0;

        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                if (!u->call && !u->cpus.ours && !u->mems.ours &&
                    !known_unit_is_named(&m->host.policies, u->name)) {
                        unit_free(u);
                        host_mark(&m->host, HOST_MARK_PLAN);
                } else {
                        units->units[n++] = u;
                }
        }
        units->n_units = n;
}

Unit *unit_list_get(Manager *m, const char *name) {
        Unit *u = unit_list_find(&m->units, name);

        if (u)
                return u;
        if (!known_unit_is_service(name) || !known_unit_is_named(&m->host.policies, name) ||
            (m->units.own_unit && strcmp(name, m->units.own_unit) == 0))
                return NULL;
        return add(m, name);
}

/* --- lists --- */

static bool is_gathered(const Units *units) {
        for (size_t i = 0; i < units->n_units; i++)
                if (!units->units[i]->known && units->units[i]->call)
                        return false;
        return units->n_lists == 0;
}

void unit_list_settle(Manager *m) {
        if (!m->units.gathering || !is_gathered(&m->units))
                return;
        m->units.gathering = false;
        host_mark(&m->host, HOST_MARK_PLAN);
        for (size_t i = 0; i < m->units.n_units; i++)
                unit_decide(m->units.units[i]);
}

static void on_listed(int error, const char *name, const char *load_state, const char *active_state,
                      void *userdata) {
        Manager *m = userdata;
        Unit *u;

        if (!name) {
                m->units.n_lists--;
                if (error < 0)
                        journal_log(&m->host.journal, LOG_DEBUG, NULL, "listing units failed: %s",
                                    strerror(-error));
                unit_list_settle(m);
                return;
        }
        u = unit_list_get(m, name);
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

        if (known_unit_patterns(&m->host.policies, &p) < 0)
                return;
        for (size_t i = 0; i < p.n_names; i++) {
                Unit *u = unit_list_get(m, p.names[i]);

                if (u && !u->known && !u->call)
                        unit_look(u);
        }
        list_units(m, p.globs, on_listed);
        if (files && p.globs &&
            bus_manager_list_unit_files(&m->units.bus, p.globs, on_listed, m) >= 0)
                m->units.n_lists++;
}

/* First those that are known by name: a start may follow at once. */
void unit_list_look_at_all(Manager *m) {
        if (!m->units.subscribed)
                return;
        m->units.gathering = true;
        for (size_t i = 0; i < m->units.n_units; i++) {
                Unit *u = m->units.units[i];

                /* PID 1 has enough to do just now, and what runs is not written to. */
                if (u->known && !u->idle)
                        unit_decide(u);
                else
                        unit_look(u);
        }
        if (units_enforce(m))
                list_patterns(m, true);
        unit_list_settle(m);
}

/* Its state first, and only what stays loaded is read: reading loads a unit, and that would tell of
 * it again, for ever. */
void unit_list_ask(Manager *m, const char *name) {
        char *globs[] = { (char *)name, NULL };

        if (unit_list_find(&m->units, name) ||
            (known_unit_is_service(name) && known_unit_is_named(&m->host.policies, name)))
                list_units(m, globs, on_listed);
}

void unit_list_scan(Manager *m) {
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };
        _cleanup_free_ char **globs = NULL;
        size_t n = 0;

        if (known_unit_patterns(&m->host.policies, &p) < 0)
                return;
        globs = calloc(p.n_globs + m->units.n_units + 1, sizeof(*globs));
        if (!globs)
                return;
        for (size_t i = 0; i < p.n_globs; i++)
                globs[n++] = p.globs[i];
        for (size_t i = 0; i < m->units.n_units; i++) {
                m->units.units[i]->listed = false;
                globs[n++] = m->units.units[i]->name;
        }
        if (n > 0)
                list_units(m, globs, on_scanned);
}
