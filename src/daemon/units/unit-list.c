#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/units/unit-list.h"

static size_t position(const Units *units, const char *name) {
        return ARRAY_LOWER_BOUND(units->n_units, k, strcmp(units->units[k]->place.name, name) < 0);
}

Unit *unit_list_find(const Units *units, const char *name) {
        size_t i = position(units, name);

        return i < units->n_units && strcmp(units->units[i]->place.name, name) == 0
                       ? units->units[i]
                       : NULL;
}

static Unit *add(Units *units, const char *name) {
        size_t i = position(units, name);
        Unit *u;

        if (ARRAY_RESERVE(units->units, units->allocated, units->n_units + 1) < 0 ||
            unit_new(units, name, &u) < 0)
                return NULL; /* the next scan tries again */
        (void)ARRAY_INSERT(units->units, units->n_units, units->allocated, i, &u);
        if (unit_watch(u) < 0)
                journal_log(&units->host->journal, LOG_DEBUG, NULL, "%s cannot be followed", name);
        return u;
}

void unit_list_forget(Units *units) {
        size_t n = 0;

        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                if (!u->call && !u->place.cpus.ours && !u->mems.ours &&
                    !known_unit_is_named(&units->host->policies, u->place.name)) {
                        unit_free(u);
                        host_mark(units->host, HOST_MARK_PLAN);
                } else {
                        units->units[n++] = u;
                }
        }
        units->n_units = n;
}

Unit *unit_list_get(Units *units, const char *name) {
        Unit *u = unit_list_find(units, name);

        if (u)
                return u;
        if (!known_unit_is_service(name) || !known_unit_is_named(&units->host->policies, name) ||
            (units->own_unit && strcmp(name, units->own_unit) == 0))
                return NULL;
        return add(units, name);
}

/* --- lists --- */

static bool is_gathered(const Units *units) {
        for (size_t i = 0; i < units->n_units; i++)
                if (!units->units[i]->place.known && units->units[i]->call)
                        return false;
        return units->n_lists == 0;
}

void unit_list_settle(Units *units) {
        if (!units->gathering || !is_gathered(units))
                return;
        units->gathering = false;
        host_mark(units->host, HOST_MARK_PLAN);
        for (size_t i = 0; i < units->n_units; i++)
                unit_decide(units->units[i]);
}

static void on_listed(int error, const char *name, const char *load_state, const char *active_state,
                      void *userdata) {
        Units *units = userdata;
        Unit *u;

        if (!name) {
                units->n_lists--;
                if (error < 0)
                        journal_log(&units->host->journal, LOG_DEBUG, NULL,
                                    "listing units failed: %s", strerror(-error));
                unit_list_settle(units);
                return;
        }
        u = unit_list_get(units, name);
        if (!u)
                return;
        u->listed = true;
        if (!u->place.known)
                unit_reconcile(u);
        else if (active_state[0] == '\0')
                return; /* an answer of the list of unit files */
        else if (!u->place.loaded && strcmp(load_state, "loaded") == 0)
                unit_reconcile(u);
        else if (u->idle !=
                 (strcmp(active_state, "inactive") == 0 || strcmp(active_state, "failed") == 0))
                unit_set_state(u, active_state);
}

/* At a scan: a unit that systemd has not loaded does not run. */
static void on_scanned(int error, const char *name, const char *load_state,
                       const char *active_state, void *userdata) {
        Units *units = userdata;

        on_listed(error, name, load_state, active_state, userdata);
        if (name || error < 0)
                return;
        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                if (!u->place.known || u->start_unread || (!u->listed && !u->idle))
                        unit_reconcile(u);
        }
}

static void list_units(Units *units, char *const *globs, BusListReply reply) {
        if (globs && bus_manager_list_units(&units->bus, globs, reply, units) >= 0)
                units->n_lists++;
}

static void list_patterns(Units *units, bool files) {
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };

        if (known_unit_patterns(&units->host->policies, &p) < 0)
                return;
        for (size_t i = 0; i < p.names.n_words; i++) {
                Unit *u = unit_list_get(units, p.names.words[i]);

                if (u && !u->place.known && !u->call)
                        unit_reconcile(u);
        }
        list_units(units, p.globs.words, on_listed);
        if (files && p.globs.words &&
            bus_manager_list_unit_files(&units->bus, p.globs.words, on_listed, units) >= 0)
                units->n_lists++;
}

/* Units that are known by name go first: their start may be imminent. */
void unit_list_reconcile_all(Units *units) {
        if (!units->subscribed)
                return;
        units->gathering = true;
        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                /* systemd is busy now, and running units are not written. */
                if (u->place.known && !u->idle)
                        unit_decide(u);
                else
                        unit_reconcile(u);
        }
        if (units_enforce(units))
                list_patterns(units, true);
        unit_list_settle(units);
}

/* Reads the state first, and only a unit that stays loaded is read in full: reading loads a unit,
 * whose signal would cause the next read, without end. */
void unit_list_ask(Units *units, const char *name) {
        char *globs[] = { (char *)name, NULL };

        if (unit_list_find(units, name) ||
            (known_unit_is_service(name) && known_unit_is_named(&units->host->policies, name)))
                list_units(units, globs, on_listed);
}

void unit_list_scan(Units *units) {
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };
        _cleanup_free_ char **globs = NULL;
        size_t n = 0;

        if (known_unit_patterns(&units->host->policies, &p) < 0)
                return;
        globs = calloc(p.globs.n_words + units->n_units + 1, sizeof(*globs));
        if (!globs)
                return;
        for (size_t i = 0; i < p.globs.n_words; i++)
                globs[n++] = p.globs.words[i];
        for (size_t i = 0; i < units->n_units; i++) {
                units->units[i]->listed = false;
                globs[n++] = units->units[i]->place.name;
        }
        if (n > 0)
                list_units(units, globs, on_scanned);
}
