/* Who irqbalance is, and what it has: asked without waiting for it. What it is told is
 * irq-balance-tell.c's. */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/clock.h"

/* It works through a big machine's interrupts in less. */
#define ANSWER_TIMEOUT_USEC (UINT64_C(10) * 1000 * 1000)

/* At the end of the daemon. */
enum { LAST_ANSWER_MSEC = 1000 };

/* Without an answer that shows that it has taken over what it was told, so many times. */
#define TELLS_MAX 3u
#define CHECK_INTERVAL_USEC (UINT64_C(60) * 1000 * 1000)

void irq_balance_init(IrqBalance *b) {
        *b = (IrqBalance){ .folder = IRQBALANCE_FOLDER, .fd = -EBADF };
}

static void end_question(IrqBalance *b) {
        b->answer = sd_event_source_disable_unref(b->answer);
        closep(&b->fd);
        b->fd = -EBADF;
        b->length = 0;
}

void irq_balance_forget_told(IrqBalance *b) {
        free(b->told_irqs);
        b->told_irqs = NULL;
        b->n_told_irqs = b->n_told_old = 0;
        b->told_cpus = (CpuSet){ 0 };
        b->told = false;
}

/* irqbalance, unless systemd has started it and ignores SIGPIPE for it, would be ended by that if
 * it found that nobody waits for its answer. */
static void await_answer(const IrqBalance *b) {
        struct pollfd fd = { .fd = b->fd, .events = POLLIN };

        if (b->fd >= 0)
                (void)poll(&fd, 1, LAST_ANSWER_MSEC);
}

void irq_balance_done(IrqBalance *b) {
        await_answer(b);
        end_question(b);
        irq_balance_forget_told(b);
        irqbalance_setup_done(&b->setup);
        free(b->buffer);
        irq_balance_init(b);
}

/* --- who it is --- */

/* Root's process of that number, and of that name. -ESRCH: it is another one's. */
static int identify(const Manager *m, pid_t pid, ProcessId *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char path[64], comm[64];
        ssize_t n;
        int r;

        (void)snprintf(path, sizeof(path), "%d/comm", pid);
        r = proc_open(&m->host.sysroot, pid, &handle);
        if (r < 0)
                return r;
        n = read_record_at(m->host.sysroot.proc_fd, path, comm, sizeof(comm));
        if (n < 0)
                return (int)n;
        if (strcmp(comm, "irqbalance") != 0)
                return -ESRCH;
        *ret = (ProcessId){ .pid = pid, .start_ticks = handle.start_ticks };
        return 0;
}

/* pid 0: it does not run. Negative errno: that is not known. */
static int find(const Manager *m, ProcessId *ret) {
        ProcessId id = { 0 };
        pid_t pid;
        int r = irqbalance_find(m->irq->balance.folder, &pid);

        if (r >= 0)
                r = identify(m, pid, &id);
        if (r == -EMFILE || r == -ENFILE || r == -ENOMEM)
                return r;
        *ret = id;
        return 0;
}

static bool is_same(const ProcessId *a, const ProcessId *b) {
        return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

static void begin_anew(Manager *m, const ProcessId *id) {
        IrqBalance *b = &m->irq->balance;
        UndoHost *undo = &m->irq->undo;
        const bool replaced = b->id.pid != 0;

        end_question(b);
        irq_balance_forget_told(b);
        irqbalance_setup_done(&b->setup);
        b->setup_known = b->refused = b->partly = false;
        b->n_told = 0;
        b->told_usec = b->asked_usec = 0;
        b->id = *id;
        /* What its predecessor was told has gone with it. */
        if (undo->irqbalance.known && !is_same(&undo->irqbalance.id, id))
                undo_host_forget_irqbalance(undo);
        if (id->pid != 0 && replaced)
                journal_log(&m->host.journal, LOG_INFO, NULL,
                            "irqbalance was replaced: it is process %d now", id->pid);
}

/* --- what it has --- */

void irq_balance_say_refused(Manager *m, int error) {
        IrqBalance *b = &m->irq->balance;

        if (error == -ENOENT) /* it has gone meanwhile */
                return;
        if (!b->refused)
                journal_log(&m->host.journal, LOG_WARNING, NULL,
                            "irqbalance (process %d) cannot be told which CPUs are taken: %s. It "
                            "may put interrupts on them; see its socket in %s",
                            b->id.pid,
                            error == -EPERM ? "its socket is not root's alone, or another process's"
                            : error == -EBADMSG   ? "its answer is none that is known"
                            : error == -ETIMEDOUT ? "it does not answer"
                            : error == -E2BIG     ? "the list is longer than it takes"
                                                  : strerror(-error),
                            b->folder);
        b->refused = true;
}

/* `ignore` leaves it alone, and so does a host without any entry. */
static bool is_anybodys(const Manager *m) {
        for (size_t i = 0; i < m->host.policies.n_irqs; i++)
                if (m->host.policies.irqs[i].irqbalance != IRQBALANCE_IGNORE)
                        return true;
        return false;
}

void irq_balance_say_mute(Manager *m) {
        IrqBalance *b = &m->irq->balance;

        if (b->told_mute_pid == b->mute_pid || !is_anybodys(m) || !host_enforces(&m->host))
                return;
        b->told_mute_pid = b->mute_pid;
        journal_log(&m->host.journal, LOG_WARNING, NULL,
                    "irqbalance (process %d) has no socket in %s, by which it could be told which "
                    "CPUs are taken: it may put interrupts on them. Version 1.5 and later have "
                    "one; else stop it, or ban these CPUs in its environment",
                    b->mute_pid, b->folder);
}

bool irq_balance_has_irq(const uint32_t *irqs, size_t n, uint32_t irq) {
        for (size_t i = 0; i < n; i++)
                if (irqs[i] == irq)
                        return true;
        return false;
}

static size_t count_kept(const IrqBalance *b, size_t n) {
        size_t kept = 0;

        for (size_t i = 0; i < n; i++)
                kept += irq_balance_has_irq(b->setup.banned_irqs, b->setup.n_banned_irqs,
                                            b->told_irqs[i]);
        return kept;
}

static void say_partly(Manager *m, size_t n_kept) {
        IrqBalance *b = &m->irq->balance;

        if (!b->partly)
                journal_log(&m->host.journal, LOG_WARNING, NULL,
                            "irqbalance (process %d) has taken %zu of %zu interrupts that it is to "
                            "leave alone, for its version takes no longer list: it may move the "
                            "others, to CPUs that no instance owns",
                            b->id.pid, n_kept, b->n_told_irqs);
        b->partly = true;
}

/* It was told: does it say that it knows? An old one takes the begin of a long list. */
static void check_kept(Manager *m) {
        IrqBalance *b = &m->irq->balance;
        const size_t n_kept = count_kept(b, b->n_told_irqs);
        const bool kept = id_set_is_subset(&b->told_cpus, &b->setup.banned_cpus) &&
                          count_kept(b, b->n_told_old) == b->n_told_old;

        b->n_told = kept ? 0 : b->n_told;
        if (kept && n_kept < b->n_told_irqs)
                say_partly(m, n_kept);
        if (!kept && b->n_told < TELLS_MAX)
                irq_balance_forget_told(b);
}

static void take_answer(Manager *m) {
        IrqBalance *b = &m->irq->balance;
        IrqbalanceSetup setup = { 0 };
        int r = irqbalance_setup_parse(b->buffer ? b->buffer : "", b->length, &setup);

        end_question(b);
        if (r < 0) {
                irq_balance_say_refused(m, r);
                return;
        }
        irqbalance_setup_done(&b->setup);
        b->setup = setup;
        b->setup_known = true;
        b->refused = false;
        if (b->told)
                check_kept(m);
        irq_look_within(m, 0);
}

static int on_answer(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Manager *m = userdata;
        IrqBalance *b = &m->irq->balance;
        ssize_t n = 0; /* longer than any is: it is not believed */

        (void)source;
        (void)revents;
        if (b->length < IRQBALANCE_ANSWER_MAX)
                n = recv(fd, b->buffer + b->length, IRQBALANCE_ANSWER_MAX - b->length,
                         MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n > 0)
                b->length += (size_t)n;
        else
                take_answer(m); /* it has closed, as it does behind its answer */
        return 0;
}

static void ask(Manager *m, uint64_t now_usec) {
        IrqBalance *b = &m->irq->balance;
        int fd = -EBADF, r;

        if (!b->buffer && !(b->buffer = malloc(IRQBALANCE_ANSWER_MAX)))
                return;
        b->asked_usec = now_usec;
        b->check_usec = now_usec + CHECK_INTERVAL_USEC;
        r = irqbalance_send(b->folder, b->id.pid, "setup", &fd);
        if (r >= 0)
                r = sd_event_add_io(m->host.event, &b->answer, fd, EPOLLIN, on_answer, m);
        if (r >= 0)
                b->fd = fd;
        else {
                closep(&fd);
                if (r != -EAGAIN && r != -ECONNREFUSED)
                        irq_balance_say_refused(m, r);
        }
}

static void fill_facts(const IrqBalance *b, IrqbalanceFacts *ret) {
        const size_t n = b->setup.n_banned_irqs;
        uint32_t *irqs;

        ret->pid = b->id.pid;
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

/* Once for what it has, and again for whether it has kept what it was told. */
static bool is_to_be_asked(const Manager *m, uint64_t now_usec) {
        const IrqBalance *b = &m->irq->balance;

        if (b->id.pid == 0 || b->fd >= 0 || !host_enforces(&m->host) || !is_anybodys(m))
                return false;
        if (!b->setup_known)
                return b->asked_usec == 0 || now_usec >= b->asked_usec + ANSWER_TIMEOUT_USEC;
        return b->told && b->n_told > 0 && now_usec >= b->check_usec;
}

void irq_balance_look(Manager *m, IrqbalanceFacts *ret) {
        const uint64_t now = clock_monotonic_usec();
        IrqBalance *b = &m->irq->balance;
        ProcessId id;

        if (!m->host.sysroot.live)
                return;
        if (find(m, &id) >= 0 && !is_same(&id, &b->id))
                begin_anew(m, &id);
        if (b->fd >= 0 && !b->setup_known && now >= b->asked_usec + ANSWER_TIMEOUT_USEC)
                irq_balance_say_refused(m, -ETIMEDOUT);
        if (is_to_be_asked(m, now))
                ask(m, now);
        if (b->id.pid != 0)
                fill_facts(b, ret);
}
