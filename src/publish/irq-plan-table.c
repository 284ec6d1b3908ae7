#include <inttypes.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/irq-plan-table.h"
#include "tidbnumad/publish/plan-words.h"
#include "tidbnumad/publish/table.h"

static CpuSet serving(const IrqPlanDevice *device) {
        CpuSet cpus = { 0 };

        for (size_t i = 0; i < device->n_order; i++)
                id_set_add(&cpus, device->order[i]);
        return cpus;
}

static void add_speed(Table *table, uint32_t mbps) {
        if (mbps == 0)
                table_add(table, "-");
        else if (mbps % 1000 == 0)
                table_addf(table, "%" PRIu32 " Gbit/s", mbps / 1000);
        else
                table_addf(table, "%" PRIu32 " Mbit/s", mbps);
}

/* "8 steered, 1 managed" */
static void count_vectors(const IrqPlanDevice *device, Text *cell) {
        size_t n[IRQ_STEERED + 1] = { 0 };

        for (size_t i = 0; i < device->device->n_vectors; i++)
                n[device->vectors[i].decision]++;
        for (int decision = IRQ_STEERED; decision >= IRQ_LEFT; decision--)
                if (n[decision] > 0)
                        text_appendf(cell, "%s%zu %s", cell->length > 0 ? ", " : "", n[decision],
                                     irq_decision_to_string(decision));
        if (cell->length == 0)
                text_append(cell, "-");
}

static void append_why(const IrqPlanDevice *device, Text *text) {
        const char *rule = irq_reason_to_rule(device->reason);

        text_append(text, irq_reason_to_string(device->reason));
        if (*rule)
                text_appendf(text, " (%s)", rule);
}

static void add_device(Table *table, const IrqPlanDevice *device, Text *cell) {
        const CpuSet cpus = serving(device);

        table_add(table, device->device->name);
        if (device->device->node < 0)
                table_add(table, "?");
        else
                table_addf(table, "%" PRId32, device->device->node);
        add_speed(table, device->device->speed_mbps);
        count_vectors(device, cell);
        table_add_text(table, cell);
        plan_words_add_set(table, ID_VIEW(&cpus));
        append_why(device, cell);
        table_add_text(table, cell);
}

/* What was not requested is left out. */
static bool is_shown(const IrqPlanDevice *device) {
        return device->reason != IRQ_REASON_NO_ENTRY;
}

static void append_balance(const IrqHost *host, const IrqPlanBalance *balance, Text *text) {
        const bool cpus = !id_set_is_empty(&balance->banned_cpus);

        if (!balance->sent || (!cpus && balance->n_banned_irqs == 0))
                return;
        text_append(text, "irqbalance must leave alone ");
        if (cpus) {
                text_append(text, "CPUs ");
                plan_words_set(ID_VIEW(&balance->banned_cpus), text);
        }
        if (balance->n_banned_irqs > 0)
                text_appendf(text, "%s%zu interrupt%s", cpus ? " and " : "", balance->n_banned_irqs,
                             balance->n_banned_irqs == 1 ? "" : "s");
        text_append(text, host->irqbalance.pid > 0 ? "\n" : ", once it runs\n");
}

void irq_plan_table_render(const IrqHost *host, const IrqPlan *plan, unsigned width, Text *text) {
        static const char *const headings[] = { "DEVICE",     "NODE", "SPEED",
                                                "INTERRUPTS", "CPUS", "WHY" };
        _cleanup_text_ Text cell = { 0 };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < plan->n_devices; i++)
                if (is_shown(&plan->devices[i]))
                        add_device(&table, &plan->devices[i], &cell);
        if (table.n_cells == table.n_columns)
                text_append(text, "No device matches an entry of irq.\n");
        table_render(&table, width, text);
        append_balance(host, &plan->irqbalance, text);
}

static void add_vector(Table *table, const IrqVector *vector, const IrqPlanVector *planned) {
        table_addf(table, "  %" PRIu32, vector->irq);
        table_add(table, vector->name ? vector->name : "-");
        if (vector->queue < 0)
                table_add(table, irq_role_to_string(vector->role));
        else
                table_addf(table, "%s %" PRId32, irq_role_to_string(vector->role), vector->queue);
        if (vector->mask_known)
                plan_words_add_set(table, ID_VIEW(&vector->requested));
        else
                table_add(table, "?");
        if (planned->decision == IRQ_STEERED)
                plan_words_add_set(table, ID_VIEW(&planned->cpus));
        else
                table_add(table, irq_decision_to_string(planned->decision));
}

static void explain_vectors(const IrqPlanDevice *device, Text *text) {
        static const char *const headings[] = { "  IRQ", "HANDLER", "FOR", "NOW", "TO" };
        _cleanup_table_ Table table;

        table_init(&table, headings, ELEMENTSOF(headings));
        for (size_t i = 0; i < device->device->n_vectors; i++)
                add_vector(&table, &device->device->vectors[i], &device->vectors[i]);
        table_render(&table, 0, text);
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

                if (!is_shown(device))
                        continue;
                text_append(text, "\n");
                text_append_printable(text, device->device->name);
                text_append(text, ": ");
                append_why(device, text);
                text_append(text, "\n");
                explain_vectors(device, text);
                explain_queues("transmit queue", device->xps, device->device->n_tx, text);
                explain_queues("receive queue", device->rps, device->device->n_rx, text);
        }
}
