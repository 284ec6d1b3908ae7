/* The Prometheus text, byte for byte. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tidbnumad/publish/metrics.h"

#include "example.h"

static const char expected[] =
        /* clang-format off */
        "# HELP tidbnumad_build_info Versions of the daemon and of the libraries it was built with.\n"
        "# TYPE tidbnumad_build_info gauge\n"
        "tidbnumad_build_info{version=\"0.1.0\",hwloc=\"2.9.0\",systemd=\"252\"} 1\n"
        "# HELP tidbnumad_ready Whether the first look at the machine is complete.\n"
        "# TYPE tidbnumad_ready gauge\n"
        "tidbnumad_ready 1\n"
        "# HELP tidbnumad_enforcing Whether plans are applied (1) or only reported (0).\n"
        "# TYPE tidbnumad_enforcing gauge\n"
        "tidbnumad_enforcing 0\n"
        "# HELP tidbnumad_policy_load_success Whether the last load of the policies succeeded.\n"
        "# TYPE tidbnumad_policy_load_success gauge\n"
        "tidbnumad_policy_load_success 1\n"
        "# HELP tidbnumad_policy_last_load_timestamp_seconds When the policies were last loaded, in seconds since the epoch.\n"
        "# TYPE tidbnumad_policy_last_load_timestamp_seconds gauge\n"
        "tidbnumad_policy_last_load_timestamp_seconds 1780000000\n"
        "# HELP tidbnumad_policies Policies in force.\n"
        "# TYPE tidbnumad_policies gauge\n"
        "tidbnumad_policies 1\n"
        "# HELP tidbnumad_undo_records Instances and units that could be given back what they had.\n"
        "# TYPE tidbnumad_undo_records gauge\n"
        "tidbnumad_undo_records 3\n"
        "# HELP tidbnumad_releases_total Instances and units that were given back what they had.\n"
        "# TYPE tidbnumad_releases_total counter\n"
        "tidbnumad_releases_total 2\n"
        "# HELP tidbnumad_release_failures_total Attempts at that which failed and are repeated.\n"
        "# TYPE tidbnumad_release_failures_total counter\n"
        "tidbnumad_release_failures_total 1\n"
        "# HELP tidbnumad_instance_info What an instance is and where it is to run.\n"
        "# TYPE tidbnumad_instance_info gauge\n"
        "tidbnumad_instance_info{policy=\"tikv\",name=\"tikv-20160\",pid=\"1234\",exe=\"/srv/tikv/bin/tikv-server\",unit=\"tikv-20160.service\",backend=\"systemd\",nodes=\"0\",cpus=\"0-3\"} 1\n"
        "tidbnumad_instance_info{policy=\"tikv\",name=\"x\",pid=\"1\",exe=\"/x\",unit=\"\",backend=\"none\",nodes=\"\",cpus=\"\"} 1\n"
        "# HELP tidbnumad_instance_bound Whether the binding of an instance was verified, by kind.\n"
        "# TYPE tidbnumad_instance_bound gauge\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"tikv-20160\",kind=\"cpu\"} 1\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"tikv-20160\",kind=\"memory\"} 0\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"x\",kind=\"cpu\"} 0\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"x\",kind=\"memory\"} 0\n"
        "# HELP tidbnumad_instance_bind_wanted Whether an instance is to be bound: not without a written policy, nor where enforcement.release names it.\n"
        "# TYPE tidbnumad_instance_bind_wanted gauge\n"
        "tidbnumad_instance_bind_wanted{policy=\"tikv\",name=\"tikv-20160\"} 1\n"
        "tidbnumad_instance_bind_wanted{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_instance_threads Threads of an instance.\n"
        "# TYPE tidbnumad_instance_threads gauge\n"
        "tidbnumad_instance_threads{policy=\"tikv\",name=\"tikv-20160\"} 120\n"
        "tidbnumad_instance_threads{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_instance_threads_outside Threads whose CPUs are not those the instance is to have.\n"
        "# TYPE tidbnumad_instance_threads_outside gauge\n"
        "tidbnumad_instance_threads_outside{policy=\"tikv\",name=\"tikv-20160\"} 3\n"
        "tidbnumad_instance_threads_outside{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_instance_memory_bytes Resident memory of an instance by node and kind.\n"
        "# TYPE tidbnumad_instance_memory_bytes gauge\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"0\",kind=\"anon\"} 123456789012345\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"0\",kind=\"file\"} 4096\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"0\",kind=\"shmem\"} 0\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"2\",kind=\"anon\"} 1\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"2\",kind=\"file\"} 0\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"2\",kind=\"shmem\"} 18446744073709551615\n"
        "# HELP tidbnumad_instance_remote_memory_ratio Share of the anonymous memory of an instance that lies outside its nodes.\n"
        "# TYPE tidbnumad_instance_remote_memory_ratio gauge\n"
        "tidbnumad_instance_remote_memory_ratio{policy=\"tikv\",name=\"tikv-20160\"} 0.0625\n"
        "# HELP tidbnumad_instance_remote_memory_ratio_halfwidth Half-width of the 95 % confidence interval of the ratio, 0 where it is exact.\n"
        "# TYPE tidbnumad_instance_remote_memory_ratio_halfwidth gauge\n"
        "tidbnumad_instance_remote_memory_ratio_halfwidth{policy=\"tikv\",name=\"tikv-20160\"} 0.015\n"
        "# HELP tidbnumad_access_sampling_available Whether accesses to memory are counted; left out where no policy asks for it.\n"
        "# TYPE tidbnumad_access_sampling_available gauge\n"
        "tidbnumad_access_sampling_available 1\n"
        "# HELP tidbnumad_instance_dram_accesses_total Accesses of an instance to memory, by where that is.\n"
        "# TYPE tidbnumad_instance_dram_accesses_total counter\n"
        "tidbnumad_instance_dram_accesses_total{policy=\"tikv\",name=\"tikv-20160\",locality=\"local\",source=\"amd\",coverage=\"fills\"} 9007199254740997\n"
        "tidbnumad_instance_dram_accesses_total{policy=\"tikv\",name=\"tikv-20160\",locality=\"remote\",source=\"amd\",coverage=\"fills\"} 12\n"
        "# HELP tidbnumad_instance_remote_access_ratio Share of the accesses of an instance to memory that went to other nodes, in the last sampling interval.\n"
        "# TYPE tidbnumad_instance_remote_access_ratio gauge\n"
        "tidbnumad_instance_remote_access_ratio{policy=\"tikv\",name=\"tikv-20160\",source=\"amd\",coverage=\"fills\"} 0.125\n"
        "# HELP tidbnumad_instance_access_coverage_ratio Share of the time of all threads of an instance for which there were counters, in the last sampling interval.\n"
        "# TYPE tidbnumad_instance_access_coverage_ratio gauge\n"
        "tidbnumad_instance_access_coverage_ratio{policy=\"tikv\",name=\"tikv-20160\",source=\"amd\",coverage=\"fills\"} 0.75\n"
        "# HELP tidbnumad_policy_dram_accesses_total Accesses of instances of the policy to memory, those that have ended too.\n"
        "# TYPE tidbnumad_policy_dram_accesses_total counter\n"
        "tidbnumad_policy_dram_accesses_total{policy=\"tikv\",locality=\"local\",source=\"amd\",coverage=\"fills\"} 9007199254740999\n"
        "tidbnumad_policy_dram_accesses_total{policy=\"tikv\",locality=\"remote\",source=\"amd\",coverage=\"fills\"} 14\n"
        "# HELP tidbnumad_bind_latency_seconds Time from the start of an instance to the verified binding of its CPUs.\n"
        "# TYPE tidbnumad_bind_latency_seconds histogram\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.00005\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.0001\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.00025\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.0005\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.001\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.0025\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.005\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.01\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.025\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.05\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.1\"} 0\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.25\"} 1\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"0.5\"} 1\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"1\"} 1\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"2.5\"} 1\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"5\"} 1\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"10\"} 1\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"60\"} 1\n"
        "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\",le=\"+Inf\"} 1\n"
        "tidbnumad_bind_latency_seconds_sum{policy=\"tikv\"} 0.25\n"
        "tidbnumad_bind_latency_seconds_count{policy=\"tikv\"} 1\n"
        "# HELP tidbnumad_bind_attempts_total Attempts to bind an instance of the policy.\n"
        "# TYPE tidbnumad_bind_attempts_total counter\n"
        "tidbnumad_bind_attempts_total{policy=\"tikv\"} 3\n"
        "# HELP tidbnumad_bind_failures_total Attempts to bind an instance of the policy that failed, by reason.\n"
        "# TYPE tidbnumad_bind_failures_total counter\n"
        "tidbnumad_bind_failures_total{policy=\"tikv\",reason=\"permission\"} 1\n"
        "tidbnumad_bind_failures_total{policy=\"tikv\",reason=\"bus-gone\"} 2\n"
        "# HELP tidbnumad_drift_repairs_total Times that CPUs or memory nodes were set again which somebody else had changed, by kind.\n"
        "# TYPE tidbnumad_drift_repairs_total counter\n"
        "tidbnumad_drift_repairs_total{policy=\"tikv\",kind=\"cpus\"} 0\n"
        "tidbnumad_drift_repairs_total{policy=\"tikv\",kind=\"mems\"} 4\n"
        "tidbnumad_drift_repairs_total{policy=\"tikv\",kind=\"threads\"} 0\n"
        "# HELP tidbnumad_memory_widened Whether a strictly bound instance may use memory of other nodes, because its own are or were nearly full.\n"
        "# TYPE tidbnumad_memory_widened gauge\n"
        "tidbnumad_memory_widened{policy=\"tikv\",name=\"tikv-20160\"} 1\n"
        "tidbnumad_memory_widened{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_memory_widenings_total Times that a strictly bound instance was given another memory node because its own were nearly full.\n"
        "# TYPE tidbnumad_memory_widenings_total counter\n"
        "tidbnumad_memory_widenings_total{policy=\"tikv\",name=\"tikv-20160\"} 4\n"
        "tidbnumad_memory_widenings_total{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_migrated_bytes_total Bytes moved to the nodes of an instance.\n"
        "# TYPE tidbnumad_migrated_bytes_total counter\n"
        "tidbnumad_migrated_bytes_total{policy=\"tikv\",name=\"tikv-20160\"} 9007199254740993\n"
        "tidbnumad_migrated_bytes_total{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_migration_pending_bytes Anonymous bytes of an instance that are still to be moved.\n"
        "# TYPE tidbnumad_migration_pending_bytes gauge\n"
        "tidbnumad_migration_pending_bytes{policy=\"tikv\",name=\"tikv-20160\"} 8192\n"
        "tidbnumad_migration_pending_bytes{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_migration_rate_bytes_per_second Bytes a second at which memory of an instance may be moved now; 0: none is being moved.\n"
        "# TYPE tidbnumad_migration_rate_bytes_per_second gauge\n"
        "tidbnumad_migration_rate_bytes_per_second{policy=\"tikv\",name=\"tikv-20160\"} 268435456\n"
        "tidbnumad_migration_rate_bytes_per_second{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_migration_left_seconds Seconds until the memory of an instance is moved, as it goes now; 0: none is being moved.\n"
        "# TYPE tidbnumad_migration_left_seconds gauge\n"
        "tidbnumad_migration_left_seconds{policy=\"tikv\",name=\"tikv-20160\"} 0.5\n"
        "tidbnumad_migration_left_seconds{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_migration_failed_pages_total Pages of an instance that the kernel refused to move.\n"
        "# TYPE tidbnumad_migration_failed_pages_total counter\n"
        "tidbnumad_migration_failed_pages_total{policy=\"tikv\",name=\"tikv-20160\"} 7\n"
        "tidbnumad_migration_failed_pages_total{policy=\"tikv\",name=\"x\"} 0\n"
        "# HELP tidbnumad_policy_memory_widenings_total Times that a strictly bound instance of the policy was given another memory node, those that have ended too.\n"
        "# TYPE tidbnumad_policy_memory_widenings_total counter\n"
        "tidbnumad_policy_memory_widenings_total{policy=\"tikv\"} 5\n"
        "# HELP tidbnumad_policy_migrated_bytes_total Bytes moved to the nodes of instances of the policy, those that have ended too.\n"
        "# TYPE tidbnumad_policy_migrated_bytes_total counter\n"
        "tidbnumad_policy_migrated_bytes_total{policy=\"tikv\"} 9007199254740995\n"
        "# HELP tidbnumad_policy_migration_failed_pages_total Pages of instances of the policy that the kernel refused to move, those that have ended too.\n"
        "# TYPE tidbnumad_policy_migration_failed_pages_total counter\n"
        "tidbnumad_policy_migration_failed_pages_total{policy=\"tikv\"} 8\n"
        "# HELP tidbnumad_node_memory_bytes Memory of a node by state; file is page cache, without shared memory.\n"
        "# TYPE tidbnumad_node_memory_bytes gauge\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"total\"} 1000\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"free\"} 100\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"file\"} 20\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"anon\"} 3\n"
        "# HELP tidbnumad_node_cpu_seconds_total Time that the CPUs of a node spent while they were online, by mode; user holds nice and guests too.\n"
        "# TYPE tidbnumad_node_cpu_seconds_total counter\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"user\"} 1.5\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"system\"} 2\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"irq\"} 3\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"softirq\"} 4\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"iowait\"} 5\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"idle\"} 6.25\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"steal\"} 7\n"
        "# HELP tidbnumad_node_numa_events_total Pages that were allocated on a node, or meant for it and allocated on another (foreign), by how that came (numastat).\n"
        "# TYPE tidbnumad_node_numa_events_total counter\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"hit\"} 11\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"miss\"} 12\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"foreign\"} 13\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"interleave\"} 14\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"local\"} 15\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"other\"} 18446744073709551615\n"
        "# HELP tidbnumad_irq_vectors Interrupts of a device, by how they are.\n"
        "# TYPE tidbnumad_irq_vectors gauge\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"steered\"} 3\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"managed\"} 0\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"contested\"} 1\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"failed\"} 0\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"left\"} 0\n"
        "# HELP tidbnumad_irq_on_instance_cpus_total Interrupts of a device that fired on CPUs of an instance.\n"
        "# TYPE tidbnumad_irq_on_instance_cpus_total counter\n"
        "tidbnumad_irq_on_instance_cpus_total{device=\"eth0\",name=\"tikv-20160\"} 7\n"
        "# HELP tidbnumad_irq_writes_total Times that a mask of an interrupt or a queue, or a sysctl, was set.\n"
        "# TYPE tidbnumad_irq_writes_total counter\n"
        "tidbnumad_irq_writes_total 5\n"
        "# HELP tidbnumad_irq_repairs_total Of these, times that it was put back after somebody else had changed it.\n"
        "# TYPE tidbnumad_irq_repairs_total counter\n"
        "tidbnumad_irq_repairs_total 2\n"
        "# HELP tidbnumad_events_total Events received, by source.\n"
        "# TYPE tidbnumad_events_total counter\n"
        "tidbnumad_events_total{source=\"connector\"} 42\n"
        "# HELP tidbnumad_events_lost_total Times that a source told of lost events.\n"
        "# TYPE tidbnumad_events_lost_total counter\n"
        "tidbnumad_events_lost_total{source=\"connector\"} 2\n"
        "# HELP tidbnumad_rescans_total Full scans because a source lost events.\n"
        "# TYPE tidbnumad_rescans_total counter\n"
        "tidbnumad_rescans_total{source=\"connector\"} 1\n"
        "# HELP tidbnumad_sample_duration_seconds Time that samples of an instance's memory and accesses took, by method.\n"
        "# TYPE tidbnumad_sample_duration_seconds histogram\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.00005\"} 1\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.0001\"} 1\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.00025\"} 1\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.0005\"} 1\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.001\"} 1\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.0025\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.005\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.01\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.025\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.05\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.1\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.25\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"0.5\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"1\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"2.5\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"5\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"10\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"60\"} 2\n"
        "tidbnumad_sample_duration_seconds_bucket{method=\"sampled\",le=\"+Inf\"} 3\n"
        "tidbnumad_sample_duration_seconds_sum{method=\"sampled\"} 61.00205\n"
        "tidbnumad_sample_duration_seconds_count{method=\"sampled\"} 3\n"
        "# HELP tidbnumad_sample_interval_seconds Sampling interval in force.\n"
        "# TYPE tidbnumad_sample_interval_seconds gauge\n"
        "tidbnumad_sample_interval_seconds 10\n"
        "# HELP tidbnumad_snapshot_timestamp_seconds When this snapshot was taken, in seconds since the epoch.\n"
        "# TYPE tidbnumad_snapshot_timestamp_seconds gauge\n"
        "tidbnumad_snapshot_timestamp_seconds 1780000000.125\n"
        "# HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.\n"
        "# TYPE process_cpu_seconds_total counter\n"
        "process_cpu_seconds_total 1.000000001\n"
        "# HELP process_resident_memory_bytes Resident memory size in bytes.\n"
        "# TYPE process_resident_memory_bytes gauge\n"
        "process_resident_memory_bytes 5242880\n"
        "# HELP process_open_fds Number of open file descriptors.\n"
        "# TYPE process_open_fds gauge\n"
        "process_open_fds 12\n"
        "# HELP process_start_time_seconds Start time of the process since the epoch in seconds.\n"
        "# TYPE process_start_time_seconds gauge\n"
        "process_start_time_seconds 1779999999.99\n";
/* clang-format on */

static void test_whole_text(void **state) {
        _cleanup_text_ Text text = { 0 };
        Example e;

        (void)state;
        example_init(&e);
        assert_int_equal(metrics_render(&e.snapshot, &text), 0);
        assert_string_equal(text.data, expected);
        assert_int_equal(text.length, strlen(expected));
}

static void test_renders_again_into_the_same_memory(void **state) {
        _cleanup_text_ Text text = { 0 };
        size_t allocated;
        Example e;
        char *data;

        (void)state;
        example_init(&e);
        assert_int_equal(metrics_render(&e.snapshot, &text), 0);
        allocated = text.allocated;
        data = text.data;
        for (int i = 0; i < 100; i++)
                assert_int_equal(metrics_render(&e.snapshot, &text), 0);
        assert_ptr_equal(text.data, data);
        assert_int_equal(text.allocated, allocated);
        assert_string_equal(text.data, expected);
}

static void test_no_comma_in_any_locale(void **state) {
        static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
        _cleanup_text_ Text text = { 0 };
        const char *set = NULL;
        Example e;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(names) && !set; i++)
                set = setlocale(LC_ALL, names[i]);
        if (!set) {
                print_message("no locale with a decimal comma is installed\n");
                skip();
        }
        example_init(&e);
        assert_int_equal(metrics_render(&e.snapshot, &text), 0);
        (void)setlocale(LC_ALL, "C");
        assert_string_equal(text.data, expected);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole_text),
                cmocka_unit_test(test_renders_again_into_the_same_memory),
                cmocka_unit_test(test_no_comma_in_any_locale),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
