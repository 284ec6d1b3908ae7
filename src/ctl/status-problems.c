#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tidbnumad/base/utf8.h"
#include "tidbnumad/ctl/status-problems.h"

/* Maximum number of names of one reason, and of errors of policies, that are listed. */
enum { NAMES_LISTED = 8, ERRORS_LISTED = 5 };

/* `what` ends the line; `next` is the remedy, "" if none is known. */
static void append_end(Text *text, const char *what, const char *code, const char *next) {
        text_append_printable(text, what);
        if (*code) {
                text_append(text, *what ? " (" : "");
                text_append_printable(text, code);
                text_append(text, *what ? ")" : "");
        }
        text_append(text, "\n");
        if (!*next)
                return;
        text_append(text, "      ");
        text_append_printable(text, next);
        text_append(text, "\n");
}

static void append_problem(Text *text, const char *who, const char *next, const char *format, ...)
        _printf_(4, 5);
static void append_problem(Text *text, const char *who, const char *next, const char *format, ...) {
        _cleanup_text_ Text what = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&what, format, args);
        va_end(args);
        if (what.error < 0)
                text->error = what.error;
        text_append(text, "  ");
        text_append_printable(text, who);
        text_append(text, ": ");
        append_end(text, what.data ? what.data : "", "", next);
}

/* --- the daemon and its policies --- */

static void append_daemon(const StatusQuestion *q, Text *text) {
        const StatusFile *s = q->status;

        if (!q->alive)
                append_problem(text, "daemon", "systemctl start tidbnumad",
                               "the daemon does not run: bindings are kept, but not watched");
        else if (!status_file_is_fresh(s, q->now_seconds))
                append_problem(
                        text, "daemon", "journalctl -u tidbnumad",
                        "this status is %.0f s old, but the daemon publishes every %.0f s: it "
                        "may hang",
                        q->now_seconds - s->time_seconds, s->sample_interval_seconds);
        if (!s->load_failed)
                return;
        if (s->none_in_force)
                append_problem(text, "policies", "tidbnumactl validate",
                               "the policy files have errors, and no policy is in force: %" PRIu64
                               " binding%s of an earlier run %s held and watched, and nothing new "
                               "is bound",
                               s->n_adopted, s->n_adopted == 1 ? "" : "s",
                               s->n_adopted == 1 ? "is" : "are");
        else
                append_problem(text, "policies", "tidbnumactl validate",
                               "the policy files have errors, so the %s",
                               s->kept_in_force
                                       ? "policies of before the start of the daemon are in force"
                                       : "previous policies stay in force");
        for (size_t i = 0; i < s->n_errors && i < ERRORS_LISTED; i++) {
                text_append(text, "      ");
                text_append_printable(text, s->errors[i]);
                text_append(text, "\n");
        }
}

/* --- instances --- */

bool status_is_problem(const StatusInstance *i) {
        return !status_is_at_rest(i) && ((i->reason_code && *i->reason_code) || *i->reason);
}

static bool is_same(const char *a, const char *b) {
        return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool is_same_problem(const StatusInstance *a, const StatusInstance *b) {
        return is_same(a->reason_code, b->reason_code) && is_same(a->reason, b->reason);
}

static bool is_shown(const StatusQuestion *q, const StatusInstance *i) {
        return status_is_asked(q, i) && status_is_problem(i);
}

/* Was it listed with an earlier instance of the same reason? */
static bool is_repeated(const StatusQuestion *q, size_t index) {
        const StatusInstance *all = q->status->instances;

        for (size_t i = 0; i < index; i++)
                if (is_shown(q, &all[i]) && is_same_problem(&all[i], &all[index]))
                        return true;
        return false;
}

static void append_names(const StatusQuestion *q, size_t first, Text *text) {
        const StatusInstance *all = q->status->instances;
        size_t n = 0;

        for (size_t i = first; i < q->status->n_instances; i++) {
                if (!is_shown(q, &all[i]) || !is_same_problem(&all[i], &all[first]))
                        continue;
                if (n++ >= NAMES_LISTED)
                        continue;
                text_append(text, n > 1 ? ", " : "  ");
                text_append_printable(text, all[i].name);
        }
        if (n > NAMES_LISTED)
                text_appendf(text, " and %zu more", n - NAMES_LISTED);
        text_append(text, ": ");
}

static void append_instances(const StatusQuestion *q, bool refused, Text *text) {
        for (size_t i = 0; i < q->status->n_instances; i++) {
                const StatusInstance *one = &q->status->instances[i];

                if (!is_shown(q, one) || (strcmp(one->state, "refused") == 0) != refused ||
                    is_repeated(q, i))
                        continue;
                append_names(q, i, text);
                append_end(text, one->reason, one->reason_code ? one->reason_code : "",
                           one->remedy ? one->remedy : "");
        }
}

static void append_units(const StatusQuestion *q, Text *text) {
        for (size_t i = 0; i < q->status->n_units; i++) {
                const StatusUnit *u = &q->status->units[i];

                if (!status_unit_is_asked(q, u) || !status_unit_is_problem(u))
                        continue;
                text_append(text, "  ");
                text_append_printable(text, u->name);
                text_append(text, ": ");
                append_end(text, u->reason, u->reason_code, u->remedy);
        }
}

/* --- releases, interrupts --- */

static void append_releases(const StatusFile *s, Text *text) {
        for (size_t i = 0; i < s->n_releases; i++)
                if (s->releases[i].failure)
                        append_problem(text, s->releases[i].name ? s->releases[i].name : "?",
                                       "the daemon tries again; journalctl -u tidbnumad",
                                       "its release failed: %s", s->releases[i].failure);
}

static void append_devices(const StatusFile *s, Text *text) {
        static const struct {
                IrqState state;
                const char *what, *next;
        } rows[] = {
                { IRQ_STATE_CONTESTED, "interrupts are set again and again by something else",
                  "journalctl -u tidbnumad names it; stop it, or set steer: leave for this "
                  "device" },
                { IRQ_STATE_FAILED, "interrupts are not where they were sent",
                  "journalctl -u tidbnumad; tidbnumactl plan --explain lists them" },
        };

        for (size_t i = 0; i < s->n_devices; i++)
                for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                        const uint64_t n = s->devices[i].vectors[rows[k].state];

                        if (n > 0)
                                append_problem(text, s->devices[i].name, rows[k].next,
                                               "%" PRIu64 " %s", n, rows[k].what);
                }
}

static void append_lesser(const StatusFile *s, Text *text) {
        if (s->uncounted)
                append_problem(text, "accesses", "set sampling.access: off to hide this", "%s",
                               s->uncounted);
        if (s->n_warnings > 0)
                append_problem(text, "policies", "tidbnumactl validate", "%zu warning%s",
                               s->n_warnings, s->n_warnings == 1 ? "" : "s");
}

void status_problems_render(const StatusQuestion *q, Text *text) {
        _cleanup_text_ Text problems = { 0 };

        append_daemon(q, &problems);
        append_instances(q, true, &problems);
        append_instances(q, false, &problems);
        append_units(q, &problems);
        if (q->n_names == 0) {
                append_releases(q->status, &problems);
                append_devices(q->status, &problems);
                append_lesser(q->status, &problems);
        }
        if (problems.error < 0)
                text->error = problems.error;
        if (problems.length > 0)
                text_appendf(text, "\nProblems:\n%s", problems.data);
}
