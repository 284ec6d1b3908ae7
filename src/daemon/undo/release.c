/* Records on their way back. What a part does is enforce's; in which order, when and how often is
 * told here. */
#include <fnmatch.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/binding/bind.h"
#include "tidbnumad/daemon/binding/guard.h"
#include "tidbnumad/daemon/undo/record.h"
#include "tidbnumad/daemon/undo/release.h"
#include "tidbnumad/daemon/units/unit-list.h"
#include "tidbnumad/sys/clock.h"

#define SHOW_POLL_USEC (UINT64_C(50) * 1000)

/* Below TimeoutStopSec= of the unit: 20 services, at 2 s each on a host as slow as our slowest. */
#define STOP_TIMEOUT_USEC (UINT64_C(40) * 1000 * 1000)
enum { STOP_TRIES = 3 };

/* The reverse of binding: memory nodes and CPUs of the group, then the masks within it. */
static const BackendKind ORDER[] = { BACKEND_SYSTEMD, BACKEND_CGROUP1, BACKEND_AFFINITY };

/* --- the list --- */

static Release *release_free(Release *r) {
        sd_bus_slot_unref(r->call);
        restore_done(&r->restore);
        free(r->failure);
        free(r);
        return NULL;
}

static Release *find(const Manager *m, const UndoRecord *record) {
        for (size_t i = 0; i < m->undo.releases.n; i++)
                if (m->undo.releases.list[i]->restore.record == record)
                        return m->undo.releases.list[i];
        return NULL;
}

static void take_out(Manager *m, const Release *release) {
        Releases *all = &m->undo.releases;

        for (size_t i = 0; i < all->n; i++)
                if (all->list[i] == release)
                        all->list[i--] = all->list[--all->n];
}

/* Paused, what is on its way waits as well. */
static bool may_release(const Manager *m) {
        return m->host.stopping || host_enforces(&m->host);
}

static void schedule(Manager *m) {
        uint64_t due = m->host.stopping ? m->undo.releases.stop_usec : INSTANCE_NEVER;

        if (!may_release(m))
                return; /* the next reload comes back to it */
        if (m->undo.releases.n == 0 && m->host.stopping)
                due = 0; /* the last one was given up: nothing is waited for */
        for (size_t i = 0; i < m->undo.releases.n; i++)
                if (m->undo.releases.list[i]->due_usec < due)
                        due = m->undo.releases.list[i]->due_usec;
        if (m->undo.releases.timer && due != INSTANCE_NEVER) {
                (void)sd_event_source_set_time(m->undo.releases.timer, due);
                (void)sd_event_source_set_enabled(m->undo.releases.timer, SD_EVENT_ONESHOT);
        }
}

/* A mover's pass, or a call whose answer would be taken for one of the binding. What systemd has
 * been asked on that connection it does first: ours come after it. */
static void end_binding(Manager *m, const UndoRecord *record) {
        for (size_t k = 0; k < m->roster.n_instances; k++) {
                Instance *i = m->roster.instances[k];

                if (record_of(i) != record)
                        continue;
                i->binding.call = sd_bus_slot_unref(i->binding.call);
                guard_forget(i);
                instance_restart(i, clock_monotonic_usec());
        }
}

static void begin(Release *r, UndoRecord *record) {
        restore_begin(&r->restore, record);
        r->restore.undo = &r->manager->undo.records;
}

void release_begin(Manager *m, UndoRecord *record, const char *why) {
        Releases *all = &m->undo.releases;
        Release *r;

        if (find(m, record))
                return;
        r = calloc(1, sizeof(*r));
        if (!r || ARRAY_RESERVE(all->list, all->allocated, all->n + 1) < 0) {
                free(r); /* the record stays, and the next scan comes back to it */
                return;
        }
        r->manager = m;
        r->why = why;
        r->due_usec = clock_monotonic_usec();
        begin(r, record);
        end_binding(m, record);
        record->releasing = true;
        all->list[all->n++] = r;
        schedule(m);
}

/* --- one of them --- */

static void finish(Release *r) {
        Manager *m = r->manager;
        UndoRecord *record = r->restore.record;
        const JournalFields fields = { .instance = record->instance,
                                       .message_id = JOURNAL_RELEASED };
        const char *shortfall = r->restore.shortfall;
        Unit *u = record->unit ? unit_list_find(&m->units, record->unit) : NULL;

        take_out(m, r);
        m->undo.releases.n_done++;
        journal_log(
                &m->host.journal, LOG_INFO, &fields,
                "%s is released, for %s: its CPUs and memory nodes are what they were before%s%s",
                record->instance, r->why, shortfall ? "; " : "", shortfall ? shortfall : "");
        record_forget(m, record);
        host_mark(&m->host, HOST_MARK_TIDY);
        if (u)
                unit_look(u);
        release_free(r);
        host_mark(&m->host, HOST_MARK_PUBLISH);
}

static void failed(Release *r, int error, const char *message) {
        Manager *m = r->manager;
        UndoRecord *record = r->restore.record;
        const Reason code = reason_of_error(error);
        const JournalFields fields = { .instance = record->instance, .reason = code };

        free(r->failure);
        r->failure_code = code;
        if (asprintf(&r->failure, "%s: %s%s%s; %s", m->host.backend.all[ORDER[r->part]]->name,
                     strerror(-error), *message ? ": " : "", message, reason_to_remedy(code)) < 0)
                r->failure = NULL;
        if (r->failures == 0)
                journal_log(&m->host.journal, LOG_WARNING, &fields,
                            "%s cannot be released yet: %s. It is tried again, and its undo record "
                            "stays until then",
                            record->instance, r->failure ? r->failure : strerror(-error));
        m->undo.releases.n_failures++;
        r->due_usec = clock_monotonic_usec() + pace_backoff_usec(r->failures++);
        r->part = 0;
        r->deadline_usec = 0;
        restore_done(&r->restore);
        begin(r, record);
        if (m->host.stopping && r->failures >= STOP_TRIES) {
                take_out(m, r);
                release_free(r);
        }
}

static void on_reply(int error, const char *message, void *userdata) {
        Release *r = userdata;
        Manager *m = r->manager;

        r->call = sd_bus_slot_unref(r->call);
        r->deadline_usec = 0;
        if (error < 0)
                failed(r, error, message);
        else
                r->due_usec = clock_monotonic_usec();
        schedule(m);
}

/* A write of another kind to the same unit is under way. */
static bool is_busy(const Release *r) {
        const char *unit = r->restore.record->unit;
        const Unit *u = unit ? unit_list_find(&r->manager->units, unit) : NULL;

        return u && u->call;
}

/* It was written and does not show yet. */
static void await(Release *r, uint64_t now_usec) {
        if (r->deadline_usec == 0)
                r->deadline_usec = now_usec + BIND_SHOW_TIMEOUT_USEC;
        r->due_usec = now_usec + SHOW_POLL_USEC;
        if (now_usec >= r->deadline_usec)
                failed(r, -ETIMEDOUT, "it was written, and the kernel does not show it");
}

/* When the last of several units is given back, systemd takes the controller away from all of them,
 * and kernels before 6.2 forget the masks of threads with that: they come last. One that has failed
 * is not waited for; any other goes on, or fails in time. */
static bool is_before_masks(const Release *r) {
        return r->failures == 0 && ORDER[r->part] != BACKEND_AFFINITY;
}

static bool must_masks_wait(const Release *r) {
        const Releases *all = &r->manager->undo.releases;

        for (size_t i = 0; i < all->n; i++)
                if (all->list[i] != r && is_before_masks(all->list[i]))
                        return true;
        return false;
}

static void carry_on(Release *r, uint64_t now_usec) {
        Backend *backend = &r->manager->host.backend;

        if (is_busy(r)) {
                r->due_usec = now_usec + SHOW_POLL_USEC;
                return;
        }
        r->due_usec = INSTANCE_NEVER;
        for (; r->part < ELEMENTSOF(ORDER); r->part++) {
                int result;

                if (ORDER[r->part] == BACKEND_AFFINITY && must_masks_wait(r)) {
                        r->due_usec = now_usec + SHOW_POLL_USEC;
                        return;
                }
                result = backend->all[ORDER[r->part]]->restore(backend, &r->restore, on_reply, r,
                                                               &r->call);
                if (result == 0)
                        return; /* its answer carries on */
                if (result == -EAGAIN)
                        await(r, now_usec);
                else if (result < 0)
                        failed(r, result, "");
                if (result < 0)
                        return;
        }
        finish(r);
}

/* --- all of them --- */

static void end_stop(Manager *m, uint64_t now_usec) {
        if (!m->host.stopping || (m->undo.releases.n > 0 && now_usec < m->undo.releases.stop_usec))
                return;
        if (m->undo.records.n_records > 0)
                journal_log(&m->host.journal, LOG_WARNING, NULL,
                            "Stopping; %zu could not be released in time and stay bound. Their "
                            "undo records stay, too: a start of the daemon takes them over",
                            m->undo.records.n_records);
        host_mark(&m->host, HOST_MARK_EXIT);
}

void release_at_due(Manager *m, uint64_t now_usec) {
        /* From the end: what is done or given up is taken out, and the last put in its place. */
        for (size_t i = m->undo.releases.n; i > 0 && may_release(m); i--)
                if (i <= m->undo.releases.n && !m->undo.releases.list[i - 1]->call &&
                    m->undo.releases.list[i - 1]->due_usec <= now_usec)
                        carry_on(m->undo.releases.list[i - 1], now_usec);
        schedule(m);
        end_stop(m, now_usec);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        release_at_due(userdata, clock_monotonic_usec());
        return 0;
}

int release_start(Manager *m) {
        int r = sd_event_add_time(m->host.event, &m->undo.releases.timer, CLOCK_MONOTONIC, 0, 1000,
                                  on_timer, m);

        return r < 0 ? r : sd_event_source_set_enabled(m->undo.releases.timer, SD_EVENT_OFF);
}

void release_done(Manager *m) {
        for (size_t i = 0; i < m->undo.releases.n; i++)
                release_free(m->undo.releases.list[i]);
        free(m->undo.releases.list);
        sd_event_source_unref(m->undo.releases.timer);
        m->undo.releases = (Releases){ 0 };
}

/* --- what is wanted --- */

bool release_is_asked(const Host *host, const char *name, const char *unit) {
        const WordList *globs = &host->policies.release;

        for (size_t i = 0; i < globs->n_words; i++)
                if (fnmatch(globs->words[i], name, 0) == 0 ||
                    (unit && fnmatch(globs->words[i], unit, 0) == 0))
                        return true;
        return false;
}

bool release_if_asked(Instance *i) {
        const bool asked = release_is_asked(&i->manager->host, i->name, i->unit);
        UndoRecord *record = asked && host_enforces(&i->manager->host) ? record_of(i) : NULL;

        if (record)
                release_begin(i->manager, record, "enforcement.release names it");
        return asked;
}

/* Of one that was only looked at, the record may tell why it has no place. */
static bool has_something(const UndoRecord *record) {
        return undo_record_has_unit(record) || record->given.n > 0 || record->scope;
}

void release_without_place(Instance *i) {
        const Planned *p = &i->planned;
        UndoRecord *record = host_enforces(&i->manager->host) ? record_of(i) : NULL;

        if (record && has_something(record) && p->known && p->refusal != REFUSAL_NO_PORT_YET &&
            id_set_is_empty(&p->placement.nodes))
                release_begin(i->manager, record, "it has no place any more");
}

static const Instance *instance_of(const Manager *m, const UndoRecord *record) {
        for (size_t i = 0; i < m->roster.n_instances; i++)
                if (record_of(m->roster.instances[i]) == record)
                        return m->roster.instances[i];
        return NULL;
}

/* Of a unit without an instance: what is prepared for its next start, or a start that is under
 * way. */
static const char *why_unwanted(const Manager *m, const UndoRecord *record) {
        const Instance *i = instance_of(m, record);
        const char *name = i ? i->name : record->instance;

        if (release_is_asked(&m->host, name, record->unit) ||
            release_is_asked(&m->host, record->instance, record->unit))
                return "enforcement.release names it";
        if (!m->host.policies_known)
                return NULL;
        /* A built-in policy watches, and gives no place. */
        if (i ? !i->policy->built_in
              : record->unit && known_unit_is_named(&m->host.policies, record->unit))
                return NULL;
        return "no policy names it any more";
}

void release_unwanted(Manager *m) {
        if (!host_enforces(&m->host))
                return;
        for (size_t i = m->undo.records.n_records; i > 0; i--) {
                const char *why = why_unwanted(m, m->undo.records.records[i - 1]);

                if (why)
                        release_begin(m, m->undo.records.records[i - 1], why);
        }
        schedule(m);
}

void release_stray(Manager *m) {
        if (!m->host.policies_known || !host_enforces(&m->host))
                return;
        for (size_t i = m->undo.records.n_records; i > 0; i--) {
                UndoRecord *record = m->undo.records.records[i - 1];

                if (record->releasing || instance_of(m, record))
                        continue;
                if (undo_prune(&m->undo.records, record))
                        record_forget(m, record);
                else if (record->n_processes > 0 && why_unwanted(m, record))
                        release_begin(m, record, "its process is not the policy's any more");
                else if (record->n_processes == 0 && record->scope)
                        release_begin(m, record, "its process has ended");
        }
}

bool release_before_stop(Manager *m) {
        if (m->host.policies.on_stop != ON_STOP_RESTORE || !host_enforces(&m->host) ||
            m->undo.records.n_records == 0)
                return false;
        m->host.stopping = true;
        m->undo.releases.stop_usec = clock_monotonic_usec() + STOP_TIMEOUT_USEC;
        for (size_t k = 0; k < m->roster.n_instances; k++) /* nothing moves from now on */
                instance_restart(m->roster.instances[k], clock_monotonic_usec());
        for (size_t i = m->undo.records.n_records; i > 0; i--)
                release_begin(m, m->undo.records.records[i - 1], "enforcement.on_stop is restore");
        schedule(m);
        return true;
}
