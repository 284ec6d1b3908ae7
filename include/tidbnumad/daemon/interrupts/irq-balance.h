/* Which irqbalance runs, and its settings: `setup` is read once a minute, and as soon as its
 * process is another one. Whatever differs from what is wanted is sent by irq-balance-send.c; there
 * is no memory of what was sent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/model/irq-plan.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/irqbalance.h"

#define IRQ_BALANCE_READ_USEC (UINT64_C(60) * 1000 * 1000)

typedef struct Interrupts Interrupts;

typedef struct IrqBalance {
        ProcessId id; /* pid 0: it does not run */
        const char *folder;
        int fd; /* an answer is awaited there; -EBADF: none */
        sd_event_source *answer;
        char *buffer; /* owned */
        size_t length;
        bool setup_known;      /* what follows */
        IrqbalanceSetup setup; /* as read, or as sent since */
        uint64_t read_usec;    /* when it is read next; while an answer is awaited: its deadline */
        uint64_t sent_usec;    /* to this process; 0: nothing was sent */
        bool logged_refused;
        bool logged_not_kept;
        pid_t socketless_pid; /* of one without a socket; 0: none was found */
        pid_t logged_socketless_pid;
        uint64_t searched_usec;
} IrqBalance;

void irq_balance_init(IrqBalance *balance);
void irq_balance_done(IrqBalance *balance);

/* Looks which one runs, and reads its settings where that is due. What is known goes into `ret`. */
void irq_balance_read(Interrupts *irq, IrqbalanceFacts *ret);

/* Log once that it takes no settings; and that it has no socket. */
void irq_balance_log_refused(Interrupts *irq, int error);
void irq_balance_log_socketless(Interrupts *irq);
