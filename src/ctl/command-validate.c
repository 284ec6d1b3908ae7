/* tidbnumactl validate: checks policies. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/json.h"
#include "tidbnumad/config/policy-check.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/policies.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/sys/policy-dir.h"

static bool policy_is_matched(const Policy *policy, const PolicyInstance *entry, void *userdata) {
        const HostInstances *running = userdata;

        for (size_t i = 0; i < running->n_instances; i++) {
                const HostInstance *o = &running->instances[i];

                if (o->policy == policy &&
                    (!entry || match_instance(policy, o->unit, o->ports, o->n_ports) == entry))
                        return true;
        }
        return false;
}

/* A reload would refuse what the files have lost since they came into force, see tidbnumad.d(5). */
static int check_lost_policies(const Args *args, Policies *p) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_policy_set_ PolicySet kept = { 0 };
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_close_ int fd = open(args->runtime_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const size_t before = p->errors.n_messages;

        policy_set_init(&kept);
        if (fd >= 0 && must(policy_kept_read(fd, &files)) > 0)
                must(policy_set_parse(&files, NULL, NULL, &kept, &errors, &warnings));
        policy_check_lost(&kept, &p->set, &p->files, policy_dir_find_beside, &p->errors);
        must(p->errors.error);
        return p->errors.n_messages > before ? -EINVAL : 0;
}

/* Warns of strict binding whose need exceeds the nodes. Takes over `running`. */
static void check_need(const Args *args, const Machine *machine, HostInstances *running,
                       Policies *p) {
        _cleanup_situation_ Situation s = {
                .args = args, .machine = machine, .policies = p, .instances = TAKE_STRUCT(*running)
        };

        must(host_instances_describe(&machine->sysroot, &machine->topology, &s.instances));
        situation_plan(&s);
        for (size_t i = 0; i < s.report.n_instances; i++) {
                const PlanReportInstance *row = &s.report.instances[i];
                const Policy *policy = row->in->policy;
                const SourceFile *file = source_file_find(&p->files, policy->file);

                if (file && row->choice->warnings & WARN_MEMORY)
                        diagnostics_add_at(&p->warnings, file, policy->at, "policy `%s`, %s: %s",
                                           policy->name, row->in->name,
                                           placement_warning_to_string(WARN_MEMORY));
        }
        must(p->warnings.error);
}

/* The daemon loads such a policy, and places nothing by it. */
static size_t count_placing_nothing(const Policies *p) {
        size_t n = 0;

        for (size_t i = 0; i < p->warnings.n_messages; i++)
                n += strncmp(diagnostics_what(&p->warnings, i), POLICY_PLACES_NOTHING,
                             strlen(POLICY_PLACES_NOTHING)) == 0;
        return n;
}

static void put_messages(Json *json, const char *key, const Diagnostics *d) {
        JSON_ARRAY(json, key, i, d->n_messages)
                JSON_OBJECT(json, NULL) {
                        const DiagnosticDetail *detail = &d->details[i];

                        json_put_string(json, "file", detail->path);
                        json_put_count_if(json, "line", detail->line, detail->line);
                        json_put_count_if(json, "column", detail->column, detail->column);
                        json_put_string(json, "text", diagnostics_what(d, i));
                        json_put_string(json, "message", d->messages[i]);
                        json_put_string(json, "excerpt", detail->excerpt);
                }
}

/* All of it is the command's result, in one stream: the verdict is below its reasons. */
static int validate_print_text(const Policies *p, const WordList *notes, bool valid) {
        _cleanup_text_ Text text = { 0 };

        policies_append(&p->warnings, "warning: ", &text);
        policies_append(&p->errors, "", &text);
        for (size_t i = 0; i < notes->n_words; i++)
                text_appendf(&text, "note: %s\n", notes->words[i]);
        if (!valid)
                text_appendf(&text, "Refused: %zu error%s.\n", p->errors.n_messages,
                             p->errors.n_messages == 1 ? "" : "s");
        else if (count_placing_nothing(p) > 0)
                text_append(&text, "Incomplete: the daemon loads these policies, but binds nothing "
                                   "on the nodes that these warnings name.\n");
        else if (policies_are_built_in(p))
                text_append(&text, "OK: no policies; the daemon watches and changes no process.\n");
        else
                text_appendf(&text, "OK: %zu %s in %zu file%s.\n", p->set.n_policies,
                             p->set.n_policies == 1 ? "policy" : "policies", p->files.n_files,
                             p->files.n_files == 1 ? "" : "s");
        return output_text(&text);
}

int command_validate(const Args *args, Error *error) {
        /* What limits the verdict, or is worth knowing and no fault of a policy. */
        _cleanup_(word_list_done) WordList notes = { 0 };
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_policies_ Policies policies = { 0 };
        _cleanup_host_instances_ HostInstances running = { 0 };
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };
        const PolicySet *set = &policies.set;
        bool valid;
        int r = machine_open(args, &machine, error);

        if (r < 0)
                return r;
        r = policies_load(args, &machine, &policies);
        if (r >= 0 && machine.live && args->n_policy_dirs > 0)
                r = check_lost_policies(args, &policies);
        valid = r >= 0;
        if (r == 0 && machine.runs && !policies_are_built_in(&policies)) {
                r = instances_find(&machine.sysroot, set, NULL, &running);
                /* Without access to processes, nothing is known of them. */
                if (r >= 0 && machine.live && (running.n_denied == 0 || geteuid() == 0))
                        policy_check_matched(set, policy_is_matched, &running, &policies.files,
                                             &policies.warnings);
                else if (r >= 0 && machine.live)
                        must(word_list_add(&notes, "without root, policies that match no "
                                                   "process are not reported"));
                if (r >= 0)
                        check_need(args, &machine, &running, &policies);
        }
        if (valid && !policies_are_built_in(&policies)) {
                _cleanup_text_ Text unused = { 0 };
                NodeSet named = { 0 }; /* the nodes that policies name for instances, leaving no
                                        * choice */

                for (size_t i = 0; i < set->n_policies; i++) {
                        if (!set->policies[i].place.count_is_set)
                                id_set_union(&named, &set->policies[i].place.nodes);
                        for (size_t k = 0; k < set->policies[i].n_instances; k++)
                                id_set_union(&named, &set->policies[i].instances[k].nodes);
                }
                topology_append_unused(&machine.topology, &named, &unused);
                if (unused.length > 0)
                        must(word_list_add(&notes, must_text(&unused)));
        }
        if (args->json) {
                JSON_OBJECT(&json, NULL) {
                        json_put_bool(&json, "valid", valid);
                        JSON_ARRAY(&json, "policies", i, set->n_policies)
                                if (!set->policies[i].built_in)
                                        json_put_string(&json, NULL, set->policies[i].name);
                        put_messages(&json, "errors", &policies.errors);
                        put_messages(&json, "warnings", &policies.warnings);
                        JSON_ARRAY(&json, "notes", i, notes.n_words)
                                json_put_string(&json, NULL, notes.words[i]);
                }
                r = output_json(&text);
        } else
                r = validate_print_text(&policies, &notes, valid);
        if (r < 0)
                return r;
        return valid && count_placing_nothing(&policies) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
