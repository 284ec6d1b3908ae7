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

/* It reads so many bytes of a command: 500 up to 1.9.4, where the rest is cut off, and 16384
 * from 1.9.5 on, where a command that fills that counts as too long. The socket does not show
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

/* Do both ban the same CPUs and interrupts, in whatever order? None names an interrupt twice. */
bool irqbalance_setup_equal(const IrqbalanceSetup *a, const IrqbalanceSetup *b);

/* The PID in the name of its socket. -ENOENT: it does not run; -EPERM: the folder is not root's
 * alone. Of several sockets the highest number of a process that there is: the others are left
 * over. */
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

/* As many as fit, from the first on: how many. Interrupt 0 has to be the first, for irqbalance ends
 * the list at it anywhere else. Where an old one cuts it off, no number is cut in
 * two: it takes the first `*ret_old`. */
size_t irqbalance_render_irqs(const uint32_t *irqs, size_t n_irqs,
                              char buffer[static IRQBALANCE_LONG_COMMAND_MAX], size_t *ret_old);
