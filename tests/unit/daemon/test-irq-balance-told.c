/* Talking to irqbalance: how often it is told, whether it keeps that, and what it cannot take. */
#include "irq-balance-host.h"

/* A telling makes it place everything anew. */
TEST(not_too_often) {
        _cleanup_host_ TestHost h;

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
TEST(does_not_keep) {
        _cleanup_host_ TestHost h;

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

TEST(keeps) {
        _cleanup_host_ TestHost h;

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
TEST(takes_a_part) {
        _cleanup_host_ TestHost h;
        char setup[8192] = "SLEEP 10 ";
        uint32_t irqs[200];

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

TEST(too_many_cpus) {
        _cleanup_host_ TestHost h;
        IrqPlanBalance wanted = { .told = true };

        host_init(&h);
        for (uint32_t cpu = 0; cpu < 1024; cpu += 2)
                id_set_add(&wanted.banned_cpus, cpu);
        meet(&h, NONE);
        irq_balance_tell(&h.m, &wanted);
        assert_string_equal(received(&h), "");
        assert_true(h.irq.balance.refused);
}

/* Others talk to it, as many as wait in its line: how many. */
static int crowd(const TestHost *h, int fds[static 8]) {
        int n = 0;

        while (n < 8 && irqbalance_send(h->folder, getpid(), "stats", &fds[n]) >= 0)
                n++;
        assert_in_range(n, 1, 7);
        return n;
}

static void serve_crowd(TestHost *h, int *fds, int n) {
        for (int i = 0; i < n; i++) {
                assert_string_equal(received(h), "stats");
                closep(&fds[i]);
        }
        assert_string_equal(received(h), "");
}

/* None of ours is lost by that. */
TEST(busy) {
        _cleanup_host_ TestHost h;
        int fds[8], n;

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
