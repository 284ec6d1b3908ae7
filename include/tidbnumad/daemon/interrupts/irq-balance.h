/* Finds the running irqbalance and reads its settings: once a minute, and as soon as its process
 * changes. irq-balance-send.c sends the settings that differ from the desired ones; the daemon does
 * not keep what was sent. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/model/irq-plan.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/irq.h"

#define IRQ_BALANCE_READ_USEC (UINT64_C(60) * 1000 * 1000)

typedef struct Interrupts Interrupts;

typedef struct IrqBalance {
        ProcessId id; /* pid 0: it does not run */
        const char *folder;
        int fd; /* socket on which an answer is awaited; -EBADF: none */
        sd_event_source *answer;
        char *buffer; /* owned */
        size_t length;
        bool setup_known;      /* `setup` is valid */
        IrqbalanceSetup setup; /* its settings as read, or as sent since */
        uint64_t read_usec; /* time of the next read; while an answer is awaited, the deadline for
                               it */
        uint64_t sent_usec; /* time of the last settings sent to this process; 0: none */
        bool logged_refused;
        bool logged_not_kept;
        pid_t socketless_pid; /* an irqbalance without a socket; 0: none was found */
        pid_t logged_socketless_pid;
        uint64_t searched_usec;
        unsigned n_searches; /* for one without a socket, since one with a socket ran */
} IrqBalance;

void irq_balance_init(IrqBalance *balance);
void irq_balance_done(IrqBalance *balance);

/* Finds the process, and reads its settings if that is due. Puts what is known into `ret`. */
void irq_balance_read(Interrupts *irq, IrqbalanceFacts *ret);

/* Logs once that it does not accept settings; irq_balance_log_socketless(): that it has no socket.
 */
void irq_balance_log_refused(Interrupts *irq, int error);
void irq_balance_log_socketless(Interrupts *irq);
