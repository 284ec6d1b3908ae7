/* One known unit. Only idle units are written: binding handles a running one, and moves memory
 * before it narrows the nodes. */
#include <string.h>

#include "tidbnumad/daemon/undo/undo-change.h"
#include "tidbnumad/daemon/undo/undo-release.h"
#include "tidbnumad/daemon/units/unit-desired.h"
#include "tidbnumad/daemon/units/unit-start.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/ask.h"

/* A start script may wait for a disk before it executes the server. */
#define MISUSED_USEC (2 * ROSTER_SCAN_INTERVAL_USEC)

bool units_enforce(const Units *units) {
        return host_enforces(units->host) && !units->host->args->once && units->host->backend.ops &&
               strcmp(units->host->backend.ops->name, "systemd") == 0;
}

int unit_new(Units *units, const char *name, Unit **ret) {
        Unit *u = calloc(1, sizeof(*u));

        if (!u)
                return -ENOMEM;
        u->units = units;
        u->state = "unprepared";
        u->reason = "";
        u->place.name = strdup(name);
        u->place.label = strndup(name, strlen(name) - strlen(".service"));
        if (!u->place.name || !u->place.label) {
                unit_free(u);
                return -ENOMEM;
        }
        if (place_add_unit(units->placing, &u->place) < 0) {
                unit_free(u);
                return -ENOMEM;
        }
        *ret = u;
        return 0;
}

Unit *unit_free(Unit *unit) {
        if (!unit)
                return NULL;
        place_remove_unit(unit->units->placing, &unit->place);
        sd_bus_slot_unref(unit->call);
        sd_bus_slot_unref(unit->state_match);
        sd_bus_slot_unref(unit->job_match);
        free(unit->user);
        free(unit->place.name);
        free(unit->place.label);
        free(unit);
        return NULL;
}

int unit_watch(Unit *u) {
        u->call = sd_bus_slot_unref(u->call);
        undo_after_unit(u->units->undo, u->place.name, NULL);
        u->state_match = sd_bus_slot_unref(u->state_match);
        u->job_match = sd_bus_slot_unref(u->job_match);
        u->place.known = u->again = false;
        return bus_manager_watch_unit(&u->units->bus, u->place.name, &u->state_match,
                                      &u->job_match);
}

/* --- writing --- */

static void log_unit(const Unit *u, int priority, const UnitDesired *w, const char *message_id,
                     const char *what, const char *more) {
        const JournalFields fields = {
                .message_id = message_id,
                .instance = u->place.label,
                .policy = w && w->policy ? w->policy->name : NULL,
        };

        journal_log(&u->units->host->journal, priority, &fields, "%s %s%s%s", u->place.name, what,
                    *more ? "; " : "", more);
}

static void log_prepared(const Unit *u, const UnitDesired *w) {
        char cpus[ID_SET_LIST_MAX], mems[ID_SET_LIST_MAX];
        _cleanup_free_ char *what = NULL;

        (void)id_set_render_list(&w->cpus, cpus, sizeof(cpus));
        (void)id_set_render_list(&w->mems, mems, sizeof(mems));
        if (asprintf(&what, "is prepared for its next start: CPUs %s, memory nodes %s", cpus,
                     mems[0] ? mems : "as they are") < 0) {
                what = NULL;
                return;
        }
        log_unit(u, LOG_INFO, w, JOURNAL_PREPARED, what, w->reason);
}

/* All values are as desired. */
static void settle(Unit *u, const UnitDesired *w) {
        u->state = u->place.released           ? "released"
                   : id_set_is_empty(&w->cpus) ? "unprepared"
                                               : "prepared";
        u->reason = w->reason;
        u->code = w->code;
        u->failures = 0;
        host_mark(u->units->host, HOST_MARK_PUBLISH);
}

static void not_prepared(Unit *u, Reason code, int error, const char *message) {
        if (u->failures++ == 0)
                journal_log(&u->units->host->journal, LOG_WARNING,
                            &(JournalFields){ .instance = u->place.label, .reason = code },
                            "%s is not prepared: %s%s%s; trying again at each scan", u->place.name,
                            strerror(-error), *message ? ": " : "", message);
        u->state = "failed";
        u->reason = reason_to_sentence(code);
        u->code = code;
        u->place.known = false;
        host_mark(u->units->host, HOST_MARK_PUBLISH);
}

static void call_failed(Unit *u, int error, const char *message) {
        not_prepared(u, reason_of_error(error), error, message);
}

static UnitChange change_of(const Unit *u) {
        return (UnitChange){ .label = u->place.label,
                             .cpus = &u->place.cpus,
                             .mems = &u->mems,
                             .next_cpus = &u->next_cpus,
                             .next_mems = &u->next_mems };
}

static void finish_write(Unit *u) {
        const UnitDesired w = unit_desired_make(u);

        u->place.cpus = u->next_cpus;
        u->mems = u->next_mems;
        if (!id_set_is_empty(&w.cpus))
                log_prepared(u, &w);
        settle(u, &w);
}

static void on_written(int error, const char *message, void *userdata) {
        Unit *u = userdata;
        const UnitChange change = change_of(u);

        u->call = sd_bus_slot_unref(u->call);
        undo_after_unit(u->units->undo, u->place.name, error >= 0 ? &change : NULL);
        if (error < 0) {
                call_failed(u, error, message);
                return;
        }
        finish_write(u);
        if (u->again)
                unit_reconcile(u);
}

static void write_next(Unit *u) {
        const UnitChange change = change_of(u);
        BusUnitsProperty properties[2];
        size_t n = 0;
        int r = undo_before_unit(u->units->undo, u->place.name, &change);

        if (r < 0) {
                not_prepared(u, REASON_RECORD_UNWRITABLE, r, "the original values cannot be saved");
                return;
        }
        if (u->writes_cpus)
                properties[n++] = (BusUnitsProperty){ "AllowedCPUs", ID_VIEW(&u->next_cpus.value) };
        if (u->writes_mems)
                properties[n++] =
                        (BusUnitsProperty){ "AllowedMemoryNodes", ID_VIEW(&u->next_mems.value) };
        r = bus_units_set_all(u->units->bus.bus, u->place.name, properties, n, on_written, u,
                              &u->call);
        if (r < 0) {
                undo_after_unit(u->units->undo, u->place.name, NULL);
                call_failed(u, r, "");
        }
}

/* True: the property must be written; `ret_next` is its state afterwards. */
static bool plan_property(IdView wanted, KnownProperty *property, KnownProperty *ret_next) {
        IdSet want, value = property->value;
        bool write;

        id_view_convert(wanted, ID_TARGET(&want));
        write = known_property_plan(property, &want, &value);
        *ret_next = *property;
        known_property_done(ret_next, &want, &value);
        if (!write)
                *property = *ret_next;
        return write;
}

/* True if nothing is desired any more and values of tidbnumad are still set. */
static bool gives_back(Unit *u, const UnitDesired *w) {
        UndoRecord *record = undo_of_unit(u->units->undo, u->place.name);

        if (!record || !id_set_is_empty(&w->cpus) || !(u->place.cpus.ours || u->mems.ours))
                return false;
        u->state = "unprepared";
        u->reason = w->reason;
        u->code = w->code;
        undo_release_begin(u->units->undo, record,
                           *w->reason ? w->reason : "no policy names it any more");
        return true;
}

static bool is_on_its_way_back(const Unit *u) {
        const UndoRecord *record = undo_of_unit(u->units->undo, u->place.name);

        return record && record->releasing;
}

void unit_decide(Unit *u) {
        UnitDesired w = { .reason = u->reason };

        if (!u->place.known || u->call || u->units->gathering || !host_enforces(u->units->host) ||
            is_on_its_way_back(u))
                return;
        if (!u->place.loaded) {
                u->state = "missing";
                u->reason = "";
                return;
        }
        if (!u->place.released)
                w = unit_desired_make(u);
        if (!u->idle || gives_back(u, &w))
                return; /* a running unit is not written */
        u->writes_cpus = plan_property(ID_VIEW(&w.cpus), &u->place.cpus, &u->next_cpus);
        u->writes_mems = plan_property(ID_VIEW(&w.mems), &u->mems, &u->next_mems);
        if (u->writes_cpus || u->writes_mems)
                write_next(u);
        else
                settle(u, &w);
}

/* --- giving back --- */

bool unit_is_misused(const Unit *u, uint64_t now_usec) {
        const Units *units = u->units;

        if (u->place.released || u->active_since_usec == 0 ||
            !(u->place.cpus.ours || u->mems.ours) || now_usec < u->active_since_usec + MISUSED_USEC)
                return false;
        return !roster_has_unit(units->roster, u->place.name);
}

void unit_release(Unit *u) {
        UndoRecord *record = undo_of_unit(u->units->undo, u->place.name);

        if (u->call)
                return; /* the next scan retries it */
        u->place.released = true;
        host_mark(u->units->host, HOST_MARK_PLAN);
        u->state = "released";
        u->reason = "no process in it matched its policy";
        log_unit(
                u, LOG_WARNING, NULL, NULL,
                "was prepared, but for a minute no process in it has matched its policy",
                "its original CPUs and memory nodes are restored, until policies are loaded again");
        if (record)
                undo_release_begin(u->units->undo, record, u->reason);
}

/* --- reading --- */

static void note_state(Unit *u, const char *active_state) {
        u->idle = strcmp(active_state, "inactive") == 0 || strcmp(active_state, "failed") == 0;
        if (strcmp(active_state, "active") != 0)
                u->active_since_usec = 0;
        else if (u->active_since_usec == 0)
                u->active_since_usec = clock_monotonic_usec();
        if (!u->idle && !u->place.released)
                u->state = "running";
}

/* A user's name is resolved only when it changes, because this may query a directory service. */
static void note_user(Unit *u, const BusUnit *read) {
        Host *host = u->units->host;
        char *user;

        if (read->dynamic_user && read->user[0] == '\0') {
                u->place.uid_known = false; /* the workers are started later */
                return;
        }
        if (u->user && u->place.uid_known && strcmp(u->user, read->user) == 0)
                return;
        u->place.uid = 0;
        u->place.uid_known =
                read->user[0] == '\0' ||
                worker_look_up_user(&host->workers, &host->sysroot, read->user, &u->place.uid) == 0;
        user = strdup(read->user);
        if (!user)
                return; /* read the user once more */
        free(u->user);
        u->user = user;
}

static void note(Unit *u, const BusUnit *read) {
        const bool planned = u->place.known && u->place.loaded, uid_known = u->place.uid_known;
        const uid_t uid = u->place.uid;
        const bool failed = unit_start_note_read(u, read);

        /* An alias: the unit itself is known by its own name. */
        u->place.loaded =
                strcmp(read->load_state, "loaded") == 0 && strcmp(read->id, u->place.name) == 0;
        note_state(u, read->active_state);
        note_user(u, read);
        undo_read_unit(u->units->undo, u->place.name, read, &u->place.cpus, &u->mems);
        unit_start_note(u, read);
        if (failed)
                unit_start_revoke(u);
        u->place.known = true;
        if (planned != u->place.loaded || uid_known != u->place.uid_known || uid != u->place.uid)
                host_mark(u->units->host, HOST_MARK_PLAN);
}

static void on_read(int error, const BusUnit *read, void *userdata) {
        Unit *u = userdata;

        u->call = sd_bus_slot_unref(u->call);
        if (error < 0) {
                call_failed(u, error, "");
                return;
        }
        note(u, read);
        if (u->again)
                unit_reconcile(u);
        else
                unit_decide(u);
}

void unit_reconcile(Unit *u) {
        int r;

        u->again = u->call != NULL;
        if (u->again)
                return;
        r = bus_manager_read_unit(u->units->bus.bus, u->place.name, on_read, u, &u->call);
        if (r < 0)
                call_failed(u, r, "");
}

void unit_set_state(Unit *u, const char *active_state) {
        const bool failed = unit_start_note_state(u, active_state);

        note_state(u, active_state);
        if (failed)
                unit_start_revoke(u);
        /* A unit that fails or is started again at once may be active whenever it is looked at. */
        if (u->idle || unit_start_is_watched(u))
                unit_reconcile(u);
}

void unit_note_release(Unit *u) {
        const bool was_releasing = u->releasing;

        u->releasing = is_on_its_way_back(u);
        if (was_releasing && !u->releasing)
                unit_reconcile(u);
}
