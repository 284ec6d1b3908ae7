/* What irqbalance is sent: how often, whether it keeps it, and what it cannot take. */
#include "irq-balance-host.h"

/* New settings make it redistribute everything. */
HOST_TEST(not_too_often) {
        meet(h, NONE);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        now_usec += 14 * SECOND;
        tell(h, "2-6", two, 2);
        assert_string_equal(received(h), "");
        now_usec += SECOND;
        tell(h, "2-6", two, 2);
        assert_reported(h, "2-6", "24 25");
}

#define KEPT "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 IRQ 25 LOAD 0 DIFF 0 CLASS 0 BANNED 0000003c"
#define ONE_MISSING "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 BANNED 0000003c"

/* What it has is read once a minute, and is all that counts. */
HOST_TEST(settings_are_compared) {
        meet(h, NONE);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        for (unsigned i = 0; i < 3; i++) {
                now_usec += 59 * SECOND;
                read_facts(h);
                assert_string_equal(received(h), "");
                now_usec += SECOND;
                meet(h, KEPT);
                tell(h, "2-5", two, 2);
                assert_string_equal(received(h), "");
        }
        assert_int_equal(n_logged(h, "accepted"), 0);
        for (unsigned i = 0; i < 2; i++) {
                now_usec += 60 * SECOND;
                meet(h, ONE_MISSING);
                tell(h, "2-5", two, 2);
                assert_reported(h, "2-5", "24 25");
                assert_int_equal(n_logged(h, "accepted 1 of 2 interrupts"), 1);
        }
}

/* Bans that no policy wants any more are removed, even those set with irqbalance's own tool. */
HOST_TEST(others_change_it) {
        meet(h, "SLEEP 10 BANNED 00000080");
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5,7", "24 25");
        now_usec += 60 * SECOND;
        meet(h, "SLEEP 10 BANNED 00000001");
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5,7", "24 25");
        restore(h);
        assert_reported(h, "7", "NONE"); /* and not what they have set */
}

/* It keeps all that it was sent, and has more. */
HOST_TEST(others_add_to_it) {
        meet(h, NONE);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        now_usec += 60 * SECOND;
        meet(h, "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 IRQ 25 LOAD 0 DIFF 0 CLASS 0 "
                "IRQ 30 LOAD 0 DIFF 0 CLASS 0 BANNED 0000007c");
        assert_int_equal(n_logged(h, "something else has added bans"), 1);
        assert_int_equal(n_logged(h, "accepted"), 0);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
}

/* One that works in long rounds shows the former settings for as long. */
HOST_TEST(slow_rounds) {
        meet(h, "SLEEP 60 BANNED 00000000");
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        now_usec += 179 * SECOND;
        read_facts(h);
        assert_string_equal(received(h), "");
        now_usec += SECOND;
        meet(h, KEPT);
}

/* Its answer may have been written before it was sent anything, and is no answer to that. */
HOST_TEST(nothing_is_sent_while_it_answers) {
        meet(h, NONE);
        now_usec += 60 * SECOND;
        read_facts(h);
        assert_string_equal(received(h), "setup");
        tell(h, "2-5", two, 2);
        answer(h, NONE);
        assert_string_equal(received(h), "");
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
}

/* After its own settings were restored, its answers show ours for a while: these do not become its
 * own. */
HOST_TEST(restored_and_wanted_again) {
        meet(h, NONE);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        now_usec += 30 * SECOND;
        tell_nothing(h);
        assert_reported(h, "NULL", "NONE");
        now_usec += 30 * SECOND;
        read_facts(h);
        assert_string_equal(received(h), "");
        tell(h, "6", NULL, 0);
        assert_reported(h, "6", "NONE");
        restore(h);
        assert_reported(h, "NULL", "NONE");
}

/* An old one reads a part of a long list: it has the begin of it, and is not sent it again. */
HOST_TEST(takes_a_part) {
        char setup[8192] = "SLEEP 10 ";
        uint32_t irqs[200];

        for (uint32_t i = 0; i < 200; i++)
                irqs[i] = 100 + i;
        for (uint32_t i = 0; i < 120; i++)
                (void)snprintf(setup + strlen(setup), 64, "IRQ %u LOAD 0 DIFF 0 CLASS 0 ", irqs[i]);
        (void)strcat(setup, "BANNED 0000003c");
        meet(h, NONE);
        tell(h, "2-5", irqs, 200);
        assert_string_equal(received(h), "settings cpus 2-5");
        assert_int_equal(strlen(received(h)), 500 + 80 * 4); /* the rest, for those that read on */
        for (unsigned i = 0; i < 2; i++) {
                now_usec += 60 * SECOND;
                meet(h, setup);
                assert_int_equal(n_logged(h, "accepted 120 of 200 interrupts"), 1);
                tell(h, "2-5", irqs, 200);
                assert_string_equal(received(h), "");
        }
}

HOST_TEST(too_many_cpus) {
        IrqPlanBalance wanted = { .sent = true };

        for (uint32_t cpu = 0; cpu < 1024; cpu += 2)
                id_set_add(&wanted.banned_cpus, cpu);
        meet(h, NONE);
        LOGGED(h, irq_balance_send(h->irq, &wanted));
        assert_string_equal(received(h), "");
        assert_int_equal(n_logged(h, "the list is longer than it takes"), 1);
}

/* Others talk to it, as many as wait in its line: how many. */
static int crowd(const TestHost *h, int fds[static 8]) {
        int n = 0;

        while (n < 8 && __real_irqbalance_send(h->folder, getpid(), "stats", &fds[n]) >= 0)
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
HOST_TEST(busy) {
        int fds[8], n;

        meet(h, NONE);
        n = crowd(h, fds);
        tell(h, "2-5", two, 2);
        assert_int_equal(n_logged(h, "was sent") + n_logged(h, "cannot be sent"), 0);
        serve_crowd(h, fds, n);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        n = crowd(h, fds);
        tell_nothing(h);
        assert_true(has_record(h));
        serve_crowd(h, fds, n);
        tell_nothing(h);
        assert_reported(h, "NULL", "NONE");
}
