/* The text of /proc/interrupts of a large machine, as kernel/irq/proc.c prints it. Each counter
 * tells which cell it is. */
#pragma once

#include <inttypes.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/base/text.h"

enum { TABLE_FIRST_IRQ = 9, TABLE_QUEUES = 128 };

static inline uint32_t table_count(uint32_t irq, uint32_t cpu) {
        return (irq * 2654435761u + cpu * 40503u) % 4000000000u;
}

/* Every fourth has counted nothing but on one CPU, as most vectors of large machines. */
static inline uint32_t table_cell(uint32_t irq, uint32_t cpu) {
        return irq % 4 == 0 && cpu != irq % 256 ? 0 : table_count(irq, cpu);
}

/* "eth3-TxRx-17": cards of 128 queues each. */
static inline void table_name(uint32_t irq, char *buffer, size_t size) {
        (void)snprintf(buffer, size, "eth%" PRIu32 "-TxRx-%" PRIu32, irq / TABLE_QUEUES,
                       irq % TABLE_QUEUES);
}

static inline void table_head(const CpuSet *online, Text *text) {
        text_append(text, "           ");
        ID_SET_FOREACH(cpu, online) text_appendf(text, "CPU%-8d", cpu);
        text_append(text, "\n");
}

static inline void table_line(uint32_t irq, const CpuSet *online, Text *text) {
        char name[32];

        table_name(irq, name, sizeof(name));
        text_appendf(text, "%4" PRIu32 ": ", irq);
        ID_SET_FOREACH(cpu, online)
        text_appendf(text, "%10" PRIu32 " ", table_cell(irq, (uint32_t)cpu));
        text_appendf(text, " %8s %*" PRIu32 "-%-8s  %s\n", "IR-PCI-MSIX-0000:3b:00.0", 4,
                     irq % 2048, "edge", name);
}

/* `n_lines` interrupts on these CPUs, and the lines without number. */
static inline void table_render(const CpuSet *online, uint32_t n_lines, Text *text) {
        table_head(online, text);
        for (uint32_t irq = TABLE_FIRST_IRQ; irq < TABLE_FIRST_IRQ + n_lines; irq++)
                table_line(irq, online, text);
        text_append(text, " NMI: ");
        ID_SET_FOREACH(cpu, online) text_append(text, "         0 ");
        text_append(text, "  Non-maskable interrupts\n ERR:          0\n");
}
