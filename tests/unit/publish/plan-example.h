/* A plan with each kind of reason in it, for the tests of what is made from it. To be included
 * after cmocka.h. */
#pragma once

#include "../../support/id-sets.h"
#include "tidbnumad/model/plan-report.h"

enum { PLAN_NODES = 3, PLAN_INSTANCES = 4, PLAN_DEVICES = 4 };

typedef struct PlanExample {
        Node nodes[PLAN_NODES];
        Topology topology;
        Device devices[PLAN_DEVICES];
        DeviceList device_list;
        uint64_t free_bytes[PLAN_NODES];
        Policy policies[2];
        PlacementInstance inputs[PLAN_INSTANCES];
        PlacementChoice choices[PLAN_INSTANCES];
        PlacementAlternative alternatives[3]; /* the last one is spare */
        InstanceInfo published;
        PlanReportInstance instances[PLAN_INSTANCES];
        char *notes[1];
        PlanReport report;
} PlanExample;

static inline void plan_example_machine(PlanExample *e) {
        e->nodes[0] = (Node){ .id = 0, .memory_bytes = UINT64_C(64) << 30 };
        e->nodes[0].cpus = cpu_set("0-3,8-11");
        e->nodes[1] = (Node){ .id = 1, .package = 1, .memory_bytes = UINT64_C(64) << 30 };
        e->nodes[1].cpus = cpu_set("4-7,12-15");
        e->nodes[2] = (Node){ .id = 4, .package = 1, .memory_bytes = UINT64_C(1) << 40 };
        e->topology = (Topology){ .nodes = e->nodes, .n_nodes = PLAN_NODES };
        e->devices[0] = (Device){ .kind = DEVICE_NET,
                                  .name = (char *)"eth0",
                                  .pci = (char *)"0000:3b:00.0",
                                  .driver = (char *)"mlx5_core",
                                  .speed_mbps = 100000,
                                  .default_route = true };
        e->devices[1] =
                (Device){ .kind = DEVICE_DISK, .name = (char *)"nvme0n1", .node = 1, .nvme = true };
        e->devices[2] = (Device){ .kind = DEVICE_DISK, .name = (char *)"nvme1n1", .node = 1 };
        e->devices[3] =
                (Device){ .kind = DEVICE_DISK, .name = (char *)"sda", .node = DEVICE_NODE_UNKNOWN };
        e->device_list = (DeviceList){ .devices = e->devices, .n_devices = PLAN_DEVICES };
        e->free_bytes[0] = UINT64_C(1536) << 20;
        e->free_bytes[1] = 512;
}

static inline void plan_example_instances(PlanExample *e) {
        e->policies[0] =
                (Policy){ .name = (char *)"tikv", .file = (char *)"/p/a.yaml", .at.line = 3 };
        e->policies[1] = (Policy){ .name = (char *)"pd", .file = (char *)"" };
        e->alternatives[0] = (PlacementAlternative){
                .nodes = node_set("0"), .criterion = WEIGH_DEVICE, .chosen = 10, .other = 32
        };
        e->alternatives[1] = (PlacementAlternative){
                .nodes = node_set("0-1"), .criterion = WEIGH_RESERVED, .chosen = 0, .other = 1
        };
        e->inputs[0] = (PlacementInstance){ .name = "tikv-1",
                                            .policy = &e->policies[0],
                                            .device_nodes = node_set("1") };
        e->choices[0] =
                (PlacementChoice){ .placement = { .nodes = node_set("1"),
                                                  .cpus = cpu_set("4-7,12-15") },
                                   .basis = BASIS_CHOSEN,
                                   .grounds.decides = 1 << WEIGH_DEVICE | 1 << WEIGH_RESERVED,
                                   .n_feasible = 9,
                                   .alternatives = e->alternatives,
                                   .n_alternatives = 2 };
        e->instances[0].storage = "nvme0n1";
        e->inputs[1] = (PlacementInstance){ .name = "tikv-20160",
                                            .unit = "tikv-20160.service",
                                            .policy = &e->policies[0],
                                            .need_bytes = 4096 };
        e->choices[1] = (PlacementChoice){ .placement = e->choices[0].placement,
                                           .basis = BASIS_KEPT,
                                           .warnings = WARN_NOT_EXCLUSIVE | WARN_MOVED,
                                           .n_feasible = 2 };
        e->published = (InstanceInfo){ .state = INSTANCE_BOUND, .reason = "", .cpu_bound = true };
        e->instances[1] = (PlanReportInstance){ .pid = 4711,
                                                .in_force = node_set("1"),
                                                .bound = true,
                                                .cost_known = true,
                                                .cost_bytes = 12,
                                                .bound_by = "affinity",
                                                .bound_by_reason = "its unit is shared",
                                                .memory_policy = "interleave:0-7",
                                                .published = &e->published };
        e->inputs[2] = (PlacementInstance){ .name = "pd-\x1b[1m", .policy = &e->policies[1] };
        e->choices[2] =
                (PlacementChoice){ .basis = BASIS_REFUSED, .refusal = REFUSAL_TOO_FEW_NODES };
        e->inputs[3] = (PlacementInstance){ .name = "pd-2", .policy = &e->policies[1] };
        e->choices[3] = (PlacementChoice){
                .placement = { .nodes = node_set("0"), .cpus = cpu_set("0"), .memory = 1 },
                .basis = BASIS_EXPLICIT,
                .warnings = WARN_RESERVED | WARN_MOVED,
                .reserved = node_set("0"),
                .n_feasible = 1
        };
        for (size_t i = 0; i < PLAN_INSTANCES; i++) {
                e->instances[i].in = &e->inputs[i];
                e->instances[i].choice = &e->choices[i];
        }
}

static inline void plan_example_init(PlanExample *e) {
        *e = (PlanExample){ 0 };
        plan_example_machine(e);
        plan_example_instances(e);
        e->notes[0] = (char *)"imagined";
        e->report = (PlanReport){ .source = "this host",
                                  .topology = &e->topology,
                                  .devices = &e->device_list,
                                  .free_bytes = e->free_bytes,
                                  .reserved = node_set("0"),
                                  .nic_nodes = node_set("0"),
                                  .instances = e->instances,
                                  .n_instances = PLAN_INSTANCES,
                                  .notes = { .words = e->notes, .n_words = 1 } };
        e->report.score.by[WEIGH_RESERVED] = 1;
}

#define PLAN_TEST(test) TEST_WITH(test, PlanExample, e, plan_example_init, (void))
