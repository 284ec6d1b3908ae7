/* Locality as a table with bars, and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/locality.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/table.h"

enum { BAR_WIDTH = 24 };

static uint64_t node_bytes(const LocalityNode *node) {
        return node->anon_bytes + node->file_bytes + node->shmem_bytes + node->huge_bytes;
}

static void add_kinds(Table *table, const LocalityNode *node) {
        plan_words_add_bytes(table, node_bytes(node));
        plan_words_add_bytes(table, node->anon_bytes);
        plan_words_add_bytes(table, node->file_bytes);
        plan_words_add_bytes(table, node->shmem_bytes);
        plan_words_add_bytes(table, node->huge_bytes);
}

void locality_render(const LocalityReport *report, Text *text) {
        static const char *const headings[] = { "NODE", "",     "SHARE", "ALL",
                                                "ANON", "FILE", "SHMEM", "HUGE" };
        LocalityNode all = { 0 };
        _cleanup_table_ Table table;

        for (size_t i = 0; i < report->topology->n_nodes; i++) {
                all.anon_bytes += report->by_node[i].anon_bytes;
                all.file_bytes += report->by_node[i].file_bytes;
                all.shmem_bytes += report->by_node[i].shmem_bytes;
                all.huge_bytes += report->by_node[i].huge_bytes;
        }
        text_reset(text);
        text_append_names(text, report->n_pids == 1 ? "%s, process" : "%s, processes",
                          report->name);
        for (size_t i = 0; i < report->n_pids; i++)
                text_appendf(text, "%s %d", i > 0 ? "," : "", report->pids[i]);
        text_append(text, "\n");
        if (report->exact)
                text_append(text, "every page was counted (numa_maps)");
        else if (isnan(report->halfwidth))
                text_append(text, "sampled: no anonymous page was found");
        else if (report->halfwidth <= 0)
                text_appendf(text, "sampled: all of its %" PRIu64 " anonymous pages",
                             report->n_pages);
        else
                text_appendf(text,
                             "sampled: %" PRIu64
                             " anonymous pages; each node's share is within +-%.1f points at 95 %%",
                             report->n_pages, report->halfwidth * 100);
        /* NAN is not above zero. */
        if (!report->exact && report->file_halfwidth > 0)
                text_appendf(text, "; of files +-%.1f", report->file_halfwidth * 100);
        if (!report->exact && report->shmem_halfwidth > 0)
                text_appendf(text, "; of shared memory +-%.1f", report->shmem_halfwidth * 100);
        text_append(text, "\n\n");
        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < report->topology->n_nodes; i++) {
                const LocalityNode *node = &report->by_node[i];
                double part = 0;
                char bar[BAR_WIDTH + 1];
                size_t n;

                table_addf(&table, "%" PRIu32, report->topology->nodes[i].id);
                /* Any share above zero is visible: the smallest one gets a mark too. */
                if (node_bytes(&all) > 0)
                        part = (double)node_bytes(node) / (double)node_bytes(&all);
                n = (size_t)(part * BAR_WIDTH + 0.5);
                n = n == 0 && part > 0 ? 1 : n;
                memset(bar, '.', BAR_WIDTH);
                memset(bar, '#', n < BAR_WIDTH ? n : BAR_WIDTH);
                bar[BAR_WIDTH] = '\0';
                table_add(&table, bar);
                table_addf(&table, "%.1f %%", part * 100);
                add_kinds(&table, node);
        }
        table_add(&table, "all");
        table_add(&table, "");
        table_add(&table, "");
        add_kinds(&table, &all);
        table_render(&table, 0, text);
}

void locality_json(Json *json, const LocalityReport *report) {
        JSON_OBJECT(json, NULL) {
                json_put_string(json, "name", report->name);
                JSON_ARRAY(json, "pids", i, report->n_pids)
                        json_put_integer(json, NULL, report->pids[i]);
                json_put_string(json, "method", report->exact ? "numa_maps" : "sampled");
                json_put_count_if(json, "anon_pages_seen", !report->exact, report->n_pages);
                json_put_number(json, "share_halfwidth", report->halfwidth);
                json_put_number(json, "file_share_halfwidth", report->file_halfwidth);
                json_put_number(json, "shmem_share_halfwidth", report->shmem_halfwidth);
                JSON_ARRAY(json, "nodes", i, report->topology->n_nodes)
                        JSON_OBJECT(json, NULL) {
                                const LocalityNode *node = &report->by_node[i];

                                json_put_count(json, "node", report->topology->nodes[i].id);
                                json_put_count(json, "anon_bytes", node->anon_bytes);
                                json_put_count(json, "file_bytes", node->file_bytes);
                                json_put_count(json, "shmem_bytes", node->shmem_bytes);
                                json_put_count(json, "huge_bytes", node->huge_bytes);
                        }
        }
}
