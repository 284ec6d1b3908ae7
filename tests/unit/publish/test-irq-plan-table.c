/* A plan of interrupts as text, as an operator reads it. */

#include "../../support/test.h"

#include "irq-example.h"
#include "tidbnumad/publish/plan-text.h"

IRQ_TEST(plan) {
        _cleanup_text_ Text text = { 0 };

        irq_plan_table_render(&e->host, &e->plan, 0, &text);
        assert_string_equal(
                text.data,
                "DEVICE          NODE  SPEED        INTERRUPTS         CPUS   WHY\n"
                "eth0            1     25 Gbit/s    3 steered          1,8-9  to the reserved "
                "CPUs (R2)\n"
                "0000:\\x1b:00.0  ?     2500 Mbit/s  -                  -      it is in another "
                "network "
                "namespace\n"
                "nvme0           0     -            1 managed, 1 left  -      irqbalance "
                "distributes its interrupts, except to CPUs of instances (R11)\n"
                "irqbalance must leave alone CPUs 0-7 and 2 interrupts, once it runs\n");
}

static void assert_line(const IrqExample *e, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        irq_plan_line(&e->plan, &text);
        assert_string_equal(text.data, expected);
}

IRQ_TEST(one_line) {
        assert_line(e,
                    "Interrupts: 3 of eth0 to CPUs 1,8-9, 1 of nvme0 managed, 1 of nvme0 left\n");
        e->plan.devices++;
        e->plan.n_devices = 1; /* which has no interrupt here */
        assert_line(e, "Interrupts: none to steer\n");
        e->plan.devices += 2; /* what no entry names */
        assert_line(e, "Interrupts: no device matches an entry of irq\n");
}

static void assert_last_lines(const IrqExample *e, const char *expected) {
        _cleanup_text_ Text text = { 0 };
        const char *lines;

        irq_plan_table_render(&e->host, &e->plan, 0, &text);
        lines = strstr(text.data, "(R11)\n");
        assert_non_null(lines);
        assert_string_equal(lines + strlen("(R11)\n"), expected);
}

IRQ_TEST(what_irqbalance_is_told) {
        e->host.irqbalance.pid = 7;
        assert_last_lines(e, "irqbalance must leave alone CPUs 0-7 and 2 interrupts\n");
        e->plan.irqbalance.n_banned_irqs = 1;
        assert_last_lines(e, "irqbalance must leave alone CPUs 0-7 and 1 interrupt\n");
        e->plan.irqbalance.banned_cpus = cpu_set("");
        assert_last_lines(e, "irqbalance must leave alone 1 interrupt\n");
        e->plan.irqbalance.n_banned_irqs = 0;
        assert_last_lines(e, "");
        e->plan.irqbalance.banned_cpus = cpu_set("3");
        assert_last_lines(e, "irqbalance must leave alone CPUs 3\n");
        e->plan.irqbalance.sent = false;
        assert_last_lines(e, "");
}

IRQ_TEST(no_device) {
        _cleanup_text_ Text text = { 0 };

        e->plan.devices += 3; /* what no entry names */
        e->plan.n_devices = 1;
        e->plan.irqbalance.sent = false;
        irq_plan_table_render(&e->host, &e->plan, 0, &text);
        assert_string_equal(text.data, "No device matches an entry of irq.\n");
}

IRQ_TEST(explain) {
        _cleanup_text_ Text text = { 0 };

        irq_plan_table_explain(&e->plan, &text);
        assert_string_equal(
                text.data,
                "\n"
                "eth0: to the reserved CPUs (R2)\n"
                "  IRQ  HANDLER    FOR    NOW   TO\n"
                "  30   eth0       other  ?     1,8-9\n"
                "  31   eth0-rx-0  rx 0   0-15  9\n"
                "  32   -          tx 1   ?     9\n"
                "  transmit queue 0: CPUs 0-7\n"
                "  transmit queue 1: CPUs 8-15\n"
                "  receive queue 0: CPUs 8-9\n"
                "\n"
                "0000:\\x1b:00.0: it is in another network namespace\n"
                "\n"
                "nvme0: irqbalance distributes its interrupts, except to CPUs of instances (R11)\n"
                "  IRQ  HANDLER  FOR      NOW  TO\n"
                "  40   -        admin 0  ?    left\n"
                "  41   -        rxtx 1   ?    managed\n");
}
