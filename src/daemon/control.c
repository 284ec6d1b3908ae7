/* The control socket: connections, calls that wait for their effect, and what each method does.
 * ctl/command-control.c is the other side. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/control.h"
#include "tidbnumad/daemon/host/host.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/report/publish.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/control.h"

/* Each operator needs one; where there are more, the one that was idle for longest is closed, and
 * the next one waits until one is idle. Of the second number of them a call may wait. */
enum { CONNECTIONS_MAX = 32, WAITING_MAX = 16 };

/* Who has just come is about to say what it wants. */
#define IDLE_USEC (UINT64_C(250) * 1000)

/* Answers that a client does not read. */
enum { UNREAD_MAX = 16 };

/* Names of one call. */
enum { NAMES_MAX = 64 };

/* A call that is not complete is looked at again after this time. */
#define POLL_USEC (UINT64_C(50) * 1000)

/* A call is answered after this time at the latest. A release takes seconds for each unit with
 * systemd on a slow host. */
#define DEADLINE_USEC (UINT64_C(180) * 1000 * 1000)

/* A reload waits this long at most for the releases that follow from it. */
#define RELOAD_RELEASES_USEC (UINT64_C(10) * 1000 * 1000)

/* Without a free descriptor, connections are taken again after this time. */
#define REFUSE_USEC (UINT64_C(1000) * 1000)

/* The signal Progress is sent once in this time at most. */
#define PROGRESS_USEC (UINT64_C(1000) * 1000)

/* Calls begin in the order in which they came, and so long one after the other: whoever calls
 * without end takes a small part of the loop's time. */
#define BETWEEN_USEC (UINT64_C(100) * 1000)

typedef struct Method Method;

typedef struct Call {
        const Method *method;    /* NULL: no call waits */
        sd_bus_message *message; /* owned */
        WordList globs;
        WordList released; /* of Bind: what it ends the release of, beside instances */
        bool wait;         /* else it is answered when it has begun */
        bool ends_trial;   /* of Reload: it releases what a trial has kept */
        int unkept; /* why it could not be written, and ends with the daemon; 0: it is kept */
        bool begun;
        uint64_t due_usec; /* when it begins */
        uint64_t deadline_usec;
        uint64_t said_usec; /* when progress was said */
        char *progress;     /* what was said; owned */
} Call;

typedef struct Connection {
        Control *control;
        sd_bus *bus;
        Call call;
        uint64_t used_usec;
        bool greeted; /* libsystemd may have read more than the greeting */
        bool ended;
} Connection;

enum { SPARES = 4 };

struct Control {
        Manager *m;
        int fd;      /* -EBADF: it could not be made */
        ino_t inode; /* of the socket's name */
        bool failed; /* logged */
        sd_event_source *source, *timer, *exit;
        Connection *connections[CONNECTIONS_MAX];
        size_t n;
        uint64_t free_usec;    /* when the next call may begin */
        bool refuses;          /* no connection can be taken for now */
        int spare_fds[SPARES]; /* see keep_spares(); negative: it was given up */
        Connection *trial;     /* who makes a trial; NULL: nobody */
};

/* What is answered: lines, or an error. */
typedef struct ControlAnswer {
        WordList lines;
        const char *error; /* NULL: none */
        Text sentence;
        int result; /* -ENOMEM */
} ControlAnswer;

struct Method {
        const char *name, *signature;
        /* Starts what the call asks for, without waiting. */
        void (*begin)(Control *c, Call *call, ControlAnswer *answer);
        /* Adds what it waits for; nothing: it is complete. NULL: it never waits. */
        void (*await)(const Control *c, const Call *call, Text *missing);
        void (*tell)(const Control *c, const Call *call, ControlAnswer *answer);
        const char *done; /* the answer's first line; NULL: `tell` has it */
};

static void end_connection(Connection *connection);

/* --- answers --- */

static void answer_done(ControlAnswer *a) {
        word_list_done(&a->lines);
        text_done(&a->sentence);
}
#define _cleanup_answer_ _cleanup_(answer_done)

/* Names of processes are any bytes, and a string of D-Bus is UTF-8. */
static void append_visible(Text *text, const char *string) {
        utf8_append_visible(text, string, strlen(string), "\n\t");
}

static void answer_add(ControlAnswer *a, const char *format, ...) _printf_(2, 3);
static void answer_add(ControlAnswer *a, const char *format, ...) {
        _cleanup_text_ Text text = { 0 }, line = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&text, format, args);
        va_end(args);
        text_append(&line, "");
        append_visible(&line, text.data ? text.data : "");
        if (text.error < 0 || line.error < 0 || word_list_add(&a->lines, line.data) < 0)
                a->result = -ENOMEM;
}

static void answer_refuse(ControlAnswer *a, const char *error, const char *format, ...)
        _printf_(3, 4);
static void answer_refuse(ControlAnswer *a, const char *error, const char *format, ...) {
        va_list args;

        a->error = error;
        va_start(args, format);
        text_appendv(&a->sentence, format, args);
        va_end(args);
}

/* --- names --- */

static bool call_names(const Call *call, const char *name, const char *unit) {
        return word_list_names(&call->globs, name, unit);
}

/* What one glob names, of the instances, units, records and devices. */
typedef struct Search {
        WordList glob;
        const Requests *requests; /* NULL: `released` is not wanted */
        Suggestion similar;       /* with `word` */
        bool named, released;     /* anything; anything that is released by `requests` */
} Search;

static void search_consider(Search *s, const char *name, const char *unit) {
        if (s->similar.word)
                suggest(&s->similar, name);
        if (!word_list_names(&s->glob, name, unit))
                return;
        s->named = true;
        s->released = s->released || (s->requests && requests_release(s->requests, name, unit));
}

static void search_all(const Control *c, Search *s) {
        const Manager *m = c->m;

        REGISTRY_FOREACH(i, &m->registry)
        search_consider(s, i->name, i->unit);
        for (size_t i = 0; i < m->units.n_units; i++)
                search_consider(s, m->units.units[i]->place.label, m->units.units[i]->place.name);
        for (size_t i = 0; i < m->undo.records.n_records; i++)
                search_consider(s, m->undo.records.records[i]->instance,
                                m->undo.records.records[i]->unit);
        for (size_t i = 0; m->irq && i < m->irq->last.n_devices; i++)
                search_consider(s, m->irq->last.devices[i].name, NULL);
        search_consider(s, RELEASE_HOST, NULL);
}

/* False: nothing has the name, and the answer says so. */
static bool check_name(const Control *c, char *glob, ControlAnswer *answer) {
        Search s = { .glob = { .words = &glob, .n_words = 1 }, .similar.word = glob };

        search_all(c, &s);
        if (!s.named && s.similar.nearest)
                answer_refuse(answer, CONTROL_ERROR_UNKNOWN,
                              "no instance, unit or device is named '%s', did you mean '%s'?", glob,
                              s.similar.nearest);
        else if (!s.named)
                answer_refuse(answer, CONTROL_ERROR_UNKNOWN,
                              "no instance, unit or device is named '%s'; tidbnumactl status lists "
                              "all",
                              glob);
        return s.named;
}

/* --- what all of them share --- */

static bool refuse_dry_run(const Control *c, ControlAnswer *answer) {
        if (host_obeys(&c->m->host))
                return false;
        answer_refuse(answer, CONTROL_ERROR_REFUSED, "%s",
                      c->m->host.stopping ? "the daemon is stopping"
                                          : "the daemon was started with --dry-run, and changes "
                                            "nothing");
        return true;
}

/* Puts `fresh` in the place of what was requested. The same once more costs little. Returns why it
 * could not be written, or 0. */
static int requests_follow(Control *c, Requests *fresh) {
        Requests *requests = &c->m->host.requests;
        const bool all = requests->paused != fresh->paused || requests->trial != fresh->trial;
        bool same = !all && requests->n == fresh->n;
        int r;

        for (size_t i = 0; same && i < fresh->n; i++)
                same = requests->list[i].released == fresh->list[i].released &&
                       strcmp(requests->list[i].glob, fresh->list[i].glob) == 0;
        requests_done(requests);
        *requests = TAKE_STRUCT(*fresh);
        r = requested_write(&c->m->host);
        if (r < 0)
                journal_log(&c->m->host.journal, LOG_WARNING, NULL,
                            "What was requested cannot be written to %s: %s. It ends with this "
                            "daemon",
                            c->m->host.args->runtime_dir, strerror(-r));
        if (same)
                undo_release_check_all(&c->m->undo);
        else
                manager_follow_requests(c->m, all);
        return r < 0 ? r : 0;
}

/* What a trial is followed by that has bound, and that is not kept. Where the mode is enforce, what
 * was released before is released again. */
static TrialRequest after_trial(const Control *c) {
        return c->m->host.policies.mode == ENFORCEMENT_OBSERVE ? TRIAL_REQUEST_ENDS
                                                               : TRIAL_REQUEST_NONE;
}

/* An operator's pause or release comes before somebody's trial, which ends. */
static void interrupt_trial(Control *c, Requests *fresh) {
        if (!c->trial)
                return;
        end_connection(c->trial);
        c->trial = NULL;
        if (fresh->trial == TRIAL_REQUEST_BINDS)
                fresh->trial = after_trial(c);
}

static void set_paused(Control *c, Call *call, bool paused, ControlAnswer *answer) {
        _cleanup_requests_ Requests fresh = { 0 };

        answer->result = requests_copy(&c->m->host.requests, &fresh);
        if (answer->result < 0)
                return;
        fresh.paused = paused;
        interrupt_trial(c, &fresh);
        call->unkept = requests_follow(c, &fresh);
}

static void tell_notes(const Control *c, const Call *call, ControlAnswer *answer) {
        const Host *h = &c->m->host;

        if (call->unkept < 0)
                answer_add(answer,
                           "note: this cannot be written to %s%s, and ends when the daemon ends",
                           h->args->runtime_dir,
                           call->unkept == -ENOSPC ? ", whose file system is full" : "");
        if (!h->policy_load_success && h->policy_errors.n_messages > 0)
                answer_add(answer,
                           "note: the policy files have errors, %s. 'tidbnumactl validate' shows "
                           "them; the first: %s",
                           h->policies_known ? "so the daemon keeps the policies in force"
                                             : "and no policy is in force",
                           h->policy_errors.messages[0]);
}

static void tell_instances(const Control *c, const Call *call, ControlAnswer *answer) {
        REGISTRY_FOREACH(i, &c->m->registry) {
                const char *state;
                bool repeats;
                Verdict v;

                if (!call_names(call, i->name, i->unit))
                        continue;
                if (!call->wait) { /* its state is still the former one */
                        answer_add(answer, "%s: begun; tidbnumactl status shows its state",
                                   i->name);
                        continue;
                }
                v = reconcile_verdict(&c->m->binding, i);
                state = instance_state_to_string(v.state);
                /* Some reasons begin with the state: "released on request". */
                repeats = strncmp(v.reason, state, strlen(state)) == 0;
                answer_add(answer, "%s: %s%s%s", i->name, repeats ? "" : state,
                           repeats || !*v.reason ? "" : ": ", v.reason);
        }
}

static void append_missing(Text *missing, const char *name, const char *what, const char *why) {
        text_append(missing, missing->length > 0 ? "\n" : "");
        append_visible(missing, name);
        text_appendf(missing, ": %s%s", what, why ? ": " : "");
        append_visible(missing, why ? why : "");
}

/* --- Reload --- */

static void reload(Control *c, Call *call, ControlAnswer *answer) {
        const Host *h = &c->m->host;
        const int r = manager_reload(c->m);

        call->ends_trial = h->requests.trial == TRIAL_REQUEST_ENDS;
        if (r == -ENOMEM)
                answer->result = r;
        if (h->policy_load_success && r < 0)
                answer_refuse(answer, CONTROL_ERROR_REFUSED, "the reload failed: %s", strerror(-r));
        if (h->policy_load_success)
                return;
        answer_refuse(answer, CONTROL_ERROR_REFUSED, "the policies are refused, and %s:\n",
                      h->policies_known ? "those in force stay" : "none are in force");
        for (size_t i = 0; i < h->policy_errors.n_messages; i++) {
                text_append(&answer->sentence, i > 0 ? "\n" : "");
                diagnostics_render(&h->policy_errors, i, &answer->sentence);
        }
}

/* What the new policies name no more has its former values then, unless its release fails or takes
 * long: that is its own, and status shows it. */
static void await_reloaded(const Control *c, const Call *call, Text *missing) {
        const UndoReleases *releases = &c->m->undo.releases;
        const bool waits = host_enforces(&c->m->host) &&
                           clock_monotonic_usec() < call->due_usec + RELOAD_RELEASES_USEC;

        if (c->m->host.reloading)
                append_missing(missing, "reload", "processes are being looked at", NULL);
        for (size_t i = 0; waits && i < releases->n; i++)
                if (!releases->list[i]->failure.sentence)
                        append_missing(missing, releases->list[i]->restore.record->instance,
                                       "release in progress", NULL);
}

static void tell_reloaded(const Control *c, const Call *call, ControlAnswer *answer) {
        const Host *h = &c->m->host;
        const size_t n = policy_set_count_written(&h->policies);

        answer_add(answer, "%zu polic%s in force%s", n, n == 1 ? "y is" : "ies are",
                   n == 0 && host_enforces(h) ? ": instances are only watched, and bound no more"
                   : n == 0                   ? ": instances are watched, and no process "
                                                "is changed"
                   : host_enforces(h)         ? ""
                   : h->requests.paused       ? "; the daemon is paused"
                   : call->ends_trial ? ", mode observe: what the trial has bound is released"
                   : host_mode(h) == DAEMON_OBSERVING ? ", mode observe: nothing is changed"
                                                      : "; a dry run changes nothing");
        for (size_t i = 0; i < h->policy_warnings.n_messages; i++)
                answer_add(answer, "warning: %s", h->policy_warnings.messages[i]);
}

/* --- Pause, Resume --- */

/* It also ends what an earlier replan has begun. */
static void pause_all(Control *c, Call *call, ControlAnswer *answer) {
        if (refuse_dry_run(c, answer))
                return;
        REGISTRY_FOREACH(i, &c->m->registry)
        binding_forget_asked(i);
        set_paused(c, call, true, answer);
}

static void await_quiet(const Control *c, _unused_ const Call *call, Text *missing) {
        REGISTRY_FOREACH(i, &c->m->registry)
        if (i->binding.call.slot)
                append_missing(missing, i->name, "a change is being completed", NULL);
}

static void resume(Control *c, Call *call, ControlAnswer *answer) {
        const Host *h = &c->m->host;
        const bool was_paused = h->requests.paused;

        if (refuse_dry_run(c, answer))
                return;
        set_paused(c, call, false, answer);
        if (host_mode(h) == DAEMON_OBSERVING)
                answer_refuse(answer, CONTROL_ERROR_REFUSED,
                              "%s: a policy file sets enforcement.mode: observe; change that file",
                              was_paused ? "the pause has ended, but the daemon still changes "
                                           "nothing"
                                         : "not paused by 'tidbnumactl pause'");
}

/* --- Release --- */

static bool check_undo(const Control *c, ControlAnswer *answer) {
        if (undo_is_open(&c->m->undo))
                return true;
        answer_refuse(answer, CONTROL_ERROR_REFUSED,
                      "the undo records in %s/undo cannot be read, so nothing can be restored; "
                      "the journal says why: journalctl -u tidbnumad",
                      c->m->host.args->runtime_dir);
        return false;
}

/* All of them or none. */
static void request_names(Control *c, Call *call, bool released, ControlAnswer *answer) {
        _cleanup_requests_ Requests fresh = { 0 };
        int r = requests_copy(&c->m->host.requests, &fresh);

        for (size_t i = 0; r >= 0 && i < call->globs.n_words; i++)
                r = requests_add(&fresh, call->globs.words[i], released);
        /* Drops a release that was requested under one name and ended under another one, unless it
         * is a glob, which may match later instances. */
        for (size_t i = fresh.n; r >= 0 && !released && i > 0; i--) {
                char *glob = fresh.list[i - 1].glob;
                Search s = { .requests = &fresh, .glob = { .words = &glob, .n_words = 1 } };

                if (!fresh.list[i - 1].released || strpbrk(glob, "*?["))
                        continue;
                search_all(c, &s);
                if (s.named && !s.released)
                        requests_remove(&fresh, i - 1);
        }
        /* With nothing released, what is bound again is no exception. */
        if (r >= 0 && !released && !requests_release_any(&fresh))
                r = requests_add(&fresh, "*", false);
        if (r == -ENOSPC)
                answer_refuse(answer, CONTROL_ERROR_REFUSED,
                              "more than %u releases; use globs, such as 'tikv-*', or --all",
                              REQUESTS_MAX);
        else if (r == -EINVAL)
                answer_refuse(answer, CONTROL_ERROR_INVALID,
                              "a name is empty, longer than %u bytes, or has a control character",
                              REQUEST_NAME_MAX);
        else if (r < 0)
                answer->result = r;
        else {
                interrupt_trial(c, &fresh);
                call->unkept = requests_follow(c, &fresh);
        }
}

static void release(Control *c, Call *call, ControlAnswer *answer) {
        for (size_t i = 0; i < call->globs.n_words; i++)
                if (strcmp(call->globs.words[i], "*") != 0 &&
                    !check_name(c, call->globs.words[i], answer))
                        return;
        if (refuse_dry_run(c, answer) || !check_undo(c, answer))
                return;
        REGISTRY_FOREACH(i, &c->m->registry)
        if (call_names(call, i->name, i->unit))
                binding_forget_asked(i);
        request_names(c, call, true, answer);
}

static bool instance_is_released(const Control *c, const Instance *i) {
        return reconcile_verdict(&c->m->binding, i).state == INSTANCE_RELEASED;
}

/* `call`: of what it names; NULL: of all. */
static void await_releases(const Control *c, const Call *call, Text *missing) {
        const UndoReleases *releases = &c->m->undo.releases;

        for (size_t i = 0; i < releases->n; i++) {
                const UndoRecord *record = releases->list[i]->restore.record;

                if (!call || call_names(call, record->instance, record->unit))
                        append_missing(missing, record->instance, "release in progress",
                                       releases->list[i]->failure.sentence);
        }
}

static void await_released(const Control *c, const Call *call, Text *missing) {
        const UndoReleases *releases = &c->m->undo.releases;
        const Interrupts *irq = c->m->irq;
        bool names_interrupts = call_names(call, RELEASE_HOST, NULL);

        await_releases(c, call, missing);
        REGISTRY_FOREACH(i, &c->m->registry) {
                bool is_listed = false; /* its line is that of the release then */

                if (!call_names(call, i->name, i->unit) || instance_is_released(c, i))
                        continue;
                for (size_t k = 0; k < releases->n && !is_listed; k++)
                        is_listed =
                                text_equal(releases->list[k]->restore.record->instance, i->name);
                if (!is_listed)
                        append_missing(missing, i->name, "not released yet", NULL);
        }
        if (!irq || !irq->last_known)
                return;
        for (size_t i = 0; i < irq->last.n_devices && !names_interrupts; i++)
                names_interrupts = call_names(call, irq->last.devices[i].name, NULL);
        if (names_interrupts && irq_is_asked_back(irq, &irq->last))
                append_missing(missing, RELEASE_HOST, "interrupts and settings are being restored",
                               NULL);
}

/* Of what the call names: devices, and the host's settings, that are released now. */
static int find_released(const Control *c, const Call *call, WordList *ret) {
        const Interrupts *irq = c->m->irq;
        int r = 0;

        for (size_t i = 0; r >= 0 && irq && i < irq->last.n_devices && i < irq->n_devices; i++)
                if (irq->devices[i].reason == IRQ_REASON_RELEASED &&
                    call_names(call, irq->last.devices[i].name, NULL))
                        r = word_list_add(ret, irq->last.devices[i].name);
        if (r >= 0 && call_names(call, RELEASE_HOST, NULL) &&
            requests_release(&c->m->host.requests, RELEASE_HOST, NULL))
                r = word_list_add(ret, RELEASE_HOST);
        return r;
}

/* `names`: of devices, and RELEASE_HOST. */
static void tell_names(const Control *c, const Call *call, const WordList *names,
                       const char *of_device, const char *of_host, const char *none,
                       ControlAnswer *answer) {
        tell_instances(c, call, answer);
        for (size_t i = 0; i < names->n_words; i++)
                answer_add(answer, "%s: %s", names->words[i],
                           strcmp(names->words[i], RELEASE_HOST) == 0 ? of_host : of_device);
        if (answer->lines.n_words == 0)
                answer_add(answer, "%s; no instance of that name runs.", none);
        tell_notes(c, call, answer);
}

static void tell_released(const Control *c, const Call *call, ControlAnswer *answer) {
        _cleanup_(word_list_done) WordList released = { 0 };

        if (find_released(c, call, &released) < 0)
                answer->result = -ENOMEM;
        tell_names(c, call, &released, "its interrupts are released",
                   "released; irqbalance and kernel.numa_balancing have what they had before",
                   "Released", answer);
        if (released.n_words > 0 && irq_n_out_of_reach(c->m->irq) > 0)
                answer_add(answer,
                           "note: %zu queue masks of cards in other network namespaces cannot be "
                           "reached; they are restored when the cards come back",
                           irq_n_out_of_reach(c->m->irq));
}

/* --- Bind: the end of a release --- */

/* The instance counts, and not the spelling: what was released by its unit is bound by its name. */
static void bind_again(Control *c, Call *call, ControlAnswer *answer) {
        const Requests *requests = &c->m->host.requests;

        if (refuse_dry_run(c, answer))
                return;
        for (size_t k = 0; k < call->globs.n_words; k++) {
                char *glob = call->globs.words[k];
                Search s = { .requests = requests, .glob = { .words = &glob, .n_words = 1 } };
                _cleanup_text_ Text list = { 0 };

                if (strcmp(glob, "*") == 0)
                        continue;
                search_all(c, &s);
                for (size_t i = 0; i < requests->n; i++) { /* also of what does not run now */
                        if (!requests->list[i].released)
                                continue;
                        s.released = s.released || strcmp(requests->list[i].glob, glob) == 0;
                        text_appendf(&list, " '%s'", requests->list[i].glob);
                }
                if (s.released)
                        continue;
                answer_refuse(answer, CONTROL_ERROR_UNKNOWN, "'%s' is not released; %s%s", glob,
                              list.data ? "released are" : "nothing is released",
                              list.data ? list.data : "");
                return;
        }
        answer->result = find_released(c, call, &call->released);
        if (answer->result >= 0)
                request_names(c, call, false, answer);
}

static void await_bound(const Control *c, const Call *call, Text *missing) {
        await_releases(c, call, missing);
        REGISTRY_FOREACH(i, &c->m->registry)
        if (call_names(call, i->name, i->unit) && instance_is_released(c, i))
                append_missing(missing, i->name, "still released", NULL);
}

static void tell_bound(const Control *c, const Call *call, ControlAnswer *answer) {
        tell_names(c, call, &call->released, "its interrupts are no longer released",
                   "no longer released", "No longer released", answer);
}

/* --- Replan --- */

static void replan(Control *c, Call *call, ControlAnswer *answer) {
        const Host *h = &c->m->host;

        if (refuse_dry_run(c, answer))
                return;
        if (h->policies.mode == ENFORCEMENT_OBSERVE && !requests_override_mode(&h->requests)) {
                answer_refuse(answer, CONTROL_ERROR_REFUSED,
                              "a policy file sets enforcement.mode: observe, so nothing is moved");
                return;
        }
        for (size_t i = 0; i < call->globs.n_words; i++)
                if (!check_name(c, call->globs.words[i], answer))
                        return;
        place_replan(&c->m->placing, &call->globs);
        REGISTRY_FOREACH(i, &c->m->registry)
        if (call_names(call, i->name, i->unit))
                binding_ask(i);
        place_refresh(&c->m->placing);
        units_follow_plan(&c->m->units);
}

static void await_planned(const Control *c, const Call *call, Text *missing) {
        REGISTRY_FOREACH(i, &c->m->registry)
        if (call_names(call, i->name, i->unit) && (i->planned.again || (i->work & WORK_PLACE)))
                append_missing(missing, i->name, "is being planned", NULL);
}

/* A unit that does not run is prepared by the daemon itself, which a pause ends. */
static void tell_replanned(const Control *c, const Call *call, ControlAnswer *answer) {
        const Units *units = &c->m->units;

        tell_instances(c, call, answer);
        for (size_t i = 0; i < units->n_units; i++) {
                const PlannedUnit *u = &units->units[i]->place;

                if (call_names(call, u->label, u->name) && units->units[i]->idle)
                        answer_add(answer, "%s: its next start is planned again%s", u->name,
                                   c->m->host.requests.paused
                                           ? "; it is prepared after tidbnumactl resume"
                                           : "");
        }
}

/* --- a trial --- */

static Connection *connection_of(Call *call) {
        return (Connection *)((char *)call - offsetof(Connection, call));
}

/* It has a place, and is not bound to it. */
static bool instance_is_on_trial(const Control *c, const Instance *i) {
        const InstanceState state = reconcile_verdict(&c->m->binding, i).state;

        return !i->policy->built_in && i->planned.known &&
               !id_set_is_empty(&i->planned.placement.nodes) &&
               (c->m->host.policies.mode == ENFORCEMENT_OBSERVE
                        ? state == INSTANCE_PLANNED || state == INSTANCE_WATCHED ||
                                  state == INSTANCE_RELEASED
                        : state == INSTANCE_RELEASED);
}

static void trial_begin(Control *c, Call *call, ControlAnswer *answer) {
        const Host *h = &c->m->host;
        size_t n = 0;

        if (refuse_dry_run(c, answer) || !check_undo(c, answer))
                return;
        REGISTRY_FOREACH(i, &c->m->registry)
        n += instance_is_on_trial(c, i);
        if (c->trial && c->trial != connection_of(call))
                answer_refuse(answer, CONTROL_ERROR_BUSY, "another trial is under way");
        else if (h->requests.trial == TRIAL_REQUEST_ENDS)
                answer_refuse(answer, CONTROL_ERROR_BUSY,
                              "what an earlier trial has bound is still being released: see "
                              "tidbnumactl status");
        else if (h->requests.paused)
                answer_refuse(answer, CONTROL_ERROR_REFUSED,
                              "the daemon is paused: run tidbnumactl resume first");
        else if (n == 0)
                answer_refuse(answer, CONTROL_ERROR_REFUSED,
                              "no instance is unbound and has a place, so there is nothing to "
                              "compare: set enforcement.mode: observe, or release instances first; "
                              "tidbnumactl status shows their states");
        else if (h->policies.mode == ENFORCEMENT_OBSERVE && c->m->undo.records.n_records > 0)
                answer_refuse(answer, CONTROL_ERROR_REFUSED,
                              "bindings of before are kept, so it would not be known what was "
                              "there without them: run tidbnumactl release --all, and then "
                              "release --undo --all");
        else
                c->trial = connection_of(call);
}

static void tell_trial_begun(const Control *c, _unused_ const Call *call, ControlAnswer *answer) {
        REGISTRY_FOREACH(i, &c->m->registry)
        if (instance_is_on_trial(c, i))
                answer_add(answer, "%s", i->name);
}

/* Of the one whose trial it is. `keep`: nothing stays released. */
static void trial_become(Control *c, Call *call, TrialRequest next, bool keep,
                         ControlAnswer *answer) {
        _cleanup_requests_ Requests fresh = { 0 };

        if (c->trial != connection_of(call)) {
                answer_refuse(answer, CONTROL_ERROR_REFUSED,
                              "no trial of this connection is under way");
                return;
        }
        answer->result = requests_copy(&c->m->host.requests, &fresh);
        if (answer->result < 0)
                return;
        while (keep && fresh.n > 0)
                requests_remove(&fresh, fresh.n - 1);
        fresh.trial = next;
        if (next != TRIAL_REQUEST_BINDS)
                c->trial = NULL;
        call->unkept = requests_follow(c, &fresh);
}

static void trial_bind(Control *c, Call *call, ControlAnswer *answer) {
        if (!refuse_dry_run(c, answer))
                trial_become(c, call, TRIAL_REQUEST_BINDS, false, answer);
}

static void trial_keep(Control *c, Call *call, ControlAnswer *answer) {
        trial_become(c, call,
                     c->m->host.policies.mode == ENFORCEMENT_OBSERVE ? TRIAL_REQUEST_KEPT
                                                                     : TRIAL_REQUEST_NONE,
                     true, answer);
}

static void trial_end(Control *c, Call *call, ControlAnswer *answer) {
        const TrialRequest now = c->m->host.requests.trial;

        trial_become(c, call, now == TRIAL_REQUEST_BINDS ? after_trial(c) : now, false, answer);
}

static void await_trial_ended(const Control *c, _unused_ const Call *call, Text *missing) {
        await_releases(c, NULL, missing);
        REGISTRY_FOREACH(i, &c->m->registry)
        if (requests_release(&c->m->host.requests, i->name, i->unit) && !instance_is_released(c, i))
                append_missing(missing, i->name, "not released yet", NULL);
        if (missing->length == 0 && c->m->host.requests.trial == TRIAL_REQUEST_ENDS)
                append_missing(missing, RELEASE_HOST, "being restored", NULL);
}

static void tell_trial_kept(const Control *c, const Call *call, ControlAnswer *answer) {
        if (c->m->host.requests.trial == TRIAL_REQUEST_KEPT)
                answer_add(answer,
                           "What was bound stays bound, in spite of enforcement.mode: observe, "
                           "until the policy files are loaded again. To keep it, set "
                           "enforcement.mode: enforce; to end it, run tidbnumactl release --all.");
        else
                answer_add(answer, "What was bound stays bound.");
        tell_notes(c, call, answer);
}

static void tell_trial_ended(const Control *c, const Call *call, ControlAnswer *answer) {
        answer_add(answer, "Everything is bound as %s; memory that was moved stays where it is.",
                   c->m->host.policies.mode == ENFORCEMENT_OBSERVE
                           ? "before the trial"
                           : "the policies say: what was released is released again");
        tell_notes(c, call, answer);
}

/* --- the methods --- */

static const Method methods[] = {
        { "Reload", "", reload, await_reloaded, tell_reloaded },
        { "Pause", "", pause_all, await_quiet, tell_notes,
          "Paused: nothing is changed until 'tidbnumactl resume' or the next boot. Bindings are "
          "kept." },
        { "Resume", "", resume, NULL, tell_notes, "Resumed." },
        { "Release", "asb", release, await_released, tell_released },
        { "Bind", "asb", bind_again, await_bound, tell_bound },
        { "Replan", "as", replan, await_planned, tell_replanned },
        { "TrialBegin", "", trial_begin, NULL, tell_trial_begun },
        { "TrialBind", "", trial_bind, NULL, tell_notes },
        { "TrialKeep", "", trial_keep, NULL, tell_trial_kept },
        { "TrialEnd", "", trial_end, await_trial_ended, tell_trial_ended },
};

/* Has the timer look at everything at once. */
static void wake(Control *c) {
        (void)event_source_arm(c->timer, 0);
}

static void call_done(Call *call) {
        sd_bus_message_unref(call->message);
        word_list_done(&call->globs);
        word_list_done(&call->released);
        free(call->progress);
        *call = (Call){ 0 };
}

static int call_read_arguments(Call *call) {
        sd_bus_message *message = call->message;
        int r = 0, wait = true;
        const char *word;

        if (*call->method->signature) {
                r = sd_bus_message_enter_container(message, 'a', "s");
                while (r >= 0 && (r = sd_bus_message_read_basic(message, 's', &word)) > 0) {
                        if (call->globs.n_words == NAMES_MAX || strlen(word) > REQUEST_NAME_MAX)
                                return -E2BIG;
                        r = word_list_add(&call->globs, word);
                }
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        if (r >= 0 && strcmp(call->method->signature, "asb") == 0)
                r = sd_bus_message_read_basic(message, 'b', &wait);
        call->wait = wait;
        return r;
}

static void answer_call(Control *c, Call *call, ControlAnswer *answer) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_text_ Text sentence = { 0 };
        int r;

        if (!answer->error && answer->result >= 0) {
                if (call->method->done)
                        answer_add(answer, "%s", call->method->done);
                call->method->tell(c, call, answer);
        }
        /* What is published then shows its effect, which a refusal has as well: errors of policies,
         * a pause that has ended in mode observe. */
        (void)publish_now(&c->m->report);
        if (answer->result < 0 || answer->sentence.error < 0)
                (void)sd_bus_reply_method_errno(call->message, -ENOMEM, NULL);
        else if (answer->error) {
                append_visible(&sentence, answer->sentence.data ? answer->sentence.data : "");
                (void)sd_bus_reply_method_errorf(call->message, answer->error, "%s",
                                                 sentence.data ? sentence.data : "");
        } else {
                r = sd_bus_message_new_method_return(call->message, &reply);
                if (r >= 0)
                        r = sd_bus_message_append_strv(reply, answer->lines.words);
                if (r >= 0)
                        r = sd_bus_send(sd_bus_message_get_bus(call->message), reply, NULL);
                if (r < 0)
                        (void)sd_bus_reply_method_errno(call->message, r, NULL);
        }
        call_done(call);
}

/* A later call has asked for the opposite, so that what this one waits for does not come. */
static bool is_overtaken(const Control *c, const Call *call) {
        const Requests *requests = &c->m->host.requests;
        const bool releases = call->method->begin == release;

        if ((!releases && call->method->begin != bind_again) ||
            requests->trial == TRIAL_REQUEST_ENDS) /* that releases all, for a moment */
                return false;
        REGISTRY_FOREACH(i, &c->m->registry)
        if (call_names(call, i->name, i->unit) &&
            requests_release(requests, i->name, i->unit) != releases)
                return true;
        return false;
}

/* When to look at it again; INSTANCE_NEVER: it is answered. */
static uint64_t look_at_call(Control *c, Connection *connection, uint64_t now_usec) {
        Call *call = &connection->call;
        _cleanup_answer_ ControlAnswer answer = { 0 };
        _cleanup_text_ Text missing = { 0 };
        bool overtaken;

        if (now_usec < call->due_usec)
                return call->due_usec;
        if (!call->begun) {
                call->begun = true;
                call->method->begin(c, call, &answer);
                if (!answer.error && answer.result >= 0)
                        return now_usec; /* the pass that follows this event carries it on */
                answer_call(c, call, &answer);
                return INSTANCE_NEVER;
        }
        if (call->wait && call->method->await)
                call->method->await(c, call, &missing);
        overtaken = missing.length > 0 && is_overtaken(c, call);
        if (missing.length > 0 && !overtaken && now_usec < call->deadline_usec) {
                if (missing.error >= 0 && now_usec >= call->said_usec + PROGRESS_USEC &&
                    !text_equal(call->progress, missing.data)) {
                        call->said_usec = now_usec;
                        free(call->progress);
                        call->progress = strdup(missing.data);
                        (void)sd_bus_emit_signal(connection->bus, CONTROL_PATH, CONTROL_INTERFACE,
                                                 "Progress", "s", missing.data);
                }
                return now_usec + POLL_USEC;
        }
        if (overtaken)
                answer_refuse(&answer, CONTROL_ERROR_REFUSED,
                              "a later call has asked for the opposite: see tidbnumactl status\n%s",
                              missing.data);
        else if (missing.length > 0)
                answer_refuse(&answer, CONTROL_ERROR_LATE,
                              "not finished in time; the daemon continues: see tidbnumactl "
                              "status\n%s",
                              missing.data);
        answer_call(c, call, &answer);
        return INSTANCE_NEVER;
}

/* --- connections --- */

static void connection_free(Connection *connection) {
        call_done(&connection->call);
        control_close(connection->bus);
        free(connection);
}

static void drop_connection(Control *c, size_t index) {
        Connection *connection = c->connections[index];
        _cleanup_requests_ Requests fresh = { 0 };

        c->connections[index] = c->connections[--c->n];
        if (connection == c->trial) {
                c->trial = NULL;
                /* Who made it has gone without a word: interrupted, or killed. */
                if (c->m->host.requests.trial == TRIAL_REQUEST_BINDS &&
                    requests_copy(&c->m->host.requests, &fresh) >= 0) {
                        fresh.trial = after_trial(c);
                        journal_log(&c->m->host.journal, LOG_NOTICE, NULL,
                                    "The trial was interrupted: what it has bound is released");
                        (void)requests_follow(c, &fresh);
                }
        }
        connection_free(connection);
}

/* Not at once: libsystemd uses it until its callback has returned. */
static void end_connection(Connection *connection) {
        connection->ended = true;
        wake(connection->control);
}

static int on_call(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        const uint64_t now_usec = clock_monotonic_usec();
        Connection *connection = userdata;
        Call *call = &connection->call;
        Control *c = connection->control;
        const Method *method = NULL;
        size_t n_waiting = 0;
        int r;

        connection->used_usec = now_usec;
        if (connection->ended || strcmp(sd_bus_message_get_path(message), CONTROL_PATH) != 0)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(methods) && !method; i++)
                if (sd_bus_message_is_method_call(message, CONTROL_INTERFACE, methods[i].name) > 0)
                        method = &methods[i];
        if (!method)
                return 0; /* libsystemd answers that there is no such method */
        if (!sd_bus_message_has_signature(message, method->signature))
                return sd_bus_reply_method_errorf(message, CONTROL_ERROR_INVALID,
                                                  "%s takes the arguments '%s'", method->name,
                                                  method->signature);
        if (call->method)
                return sd_bus_reply_method_errorf(message, CONTROL_ERROR_BUSY,
                                                  "%s is not answered yet; one call at a time",
                                                  call->method->name);
        for (size_t i = 0; i < c->n; i++)
                n_waiting += c->connections[i]->call.method != NULL;
        if (n_waiting >= WAITING_MAX)
                return sd_bus_reply_method_errorf(message, CONTROL_ERROR_BUSY,
                                                  "%d calls of others wait already", WAITING_MAX);
        *call = (Call){ .method = method,
                        .message = sd_bus_message_ref(message),
                        .due_usec = now_usec > c->free_usec ? now_usec : c->free_usec };
        r = call_read_arguments(call);
        if (r < 0) {
                call_done(call);
                return sd_bus_reply_method_errorf(message, CONTROL_ERROR_INVALID,
                                                  "expected at most %d names of at most %u bytes",
                                                  NAMES_MAX, REQUEST_NAME_MAX);
        }
        call->deadline_usec = call->due_usec + DEADLINE_USEC;
        c->free_usec = call->due_usec + BETWEEN_USEC;
        wake(c);
        return 1;
}

/* Sees every message, also those that libsystemd answers itself. */
static int on_control_message(sd_bus_message *message, void *userdata,
                              _unused_ sd_bus_error *error) {
        Connection *connection = userdata;
        uint64_t n_unread = 0;

        (void)sd_bus_get_n_queued_write(connection->bus, &n_unread);
        if (n_unread > UNREAD_MAX ||
            sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") > 0)
                end_connection(connection);
        if (sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", "Connected") > 0) {
                connection->greeted = true;
                wake(connection->control);
        }
        host_queue(&connection->control->m->host, HOST_WORK_NONE);
        return connection->ended;
}

/* The operator is answered also when the daemon has no descriptor left, if only with that. When a
 * connection ends, what else waits for a descriptor may be quicker: so there are several. */
static void keep_spares(Control *c) {
        for (size_t i = 0; i < SPARES; i++)
                if (c->spare_fds[i] < 0)
                        c->spare_fds[i] = fcntl(c->m->host.runtime_fd, F_DUPFD_CLOEXEC, 0);
}

static int take_connection(Control *c, sd_bus **ret) {
        int r = control_accept(c->fd, c->m->host.event, ret);

        for (size_t i = 0; i < SPARES && (r == -EMFILE || r == -ENFILE); i++)
                if (c->spare_fds[i] >= 0) {
                        closep(&c->spare_fds[i]);
                        r = control_accept(c->fd, c->m->host.event, ret);
                }
        return r;
}

static int add_connection(Control *c) {
        _cleanup_(control_closep) sd_bus *bus = NULL;
        Connection *connection;
        size_t oldest = CONNECTIONS_MAX;
        int r;

        for (size_t i = 0; i < c->n; i++)
                if (!c->connections[i]->call.method && c->connections[i] != c->trial &&
                    (oldest == CONNECTIONS_MAX ||
                     c->connections[i]->used_usec < c->connections[oldest]->used_usec))
                        oldest = i;
        /* Until one is over, the next ones wait in the socket's queue. */
        if (c->n == CONNECTIONS_MAX &&
            (oldest == CONNECTIONS_MAX ||
             clock_monotonic_usec() < c->connections[oldest]->used_usec + IDLE_USEC))
                return -EBUSY;
        r = take_connection(c, &bus);
        if (r < 0)
                return r;
        if (c->n == CONNECTIONS_MAX)
                drop_connection(c, oldest);
        connection = calloc(1, sizeof(*connection));
        if (!connection)
                return -ENOMEM;
        *connection = (Connection){ .control = c,
                                    .bus = TAKE_PTR(bus),
                                    .used_usec = clock_monotonic_usec() };
        r = sd_bus_add_filter(connection->bus, NULL, on_control_message, connection);
        /* Of CONTROL_PATH alone, when memory ends between the parts of the path, libsystemd keeps
         * the first of them, and aborts when it frees the bus (252). */
        if (r >= 0)
                r = sd_bus_add_fallback(connection->bus, NULL, "/", on_call, connection);
        if (r < 0) {
                connection_free(connection);
                return r;
        }
        c->connections[c->n++] = connection;
        return 0;
}

static int on_connection(_unused_ sd_event_source *source, _unused_ int fd,
                         _unused_ uint32_t events, void *userdata) {
        Control *c = userdata;

        const int r = add_connection(c);

        /* It cannot be taken now, and not be closed either: it would wake the loop without end. */
        if (r == -EBUSY || r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS) {
                c->refuses = true;
                (void)sd_event_source_set_enabled(c->source, SD_EVENT_OFF);
                (void)event_source_arm_after(c->timer, r == -EBUSY ? POLL_USEC : REFUSE_USEC);
        }
        host_queue(&c->m->host, HOST_WORK_NONE);
        return 0;
}

/* --- the timer --- */

static int on_control_timer(_unused_ sd_event_source *source, _unused_ uint64_t usec,
                            void *userdata) {
        Control *c = userdata;
        const uint64_t now_usec = clock_monotonic_usec();
        uint64_t next_usec = INSTANCE_NEVER;

        if (c->refuses && c->source)
                c->refuses = sd_event_source_set_enabled(c->source, SD_EVENT_ON) < 0;
        for (size_t i = c->n; i > 0; i--) {
                Connection *connection = c->connections[i - 1];
                uint64_t due_usec = INSTANCE_NEVER;

                /* What came in one piece with the end of the greeting is in libsystemd's buffer,
                 * which it looks at when more comes, and not before (systemd 252). */
                if (!connection->ended && connection->greeted) {
                        connection->greeted = sd_bus_process(connection->bus, NULL) > 0;
                        due_usec = connection->greeted ? now_usec : INSTANCE_NEVER;
                }
                if (!connection->ended && connection->call.method) {
                        const uint64_t call_usec = look_at_call(c, connection, now_usec);

                        due_usec = call_usec < due_usec ? call_usec : due_usec;
                }
                if (connection->ended) {
                        /* What it has asked for is done, also if nobody waits for the answer. */
                        connection->call.due_usec = 0;
                        if (connection->call.method && !connection->call.begun)
                                (void)look_at_call(c, connection, now_usec);
                        drop_connection(c, i - 1);
                } else if (due_usec < next_usec)
                        next_usec = due_usec;
        }
        keep_spares(c);
        (void)host_take(&c->m->host, HOST_WORK_NONE); /* a call may have begun */
        return next_usec == INSTANCE_NEVER ? 0 : event_source_arm(c->timer, next_usec);
}

/* Else libsystemd waits at the end of the loop until each client has greeted and read everything,
 * sd_bus_attach_event(3): for ever, if one does not. */
static int on_loop_exit(_unused_ sd_event_source *source, void *userdata) {
        Control *c = userdata;

        c->trial = NULL; /* the next daemon ends it */
        while (c->n > 0)
                drop_connection(c, c->n - 1);
        return 0;
}

/* --- the socket --- */

void control_keep(Control *c) {
        _cleanup_close_ int fd = -EBADF;
        const Host *h;
        int r;

        if (!c || (c->fd >= 0 && control_is_named(c->m->host.runtime_fd, c->inode)))
                return;
        h = &c->m->host;
        c->source = event_source_drop(c->source);
        closep(&c->fd);
        r = control_listen(h->args->runtime_dir, h->runtime_fd, &fd, &c->inode);
        if (r >= 0)
                r = sd_event_add_io(h->event, &c->source, fd, EPOLLIN, on_connection, c);
        if (r >= 0)
                c->fd = TAKE_FD(fd);
        else if (!c->failed)
                journal_log(
                        &h->journal, LOG_ERR, NULL,
                        "The control socket %s/%s cannot be made: %s. Until it can, tidbnumactl "
                        "reload, pause, resume, release and replan do not work",
                        h->args->runtime_dir, CONTROL_SOCKET, strerror(-r));
        c->failed = r < 0;
}

int control_start(Manager *m, Control **ret) {
        Control *c;
        int r;

        if (m->host.runtime_fd < 0 || m->host.args->once || !m->host.sysroot.live)
                return 0;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        *c = (Control){ .m = m, .fd = -EBADF };
        for (size_t i = 0; i < SPARES; i++)
                c->spare_fds[i] = -EBADF;
        keep_spares(c);
        r = event_source_add_off(m->host.event, &c->timer, 1000, on_control_timer, c);
        if (r >= 0)
                r = sd_event_add_exit(m->host.event, &c->exit, on_loop_exit, c);
        if (r >= 0)
                r = sd_event_source_set_priority(c->exit, SD_EVENT_PRIORITY_IMPORTANT);
        if (r < 0) {
                control_free(c);
                return r;
        }
        control_keep(c);
        *ret = c;
        return 0;
}

Control *control_free(Control *c) {
        if (!c)
                return NULL;
        (void)on_loop_exit(NULL, c);
        if (c->fd >= 0 && control_is_named(c->m->host.runtime_fd, c->inode))
                (void)unlinkat(c->m->host.runtime_fd, CONTROL_SOCKET, 0);
        event_source_drop(c->source);
        event_source_drop(c->timer);
        event_source_drop(c->exit);
        closep(&c->fd);
        for (size_t i = 0; i < SPARES; i++)
                closep(&c->spare_fds[i]);
        free(c);
        return NULL;
}
