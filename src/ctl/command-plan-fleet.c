/* tidbnumactl plan --tiup: where each server of a cluster belongs, host by host. */
#include <errno.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/fleet.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/table.h"

/* --- the table --- */

static void append_note(const PlanReportInstance *row, const TiupServer *server, bool afresh,
                        Text *cell) {
        if (!plan_report_places(row)) {
                text_append(cell, placement_refusal_to_string(row->choice->refusal));
                return;
        }
        if (server->nodes_unknown && !afresh)
                text_append(cell, "numa_node is in words of numactl");
        if (!id_set_is_empty(&server->nodes) &&
            !id_set_equal(&server->nodes, &row->choice->placement.nodes)) {
                text_append(cell, "was ");
                plan_words_nodes(&server->nodes, cell);
        }
        for (unsigned i = 0; i < N_PLACEMENT_WARNINGS; i++) {
                const char *rule = placement_warning_to_rule(1u << i);

                if ((row->choice->warnings & (1u << i)) && *rule)
                        text_appendf(cell, "%s%s", cell->length > 0 ? ", " : "", rule);
        }
}

/* The row of the plan for a server of the host; NULL: no policy matches it. */
static const PlanReportInstance *row_of(const FleetHost *host, size_t index) {
        for (size_t i = 0; i < host->situation.instances.n_instances; i++)
                if (host->imagined_from[i] == host->servers[index])
                        return &host->situation.report.instances[i];
        return NULL;
}

static void add_row(const Fleet *fleet, const FleetHost *host, size_t index, Table *table) {
        const TiupServer *server = &fleet->topology.servers[host->servers[index]];
        const PlanReportInstance *row = row_of(host, index);
        static const Placement nowhere;
        const Placement *placement = row ? &row->choice->placement : &nowhere;
        _cleanup_text_ Text note = { 0 };

        table_add(table, host->name);
        table_add(table, !host->class                       ? "-"
                         : host->class->kind != FLEET_GIVEN ? basename(host->class->path)
                         : fleet->args->topology            ? "--topology"
                                                            : "--sysroot");
        table_add(table, server->name);
        table_add(table, row ? row->in->policy->name : "-");
        plan_words_add_set(table, ID_VIEW(&placement->nodes));
        plan_words_add_set(table, ID_VIEW(&placement->cpus));
        if (row)
                append_note(row, server, fleet->args->afresh, &note);
        else
                text_append(&note,
                            host->class ? "no policy matches it" : "no machine for its host");
        table_add_text(table, &note);
}

/* --- notes --- */

static const PlanReport *report_of(const Fleet *fleet, size_t host) {
        return &fleet->hosts[host].situation.report;
}

static size_t count_warning(const Fleet *fleet, uint32_t warning) {
        size_t n = 0;

        for (size_t h = 0; h < fleet->n_hosts; h++)
                for (size_t i = 0; i < report_of(fleet, h)->n_instances; i++)
                        n += (report_of(fleet, h)->instances[i].choice->warnings & warning) != 0;
        return n;
}

static size_t count_without_card(const Fleet *fleet) {
        size_t n = 0;

        for (size_t h = 0; h < fleet->n_hosts; h++)
                n += fleet->hosts[h].class &&
                     fleet->hosts[h].situation.policies->set.host.reserve.kind == RESERVE_NIC &&
                     id_set_is_empty(&report_of(fleet, h)->nic_nodes);
        return n;
}

static size_t count_bound_by_tiup(const Fleet *fleet) {
        size_t n = 0;

        for (size_t i = 0; i < fleet->topology.n_servers; i++)
                n += !id_set_is_empty(&fleet->topology.servers[i].nodes);
        return n;
}

static void append_warnings(const Fleet *fleet, Text *text) {
        for (unsigned i = 0; i < N_PLACEMENT_WARNINGS; i++) {
                const size_t n = 1u << i == WARN_MOVED ? 0 : count_warning(fleet, 1u << i);
                const char *rule = placement_warning_to_rule(1u << i);

                if (n > 0)
                        text_appendf(text, "  %s%s%s (%zu instance%s)\n", rule, *rule ? ": " : "",
                                     placement_warning_to_string(1u << i), n, n == 1 ? "" : "s");
        }
}

static void append_count(Text *text, size_t n, const char *what) {
        if (n > 0)
                text_appendf(text, "  %s: %zu\n", what, n);
}

static size_t count_without_machine(const Fleet *fleet) {
        size_t n = 0;

        for (size_t h = 0; h < fleet->n_hosts; h++)
                n += !fleet->hosts[h].class;
        return n;
}

static void append_others(const Fleet *fleet, Text *text) {
        for (size_t i = 0; i < fleet->topology.n_others; i++) {
                text_append(text, "  ");
                text_append_printable(text, fleet->topology.others[i].section);
                text_appendf(text, " is not planned: %zu\n", fleet->topology.others[i].n);
        }
}

static void append_notes(const Fleet *fleet, Text *text) {
        const size_t before = text->length;

        text_append(text, "\nNotes:\n\n");
        const size_t heading = text->length;

        append_warnings(fleet, text);
        append_count(text, count_without_card(fleet),
                     "hosts whose network card is unknown, so that nothing is reserved for it");
        append_count(text, count_without_machine(fleet),
                     "hosts without a machine, whose servers are not planned");
        append_others(fleet, text);
        append_count(text, fleet->n_kept, "settings that the topology has already, and keeps");
        append_count(text, fleet->n_unfilled,
                     "servers written in braces or by an alias, which are not filled in entirely");
        if (fleet->topology.user_units)
                text_append(text,
                            "  systemd_mode: user: the servers are services of a user's own "
                            "manager, which policies with `unit` do not match; name exe and user "
                            "instead\n");
        if (fleet->daemon_binds)
                append_count(text, count_bound_by_tiup(fleet),
                             "servers with numa_node, although the daemon binds them: remove it");
        if (text->length == heading && text->error == 0) {
                text->length = before;
                text->data[before] = '\0';
        }
}

static void append_output(const Fleet *fleet, Text *text) {
        const char *output = fleet->args->output;

        if (!output)
                return;
        text_append(text, "\nWrote ");
        text_append_printable(text, output);
        text_append(text, ": the topology with its sizes");
        text_append(text, fleet->daemon_binds ? ", without numa_node, because the daemon binds;"
                                              : " and numa_node;");
        text_append(text, " hosts/HOST, the policies of each host.\n");
}

static int print_table(const Fleet *fleet) {
        static const char *const headings[] = { "HOST",  "MACHINE", "INSTANCE", "POLICY",
                                                "NODES", "CPUS",    "NOTES" };
        _cleanup_table_ Table table = { 0 };
        _cleanup_text_ Text text = { 0 };

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < fleet->n_hosts; i++)
                for (size_t k = 0; k < fleet->hosts[i].n_servers; k++)
                        add_row(fleet, &fleet->hosts[i], k, &table);
        text_appendf(&text, "Plan for %zu host%s of ", fleet->n_hosts,
                     fleet->n_hosts == 1 ? "" : "s");
        text_append_printable(&text, fleet->args->tiup_file);
        text_append(&text, "\n\n");
        table_render(&table, output_width(), &text);
        append_notes(fleet, &text);
        append_output(fleet, &text);
        return output_text(&text);
}

/* --- JSON --- */

static int print_json(const Fleet *fleet) {
        _cleanup_text_ Text text = { 0 };
        Json json = { .text = &text };

        JSON_OBJECT(&json, NULL) {
                json_put_bool(&json, "daemon_binds", fleet->daemon_binds);
                JSON_ARRAY(&json, "hosts", i, fleet->n_hosts)
                        JSON_OBJECT(&json, NULL) {
                                const FleetHost *host = &fleet->hosts[i];

                                json_put_string(&json, "host", host->name);
                                json_put_string(&json, "machine",
                                                host->class ? host->class->path : NULL);
                                JSON_ARRAY(&json, "unmatched", k, host->n_servers)
                                        if (!row_of(host, k))
                                                json_put_string(
                                                        &json, NULL,
                                                        fleet->topology.servers[host->servers[k]]
                                                                .name);
                                if (host->class)
                                        JSON_OBJECT(&json, "plan")
                                                plan_json_report(&json, &host->situation.report);
                        }
        }
        return output_json(&text);
}

int command_plan_fleet(const Args *args) {
        _cleanup_fleet_ Fleet fleet = { 0 };
        bool refused = false;
        int r = fleet_open(args, &fleet);

        if (r >= 0)
                r = fleet_plan(&fleet);
        if (r >= 0 && args->output)
                r = fleet_write(&fleet);
        if (r >= 0)
                r = args->json ? print_json(&fleet) : print_table(&fleet);
        for (size_t i = 0; i < fleet.n_hosts; i++)
                refused |= situation_has_refusal(&fleet.hosts[i].situation);
        return r < 0 ? r : refused ? COMMAND_EXIT_REFUSED : EXIT_SUCCESS;
}
