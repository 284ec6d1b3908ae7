/* The Prometheus text, sample for sample, and of values that are unknown, hostile or extreme. */
#include <locale.h>

#include "../../support/test.h"

#include "example.h"
#include "tidbnumad/publish/metrics.h"

/* --- the Prometheus text, sample for sample --- */

static const char expected[] =
        /* clang-format off */
        "tidbnumad_build_info{version=\"1.0.0\",hwloc=\"2.9.0\",systemd=\"252\"} 1\n"
        "tidbnumad_ready 1\n"
        "tidbnumad_enforcing 0\n"
        "tidbnumad_policy_load_success 1\n"
        "tidbnumad_policy_in_force 1\n"
        "tidbnumad_policy_kept 0\n"
        "tidbnumad_policy_last_load_timestamp_seconds 1780000000\n"
        "tidbnumad_policies 1\n"
        "tidbnumad_undo_records 3\n"
        "tidbnumad_releases_total 2\n"
        "tidbnumad_preparations_revoked_total 4\n"
        "tidbnumad_release_failures_total 1\n"
        "tidbnumad_instances_ignored{reason=\"max_instances\"} 0\n"
        "tidbnumad_instances_ignored{reason=\"process_limit\"} 0\n"
        "tidbnumad_instances_ignored{reason=\"user\"} 0\n"
        "tidbnumad_instances_ignored{reason=\"namespace\"} 0\n"
        "tidbnumad_instances_unlisted 0\n"
        "tidbnumad_worker_timeouts_total{job=\"args\"} 0\n"
        "tidbnumad_worker_timeouts_total{job=\"storage\"} 3\n"
        "tidbnumad_instance_info{policy=\"tikv\",name=\"tikv-20160\",pid=\"1234\",exe=\"/srv/tikv/bin/tikv-server\",unit=\"tikv-20160.service\",backend=\"systemd\",nodes=\"0\",cpus=\"0-3\"} 1\n"
        "tidbnumad_instance_info{policy=\"tikv\",name=\"x\",pid=\"1\",exe=\"/x\",unit=\"\",backend=\"none\",nodes=\"\",cpus=\"\"} 1\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"tikv-20160\",kind=\"cpu\"} 1\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"tikv-20160\",kind=\"memory\"} 0\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"x\",kind=\"cpu\"} 0\n"
        "tidbnumad_instance_bound{policy=\"tikv\",name=\"x\",kind=\"memory\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"waiting\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"watched\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"released\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"planned\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"binding\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"moving\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"narrowing\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"settling\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"bound\",reason=\"\"} 1\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"widened\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"partly\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"tikv-20160\",state=\"refused\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"waiting\",reason=\"no-unit\"} 1\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"watched\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"released\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"planned\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"binding\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"moving\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"narrowing\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"settling\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"bound\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"widened\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"partly\",reason=\"\"} 0\n"
        "tidbnumad_instance_state{policy=\"tikv\",name=\"x\",state=\"refused\",reason=\"\"} 0\n"
        "tidbnumad_instance_bind_wanted{policy=\"tikv\",name=\"tikv-20160\"} 1\n"
        "tidbnumad_instance_bind_wanted{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_instance_threads{policy=\"tikv\",name=\"tikv-20160\"} 120\n"
        "tidbnumad_instance_threads{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_instance_threads_outside{policy=\"tikv\",name=\"tikv-20160\"} 3\n"
        "tidbnumad_instance_threads_outside{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"0\",kind=\"anon\"} 123456789012345\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"0\",kind=\"file\"} 4096\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"0\",kind=\"shmem\"} 0\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"2\",kind=\"anon\"} 1\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"2\",kind=\"file\"} 0\n"
        "tidbnumad_instance_memory_bytes{policy=\"tikv\",name=\"tikv-20160\",node=\"2\",kind=\"shmem\"} 18446744073709551615\n"
        "tidbnumad_instance_remote_memory_ratio{policy=\"tikv\",name=\"tikv-20160\"} 0.0625\n"
        "tidbnumad_instance_remote_memory_ratio_halfwidth{policy=\"tikv\",name=\"tikv-20160\"} 0.015\n"
        "tidbnumad_access_sampling_available 1\n"
        "tidbnumad_instance_dram_accesses_total{policy=\"tikv\",name=\"tikv-20160\",locality=\"local\",source=\"amd\",coverage=\"fills\"} 9007199254740997\n"
        "tidbnumad_instance_dram_accesses_total{policy=\"tikv\",name=\"tikv-20160\",locality=\"remote\",source=\"amd\",coverage=\"fills\"} 12\n"
        "tidbnumad_instance_remote_access_ratio{policy=\"tikv\",name=\"tikv-20160\",source=\"amd\",coverage=\"fills\"} 0.125\n"
        "tidbnumad_instance_access_coverage_ratio{policy=\"tikv\",name=\"tikv-20160\",source=\"amd\",coverage=\"fills\"} 0.75\n"
        "tidbnumad_policy_dram_accesses_total{policy=\"tikv\",locality=\"local\",source=\"amd\",coverage=\"fills\"} 9007199254740999\n"
        "tidbnumad_policy_dram_accesses_total{policy=\"tikv\",locality=\"remote\",source=\"amd\",coverage=\"fills\"} 14\n"
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
        "tidbnumad_bind_attempts_total{policy=\"tikv\"} 3\n"
        "tidbnumad_bind_failures_total{policy=\"tikv\",reason=\"permission\"} 1\n"
        "tidbnumad_bind_failures_total{policy=\"tikv\",reason=\"bus-gone\"} 2\n"
        "tidbnumad_drift_repairs_total{policy=\"tikv\",kind=\"cpus\"} 0\n"
        "tidbnumad_drift_repairs_total{policy=\"tikv\",kind=\"mems\"} 4\n"
        "tidbnumad_drift_repairs_total{policy=\"tikv\",kind=\"threads\"} 0\n"
        "tidbnumad_memory_widened{policy=\"tikv\",name=\"tikv-20160\"} 1\n"
        "tidbnumad_memory_widened{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_memory_widenings_total{policy=\"tikv\",name=\"tikv-20160\"} 4\n"
        "tidbnumad_memory_widenings_total{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_migrated_bytes_total{policy=\"tikv\",name=\"tikv-20160\"} 9007199254740993\n"
        "tidbnumad_migrated_bytes_total{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_migration_pending_bytes{policy=\"tikv\",name=\"tikv-20160\"} 8192\n"
        "tidbnumad_migration_pending_bytes{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_migration_rate_bytes_per_second{policy=\"tikv\",name=\"tikv-20160\"} 268435456\n"
        "tidbnumad_migration_rate_bytes_per_second{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_migration_left_seconds{policy=\"tikv\",name=\"tikv-20160\"} 0.5\n"
        "tidbnumad_migration_left_seconds{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_migration_failed_pages_total{policy=\"tikv\",name=\"tikv-20160\"} 7\n"
        "tidbnumad_migration_failed_pages_total{policy=\"tikv\",name=\"x\"} 0\n"
        "tidbnumad_policy_memory_widenings_total{policy=\"tikv\"} 5\n"
        "tidbnumad_policy_migrated_bytes_total{policy=\"tikv\"} 9007199254740995\n"
        "tidbnumad_policy_migration_failed_pages_total{policy=\"tikv\"} 8\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"total\"} 1000\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"free\"} 100\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"file\"} 20\n"
        "tidbnumad_node_memory_bytes{node=\"2\",state=\"anon\"} 3\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"user\"} 1.5\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"system\"} 2\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"irq\"} 3\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"softirq\"} 4\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"iowait\"} 5\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"idle\"} 6.25\n"
        "tidbnumad_node_cpu_seconds_total{node=\"2\",mode=\"steal\"} 7\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"hit\"} 11\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"miss\"} 12\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"foreign\"} 13\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"interleave\"} 14\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"local\"} 15\n"
        "tidbnumad_node_numa_events_total{node=\"2\",event=\"other\"} 18446744073709551615\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"steered\"} 3\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"managed\"} 0\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"contested\"} 1\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"failed\"} 0\n"
        "tidbnumad_irq_vectors{device=\"eth0\",state=\"left\"} 0\n"
        "tidbnumad_irq_on_instance_cpus_total{device=\"eth0\",name=\"tikv-20160\"} 7\n"
        "tidbnumad_irq_writes_total 5\n"
        "tidbnumad_irq_repairs_total 2\n"
        "tidbnumad_events_total{source=\"connector\"} 42\n"
        "tidbnumad_events_lost_total{source=\"connector\"} 2\n"
        "tidbnumad_rescans_total{source=\"connector\"} 1\n"
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
        "tidbnumad_sample_interval_seconds 10\n"
        "tidbnumad_snapshot_timestamp_seconds 1780000000.125\n"
        "process_cpu_seconds_total 1.000000001\n"
        "process_resident_memory_bytes 5242880\n"
        "process_open_fds 12\n"
        "process_start_time_seconds 1779999999.99\n";
/* clang-format on */

/* Takes the lines of HELP and TYPE out of the text, which are before the samples that they are
 * about.
 */
static void assert_samples(const Text *text) {
        _cleanup_text_ Text samples = { 0 };
        char help[256] = "", type[256] = "", *line = strdup(text->data), *rest = line, *next;

        assert_int_equal(text->length, strlen(text->data));
        while ((next = strsep(&rest, "\n")) && *next) {
                if (sscanf(next, "# HELP %255s %*[A-Z]", help) == 1)
                        continue;
                if (sscanf(next, "# TYPE %255s", type) == 1) {
                        assert_string_equal(type, help);
                        continue;
                }
                assert_int_equal(strncmp(next, type, strlen(type)), 0);
                text_appendf(&samples, "%s\n", next);
        }
        assert_string_equal(samples.data, expected);
        free(line);
}

EXAMPLE_TEST(whole_text) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_samples(&text);
}

EXAMPLE_TEST(renders_again_into_the_same_memory) {
        _cleanup_text_ Text text = { 0 };
        size_t allocated;
        char *data;

        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        allocated = text.allocated;
        data = text.data;
        for (int i = 0; i < 100; i++)
                assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_ptr_equal(text.data, data);
        assert_int_equal(text.allocated, allocated);
        assert_samples(&text);
}

EXAMPLE_TEST(no_comma_in_any_locale) {
        static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
        _cleanup_text_ Text text = { 0 };
        const char *set = NULL;

        for (size_t i = 0; i < ELEMENTSOF(names) && !set; i++)
                set = setlocale(LC_ALL, names[i]);
        if (!set)
                skip_because("no locale with a decimal comma is installed");
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        (void)setlocale(LC_ALL, "C");
        assert_samples(&text);
}

/* --- the Prometheus text of values that are unknown, hostile or extreme --- */

TEST(nothing_there) {
        _cleanup_text_ Text text = { 0 };
        const Snapshot empty = { 0 };

        assert_int_equal(metrics_render(&empty, &text), 0);
        assert_non_null(strstr(text.data, "\ntidbnumad_policies 0\n"));
        assert_non_null(strstr(text.data, "tidbnumad_build_info{} 1"));
        /* No samples: no HELP, no TYPE. */
        assert_null(strstr(text.data, "tidbnumad_instance_"));
        assert_null(strstr(text.data, "tidbnumad_bind_attempts_total"));
        assert_null(strstr(text.data, "tidbnumad_events_total"));
        assert_null(strstr(text.data, "\nprocess_"));
}

static const char *rendered(const Snapshot *snapshot, Text *text) {
        assert_int_equal(metrics_render(snapshot, text), 0);
        return text->data;
}

/* Not asked for: nothing. Asked for and not to be had: that, and nothing else. Asked for, and one
 * of two places is counted: that one. */
EXAMPLE_TEST(accesses) {
        _cleanup_text_ Text text = { 0 };

        e->snapshot.access.counted[LOCALITY_LOCAL] = false;
        assert_null(strstr(rendered(&e->snapshot, &text), "locality=\"local\""));
        assert_non_null(strstr(text.data, "locality=\"remote\""));
        e->snapshot.access = (AccessInfo){ .wanted = true, .reason = "no" };
        e->instances[0].access_known = false;
        assert_non_null(
                strstr(rendered(&e->snapshot, &text), "\ntidbnumad_access_sampling_available 0\n"));
        assert_null(strstr(text.data, "_access_ratio"));
        assert_null(strstr(text.data, "accesses_total"));
        assert_null(strstr(text.data, "access_coverage"));
        e->snapshot.access.wanted = false;
        assert_null(strstr(rendered(&e->snapshot, &text), "access_sampling"));
}

EXAMPLE_TEST(unknown_ratio_is_left_out) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].remote_ratio = (double)NAN;
        e->instances[0].remote_ratio_halfwidth = (double)NAN;
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_null(strstr(text.data, "remote_memory_ratio"));
        assert_null(strstr(text.data, "NaN"));
        assert_null(strstr(text.data, "nan"));
}

EXAMPLE_TEST(hostile_names) {
        _cleanup_text_ Text text = { 0 };

        e->snapshot.instances = &e->instances[0];
        e->snapshot.n_instances = 1;
        e->instances[0].name = (char *)"a\\b\"c\nd";
        e->instances[0].exe = (char *)"/x/\xff\xe2\x82\"\\\n\xc3\xa9";
        e->instances[0].unit = NULL;
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data,
                               "\ntidbnumad_instance_info{policy=\"tikv\","
                               "name=\"a\\\\b\\\"c\\nd\",pid=\"1234\","
                               "exe=\"/x/\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\\\"\\\\\\n\xc3\xa9\","
                               "unit=\"\",backend=\"systemd\",nodes=\"0\",cpus=\"0-3\"} 1\n"));
}

EXAMPLE_TEST(the_longest_set_fits) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].cpus = (CpuSet){ 0 };
        for (uint32_t id = 1; id < CPU_SET_MAX; id += 2)
                id_set_add(&e->instances[0].cpus, id);
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data, "cpus=\"1,3,5,"));
        assert_non_null(strstr(text.data, ",8189,8191\"} 1\n"));
}

/* Noughts, so that the first binding is an increase. */
EXAMPLE_TEST(nothing_bound_yet) {
        _cleanup_text_ Text text = { 0 };

        e->policies[0].bind_latency = (Histogram){ 0 };
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data, "tidbnumad_bind_latency_seconds_bucket{policy=\"tikv\","
                                          "le=\"60\"} 0\n"));
        assert_non_null(
                strstr(text.data, "tidbnumad_bind_latency_seconds_count{policy=\"tikv\"} 0\n"));
}

/* Bytes up to 2^64-1 and a ratio that no decimal ends. */
EXAMPLE_TEST(numbers) {
        _cleanup_text_ Text text = { 0 };

        e->instances[0].remote_ratio = 1.0 / 3;
        e->snapshot.sample_interval_seconds = 0.9999999999; /* carries into the whole */
        assert_int_equal(metrics_render(&e->snapshot, &text), 0);
        assert_non_null(strstr(text.data, "kind=\"shmem\"} 18446744073709551615\n"));
        assert_non_null(strstr(text.data, "} 9007199254740993\n"));
        assert_non_null(strstr(text.data, "\"} 0.333333333\n"));
        assert_non_null(strstr(text.data, "\ntidbnumad_sample_interval_seconds 1\n"));
}
