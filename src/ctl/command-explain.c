/* tidbnumactl explain: which policy applies to a process, and the place of its instance. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/ctl/verdict.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/table.h"
#include "tidbnumad/world/processes.h"

/* --- why a policy matches a process, or why not --- */

static const char *const key_names[] = {
        [MATCH_KEY_NONE] = NULL,   [MATCH_KEY_EXE] = "exe",   [MATCH_KEY_UNIT] = "unit",
        [MATCH_KEY_ARGS] = "args", [MATCH_KEY_USER] = "user", [MATCH_KEY_CONTAINERS] = "containers",
};

void verdict_render(const Policy *policy, const Process *process, bool taken, Text *text) {
        const PolicyMatch *match = &policy->match;

        switch (match_failing_key(match, process)) {
        case MATCH_KEY_NONE:
                text_append(text,
                            taken ? "also matches, but the first policy applies" : "takes it");
                break;
        case MATCH_KEY_EXE:
                text_appendf(text, "exe is %s, but it runs ", match->exe);
                text_append_printable(text, process->exe);
                break;
        case MATCH_KEY_UNIT:
                if (match->only_services)
                        text_append(text,
                                    "without a policy only services are watched, and it is in ");
                else
                        text_appendf(text, "unit is %s, but it is in ", match->unit);
                text_append_printable(text, process->unit ? process->unit : "none");
                if (process->unit && strncmp(process->unit, "user@", 5) == 0)
                        text_append(text, ", as all services of that user's own manager; name exe "
                                          "and user instead");
                break;
        case MATCH_KEY_ARGS:
                text_appendf(text, "args is %s, but its command line %s", match->args,
                             process->args ? "is another" : "cannot be read; run it as root");
                break;
        case MATCH_KEY_USER:
                if (!match->uid_known)
                        text_appendf(text, "user is %s, which this host does not know",
                                     match->user);
                else
                        text_appendf(
                                text,
                                "user is %s (%u), but the process runs as user %u; it is ignored",
                                match->user, (unsigned)match->uid, (unsigned)process->uid);
                break;
        case MATCH_KEY_CONTAINERS:
                text_appendf(text,
                             "it is in another %s namespace, as in a container, and "
                             "match.containers is false; it is ignored",
                             foreign_to_string(process->foreign));
                break;
        }
}

void verdict_render_all(const PolicySet *policies, const Process *process, const Policy *published,
                        unsigned width, Text *text) {
        static const char *const headings[] = { "POLICY", "FROM", "VERDICT" };
        const Policy *owner = match_process(policies, process);
        bool also = false;
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < policies->n_policies; i++) {
                const Policy *policy = &policies->policies[i];

                table_add(&table, policy->name);
                if (policy->at.line > 0)
                        table_addf(&table, "%s:%u", policy->file, policy->at.line);
                else
                        table_add(&table, "built in");
                text_reset(&cell);
                verdict_render(policy, process, owner && owner < policy, &cell);
                table_add(&table, must_text(&cell));
        }
        table_render(&table, width, text);
        if (owner) {
                text_append_names(text, "\nIt belongs to the policy %s", owner->name);
                for (const Policy *p = owner + 1; p < policies->policies + policies->n_policies;
                     p++) {
                        if (match_failing_key(&p->match, process) != MATCH_KEY_NONE)
                                continue;
                        text_append_names(
                                text, also ? ", %s" : ", the first that matches; also matches %s",
                                p->name);
                        also = true;
                }
                text_append(text, ".\n");
                if (published && strcmp(published->name, owner->name) != 0)
                        text_append_names(text,
                                          "The daemon has it in an instance of the policy %s: the "
                                          "processes of a service are one instance, of the policy "
                                          "among theirs that comes first in the files, and changed "
                                          "files count after tidbnumactl reload.\n",
                                          published->name);
        } else if (published)
                text_append_names(text, "\nThe daemon reports that it belongs to the policy %s.\n",
                                  published->name);
        else
                text_append(text, "\nNo policy matches it.\n");
}

void verdict_json(Json *json, const PolicySet *policies, const Process *process) {
        const Policy *owner = match_process(policies, process);

        JSON_ARRAY(json, "policies", i, policies->n_policies)
                JSON_OBJECT(json, NULL) {
                        const Policy *policy = &policies->policies[i];
                        const MatchKey key = match_failing_key(&policy->match, process);
                        _cleanup_text_ Text text = { 0 };

                        verdict_render(policy, process, owner && owner < policy, &text);
                        json_put_string(json, "name", policy->name);
                        json_put_string(json, "file", policy->file);
                        json_put_integer(json, "line", policy->at.line);
                        json_put_bool(json, "matches", key == MATCH_KEY_NONE);
                        json_put_string(json, "key", key_names[key]);
                        json_put_text(json, "text", &text);
                }
}

/* What the subject is. */
typedef struct Found {
        const PlanReportInstance *row; /* NULL: no instance */
        const Process *process;        /* NULL: it is imagined; borrowed */
        const Policy *full;   /* policy that ignores it because of max_instances; NULL: none */
        Process own;          /* storage for `process` if no instance contains it */
        const UnitInfo *unit; /* of the daemon, that does not run; NULL: none; borrowed */
} Found;

static void found_done(Found *found) {
        process_done(&found->own);
}

static bool wants_all(_unused_ const char *exe, _unused_ void *userdata) {
        return true;
}

/* NULL: of any unit. */
static int identify(const Sysroot *sysroot, pid_t pid, const char *unit, Process *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        int r = process_identify(sysroot, pid, NULL, wants_all, NULL, &handle, ret);

        if (r < 0)
                return r;
        if (unit && !unit_is_named(ret->unit, unit))
                r = -ESRCH;
        else
                r = process_complete(sysroot, &handle, ret, true, true);
        if (r == -EHOSTDOWN)
                return 0;
        if (r < 0)
                process_done(ret);
        return r;
}

/* Finds the first process of a unit that no policy matches. -ESRCH: none. */
static int find_in_unit(const Sysroot *sysroot, const char *unit, Process *ret) {
        _cleanup_pid_list_ PidList pids = { 0 };
        int r = must(pid_list_read(sysroot, &pids));

        for (size_t i = 0; r >= 0 && i < pids.n_pids; i++) {
                if (must(identify(sysroot, pids.pids[i], unit, ret)) >= 0)
                        return 0;
        }
        return r < 0 ? r : -ESRCH;
}

static int find_subject(const Situation *s, Found *ret, Error *error) {
        const char *subject = s->args->subject;
        const size_t n = s->report.n_instances;
        Suggestion similar = { .word = subject };
        _cleanup_text_ Text text = { 0 };
        const HostInstance *running =
                s->runs ? host_instances_find_subject(&s->instances, subject) : NULL;
        const HostInstance *ignored;
        uint64_t pid;
        bool denied;
        int r;

        if (running) {
                ret->row = situation_find(s, running->name);
                /* The process that the command line names, else the oldest one. */
                ret->process = &running->members[0].process;
                if (parse_u64(subject, &pid) == 0)
                        for (size_t i = 0; i < running->n_members; i++)
                                if ((uint64_t)running->members[i].process.id.pid == pid)
                                        ret->process = &running->members[i].process;
                return 0;
        }
        ret->row = situation_find(s, subject);
        if (ret->row)
                return 0;
        if (!s->machine->runs || s->args->instances)
                r = -ESRCH;
        else if (parse_u64(subject, &pid) < 0)
                r = find_in_unit(&s->machine->sysroot, subject, &ret->own);
        else
                r = pid == 0 || pid > INT32_MAX
                            ? -ESRCH
                            : identify(&s->machine->sysroot, (pid_t)pid, NULL, &ret->own);
        /* The daemon alone knows what a unit that does not run was prepared for. */
        if (must(r) < 0 && !s->args->instances)
                ret->unit = status_file_find_unit(&s->machine->status, subject);
        if (ret->unit)
                return 0;
        if (r >= 0) {
                ret->process = &ret->own;
                ignored = host_instances_find_pid(&s->ignored, ret->own.id.pid);
                ret->full = ignored ? ignored->policy : NULL;
                return 0;
        }

        denied = r == -EACCES || r == -EPERM;
        for (size_t i = 0; i < n && !denied; i++)
                suggest(&similar, s->report.instances[i].in->name);
        denied |= !similar.nearest && s->instances.n_denied > 0 && geteuid() != 0;
        if (denied)
                text_appendf(&text, " that you may see; %s", output_may_read());
        else if (similar.nearest)
                text_append_names(&text, ", did you mean '%s'?", similar.nearest);
        else {
                text_append(&text, n == 0 ? "; no policy matches a process here" : "; there are: ");
                /* Processes choose their names, and a terminal interprets control characters. */
                for (size_t i = 0; i < n; i++)
                        text_append_names(&text, i > 0 ? ", %s" : "%s",
                                          s->report.instances[i].in->name);
        }
        return error_set(error, denied ? -EACCES : -ENOENT, "no instance, process or unit '%s'%s",
                         subject, must_text(&text));
}

/* Without being weighed. */
static bool instance_keeps_place(const PlanReportInstance *row) {
        return plan_report_places(row) &&
               (row->choice->basis == BASIS_KEPT || (row->choice->basis == BASIS_CHOSEN &&
                                                     (row->bound || row->choice->grounds.outdone)));
}

static void render_place(const Situation *s, const PlanReportInstance *row,
                         const PlanReportInstance *again, Text *text) {
        text_append_printable(text, row->in->name);
        if (!plan_report_places(row))
                text_append(text, " is not placed");
        else {
                text_append(text, " belongs on ");
                plan_words_nodes(&row->choice->placement.nodes, text);
        }
        text_append(text, ": ");
        plan_words_why(row, text);
        text_append(text, "\n");
        for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS; bit++)
                if (row->choice->warnings & (1u << bit))
                        text_appendf(text, "warning: %s\n", placement_warning_to_string(1u << bit));
        if (row->pid > 0) {
                text_append(text, "Now: ");
                situation_append_now(s, row, text);
                text_append(text, "\n");
        }
        if (row->published && row->published->memory_limit_state != LIMIT_NONE) {
                text_append(text, "Memory limit: ");
                if (row->published->memory_limit_bytes > 0)
                        text_appendf(text, "%.0f MiB, ",
                                     (double)row->published->memory_limit_bytes / (1 << 20));
                text_appendf(text, "%s\n",
                             limit_state_to_sentence(row->published->memory_limit_state));
        }
        if (row->storage) {
                text_append_names(text, "Data: %s", row->storage);
                if (!id_set_is_empty(&row->in->device_nodes)) {
                        text_append(text, ", at ");
                        plan_words_nodes(&row->in->device_nodes, text);
                }
                text_append(text, "\n");
        }
        if (again && again->choice->basis == BASIS_CHOSEN) {
                const bool stays = id_set_equal(&row->choice->placement.nodes,
                                                &again->choice->placement.nodes);

                text_append(text, stays ? "Placed again, it would stay there: "
                                        : "Placed again, it would come to ");
                if (!stays) {
                        plan_words_nodes(&again->choice->placement.nodes, text);
                        text_append(text, ": ");
                }
                plan_words_why(again, text);
                if (!stays)
                        text_append_names(text, "; tidbnumactl replan %s moves it", row->in->name);
                text_append(text, "\n");
        }
        if (!again)
                again = row;
        if (again->choice->n_alternatives > 0)
                text_append(text, "Alternatives:\n");
        plan_table_alternatives(again, text);
        plan_table_criteria(again, 1, text);
}

static void append_ids(const char *what, IdView ids, Text *text) {
        char list[ID_SET_LIST_ANY];

        if (id_view_render_list(ids, list, sizeof(list)) > 0)
                text_appendf(text, "%s%s", what, list);
}

static void render_unit(const UnitInfo *u, Text *text) {
        text_append_printable(text, u->name);
        if (strcmp(u->state, "prepared") == 0) {
                text_append(text, " does not run; it is prepared to start on ");
                plan_words_nodes(&u->nodes, text);
        } else if (strcmp(u->state, "missing") == 0)
                text_append(text, " is not a unit that systemd has");
        else if (strcmp(u->state, "running") == 0)
                text_append(text, " is active, but no process in it matches its policy");
        else
                text_append(text, " does not run, and is not prepared for its next start");
        append_ids(": CPUs ", ID_VIEW(&u->cpus), text);
        append_ids(id_set_is_empty(&u->cpus) ? ": memory nodes " : ", memory nodes ",
                   ID_VIEW(&u->mems), text);
        if (u->memory_limit_bytes > 0)
                text_appendf(text, "%s memory limit %.0f MiB",
                             id_set_is_empty(&u->cpus) && id_set_is_empty(&u->mems) ? ":" : ",",
                             (double)u->memory_limit_bytes / (1 << 20));
        text_append(text, "\n");
        if (*u->reason)
                text_append_names(text, "Why: %s\n", u->reason);
        if (*reason_to_remedy(u->code)) {
                text_append(text, "Remedy: ");
                reason_append_remedy(text, u->code, u->name);
                text_append(text, "\n");
        }
        text_append_names(text, "Policy: %s\n", u->policy ? u->policy : "none");
}

static int explain_print_json(const Situation *s, const Found *found,
                              const PlanReportInstance *again) {
        const Snapshot *status = &s->machine->status;
        const Process *p = found->process;
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };

        JSON_OBJECT(&json, NULL) {
                if (p) {
                        JSON_OBJECT(&json, "process") {
                                json_put_integer(&json, "pid", p->id.pid);
                                json_put_string(&json, "exe", p->exe);
                                json_put_string(&json, "unit", p->unit);
                                json_put_count(&json, "uid", p->uid);
                        }
                        verdict_json(&json, &s->policies->set, p);
                } else {
                        json_put_null(&json, "process");
                        json_put_strings(&json, "policies", NULL, 0);
                }
                json_put_string(&json, "ignored", found->full ? "max_instances" : NULL);
                if (found->row)
                        plan_json_instance(&json, "instance", found->row);
                else
                        json_put_null(&json, "instance");
                if (again)
                        plan_json_instance(&json, "placed_again", again);
                if (found->unit)
                        status_put_json(&json, "unit",
                                        json_array_get(json_object_get(status->read_from, "units"),
                                                       (size_t)(found->unit - status->units)));
        }
        return output_json(&text);
}

int command_explain(const Args *args, Error *error) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args, .machine = &machine },
                                      anew = { .args = args, .machine = &machine };
        const PlanReportInstance *again = NULL;
        _cleanup_(found_done) Found found = { 0 };
        const Process *p;
        _cleanup_text_ Text text = { 0 };
        int r = machine_open(args, &machine, error);

        if (r >= 0)
                r = situation_load(&s, error);
        if (r >= 0)
                r = find_subject(&s, &found, error);
        /* What speaks for the place of such an instance shows when it is placed again. */
        if (r >= 0 && found.row && instance_keeps_place(found.row)) {
                char *name = (char *)found.row->in->name;

                anew.replan = (WordList){ .words = &name, .n_words = 1 };
                r = situation_load(&anew, error);
                again = r < 0 ? NULL : situation_find(&anew, name);
        }
        if (r < 0)
                return r;
        if (args->json)
                return explain_print_json(&s, &found, again);
        if (found.unit)
                render_unit(found.unit, &text);
        p = found.process;
        if (p) {
                text_appendf(&text, "Process %d: ", p->id.pid);
                text_append_names(&text, "%s, %s", p->exe, p->unit ? p->unit : "no unit");
                text_appendf(&text, ", user %u\n\n", (unsigned)p->uid);
                verdict_render_all(&s.policies->set, p, found.row ? found.row->in->policy : NULL,
                                   output_width(), &text);
        }
        if (found.full) {
                text_append_names(&text, "It is ignored: the policy %s has", found.full->name);
                text_appendf(&text,
                             " %" PRIu32
                             " instances of user %u already (max_instances). It is accepted when "
                             "one of these ends, or when max_instances is raised.\n",
                             found.full->max_instances, (unsigned)p->uid);
        }
        if (p && found.row)
                text_append(&text, "\n");
        if (found.row)
                render_place(&s, found.row, again, &text);
        for (size_t i = s.daemons_plan ? s.first_note_of_source : s.note_of_silent;
             i < s.first_note_of_policies; i++)
                output_line(stderr, "note: %s", s.report.notes.words[i]);
        return output_text(&text);
}
