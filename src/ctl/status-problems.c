#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/status-problems.h"
#include "tidbnumad/publish/object.h"

/* Maximum number of names of one reason, and of errors of policies, that are listed. */
enum { NAMES_LISTED = 8, ERRORS_LISTED = 5 };

/* The problems are collected as JSON, which --json prints, and which the text is made of. */
static void add_to(json_t **list, json_t *who, const char *what, const char *code,
                   const char *next) {
        *list = object_append(*list, OBJECT_OF({ "names", who }, { "reason", object_string(what) },
                                               { "reason_code", object_string(code) },
                                               { "remedy", object_string(next) }));
}

/* Adds the errors of the policy files to the last problem. */
static void add_errors(json_t **list, const StatusFile *s) {
        json_t *last = json_array_get(*list, json_array_size(*list) - 1);

        if (last &&
            json_object_set_new(last, "errors", object_strings(s->errors, s->n_errors)) < 0) {
                json_decref(*list);
                *list = NULL;
        }
}

static void add_problem(json_t **list, const char *who, const char *next, const char *format, ...)
        _printf_(4, 5);
static void add_problem(json_t **list, const char *who, const char *next, const char *format, ...) {
        _cleanup_text_ Text what = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&what, format, args);
        va_end(args);
        if (what.error < 0) {
                json_decref(*list);
                *list = NULL;
        }
        add_to(list, object_strings(&who, 1), what.data, NULL, next);
}

/* --- the daemon and its policies --- */

static void add_daemon(const StatusQuestion *q, json_t **list) {
        const StatusFile *s = q->status;

        if (!q->alive)
                add_problem(list, "daemon", "systemctl start tidbnumad",
                            "the daemon does not run: bindings are kept, but not watched");
        else if (!status_file_is_fresh(s, q->now_seconds) && q->no_room)
                add_problem(list, "daemon", "free space there; systemctl status tidbnumad",
                            "this status is %.0f s old: the daemon runs, but cannot publish, "
                            "because the file system of %s is full",
                            q->now_seconds - s->time_seconds, q->runtime_dir);
        else if (!status_file_is_fresh(s, q->now_seconds))
                add_problem(list, "daemon", "journalctl -u tidbnumad",
                            "this status is %.0f s old, but the daemon publishes every %.0f s: it "
                            "may hang",
                            q->now_seconds - s->time_seconds, s->sample_interval_seconds);
        if (!s->load_failed)
                return;
        if (s->none_in_force)
                add_problem(list, "policies", "tidbnumactl validate",
                            "the policy files have errors, and no policy is in force: %" PRIu64
                            " binding%s of an earlier run %s held and watched, and nothing new "
                            "is bound",
                            s->n_adopted, s->n_adopted == 1 ? "" : "s",
                            s->n_adopted == 1 ? "is" : "are");
        else
                add_problem(list, "policies", "tidbnumactl validate",
                            "the policy files have errors, so the %s",
                            s->kept_in_force
                                    ? "policies of before the start of the daemon are in force"
                                    : "previous policies stay in force");
        add_errors(list, s);
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

static json_t *names_of(const StatusQuestion *q, size_t first) {
        const StatusInstance *all = q->status->instances;

        return OBJECT_ARRAY_IF(i, q->status->n_instances,
                               i >= first && is_shown(q, &all[i]) &&
                                       is_same_problem(&all[i], &all[first]),
                               object_string(all[i].name));
}

static void add_instances(const StatusQuestion *q, bool refused, json_t **list) {
        for (size_t i = 0; i < q->status->n_instances; i++) {
                const StatusInstance *one = &q->status->instances[i];

                if (!is_shown(q, one) || (strcmp(one->state, "refused") == 0) != refused ||
                    is_repeated(q, i))
                        continue;
                add_to(list, names_of(q, i), one->reason, one->reason_code, one->remedy);
        }
}

static void add_units(const StatusQuestion *q, json_t **list) {
        for (size_t i = 0; i < q->status->n_units; i++) {
                const StatusUnit *u = &q->status->units[i];

                if (!status_unit_is_asked(q, u) || !status_unit_is_problem(u))
                        continue;
                add_to(list, object_strings(&u->name, 1), u->reason, u->reason_code, u->remedy);
        }
}

/* --- releases, interrupts --- */

static void add_releases(const StatusFile *s, json_t **list) {
        for (size_t i = 0; i < s->n_releases; i++)
                if (s->releases[i].failure)
                        add_problem(list, s->releases[i].name ? s->releases[i].name : "?",
                                    "the daemon tries again; journalctl -u tidbnumad",
                                    "its release failed: %s", s->releases[i].failure);
}

static void add_devices(const StatusFile *s, json_t **list) {
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
                                add_problem(list, s->devices[i].name, rows[k].next,
                                            "%" PRIu64 " %s", n, rows[k].what);
                }
}

static void add_lesser(const StatusFile *s, json_t **list) {
        if (s->uncounted)
                add_problem(list, "accesses", "set sampling.access: off to hide this", "%s",
                            s->uncounted);
        if (s->n_warnings > 0)
                add_problem(list, "policies", "tidbnumactl validate", "%zu warning%s",
                            s->n_warnings, s->n_warnings == 1 ? "" : "s");
}

json_t *status_problems(const StatusQuestion *q) {
        json_t *list = json_array();

        add_daemon(q, &list);
        add_instances(q, true, &list);
        add_instances(q, false, &list);
        add_units(q, &list);
        if (q->n_names == 0) {
                add_releases(q->status, &list);
                add_devices(q->status, &list);
                add_lesser(q->status, &list);
        }
        return list;
}

/* --- as text --- */

static const char *member(const json_t *problem, const char *key) {
        const char *text = json_string_value(json_object_get(problem, key));

        return text ? text : "";
}

static void append_names(const json_t *names, Text *text) {
        const size_t n = json_array_size(names);

        for (size_t i = 0; i < n && i < NAMES_LISTED; i++) {
                text_append(text, i > 0 ? ", " : "  ");
                text_append_printable(text, json_string_value(json_array_get(names, i)));
        }
        if (n > NAMES_LISTED)
                text_appendf(text, " and %zu more", n - NAMES_LISTED);
        text_append(text, ": ");
}

static void append_problem(const json_t *problem, Text *text) {
        const char *what = member(problem, "reason"), *code = member(problem, "reason_code");
        const char *next = member(problem, "remedy");

        append_names(json_object_get(problem, "names"), text);
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

static void append_errors(const json_t *errors, Text *text) {
        for (size_t i = 0; i < json_array_size(errors) && i < ERRORS_LISTED; i++) {
                text_append(text, "      ");
                text_append_printable(text, json_string_value(json_array_get(errors, i)));
                text_append(text, "\n");
        }
}

void status_problems_render(const StatusQuestion *q, Text *text) {
        json_t *list = status_problems(q);

        if (!list)
                text->error = -ENOMEM;
        if (json_array_size(list) > 0)
                text_append(text, "\nProblems:\n");
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *problem = json_array_get(list, i);

                append_problem(problem, text);
                append_errors(json_object_get(problem, "errors"), text);
        }
        json_decref(list);
}
