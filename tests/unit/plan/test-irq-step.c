/* How the plan of interrupts is brought into force: what is done next about a setting, when all are
 * read again, which settings a plan consists of, and where interrupts fire meanwhile. */
#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/irq-step.h"

/* --- what is done next about a setting --- */

#define MSEC UINT64_C(1000)
#define SECOND (1000 * MSEC)

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
        assert_int_equal(next(&p, "0", "4", 60 * SECOND + 1), IRQ_STEP_WAIT);
        assert_int_equal(next(&p, "0", "5", 60 * SECOND + IRQ_YIELD_USEC - 1), IRQ_STEP_WAIT);
        assert_int_equal(next(&p, "0", "5", 60 * SECOND + IRQ_YIELD_USEC), IRQ_STEP_REPAIR);
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

/* What is in place is not left to anybody any more: who changes it then is repaired at once. */
TEST(the_other_gives_up) {
        IrqProgress p = { 0 };

        done(&p, "0", "0");
        for (unsigned i = 0; i < IRQ_REPAIRS_MAX; i++)
                assert_int_equal(next(&p, "0", "4", 1), IRQ_STEP_REPAIR);
        assert_int_equal(next(&p, "0", "4", 1), IRQ_STEP_YIELD);
        assert_int_equal(next(&p, "0", "0", 2), IRQ_STEP_IN_FORCE);
        assert_int_not_equal(next(&p, "0", "4", 3), IRQ_STEP_WAIT);
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

/* --- When interrupts are read again after an event --- */

#define BEGIN (UINT64_C(5000) * SECOND)

/* Looks as they come due, `late` each: the number of them until the series is over. */
static unsigned run(IrqSeries *a, uint64_t late, uint64_t *ret_last) {
        unsigned n = 0;

        for (; irq_series_due(a) != IRQ_SERIES_NEVER; n++) {
                assert_true(n < 1000);
                *ret_last = irq_series_due(a) + late;
                irq_series_reconciled(a, *ret_last);
        }
        return n;
}

TEST(quiet) {
        IrqSeries a = { 0 };

        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
        irq_series_reconciled(&a, BEGIN);
        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
}

TEST(series) {
        static const unsigned msec[] = { 30, 150, 400, 900, 1900 };
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        for (unsigned i = 0; i < 5; i++) {
                assert_int_equal(irq_series_due(&a), BEGIN + msec[i] * MSEC);
                irq_series_reconciled(&a, BEGIN + msec[i] * MSEC);
        }
        assert_true(irq_series_due(&a) == IRQ_SERIES_NEVER);
}

/* The slow comparison in between does not replace any of them, and is none of the burst. */
TEST(other_looks) {
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        for (unsigned i = 0; i < 2 * IRQ_SERIES_BURST; i++)
                irq_series_reconciled(&a, BEGIN + 29 * MSEC);
        irq_series_event(&a, BEGIN);
        assert_int_equal(irq_series_due(&a), BEGIN + 30 * MSEC);
}

/* On a host as slow as that, one reading replaces those that have passed. */
TEST(late) {
        IrqSeries a = { 0 };
        uint64_t last;

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 500 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 900 * MSEC);
        assert_int_equal(run(&a, 3 * SECOND, &last), 1);
}

/* Each event restarts the series, and none puts off a reading that is near. */
TEST(events_go_on) {
        IrqSeries a = { 0 };
        uint64_t last;

        for (unsigned i = 0; i < 30; i++)
                irq_series_event(&a, BEGIN + i * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 30 * MSEC);
        irq_series_reconciled(&a, BEGIN + 30 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 59 * MSEC); /* after the last of them */
        irq_series_event(&a, BEGIN + 40 * MSEC);
        assert_int_equal(irq_series_due(&a), BEGIN + 59 * MSEC);
        assert_int_equal(run(&a, 0, &last), 6);
        assert_int_equal(last, BEGIN + 1940 * MSEC);
}

/* The event comes in the pause before the last reading: it does not wait for that. */
TEST(sooner) {
        IrqSeries a = { 0 };

        irq_series_event(&a, BEGIN);
        irq_series_reconciled(&a, BEGIN + 950 * MSEC);
        irq_series_event(&a, BEGIN + SECOND);
        assert_int_equal(irq_series_due(&a), BEGIN + 1030 * MSEC);
        irq_series_reconciled(&a, BEGIN + 1030 * MSEC); /* from there on it is a whole series */
        assert_int_equal(irq_series_due(&a), BEGIN + 1150 * MSEC);
}

/* Events of a host that never comes to rest: a burst, then one reading a second. */
TEST(storm) {
        uint64_t now = BEGIN, n = 0, last;
        IrqSeries a = { 0 };

        for (; now < BEGIN + 100 * SECOND; now += 10 * MSEC) {
                irq_series_event(&a, now);
                if (irq_series_due(&a) <= now) {
                        irq_series_reconciled(&a, now);
                        n++;
                }
        }
        assert_in_range(n, 100 + IRQ_SERIES_BURST - 2, 100 + IRQ_SERIES_BURST + 2);
        /* After a rest the burst is there again. */
        (void)run(&a, 0, &last);
        now = last + 1000 * SECOND;
        irq_series_event(&a, now);
        assert_int_equal(irq_series_due(&a), now + 30 * MSEC);
}

/* --- Single settings out of an irq plan, and what lands meanwhile --- */

enum { CPUS = 4 };

/* A card of two queues, and a second one on the same PCI function. */
typedef struct Example {
        IrqVector vectors[3];
        IrqQueue tx[2], rx[2];
        IrqDevice devices[2];
        uint32_t cpus[CPUS], counts[3][CPUS];
        IrqHost host;
        IrqPlanVector planned[3];
        CpuSet xps[2], rps[2];
        IrqPlanDevice of[2];
        IrqPlan plan;
} Example;

static void example_init(Example *e) {
        *e = (Example){ .cpus = { 0, 1, 2, 3 } };
        for (uint32_t i = 0; i < 3; i++) {
                e->vectors[i] = (IrqVector){ .irq = 24 + i,
                                             .mask_known = i != 1,
                                             .requested = cpu_set("0-3"),
                                             .counts = e->counts[i] };
                e->planned[i] = (IrqPlanVector){ .irq = 24 + i,
                                                 .decision = IRQ_STEERED,
                                                 .cpus = cpu_set("1") };
        }
        e->tx[0] = e->tx[1] = (IrqQueue){ .mask_known = true, .cpus = cpu_set("2") };
        e->rx[0] = (IrqQueue){ .mask_known = true };
        e->xps[0] = cpu_set("0");
        e->xps[1] = cpu_set("1");
        e->devices[0] = (IrqDevice){ .name = (char *)"eth0",
                                     .ifindex = 3,
                                     .pci = (char *)"0000:01:00.0",
                                     .vectors = e->vectors,
                                     .n_vectors = 3,
                                     .tx = e->tx,
                                     .n_tx = 2,
                                     .rx = e->rx,
                                     .n_rx = 2 };
        e->devices[1] = e->devices[0];
        e->devices[1].name = (char *)"eth1";
        e->devices[1].n_tx = e->devices[1].n_rx = 0;
        e->host =
                (IrqHost){ .devices = e->devices, .n_devices = 2, .cpus = e->cpus, .n_cpus = CPUS };
        e->of[0] = (IrqPlanDevice){
                .device = &e->devices[0], .vectors = e->planned, .xps = e->xps, .rps = e->rps
        };
        e->of[1] = (IrqPlanDevice){ .device = &e->devices[1], .vectors = e->planned };
        e->plan = (IrqPlan){ .devices = e->of, .n_devices = 2 };
}

#define EXAMPLE_TEST(test) TEST_WITH(test, Example, e, example_init, test_no_done)

EXAMPLE_TEST(desired) {
        _cleanup_irq_desired_ IrqDesiredList w;

        e->planned[2].decision = IRQ_MANAGED;
        assert_int_equal(irq_desired_build(&e->plan, &w), 0);
        /* Two vectors, once; two transmit queues; the receive queue that has a mask. */
        assert_int_equal(w.n_settings, 5);
        assert_true(w.settings[0].known);
        assert_false(w.settings[1].known);
        assert_ids(w.settings[0].present.cpus, "0-3");
        assert_ids(w.settings[0].value.cpus, "1");
        assert_ptr_equal(w.settings[0].device, &e->devices[0]);
        assert_non_null(irq_desired_find(&w, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 24 }));
        assert_null(irq_desired_find(&w, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 26 }));
        assert_ids(irq_desired_find(&w, &(SettingKey){ SETTING_XPS, "eth0", 1, 3 })->value.cpus,
                   "1");
        assert_ids(irq_desired_find(&w, &(SettingKey){ SETTING_RPS, "eth0", 0, 3 })->value.cpus,
                   "");
        assert_null(irq_desired_find(&w, &(SettingKey){ SETTING_RPS, "eth0", 1, 3 }));
}

EXAMPLE_TEST(nothing_wanted) {
        _cleanup_irq_desired_ IrqDesiredList w;

        for (unsigned i = 0; i < 3; i++)
                e->planned[i].decision = IRQ_LEFT;
        e->of[0].xps = e->of[0].rps = NULL;
        assert_int_equal(irq_desired_build(&e->plan, &w), 0);
        assert_int_equal(w.n_settings, 0);
}

EXAMPLE_TEST(whose_vector) {
        assert_true(
                irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 26 }));
        assert_false(
                irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "0000:01:00.0", 27 }));
        assert_false(
                irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "0000:02:00.0", 26 }));
        e->devices[1].pci = NULL;
        assert_true(irq_host_has_vector(&e->host, &(SettingKey){ SETTING_VECTOR, "eth1", 26 }));
}

TEST(landed) {
        const CpuSet cpus = cpu_set("1-2");
        Example before, now;

        example_init(&before);
        example_init(&now);
        before.counts[0][1] = 10;
        now.counts[0][0] = 1000;
        now.counts[0][1] = 15;
        before.counts[1][2] = UINT32_MAX; /* it goes round */
        now.counts[1][2] = 1;
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 7);
        now.counts[0][1] = 3; /* a reused number */
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 2);
        now.vectors[1].irq = 99; /* one that was not there */
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 0);
        example_init(&now);
        now.counts[0][1] = 15;
        now.cpus[3] = 5; /* other columns */
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 0);
        now.cpus[3] = 3;
        now.devices[0].name = (char *)"eth9";
        assert_int_equal(irq_delivered(&before.host, &now.host, &now.devices[0], &cpus), 0);
}

/* --- Whether an interrupt fires where its mask says --- */

/* A reading of a host of four CPUs, and one vector. */
typedef struct Reading {
        uint32_t cpus[4], counts[4];
        IrqVector vector;
        IrqDevice device;
        IrqHost host;
} Reading;

static void reading_init(Reading *l, const char *requested, const char *effective, uint32_t on_0,
                         uint32_t on_3) {
        *l = (Reading){
                .cpus = { 0, 1, 2, 3 },
                .counts = { on_0, 7, 0, on_3 },
                .vector = { .irq = 24,
                            .mask_known = true,
                            .requested = cpu_set(requested),
                            .effective_known = effective != NULL,
                            .effective = cpu_set(effective ? effective : "") },
                .device = { .kind = DEVICE_NET, .name = (char *)"eth0", .n_vectors = 1 },
                .host = { .n_devices = 1, .n_cpus = 4 },
        };
        l->vector.counts = l->counts;
        l->device.vectors = &l->vector;
        l->host.devices = &l->device;
        l->host.cpus = l->cpus;
}

static IrqCourse course(const Reading *before, const Reading *now) {
        return irq_verify_course(&before->host, &now->host, &now->device, &now->vector);
}

typedef struct Fired {
        const char *requested, *effective; /* NULL: there is no such file, or it is empty */
        uint32_t on_0, on_3;
} Fired;

static void read_fired(Reading *l, const Fired *f, const char *none) {
        reading_init(l, f->requested, f->effective ? f->effective : none, f->on_0, f->on_3);
}

TEST(where_it_fires) {
        static const struct {
                const char *what;
                Fired before, now;
                IrqCourse course;
        } rows[] = {
                /* Until the next interrupt comes, the effective mask is the old one. */
                { "silent", { "0-1", "3", 5, 9 }, { "0-1", "3", 5, 9 }, IRQ_COURSE_UNKNOWN },
                /* The one that moved it was the last elsewhere. */
                { "moves", { "0-1", "3", 5, 9 }, { "0-1", "0", 5, 10 }, IRQ_COURSE_FOLLOWS },
                { "stays", { "0-1", "3", 5, 9 }, { "0-1", "3", 5, 10 }, IRQ_COURSE_MISPLACED },
                { "one CPU too many",
                  { "0-1", "3", 5, 9 },
                  { "0-1", "0,3", 6, 10 },
                  IRQ_COURSE_MISPLACED },
                /* What fired before the mask was set is no failure of it. */
                { "new mask", { "3", "3", 5, 9 }, { "0-1", "3", 5, 99 }, IRQ_COURSE_UNKNOWN },
                /* Without an effective mask the counters tell alone. */
                { "silent, no file",
                  { "0-1", NULL, 5, 9 },
                  { "0-1", NULL, 5, 9 },
                  IRQ_COURSE_UNKNOWN },
                { "stays, no file",
                  { "0-1", NULL, 5, 9 },
                  { "0-1", NULL, 5, 10 },
                  IRQ_COURSE_MISPLACED },
                { "moves between, no file",
                  { "0-1", NULL, 5, 9 },
                  { "0-1", NULL, 6, 10 },
                  IRQ_COURSE_FOLLOWS },
        };

        for (size_t i = 0; i < 2 * ELEMENTSOF(rows); i++) {
                const char *none = i % 2 ? "" : NULL, *what = rows[i / 2].what;
                Reading before, now;

                read_fired(&before, &rows[i / 2].before, none);
                read_fired(&now, &rows[i / 2].now, none);
                if (course(&before, &now) != rows[i / 2].course)
                        fail_msg("%s: %d", what, course(&before, &now));
        }
}

TEST(cannot_tell) {
        Reading a, b;

        reading_init(&a, "0-1", "3", 5, 9);
        reading_init(&b, "0-1", "3", 5, 10);
        a.vector.irq = 25; /* it is new */
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.vector.irq = 24;
        a.vector.mask_known = false;
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.vector.mask_known = true;
        a.vector.counts = NULL;
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.vector.counts = a.counts;
        a.cpus[2] = 4; /* other CPUs are online */
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.cpus[2] = 2;
        a.device.name = (char *)"eth1";
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
        a.device.name = (char *)"eth0";
        assert_int_equal(course(&a, &b), IRQ_COURSE_MISPLACED);
}

TEST(in_a_row) {
        IrqVerify f = { 0 };

        irq_verify_note(&f, IRQ_COURSE_MISPLACED);
        irq_verify_note(&f, IRQ_COURSE_UNKNOWN);
        irq_verify_note(&f, IRQ_COURSE_MISPLACED);
        assert_false(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_FOLLOWS);
        for (unsigned i = 0; i < IRQ_MISPLACED_MAX; i++) {
                assert_false(irq_verify_fails(&f));
                irq_verify_note(&f, IRQ_COURSE_MISPLACED);
        }
        assert_true(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_UNKNOWN); /* silence is no proof */
        assert_true(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_FOLLOWS);
        assert_false(irq_verify_fails(&f));
}
