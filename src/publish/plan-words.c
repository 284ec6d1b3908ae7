#include <inttypes.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/publish/plan-words.h"

/* Of longer lists the ends are shown. */
enum { LIST_SHOWN_MAX = 23, HEAD_MAX = 8 };

static const char *const plan_words_criterion_texts[N_CRITERIA] = {
        [WEIGH_STABILITY] = "bound nodes that instances would leave",
        [WEIGH_DEVICE] = "summed distances from instances to their devices",
        [WEIGH_EXCLUSIVE] = "pairs of exclusive instances on one node",
        [WEIGH_POLICY] = "pairs of instances of one policy on one node",
        [WEIGH_RESERVED] = "reserved nodes that instances use",
        [WEIGH_SPREAD] = ("pairs of exclusive instances, and of instances of one policy, "
                          "on one socket"),
        [WEIGH_MEMORY] = "MiB that instances need beyond the room of their nodes",
        [WEIGH_DISTANCE] = "summed distances among the nodes of each instance",
        [WEIGH_ROOM] = "squared weights of instances against the memory of their nodes",
        [WEIGH_LOAD] = "squared weights of instances per CPU of their nodes, in thousandths",
        [WEIGH_MOVE] = "MiB of memory to move",
        [WEIGH_NUMBER] = "summed ranks of the nodes by number",
};
DEFINE_STRING_TABLE(plan_words_criterion, PlacementCriterion, plan_words_criterion_texts)

static void append_rule(PlacementCriterion criterion, Text *text) {
        const char *rule = placement_criterion_to_rule(criterion);

        if (*rule)
                text_appendf(text, " (%s)", rule);
}

void plan_words_nodes(const NodeSet *nodes, Text *text) {
        text_append(text, id_set_count(nodes) == 1 ? "node " : "nodes ");
        plan_words_set(ID_VIEW(nodes), text);
}

void plan_words_alternative(const PlacementAlternative *a, Text *text) {
        plan_words_nodes(&a->nodes, text);
        text_appendf(text, ": %s %" PRIu64 " against %" PRIu64,
                     placement_criterion_to_string(a->criterion), a->other, a->chosen);
        append_rule(a->criterion, text);
}

static const char *exclusive_reason(const PlanReportInstance *i) {
        if (i->grounds.others == 0)
                return "alone on its ";
        return i->grounds.exclusive == 0 ? "no other exclusive instance on its "
                                         : "fewest exclusive instances on its ";
}

/* Why its nodes are better than those that lost by this criterion. It must be true of the instance
 * itself: with too few nodes the best place is shared as well. A reason that ends with a blank is
 * followed by "node" or "nodes". */
static const char *reason_of(const PlanReportInstance *i, PlacementCriterion criterion) {
        switch (criterion) {
        case WEIGH_STABILITY:
                return id_set_intersects(&i->in_force, &i->placement->nodes) ? "it is bound there"
                                                                             : "it is placed there";
        case WEIGH_DEVICE:
                return i->policy->place.near == NEAR_NIC ? "nearest to a network card"
                                                         : "nearest to its device";
        case WEIGH_EXCLUSIVE:
                return exclusive_reason(i);
        case WEIGH_POLICY:
                return i->grounds.of_policy == 0 ? "no other of its policy on its "
                                                 : "fewest of its policy on its ";
        case WEIGH_RESERVED:
                return id_set_is_empty(&i->reserved) ? "leaves reserved nodes free"
                                                     : "fewest reserved nodes";
        case WEIGH_SPREAD:
                return i->grounds.in_sockets == 0 ? "one per socket" : "spread over the sockets";
        case WEIGH_MEMORY:
                return i->warnings & WARN_MEMORY ? "lacks the least memory"
                                                 : "has the memory for it";
        case WEIGH_ROOM:
                return "the least weight for its memory";
        case WEIGH_DISTANCE:
                return "nodes near each other";
        case WEIGH_LOAD:
                return "its CPUs are the least loaded";
        case WEIGH_MOVE:
                return "the least memory to move";
        default:
                return "a tie with other nodes; the lowest number is taken";
        }
}

static void append_reason(const PlanReportInstance *i, PlacementCriterion criterion, Text *text) {
        const char *nodes = id_set_count(&i->placement->nodes) == 1 ? "node" : "nodes";
        const char *reason = reason_of(i, criterion);

        text_append(text, reason);
        text_append(text, reason[strlen(reason) - 1] == ' ' ? nodes : "");
        if (criterion == WEIGH_DEVICE && i->policy->place.near == NEAR_NIC)
                text_append(text, " (R12)");
        else
                append_rule(criterion, text);
}

/* Of the criteria by which others lost, the weightiest, and that by which the nearest rivals lost;
 * and whether some did not lose at all. */
static void append_reasons(const PlanReportInstance *i, Text *text) {
        const uint32_t decides = i->grounds.decides & ~(1u << WEIGH_NUMBER);
        const bool tie = i->grounds.decides & 1u << WEIGH_NUMBER;
        unsigned first = 0, last = 0;

        if (decides == 0) {
                text_append(text, tie                 ? reason_of(i, WEIGH_NUMBER)
                                  : i->n_feasible > 1 ? "a tie with other nodes"
                                                      : "no other nodes are available to it");
                return;
        }
        for (unsigned c = 0; c < N_CRITERIA; c++)
                last = decides & 1u << c ? c : last;
        while (!(decides & 1u << first))
                first++;
        append_reason(i, (PlacementCriterion)first, text);
        if (last != first) {
                text_append(text, "; ");
                append_reason(i, (PlacementCriterion)last, text);
        }
        text_append(text, tie ? "; of equal nodes the lowest number" : "");
}

void plan_words_why(const PlanReportInstance *i, Text *text) {
        if (i->unplaced) {
                text_append_printable(text, i->unplaced);
                return;
        }
        switch (i->basis) {
        case BASIS_REFUSED:
                placement_refusal_append(i->refusal, &i->limit, text);
                break;
        case BASIS_EXPLICIT:
                text_append(text, "its policy names the ");
                text_append(text, id_set_count(&i->placement->nodes) == 1 ? "node" : "nodes");
                break;
        case BASIS_KEPT:
        case BASIS_CHOSEN:
                if (i->bound)
                        text_append(text, "it is bound there and still fits");
                else if (i->basis == BASIS_KEPT)
                        text_append(text, "it is placed there and still fits");
                else if (i->grounds.outdone)
                        text_append(text, "an earlier plan placed it there");
                else
                        append_reasons(i, text);
                break;
        }
}

static int last_of(IdView set) {
        int last = -1;

        for (int id = id_view_next(set, 0); id >= 0; id = id_view_next(set, (uint32_t)id + 1))
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

void plan_words_set(IdView set, Text *text) {
        char list[ID_SET_LIST_MAX];
        int n = id_view_render_list(set, list, sizeof(list));

        if (n < 0) /* thousands of single ones */
                text_appendf(text, "%d,…,%d (%u)", id_view_next(set, 0), last_of(set),
                             id_view_count(set));
        else if (n > LIST_SHOWN_MAX) /* so of three parts at least */
                append_ends(list, id_view_count(set), text);
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

void plan_words_add_set(Table *table, IdView set) {
        _cleanup_text_ Text cell = { 0 };

        plan_words_set(set, &cell);
        table_add_text(table, &cell);
}

void plan_words_add_bytes(Table *table, uint64_t bytes) {
        _cleanup_text_ Text cell = { 0 };

        plan_words_bytes(bytes, &cell);
        table_add_text(table, &cell);
}
