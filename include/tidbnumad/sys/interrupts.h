/* /proc/interrupts: how often each interrupt came to each CPU (proc_interrupts(5)). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/sys/sysroot.h"

typedef struct InterruptLine {
        uint32_t irq;
        const char *names;      /* of its handlers, with ", " between; not terminated; into the
                                 * text */
        size_t names_length;    /* 0: it has no handler */
        const uint32_t *counts; /* by index of InterruptTable.cpus; they wrap around */
} InterruptLine;

typedef struct InterruptTable {
        uint32_t *cpus; /* the columns: CPUs that are online; owned, as all arrays */
        size_t n_cpus;
        InterruptLine *lines; /* those with a number, in the file's order: ascending */
        size_t n_lines;
        uint32_t *counts; /* of all lines, n_cpus each */
        char *text;       /* of interrupts_read() */
} InterruptTable;

void interrupts_done(InterruptTable *interrupts);
#define _cleanup_interrupts_ _cleanup_(interrupts_done)

/* Lines without a number ("NMI:") are the machine's own and left out. The result borrows `text`.
 * -EBADMSG: not such a file; -EAGAIN: a line has more or fewer columns than the head, as a CPU came
 * or went while it was read; -ENOMEM. */
int interrupts_parse(const char *text, InterruptTable *ret);

/* Reads again, three times at most, where CPUs came or went. -ENOENT: a dump without it. */
int interrupts_read(const Sysroot *sysroot, InterruptTable *ret);

/* The line of that number, or NULL. */
const InterruptLine *interrupts_find(const InterruptTable *interrupts, uint32_t irq);
