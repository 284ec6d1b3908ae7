/* Talking to irqbalance: never waiting for it, but at the very end. */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "tidbnumad/daemon/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/clock.h"

/* It works through a big machine's interrupts in less. */
#define ANSWER_TIMEOUT_USEC (UINT64_C(10) * 1000 * 1000)

/* Each telling makes it place everything anew: not more often than this. */
#define TELL_INTERVAL_USEC (UINT64_C(15) * 1000 * 1000)

/* It takes over what it was told after its next round. Without an answer that shows it, so many
 * times more. */
#define CHECK_ROUNDS 3u
#define CHECK_INTERVAL_USEC (UINT64_C(60) * 1000 * 1000)
#define TELLS_MAX 3u

/* At the end of the daemon. */
enum { LAST_TRIES = 10, LAST_WAIT_MSEC = 50 };

void irq_balance_init(IrqBalance *b) {
        *b = (IrqBalance){ .folder = IRQBALANCE_FOLDER, .fd = -EBADF };
}

static void end_question(IrqBalance *b) {
        b->answer = sd_event_source_disable_unref(b->answer);
        closep(&b->fd);
        b->fd = -EBADF;
        b->length = 0;
}

static void forget_told(IrqBalance *b) {
        free(b->told_irqs);
        b->told_irqs = NULL;
        b->n_told_irqs = 0;
        b->told_cpus = (CpuSet){ 0 };
        b->told = false;
}

void irq_balance_done(IrqBalance *b) {
        end_question(b);
        forget_told(b);
        irqbalance_setup_done(&b->setup);
        free(b->buffer);
        irq_balance_init(b);
}

/* --- who it is --- */

/* Root's process of that number, and of that name. */
static bool identify(const Manager *m, pid_t pid, ProcessId *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char path[64], comm[64];

        (void)snprintf(path, sizeof(path), "%d/comm", pid);
        if (proc_open(&m->sysroot, pid, &handle) < 0 ||
            read_record_at(m->sysroot.proc_fd, path, comm, sizeof(comm)) < 0 ||
            strcmp(comm, "irqbalance") != 0)
                return false;
        *ret = (ProcessId){ .pid = pid, .start_ticks = handle.start_ticks };
        return true;
}

static bool is_same(const ProcessId *a, const ProcessId *b) {
        return a->pid == b->pid && a->start_ticks == b->start_ticks;
}

static void begin_anew(Manager *m, const ProcessId *id) {
        IrqBalance *b = &m->irq->balance;
        UndoHost *undo = &m->irq->undo;
        const bool replaced = b->id.pid != 0;

        end_question(b);
        forget_told(b);
        irqbalance_setup_done(&b->setup);
        b->setup_known = b->refused = false;
        b->n_told = 0;
        b->told_usec = b->asked_usec = 0;
        b->id = *id;
        /* What its predecessor was told has gone with it. */
        if (undo->irqbalance.known && !is_same(&undo->irqbalance.id, id))
                undo_host_forget_irqbalance(undo);
        if (id->pid != 0 && replaced)
                journal_log(&m->journal, LOG_INFO, NULL,
                            "irqbalance was replaced: it is process %d now", id->pid);
}

/* --- what it has --- */

static void say_refused(Manager *m, int error) {
        IrqBalance *b = &m->irq->balance;

        if (!b->refused)
                journal_log(&m->journal, LOG_WARNING, NULL,
                            "irqbalance (process %d) cannot be told which CPUs are taken: %s. It "
                            "may put interrupts on them; see its socket in %s",
                            b->id.pid,
                            error == -EPERM ? "its socket is not root's alone, or another process's"
                            : error == -EBADMSG ? "its answer is none that is known"
                            : error == -E2BIG   ? "the list is longer than it takes"
                                                : strerror(-error),
                            b->folder);
        b->refused = true;
}

static bool has_irq(const uint32_t *irqs, size_t n, uint32_t irq) {
        for (size_t i = 0; i < n; i++)
                if (irqs[i] == irq)
                        return true;
        return false;
}

/* It was told, and says that it does not know. */
static void check_kept(IrqBalance *b) {
        bool kept = id_set_is_subset(&b->told_cpus, &b->setup.banned_cpus);

        for (size_t i = 0; kept && i < b->n_told_irqs; i++)
                kept = has_irq(b->setup.banned_irqs, b->setup.n_banned_irqs, b->told_irqs[i]);
        b->n_told = kept ? 0 : b->n_told;
        if (!kept && b->n_told < TELLS_MAX)
                forget_told(b);
}

static void take_answer(Manager *m) {
        IrqBalance *b = &m->irq->balance;
        IrqbalanceSetup setup = { 0 };
        int r = irqbalance_setup_parse(b->buffer ? b->buffer : "", b->length, &setup);

        end_question(b);
        if (r < 0) {
                say_refused(m, r);
                return;
        }
        irqbalance_setup_done(&b->setup);
        b->setup = setup;
        b->setup_known = true;
        if (b->told)
                check_kept(b);
        irq_look_within(m, 0);
}

static int on_answer(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Manager *m = userdata;
        IrqBalance *b = &m->irq->balance;
        ssize_t n = -1;

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
                r = sd_event_add_io(m->event, &b->answer, fd, EPOLLIN, on_answer, m);
        if (r >= 0)
                b->fd = fd;
        else {
                closep(&fd);
                if (r != -EAGAIN && r != -ECONNREFUSED)
                        say_refused(m, r);
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

void irq_balance_look(Manager *m, IrqbalanceFacts *ret) {
        const uint64_t now = clock_monotonic_usec();
        IrqBalance *b = &m->irq->balance;
        ProcessId id = { 0 };
        pid_t pid;
        int r;

        if (!m->sysroot.live)
                return;
        r = irqbalance_find(b->folder, &pid);
        if (r < 0 || !identify(m, pid, &id))
                id = (ProcessId){ 0 };
        if (!is_same(&id, &b->id))
                begin_anew(m, &id);
        if (b->fd >= 0 && now >= b->asked_usec + ANSWER_TIMEOUT_USEC)
                end_question(b);
        if (b->id.pid != 0 && b->fd < 0 && manager_enforces(m) &&
            (!b->setup_known ? b->asked_usec == 0 || now >= b->asked_usec + ANSWER_TIMEOUT_USEC
                             : b->told && b->n_told > 0 && now >= b->check_usec))
                ask(m, now);
        if (b->id.pid != 0)
                fill_facts(b, ret);
}

/* --- telling it --- */

typedef struct Bans {
        CpuSet cpus;
        uint32_t *irqs; /* owned */
        size_t n_irqs;
} Bans;

static void add_irqs(Bans *bans, const uint32_t *irqs, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!has_irq(bans->irqs, bans->n_irqs, irqs[i]))
                        bans->irqs[bans->n_irqs++] = irqs[i];
}

/* What it had itself, and ours. */
static int merge(const UndoBalance *own, const IrqPlanBalance *wanted, Bans *ret) {
        ret->irqs = calloc(own->n_banned_irqs + wanted->n_banned_irqs + 1, sizeof(*ret->irqs));
        if (!ret->irqs)
                return -ENOMEM;
        ret->cpus = own->banned_cpus;
        add_irqs(ret, own->banned_irqs, own->n_banned_irqs);
        if (wanted->told) {
                id_set_add_all(&ret->cpus, &wanted->banned_cpus);
                add_irqs(ret, wanted->banned_irqs, wanted->n_banned_irqs);
        }
        return 0;
}

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
        return undo_host_write(&m->undo, undo);
}

static int send_bans(const IrqBalance *b, const Bans *bans) {
        char cpus[IRQBALANCE_COMMAND_MAX], irqs[IRQBALANCE_COMMAND_MAX];
        int r = irqbalance_render_cpus(&bans->cpus, cpus);

        if (r >= 0)
                r = irqbalance_render_irqs(bans->irqs, bans->n_irqs, irqs);
        if (r >= 0)
                r = irqbalance_send(b->folder, b->id.pid, cpus, NULL);
        return r < 0 ? r : irqbalance_send(b->folder, b->id.pid, irqs, NULL);
}

static void say_told(const Manager *m, const Bans *bans) {
        char cpus[ID_SET_LIST_MAX];

        (void)id_set_render_list(&bans->cpus, cpus, sizeof(cpus));
        journal_log(&m->journal, LOG_INFO, NULL,
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
                if (!has_irq(bans->irqs, bans->n_irqs, b->setup.banned_irqs[i]))
                        return false;
        return true;
}

/* Takes over the list of `bans`. */
static void remember(IrqBalance *b, Bans *bans, uint64_t now_usec) {
        forget_told(b);
        b->told = true;
        b->told_cpus = bans->cpus;
        b->told_irqs = TAKE_PTR(bans->irqs);
        b->n_told_irqs = bans->n_irqs;
        b->told_usec = now_usec;
        b->check_usec =
                now_usec + CHECK_ROUNDS * UINT64_C(1000000) *
                                   (b->setup.sleep_seconds > 0 ? b->setup.sleep_seconds : 10);
        b->n_told++;
}

static void tell(Manager *m, const IrqPlanBalance *wanted, const UndoBalance *own) {
        const uint64_t now = clock_monotonic_usec();
        IrqBalance *b = &m->irq->balance;
        Bans bans = { 0 };
        int r = merge(own, wanted, &bans);

        if (r < 0 || knows(b, &bans) ||
            (b->told_usec != 0 && now < b->told_usec + TELL_INTERVAL_USEC)) {
                free(bans.irqs);
                return;
        }
        if (!b->told && has(b, &bans) && b->n_told == 0) {
                remember(b, &bans, now);
                b->n_told = 0;
        } else {
                r = note(m);
                if (r >= 0)
                        r = send_bans(b, &bans);
                if (r >= 0) {
                        say_told(m, &bans);
                        remember(b, &bans, now);
                } else if (r != -EAGAIN)
                        say_refused(m, r);
        }
        free(bans.irqs);
}

/* What it had before us, and nothing else. */
static int give_back(Manager *m) {
        const UndoBalance *own = &m->irq->undo.irqbalance;
        const Bans bans = { .cpus = own->banned_cpus,
                            .irqs = own->banned_irqs,
                            .n_irqs = own->n_banned_irqs };
        int r = send_bans(&m->irq->balance, &bans);

        if (r == -EAGAIN)
                return r;
        if (r >= 0)
                say_told(m, &bans);
        undo_host_forget_irqbalance(&m->irq->undo);
        forget_told(&m->irq->balance);
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
