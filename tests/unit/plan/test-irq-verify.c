/* Whether an interrupt fires where its mask says. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/irq-step.h"

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
                .device = { .kind = IRQ_DEVICE_NET, .name = (char *)"eth0", .n_vectors = 1 },
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

/* Until the next one comes, the effective mask is the old one. */
TEST(silent) {
        Reading a, b;

        reading_init(&a, "0-1", "3", 5, 9);
        reading_init(&b, "0-1", "3", 5, 9);
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
}

/* The one that moved it was the last elsewhere. */
TEST(moves) {
        Reading a, b;

        reading_init(&a, "0-1", "3", 5, 9);
        reading_init(&b, "0-1", "0", 5, 10);
        assert_int_equal(course(&a, &b), IRQ_COURSE_FOLLOWS);
}

TEST(astray) {
        Reading a, b;

        reading_init(&a, "0-1", "3", 5, 9);
        reading_init(&b, "0-1", "3", 5, 10);
        assert_int_equal(course(&a, &b), IRQ_COURSE_ASTRAY);
        reading_init(&b, "0-1", "0,3", 6, 10); /* one CPU too many */
        assert_int_equal(course(&a, &b), IRQ_COURSE_ASTRAY);
}

/* Without an effective mask the counters tell alone. */
TEST(counters_alone) {
        static const char *const none[] = { NULL, "" };

        for (unsigned i = 0; i < 2; i++) {
                Reading a, b;

                reading_init(&a, "0-1", none[i], 5, 9);
                reading_init(&b, "0-1", none[i], 5, 9);
                assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
                reading_init(&b, "0-1", none[i], 5, 10);
                assert_int_equal(course(&a, &b), IRQ_COURSE_ASTRAY);
                reading_init(&b, "0-1", none[i], 6, 10); /* moved between */
                assert_int_equal(course(&a, &b), IRQ_COURSE_FOLLOWS);
        }
}

/* What fired before the mask was set is no failure of it. */
TEST(new_mask) {
        Reading a, b;

        reading_init(&a, "3", "3", 5, 9);
        reading_init(&b, "0-1", "3", 5, 99);
        assert_int_equal(course(&a, &b), IRQ_COURSE_UNKNOWN);
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
        assert_int_equal(course(&a, &b), IRQ_COURSE_ASTRAY);
}

TEST(in_a_row) {
        IrqVerify f = { 0 };

        irq_verify_note(&f, IRQ_COURSE_ASTRAY);
        irq_verify_note(&f, IRQ_COURSE_UNKNOWN);
        irq_verify_note(&f, IRQ_COURSE_ASTRAY);
        assert_false(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_FOLLOWS);
        for (unsigned i = 0; i < IRQ_ASTRAY_MAX; i++) {
                assert_false(irq_verify_fails(&f));
                irq_verify_note(&f, IRQ_COURSE_ASTRAY);
        }
        assert_true(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_UNKNOWN); /* silence is no proof */
        assert_true(irq_verify_fails(&f));
        irq_verify_note(&f, IRQ_COURSE_FOLLOWS);
        assert_false(irq_verify_fails(&f));
}
