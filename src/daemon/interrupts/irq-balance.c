/* irqbalance: finds it, reads its settings without waiting for it, and sends the interrupts and
 * CPUs that it has to ignore, where they differ. */
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/sys/clock.h"

/* Longer than irqbalance takes for the interrupts of a large machine. */
#define ANSWER_TIMEOUT_USEC (UINT64_C(10) * 1000 * 1000)

/* Minimum interval between settings, because irqbalance redistributes all interrupts whenever they
 * change. */
#define SEND_INTERVAL_USEC (UINT64_C(15) * 1000 * 1000)

/* New settings take effect in one of its next rounds; its answers show the former ones until then.
 */
#define READ_ROUNDS 3u

void irq_balance_init(IrqBalance *b) {
        *b = (IrqBalance){ .folder = IRQBALANCE_FOLDER, .fd = -EBADF };
}

static void balance_end_question(IrqBalance *b) {
        b->answer = event_source_drop(b->answer);
        closep(&b->fd);
        b->fd = -EBADF;
        b->length = 0;
}

void irq_balance_done(IrqBalance *b) {
        balance_end_question(b);
        irqbalance_setup_done(&b->setup);
        free(b->buffer);
        irq_balance_init(b);
}

/* --- its settings --- */

/* Logs once that it does not accept settings. */
static void balance_log_refused(Interrupts *irq, int error) {
        IrqBalance *b = &irq->balance;

        if (error == -ENOENT) /* it has gone meanwhile */
                return;
        if (!b->logged_refused)
                journal_log(&irq->host->journal, LOG_WARNING, NULL,
                            "irqbalance (process %d) cannot be sent the CPUs of instances: %s. It "
                            "may put interrupts on them; see its socket in %s",
                            b->id.pid,
                            error == -EPERM ? "its socket is not root's alone, or another process's"
                            : error == -EBADMSG   ? "its answer is unknown"
                            : error == -ETIMEDOUT ? "it does not answer"
                            : error == -E2BIG     ? "the list is longer than it takes"
                                                  : strerror(-error),
                            b->folder);
        b->logged_refused = true;
}

/* Not with `ignore`, and not without any entry of `irq`. */
static bool balance_is_wanted(const Interrupts *irq) {
        for (size_t i = 0; i < irq->host->policies.n_irqs; i++)
                if (irq->host->policies.irqs[i].irqbalance != IRQBALANCE_IGNORE)
                        return true;
        return false;
}

void irq_balance_log_socketless(Interrupts *irq) {
        IrqBalance *b = &irq->balance;

        if (b->logged_socketless_pid == b->socketless_pid || !balance_is_wanted(irq) ||
            !host_enforces(irq->host))
                return;
        b->logged_socketless_pid = b->socketless_pid;
        journal_log(&irq->host->journal, LOG_WARNING, NULL,
                    "irqbalance (process %d) has no socket in %s, so it cannot be sent the CPUs of "
                    "instances and may put interrupts on them. Use version 1.5 or later, stop it, "
                    "or ban these CPUs in its environment",
                    b->socketless_pid, b->folder);
}

static int balance_on_answer(_unused_ sd_event_source *source, int fd, _unused_ uint32_t revents,
                             void *userdata) {
        Interrupts *irq = userdata;
        IrqBalance *b = &irq->balance;
        IrqbalanceSetup setup = { 0 };
        size_t n_kept = 0;
        ssize_t n = 0; /* longer than any valid answer: discard it */
        int r;

        if (b->length < IRQBALANCE_ANSWER_MAX)
                n = recv(fd, b->buffer + b->length, IRQBALANCE_ANSWER_MAX - b->length,
                         MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n > 0) {
                b->length += (size_t)n;
                return 0;
        }
        /* It closes the socket after its answer. */
        r = irqbalance_setup_parse(b->buffer ? b->buffer : "", b->length, &setup);
        balance_end_question(b);
        if (r < 0) {
                balance_log_refused(irq, r);
                return 0;
        }
        if (b->sent_usec != 0 && !irqbalance_setup_equal(&b->setup, &setup)) {
                const bool has_cpus = id_set_is_subset(&b->setup.banned_cpus, &setup.banned_cpus);

                /* An old version keeps only the beginning of a long list. */
                for (size_t i = 0; i < b->setup.n_banned_irqs; i++)
                        n_kept += irqbalance_setup_has(&setup, b->setup.banned_irqs[i]);
                if (!b->logged_not_kept && has_cpus && n_kept == b->setup.n_banned_irqs)
                        journal_log(
                                &irq->host->journal, LOG_WARNING, NULL,
                                "something else has added bans at irqbalance (process %d); they "
                                "are removed. To keep them, set them in its environment or "
                                "arguments",
                                b->id.pid);
                else if (!b->logged_not_kept)
                        journal_log(&irq->host->journal, LOG_WARNING, NULL,
                                    "irqbalance (process %d) accepted %zu of %zu interrupts that "
                                    "it must leave alone%s: its version accepts no longer list, or "
                                    "something else changed its settings. It may move the others",
                                    b->id.pid, n_kept, b->setup.n_banned_irqs,
                                    has_cpus ? "" : ", and not these CPUs");
                b->logged_not_kept = true;
        }
        irqbalance_setup_done(&b->setup);
        b->setup = setup;
        b->setup_known = true;
        b->logged_refused = false;
        b->read_usec = clock_monotonic_usec() + IRQ_BALANCE_READ_USEC;
        irq_events_reconcile_within(irq, 0);
        return 0;
}

void irq_balance_read(Interrupts *irq, IrqbalanceFacts *ret) {
        const uint64_t now = clock_monotonic_usec();
        IrqBalance *b = &irq->balance;
        UndoRecord *record = irq_record(irq);
        const Sysroot *sysroot = &irq->host->sysroot;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = -EBADF;
        ProcessId id = { 0 }; /* 0: it does not run, or its pid belongs to another process */
        uint32_t *irqs;
        pid_t pid;
        size_t n;
        int r;

        if (!sysroot->live)
                return;
        r = irqbalance_find(sysroot, b->folder, &pid);
        if (r >= 0)
                r = proc_open(sysroot, pid, &handle);
        if (r >= 0)
                id = (ProcessId){ .pid = pid, .start_ticks = handle.start_ticks };
        if (r != -EMFILE && r != -ENFILE && r != -ENOMEM && !process_id_equal(&id, &b->id)) {
                if (b->id.pid != 0 && id.pid != 0)
                        journal_log(&irq->host->journal, LOG_INFO, NULL,
                                    "irqbalance was replaced: it is process %d now", id.pid);
                balance_end_question(b);
                irqbalance_setup_done(&b->setup);
                b->setup_known = b->logged_refused = b->logged_not_kept = false;
                b->sent_usec = b->read_usec = 0;
                b->id = id;
                /* Settings that its predecessor received were lost with it. */
                if (record->irqbalance.known && !process_id_equal(&record->irqbalance.id, &id))
                        undo_record_forget_irqbalance(record);
        }
        if (b->fd >= 0 && now >= b->read_usec)
                balance_log_refused(irq, -ETIMEDOUT);
        if (b->id.pid != 0 && b->fd < 0 && host_enforces(irq->host) && balance_is_wanted(irq) &&
            now >= b->read_usec && (b->buffer || (b->buffer = malloc(IRQBALANCE_ANSWER_MAX)))) {
                b->read_usec = now + ANSWER_TIMEOUT_USEC;
                r = irqbalance_send(b->folder, b->id.pid, "setup", &fd);
                if (r >= 0)
                        r = sd_event_add_io(irq->host->event, &b->answer, fd, EPOLLIN,
                                            balance_on_answer, irq);
                if (r >= 0)
                        b->fd = TAKE_FD(fd);
                else if (r != -EAGAIN && r != -ECONNREFUSED)
                        balance_log_refused(irq, r);
        }
        if (b->id.pid == 0)
                return;
        ret->pid = b->id.pid;
        n = b->setup.n_banned_irqs;
        if (!b->setup_known || !(irqs = calloc(n + 1, sizeof(*irqs))))
                return;
        if (n > 0)
                memcpy(irqs, b->setup.banned_irqs, n * sizeof(*irqs));
        free(ret->banned_irqs);
        ret->settings_known = true;
        ret->sleep_seconds = b->setup.sleep_seconds;
        ret->banned_cpus = b->setup.banned_cpus;
        ret->banned_irqs = irqs;
        ret->n_banned_irqs = n;
}

/* --- what is wanted --- */

static void bans_add_irqs(IrqbalanceSetup *bans, const uint32_t *irqs, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!irqbalance_setup_has(bans, irqs[i]))
                        bans->banned_irqs[bans->n_banned_irqs++] = irqs[i];
}

/* irqbalance's own bans, and those that the plan wants. */
static int balance_merge(const IrqbalanceSetup *own, const IrqPlanBalance *wanted,
                         IrqbalanceSetup *ret) {
        ret->banned_irqs = calloc(own->n_banned_irqs + wanted->n_banned_irqs + 1, sizeof(uint32_t));
        if (!ret->banned_irqs)
                return -ENOMEM;
        ret->banned_cpus = own->banned_cpus;
        if (irqbalance_setup_has(own, 0))
                bans_add_irqs(ret, &(uint32_t){ 0 },
                              1); /* 0 must be first, as it ends the list elsewhere */
        bans_add_irqs(ret, own->banned_irqs, own->n_banned_irqs);
        if (wanted->sent) {
                id_set_union(&ret->banned_cpus, &wanted->banned_cpus);
                bans_add_irqs(ret, wanted->banned_irqs, wanted->n_banned_irqs);
        }
        return 0;
}

/* --- sending it --- */

/* Takes over the list of `bans`, which count as irqbalance's settings until its next answer. */
static int balance_send_bans(Interrupts *irq, IrqbalanceSetup *bans) {
        char cpus[IRQBALANCE_COMMAND_MAX], irqs[IRQBALANCE_LONG_COMMAND_MAX];
        IrqBalance *b = &irq->balance;
        const uint32_t sleep_seconds = b->setup.sleep_seconds;
        const uint64_t rounds_usec = UINT64_C(1000000) * READ_ROUNDS * sleep_seconds;
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
        journal_log(&irq->host->journal, b->logged_not_kept ? LOG_DEBUG : LOG_INFO, NULL,
                    "irqbalance (process %d) was sent CPUs %s and %zu interrupts that it must "
                    "leave alone",
                    b->id.pid,
                    id_set_is_empty(&bans->banned_cpus) ? "(none)"
                                                        : id_set_list(&bans->banned_cpus),
                    bans->n_banned_irqs);
        irqbalance_setup_done(&b->setup);
        b->setup = TAKE_STRUCT(*bans);
        b->setup.sleep_seconds = sleep_seconds;
        b->setup_known = true;
        b->sent_usec = clock_monotonic_usec();
        b->read_usec = b->sent_usec +
                       (rounds_usec > IRQ_BALANCE_READ_USEC ? rounds_usec : IRQ_BALANCE_READ_USEC);
        return 0;
}

/* Sends what irqbalance had before. */
static int balance_restore_own(Interrupts *irq) {
        static const IrqPlanBalance nothing = { 0 };
        _cleanup_irqbalance_setup_ IrqbalanceSetup bans = { 0 };
        UndoRecord *record = irq_record(irq);
        int r = balance_merge(&record->irqbalance.own, &nothing, &bans);

        if (r >= 0)
                r = balance_send_bans(irq, &bans);
        if (r == -EAGAIN || r == -ENOMEM)
                return r;
        if (r < 0)
                irq->balance.setup_known = false;
        undo_record_forget_irqbalance(record);
        undo_after(irq->undo, record, IRQ_CHANGE, true);
        irq->balance.sent_usec = 0;
        return 0;
}

void irq_balance_send(Interrupts *irq, const IrqPlanBalance *wanted) {
        _cleanup_irqbalance_setup_ IrqbalanceSetup bans = { 0 };
        const IrqBalance *b = &irq->balance;
        UndoRecord *record = irq_record(irq);
        UndoBalance before = { .id = b->id, .own.banned_cpus = b->setup.banned_cpus };
        const size_t n = b->setup.n_banned_irqs;
        char irqs[IRQBALANCE_LONG_COMMAND_MAX];
        IrqbalanceSetup begin;
        int r;

        /* A pending answer shows the former settings, and would be taken for its own. */
        if (b->id.pid == 0 || b->fd >= 0)
                return; /* its answer triggers another reconcile */
        if (!wanted->sent) {
                if (record->irqbalance.known)
                        (void)balance_restore_own(irq);
                return;
        }
        if (!b->setup_known ||
            balance_merge(record->irqbalance.known ? &record->irqbalance.own : &b->setup, wanted,
                          &bans) < 0 ||
            irqbalance_setup_equal(&b->setup, &bans) ||
            (b->sent_usec != 0 && clock_monotonic_usec() < b->sent_usec + SEND_INTERVAL_USEC))
                return;
        /* An old version keeps only the beginning of a long list: sending the list again would not
         * help. */
        begin = bans;
        (void)irqbalance_render_irqs(bans.banned_irqs, bans.n_banned_irqs, irqs,
                                     &begin.n_banned_irqs);
        if (b->sent_usec != 0 && irqbalance_setup_equal(&b->setup, &begin))
                return;
        /* Its own settings are recorded before they are changed for the first time. */
        if (!record->irqbalance.known) {
                before.own.banned_irqs = calloc(n + 1, sizeof(uint32_t));
                if (!before.own.banned_irqs) {
                        balance_log_refused(irq, -ENOMEM);
                        return;
                }
                if (n > 0)
                        memcpy(before.own.banned_irqs, b->setup.banned_irqs, n * sizeof(uint32_t));
                before.own.n_banned_irqs = n;
                undo_record_set_irqbalance(record, &before);
        }
        r = undo_before(irq->undo, record, IRQ_CHANGE);
        if (r >= 0)
                r = balance_send_bans(irq, &bans);
        if (r < 0 && r != -EAGAIN)
                balance_log_refused(irq, r);
}

bool irq_balance_restore(Interrupts *irq) {
        return irq_record(irq)->irqbalance.known && irq->balance.id.pid != 0 &&
               balance_restore_own(irq) == -EAGAIN;
}
