/* What a dry run that publishes nothing prints. */
#include "tidbnumad/daemon/report/dry-run.h"
#include "tidbnumad/daemon/binding/look-say.h"
#include "tidbnumad/publish/table.h"

static void add_ids(IdView ids, Table *table) {
        char list[ID_SET_LIST_MAX];

        (void)id_view_render_list(ids, list, sizeof(list));
        table_add(table, list[0] ? list : "-");
}

static void add_row(const Report *report, const Instance *i, Table *table) {
        const Verdict verdict = look_verdict(report->binding, i);

        table_add(table, i->name);
        table_add(table, i->policy->name);
        table_add(table, instance_state_to_string(verdict.state));
        add_ids(ID_VIEW(&i->binding.placement.nodes), table);
        add_ids(ID_VIEW(&i->binding.placement.cpus), table);
        table_add(table, verdict.reason);
}

void dry_run_render(const Report *report, Text *text) {
        static const char *const headings[] = { "INSTANCE", "POLICY", "STATE",
                                                "NODES",    "CPUS",   "REASON" };
        _cleanup_table_ Table table = { 0 };

        if (report->roster->n_instances == 0) {
                text_append(text, "No running process matches a policy.\n");
                return;
        }
        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < report->roster->n_instances; i++)
                add_row(report, report->roster->instances[i], &table);
        table_render(&table, 0, text);
}
