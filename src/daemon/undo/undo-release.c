/* Releases undo records: in which order, when, and how often. change/backend.h restores each kind
 * of value. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/clock.h"

#define SHOW_POLL_USEC (UINT64_C(50) * 1000)

/* Less than TimeoutStopSec= of the daemon's unit: 20 services with 2 s each, as on the slowest host
 * tested. */
#define STOP_TIMEOUT_USEC (UINT64_C(40) * 1000 * 1000)
enum { STOP_TRIES = 3 };

/* For as many attempts of another release the masks of this one wait. A busy host lets one or two
 * fail. */
enum { MASKS_WAIT_TRIES = 3 };

/* The reverse order of binding: memory nodes and CPUs of the group, then the masks within it. */
static const BackendKind ORDER[] = { BACKEND_SYSTEMD, BACKEND_CGROUP1, BACKEND_AFFINITY };

/* --- the list --- */

static void release_free(UndoRelease *r) {
        sd_bus_slot_unref(r->call.slot);
        undo_restore_done(&r->restore);
        error_done(&r->failure);
        free(r);
}

/* A pause also stops releases under way, but not those that an operator asked for. */
static bool release_is_allowed(const UndoRelease *r) {
        const Host *host = r->undo->host;

        return host->stopping || host_enforces(host) || (r->asked && host_obeys(host));
}

static void releases_schedule(Undoing *undo) {
        uint64_t due = undo_release_is_stopping(undo) ? undo->releases.stop_usec : INSTANCE_NEVER;

        if (undo->releases.n == 0 && undo_release_is_stopping(undo))
                due = 0; /* the last release was abandoned: do not wait */
        for (size_t i = 0; i < undo->releases.n; i++) /* the next reload retries the others */
                if (release_is_allowed(undo->releases.list[i]) &&
                    undo->releases.list[i]->retry.due_usec < due)
                        due = undo->releases.list[i]->retry.due_usec;
        if (undo->releases.timer && due != INSTANCE_NEVER)
                (void)event_source_arm(undo->releases.timer, due);
}

static void release_begin(UndoRelease *r, UndoRecord *record) {
        undo_restore_begin(&r->restore, record);
        r->restore.undo = &r->undo->records;
}

static const char requested[] = "it was requested"; /* also while the daemon is paused */
static const char ended[] = "its process has ended";

void undo_release_begin(Undoing *undo, UndoRecord *record, const char *why) {
        UndoReleases *all = &undo->releases;
        UndoRelease *r;

        if (!why)
                return;
        for (size_t i = 0; i < all->n; i++)
                if (all->list[i]->restore.record == record) {
                        all->list[i]->asked |= why == requested;
                        releases_schedule(undo);
                        return;
                }
        r = calloc(1, sizeof(*r));
        if (!r || ARRAY_RESERVE(all->list, all->allocated, all->n + 1) < 0) {
                free(r); /* the record stays, and the next scan retries it */
                return;
        }
        r->undo = undo;
        r->why = why;
        r->asked = why == requested;
        r->retry.due_usec = clock_monotonic_usec();
        release_begin(r, record);
        /* Ends a pass of the mover, and drops a call whose answer would be taken for one of a later
         * binding. systemd handles requests of one connection in order, so those of the release
         * come after it. */
        REGISTRY_FOREACH(i, undo->registry)
        if (i->undo.record == record)
                instance_queue(i, WORK_RECORD);
        record->releasing = true;
        host_queue(undo->host, HOST_WORK_UNITS);
        all->list[all->n++] = r;
        releases_schedule(undo);
}

/* --- one of them --- */

static void release_failed(UndoRelease *r, const Error *error) {
        Undoing *undo = r->undo;
        UndoRecord *record = r->restore.record;
        const Reason code = reason_of_error(error->code);
        const JournalFields fields = { .instance = record->instance, .reason = code };
        _cleanup_text_ Text remedy = { 0 };

        reason_append_remedy(&remedy, code, undo_record_unit(record));
        r->failure_code = code;
        (void)error_set(&r->failure, error->code, "%s: %s; %s",
                        undo->host->backend.all[ORDER[r->part]]->name, error_sentence(error),
                        text_string(&remedy));
        if (r->retry.failures == 0)
                journal_log(&undo->host->journal, LOG_WARNING, &fields,
                            "%s cannot be released yet: %s. Trying again; its undo record is kept "
                            "until then",
                            record->instance, error_sentence(&r->failure));
        undo->releases.n_failures++;
        retry_failed(&r->retry, RETRY_FIRST_USEC, RETRY_LAST_USEC, clock_monotonic_usec());
        r->part = 0;
        r->deadline_usec = 0;
        undo_restore_done(&r->restore);
        release_begin(r, record);
        if (undo->host->stopping && r->retry.failures >= STOP_TRIES) {
                ARRAY_DROP(undo->releases.list, undo->releases.n, r);
                release_free(r);
        }
}

static void on_reply(const Error *error, void *userdata) {
        UndoRelease *r = userdata;
        Undoing *undo = r->undo;

        r->call.slot = sd_bus_slot_unref(r->call.slot);
        r->deadline_usec = 0;
        if (error->code < 0)
                release_failed(r, error);
        else
                r->retry.due_usec = clock_monotonic_usec();
        releases_schedule(undo);
}

/* A late write of the binding would bind a released instance again, without an undo record. */
static bool release_awaits_late_write(const UndoRelease *r) {
        const UndoRecord *record = r->restore.record;

        for (size_t i = 0; i < record->n_processes; i++)
                if (workers_write_group_of(r->undo->host->workers, &record->processes[i].id))
                        return true;
        return false;
}

/* Masks are restored last: when the last of several units is released, systemd disables the
 * controller for all of them, and kernels before 6.2 then forget the masks of threads: those of a
 * release that is complete are lost, for its record is gone. Not waited for are a release that
 * keeps failing, one that a pause holds up, and one that a worker holds up; any other one
 * completes, or fails in time. */
static bool release_masks_must_wait(const UndoRelease *r) {
        const UndoReleases *all = &r->undo->releases;

        for (size_t i = 0; i < all->n; i++) {
                const UndoRelease *other = all->list[i];

                if (other != r && other->retry.failures < MASKS_WAIT_TRIES &&
                    ORDER[other->part] != BACKEND_AFFINITY && release_is_allowed(other) &&
                    !release_awaits_late_write(other))
                        return true;
        }
        return false;
}

static void release_carry_on(UndoRelease *r, uint64_t now_usec) {
        Undoing *undo = r->undo;
        UndoRecord *record = r->restore.record;
        const JournalFields fields = { .instance = record->instance,
                                       .message_id = JOURNAL_RELEASED };
        Backend *backend = &undo->host->backend;
        const char *shortfall;

        /* A write of another kind to the same unit or process is under way, or what the admin has
         * just set is being read. */
        if (record->busy || release_awaits_late_write(r) ||
            (!record->restoring && undo_admin_is_reading(undo, record))) {
                r->retry.due_usec = now_usec + SHOW_POLL_USEC;
                return;
        }
        record->restoring = true;
        r->retry.due_usec = INSTANCE_NEVER;
        r->call = (BackendCall){ .reply = on_reply, .userdata = r };
        for (; r->part < ELEMENTSOF(ORDER); r->part++) {
                int result;

                if (ORDER[r->part] == BACKEND_AFFINITY && release_masks_must_wait(r)) {
                        r->retry.due_usec = now_usec + SHOW_POLL_USEC;
                        return;
                }
                backend->threads_whole = r->loop_passes >= OTHERS_PASSES_MAX;
                result = backend->all[ORDER[r->part]]->restore(backend, &r->restore, &r->call);
                backend->threads_whole = false;
                if (result == 0)
                        return; /* the answer continues the release */
                if (result == -EAGAIN) {
                        /* Waits for a value that was written and does not show yet. */
                        if (r->deadline_usec == 0)
                                r->deadline_usec = now_usec + UNDO_SHOW_TIMEOUT_USEC;
                        r->retry.due_usec = now_usec + SHOW_POLL_USEC;
                        if (now_usec >= r->deadline_usec)
                                release_failed(r,
                                               &(Error){ -ETIMEDOUT, "it was written, but the "
                                                                     "kernel does not show it" });
                } else if (result == -EINPROGRESS) {
                        r->loop_passes++;
                        r->retry.due_usec = now_usec; /* the next pass of the loop goes on */
                } else if (result < 0)
                        release_failed(r, &(Error){ .code = result });
                if (result < 0)
                        return;
        }
        shortfall = r->restore.shortfall;
        if (!shortfall && !undo_record_has_unit(record) &&
            record->n_processes >= INSTANCE_PROCESSES_MAX)
                shortfall = "further processes of it, which are not watched, keep the CPUs that "
                            "they have inherited";
        ARRAY_DROP(undo->releases.list, undo->releases.n, r);
        undo->releases.n_done++;
        journal_log(
                &undo->host->journal, LOG_INFO, &fields,
                "%s is released, for %s: its CPUs and memory nodes are what they were before%s%s",
                record->instance, r->why, shortfall ? "; " : "", shortfall ? shortfall : "");
        undo_reset(undo, record);
        host_queue(undo->host, HOST_WORK_TIDY | HOST_WORK_UNITS | HOST_WORK_PUBLISH);
        release_free(r);
}

/* --- all of them --- */

void undo_release_at_due(Undoing *undo, uint64_t now_usec) {
        /* From the end, because a completed release is replaced by the last one in the list. */
        for (size_t i = undo->releases.n; i > 0; i--) {
                UndoRelease *r = i <= undo->releases.n ? undo->releases.list[i - 1] : NULL;

                if (r && release_is_allowed(r) && !r->call.slot && r->retry.due_usec <= now_usec)
                        release_carry_on(r, now_usec);
        }
        releases_schedule(undo);
        if (!undo_release_is_stopping(undo) ||
            (undo->releases.n > 0 && now_usec < undo->releases.stop_usec))
                return;
        undo->releases.stop_usec = 0;
        if (undo->records.n_records > 0)
                journal_log(&undo->host->journal, LOG_WARNING, NULL,
                            "Stopping; %zu could not be released in time and stay bound. Their "
                            "undo records are kept for the next start of the daemon",
                            undo->records.n_records);
        host_queue(undo->host, HOST_WORK_EXIT);
}

static int on_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec, void *userdata) {
        Undoing *undo = userdata;

        undo_release_at_due(undo, clock_monotonic_usec());
        return 0;
}

int undo_release_start(Undoing *undo) {
        return event_source_add_off(undo->host->event, &undo->releases.timer, 1000, on_timer, undo);
}

void undo_release_done(Undoing *undo) {
        for (size_t i = 0; i < undo->releases.n; i++)
                release_free(undo->releases.list[i]);
        free(undo->releases.list);
        sd_event_source_unref(undo->releases.timer);
        undo->releases = (UndoReleases){ 0 };
}

/* --- what is wanted --- */

const char *undo_release_explain(const Undoing *undo, const Instance *i) {
        if (!undo_is_open(undo))
                return "released on request, but its original binding cannot be restored, because "
                       "the undo records cannot be read; see the journal";
        if (!host_obeys(undo->host))
                return "released on request; a dry run restores nothing";
        /* systemd ends a scope with its last process, and makes none again. */
        return !i->undo.record && scope_of(i)
                       ? "released on request; its CPUs and memory nodes are restored, but it "
                         "stays "
                         "in a scope of tidbnumad, as its original one ended when it became empty; "
                         "monitoring only"
                       : "released on request; original binding restored, monitoring only";
}

bool undo_release_note_asked(const Undoing *undo, Instance *i) {
        i->undo.released = requests_release(&undo->host->requests, i->name, i->unit);
        return i->undo.released;
}

/* Why the record is to be released; NULL: it is not. `i`: its instance; NULL: it has none. */
static const char *release_reason(const Undoing *undo, const UndoRecord *record,
                                  const Instance *i) {
        const Host *host = undo->host;
        const Assignment *p = i ? &i->planned : NULL;

        /* The record has the name that the instance had when it was bound. */
        if (requests_release(&host->requests, i ? i->name : record->instance,
                             i ? i->unit : record->unit))
                return host_obeys(host) ? requested : NULL;
        if (!host_enforces(host))
                return NULL;
        if (!i && record->scope && record->n_processes == 0)
                return ended;
        if (host->reloading) /* some processes have not been looked at by the new policies */
                return NULL;
        if (!i && record->unit && ignored_has_unit(&undo->registry->ignored, record->unit))
                return "its processes are another user's, or a container's";
        /* A built-in policy only watches and assigns no place. A unit without an instance: its
         * prepared values, or a start that is under way. */
        if (host->policies_known &&
            (i ? i->policy->built_in
               : !record->unit || !known_unit_is_named(&host->policies, record->unit)))
                return "no policy names it any more";
        /* For good. A record without changes only keeps why it has none. */
        if (i && undo_record_has_changes(record) && p->known && p->refusal != REFUSAL_NO_PORT_YET &&
            id_set_is_empty(&p->placement.nodes))
                return "it has no place any more";
        /* The admin's later settings leave none of its nodes: they take precedence over our values.
         */
        return i && undo_record_has_unit(record) ? i->binding.own_refuses : NULL;
}

void undo_release_check(Undoing *undo, const Instance *i) {
        if (i->undo.record)
                undo_release_begin(undo, i->undo.record, release_reason(undo, i->undo.record, i));
}

void undo_release_note_left(Undoing *undo, const Instance *i) {
        UndoRecord *record = i->undo.record;

        if (!record || record->releasing)
                return;
        if (undo_prune(&undo->records, record) && i->n_members == 0)
                undo_reset(undo, record);
        else if (record->scope && i->n_members == 0)
                undo_release_begin(undo, record, ended);
}

void undo_release_check_all(Undoing *undo) {
        undo_remove_leftovers(&undo->records);
        for (size_t k = undo->records.n_records; k > 0; k--) {
                UndoRecord *record = undo->records.records[k - 1];
                const Instance *its = NULL;

                REGISTRY_FOREACH(i, undo->registry)
                if (i->undo.record == record)
                        its = i;
                if (!its && !record->releasing && host_enforces(undo->host) &&
                    undo_prune(&undo->records, record))
                        undo_reset(undo, record);
                else
                        undo_release_begin(undo, record, release_reason(undo, record, its));
        }
        releases_schedule(undo);
}

bool undo_release_is_stopping(const Undoing *undo) {
        return undo->releases.stop_usec != 0;
}

void undo_release_end_stop(Undoing *undo) {
        undo->releases.stop_usec = 0;
}

bool undo_release_before_stop(Undoing *undo) {
        if (undo->host->policies.on_stop != ON_STOP_RESTORE || !host_enforces(undo->host) ||
            undo->records.n_records == 0)
                return false;
        undo->host->stopping = true;
        undo->releases.stop_usec = clock_monotonic_usec() + STOP_TIMEOUT_USEC;
        for (size_t i = undo->records.n_records; i > 0; i--)
                undo_release_begin(undo, undo->records.records[i - 1],
                                   "enforcement.on_stop is restore");
        releases_schedule(undo);
        return true;
}
