/* What irqbalance is told, and what it had itself: `setup` is read first, its own bans are kept and
 * ours added, and all is told again when its process is another one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/model/irq-plan.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/irqbalance.h"

typedef struct Manager Manager;

typedef struct IrqBalance {
        ProcessId id; /* pid 0: it does not run */
        const char *folder;
        int fd; /* an answer is awaited there; -EBADF: none */
        sd_event_source *answer;
        uint64_t asked_usec;
        char *buffer; /* owned */
        size_t length;
        bool setup_known; /* what follows */
        IrqbalanceSetup setup;
        bool told; /* what follows, and not what it had itself */
        CpuSet told_cpus;
        uint32_t *told_irqs; /* owned */
        size_t n_told_irqs;
        size_t n_told_old; /* of them the first, which irqbalance of any version takes */
        uint64_t told_usec, check_usec; /* when it is asked whether it still knows */
        unsigned n_told;                /* in a row that it did not keep */
        bool refused;                   /* said once: it cannot be told */
        bool partly;                    /* said once: it has not taken all */
        pid_t mute_pid;                 /* of one without a socket; 0: none was found */
        pid_t told_mute_pid;            /* said once: that one cannot be told */
        uint64_t searched_usec;
} IrqBalance;

void irq_balance_init(IrqBalance *balance);
void irq_balance_done(IrqBalance *balance);

/* Looks who runs, and asks for its settings where they are not known. What is known goes into
 * `ret`. */
void irq_balance_look(Manager *manager, IrqbalanceFacts *ret);

/* Says once that it cannot be told; and that the one without a socket cannot. */
void irq_balance_say_refused(Manager *manager, int error);
void irq_balance_say_mute(Manager *manager);

void irq_balance_forget_told(IrqBalance *balance);
bool irq_balance_has_irq(const uint32_t *irqs, size_t n_irqs, uint32_t irq);
