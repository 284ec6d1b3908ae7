/* tidbnumactl validate: checks policies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tidbnumad/config/policy-check.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/instances.h"
#include "tidbnumad/ctl/machine.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/policies.h"
#include "tidbnumad/publish/object.h"

static int check_matched(const ObservedList *running, Policies *p) {
        _cleanup_free_ bool *matched = calloc(p->set.n_policies + 1, sizeof(*matched));

        if (!matched)
                return -ENOMEM;
        for (size_t i = 0; i < running->n_instances; i++)
                matched[running->instances[i].policy - p->set.policies] = true;
        policy_check_matched(&p->set, matched, &p->files, &p->warnings);
        return p->warnings.error;
}

/* Without access to processes, nothing is known of them. */
static int warn_idle(const Machine *machine, Policies *p) {
        _cleanup_observed_list_ ObservedList running = { 0 };
        int r = instances_find(&machine->sysroot, &p->set, NULL, &running);

        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (running.n_denied == 0 || geteuid() == 0)
                return check_matched(&running, p);
        output_line(stderr, "note: without root, policies that match no process are not reported");
        return 0;
}

static json_t *message(const Diagnostics *d, size_t i) {
        const DiagnosticDetail *detail = &d->details[i];
        Object o = object_new();

        object_set(&o, "file", object_string(detail->path));
        object_set(&o, "line", detail->line ? json_integer(detail->line) : json_null());
        object_set(&o, "column", detail->column ? json_integer(detail->column) : json_null());
        object_set(&o, "text", object_string(diagnostics_what(d, i)));
        object_set(&o, "message", object_string(d->messages[i]));
        object_set(&o, "excerpt", object_string(detail->excerpt));
        return object_finish(&o);
}

static json_t *messages(const Diagnostics *d) {
        json_t *array = json_array();

        for (size_t i = 0; i < d->n_messages && array; i++)
                array = object_append(array, message(d, i));
        return array;
}

static json_t *names(const PolicySet *set) {
        json_t *array = json_array();

        for (size_t i = 0; i < set->n_policies && array; i++)
                if (!set->policies[i].built_in)
                        array = object_append(array, object_string(set->policies[i].name));
        return array;
}

static int print_json(const Policies *p, bool valid) {
        Object o = object_new();

        object_set(&o, "valid", json_boolean(valid));
        object_set(&o, "policies", names(&p->set));
        object_set(&o, "errors", messages(&p->errors));
        object_set(&o, "warnings", messages(&p->warnings));
        return output_json(object_finish(&o));
}

static int print_text(const Policies *p, bool valid) {
        _cleanup_text_ Text text = { 0 };
        int r = policies_print(&p->warnings, "warning: ");

        if (r >= 0)
                r = policies_print(&p->errors, "");
        if (r < 0)
                return r;
        if (!valid)
                text_appendf(&text, "Refused: %zu error%s.\n", p->errors.n_messages,
                             p->errors.n_messages == 1 ? "" : "s");
        else if (policies_are_built_in(p))
                text_append(&text,
                            "OK: no policies; the daemon only watches and changes nothing.\n");
        else
                text_appendf(&text, "OK: %zu %s in %zu file%s.\n", p->set.n_policies,
                             p->set.n_policies == 1 ? "policy" : "policies", p->files.n_files,
                             p->files.n_files == 1 ? "" : "s");
        return output_text(&text);
}

int command_validate(const Args *args) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_policies_ Policies policies = { 0 };
        bool valid;
        int r = machine_open(args, &machine);

        if (r < 0)
                return r;
        r = policies_load(args, &machine, &policies);
        valid = r >= 0;
        if (r == 0 && machine.live && !policies_are_built_in(&policies))
                r = warn_idle(&machine, &policies);
        if (r == -ENOMEM)
                return r;
        r = args->json ? print_json(&policies, valid) : print_text(&policies, valid);
        return r < 0 ? r : valid ? EXIT_SUCCESS : EXIT_FAILURE;
}
