/* A plan of interrupts with each kind of device in it. To be included after cmocka.h. */
#pragma once

#include "../../support/id-sets.h"
#include "tidbnumad/model/irq.h"

typedef struct IrqExample {
        IrqVector card_vectors[3], disk_vectors[2];
        IrqDevice devices[4];
        IrqHost host;
        IrqPolicy policy;
        uint32_t order[3], banned[2];
        IrqPlanVector card_planned[3], disk_planned[2];
        CpuSet xps[2], rps[1];
        IrqPlanDevice planned[4];
        IrqPlan plan;
} IrqExample;

static inline void irq_example_host(IrqExample *e) {
        e->card_vectors[0] = (IrqVector){ .irq = 30, .name = (char *)"eth0", .queue = -1 };
        e->card_vectors[1] = (IrqVector){ .irq = 31,
                                          .name = (char *)"eth0-rx-0",
                                          .role = IRQ_ROLE_RX,
                                          .mask_known = true,
                                          .requested = cpu_set("0-15"),
                                          .effective_known = true,
                                          .effective = cpu_set("9") };
        e->card_vectors[2] = (IrqVector){ .irq = 32, .role = IRQ_ROLE_TX, .queue = 1 };
        e->disk_vectors[0] = (IrqVector){ .irq = 40, .role = IRQ_ROLE_ADMIN, .queue = 0 };
        e->disk_vectors[1] = (IrqVector){ .irq = 41, .role = IRQ_ROLE_RXTX, .queue = 1 };
        e->devices[0] = (IrqDevice){ .name = (char *)"eth0",
                                     .pci = (char *)"0000:3b:00.0",
                                     .driver = (char *)"ice",
                                     .master = (char *)"bond0",
                                     .physfn = (char *)"0000:3b:00.1",
                                     .node = 1,
                                     .speed_mbps = 25000,
                                     .link = IRQ_LINK_UP,
                                     .vectors = e->card_vectors,
                                     .n_vectors = 3,
                                     .n_tx = 2,
                                     .n_rx = 1 };
        e->devices[1] = (IrqDevice){ .name = (char *)"0000:\x1b:00.0",
                                     .node = DEVICE_NODE_UNKNOWN,
                                     .speed_mbps = 2500,
                                     .link = IRQ_LINK_DOWN,
                                     .in_other_netns = true };
        e->devices[2] = (IrqDevice){ .kind = DEVICE_NVME,
                                     .name = (char *)"nvme0",
                                     .vectors = e->disk_vectors,
                                     .n_vectors = 2 };
        e->devices[3] = (IrqDevice){ .kind = DEVICE_NVME, .name = (char *)"nvme1" };
        e->host = (IrqHost){ .devices = e->devices, .n_devices = 4 };
}

static inline void irq_example_plan(IrqExample *e) {
        static const uint32_t order[] = { 9, 8, 1 };

        for (size_t i = 0; i < 3; i++)
                e->order[i] = order[i];
        for (uint32_t i = 0; i < 2; i++) {
                e->banned[i] = 31 + i;
                e->card_planned[1 + i] = (IrqPlanVector){ .irq = 31 + i,
                                                          .decision = IRQ_STEERED,
                                                          .cpus = cpu_set("9") };
        }
        e->card_planned[0] =
                (IrqPlanVector){ .irq = 30, .decision = IRQ_STEERED, .cpus = cpu_set("1,8-9") };
        e->disk_planned[0].irq = 40;
        e->disk_planned[1] = (IrqPlanVector){ .irq = 41, .decision = IRQ_MANAGED };
        e->xps[0] = cpu_set("0-7");
        e->xps[1] = cpu_set("8-15");
        e->rps[0] = cpu_set("8-9");
        e->policy = (IrqPolicy){ .file = (char *)"/p/a.yaml", .at.line = 3 };
        e->planned[0] = (IrqPlanDevice){ .policy = &e->policy,
                                         .steer = STEER_RESERVED,
                                         .reason = IRQ_REASON_RESERVED,
                                         .order = e->order,
                                         .n_order = 3,
                                         .vectors = e->card_planned,
                                         .xps = e->xps,
                                         .rps = e->rps };
        e->planned[1] = (IrqPlanDevice){ .steer = STEER_LEAVE, .reason = IRQ_REASON_OTHER_NETNS };
        e->planned[2] = (IrqPlanDevice){ .policy = &e->policy,
                                         .steer = STEER_LEAVE,
                                         .reason = IRQ_REASON_IRQBALANCE,
                                         .vectors = e->disk_planned };
        e->planned[3] = (IrqPlanDevice){ .steer = STEER_LEAVE, .reason = IRQ_REASON_NO_ENTRY };
        for (size_t i = 0; i < 4; i++)
                e->planned[i].device = &e->devices[i];
        e->plan = (IrqPlan){ .devices = e->planned,
                             .n_devices = 4,
                             .irqbalance = { .sent = true,
                                             .banned_cpus = cpu_set("0-7"),
                                             .banned_irqs = e->banned,
                                             .n_banned_irqs = 2 } };
}

static inline void irq_example_init(IrqExample *e) {
        *e = (IrqExample){ 0 };
        irq_example_host(e);
        irq_example_plan(e);
}

#define IRQ_TEST(test) TEST_WITH(test, IrqExample, e, irq_example_init, (void))
