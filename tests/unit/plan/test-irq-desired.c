/* Single settings out of an irq plan, and what lands meanwhile. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/plan/irq-step.h"

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
        assert_int_equal(irq_landed(&before.host, &now.host, &now.devices[0], &cpus), 7);
        now.counts[0][1] = 3; /* a reused number */
        assert_int_equal(irq_landed(&before.host, &now.host, &now.devices[0], &cpus), 2);
        now.vectors[1].irq = 99; /* one that was not there */
        assert_int_equal(irq_landed(&before.host, &now.host, &now.devices[0], &cpus), 0);
        example_init(&now);
        now.counts[0][1] = 15;
        now.cpus[3] = 5; /* other columns */
        assert_int_equal(irq_landed(&before.host, &now.host, &now.devices[0], &cpus), 0);
        now.cpus[3] = 3;
        now.devices[0].name = (char *)"eth9";
        assert_int_equal(irq_landed(&before.host, &now.host, &now.devices[0], &cpus), 0);
}
