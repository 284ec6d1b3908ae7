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
        uint64_t told_usec, check_usec; /* when it is asked whether it still knows */
        unsigned n_told;                /* in a row that it did not keep */
        bool refused;                   /* said once: it cannot be told */
        pid_t mute_pid;                 /* of one without a socket; 0: none was found */
        uint64_t searched_usec;
} IrqBalance;

void irq_balance_init(IrqBalance *balance);
void irq_balance_done(IrqBalance *balance);

/* Looks who runs, and asks for its settings where they are not known. What is known goes into
 * `ret`. */
void irq_balance_look(Manager *manager, IrqbalanceFacts *ret);

/* Tells it what the plan wants, unless it knows; where that is nothing, what it had itself. */
void irq_balance_tell(Manager *manager, const IrqPlanBalance *wanted);

/* The same for the end of the daemon: waits for a moment where it is busy. */
void irq_balance_give_back(Manager *manager);
