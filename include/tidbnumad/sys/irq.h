/* Interrupts: /proc/irq, /proc/interrupts, and a running irqbalance. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct IrqAffinity {
        CpuSet requested; /* smp_affinity_list */
        bool effective_known;
        CpuSet effective; /* effective_affinity_list; empty on some kernels until it fires */
        bool read_only;   /* the kernel takes no other mask: managed, since Linux 6.12 */
} IrqAffinity;

/* -ENOENT: no such interrupt. */
int irq_affinity_read(const Sysroot *sysroot, uint32_t irq, IrqAffinity *ret);

/* Is that the number of a message-signalled interrupt of the PCI device at this address? */
bool irq_is_of_pci(const Sysroot *sysroot, const char *pci, uint32_t irq);

/* --- /proc/interrupts: how often each interrupt came to each CPU (proc_interrupts(5)) --- */

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

/* --- a running irqbalance --- */

/* A running irqbalance, by the socket that its own user interface uses
 * (/run/irqbalance/irqbalance<PID>.sock, from irqbalance 1.5 on): one command a connection.
 *
 * The main loop of irqbalance waits for the command of each client that has connected, so each call
 * here sends its command at once. None of these calls waits. The answer is verified: the peer must
 * be root's process with the PID of the socket's name, and the whole answer must parse. */

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

/* The PID in the name of its socket, of a process that is called so. -ENOENT: irqbalance does not
 * run; -EPERM: other users can write to the folder. Of several the highest: the others are left
 * over. */
int irqbalance_find(const Sysroot *sysroot, const char *folder, pid_t *ret);

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
