/* Known units: the list of them, and when they are reconciled. */
#include <string.h>
#include <sys/inotify.h>
#include <systemd/sd-login.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/daemon/units/units.h"
#include "tidbnumad/sys/clock.h"

/* --- the list --- */

static size_t unit_list_position(const Units *units, const char *name) {
        return ARRAY_LOWER_BOUND(units->n_units, k, strcmp(units->units[k]->place.name, name) < 0);
}

/* `name` may be NULL. */
static Unit *unit_list_find(const Units *units, const char *name) {
        const size_t i = name ? unit_list_position(units, name) : units->n_units;

        return i < units->n_units && strcmp(units->units[i]->place.name, name) == 0
                       ? units->units[i]
                       : NULL;
}

/* Adds a unit if a policy matches its name. NULL: no policy does, or there is no memory: the next
 * scan tries again. */
static Unit *unit_list_get(Units *units, const char *name) {
        Unit *u = unit_list_find(units, name);

        if (u)
                return u;
        if (!known_unit_is_service(name) || !known_unit_is_named(&units->host->policies, name) ||
            known_unit_is_own(units->own_unit, name))
                return NULL;
        if (ARRAY_RESERVE(units->units, units->allocated, units->n_units + 1) < 0 ||
            unit_new(units, name, &u) < 0)
                return NULL;
        (void)ARRAY_INSERT(units->units, units->n_units, units->allocated,
                           unit_list_position(units, name), &u);
        if (unit_watch(u) < 0)
                journal_log(&units->host->journal, LOG_DEBUG, NULL, "%s cannot be followed", name);
        return u;
}

/* --- lists of systemd, from which the list is filled; it answers later, through the loop --- */

/* Postpones placing until all requested lists have been answered, as otherwise the first unit in a
 * list would have the first choice. Then plans for all of them. */
static void unit_list_settle(Units *units) {
        if (!units->gathering || units->n_lists > 0)
                return;
        for (size_t i = 0; i < units->n_units; i++)
                if (!units->units[i]->place.known && units->units[i]->call)
                        return;
        units->gathering = false;
        host_queue(units->host, HOST_WORK_PLAN);
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

static void list_units(Units *units, char *const *globs, bool files, BusListReply reply) {
        if (globs && bus_manager_list_units(&units->bus, globs, files, reply, units) >= 0)
                units->n_lists++;
}

/* Known units, those that policies name, and all loaded units and unit files that match. systemd
 * walks its folders for this, so it is not done in every scan. Units that are known by name go
 * first: their start may be imminent. */
static void unit_list_reconcile_all(Units *units) {
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };

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
        if (units_enforce(units) && known_unit_patterns(&units->host->policies, &p) >= 0) {
                for (size_t i = 0; i < p.names.n_words; i++) {
                        Unit *u = unit_list_get(units, p.names.words[i]);

                        if (u && !u->place.known && !u->call)
                                unit_reconcile(u);
                }
                list_units(units, p.globs.words, false, on_listed);
                list_units(units, p.globs.words, true, on_listed);
        }
        unit_list_settle(units);
}

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

static void units_try_later(Units *units) {
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
        char *globs[] = { (char *)name, NULL };
        Units *units = userdata;
        Unit *u = unit_list_find(units, name);

        switch (event) {
        case BUS_EVENT_SUBSCRIBED:
                units->subscribed = true;
                if (units->loss_logged)
                        journal_log(&units->host->journal, LOG_INFO, NULL,
                                    "connected to systemd on D-Bus again");
                units->loss_logged = false;
                for (size_t i = 0; i < units->n_units; i++)
                        (void)unit_watch(units->units[i]);
                unit_list_reconcile_all(units);
                undo_admin_read_all(units->undo); /* set while nobody listened */
                break;
        case BUS_EVENT_LOST:
                units_try_later(units);
                break;
        case BUS_EVENT_RELOADING:
                units->host->units_reload_usec = clock_monotonic_usec() + RELOAD_USEC;
                break;
        case BUS_EVENT_RELOADED:
                units->host->units_reload_usec = clock_monotonic_usec() + RELOADED_USEC;
                REGISTRY_FOREACH(i, units->registry)
                instance_queue(i, WORK_RELOADED);
                unit_list_reconcile_all(units);
                undo_admin_read_all(units->undo);
                break;
        case BUS_EVENT_UNIT_NEW:
                /* A unit that systemd loaded for the first time, often because it is being started.
                 * Reads the state first, and only a unit that stays loaded is read in full: reading
                 * loads a unit, whose signal would cause the next read, without end. */
                if (u || (known_unit_is_service(name) &&
                          known_unit_is_named(&units->host->policies, name)))
                        list_units(units, globs, false, on_listed);
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

static int units_open_bus(Units *units) {
        bus_manager_close(&units->bus);
        units->n_lists = 0;
        return bus_manager_open(&units->bus, units->host->event, on_bus_event, units);
}

static int on_retry(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Units *units = userdata;

        if (units_open_bus(units) < 0)
                units_try_later(units);
        return 0;
}

/* --- called by a pass and by binding --- */

/* On a busy host a script, or the file of a unit, is there later than it is waited for: then it is
 * no matter of the next scan, or of the next daemon-reload. */
static void on_script(_unused_ const ProcessId *process, _unused_ WorkerJob job, void *userdata) {
        Units *units = userdata;

        for (size_t i = 0; i < units->n_units; i++)
                if (units->units[i]->start_unread)
                        unit_reconcile(units->units[i]);
        undo_admin_read_late(units->undo);
}

static int units_begin(Units *units) {
        int r;

        workers_on_answer(units->host->workers, WORKER_SCRIPT, on_script, units);
        (void)sd_pid_get_unit(0, &units->own_unit);
        r = event_source_add_off(units->host->event, &units->retry, 0, on_retry, units);
        if (r < 0)
                return r;
        /* Not IN_CREATE: systemd would load the unit from a file that is still empty. Where a
         * folder cannot be watched, systemd's own signals have to do. */
        for (size_t i = 0; i < ELEMENTSOF(FOLDERS); i++)
                if (sd_event_add_inotify(units->host->event, &units->folders[i], FOLDERS[i],
                                         IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR, on_unit_file,
                                         units) < 0)
                        units->folders[i] = NULL;
        if (units_open_bus(units) < 0)
                units_try_later(units);
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
        r = units_begin(units);
        if (r >= 0)
                r = event_source_add_after(units->host->event, &units->start_timer,
                                           FIRST_TIMEOUT_USEC, on_start_timeout, units);
        units->starting = r >= 0;
        return r;
}

void units_follow_event(Units *units) {
        bool busy;

        if (host_take(units->host, HOST_WORK_UNITS))
                for (size_t i = 0; i < units->n_units; i++)
                        unit_note_release(units->units[i]);
        unit_list_settle(units);
        if (!units->starting)
                return;
        busy = !units->subscribed || units->n_lists > 0;
        for (size_t i = 0; i < units->n_units; i++)
                busy |= units->units[i]->call != NULL;
        units->starting = busy && units->bus.bus && !units->loss_logged;
}

void units_follow_plan(Units *units) {
        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                if (!u->place.replanned)
                        continue;
                u->place.replanned = false;
                unit_decide(u);
        }
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
                        (void)units_begin(units);
                return;
        }
        for (size_t i = 0; i < units->n_units; i++) {
                units->units[i]->place.released = false;
                unit_start_forgive(units->units[i]);
        }
        unit_list_reconcile_all(units);
}

void units_scan(Units *units) {
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };
        _cleanup_free_ char **globs = NULL;
        size_t n = 0, n_globs = 0;

        if (!units->subscribed || !units_enforce(units) || units->n_lists > 0)
                return;
        for (size_t i = 0; i < units->n_units; i++)
                unit_scan(units->units[i]);
        /* Removes units that no policy matches any more, once their own values are restored. */
        for (size_t i = 0; i < units->n_units; i++) {
                Unit *u = units->units[i];

                if (!u->call && !unit_is_prepared(u) &&
                    !known_unit_is_named(&units->host->policies, u->place.name)) {
                        unit_free(u);
                        host_queue(units->host, HOST_WORK_PLAN);
                } else {
                        units->units[n++] = u;
                }
        }
        units->n_units = n;
        /* The cheap part of unit_list_reconcile_all(), which makes systemd load nothing: loaded
         * units that match, and known units that are not loaded. */
        if (known_unit_patterns(&units->host->policies, &p) < 0)
                return;
        globs = calloc(p.globs.n_words + units->n_units + 1, sizeof(*globs));
        if (!globs)
                return;
        for (size_t i = 0; i < p.globs.n_words; i++)
                globs[n_globs++] = p.globs.words[i];
        for (size_t i = 0; i < units->n_units; i++) {
                units->units[i]->listed = false;
                globs[n_globs++] = units->units[i]->place.name;
        }
        if (n_globs > 0)
                list_units(units, globs, false, on_scanned);
}

bool units_did_narrow(const Units *units, const char *unit) {
        const UndoRecord *record =
                unit_list_find(units, unit) ? undo_of_unit(units->undo, unit) : NULL;

        return record && record->mems.noted && record->mems.ours.n > 0;
}

const char *units_start_refuses(const Units *units, const char *unit, const Placement *place,
                                bool *ret_conflict) {
        const Unit *u = unit_list_find(units, unit);
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
        const Unit *u = unit_list_find(units, unit);

        return u && u->place.known ? &u->place.start : NULL;
}

bool units_is_reading(const Units *units, const char *unit) {
        const Unit *u = unit_list_find(units, unit);

        if (u)
                return !u->place.known && u->call;
        /* It is not in the list yet, which is still being made. */
        return unit &&
               (units->starting || units->gathering || (units->bus.bus && !units->subscribed)) &&
               known_unit_is_named(&units->host->policies, unit);
}

bool units_start_is_late(const Units *units, const char *unit) {
        const Unit *u = unit_list_find(units, unit);

        return u && u->start_unread && u->start_hash == 0;
}

void units_note_shared(const Units *units, const char *unit, bool shared) {
        Unit *u = unit_list_find(units, unit);

        if (u)
                u->shared = shared;
}

void units_note_huge(const Units *units, const char *unit, const HugeNeed *need, bool starting) {
        Unit *u = unit_list_find(units, unit);

        if (!u)
                return;
        if (starting)
                huge_need_raise(&u->place.facts.huge, need);
        else
                u->place.facts.huge = *need;
        u->place.facts.huge_known = true;
}

const HugeNeed *units_last_huge(const Units *units, const char *unit) {
        const Unit *u = unit_list_find(units, unit);

        return u && u->place.facts.huge_known ? &u->place.facts.huge : NULL;
}

void units_note_mems(Units *units, const char *unit, const NodeSet *mems) {
        Unit *u = unit_list_find(units, unit);

        if (u && !id_set_is_empty(&u->place.now[UNIT_MEMS]) && units_did_narrow(units, unit))
                id_set_convert(mems, &u->place.now[UNIT_MEMS]);
}
