/* Talking to irqbalance: a server that answers as it does, slowly, wrongly, or as another process.
 * What it has itself is kept, told with ours, and given back. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/daemon/irq-balance-tell.h"
#include "tidbnumad/daemon/irq.h"
#include "tidbnumad/daemon/manager.h"
#include "tidbnumad/sys/clock.h"

#define SECOND UINT64_C(1000000)
#define NONE "SLEEP 10 BANNED 00000000"

static uint64_t now_usec;

uint64_t __wrap_clock_monotonic_usec(void);

uint64_t __wrap_clock_monotonic_usec(void) {
        return now_usec;
}

typedef struct Host {
        FakeTree tree;
        char folder[64];
        int fd; /* the server's */
        int client;
        Args args;
        Manager m;
        Irq irq;
        IrqbalanceFacts facts;
} Host;

static void bind_server(Host *h, pid_t pid) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int on = 1;
        char folder[64];

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/irqbalance%d.sock",
                       h->folder, pid);
        h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(h->fd >= 0);
        assert_int_equal(bind(h->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(setsockopt(h->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
        fake_process(&h->tree, pid, 1, "/usr/sbin/irqbalance", "/system.slice/x", "0-7");
        (void)snprintf(folder, sizeof(folder), "proc/%d/comm", pid);
        fake_write(&h->tree, folder, "irqbalance\n");
}

static void unbind_server(Host *h, pid_t pid) {
        char name[64];

        closep(&h->fd);
        (void)snprintf(name, sizeof(name), "run/irqbalance%d.sock", pid);
        fake_remove(&h->tree, name);
}

static void begin(Host *h) {
        h->m.irq = &h->irq;
        irq_balance_init(&h->irq.balance);
        h->irq.balance.folder = h->folder;
        undo_init(&h->m.undo, &h->tree.sysroot);
        assert_int_equal(undo_open(&h->m.undo, h->tree.fd), 0);
        (void)undo_host_read(&h->m.undo, &h->irq.undo);
}

static void end(Host *h) {
        irq_balance_done(&h->irq.balance);
        undo_host_done(&h->irq.undo);
        undo_done(&h->m.undo);
        h->irq = (Irq){ 0 };
}

static void host_init(Host *h) {
        now_usec = 5000 * SECOND;
        *h = (Host){ .client = -EBADF };
        fake_init(&h->tree);
        fake_mkdir(&h->tree, "run");
        (void)snprintf(h->folder, sizeof(h->folder), "%s/run", h->tree.path);
        fake_write(&h->tree, "proc/sys/kernel/random/boot_id",
                   "0a1b2c3d-0001-4000-8000-00000000000f\n");
        bind_server(h, getpid());
        assert_int_equal(listen(h->fd, 1), 0);
        h->m = (Manager){ .args = &h->args,
                          .sysroot = h->tree.sysroot,
                          .journal = { .max_priority = -1 } };
        h->m.sysroot.live = true;
        h->m.policies.mode = ENFORCEMENT_ENFORCE;
        assert_int_equal(sd_event_new(&h->m.event), 0);
        begin(h);
}

static void host_done(Host *h) {
        closep(&h->client);
        end(h);
        irqbalance_facts_done(&h->facts);
        sd_event_unref(h->m.event);
        closep(&h->fd);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

/* --- the server --- */

/* The next command; "": nobody is there. Its connection is `client`. */
static const char *received(Host *h) {
        static char buffer[20000];
        ssize_t n;

        closep(&h->client);
        h->client = accept4(h->fd, NULL, NULL, SOCK_CLOEXEC);
        if (h->client < 0)
                return "";
        n = recv(h->client, buffer, sizeof(buffer), 0);
        assert_true(n > 0 && buffer[n - 1] == '\0');
        return buffer;
}

static void look(Host *h) {
        irqbalance_facts_done(&h->facts);
        irq_balance_look(&h->m, &h->facts);
}

/* As irqbalance does it: it answers and closes. Then the daemon's loop runs, and it looks again. */
static void answer(Host *h, const char *text) {
        assert_int_equal(send(h->client, text, strlen(text), 0), strlen(text));
        closep(&h->client);
        h->client = -EBADF;
        while (sd_event_run(h->m.event, 0) > 0)
                ;
        look(h);
}

/* It is found, asked, and answers. */
static void meet(Host *h, const char *setup) {
        look(h);
        assert_string_equal(received(h), "setup");
        answer(h, setup);
}

static void tell(Host *h, const char *cpus, uint32_t *irqs, size_t n_irqs) {
        const IrqPlanBalance wanted = {
                .told = true, .banned_cpus = ids(cpus), .banned_irqs = irqs, .n_banned_irqs = n_irqs
        };

        irq_balance_tell(&h->m, &wanted);
}

static void tell_nothing(Host *h) {
        const IrqPlanBalance wanted = { 0 };

        irq_balance_tell(&h->m, &wanted);
}

static void assert_told(Host *h, const char *cpus, const char *irqs) {
        char text[64];

        (void)snprintf(text, sizeof(text), "settings cpus %s", cpus);
        assert_string_equal(received(h), text);
        (void)snprintf(text, sizeof(text), "settings ban irqs %s", irqs);
        assert_string_equal(received(h), text);
        assert_string_equal(received(h), "");
}

static bool has_record(const Host *h) {
        return faccessat(h->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0) == 0;
}

static uint32_t two[] = { 24, 25 };

/* --- tests --- */

static void test_told_and_given_back(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        look(&h);
        assert_int_equal(h.facts.pid, getpid());
        assert_false(h.facts.settings_known);
        tell(&h, "2-5", two, 2); /* nothing, before it has answered */
        assert_string_equal(received(&h), "setup");
        answer(&h, NONE);
        assert_true(h.facts.settings_known);
        assert_int_equal(h.facts.sleep_seconds, 10);
        assert_string_equal(received(&h), "");
        assert_false(has_record(&h));
        tell(&h, "2-5", two, 2);
        assert_true(has_record(&h));
        assert_told(&h, "2-5", "24 25");
        tell(&h, "2-5", two, 2); /* it knows */
        assert_string_equal(received(&h), "");
        tell_nothing(&h);
        assert_told(&h, "NULL", "NONE");
        assert_int_equal(undo_host_write(&h.m.undo, &h.irq.undo), 0);
        assert_false(has_record(&h));
        tell_nothing(&h);
        assert_string_equal(received(&h), "");
}

/* By its environment, or by who has told it before us. */
static void test_its_own_is_kept(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        meet(&h, "SLEEP 10 IRQ 99 LOAD 0 DIFF 0 CLASS 0 IRQ 25 LOAD 0 DIFF 0 CLASS 0 "
                 "BANNED 00000084");
        assert_ids(h.facts.banned_cpus, "2,7");
        assert_int_equal(h.facts.n_banned_irqs, 2);
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5,7", "99 25 24"); /* its own first */
        /* What is wanted changes: its own stays. */
        now_usec += 20 * SECOND;
        tell(&h, "4", NULL, 0);
        assert_told(&h, "2,4,7", "99 25");
        irq_balance_give_back(&h.m);
        assert_told(&h, "2,7", "99 25");
        assert_false(h.irq.undo.irqbalance.known);
}

/* At 0 it ends a list, but at its first word. */
static void test_interrupt_0(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        meet(&h, "SLEEP 10 IRQ 99 LOAD 0 DIFF 0 CLASS 0 IRQ 0 LOAD 0 DIFF 0 CLASS 0 "
                 "BANNED 00000000");
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5", "0 99 24 25");
        irq_balance_give_back(&h.m);
        assert_told(&h, "NULL", "0 99");
}

/* Its main loop is at work, for longer than we wait for an answer. */
static void test_slow(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        look(&h);
        assert_string_equal(received(&h), "setup");
        now_usec += 9 * SECOND;
        look(&h);
        tell(&h, "2-5", two, 2);
        assert_false(h.facts.settings_known);
        now_usec += SECOND;
        look(&h); /* given up, and asked again */
        assert_string_equal(received(&h), "setup");
        assert_string_equal(received(&h), "");
}

/* In pieces, as a long one comes. */
static void test_in_pieces(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        look(&h);
        assert_string_equal(received(&h), "setup");
        assert_int_equal(send(h.client, NONE, 8, 0), 8);
        assert_true(sd_event_run(h.m.event, 0) > 0);
        look(&h);
        assert_false(h.facts.settings_known);
        answer(&h, &NONE[8]);
        assert_true(h.facts.settings_known);
}

static void test_wrong_answer(void **state) {
        static const char *const answers[] = { "", "SLEEP 10", "HTTP/1.1 400 Bad Request" };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(answers); i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                meet(&h, answers[i]);
                assert_true(h.irq.balance.refused);
                assert_false(h.facts.settings_known);
                assert_int_equal(h.facts.pid, getpid());
                tell(&h, "2-5", two, 2);
                assert_string_equal(received(&h), "");
                assert_false(has_record(&h));
        }
}

/* A process that has its number, and another name. */
static void test_not_irqbalance(void **state) {
        _cleanup_host_ Host h;
        char name[64];

        (void)state;
        host_init(&h);
        (void)snprintf(name, sizeof(name), "proc/%d/comm", getpid());
        fake_write(&h.tree, name, "mallory\n");
        look(&h);
        assert_int_equal(h.facts.pid, 0);
        assert_string_equal(received(&h), "");
}

static void test_only_watched(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.m.policies.mode = ENFORCEMENT_OBSERVE;
        look(&h);
        assert_int_equal(h.facts.pid, getpid()); /* it is seen, and not spoken to */
        assert_string_equal(received(&h), "");
}

/* A telling makes it place everything anew. */
static void test_not_too_often(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        meet(&h, NONE);
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5", "24 25");
        now_usec += 14 * SECOND;
        tell(&h, "2-6", two, 2);
        assert_string_equal(received(&h), "");
        now_usec += SECOND;
        tell(&h, "2-6", two, 2);
        assert_told(&h, "2-6", "24 25");
}

/* It is asked whether it has kept what it was told, and told again; not for ever. */
static void test_does_not_keep(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        meet(&h, NONE);
        for (unsigned i = 0; i < 3; i++) {
                tell(&h, "2-5", two, 2);
                assert_told(&h, "2-5", "24 25");
                now_usec += 29 * SECOND;
                look(&h);
                assert_string_equal(received(&h), "");
                now_usec += SECOND;
                meet(&h, NONE);
        }
        tell(&h, "2-5", two, 2);
        assert_string_equal(received(&h), "");
}

static void test_keeps(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        meet(&h, NONE);
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5", "24 25");
        now_usec += 30 * SECOND;
        meet(&h, "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 IRQ 25 LOAD 0 DIFF 0 CLASS 0 "
                 "BANNED 0000003c");
        tell(&h, "2-5", two, 2);
        now_usec += 1000 * SECOND;
        look(&h); /* once it has said so, it is believed */
        assert_string_equal(received(&h), "");
        /* One interrupt is missing. */
        h.irq.balance.n_told = 1;
        meet(&h, "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 BANNED 0000003c");
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5", "24 25");
}

/* More than an old one reads: it has the begin of the list, and is not told again. */
static void test_takes_a_part(void **state) {
        _cleanup_host_ Host h;
        char setup[8192] = "SLEEP 10 ";
        uint32_t irqs[200];

        (void)state;
        host_init(&h);
        for (uint32_t i = 0; i < 200; i++)
                irqs[i] = 100 + i;
        for (uint32_t i = 0; i < 120; i++)
                (void)snprintf(setup + strlen(setup), 64, "IRQ %u LOAD 0 DIFF 0 CLASS 0 ", irqs[i]);
        (void)strcat(setup, "BANNED 0000003c");
        meet(&h, NONE);
        tell(&h, "2-5", irqs, 200);
        assert_string_equal(received(&h), "settings cpus 2-5");
        assert_int_equal(strlen(received(&h)), 500 + 80 * 4); /* the rest, for those that read on */
        now_usec += 30 * SECOND;
        meet(&h, setup);
        assert_true(h.irq.balance.partly);
        tell(&h, "2-5", irqs, 200);
        assert_string_equal(received(&h), "");
        assert_int_equal(h.irq.balance.n_told_irqs, 200);
}

static void test_too_many_cpus(void **state) {
        _cleanup_host_ Host h;
        IrqPlanBalance wanted = { .told = true };

        (void)state;
        host_init(&h);
        for (uint32_t cpu = 0; cpu < 1024; cpu += 2)
                id_set_add(&wanted.banned_cpus, cpu);
        meet(&h, NONE);
        irq_balance_tell(&h.m, &wanted);
        assert_string_equal(received(&h), "");
        assert_true(h.irq.balance.refused);
}

/* Others talk to it, as many as wait in its line: how many. */
static int crowd(const Host *h, int fds[static 8]) {
        int n = 0;

        while (n < 8 && irqbalance_send(h->folder, getpid(), "stats", &fds[n]) >= 0)
                n++;
        assert_in_range(n, 1, 7);
        return n;
}

static void serve_crowd(Host *h, int *fds, int n) {
        for (int i = 0; i < n; i++) {
                assert_string_equal(received(h), "stats");
                closep(&fds[i]);
        }
        assert_string_equal(received(h), "");
}

/* None of ours is lost by that. */
static void test_busy(void **state) {
        _cleanup_host_ Host h;
        int fds[8], n;

        (void)state;
        host_init(&h);
        meet(&h, NONE);
        n = crowd(&h, fds);
        tell(&h, "2-5", two, 2);
        assert_false(h.irq.balance.told || h.irq.balance.refused);
        serve_crowd(&h, fds, n);
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5", "24 25");
        n = crowd(&h, fds);
        tell_nothing(&h);
        assert_true(h.irq.undo.irqbalance.known);
        serve_crowd(&h, fds, n);
        tell_nothing(&h);
        assert_told(&h, "NULL", "NONE");
}

/* A process that has called listen(2) on the socket, as which it then counts. */
static pid_t listen_as_another(Host *h) {
        int pipe_fds[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(pipe_fds), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                struct sockaddr_un address = { .sun_family = AF_UNIX };
                int r;

                (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/irqbalance%d.sock",
                               h->folder, getpid());
                r = bind(h->fd, (const struct sockaddr *)&address, sizeof(address));
                r |= listen(h->fd, 1);
                (void)!write(pipe_fds[1], r == 0 ? "y" : "n", 1);
                for (;;)
                        (void)pause();
        }
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
        assert_int_equal(byte, 'y');
        closep(&pipe_fds[0]);
        closep(&pipe_fds[1]);
        return pid;
}

/* Another process of it has lost what the first was told, and has what it has by itself. */
static void test_replaced(void **state) {
        _cleanup_host_ Host h;
        char name[64];
        pid_t pid;

        (void)state;
        host_init(&h);
        meet(&h, "SLEEP 10 BANNED 00000080");
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5,7", "24 25");
        unbind_server(&h, getpid());
        look(&h);
        assert_int_equal(h.facts.pid, 0);
        assert_false(h.irq.undo.irqbalance.known || h.irq.balance.told);
        tell(&h, "2-5", two, 2); /* to nobody */

        h.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(h.fd >= 0);
        pid = listen_as_another(&h);
        fake_process(&h.tree, pid, 1, "/usr/sbin/irqbalance", "/system.slice/x", "0-7");
        (void)snprintf(name, sizeof(name), "proc/%d/comm", pid);
        fake_write(&h.tree, name, "irqbalance\n");
        now_usec += SECOND; /* no pause is kept before a new one is told */
        meet(&h, "SLEEP 10 BANNED 00000040");
        assert_int_equal(h.facts.pid, pid);
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-6", "24 25");
        irq_balance_give_back(&h.m);
        assert_told(&h, "6", "NONE");
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The daemon is another process: it takes over, tells nothing anew, and gives back what was. */
static void test_taken_over(void **state) {
        static const char ours[] = "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 IRQ 25 LOAD 0 DIFF 0 "
                                   "CLASS 0 BANNED 000000bc";
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        meet(&h, "SLEEP 10 BANNED 00000080");
        tell(&h, "2-5", two, 2);
        assert_told(&h, "2-5,7", "24 25");
        end(&h);
        begin(&h);
        meet(&h, ours);
        tell(&h, "2-5", two, 2);
        assert_string_equal(received(&h), "");
        assert_true(h.irq.balance.told);
        irq_balance_give_back(&h.m);
        assert_told(&h, "7", "NONE");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_told_and_given_back),
                cmocka_unit_test(test_its_own_is_kept),
                cmocka_unit_test(test_interrupt_0),
                cmocka_unit_test(test_slow),
                cmocka_unit_test(test_in_pieces),
                cmocka_unit_test(test_wrong_answer),
                cmocka_unit_test(test_not_irqbalance),
                cmocka_unit_test(test_only_watched),
                cmocka_unit_test(test_not_too_often),
                cmocka_unit_test(test_does_not_keep),
                cmocka_unit_test(test_keeps),
                cmocka_unit_test(test_takes_a_part),
                cmocka_unit_test(test_too_many_cpus),
                cmocka_unit_test(test_busy),
                cmocka_unit_test(test_replaced),
                cmocka_unit_test(test_taken_over),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
