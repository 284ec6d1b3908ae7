/* What irqbalance is told: never waiting for it, but at the very end. */
#include <poll.h>
#include <string.h>

#include "tidbnumad/daemon/interrupts/irq-balance-tell.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/clock.h"

/* Each telling makes it place everything anew: not more often than this. */
#define TELL_INTERVAL_USEC (UINT64_C(15) * 1000 * 1000)

/* It takes over what it was told after its next round; by then it is asked. */
#define CHECK_ROUNDS 3u

/* At the end of the daemon. */
enum { LAST_TRIES = 10, LAST_WAIT_MSEC = 50 };

/* --- what --- */

typedef struct Bans {
        CpuSet cpus;
        uint32_t *irqs; /* owned */
        size_t n_irqs;
} Bans;

static void add_irqs(Bans *bans, const uint32_t *irqs, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!irq_balance_has_irq(bans->irqs, bans->n_irqs, irqs[i]))
                        bans->irqs[bans->n_irqs++] = irqs[i];
}

/* What it had itself, and ours. */
static int merge(const UndoBalance *own, const IrqPlanBalance *wanted, Bans *ret) {
        ret->irqs = calloc(own->n_banned_irqs + wanted->n_banned_irqs + 1, sizeof(*ret->irqs));
        if (!ret->irqs)
                return -ENOMEM;
        ret->cpus = own->banned_cpus;
        if (irq_balance_has_irq(own->banned_irqs, own->n_banned_irqs, 0))
                add_irqs(ret, &(uint32_t){ 0 }, 1); /* first, or it would end the list */
        add_irqs(ret, own->banned_irqs, own->n_banned_irqs);
        if (wanted->told) {
                id_set_add_all(&ret->cpus, &wanted->banned_cpus);
                add_irqs(ret, wanted->banned_irqs, wanted->n_banned_irqs);
        }
        return 0;
}

/* --- telling it --- */

/* Before it is told for the first time. */
static int note(Manager *m) {
        const IrqBalance *b = &m->irq->balance;
        UndoHost *undo = &m->irq->undo;
        UndoBalance own = { .id = b->id, .banned_cpus = b->setup.banned_cpus };
        const size_t n = b->setup.n_banned_irqs;

        if (!undo->irqbalance.known) {
                own.banned_irqs = calloc(n + 1, sizeof(*own.banned_irqs));
                if (!own.banned_irqs)
                        return -ENOMEM;
                if (n > 0)
                        memcpy(own.banned_irqs, b->setup.banned_irqs, n * sizeof(uint32_t));
                own.n_banned_irqs = n;
                undo_host_set_irqbalance(undo, &own);
        }
        return undo_host_write(&m->undo.records, undo);
}

/* `*ret_old`: of the interrupts so many, from the first on, reach irqbalance of any version. */
static int send_bans(const IrqBalance *b, const Bans *bans, size_t *ret_old) {
        char cpus[IRQBALANCE_COMMAND_MAX], irqs[IRQBALANCE_LONG_COMMAND_MAX];
        int r = irqbalance_render_cpus(&bans->cpus, cpus);

        if (r < 0)
                return r;
        (void)irqbalance_render_irqs(bans->irqs, bans->n_irqs, irqs, ret_old);
        r = irqbalance_send(b->folder, b->id.pid, cpus, NULL);
        return r < 0 ? r : irqbalance_send(b->folder, b->id.pid, irqs, NULL);
}

static void say_told(const Manager *m, const Bans *bans) {
        char cpus[ID_SET_LIST_MAX];

        (void)id_set_render_list(&bans->cpus, cpus, sizeof(cpus));
        journal_log(&m->host.journal, LOG_INFO, NULL,
                    "irqbalance (process %d) is told to leave alone CPUs %s and %zu interrupts",
                    m->irq->balance.id.pid, *cpus ? cpus : "(none)", bans->n_irqs);
}

static bool knows(const IrqBalance *b, const Bans *bans) {
        return b->told && id_set_equal(&b->told_cpus, &bans->cpus) &&
               b->n_told_irqs == bans->n_irqs &&
               (bans->n_irqs == 0 ||
                memcmp(b->told_irqs, bans->irqs, bans->n_irqs * sizeof(uint32_t)) == 0);
}

/* It has this already, by itself or by an earlier life of ours. */
static bool has(const IrqBalance *b, const Bans *bans) {
        if (!id_set_equal(&b->setup.banned_cpus, &bans->cpus) ||
            b->setup.n_banned_irqs != bans->n_irqs)
                return false;
        for (size_t i = 0; i < b->setup.n_banned_irqs; i++)
                if (!irq_balance_has_irq(bans->irqs, bans->n_irqs, b->setup.banned_irqs[i]))
                        return false;
        return true;
}

/* Takes over the list of `bans`. */
static void remember(IrqBalance *b, Bans *bans, size_t n_old, uint64_t now_usec) {
        irq_balance_forget_told(b);
        b->told = true;
        b->told_cpus = bans->cpus;
        b->told_irqs = TAKE_PTR(bans->irqs);
        b->n_told_irqs = bans->n_irqs;
        b->n_told_old = n_old;
        b->told_usec = now_usec;
        b->check_usec =
                now_usec + CHECK_ROUNDS * UINT64_C(1000000) *
                                   (b->setup.sleep_seconds > 0 ? b->setup.sleep_seconds : 10);
        b->n_told++;
}

static void tell(Manager *m, const IrqPlanBalance *wanted, const UndoBalance *own) {
        const uint64_t now = clock_monotonic_usec();
        IrqBalance *b = &m->irq->balance;
        size_t n_old = 0;
        Bans bans = { 0 };
        int r = merge(own, wanted, &bans);

        if (r < 0 || knows(b, &bans) ||
            (b->told_usec != 0 && now < b->told_usec + TELL_INTERVAL_USEC)) {
                free(bans.irqs);
                return;
        }
        if (!b->told && has(b, &bans) && b->n_told == 0) {
                remember(b, &bans, bans.n_irqs, now);
                b->n_told = 0;
        } else {
                r = note(m);
                if (r >= 0)
                        r = send_bans(b, &bans, &n_old);
                if (r >= 0) {
                        say_told(m, &bans);
                        remember(b, &bans, n_old, now);
                } else if (r != -EAGAIN)
                        irq_balance_say_refused(m, r);
        }
        free(bans.irqs);
}

/* What it had before us, and nothing else. */
static int give_back(Manager *m) {
        static const IrqPlanBalance nothing = { 0 };
        Bans bans = { 0 };
        size_t n_old;
        int r = merge(&m->irq->undo.irqbalance, &nothing, &bans);

        if (r >= 0)
                r = send_bans(&m->irq->balance, &bans, &n_old);
        if (r >= 0)
                say_told(m, &bans);
        free(bans.irqs);
        if (r == -EAGAIN || r == -ENOMEM)
                return r;
        undo_host_forget_irqbalance(&m->irq->undo);
        irq_balance_forget_told(&m->irq->balance);
        m->irq->balance.told_usec = 0;
        m->irq->balance.setup_known = false; /* asked again before it is told anything */
        m->irq->balance.n_told = 0;
        return 0;
}

void irq_balance_tell(Manager *m, const IrqPlanBalance *wanted) {
        IrqBalance *b = &m->irq->balance;
        UndoBalance own = m->irq->undo.irqbalance;

        if (b->id.pid == 0)
                return;
        if (!wanted->told) {
                if (own.known)
                        (void)give_back(m);
                return;
        }
        if (!b->setup_known)
                return; /* its answer brings another look */
        if (!own.known)
                own = (UndoBalance){ .banned_cpus = b->setup.banned_cpus,
                                     .banned_irqs = b->setup.banned_irqs,
                                     .n_banned_irqs = b->setup.n_banned_irqs };
        tell(m, wanted, &own);
}

void irq_balance_give_back(Manager *m) {
        for (unsigned i = 0; i < LAST_TRIES && m->irq->undo.irqbalance.known; i++) {
                if (m->irq->balance.id.pid == 0 || give_back(m) != -EAGAIN)
                        return;
                (void)poll(NULL, 0, LAST_WAIT_MSEC);
        }
}
