/* One snapshot that the tests of this folder share: a machine of two nodes, a bound instance with
 * everything known and one with nothing known. */
#pragma once

#include <math.h>

#include "tidbnumad/model/snapshot.h"

typedef struct Example {
        Node nodes[2];
        uint16_t distances[4];
        Topology topology;
        InstanceMemory memory[2];
        InstanceInfo instances[2];
        PolicyInfo policies[1];
        EventInfo events[1];
        JobTimeouts job_timeouts[2];
        const char *warnings[1];
        NodeCounters counters[2];
        Histogram durations[N_SAMPLE_METHODS];
        IrqDeviceInfo irq_devices[2];
        IrqLandedInfo irq_delivered[1];
        CpuSet irq_cpus, irq_none;
        Snapshot snapshot;
} Example;

static inline void example_init(Example *e) {
        *e = (Example){
                .nodes = { { .id = 0, .package = 0, .memory_bytes = UINT64_C(274877906944) },
                           { .id = 2, .package = 1 } },
                .distances = { 10, 32, 32, 10 },
                .memory = { { .node = 0,
                              .anon_bytes = UINT64_C(123456789012345),
                              .file_bytes = 4096 },
                            { .node = 2, .anon_bytes = 1, .shmem_bytes = UINT64_MAX } },
                .policies = { { .name = "tikv",
                                .bind_attempts = 3,
                                .bind_failures = { [REASON_PERMISSION] = 1, [REASON_BUS_GONE] = 2 },
                                .drift_repairs = { [DRIFT_MEMS] = 4 },
                                .memory_widenings = 5,
                                .migrated_bytes = UINT64_C(9007199254740995),
                                .failed_pages = 8,
                                .accesses = { UINT64_C(9007199254740999), 14 } } },
                .events = { { .source = "connector", .received = 42, .lost = 2, .rescans = 1 } },
                .warnings = { "a.yaml:3:1: rate is above what the machine moves" },
        };
        id_set_parse_list("0-3", &e->nodes[0].cpus);
        e->counters[1] = (NodeCounters){ .memory_known = true,
                                         .cpu_known = true,
                                         .events_known = true,
                                         .total_bytes = 1000,
                                         .free_bytes = 100,
                                         .file_bytes = 20,
                                         .anon_bytes = 3,
                                         .cpu_seconds = { 1.5, 2, 3, 4, 5, 6.25, 7 },
                                         .events = { 11, 12, 13, 14, 15, UINT64_MAX } };
        histogram_add(&e->durations[SAMPLE_DRAWN], 0.00005);
        histogram_add(&e->durations[SAMPLE_DRAWN], 0.002);
        histogram_add(&e->durations[SAMPLE_DRAWN], 61);
        histogram_add(&e->policies[0].bind_latency, 0.25);
        e->topology = (Topology){ .nodes = e->nodes, .n_nodes = 2, .distances = e->distances };
        e->instances[0] = (InstanceInfo){
                .name = (char *)"tikv-20160",
                .policy = "tikv",
                .unit = (char *)"tikv-20160.service",
                .exe = (char *)"/srv/tikv/bin/tikv-server",
                .backend = "systemd",
                .pid = 1234,
                .n_processes = 1,
                .memory = MEMORY_BIND,
                .state = INSTANCE_BOUND,
                .reason = "",
                .bind_wanted = true,
                .cpu_bound = true,
                .n_threads = 120,
                .n_threads_outside = 3,
                .memory_by_node = e->memory,
                .n_memory = 2,
                .memory_method = "sampled",
                .remote_ratio = 0.0625,
                .remote_ratio_halfwidth = 0.015,
                .access_known = true,
                .accesses = { UINT64_C(9007199254740997), 12 },
                .remote_access_ratio = 0.125,
                .access_coverage = 0.75,
                .migrated_bytes = UINT64_C(9007199254740993), /* 2^53+1: no double holds it */
                .pending_bytes = 8192,
                .migration_bytes_per_sec = 268435456,
                .migration_left_seconds = 0.5,
                .failed_pages = 7,
                .bind_attempts = 2,
                .memory_widened = true,
                .memory_widenings = 4,
                .bound_after_start = true,
                .changed = true,
                .bind_seconds = 0.25,
        };
        id_set_parse_list("2", &e->instances[0].memory_extra_nodes);
        id_set_parse_list("0", &e->instances[0].nodes);
        id_set_parse_list("0-3", &e->instances[0].cpus);
        e->instances[1] = (InstanceInfo){
                .name = (char *)"x",
                .policy = "tikv",
                .exe = (char *)"/x",
                .backend = "none",
                .pid = 1,
                .memory = MEMORY_NONE,
                .state = INSTANCE_WAITING,
                .reason = "nothing to bind with",
                .reason_code = REASON_NO_UNIT,
                .remote_ratio = (double)NAN,
                .remote_ratio_halfwidth = (double)NAN,
                .remote_access_ratio = (double)NAN,
                .access_coverage = (double)NAN,
                .migration_left_seconds = (double)NAN,
                .bind_seconds = (double)NAN,
        };
        id_set_parse_list("0-1", &e->irq_cpus);
        e->job_timeouts[0] = (JobTimeouts){ .job = "args" };
        e->job_timeouts[1] = (JobTimeouts){ .job = "storage", .n = 3 };
        e->irq_devices[0] = (IrqDeviceInfo){
                .name = "eth0",
                .kind = "net",
                .pci = "0000:3b:00.0",
                .node = 1,
                .reason_id = "reserved",
                .reason = "a node is reserved",
                .cpus = e->irq_cpus,
                .vectors = { [IRQ_STATE_STEERED] = 3, [IRQ_STATE_CONTESTED] = 1 }
        };
        e->irq_devices[1] = (IrqDeviceInfo){ .name = "bond0",
                                             .kind = "net",
                                             .node = -1,
                                             .reason_id = "bundle",
                                             .reason = "its members are steered",
                                             .cpus = e->irq_none };
        e->irq_delivered[0] = (IrqLandedInfo){ "eth0", "tikv-20160", 7 };
        e->snapshot = (Snapshot){
                .version = "1.0.0",
                .hwloc_version = "2.9.0",
                .systemd_version = "252",
                .time_seconds = 1780000000.125,
                .ready = true,
                .policy_load_success = true,
                .policy_in_force = true,
                .policy_load_seconds = 1780000000,
                .policy_warnings = e->warnings,
                .undo_known = true,
                .undo_records = 3,
                .n_released = 2,
                .n_revoked = 4,
                .n_release_failures = 1,
                .n_policy_warnings = 1,
                .sample_interval_seconds = 10,
                .sample_durations = e->durations,
                .nodes = e->counters,
                .topology = &e->topology,
                .instances = e->instances,
                .n_instances = 2,
                .policies = e->policies,
                .n_policies = 1,
                .job_timeouts = e->job_timeouts,
                .n_job_timeouts = 2,
                .events = e->events,
                .n_events = 1,
                .access = { .wanted = true,
                            .available = true,
                            .reason = "",
                            .source = "amd",
                            .coverage = "fills",
                            .counted = { true, true } },
                .irq = { .known = true,
                         .devices = e->irq_devices,
                         .n_devices = 2,
                         .landed = e->irq_delivered,
                         .n_landed = 1,
                         .n_writes = 5,
                         .n_repairs = 2,
                         .undo_settings = 4,
                         .irqbalance_pid = 812,
                         .irqbalance_sent = true,
                         .irqbalance_cpus = e->irq_cpus,
                         .n_irqbalance_irqs = 3 },
                .self = { .pid = 4711,
                          .cpu_seconds = 1.000000001,
                          .resident_bytes = 5242880,
                          .open_fds = 12,
                          .start_seconds = 1779999999.99 },
                .self_known = true,
        };
}

#define EXAMPLE_TEST(test) TEST_WITH(test, Example, e, example_init, (void))
