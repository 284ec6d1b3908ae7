/* Answers of irqbalance with any content: parsed as a whole or refused, nothing in between. */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "tidbnumad/sys/irq.h"

/* What was parsed can be told again, if it fits. */
static void check_commands(const IrqbalanceSetup *setup) {
        char command[IRQBALANCE_LONG_COMMAND_MAX];
        int r = irqbalance_render_cpus(&setup->banned_cpus, command);
        size_t n, old;

        check(r == 0 || r == -E2BIG);
        n = irqbalance_render_irqs(setup->banned_irqs, setup->n_banned_irqs, command, &old);
        check(old <= n && n <= setup->n_banned_irqs && strlen(command) < sizeof(command));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        IrqbalanceSetup setup = { .sleep_seconds = 4711 };
        int r = irqbalance_setup_parse((const char *)data, size, &setup);

        if (r == 0) {
                check(size >= 16 && data[0] == 'S');
                check(setup.n_banned_irqs <= size / 8);
                check_commands(&setup);
                irqbalance_setup_done(&setup);
        } else
                check(r == -EBADMSG && setup.sleep_seconds == 4711 && !setup.banned_irqs);
        return 0;
}
