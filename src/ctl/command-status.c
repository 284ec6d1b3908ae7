/* tidbnumactl status: problems first, then instances, interrupts and ignored processes; and the
 * journal's messages about an instance. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/status-page.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/table.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/program.h"

/* Maximum number of nodes of an instance that are shown, by memory, and of ignored processes. */
enum { NODES_SHOWN = 3, IGNORED_LISTED = 5 };

bool status_is_asked(const StatusQuestion *q, const InstanceInfo *i) {
        return q->names.n_words == 0 || word_list_names(&q->names, i->name, i->unit);
}

static bool unit_is_asked(const StatusQuestion *q, const UnitInfo *u) {
        return q->names.n_words == 0 || status_unit_is_named(u, &q->names);
}

/* --- problems: what the operator has to solve, with the next step --- */

/* Where they go. Maximum number of names of one reason, and of errors of policies, that the text
 * lists. */
typedef struct Problems {
        const StatusQuestion *q;
        Json *json; /* else as text */
        Text *text;
        bool any;
} Problems;
enum { NAMES_LISTED = 8, ERRORS_LISTED = 5 };

/* `errors`: it has those of the policy files, NULL: the problem is another. `more`: the entry after
 * it has the same next step. */
static void put_problem(Problems *p, const char *const *names, size_t n, const char *what,
                        const char *code, const char *next, bool more, const Snapshot *errors) {
        const size_t n_errors = errors ? errors->n_policy_errors : 0;
        Text *text = p->text;

        if (p->json) {
                JSON_OBJECT(p->json, NULL) {
                        json_put_strings(p->json, "names", names, n);
                        json_put_string(p->json, "reason", what);
                        json_put_string(p->json, "reason_code", code);
                        json_put_string(p->json, "remedy", next);
                        if (errors)
                                json_put_strings(p->json, "errors", errors->policy_errors,
                                                 n_errors);
                }
                return;
        }
        text_append(text, p->any ? "" : "\nProblems:\n");
        p->any = true;
        for (size_t i = 0; i < n && i < NAMES_LISTED; i++)
                text_append_names(text, i > 0 ? ", %s" : "  %s", names[i]);
        if (n > NAMES_LISTED)
                text_appendf(text, " and %zu more", n - NAMES_LISTED);
        text_append_names(text, ": %s", what);
        if (code && *code)
                text_appendf(text, *what ? " (%s)" : "%s", code);
        text_append(text, "\n");
        if (*next && !more)
                text_append_names(text, "      %s\n", next);
        for (size_t i = 0; i < n_errors && i < ERRORS_LISTED; i++)
                text_append_names(text, "      %s\n", errors->policy_errors[i]);
}

static void put_sentence(Problems *p, const char *who, const char *next, const Snapshot *errors,
                         const char *format, ...) _printf_(5, 6);
static void put_sentence(Problems *p, const char *who, const char *next, const Snapshot *errors,
                         const char *format, ...) {
        _cleanup_text_ Text what = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&what, format, args);
        va_end(args);
        if (what.error < 0)
                p->text->error = what.error;
        else
                put_problem(p, &who, 1, what.data, NULL, next, false, errors);
}

/* An instance or a unit that is not as it should be. */
typedef struct Complaint {
        const char *name, *what;
        Reason code;
        const char *unit; /* of an instance */
        bool put;
} Complaint;

/* Refused instances first; behind the first entry of a kind are the others of it. Those with the
 * same sentence share an entry. Then limits that servers have not sized themselves by; one that is
 * smaller by its unit was chosen. */
static void put_complaints(Problems *p) {
        /* What ends the planning without a change depends on what began it. */
        static const char *const observing[N_DAEMON_MODES] = {
                [DAEMON_OBSERVING] = "set enforcement.mode: enforce, then tidbnumactl reload",
                [DAEMON_PAUSED] = "tidbnumactl resume",
                [DAEMON_DRY_RUN] = "start the daemon without --dry-run",
        };
        static const char *const limits[N_LIMIT_STATES] = {
                [LIMIT_NO_UNIT] =
                        "run it as a system service of its own, or set memory_limit: none",
                [LIMIT_HELD] = "stop its unit, then start it",
                [LIMIT_NEXT_START] = "restart it when that suits",
                [LIMIT_LIFTED] = "tidbnumactl advise shows sizes that fit",
        };
        const Snapshot *s = p->q->status;
        const size_t n_max = s->n_instances + s->n_units;
        _cleanup_free_ const char **names = calloc(n_max + 1, sizeof(*names));
        _cleanup_free_ Complaint *list = calloc(n_max + 1, sizeof(*list));
        size_t n = 0;

        if (!names || !list) {
                p->text->error = -ENOMEM;
                return;
        }
        for (unsigned pass = 0; pass < 2; pass++)
                for (size_t i = 0; i < s->n_instances; i++) {
                        const InstanceInfo *one = &s->instances[i];

                        if (status_is_asked(p->q, one) && status_is_problem(one) &&
                            (one->state == INSTANCE_REFUSED) == (pass == 0))
                                list[n++] = (Complaint){ one->name, one->reason, one->reason_code,
                                                         one->unit };
                }
        for (size_t i = 0; i < s->n_units; i++)
                if (unit_is_asked(p->q, &s->units[i]) && status_unit_is_problem(&s->units[i]))
                        list[n++] = (Complaint){ s->units[i].name, s->units[i].reason,
                                                 s->units[i].code, s->units[i].name };
        for (size_t i = 0; i < n; i++)
                for (size_t k = i; k < n; k++) {
                        const Reason code = list[i].code;
                        _cleanup_text_ Text remedy = { 0 };
                        size_t n_names = 0, n_left = 0;

                        if (list[k].put || list[k].code != code)
                                continue;
                        for (size_t m = k; m < n; m++) {
                                if (list[m].put || list[m].code != code)
                                        continue;
                                list[m].put = strcmp(list[m].what, list[k].what) == 0;
                                if (list[m].put)
                                        names[n_names++] = list[m].name;
                                else
                                        n_left++;
                        }
                        /* Several of a kind share it. */
                        reason_append_remedy(&remedy, code,
                                             k == i && n_names == 1 ? list[k].unit : NULL);
                        put_problem(p, names, n_names, list[k].what, reason_to_string(code),
                                    code == REASON_OBSERVE && observing[s->mode]
                                            ? observing[s->mode]
                                            : text_string(&remedy),
                                    n_left > 0, NULL);
                }
        /* A daemon lifts them as it stops, and a server that was started again now would get one
         * that nobody watches. */
        for (LimitState state = 0; p->q->alive && state < N_LIMIT_STATES; state++) {
                _cleanup_text_ Text what = { 0 };
                size_t n_names = 0;

                for (size_t i = 0; limits[state] && i < s->n_instances; i++)
                        if (s->instances[i].memory_limit_state == state &&
                            status_is_asked(p->q, &s->instances[i]))
                                names[n_names++] = s->instances[i].name;
                text_appendf(&what, "memory limit: %s", limit_state_to_sentence(state));
                if (what.error < 0)
                        p->text->error = -ENOMEM;
                else if (n_names > 0)
                        put_problem(p, names, n_names, what.data, NULL, limits[state], false, NULL);
        }
}

static void put_problems(Problems *p) {
        static const struct {
                IrqState state;
                const char *one, *several, *next;
        } irqs[] = {
                { IRQ_STATE_CONTESTED, "interrupt is set again and again by something else",
                  "interrupts are set again and again by something else",
                  "journalctl -u tidbnumad names it; stop it, or set steer: leave for this "
                  "device" },
                { IRQ_STATE_FAILED, "interrupt is not where it was sent",
                  "interrupts are not where they were sent",
                  "journalctl -u tidbnumad; tidbnumactl plan --explain lists them" },
        };
        const StatusQuestion *q = p->q;
        const Snapshot *s = q->status;
        const double age = q->now_seconds - s->time_seconds;

        if (!q->alive)
                put_sentence(p, "daemon", "systemctl start tidbnumad", NULL,
                             "the daemon does not run: bindings are kept, but not watched");
        else if (q->no_room) /* a change is not in it, however young it is */
                put_sentence(p, "daemon", "free space there; systemctl status tidbnumad", NULL,
                             "this status is %.0f s old: the daemon runs, but cannot publish, "
                             "because the file system of %s is full",
                             age, q->runtime_dir);
        else if (!status_file_is_fresh(s, q->now_seconds))
                put_sentence(p, "daemon", "journalctl -u tidbnumad", NULL,
                             "this status is %.0f s old, but the daemon publishes every %.0f s: it "
                             "may hang",
                             age, s->sample_interval_seconds);
        if (q->replaced)
                put_sentence(p, "daemon", "systemctl restart tidbnumad", NULL,
                             "its program was replaced on disk, as by an upgrade, and the former "
                             "one still runs");
        if (!s->policy_load_success && !s->policy_in_force)
                put_sentence(p, "policies", "tidbnumactl validate", s,
                             "the policy files have errors, and no policy is in force: %zu "
                             "binding%s of an earlier run %s held and watched, and nothing new "
                             "is bound",
                             s->n_adopted, s->n_adopted == 1 ? "" : "s",
                             s->n_adopted == 1 ? "is" : "are");
        else if (!s->policy_load_success)
                put_sentence(p, "policies", "tidbnumactl validate", s,
                             "the policy files have errors, so the %s",
                             s->policy_kept
                                     ? "policies of before the start of the daemon are in force"
                                     : "previous policies stay in force");
        put_complaints(p);
        if (q->names.n_words > 0)
                return;
        for (size_t i = 0; i < s->n_releases; i++)
                if (s->releases[i].failure)
                        put_sentence(p, s->releases[i].name,
                                     "the daemon tries again; journalctl -u tidbnumad", NULL,
                                     "its release failed: %s", s->releases[i].failure);
        for (size_t i = 0; i < s->irq.n_devices; i++)
                for (size_t k = 0; k < ELEMENTSOF(irqs); k++) {
                        const uint64_t n = s->irq.devices[i].vectors[irqs[k].state];

                        if (n > 0)
                                put_sentence(p, s->irq.devices[i].name, irqs[k].next, NULL,
                                             "%" PRIu64 " %s", n,
                                             n == 1 ? irqs[k].one : irqs[k].several);
                }
        if (s->access.wanted && !s->access.available && s->access.reason)
                put_sentence(p, "accesses", "set sampling.access: off to hide this", NULL, "%s",
                             s->access.reason);
        if (s->n_policy_warnings > 0)
                put_sentence(p, "policies", "tidbnumactl validate", NULL, "%zu warning%s",
                             s->n_policy_warnings, s->n_policy_warnings == 1 ? "" : "s");
}

void status_problems_render(const StatusQuestion *q, Text *text) {
        Problems p = { .q = q, .text = text };

        put_problems(&p);
}

/* --- the daemon --- */

const char *status_mode(const StatusQuestion *q) {
        const Snapshot *s = q->status;

        return !q->alive                                           ? "not running"
               : s->mode == DAEMON_ENFORCING && s->n_policies == 0 ? "without a policy"
                                                                   : daemon_mode_to_string(s->mode);
}

static void render_daemon(const StatusQuestion *q, Text *text) {
        const Snapshot *s = q->status;
        const struct {
                const char *one, *several;
                IdView ids;
        } reserved[] = { { "node", "nodes", ID_VIEW(&s->reserved_nodes) },
                         { "CPU", "CPUs", ID_VIEW(&s->reserved_cpus) } };
        static const char *const trials[N_TRIAL_REQUESTS] = {
                [TRIAL_REQUEST_BINDS] = "a trial has bound what it measures",
                [TRIAL_REQUEST_KEPT] = "what a trial has bound stays bound in spite of "
                                       "enforcement.mode: observe, until the policy files are "
                                       "loaded again; tidbnumactl release --all ends it",
                [TRIAL_REQUEST_ENDS] = "what a trial has bound is being released",
        };
        const char *backend = s->backend ? s->backend : "none";
        size_t n_of[N_INSTANCE_STATES] = { 0 }, n = 0, n_shown = 0;

        text_append_names(text, "tidbnumad %s, %s, ",
                          s->version ? s->version : "of unknown version", status_mode(q));
        /* "7 instances: 6 bound, 1 widened", the worst after those that are bound. */
        for (size_t i = 0; i < s->n_instances; i++)
                if (status_is_asked(q, &s->instances[i])) {
                        n_of[s->instances[i].state]++;
                        n++;
                }
        text_appendf(text, "%zu instance%s", n, n == 1 ? "" : "s");
        for (unsigned i = 0; i <= N_INSTANCE_STATES; i++) {
                const InstanceState state =
                        i == 0 ? INSTANCE_BOUND : (InstanceState)(N_INSTANCE_STATES - i);

                if (n_of[state] == 0 || (i > 0 && state == INSTANCE_BOUND))
                        continue;
                text_appendf(text, "%s%zu %s", n_shown++ > 0 ? ", " : ": ", n_of[state],
                             instance_state_to_string(state));
        }
        text_appendf(text, "; %.0f s ago\n",
                     q->now_seconds > s->time_seconds ? q->now_seconds - s->time_seconds : 0.0);
        if (trials[s->trial] && n_of[INSTANCE_RELEASED] < n)
                text_appendf(text, "%s\n", trials[s->trial]);
        if (s->backend_reason)
                text_append_names(text, "why backend %s: %s\n", backend, s->backend_reason);
        if (!q->all)
                return;
        text_append_names(text, "backend %s", backend);
        if (s->policy_in_force)
                text_appendf(text, ", %zu %s in force\n", s->n_policies,
                             s->n_policies == 1 ? "policy" : "policies");
        else
                text_append(text, ", no policy in force\n");
        for (size_t i = 0; i < ELEMENTSOF(reserved); i++) {
                char list[ID_SET_LIST_ANY];

                if (id_view_render_list(reserved[i].ids, list, sizeof(list)) > 0)
                        text_appendf(text, "reserved for the network: %s %s\n",
                                     id_view_count(reserved[i].ids) == 1 ? reserved[i].one
                                                                         : reserved[i].several,
                                     list);
        }
}

/* --- the instances --- */

static void add_list(Table *table, IdView ids) {
        char list[ID_SET_LIST_ANY];

        table_add(table, id_view_render_list(ids, list, sizeof(list)) > 0 ? list : "-");
}

static void add_cell(Table *table, Text *cell) {
        if (cell->length == 0)
                text_append(cell, "-");
        table_add_text(table, cell);
}

/* "1: 12.0 GiB, 3: 4.0 MiB, …": of each node, the largest part first. */
static void append_memory_by_node(const InstanceInfo *i, Text *cell) {
        NodeSet shown = { 0 };

        for (unsigned n = 0;; n++) {
                const InstanceMemory *largest = NULL;

                for (size_t k = 0; k < i->n_memory; k++) {
                        const InstanceMemory *m = &i->memory_by_node[k];

                        if (m->anon_bytes > (largest ? largest->anon_bytes : 0) &&
                            !id_set_has(&shown, m->node))
                                largest = m;
                }
                if (!largest)
                        return;
                if (n == NODES_SHOWN) {
                        text_append(cell, ", …");
                        return;
                }
                text_appendf(cell, "%s%" PRIu32 ": ", n > 0 ? ", " : "", largest->node);
                plan_words_bytes(largest->anon_bytes, cell);
                id_set_add(&shown, largest->node);
        }
}

static void add_instance(const StatusQuestion *q, Table *table, const InstanceInfo *i, Text *cell) {
        uint64_t bytes = 0;

        table_add(table, i->name);
        table_add(table, instance_state_to_string(i->state));
        plan_words_add_set(table, ID_VIEW(&i->nodes));
        add_list(table, ID_VIEW(&i->cpus));

        for (size_t k = 0; k < i->n_memory; k++)
                bytes += i->memory_by_node[k].anon_bytes;
        if (q->all || q->names.n_words > 0)
                append_memory_by_node(i, cell);
        else if (i->n_memory > 0)
                plan_words_bytes(bytes, cell);
        add_cell(table, cell);
        if (!isnan(i->remote_ratio))
                text_appendf(cell, "%.1f %%", i->remote_ratio * 100);
        add_cell(table, cell);

        if (i->state == INSTANCE_MOVING && i->pending_bytes > 0) {
                plan_words_bytes(i->pending_bytes, cell);
                text_append(cell, " to move");
                if (!isnan(i->migration_left_seconds))
                        text_appendf(cell, ", %.0f s left", fmax(1, i->migration_left_seconds));
        }
        if (status_is_at_rest(i) || i->reason_code == REASON_NONE) {
                if (*i->reason)
                        text_appendf(cell, "%s%s", cell->length > 0 ? "; " : "", i->reason);
        } else /* the sentence is listed among the problems */
                text_appendf(cell, "%s%s", cell->length > 0 ? "; " : "",
                             reason_to_string(i->reason_code));
        if (i->bound_by_reason && instance_state_binds(i->state))
                text_appendf(cell, "%s%s by affinity, because %s", cell->length > 0 ? "; " : "",
                             i->state == INSTANCE_PLANNED ? "would be bound" : "bound",
                             i->bound_by_reason);
        table_add_text(table, cell);
}

/* A unit without an instance, under the name that its instance would have; and what starts next in
 * it. */
static void add_unit(Table *table, const UnitInfo *u, Text *cell) {
        char label[NAME_MAX];

        status_unit_label(u, label);
        table_add(table, label);
        table_add(table, u->state);
        add_list(table, ID_VIEW(&u->mems));
        add_list(table, ID_VIEW(&u->cpus));
        table_add(table, "-");
        table_add(table, "-");
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
                text_appendf(cell, "; %s", reason_to_string(u->code));
        else if (*u->reason)
                text_appendf(cell, "; %s", u->reason);
        table_add_text(table, cell);
}

const char *status_no_instances(const Snapshot *status) {
        return !status->policy_in_force ? "No policy is in force." : "No process matches a policy.";
}

/* --- interrupts --- */

/* One line: "Interrupts: 18 of eth0 and eth1 on CPUs 0-7; none on instances' CPUs"; of several
 * devices "eth0 and 3 other devices". */
static void render_interrupts(const Snapshot *s, Text *text) {
        static const char *const where[N_IRQ_STATES] = {
                [IRQ_STATE_MANAGED] = "where the kernel keeps them",
                [IRQ_STATE_CONTESTED] = "contested",
                [IRQ_STATE_FAILED] = "not where they were sent",
                [IRQ_STATE_LEFT] = "left alone",
        };
        uint64_t n_of[N_IRQ_STATES] = { 0 }, n = 0;
        CpuSet cpus = { 0 };
        size_t n_sharers = 0;
        bool any = false;

        for (size_t i = 0; i < s->irq.n_devices; i++) {
                for (IrqState state = 0; state < N_IRQ_STATES; state++) {
                        n_of[state] += s->irq.devices[i].vectors[state];
                        n += s->irq.devices[i].vectors[state];
                }
                if (s->irq.devices[i].vectors[IRQ_STATE_STEERED] > 0)
                        id_set_union(&cpus, &s->irq.devices[i].cpus);
        }
        for (IrqState state = 0; state < N_IRQ_STATES; state++) {
                const char *first = NULL, *second = NULL;
                size_t n_devices = 0;

                if (n_of[state] == 0)
                        continue;
                for (size_t i = 0; i < s->irq.n_devices; i++)
                        if (s->irq.devices[i].vectors[state] > 0)
                                *(n_devices++ == 0 ? &first : &second) = s->irq.devices[i].name;
                text_appendf(text, "%s%" PRIu64 " of ", any ? ", " : "Interrupts: ", n_of[state]);
                text_append_printable(text, first);
                if (n_devices == 2)
                        text_append_names(text, " and %s", second);
                else if (n_devices > 2)
                        text_appendf(text, " and %zu other devices", n_devices - 1);
                text_append(text, where[state]               ? " "
                                  : id_set_count(&cpus) == 1 ? " on CPU "
                                                             : " on CPUs ");
                if (where[state])
                        text_append(text, where[state]);
                else
                        plan_words_set(ID_VIEW(&cpus), text);
                any = true;
        }
        if (!any)
                return;
        if (n == n_of[IRQ_STATE_STEERED]) {
                for (size_t i = 0; i < s->n_instances; i++) {
                        if (!id_set_intersects(&s->instances[i].cpus, &cpus) ||
                            ++n_sharers > NAMES_LISTED)
                                continue;
                        text_append_names(text, n_sharers > 1 ? ", %s" : "; also CPUs of %s",
                                          s->instances[i].name);
                }
                if (n_sharers > NAMES_LISTED)
                        text_appendf(text, " and %zu more", n_sharers - NAMES_LISTED);
                text_append(text, n_sharers > 0 ? "" : "; none on instances' CPUs");
        }
        text_append(text, "\n");
}

/* --- ignored processes --- */

static void render_ignored(const Snapshot *s, bool all, Text *text) {
        static const char *const reasons[N_IGNORED_REASONS] = {
                [IGNORED_MAX_INSTANCES] = "beyond max_instances",
                [IGNORED_PROCESS_LIMIT] = "beyond the limit of watched processes",
                [IGNORED_USER] = "of another user",
                [IGNORED_NAMESPACE] = "in a container",
        };
        bool any = false;

        for (IgnoredReason r = 0; r < N_IGNORED_REASONS; r++) {
                if (s->ignored[r] == 0)
                        continue;
                text_appendf(text, "%s%" PRIu64 " %s",
                             any ? ", " : "Ignored processes: ", s->ignored[r], reasons[r]);
                any = true;
        }
        if (any)
                text_append(text, all ? "; run tidbnumactl explain PID to see why\n"
                                      : "; tidbnumactl status --all lists them\n");
        if (!all)
                return;
        for (size_t i = 0; i < s->n_ignored_processes && i < IGNORED_LISTED; i++) {
                const IgnoredInfo *one = &s->ignored_processes[i];

                text_appendf(text, "  %d ", one->pid);
                text_append_names(text, "%s (policy %s): %s\n", one->exe, one->policy, one->reason);
        }
        if (s->n_ignored_processes > IGNORED_LISTED)
                text_appendf(text, "  and %zu more\n", s->n_ignored_processes - IGNORED_LISTED);
}

void status_page_render(const StatusQuestion *q, Text *text) {
        static const char *const headings[] = { "INSTANCE",  "STATE",  "NODES", "CPUS",
                                                "ANONYMOUS", "REMOTE", "WHY" };
        static const char *const irq_headings[] = { "DEVICE", "NODE", "INTERRUPTS", "CPUS", "WHY" };
        const Snapshot *s = q->status;
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table, devices;
        size_t before;

        table_init(&table, headings, ELEMENTSOF(headings));
        table.state_column = 1;
        table.colors = q->colors;
        table_init(&devices, irq_headings, ELEMENTSOF(irq_headings));
        render_daemon(q, text);
        status_problems_render(q, text);

        before = text->length;
        text_append(text, "\n");
        for (size_t i = 0; i < s->n_instances; i++)
                if (status_is_asked(q, &s->instances[i]))
                        add_instance(q, &table, &s->instances[i], &cell);
        for (size_t i = 0; i < s->n_units; i++) {
                const UnitInfo *u = &s->units[i];

                if (status_unit_runs(s, u) || !unit_is_asked(q, u))
                        continue;
                /* A unit that systemd does not have is shown to who asks for it. */
                if (q->names.n_words > 0 || (q->all && strcmp(u->state, "missing") != 0) ||
                    status_unit_is_problem(u))
                        add_unit(&table, u, &cell);
        }
        table_render(&table, q->width, text);
        if (text->error == 0 && text->length == before + 1)
                text_appendf(text, "%s\n", status_no_instances(s));
        if (q->names.n_words > 0)
                return;

        for (size_t i = 0; i < s->n_releases; i++)
                if (!s->releases[i].failure) /* else it is listed among the problems */
                        text_append_names(text, "release in progress: %s\n", s->releases[i].name);
        for (size_t i = 0; q->all && i < s->irq.n_devices; i++) {
                const IrqDeviceInfo *d = &s->irq.devices[i];

                table_add(&devices, d->name);
                if (d->node < 0)
                        table_add(&devices, "?");
                else
                        table_addf(&devices, "%" PRId32, d->node);
                for (IrqState state = 0; state < N_IRQ_STATES; state++)
                        if (d->vectors[state] > 0)
                                text_appendf(&cell, "%s%" PRIu64 " %s", cell.length > 0 ? ", " : "",
                                             d->vectors[state], irq_state_to_string(state));
                add_cell(&devices, &cell);
                add_list(&devices, ID_VIEW(&d->cpus));
                table_add(&devices, d->reason);
        }
        if (q->all && s->irq.n_devices > 0)
                text_append(text, "\n");
        table_render(&devices, q->width, text);

        before = text->length;
        text_append(text, "\n");
        if (!q->all)
                render_interrupts(s, text);
        render_ignored(s, q->all, text);
        if (text->length == before + 1) /* there was none */
                text_truncate(text, before);
}

/* --- the journal --- */

#define MESSAGES_SHOWN "20"

/* journalctl writes a field that is no valid UTF-8 as an array of numbers: it is omitted. */
size_t status_history_parse(const char *lines, Text *text) {
        size_t n = 0;

        while (*lines) {
                const size_t size = strcspn(lines, "\n");
                json_error_t error;
                json_t *object = json_loadb(lines, size, 0, &error);
                const char *usec =
                        json_string_value(json_object_get(object, "__REALTIME_TIMESTAMP"));
                const char *message = json_string_value(json_object_get(object, "MESSAGE"));

                if (usec && message) {
                        const time_t t = (time_t)(strtoull(usec, NULL, 10) / 1000000);
                        char time_text[32];
                        struct tm tm;

                        text_append(text, "  ");
                        if (localtime_r(&t, &tm) &&
                            strftime(time_text, sizeof(time_text), "%F %T", &tm) > 0)
                                text_append(text, time_text);
                        text_append_names(text, "  %s\n", message);
                        n++;
                }
                json_decref(object);
                lines += size + (lines[size] == '\n');
        }
        return n;
}

/* --- the command --- */

/* The last messages about the instance from the journal, oldest first, with a heading. */
static void status_history_render(const char *instance, Text *text) {
        _cleanup_free_ char *match = must_have(text_new("TIDBNUMAD_INSTANCE=%s", instance));
        _cleanup_text_ Text json = { 0 }, lines = { 0 };
        /* Any user may log TIDBNUMAD_INSTANCE=, so match _UID, which the journal itself sets. */
        const char *const command[] = { "journalctl",
                                        "--no-pager",
                                        "--quiet",
                                        "--output=json",
                                        "--output-fields=MESSAGE",
                                        "--lines=" MESSAGES_SHOWN,
                                        match,
                                        "_UID=0",
                                        NULL };
        const int r = must(program_read(command, &json));

        if (r < 0 || !json.data || status_history_parse(json.data, &lines) == 0)
                text_append_names(text,
                                  "\nHistory of %s: no entry in the journal that this user can "
                                  "read\n",
                                  instance);
        else
                text_append_names(text, "\nHistory of %s:\n", instance);
        text_append_text(text, &lines);
}

static int cannot_read(const char *runtime_dir, int r, Error *error) {
        const pid_t pid = daemon_process_find(runtime_dir, NULL);

        if (r == -ENOENT && pid > 0)
                return error_set(error, COMMAND_EXIT_NO_DAEMON,
                                 "the daemon runs (process %d), but has published nothing in %s%s; "
                                 "see journalctl -u tidbnumad",
                                 pid, runtime_dir,
                                 daemon_process_lacks_room(runtime_dir)
                                         ? ", whose file system is full: free space there"
                                         : " yet");
        if (r == -ENOENT)
                return error_set(error, COMMAND_EXIT_NO_DAEMON,
                                 "no daemon has published in %s; run systemctl start tidbnumad, or "
                                 "give its folder with --runtime-dir",
                                 runtime_dir);
        if (r == -EBADMSG)
                return error_set(
                        error, r,
                        "%s/status.json is damaged, or from another version of the daemon; run "
                        "systemctl restart tidbnumad",
                        runtime_dir);
        return error_prefix(error, r, "%s/status.json cannot be read: ", runtime_dir);
}

/* Prints the published JSON without the instances and units that are not selected. */
static int print_json(const StatusQuestion *q) {
        const Snapshot *status = q->status;
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };
        Problems problems = { .q = q, .text = &text, .json = &json };
        const char *key;
        json_t *value;

        json_open_object(&json, NULL);
        json_object_foreach(status->read_from, key, value) {
                const bool instances = strcmp(key, "instances") == 0;

                if (!instances && strcmp(key, "units") != 0) {
                        status_put_json(&json, key, value);
                        continue;
                }
                json_open_array(&json, key);
                for (size_t i = 0; i < json_array_size(value); i++)
                        if (instances ? status_is_asked(q, &status->instances[i])
                                      : unit_is_asked(q, &status->units[i]))
                                status_put_json(&json, NULL, json_array_get(value, i));
                json_close(&json);
        }
        json_put_bool(&json, "alive", q->alive);
        json_open_array(&json, "problems");
        put_problems(&problems);
        json_close(&json);
        json_put_number(&json, "age_seconds", q->now_seconds - status->time_seconds);
        json_close(&json);
        return output_json(&text);
}

int status_question_load(const Args *args, Snapshot *status, StatusQuestion *ret) {
        const int r = status_file_read(args->runtime_dir, status);
        const pid_t pid = r >= 0 ? daemon_process_find(args->runtime_dir, status) : 0;

        *ret = (StatusQuestion){ .status = status,
                                 .runtime_dir = args->runtime_dir,
                                 .names = args->names,
                                 .all = args->all,
                                 .now_seconds = clock_realtime_seconds(),
                                 .alive = pid > 0,
                                 .replaced = pid > 0 && daemon_process_is_replaced(pid),
                                 .no_room = daemon_process_lacks_room(args->runtime_dir) };
        return r;
}

int command_status(const Args *args, Error *error) {
        _cleanup_status_ Snapshot status = { 0 };
        _cleanup_text_ Text text = { 0 };
        StatusQuestion q;
        bool complete;
        int r = status_question_load(args, &status, &q);

        if (r < 0 && r != -ENOMEM && args->quiet)
                return r == -ENOENT ? COMMAND_EXIT_NO_DAEMON : r;
        if (r < 0)
                return cannot_read(args->runtime_dir, r, error);
        for (size_t k = 0; k < args->names.n_words; k++) {
                const StatusQuestion one = { .names = { .words = &args->names.words[k],
                                                        .n_words = 1 } };
                Suggestion similar = { .word = args->names.words[k] };
                bool found = false;

                for (size_t i = 0; i < status.n_instances; i++) {
                        found |= status_is_asked(&one, &status.instances[i]);
                        suggest(&similar, status.instances[i].name);
                }
                for (size_t i = 0; i < status.n_units; i++) {
                        found |= unit_is_asked(&one, &status.units[i]);
                        suggest(&similar, status.units[i].name);
                }
                if (found)
                        continue;
                return error_set(error, -ENOENT,
                                 "no instance or unit '%s'%s%s%s; tidbnumactl status lists all",
                                 similar.word, similar.nearest ? ", did you mean '" : "",
                                 similar.nearest ? similar.nearest : "",
                                 similar.nearest ? "'?" : "");
        }
        q.width = output_width();
        q.colors = output_colors();
        if (args->json && !args->quiet)
                r = print_json(&q);
        else if (!args->quiet) {
                status_page_render(&q, &text);
                for (size_t i = 0; i < status.n_instances && q.names.n_words > 0; i++)
                        if (status_is_asked(&q, &status.instances[i]))
                                status_history_render(status.instances[i].name, &text);
                r = output_text(&text);
        }
        if (r < 0)
                return r;

        if (!q.alive || q.no_room || !status_file_is_fresh(&status, q.now_seconds))
                return COMMAND_EXIT_NO_DAEMON;
        complete = status.policy_load_success && status.n_releases == 0;
        for (size_t i = 0; i < status.n_instances; i++)
                complete &= !status_is_asked(&q, &status.instances[i]) ||
                            status_is_at_rest(&status.instances[i]);
        for (size_t i = 0; i < status.n_units; i++)
                complete &= !unit_is_asked(&q, &status.units[i]) ||
                            !status_unit_is_problem(&status.units[i]);
        for (size_t i = 0; i < status.irq.n_devices && q.names.n_words == 0; i++)
                complete &= status.irq.devices[i].vectors[IRQ_STATE_CONTESTED] == 0 &&
                            status.irq.devices[i].vectors[IRQ_STATE_FAILED] == 0;
        return complete ? EXIT_SUCCESS : COMMAND_EXIT_REFUSED;
}
