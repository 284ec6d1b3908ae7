/* Sentences about a plan, made from its data. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/publish/plan-words.h"

/* Longer lists are told by their ends. */
enum { LIST_SHOWN_MAX = 23, HEAD_MAX = 8, REASONS_MAX = 2 };

typedef struct CriterionWords {
        const char *reason; /* why the nodes are better than those that lost by it */
        const char *counts; /* what the sum counts */
} CriterionWords;

static const CriterionWords *words_of(PlacementCriterion criterion) {
        static const CriterionWords words[N_CRITERIA] = {
                [WEIGH_STABILITY] = { "it is bound there",
                                      "nodes given up that an instance is bound to" },
                [WEIGH_DEVICE] = { "nearest to its device",
                                   "summed distances from instances to their devices" },
                [WEIGH_EXCLUSIVE] = { "no node shared with another exclusive instance",
                                      "pairs of exclusive instances on one node" },
                [WEIGH_POLICY] = { "no node shared with its own kind",
                                   "pairs of instances of one policy on one node" },
                [WEIGH_RESERVED] = { "leaves reserved nodes free",
                                     "reserved nodes that instances use" },
                [WEIGH_SPREAD] = { "spreads instances over the sockets",
                                   "pairs of exclusive instances, and of instances of one policy, "
                                   "on one socket" },
                [WEIGH_MEMORY] = { "has the memory for it",
                                   "MiB that instances need beyond what their nodes have left" },
                [WEIGH_DISTANCE] = { "nodes near each other",
                                     "summed distances among the nodes of each instance" },
                [WEIGH_LOAD] = { "its CPUs are the least taken",
                                 "thousandths of other instances per CPU, summed over instances" },
                [WEIGH_NUMBER] = { "the lowest number among equals",
                                   "summed ranks of the nodes by number" },
        };

        return &words[criterion];
}

const char *plan_words_criterion(PlacementCriterion criterion) {
        return words_of(criterion)->counts;
}

static void append_rule(PlacementCriterion criterion, Text *text) {
        const char *rule = placement_criterion_to_rule(criterion);

        if (*rule)
                text_appendf(text, " (%s)", rule);
}

void plan_words_nodes(const NodeSet *nodes, Text *text) {
        text_append(text, id_set_count(nodes) == 1 ? "node " : "nodes ");
        plan_words_set(nodes, text);
}

void plan_words_alternative(const PlacementAlternative *a, Text *text) {
        plan_words_nodes(&a->nodes, text);
        text_appendf(text, ": %s %" PRIu64 " against %" PRIu64,
                     placement_criterion_to_string(a->criterion), a->other, a->chosen);
        append_rule(a->criterion, text);
}

/* The criteria by which others lost, the weightiest first. */
static void append_reasons(const PlanReportInstance *i, Text *text) {
        bool decides[N_CRITERIA] = { false };
        unsigned n = 0;

        for (size_t k = 0; k < i->n_alternatives; k++)
                decides[i->alternatives[k].criterion] = true;
        for (unsigned c = 0; c < N_CRITERIA && n < REASONS_MAX; c++) {
                if (!decides[c] || (c == WEIGH_NUMBER && n > 0))
                        continue;
                text_appendf(text, "%s%s", n > 0 ? ", " : "", words_of(c)->reason);
                append_rule(c, text);
                n++;
        }
        if (n == 0)
                text_append(text, i->n_open > 1 ? "as good as any" : "nothing else is open to it");
}

void plan_words_why(const PlanReportInstance *i, Text *text) {
        switch (i->basis) {
        case BASIS_REFUSED:
                text_append(text, placement_refusal_to_string(i->refusal));
                break;
        case BASIS_EXPLICIT:
                text_append(text, "its policy names the ");
                text_append(text, id_set_count(&i->placement->nodes) == 1 ? "node" : "nodes");
                break;
        case BASIS_KEPT:
                text_append(text, "it is bound there, and that still fits");
                break;
        case BASIS_CHOSEN:
                append_reasons(i, text);
                break;
        }
}

static int last_of(const IdSet *set) {
        int last = -1;

        ID_SET_FOREACH(id, set)
        last = id;
        return last;
}

/* Of a list its beginning, two parts where they are short, and its last part. */
static void append_ends(const char *list, uint32_t count, Text *text) {
        const char *first = strchr(list, ','), *second = strchr(first + 1, ',');
        const char *end = second && second - list <= HEAD_MAX ? second : first;

        text_appendf(text, "%.*s,…,%s (%u)", (int)(end - list), list, strrchr(list, ',') + 1,
                     count);
}

void plan_words_set(const IdSet *set, Text *text) {
        char list[ID_SET_LIST_MAX];
        int n = id_set_render_list(set, list, sizeof(list));

        if (n < 0) /* thousands of single ones */
                text_appendf(text, "%d,…,%d (%u)", id_set_next(set, 0), last_of(set),
                             id_set_count(set));
        else if (n > LIST_SHOWN_MAX) /* so of three parts at least */
                append_ends(list, id_set_count(set), text);
        else
                text_append(text, n > 0 ? list : "-");
}

void plan_words_bytes(uint64_t bytes, Text *text) {
        static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
        double value = (double)bytes;
        unsigned unit = 0;

        if (bytes < 1024) {
                text_appendf(text, "%" PRIu64 " B", bytes);
                return;
        }
        for (value /= 1024; value >= 1023.95 && unit + 1 < ELEMENTSOF(units); value /= 1024)
                unit++;
        text_appendf(text, "%.1f %s", value, units[unit]);
}

void plan_words_add_set(Table *table, const IdSet *set) {
        _cleanup_text_ Text cell = { 0 };

        plan_words_set(set, &cell);
        table_add_text(table, &cell);
}

void plan_words_add_bytes(Table *table, uint64_t bytes) {
        _cleanup_text_ Text cell = { 0 };

        plan_words_bytes(bytes, &cell);
        table_add_text(table, &cell);
}
