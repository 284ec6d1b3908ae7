/* Milliseconds for one reading of the text of /proc/interrupts of a machine with 256 CPUs, as "MS
 * BYTES LINES". */
#include <err.h>
#include <time.h>

#include "../support/interrupts-table.h"
#include "tidbnumad/sys/irq.h"

enum { CPUS = 256, LINES = 760, ROUNDS = 20 };

static double now_ms(void) {
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void) {
        _cleanup_text_ Text text = { 0 };
        CpuSet online = { 0 };
        double begin;

        for (uint32_t cpu = 0; cpu < CPUS; cpu++)
                id_set_add(&online, cpu);
        table_render(&online, LINES, &text);
        if (text.error < 0)
                errx(1, "no memory");
        begin = now_ms();
        for (unsigned i = 0; i < ROUNDS; i++) {
                _cleanup_interrupts_ InterruptTable interrupts = { 0 };

                if (interrupts_parse(text.data, &interrupts) < 0 || interrupts.n_lines != LINES)
                        errx(1, "the table cannot be read");
        }
        (void)printf("%.3f %zu %d\n", (now_ms() - begin) / ROUNDS, text.length, LINES);
        return 0;
}
