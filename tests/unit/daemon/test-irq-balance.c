/* Talking to irqbalance: it answers as it does, slowly, wrongly, or as another process. What it has
 * itself is kept, sent with ours, and restored. */
#include <sys/resource.h>

#include "irq-balance-host.h"

HOST_TEST(told_and_given_back) {
        read_facts(h);
        assert_int_equal(h->facts.pid, getpid());
        assert_false(h->facts.settings_known);
        tell(h, "2-5", two, 2); /* nothing, before it has answered */
        assert_string_equal(received(h), "setup");
        answer(h, NONE);
        assert_true(h->facts.settings_known);
        assert_int_equal(h->facts.sleep_seconds, 10);
        assert_string_equal(received(h), "");
        assert_false(has_record(h));
        tell(h, "2-5", two, 2);
        assert_true(has_record(h));
        assert_reported(h, "2-5", "24 25");
        tell(h, "2-5", two, 2); /* it knows */
        assert_string_equal(received(h), "");
        tell_nothing(h);
        assert_reported(h, "NULL", "NONE");
        assert_false(has_record(h));
        tell_nothing(h);
        assert_string_equal(received(h), "");
}

/* By its environment, or by settings that another program has sent. */
HOST_TEST(its_own_is_kept) {
        meet(h, "SLEEP 10 IRQ 99 LOAD 0 DIFF 0 CLASS 0 IRQ 25 LOAD 0 DIFF 0 CLASS 0 "
                "BANNED 00000084");
        assert_ids(h->facts.banned_cpus, "2,7");
        assert_int_equal(h->facts.n_banned_irqs, 2);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5,7", "99 25 24"); /* its own first */
        /* What is wanted changes: its own stays. */
        now_usec += 20 * SECOND;
        tell(h, "4", NULL, 0);
        assert_reported(h, "2,4,7", "99 25");
        restore(h);
        assert_reported(h, "2,7", "99 25");
        assert_false(has_record(h));
}

/* At 0 it ends a list, but at its first word. */
HOST_TEST(interrupt_0) {
        meet(h, "SLEEP 10 IRQ 99 LOAD 0 DIFF 0 CLASS 0 IRQ 0 LOAD 0 DIFF 0 CLASS 0 "
                "BANNED 00000000");
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "0 99 24 25");
        restore(h);
        assert_reported(h, "NULL", "0 99");
}

/* Its main loop is at work, or hangs. It would be ended by SIGPIPE, as this test, if it came to
 * answer and nobody was there. */
HOST_TEST(slow) {
        read_facts(h);
        assert_string_equal(received(h), "setup");
        now_usec += 9 * SECOND;
        read_facts(h);
        tell(h, "2-5", two, 2);
        assert_false(h->facts.settings_known);
        assert_int_equal(n_logged(h, "cannot be sent"), 0);
        for (unsigned i = 0; i < 3; i++) {
                now_usec += 100 * SECOND;
                read_facts(h);
                assert_int_equal(n_logged(h, "it does not answer"), 1);
        }
        answer(h, NONE);
        assert_true(h->facts.settings_known);
        assert_string_equal(received(h), ""); /* and was asked once */
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        now_usec += 60 * SECOND;
        read_facts(h);
        assert_string_equal(received(h), "setup");
        now_usec += 100 * SECOND;
        read_facts(h);
        assert_int_equal(n_logged(h, "it does not answer"), 2); /* again, for it had answered */
}

/* It has closed without a word: that is no answer. */
HOST_TEST(hangs_up) {
        read_facts(h);
        assert_string_equal(received(h), "setup");
        answer(h, "");
        assert_int_equal(n_logged(h, "its answer is unknown"), 1);
        now_usec += 9 * SECOND;
        read_facts(h);
        assert_string_equal(received(h), "");
        now_usec += SECOND;
        meet(h, NONE);
        assert_true(h->facts.settings_known);
}

/* The daemon ends while it is answering. */
HOST_TEST(end_awaits_answer) {
        assert_false(irq_stop(h->irq, false));
        read_facts(h);
        assert_string_equal(received(h), "setup");
        assert_true(irq_stop(h->irq, false));
        irq_reconcile(h->irq);
        assert_true(irq_is_stopping(h->irq));
        answer(h, NONE);
        if (irq_is_stopping(h->irq)) /* its timer has not fired in the meantime */
                irq_reconcile(h->irq);
        assert_false(irq_is_stopping(h->irq));
}

/* It runs, but no policy wants settings of it. */
HOST_TEST(no_policy_for_it) {
        h->policy.irqbalance = IRQBALANCE_IGNORE;
        read_facts(h);
        assert_int_equal(h->facts.pid, getpid());
        assert_string_equal(received(h), "");
        h->policy.irqbalance = IRQBALANCE_BAN;
        h->m.host.policies.n_irqs = 0;
        read_facts(h);
        assert_string_equal(received(h), "");
        h->m.host.policies.n_irqs = 1;
        meet(h, NONE);
        assert_true(h->facts.settings_known);
}

/* Its process cannot be identified for a moment: it counts as the one that has our settings. */
HOST_TEST(no_descriptor) {
        struct rlimit before, none;

        meet(h, NONE);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5", "24 25");
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        irqbalance_facts_done(&h->facts);
        irq_balance_read(h->irq, &h->facts); /* nor for a journal */
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(h->facts.pid, getpid());
        assert_true(has_record(h));
        read_facts(h);
        assert_string_equal(received(h), "");
        restore(h);
        assert_reported(h, "NULL", "NONE");
}

/* In pieces, as a long one comes. */
HOST_TEST(in_pieces) {
        read_facts(h);
        assert_string_equal(received(h), "setup");
        assert_int_equal(send(h->client, NONE, 8, 0), 8);
        assert_true(sd_event_run(h->m.host.event, 0) > 0);
        read_facts(h);
        assert_false(h->facts.settings_known);
        answer(h, &NONE[8]);
        assert_true(h->facts.settings_known);
}

TEST(wrong_answer) {
        static const char *const answers[] = { "", "SLEEP 10", "HTTP/1.1 400 Bad Request" };

        for (size_t i = 0; i < ELEMENTSOF(answers); i++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                meet(&h, answers[i]);
                assert_int_equal(n_logged(&h, "its answer is unknown"), 1);
                assert_false(h.facts.settings_known);
                assert_int_equal(h.facts.pid, getpid());
                tell(&h, "2-5", two, 2);
                assert_string_equal(received(&h), "");
                assert_false(has_record(&h));
        }
}

/* A process that has its number, and another name. */
HOST_TEST(not_irqbalance) {
        fake_write(&h->tree, fmt("proc/%d/comm", getpid()), "mallory\n");
        read_facts(h);
        assert_int_equal(h->facts.pid, 0);
        assert_string_equal(received(h), "");
}

HOST_TEST(only_watched) {
        h->m.host.policies.mode = ENFORCEMENT_OBSERVE;
        read_facts(h);
        assert_int_equal(h->facts.pid, getpid()); /* it is seen, and not spoken to */
        assert_string_equal(received(h), "");
}

/* A process that has called listen(2) on the socket, as which it then counts. */
static pid_t listen_as_another(TestHost *h) {
        int pipe_fds[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(pipe_fds), 0);
        pid = child_fork();
        if (pid == 0) {
                struct sockaddr_un address = { .sun_family = AF_UNIX };
                int r;

                (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/irqbalance%d.sock",
                               h->folder, getpid());
                r = bind(h->fd, (const struct sockaddr *)&address, sizeof(address));
                r |= listen(h->fd, 1);
                (void)!write(pipe_fds[1], r == 0 ? "y" : "n", 1);
                child_wait();
        }
        assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
        assert_int_equal(byte, 'y');
        closep(&pipe_fds[0]);
        closep(&pipe_fds[1]);
        return pid;
}

/* A new process of irqbalance has lost the settings that the first one was sent. */
HOST_TEST(replaced) {
        pid_t pid;

        meet(h, "SLEEP 10 BANNED 00000080");
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-5,7", "24 25");
        unbind_server(h, getpid());
        read_facts(h);
        assert_int_equal(h->facts.pid, 0);
        tell(h, "2-5", two, 2); /* no irqbalance runs */

        h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(h->fd >= 0);
        pid = listen_as_another(h);
        fake_process(&h->tree, pid, 1, "/usr/sbin/irqbalance", "/system.slice/x", "0-7");
        fake_write(&h->tree, fmt("proc/%d/comm", pid), "irqbalance\n");
        now_usec += SECOND; /* a new process is sent the settings without a pause */
        meet(h, "SLEEP 10 BANNED 00000040");
        assert_int_equal(h->facts.pid, pid);
        tell(h, "2-5", two, 2);
        assert_reported(h, "2-6", "24 25");
        restore(h);
        assert_reported(h, "6", "NONE");
        child_end(pid);
}

/* The daemon was restarted: it sends nothing twice, and restores the original settings. */
TEST(taken_over) {
        static const char ours[] = "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 IRQ 25 LOAD 0 DIFF 0 "
                                   "CLASS 0 BANNED 000000bc";
        _cleanup_host_ TestHost h;

        host_init(&h);
        meet(&h, "SLEEP 10 BANNED 00000080");
        tell(&h, "2-5", two, 2);
        assert_reported(&h, "2-5,7", "24 25");
        end(&h);
        begin(&h);
        meet(&h, ours);
        tell(&h, "2-5", two, 2);
        assert_string_equal(received(&h), "");
        assert_true(has_record(&h));
        restore(&h);
        assert_reported(&h, "7", "NONE");
}
