/* The interrupts' part of a plan: who counts as an owner of CPUs, and when there is no such part.
 */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "../world/fake-devices.h"
#include "tidbnumad/ctl/situation.h"

/* One node, a card with two queues, an exclusive instance, a shared one and one that is refused. */
typedef struct World {
        FakeTree tree;
        Node node;
        Machine machine;
        char *any[1];
        IrqPolicy entry;
        Policy policies[2];
        Policies all;
        PlacementInstance inputs[3];
        PlacementChoice choices[3];
        PlanReportInstance rows[3];
        NodeSet reserved;
} World;

static void world_card(World *w) {
        fake_init(&w->tree);
        fake_card(&w->tree, "eth0", "0000:00:03.0", "0\n");
        fake_link(&w->tree, "sys/bus/pci/devices/0000:00:03.0",
                  "../../../devices/pci0000:00/0000:00:03.0");
        fake_device_file(&w->tree, "pci0000:00/0000:00:03.0", "msi_irqs/31", "msix\n");
        fake_device_file(&w->tree, "pci0000:00/0000:00:03.0", "msi_irqs/32", "msix\n");
        fake_write(&w->tree, "proc/interrupts",
                   "  CPU0\n 31:  0  c 1-edge      eth0-TxRx-0\n"
                   " 32:  0  c 1-edge      eth0-TxRx-1\n");
}

static void world_init(World *w) {
        static const char *const cpus[] = { "0-1", "2-3", "4-5" };

        *w = (World){ 0 };
        world_card(w);
        w->node = (Node){ .cpus = cpu_set("0-7"), .memory_bytes = 1 };
        w->machine = (Machine){ .sysroot = w->tree.sysroot,
                                .runs = true,
                                .topology = { .nodes = &w->node, .n_nodes = 1 } };
        w->any[0] = (char *)"*";
        w->entry = (IrqPolicy){ .net = { .words = w->any, .n_words = 1 } };
        w->policies[1].place.share = SHARE_SHARED;
        policy_set_init(&w->all.set);
        w->all.set.irqs = &w->entry;
        w->all.set.n_irqs = 1;
        for (size_t i = 0; i < 3; i++) {
                w->inputs[i].policy = &w->policies[i == 1];
                w->choices[i].placement = (Placement){ .cpus = cpu_set(cpus[i]),
                                                       .nodes = node_set(i == 2 ? "" : "0") };
                w->rows[i] = (PlanReportInstance){ .in = &w->inputs[i], .choice = &w->choices[i] };
        }
}

static void world_done(World *w) {
        fake_done(&w->tree);
}
#define _cleanup_world_ _cleanup_(world_done)

static void build(World *w, Situation *ret) {
        *ret = (Situation){ .machine = &w->machine,
                            .policies = &w->all,
                            .report = { .instances = w->rows, .n_instances = 3 } };
        ret->report.reserved = w->reserved;
        assert_int_equal(situation_plan_irqs(ret), 0);
}

/* The rows are the world's. */
static void drop(Situation *s) {
        s->report.instances = NULL;
        situation_done(s);
}
#define _cleanup_situation_of_world_ _cleanup_(drop)

TEST(owners) {
        _cleanup_world_ World w;
        _cleanup_situation_of_world_ Situation irq = { 0 }, full = { 0 };

        world_init(&w);
        build(&w, &irq);
        assert_true(irq.irqs_planned);
        assert_int_equal(irq.irq_plan.n_devices, 1);
        assert_ids(irq.irq_plan.devices[0].vectors[0].cpus, "4"); /* who is refused owns nothing */
        assert_ids(irq.irq_plan.devices[0].vectors[1].cpus, "5");
        w.node.cpus = cpu_set("0-3");
        build(&w, &full);
        assert_int_equal(full.irq_plan.devices[0].reason, IRQ_REASON_SHARED);
        assert_ids(full.irq_plan.devices[0].vectors[0].cpus, "2");
}

TEST(reserved) {
        _cleanup_world_ World w;
        _cleanup_situation_of_world_ Situation irq = { 0 };

        world_init(&w);
        w.reserved = node_set("0");
        build(&w, &irq);
        assert_int_equal(irq.irq_plan.devices[0].reason, IRQ_REASON_RESERVED);
}

TEST(nothing_to_plan) {
        _cleanup_world_ World w;
        _cleanup_situation_of_world_ Situation no_entry = { 0 }, no_machine = { 0 };

        world_init(&w);
        w.all.set.n_irqs = 0;
        build(&w, &no_entry);
        assert_false(no_entry.irqs_planned);
        assert_int_equal(no_entry.irqs.n_devices, 0); /* not even read */
        w.all.set.n_irqs = 1;
        w.machine.runs = false; /* a description */
        w.machine.sysroot = SYSROOT_NONE;
        build(&w, &no_machine);
        assert_false(no_machine.irqs_planned);
}
