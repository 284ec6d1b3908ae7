/* What is done next about a setting. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/irq-step.h"

#define SECOND UINT64_C(1000000)

static SettingValue cpus(const char *list) {
        return (SettingValue){ .cpus = cpu_set(list) };
}

static IrqStep next(IrqProgress *p, const char *wanted, const char *present, uint64_t now) {
        const SettingValue w = cpus(wanted), s = cpus(present);

        return irq_step_next(p, &w, &s, now);
}

static void done(IrqProgress *p, const char *wanted, const char *ours) {
        const SettingValue w = cpus(wanted), o = cpus(ours);

        irq_step_done(p, &w, &o);
}

static void failed(IrqProgress *p, const char *wanted, int error, uint64_t now) {
        const SettingValue w = cpus(wanted);

        irq_step_failed(p, &w, error, now);
}

TEST(write_then_stands) {
        IrqProgress p = { 0 };
        const SettingValue w = cpus("0-1");

        assert_int_equal(next(&p, "0-1", "4", 0), IRQ_STEP_WRITE);
        assert_int_equal(irq_step_next(&p, &w, NULL, 0), IRQ_STEP_WRITE);
        done(&p, "0-1", "0-1");
        assert_int_equal(next(&p, "0-1", "0-1", SECOND), IRQ_STEP_IN_FORCE);
        /* Another wish is no quarrel. */
        assert_int_equal(next(&p, "6", "0-1", SECOND), IRQ_STEP_WRITE);
        assert_int_equal(p.n_repairs, 0);
}

/* No room on the wanted CPUs: the mask that was found instead counts as the wanted one, as long as
 * that is wanted. */
TEST(in_its_place) {
        IrqProgress p = { 0 };

        done(&p, "0-1", "6");
        assert_int_equal(next(&p, "0-1", "6", 0), IRQ_STEP_IN_FORCE);
        assert_int_equal(next(&p, "0-2", "6", 0), IRQ_STEP_WRITE);
}

TEST(three_repairs_a_minute) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(next(&p, "0", "4", SECOND + i * 19 * SECOND), IRQ_STEP_REPAIR);
                done(&p, "0", "0");
        }
        assert_int_equal(next(&p, "0", "4", 60 * SECOND), IRQ_STEP_YIELD);
        assert_true(p.contested);
        assert_int_equal(next(&p, "0", "4", 60 * SECOND + 1), IRQ_STEP_WAIT);
        assert_int_equal(next(&p, "0", "5", 60 * SECOND + IRQ_YIELD_USEC - 1), IRQ_STEP_WAIT);
        assert_int_equal(next(&p, "0", "5", 60 * SECOND + IRQ_YIELD_USEC), IRQ_STEP_REPAIR);
        assert_false(p.contested);
}

/* What a unit was started to set, and what is no longer wanted when it shows, is not blamed on
 * others. */
TEST(late_write_of_our_own) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        failed(&p, "4", -EINPROGRESS, SECOND);
        assert_int_equal(next(&p, "0", "0", 2 * SECOND), IRQ_STEP_IN_FORCE);
        done(&p, "0", "0");
        assert_int_equal(next(&p, "0", "4", 3 * SECOND), IRQ_STEP_WRITE);
        done(&p, "0", "0");
        assert_int_equal(next(&p, "0", "4", 4 * SECOND), IRQ_STEP_REPAIR); /* not once more */
        failed(&p, "4", -EINPROGRESS, 5 * SECOND);
        done(&p, "0", "0");
        assert_int_equal(next(&p, "0", "4", 5 * SECOND + IRQ_LATE_USEC), IRQ_STEP_REPAIR);
}

TEST(a_minute_is_over) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        for (unsigned i = 0; i < 12; i++)
                assert_int_equal(next(&p, "0", "4", (1 + i * 21) * SECOND), IRQ_STEP_REPAIR);
}

TEST(the_other_gives_up) {
        IrqProgress p = { .contested = true, .yield_usec = UINT64_MAX, .written = true };

        p.wanted = p.ours = cpus("0");
        assert_int_equal(next(&p, "0", "0", 1), IRQ_STEP_IN_FORCE);
        assert_false(p.contested);
}

TEST(forgiven) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        for (unsigned i = 0; i < 10; i++) {
                assert_int_equal(next(&p, "0", "4", i * SECOND),
                                 i == 0 ? IRQ_STEP_REPAIR : IRQ_STEP_WRITE);
                done(&p, "0", "0");
                irq_step_reset_contention(&p);
        }
}

TEST(refused) {
        static const int errors[] = { -EPERM, -EIO };

        for (size_t i = 0; i < 2; i++) {
                IrqProgress p = { 0 };

                failed(&p, "0", errors[i], 0);
                assert_int_equal(next(&p, "0", "4", UINT64_MAX), IRQ_STEP_NEVER);
                assert_int_equal(next(&p, "1", "4", UINT64_MAX), IRQ_STEP_NEVER);
        }
}

TEST(ever_more_seldom) {
        static const unsigned waits[] = { 5, 10, 20, 40, 60, 60, 60 };
        IrqProgress p = { 0 };
        uint64_t now = 0;

        for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
                failed(&p, "0", -ENOSPC, now);
                assert_int_equal(next(&p, "0", "4", now + waits[i] * SECOND - 1), IRQ_STEP_WAIT);
                now += waits[i] * SECOND;
                assert_int_equal(next(&p, "0", "4", now), IRQ_STEP_WRITE);
        }
        /* Another desired value may succeed at once, and one that is in place is done. */
        failed(&p, "0", -ENOSPC, now);
        assert_int_equal(next(&p, "1", "4", now), IRQ_STEP_WRITE);
        assert_int_equal(next(&p, "0", "0", now), IRQ_STEP_IN_FORCE);
        failed(&p, "0", -ENOSPC, now);
        assert_int_equal(next(&p, "0", "4", now + 5 * SECOND), IRQ_STEP_WRITE);
}
