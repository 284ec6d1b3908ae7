/* A running irqbalance, by the socket that its own user interface uses
 * (/run/irqbalance/irqbalance<PID>.sock, from irqbalance 1.5 on): one command a connection.
 *
 * The main loop of irqbalance waits for the command of each client that has connected, so each call
 * here sends its command at once. None of these calls waits. The answer is verified: the peer must
 * be root's process with the PID of the socket's name, and the whole answer must parse. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

#define IRQBALANCE_FOLDER "/run/irqbalance"

/* Number of bytes of a command that irqbalance reads: 500 up to version 1.9.4, which ignores the
 * rest, and 16384 from 1.9.5 on, which rejects a command of this length. The socket does not show
 * which version runs. */
#define IRQBALANCE_READS_OLD 500u
#define IRQBALANCE_COMMAND_MAX 499u
#define IRQBALANCE_LONG_COMMAND_MAX 16383u

/* `setup` has some 60 bytes for each banned interrupt. */
#define IRQBALANCE_ANSWER_MAX ((size_t)256 << 10)

/* The answer to `setup`. */
typedef struct IrqbalanceSetup {
        uint32_t sleep_seconds;
        CpuSet banned_cpus;
        uint32_t *banned_irqs; /* owned */
        size_t n_banned_irqs, allocated;
} IrqbalanceSetup;

void irqbalance_setup_done(IrqbalanceSetup *setup);
#define _cleanup_irqbalance_setup_ _cleanup_(irqbalance_setup_done)

bool irqbalance_setup_has(const IrqbalanceSetup *setup, uint32_t irq);

/* Do both ban the same CPUs and interrupts, in any order? Neither may name an interrupt twice. */
bool irqbalance_setup_equal(const IrqbalanceSetup *a, const IrqbalanceSetup *b);

/* The PID in the name of its socket. -ENOENT: irqbalance does not run; -EPERM: other users can
 * write to the folder. Of several sockets the one with the highest PID of an existing process: the
 * others are left over. */
int irqbalance_find(const char *folder, pid_t *ret);

/* Connects, checks which process answers, and sends one command with its closing NUL. `*ret_fd`:
 * to be read without waiting, for the answer; NULL: none is wanted. It must not be closed before
 * the answer has come: irqbalance itself does not ignore SIGPIPE, systemd does it for its
 * services. -EAGAIN: it is busy, try later; -EPERM: this is not root's irqbalance; -E2BIG:
 * longer than it takes. */
int irqbalance_send(const char *folder, pid_t pid, const char *command, int *ret_fd);

/* -EBADMSG: that is no answer to `setup`; -ENOMEM. */
int irqbalance_setup_parse(const char *text, size_t size, IrqbalanceSetup *ret);

/* The two commands by which CPUs and interrupts are banned, in place of what was set before. An
 * empty set: none, which for CPUs means those of its environment. -E2BIG: longer than all take. */
int irqbalance_render_cpus(const CpuSet *cpus, char buffer[static IRQBALANCE_COMMAND_MAX]);

/* Renders as many interrupts as fit, from the first on, and returns their number. Interrupt 0 has
 * to be the first, because irqbalance ends the list at a 0 at any other place. An old irqbalance
 * cuts the list off, but never within a number: it reads the first `*ret_old` interrupts. */
size_t irqbalance_render_irqs(const uint32_t *irqs, size_t n_irqs,
                              char buffer[static IRQBALANCE_LONG_COMMAND_MAX], size_t *ret_old);
