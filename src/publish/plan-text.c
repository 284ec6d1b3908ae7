/* Plans of instances and of interrupts for people: sentences and tables. */
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/placement.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/publish/table.h"

/* --- words --- */

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
        [WEIGH_ASIDE] = "pairs of an exclusive instance and one of monitoring on one node",
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

/* Why its nodes are better than those that lost by this criterion. It must be true of the instance
 * itself: with too few nodes the best place is shared as well. A reason that ends with a blank is
 * followed by "node" or "nodes". */
static const char *reason_of(const PlanReportInstance *i, PlacementCriterion criterion) {
        switch (criterion) {
        case WEIGH_STABILITY:
                if (!id_set_intersects(&i->in_force, &i->choice->placement.nodes))
                        return "it is placed there";
                return id_set_is_subset(&i->choice->placement.nodes, &i->in_force)
                               ? "it is bound there"
                               : "it is bound to a part of them";
        case WEIGH_DEVICE:
                return i->in->policy->place.near == NEAR_NIC ? "nearest to a network card"
                                                             : "nearest to its device";
        case WEIGH_EXCLUSIVE:
                return i->choice->grounds.others == 0      ? "alone on its "
                       : i->choice->grounds.exclusive == 0 ? "no other exclusive instance on its "
                                                           : "fewest exclusive instances on its ";
        case WEIGH_POLICY:
                return i->choice->grounds.of_policy == 0 ? "no other of its policy on its "
                                                         : "fewest of its policy on its ";
        case WEIGH_RESERVED:
                return id_set_is_empty(&i->choice->reserved) ? "leaves reserved nodes free"
                                                             : "fewest reserved nodes";
        case WEIGH_SPREAD:
                return i->choice->grounds.in_sockets == 0 ? "one per socket"
                                                          : "spread over the sockets";
        case WEIGH_MEMORY:
                return i->choice->warnings & WARN_MEMORY ? "lacks the least memory"
                                                         : "has the memory for it";
        case WEIGH_ROOM:
                return "the least weight for its memory";
        case WEIGH_DISTANCE:
                return "nodes near each other";
        case WEIGH_ASIDE:
                if (i->in->policy->place.share == SHARE_EXCLUSIVE)
                        return "the least monitoring on its ";
                return i->choice->grounds.exclusive == 0 ? "no exclusive instance on its "
                                                         : "fewest exclusive instances on its ";
        case WEIGH_LOAD:
                return "its CPUs are the least loaded";
        case WEIGH_MOVE:
                return "the least memory to move";
        default:
                return "a tie with other nodes; the lowest number is taken";
        }
}

static void append_reason(const PlanReportInstance *i, PlacementCriterion criterion, Text *text) {
        const char *nodes = id_set_count(&i->choice->placement.nodes) == 1 ? "node" : "nodes";
        const char *reason = reason_of(i, criterion);

        text_append(text, reason);
        text_append(text, reason[strlen(reason) - 1] == ' ' ? nodes : "");
        if (criterion == WEIGH_DEVICE && i->in->policy->place.near == NEAR_NIC)
                text_append(text, " (R12)");
        else
                append_rule(criterion, text);
}

static void append_why(const PlanReportInstance *i, bool brief, Text *text) {
        const PlacementBasis basis = i->choice->basis;
        const bool pinned = i->in->pinned && basis == BASIS_KEPT;
        const uint32_t decides = i->choice->grounds.decides & ~(1u << WEIGH_NUMBER);
        const bool tie = i->choice->grounds.decides & 1u << WEIGH_NUMBER;
        unsigned first = 0, last = 0;

        if (i->unplaced)
                text_append_printable(text, i->unplaced);
        else if (basis == BASIS_REFUSED)
                placement_refusal_append(i->choice->refusal, i->in, text);
        else if (basis == BASIS_EXPLICIT || pinned) {
                text_append(text, pinned ? "its numa_node names the " : "its policy names the ");
                text_append(text,
                            id_set_count(&i->choice->placement.nodes) == 1 ? "node" : "nodes");
        } else if (i->bound)
                text_append(text, "it is bound there and still fits");
        else if (basis == BASIS_KEPT)
                text_append(text, "it is placed there and still fits");
        else if (i->choice->grounds.outdone)
                text_append(text, "an earlier plan placed it there");
        else if (decides == 0 && tie)
                text_append(text, reason_of(i, WEIGH_NUMBER));
        else if (decides == 0)
                text_append(text, i->choice->n_feasible > 1 ? "a tie with other nodes"
                                                            : "no other nodes are available to it");
        else {
                /* Of the criteria by which others lost, the weightiest, and, unless `brief`, that
                 * by which the nearest rivals lost; and whether some did not lose at all. */
                for (unsigned c = 0; c < N_CRITERIA; c++)
                        last = decides & 1u << c ? c : last;
                while (!(decides & 1u << first))
                        first++;
                append_reason(i, (PlacementCriterion)first, text);
                if (brief)
                        return;
                if (last != first) {
                        text_append(text, "; ");
                        append_reason(i, (PlacementCriterion)last, text);
                }
                text_append(text, tie ? "; of equal nodes the lowest number" : "");
        }
}

void plan_words_why(const PlanReportInstance *i, Text *text) {
        append_why(i, false, text);
}

void plan_words_set(IdView set, Text *text) {
        char list[ID_SET_LIST_MAX];
        int n = id_view_render_list(set, list, sizeof(list));

        if (n < 0) { /* thousands of single ones */
                int last = -1;

                for (int id = id_view_next(set, 0); id >= 0;
                     id = id_view_next(set, (uint32_t)id + 1))
                        last = id;
                text_appendf(text, "%d,…,%d (%u)", id_view_next(set, 0), last, id_view_count(set));
        } else if (n > LIST_SHOWN_MAX) {
                /* Its beginning, two parts where they are short, and its last part: it has three
                 * at least. */
                const char *first = strchr(list, ','), *second = strchr(first + 1, ',');
                const char *end = second && second - list <= HEAD_MAX ? second : first;

                text_appendf(text, "%.*s,…,%s (%u)", (int)(end - list), list,
                             strrchr(list, ',') + 1, id_view_count(set));
        } else
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

/* --- plans of instances --- */

/* What is still to be moved: nothing, unless that is known or it runs. */
static void add_cost(Table *table, const PlanReportInstance *i) {
        if (i && i->cost_known && i->cost_bytes > 0)
                plan_words_add_bytes(table, i->cost_bytes);
        else
                table_add(table, !i || i->cost_known || i->pid == 0 || !plan_report_places(i)
                                         ? "-"
                                         : "unknown");
}

/* `node` DEVICE_NODE_UNKNOWN: those whose node the firmware does not report. */
static void append_devices(const PlanReport *report, int32_t node, Text *cell) {
        for (size_t i = 0; report->devices && i < report->devices->n_devices; i++) {
                const Device *device = &report->devices->devices[i];

                if (device->node == node)
                        text_appendf(cell, "%s%s", cell->length > 0 ? " " : "", device->name);
        }
}

static void render_nodes(const PlanReport *report, unsigned width, Text *text) {
        static const char *const headings[] = { "NODE", "SOCKET",  "CPUS",     "MEMORY",
                                                "FREE", "DEVICES", "INSTANCES" };
        const Topology *topology = report->topology;
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];
                CpuSet cpus;

                table_addf(&table, "%" PRIu32, node->id);
                if (node->package == PACKAGE_UNKNOWN)
                        table_add(&table, "?");
                else
                        table_addf(&table, "%" PRIu32, node->package);
                plan_words_add_set(&table, ID_VIEW(&node->cpus));
                if (node->memory_unknown)
                        table_add(&table, "?");
                else
                        plan_words_add_bytes(&table, node->memory_bytes);
                if (report->free_bytes && !node->memory_unknown)
                        plan_words_add_bytes(&table, report->free_bytes[i]);
                else
                        table_add(&table, "-");
                append_devices(report, (int32_t)node->id, &cell);
                table_add_text(&table, &cell);
                /* What the node is not for, then the instances on it. */
                cpus = id_set_and(&node->cpus, &report->reserved_cpus);
                if (id_set_has(&report->reserved, node->id))
                        text_append(&cell, "reserved");
                else if (!id_set_is_empty(&cpus)) {
                        text_append(&cell, "CPUs ");
                        plan_words_set(ID_VIEW(&cpus), &cell);
                        text_append(&cell, " reserved");
                } else if (!topology_is_home(node))
                        text_appendf(&cell, "no home: %s", topology_why_no_home(node));
                for (size_t k = 0, n = cell.length; k < report->n_instances; k++)
                        if (id_set_has(&report->instances[k].choice->placement.nodes, node->id)) {
                                text_appendf(&cell, "%s%s",
                                             n == 0             ? ""
                                             : n == cell.length ? "; "
                                                                : " ",
                                             report->instances[k].in->name);
                                n = n == 0 ? cell.length + 1 : n;
                        }
                table_add_text(&table, &cell);
        }
        append_devices(report, DEVICE_NODE_UNKNOWN, &cell);
        if (cell.length > 0) {
                table_add(&table, "?");
                for (size_t i = 1; i + 2 < ELEMENTSOF(headings); i++)
                        table_add(&table, "");
                table_add_text(&table, &cell);
                table_add(&table, "");
        }
        table_render(&table, width, text);
}

/* Warnings and notes, each with its instances. */
static void append_notes(const PlanReport *report, Text *text) {
        for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS; bit++) {
                /* One line for all instances that it is true of. */
                const char *rule = placement_warning_to_rule(1u << bit);
                bool any = false;

                for (size_t k = 0; k < report->n_instances; k++) {
                        if (!(report->instances[k].choice->warnings & (1u << bit)))
                                continue;
                        text_append_names(text, any ? ", %s" : "warning: %s",
                                          report->instances[k].in->name);
                        any = true;
                }
                if (any)
                        text_appendf(text, ": %s%s%s%s\n", placement_warning_to_string(1u << bit),
                                     *rule ? " (" : "", rule, *rule ? ")" : "");
        }
        /* Only what differs with a binding: the kernel fits it to the nodes, and not back; by
         * affinity it stays, and so does where new memory comes from. */
        for (size_t k = 0; k < report->n_instances; k++) {
                const PlanReportInstance *i = &report->instances[k];
                const Placement *placement = &i->choice->placement;
                const NodeSet own = memory_policy_nodes(i->memory_policy);

                if (!i->memory_policy || id_set_is_empty(&placement->nodes))
                        continue;
                if (text_equal(i->bound_by, "affinity")) {
                        if (!id_set_is_subset(&own, &placement->nodes))
                                text_append_names(
                                        text,
                                        "warning: %s: it has its own memory policy, %s (numactl?), "
                                        "which binding by affinity leaves as it is: its new memory "
                                        "comes from there; restart it without\n",
                                        i->in->name, i->memory_policy);
                } else if (placement->memory == MEMORY_BIND)
                        text_append_names(
                                text,
                                "warning: %s: it has its own memory policy, %s (numactl?), which "
                                "the kernel changes when memory is bound: a release cannot restore "
                                "it; restart it without\n",
                                i->in->name, i->memory_policy);
        }
        for (size_t k = 0; k < report->n_instances; k++) {
                const PlanReportInstance *i = &report->instances[k];

                if (i->bound_by_reason && plan_report_places(i) &&
                    (!i->published || instance_state_binds(i->published->state)))
                        text_append_names(text,
                                          "note: %s is bound by affinity, so its memory is moved "
                                          "but not bound: %s\n",
                                          i->in->name, i->bound_by_reason);
        }
        for (size_t i = 0; i < report->notes.n_words; i++)
                text_append_names(text, "note: %s\n", report->notes.words[i]);
}

void plan_table_render(const PlanReport *report, unsigned width, Text *text) {
        static const char *const run[] = { "INSTANCE", "NOW", "TO", "CPUS", "MOVE", "WHY" },
                                 *const imagined[] = { "INSTANCE", "POLICY", "NODES",
                                                       "CPUS",     "MEMORY", "WHY" };
        const bool runs = report->n_instances > 0 && report->instances[0].pid > 0;
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;
        size_t before;

        /* For running instances, their present nodes beside their planned ones. */
        table_init(&table, runs ? run : imagined, ELEMENTSOF(run));
        for (const PlanReportInstance *i = report->instances;
             i < report->instances + report->n_instances; i++) {
                table_add(&table, i->in->name);
                if (runs)
                        plan_words_add_set(&table, ID_VIEW(&i->in_force));
                else
                        table_add(&table, i->in->policy->name);
                plan_words_add_set(&table, ID_VIEW(&i->choice->placement.nodes));
                plan_words_add_set(&table, ID_VIEW(&i->choice->placement.cpus));
                if (runs)
                        add_cost(&table, i);
                else
                        table_add(&table,
                                  plan_report_places(i)
                                          ? memory_mode_to_string(i->choice->placement.memory)
                                          : "-");
                append_why(i, true, &cell);
                table_add_text(&table, &cell);
        }
        table_render(&table, width, text);
        text_append(text, report->n_instances > 0 ? "\n" : "");
        render_nodes(report, width, text);
        before = text->length;
        text_append(text, "\n");
        append_notes(report, text);
        if (text->length == before + 1) /* there were none */
                text_truncate(text, before);
}

void plan_table_alternatives(const PlanReportInstance *i, Text *text) {
        for (size_t k = 0; k < i->choice->n_alternatives; k++) {
                text_append(text, "  ");
                plan_words_alternative(&i->choice->alternatives[k], text);
                text_append(text, "\n");
        }
        if (i->choice->n_feasible > i->choice->n_alternatives + 1 && i->choice->n_alternatives > 0)
                text_appendf(text, "  … and %zu more\n",
                             i->choice->n_feasible - i->choice->n_alternatives - 1);
}

void plan_table_criteria(const PlanReportInstance *instances, size_t n_instances, Text *text) {
        bool shown[N_CRITERIA] = { false };
        bool any = false;

        for (size_t i = 0; i < n_instances; i++)
                for (size_t k = 0; k < instances[i].choice->n_alternatives; k++)
                        shown[instances[i].choice->alternatives[k].criterion] = any = true;
        if (any)
                text_append(
                        text,
                        "\n"
                        "Each number is a sum over the whole plan, with the instance on those "
                        "nodes and as planned. Lower is better; the first difference decides:\n");
        for (unsigned c = 0; c < N_CRITERIA; c++)
                if (shown[c])
                        text_appendf(text, "  %-10s %s\n", placement_criterion_to_string(c),
                                     plan_words_criterion(c));
}

void plan_table_explain(const PlanReport *report, Text *text) {
        for (size_t k = 0; k < report->n_instances; k++) {
                const PlanReportInstance *i = &report->instances[k];

                text_append_names(text, plan_report_places(i) ? "%s on " : "%s is not placed",
                                  i->in->name);
                if (plan_report_places(i))
                        plan_words_nodes(&i->choice->placement.nodes, text);
                text_append(text, ": ");
                plan_words_why(i, text);
                text_append(text, "\n");
                plan_table_alternatives(i, text);
        }
        plan_table_criteria(report->instances, report->n_instances, text);
}

void plan_table_changes(const PlanChange *changes, size_t n_changes, unsigned width, Text *text) {
        static const char *const headings[] = { "INSTANCE", "FROM", "TO", "MOVE", "WHY" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table = { 0 };

        if (n_changes == 0) {
                text_append(text, "Nothing changes.\n");
                return;
        }
        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < n_changes; i++) {
                const PlanChange *c = &changes[i];
                const PlanReportInstance *after = c->after;

                table_add(&table, c->name);
                plan_words_add_set(&table, ID_VIEW(&c->from));
                plan_words_add_set(&table, ID_VIEW(&c->to));
                add_cost(&table, id_set_is_empty(&c->to) ? NULL : after);
                if (after)
                        append_why(after, true, &cell);
                else
                        text_append(&cell, "no policy matches it any more");
                table_add_text(&table, &cell);
        }
        table_render(&table, width, text);
}

/* --- plans of interrupts --- */

static void append_irq_why(const IrqPlanDevice *device, Text *text) {
        const char *rule = irq_reason_to_rule(device->reason);

        text_append(text, irq_reason_to_string(device->reason));
        if (*rule)
                text_appendf(text, " (%s)", rule);
}

/* What was not requested is left out. */
static bool is_shown(const IrqPlanDevice *device) {
        return device->reason != IRQ_REASON_NO_ENTRY;
}

/* Of each decision the interrupts of all devices: "17 of eth0", "24 of eth0 and 3 other devices".
 */
void irq_plan_line(const IrqPlan *plan, Text *text) {
        size_t n_shown = 0, n_parts = 0;
        CpuSet cpus = { 0 };

        for (size_t i = 0; i < plan->n_devices; i++)
                n_shown += is_shown(&plan->devices[i]);
        text_append(text, "Interrupts: ");
        for (int decision = IRQ_STEERED; decision >= IRQ_LEFT; decision--) {
                const char *first = NULL;
                size_t n = 0, n_devices = 0;

                for (size_t i = 0; i < plan->n_devices; i++) {
                        const IrqPlanDevice *device = &plan->devices[i];
                        size_t n_of = 0;

                        for (size_t k = 0; k < device->device->n_vectors && is_shown(device); k++)
                                if ((int)device->vectors[k].decision == decision) {
                                        id_set_union(&cpus, &device->vectors[k].cpus);
                                        n_of++;
                                }
                        first = first || n_of == 0 ? first : device->device->name;
                        n_devices += n_of > 0;
                        n += n_of;
                }
                if (n == 0)
                        continue;
                text_appendf(text, "%s%zu of ", n_parts++ > 0 ? ", " : "", n);
                text_append_printable(text, first);
                if (n_devices > 1)
                        text_appendf(text, " and %zu other device%s", n_devices - 1,
                                     n_devices == 2 ? "" : "s");
                if (decision != IRQ_STEERED)
                        text_appendf(text, " %s", irq_decision_to_string(decision));
                else {
                        text_append(text, id_set_count(&cpus) == 1 ? " to CPU " : " to CPUs ");
                        plan_words_set(ID_VIEW(&cpus), text);
                }
        }
        text_append(text, n_parts > 0   ? "\n"
                          : n_shown > 0 ? "none to steer\n"
                                        : "no device matches an entry of irq\n");
}

void irq_plan_table_render(const IrqHost *host, const IrqPlan *plan, unsigned width, Text *text) {
        static const char *const headings[] = { "DEVICE",     "NODE", "SPEED",
                                                "INTERRUPTS", "CPUS", "WHY" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;
        bool cpus;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < plan->n_devices; i++) {
                const IrqPlanDevice *d = &plan->devices[i];
                const uint32_t mbps = d->device->speed_mbps;
                size_t n[IRQ_STEERED + 1] = { 0 };
                CpuSet served = { 0 };

                if (!is_shown(d))
                        continue;
                table_add(&table, d->device->name);
                if (d->device->node < 0)
                        table_add(&table, "?");
                else
                        table_addf(&table, "%" PRId32, d->device->node);
                if (mbps == 0)
                        table_add(&table, "-");
                else if (mbps % 1000 == 0)
                        table_addf(&table, "%" PRIu32 " Gbit/s", mbps / 1000);
                else
                        table_addf(&table, "%" PRIu32 " Mbit/s", mbps);
                /* "8 steered, 1 managed" */
                for (size_t k = 0; k < d->device->n_vectors; k++)
                        n[d->vectors[k].decision]++;
                for (int decision = IRQ_STEERED; decision >= IRQ_LEFT; decision--)
                        if (n[decision] > 0)
                                text_appendf(&cell, "%s%zu %s", cell.length > 0 ? ", " : "",
                                             n[decision], irq_decision_to_string(decision));
                if (cell.length == 0)
                        text_append(&cell, "-");
                table_add_text(&table, &cell);
                for (size_t k = 0; k < d->n_order; k++)
                        id_set_add(&served, d->order[k]);
                plan_words_add_set(&table, ID_VIEW(&served));
                append_irq_why(d, &cell);
                table_add_text(&table, &cell);
        }
        if (table.n_cells == table.n_columns)
                text_append(text, "No device matches an entry of irq.\n");
        table_render(&table, width, text);
        cpus = !id_set_is_empty(&plan->irqbalance.banned_cpus);
        if (!plan->irqbalance.sent || (!cpus && plan->irqbalance.n_banned_irqs == 0))
                return;
        text_append(text, "irqbalance must leave alone ");
        if (cpus) {
                text_append(text, "CPUs ");
                plan_words_set(ID_VIEW(&plan->irqbalance.banned_cpus), text);
        }
        if (plan->irqbalance.n_banned_irqs > 0)
                text_appendf(text, "%s%zu interrupt%s", cpus ? " and " : "",
                             plan->irqbalance.n_banned_irqs,
                             plan->irqbalance.n_banned_irqs == 1 ? "" : "s");
        text_append(text, host->irqbalance.pid > 0 ? "\n" : ", once it runs\n");
}

static void explain_queues(const char *what, const CpuSet *masks, size_t n, Text *text) {
        for (size_t i = 0; masks && i < n; i++) {
                text_appendf(text, "  %s %zu: CPUs ", what, i);
                plan_words_set(ID_VIEW(&masks[i]), text);
                text_append(text, "\n");
        }
}

void irq_plan_table_explain(const IrqPlan *plan, Text *text) {
        for (size_t i = 0; i < plan->n_devices; i++) {
                const IrqPlanDevice *device = &plan->devices[i];
                static const char *const headings[] = { "  IRQ", "HANDLER", "FOR", "NOW", "TO" };
                _cleanup_table_ Table table = { 0 };

                if (!is_shown(device))
                        continue;
                text_append_names(text, "\n%s: ", device->device->name);
                append_irq_why(device, text);
                text_append(text, "\n");
                table_init(&table, headings, ELEMENTSOF(headings));
                for (size_t k = 0; k < device->device->n_vectors; k++) {
                        const IrqVector *vector = &device->device->vectors[k];
                        const IrqPlanVector *planned = &device->vectors[k];

                        table_addf(&table, "  %" PRIu32, vector->irq);
                        table_add(&table, vector->name ? vector->name : "-");
                        if (vector->queue < 0)
                                table_add(&table, irq_role_to_string(vector->role));
                        else
                                table_addf(&table, "%s %" PRId32, irq_role_to_string(vector->role),
                                           vector->queue);
                        if (vector->mask_known)
                                plan_words_add_set(&table, ID_VIEW(&vector->requested));
                        else
                                table_add(&table, "?");
                        if (planned->decision == IRQ_STEERED)
                                plan_words_add_set(&table, ID_VIEW(&planned->cpus));
                        else
                                table_add(&table, irq_decision_to_string(planned->decision));
                }
                table_render(&table, 0, text);
                explain_queues("transmit queue", device->xps, device->device->n_tx, text);
                explain_queues("receive queue", device->rps, device->device->n_rx, text);
        }
}
