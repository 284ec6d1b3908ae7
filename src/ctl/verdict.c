#include <stdio.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/verdict.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/publish/table.h"

static const char *key_name(MatchKey key) {
        switch (key) {
        case MATCH_KEY_EXE:
                return "exe";
        case MATCH_KEY_UNIT:
                return "unit";
        case MATCH_KEY_ARGS:
                return "args";
        case MATCH_KEY_USER:
                return "user";
        case MATCH_KEY_CONTAINERS:
                return "containers";
        case MATCH_KEY_NONE:
                break;
        }
        return NULL;
}

static void render_user(const PolicyMatch *match, const Process *process, Text *text) {
        if (!match->uid_known)
                text_appendf(text, "user is %s, which this host does not know", match->user);
        else
                text_appendf(text,
                             "user is %s (%u), but the process runs as user %u; it is ignored",
                             match->user, (unsigned)match->uid, (unsigned)process->uid);
}

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
                break;
        case MATCH_KEY_ARGS:
                text_appendf(text, "args is %s, but its command line %s", match->args,
                             process->args ? "is another" : "cannot be read; run it as root");
                break;
        case MATCH_KEY_USER:
                render_user(match, process, text);
                break;
        case MATCH_KEY_CONTAINERS:
                text_appendf(text,
                             "it is in another %s namespace, as in a container, and "
                             "match.containers is false; it is ignored",
                             foreign_to_string(process->foreign));
                break;
        }
}

static void add_place(Table *table, const Policy *policy) {
        if (policy->line > 0)
                table_addf(table, "%s:%u", policy->file, policy->line);
        else
                table_add(table, "built in");
}

static void render_owner(const PolicySet *policies, const Process *process, const Policy *published,
                         Text *text) {
        const Policy *owner = match_process(policies, process);
        bool also = false;

        if (!owner && published) {
                text_append(text, "\nThe daemon reports that it belongs to the policy ");
                text_append_printable(text, published->name);
                text_append(text, ".\n");
                return;
        }
        if (!owner) {
                text_append(text, "\nNo policy matches it.\n");
                return;
        }
        text_append(text, "\nIt belongs to the policy ");
        text_append_printable(text, owner->name);
        for (const Policy *p = owner + 1; p < policies->policies + policies->n_policies; p++) {
                if (match_failing_key(&p->match, process) != MATCH_KEY_NONE)
                        continue;
                text_append(text, also ? ", " : ", the first that matches; also matches ");
                text_append_printable(text, p->name);
                also = true;
        }
        text_append(text, ".\n");
}

void verdict_render_all(const PolicySet *policies, const Process *process, const Policy *published,
                        unsigned width, Text *text) {
        static const char *const headings[] = { "POLICY", "FROM", "VERDICT" };
        const Policy *owner = match_process(policies, process);
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < policies->n_policies; i++) {
                const Policy *policy = &policies->policies[i];

                table_add(&table, policy->name);
                add_place(&table, policy);
                text_reset(&cell);
                verdict_render(policy, process, owner && owner < policy, &cell);
                table_add(&table, cell.data ? cell.data : "");
        }
        table_render(&table, width, text);
        render_owner(policies, process, published, text);
        if (cell.error < 0)
                text->error = cell.error;
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
                        json_put_integer(json, "line", policy->line);
                        json_put_bool(json, "matches", key == MATCH_KEY_NONE);
                        json_put_string(json, "key", key_name(key));
                        json_put_text(json, "text", &text);
                }
}
