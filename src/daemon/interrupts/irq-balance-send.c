/* Interrupts and CPUs that irqbalance has to ignore: compared with its settings, and sent if they
 * differ. */
#include <string.h>

#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/sys/clock.h"

/* Minimum interval between settings, because irqbalance redistributes all interrupts whenever they
 * change. */
#define SEND_INTERVAL_USEC (UINT64_C(15) * 1000 * 1000)

/* New settings take effect in one of its next rounds; its answers show the former ones until then.
 */
#define READ_ROUNDS 3u

/* --- what is wanted --- */

static void add_irqs(IrqbalanceSetup *bans, const uint32_t *irqs, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!irqbalance_setup_has(bans, irqs[i]))
                        bans->banned_irqs[bans->n_banned_irqs++] = irqs[i];
}

/* irqbalance's own bans, and those that the plan wants. */
static int merge(const IrqbalanceSetup *own, const IrqPlanBalance *wanted, IrqbalanceSetup *ret) {
        ret->banned_irqs = calloc(own->n_banned_irqs + wanted->n_banned_irqs + 1, sizeof(uint32_t));
        if (!ret->banned_irqs)
                return -ENOMEM;
        ret->banned_cpus = own->banned_cpus;
        if (irqbalance_setup_has(own, 0))
                add_irqs(ret, &(uint32_t){ 0 },
                         1); /* 0 must be first, as it ends the list elsewhere */
        add_irqs(ret, own->banned_irqs, own->n_banned_irqs);
        if (wanted->sent) {
                id_set_union(&ret->banned_cpus, &wanted->banned_cpus);
                add_irqs(ret, wanted->banned_irqs, wanted->n_banned_irqs);
        }
        return 0;
}

/* --- sending it --- */

/* Records irqbalance's own settings before they are changed for the first time. */
static int record(Interrupts *irq) {
        const IrqBalance *b = &irq->balance;
        UndoHost *undo = &irq->undo;
        UndoBalance own = { .id = b->id, .own.banned_cpus = b->setup.banned_cpus };
        const size_t n = b->setup.n_banned_irqs;

        if (!undo->irqbalance.known) {
                own.own.banned_irqs = calloc(n + 1, sizeof(uint32_t));
                if (!own.own.banned_irqs)
                        return -ENOMEM;
                if (n > 0)
                        memcpy(own.own.banned_irqs, b->setup.banned_irqs, n * sizeof(uint32_t));
                own.own.n_banned_irqs = n;
                undo_host_set_irqbalance(undo, &own);
        }
        return undo_host_write(irq->records, undo);
}

/* Takes over the list of `bans`, which count as irqbalance's settings until its next answer. */
static void assume(IrqBalance *b, IrqbalanceSetup *bans) {
        const uint64_t now = clock_monotonic_usec();
        const uint64_t sleep_seconds = b->setup.sleep_seconds;
        const uint64_t rounds = READ_ROUNDS * sleep_seconds * UINT64_C(1000000);

        irqbalance_setup_done(&b->setup);
        b->setup = *bans;
        b->setup.sleep_seconds = (uint32_t)sleep_seconds;
        b->setup_known = true;
        *bans = (IrqbalanceSetup){ 0 };
        b->sent_usec = now;
        b->read_usec = now + (rounds > IRQ_BALANCE_READ_USEC ? rounds : IRQ_BALANCE_READ_USEC);
}

static int send_bans(Interrupts *irq, IrqbalanceSetup *bans) {
        char cpus[IRQBALANCE_COMMAND_MAX], irqs[IRQBALANCE_LONG_COMMAND_MAX];
        char list[ID_SET_LIST_MAX];
        IrqBalance *b = &irq->balance;
        size_t n_old;
        int r = irqbalance_render_cpus(&bans->banned_cpus, cpus);

        if (r < 0)
                return r;
        (void)irqbalance_render_irqs(bans->banned_irqs, bans->n_banned_irqs, irqs, &n_old);
        r = irqbalance_send(b->folder, b->id.pid, cpus, NULL);
        if (r >= 0)
                r = irqbalance_send(b->folder, b->id.pid, irqs, NULL);
        if (r < 0)
                return r;
        (void)id_set_render_list(&bans->banned_cpus, list, sizeof(list));
        journal_log(&irq->host->journal, b->logged_not_kept ? LOG_DEBUG : LOG_INFO, NULL,
                    "irqbalance (process %d) was sent CPUs %s and %zu interrupts that it must "
                    "leave alone",
                    b->id.pid, *list ? list : "(none)", bans->n_banned_irqs);
        assume(b, bans);
        return 0;
}

/* An old version keeps only the beginning of a long list: sending the list again would not help. */
static bool has_all_it_can(const IrqBalance *b, const IrqbalanceSetup *bans) {
        char irqs[IRQBALANCE_LONG_COMMAND_MAX];
        IrqbalanceSetup begin = *bans;

        (void)irqbalance_render_irqs(bans->banned_irqs, bans->n_banned_irqs, irqs,
                                     &begin.n_banned_irqs);
        return b->sent_usec != 0 && irqbalance_setup_equal(&b->setup, &begin);
}

static void send_if_different(Interrupts *irq, const IrqPlanBalance *wanted,
                              const IrqbalanceSetup *own) {
        _cleanup_irqbalance_setup_ IrqbalanceSetup bans = { 0 };
        IrqBalance *b = &irq->balance;
        int r = merge(own, wanted, &bans);

        if (r < 0 || irqbalance_setup_equal(&b->setup, &bans) || has_all_it_can(b, &bans) ||
            (b->sent_usec != 0 && clock_monotonic_usec() < b->sent_usec + SEND_INTERVAL_USEC))
                return;
        r = record(irq);
        if (r >= 0)
                r = send_bans(irq, &bans);
        if (r < 0 && r != -EAGAIN)
                irq_balance_log_refused(irq, r);
}

/* Sends what irqbalance had before. */
static int restore_own(Interrupts *irq) {
        static const IrqPlanBalance nothing = { 0 };
        _cleanup_irqbalance_setup_ IrqbalanceSetup bans = { 0 };
        int r = merge(&irq->undo.irqbalance.own, &nothing, &bans);

        if (r >= 0)
                r = send_bans(irq, &bans);
        if (r == -EAGAIN || r == -ENOMEM)
                return r;
        if (r < 0)
                irq->balance.setup_known = false;
        undo_host_forget_irqbalance(&irq->undo);
        irq->balance.sent_usec = 0;
        return 0;
}

void irq_balance_send(Interrupts *irq, const IrqPlanBalance *wanted) {
        IrqBalance *b = &irq->balance;
        const UndoBalance *noted = &irq->undo.irqbalance;

        /* A pending answer shows the former settings, and would be taken for its own. */
        if (b->id.pid == 0 || b->fd >= 0)
                return; /* its answer triggers another reconcile */
        if (!wanted->sent) {
                if (noted->known)
                        (void)restore_own(irq);
                return;
        }
        if (b->setup_known)
                send_if_different(irq, wanted, noted->known ? &noted->own : &b->setup);
}

bool irq_balance_restore(Interrupts *irq) {
        return irq->undo.irqbalance.known && irq->balance.id.pid != 0 &&
               restore_own(irq) == -EAGAIN;
}
