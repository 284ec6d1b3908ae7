/* Renders the published status: problems first, then instances, interrupts and ignored processes.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/status-problems.h"
#include "tidbnumad/ctl/status-table.h"
#include "tidbnumad/publish/plan-words.h"
#include "tidbnumad/publish/table.h"

/* Maximum number of nodes of an instance that are shown, by memory, and of ignored processes. */
enum { NODES_SHOWN = 3, IGNORED_LISTED = 5 };

bool status_is_asked(const StatusQuestion *q, const StatusInstance *i) {
        for (size_t k = 0; k < q->n_names; k++)
                if (fnmatch(q->names[k], i->name, 0) == 0 ||
                    (i->unit && fnmatch(q->names[k], i->unit, 0) == 0))
                        return true;
        return q->n_names == 0;
}

bool status_unit_is_asked(const StatusQuestion *q, const StatusUnit *u) {
        for (size_t k = 0; k < q->n_names; k++)
                if (status_unit_is_named(u, q->names[k]))
                        return true;
        return q->n_names == 0;
}

bool status_unit_is_problem(const StatusUnit *u) {
        return *u->reason_code != '\0' &&
               strcmp(u->reason_code, reason_to_string(REASON_START_LIMITS)) != 0;
}

bool status_is_at_rest(const StatusInstance *i) {
        return strcmp(i->state, "bound") == 0 || strcmp(i->state, "watched") == 0 ||
               strcmp(i->state, "released") == 0;
}

/* --- the daemon --- */

static void render_reserved(const StatusFile *s, Text *text) {
        const struct {
                const char *what, *list;
        } rows[] = { { "nodes", s->reserved_nodes }, { "CPUs", s->reserved_cpus } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                if (!rows[i].list || !*rows[i].list)
                        continue;
                text_appendf(text, "reserved for the network: %s ", rows[i].what);
                text_append_printable(text, rows[i].list);
                text_append(text, "\n");
        }
}

static void render_daemon(const StatusQuestion *q, Text *text) {
        const StatusFile *s = q->status;

        text_append(text, "tidbnumad ");
        text_append_printable(text, s->version ? s->version : "of unknown version");
        text_append(text, s->enforcing ? ", enforcing"
                                       : ", changing nothing (mode: observe, paused "
                                         "or a dry run)");
        if (s->backend) {
                text_append(text, ", backend ");
                text_append_printable(text, s->backend);
        }
        if (s->none_in_force)
                text_append(text, ", no policy in force");
        else
                text_appendf(text, ", %zu %s", s->n_policies,
                             s->n_policies == 1 ? "policy" : "policies");
        text_appendf(text, ", %.0f s ago\n",
                     q->now_seconds > s->time_seconds ? q->now_seconds - s->time_seconds : 0.0);
        if (s->backend_reason) {
                text_append(text, "why this backend: ");
                text_append_printable(text, s->backend_reason);
                text_append(text, "\n");
        }
        render_reserved(s, text);
}

/* --- the instances --- */

static void take(Table *table, Text *cell) {
        if (cell->length == 0)
                text_append(cell, "-");
        table_add_text(table, cell);
}

static const StatusMemory *largest(const StatusInstance *i, const NodeSet *not_these) {
        const StatusMemory *best = NULL;

        for (size_t k = 0; k < i->n_memory; k++)
                if (!id_set_has(not_these, i->memory[k].node) &&
                    (!best || i->memory[k].bytes > best->bytes))
                        best = &i->memory[k];
        return best;
}

/* "1: 12.0 GiB, 3: 4.0 MiB, …" */
static void append_memory(const StatusInstance *i, Text *cell) {
        NodeSet shown = { 0 };
        const StatusMemory *m;

        for (unsigned n = 0; (m = largest(i, &shown)); n++) {
                if (n == NODES_SHOWN) {
                        text_append(cell, ", …");
                        return;
                }
                text_appendf(cell, "%s%" PRIu32 ": ", n > 0 ? ", " : "", m->node);
                plan_words_bytes(m->bytes, cell);
                id_set_add(&shown, m->node);
        }
}

static void append_why(const StatusInstance *i, Text *cell) {
        if (strcmp(i->state, "moving") == 0 && i->pending_bytes > 0) {
                plan_words_bytes(i->pending_bytes, cell);
                text_append(cell, " to move");
                if (!isnan(i->left_seconds))
                        text_appendf(cell, ", %.0f s left", i->left_seconds);
        }
        if (status_is_at_rest(i) || !i->reason_code || !*i->reason_code) {
                if (*i->reason)
                        text_appendf(cell, "%s%s", cell->length > 0 ? "; " : "", i->reason);
        } else /* the sentence is listed among the problems */
                text_appendf(cell, "%s%s", cell->length > 0 ? "; " : "", i->reason_code);
        if (i->bound_by_reason)
                text_appendf(cell, "%sbound by affinity, because %s", cell->length > 0 ? "; " : "",
                             i->bound_by_reason);
}

static void add_instance(Table *table, const StatusInstance *i, Text *cell) {
        table_add(table, i->name);
        table_add(table, i->state);
        plan_words_add_set(table, ID_VIEW(&i->nodes));
        table_add(table, i->cpus && *i->cpus ? i->cpus : "-");
        append_memory(i, cell);
        take(table, cell);
        if (!isnan(i->remote_ratio))
                text_appendf(cell, "%.1f %%", i->remote_ratio * 100);
        take(table, cell);
        append_why(i, cell);
        table_add_text(table, cell);
}

/* What starts it next, for a unit that stands still. */
static void append_start(const StatusUnit *u, Text *cell) {
        if (strcmp(u->state, "missing") == 0)
                text_append(cell, "systemd has no such unit");
        else if (strcmp(u->state, "running") == 0)
                text_append(cell, "no process in it matches its policy");
        else if (strcmp(u->state, "prepared") == 0) {
                text_append(cell, "stopped; starts on ");
                plan_words_nodes(&u->nodes, cell);
        } else
                text_append(cell, "stopped");
        if (status_unit_is_problem(u)) /* the sentence is listed among the problems */
                text_appendf(cell, "; %s", u->reason_code);
        else if (*u->reason)
                text_appendf(cell, "; %s", u->reason);
}

/* A unit that systemd does not have is shown to who asks for it. */
static bool is_row(const StatusQuestion *q, const StatusUnit *u) {
        return !u->runs && status_unit_is_asked(q, u) &&
               (q->n_names > 0 || strcmp(u->state, "missing") != 0);
}

/* A unit without an instance, under the name that its instance would have. */
static void add_unit(Table *table, const StatusUnit *u, Text *cell) {
        char label[NAME_MAX];

        status_unit_label(u, label);
        table_add(table, label);
        table_add(table, u->state);
        table_add(table, *u->mems ? u->mems : "-");
        table_add(table, *u->cpus ? u->cpus : "-");
        table_add(table, "-");
        table_add(table, "-");
        append_start(u, cell);
        table_add_text(table, cell);
}

const char *status_no_instances(const StatusFile *status) {
        return status->none_in_force ? "No policy is in force." : "No process matches a policy.";
}

static void render_instances(const StatusQuestion *q, Text *text) {
        static const char *const headings[] = { "INSTANCE",  "STATE",  "NODES", "CPUS",
                                                "ANONYMOUS", "REMOTE", "WHY" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;
        const size_t before = text->length;

        text_append(text, "\n");
        table_init(&table, headings, ELEMENTSOF(headings));
        table.state_column = 1;
        table.colors = q->colors;
        for (size_t i = 0; i < q->status->n_instances; i++)
                if (status_is_asked(q, &q->status->instances[i]))
                        add_instance(&table, &q->status->instances[i], &cell);
        for (size_t i = 0; i < q->status->n_units; i++)
                if (is_row(q, &q->status->units[i]))
                        add_unit(&table, &q->status->units[i], &cell);
        table_render(&table, q->width, text);
        if (text->error == 0 && text->length == before + 1)
                text_appendf(text, "%s\n", status_no_instances(q->status));
}

/* Failed releases are listed among the problems. */
static void render_releases(const StatusFile *s, Text *text) {
        for (size_t i = 0; i < s->n_releases; i++) {
                if (s->releases[i].failure)
                        continue;
                text_append(text, "release in progress: ");
                text_append_printable(text, s->releases[i].name ? s->releases[i].name : "?");
                text_append(text, "\n");
        }
}

/* --- interrupts --- */

static void add_device(Table *table, const StatusDevice *d, Text *cell) {
        table_add(table, d->name);
        if (d->node < 0)
                table_add(table, "?");
        else
                table_addf(table, "%" PRId32, d->node);
        for (IrqState state = 0; state < N_IRQ_STATES; state++)
                if (d->vectors[state] > 0)
                        text_appendf(cell, "%s%" PRIu64 " %s", cell->length > 0 ? ", " : "",
                                     d->vectors[state], irq_state_to_string(state));
        take(table, cell);
        table_add(table, d->cpus && *d->cpus ? d->cpus : "-");
        table_add(table, d->reason ? d->reason : "");
}

static void render_devices(const StatusQuestion *q, Text *text) {
        static const char *const headings[] = { "DEVICE", "NODE", "INTERRUPTS", "CPUS", "WHY" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < q->status->n_devices; i++)
                add_device(&table, &q->status->devices[i], &cell);
        if (q->status->n_devices > 0)
                text_append(text, "\n");
        table_render(&table, q->width, text);
}

/* --- ignored processes --- */

static void render_ignored_processes(const StatusFile *s, Text *text) {
        for (size_t i = 0; i < s->n_ignored && i < IGNORED_LISTED; i++) {
                const StatusIgnored *one = &s->ignored[i];

                text_appendf(text, "  %d ", one->pid);
                text_append_printable(text, one->exe ? one->exe : "?");
                text_append(text, " (policy ");
                text_append_printable(text, one->policy ? one->policy : "?");
                text_append(text, "): ");
                text_append_printable(text, one->reason ? one->reason : "?");
                text_append(text, "\n");
        }
        if (s->n_ignored > IGNORED_LISTED)
                text_appendf(text, "  and %zu more\n", s->n_ignored - IGNORED_LISTED);
}

static void render_ignored(const StatusFile *s, Text *text) {
        const struct {
                uint64_t n;
                const char *why;
        } reasons[] = {
                { s->n_full, "beyond max_instances" },
                { s->n_crowded, "beyond the limit of watched processes" },
                { s->n_of_others, "of another user" },
                { s->n_in_containers, "in a container" },
        };
        bool any = false;

        for (size_t i = 0; i < ELEMENTSOF(reasons); i++) {
                if (reasons[i].n == 0)
                        continue;
                text_appendf(text, "%s%" PRIu64 " %s",
                             any ? ", " : "\nIgnored processes: ", reasons[i].n, reasons[i].why);
                any = true;
        }
        if (any)
                text_append(text, "; run tidbnumactl explain PID to see why\n");
        render_ignored_processes(s, text);
}

void status_table_render(const StatusQuestion *q, Text *text) {
        render_daemon(q, text);
        status_problems_render(q, text);
        render_instances(q, text);
        if (q->n_names > 0)
                return;
        render_releases(q->status, text);
        render_devices(q, text);
        render_ignored(q->status, text);
}
