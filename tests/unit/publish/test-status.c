/* The JSON, read back by the library that its readers use. */

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "../../support/json-check.h"
#include "tidbnumad/publish/status.h"

#include "example.h"

static json_t *render(const Snapshot *snapshot) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(status_render(snapshot, &text), 0);
        return json_read_back(text.data);
}

EXAMPLE_TEST(topology_policy_and_events) {
        json_t *json = render(&e->snapshot);

        assert_json(json_object_get(json, "topology"),
                    "{\"nodes\": [{\"id\": 0, \"package\": 0, \"cpus\": \"0-3\", \"memory_bytes\": "
                    "274877906944, \"distances\": [10, 32]},{\"id\": 2, \"package\": 1, \"cpus\": "
                    "\"\", \"memory_bytes\": 0, \"distances\": [32, 10]}]}");
        assert_json(json_object_get(json, "policy"),
                    "{\"load_success\": true, \"in_force\": \"loaded\", \"adopted\": 0, "
                    "\"load_time\": \"2026-05-28T20:26:40Z\", "
                    "\"load_time_seconds\": 1780000000.0, \"errors\": [], \"warnings\": "
                    "[\"a.yaml:3:1: rate is above what the machine moves\"], \"policies\": "
                    "[{\"name\": \"tikv\", \"bind_attempts\": 3, \"bind_failures\": 3, "
                    "\"bind_failures_by_reason\": {\"permission\": 1, \"bus-gone\": 2}, "
                    "\"drift_repairs\": {\"cpus\": 0, \"mems\": 4, \"threads\": 0}}]}");
        assert_json(json_object_get(json, "interrupts"),
                    "{\"devices\":[{\"name\":\"eth0\",\"kind\":\"net\",\"pci\":\"0000:3b:00.0\","
                    "\"node\":1,\"reason_code\":\"reserved\",\"reason\":\"a node is "
                    "reserved\",\"cpus\":\"0-1\",\"steered\":3,\"managed\":0,\"contested\":1,"
                    "\"failed\":0,\"left\":0},{\"name\":\"bond0\",\"kind\":\"net\",\"pci\":null,"
                    "\"node\":null,\"reason_code\":\"bundle\",\"reason\":\"its members are "
                    "steered\",\"cpus\":\"\",\"steered\":0,\"managed\":0,\"contested\":0,"
                    "\"failed\":0,\"left\":0}],\"on_instance_cpus\":[{\"device\":\"eth0\","
                    "\"instance\":\"tikv-20160\",\"interrupts\":7}],\"writes\":5,\"repairs\":2,"
                    "\"undo_settings\":4,\"irqbalance\":{\"pid\":812,\"sent\":true,\"banned_cpus\":"
                    "\"0-1\",\"banned_interrupts\":3}}");
        assert_json(json_object_get(json, "events"),
                    "[{\"source\": \"connector\", \"received\": 42, \"lost\": 2, \"rescans\": 1}]");
        assert_json(json_object_get(json, "time_seconds"), "1780000000.125");
        assert_json(json_object_get(json, "time"), "\"2026-05-28T20:26:40Z\"");
        assert_json(json_object_get(json, "ready"), "true");
        assert_json(json_object_get(json, "enforcing"), "false");
        assert_json(json_object_get(json, "process"),
                    "{\"pid\": 4711, \"cpu_seconds\": 1.000000001, \"resident_bytes\": 5242880, "
                    "\"open_fds\": 12, \"start_time\": \"2026-05-28T20:26:39Z\", "
                    "\"start_time_seconds\": 1779999999.99}");
        json_decref(json);
}

EXAMPLE_TEST(instances) {
        static const uint16_t ports[] = { 20160, 20180 };
        json_t *json;

        e->instances[0].ports = (uint16_t *)ports;
        e->instances[0].n_ports = 2;
        e->instances[0].bound_by = "unit";
        e->instances[1].bound_by = "affinity";
        e->instances[1].bound_by_reason = "it shares";
        e->instances[1].start_cpus_by = "CPUAffinity=";
        e->instances[1].start_memory_by = "numactl";
        e->instances[1].bound_by_code = REASON_SHARED_UNIT;
        e->instances[0].basis = BASIS_CHOSEN;
        e->instances[0].warnings = WARN_RESERVED;
        e->instances[0].data_dir = (char *)"/data/tikv";
        json = render(&e->snapshot);
        /* Counters are clamped to what a JSON integer of jansson holds. */
        assert_json(
                json_object_get(json, "instances"),
                "[{\"name\": \"tikv-20160\", \"policy\": \"tikv\", \"unit\": "
                "\"tikv-20160.service\", \"exe\": \"/srv/tikv/bin/tikv-server\", \"pid\": 1234, "
                "\"processes\": 1, \"ports\": [20160, 20180], \"data_dir\": \"/data/tikv\", "
                "\"backend\": \"systemd\", \"bound_by\": \"unit\", \"bound_by_reason\": null, "
                "\"bound_by_reason_code\": \"\", \"start_cpus_by\": null, \"start_memory_by\": "
                "null, \"state\": \"bound\", \"reason\": \"\", "
                "\"reason_code\": \"\", \"remedy\": \"\", \"nodes\": \"0\", \"cpus\": \"0-3\", "
                "\"memory_mode\": \"bind\", \"basis\": \"chosen\", \"warnings\": [{\"rule\": "
                "\"R2\", \"text\": \"it uses a reserved node: no other node was free when it was "
                "placed, or its device is there\"}], \"cpu_bound\": true, \"memory_bound\": false, "
                "\"threads\": 120, \"threads_outside\": 3, \"memory_by_node\": [{\"node\": 0, "
                "\"anon_bytes\": 123456789012345, \"file_bytes\": 4096, \"shmem_bytes\": "
                "0},{\"node\": 2, \"anon_bytes\": 1, \"file_bytes\": 0, \"shmem_bytes\": "
                "9223372036854775807}], \"memory_method\": \"sampled\", \"remote_memory_ratio\": "
                "0.0625, \"remote_memory_ratio_halfwidth\": 0.015, \"dram_accesses\": {\"local\": "
                "9007199254740997, \"remote\": 12}, \"remote_access_ratio\": 0.125, "
                "\"access_coverage_ratio\": 0.75, \"bind_attempts\": 2, \"bind_failures\": 0, "
                "\"migrated_bytes\": 9007199254740993, \"pending_bytes\": 8192, "
                "\"migration_bytes_per_second\": 268435456, \"migration_left_seconds\": 0.5, "
                "\"failed_pages\": 7, \"memory_widened\": true, \"memory_extra_nodes\": \"2\", "
                "\"memory_widenings\": 4, \"bind_seconds\": 0.25, \"bound_after_start\": true, "
                "\"changed\": true},"
                "{\"name\": \"x\", \"policy\": "
                "\"tikv\", \"unit\": null, \"exe\": \"/x\", \"pid\": 1, \"processes\": 0, "
                "\"ports\": [], \"data_dir\": null, \"backend\": \"none\", \"bound_by\": "
                "\"affinity\", \"bound_by_reason\": \"it shares\", \"bound_by_reason_code\": "
                "\"shared-unit\", \"start_cpus_by\": \"CPUAffinity=\", \"start_memory_by\": "
                "\"numactl\", \"state\": \"waiting\", \"reason\": \"nothing to bind with\", "
                "\"reason_code\": \"no-unit\", \"remedy\": \"run it as a system service\", "
                "\"nodes\": \"\", \"cpus\": \"\", \"memory_mode\": \"none\", \"basis\": "
                "\"refused\", \"warnings\": [], \"cpu_bound\": false, \"memory_bound\": false, "
                "\"threads\": 0, \"threads_outside\": 0, \"memory_by_node\": null, "
                "\"memory_method\": null, \"remote_memory_ratio\": null, "
                "\"remote_memory_ratio_halfwidth\": null, \"bind_attempts\": 0, \"bind_failures\": "
                "0, \"migrated_bytes\": 0, \"pending_bytes\": 0, \"migration_bytes_per_second\": "
                "0, \"migration_left_seconds\": null, \"failed_pages\": 0, \"memory_widened\": "
                "false, \"memory_extra_nodes\": \"\", \"memory_widenings\": 0, \"bind_seconds\": "
                "null}]");
        json_decref(json);
}

TEST(ignored_processes) {
        const IgnoredInfo processes[] = {
                { 77, "/opt/thief/tidb-server", NULL, "tidb", "it runs as user 65534" },
        };
        const Snapshot snapshot = { .ignored_processes = processes, .n_ignored_processes = 1 };
        json_t *json = render(&snapshot);

        assert_json(json_object_get(json, "ignored_processes"),
                    "[{\"pid\": 77, \"exe\": \"/opt/thief/tidb-server\", \"unit\": null,"
                    " \"policy\": \"tidb\", \"reason\": \"it runs as user 65534\"}]");
        json_decref(json);
}

TEST(releases) {
        const ReleaseInfo releases[] = {
                { "tikv-1", "tikv-1.service", "no policy names it any more", NULL },
                { "x:7", NULL, "it was requested", "affinity: Operation not permitted",
                  REASON_PERMISSION },
        };
        Snapshot snapshot = { .releases = releases, .n_releases = 2 };
        json_t *json = render(&snapshot);

        assert_json(json_object_get(json, "releases"),
                    "[{\"name\": \"tikv-1\", \"unit\": \"tikv-1.service\", \"reason\": \"no policy "
                    "names it any more\", \"failure\": null, \"failure_code\": \"\"}, {\"name\": "
                    "\"x:7\", \"unit\": null, \"reason\": \"it was requested\", "
                    "\"failure\": \"affinity: Operation not permitted\", \"failure_code\": "
                    "\"permission\"}]");
        json_decref(json);
        snapshot.n_releases = 0;
        json = render(&snapshot);
        assert_null(json_object_get(json, "releases"));
        json_decref(json);
}

TEST(units) {
        const UnitInfo units[] = {
                { .name = "tidb-4000.service",
                  .policy = "tidb",
                  .state = "prepared",
                  .reason = "",
                  .nodes = node_set("1"),
                  .limits_known = true,
                  .cpus = cpu_set("4-7") },
                { .name = "tidb-4001.service",
                  .state = "unprepared",
                  .reason = "it failed",
                  .code = REASON_START_FAILED },
        };
        const Snapshot snapshot = { .units = units, .n_units = 2 };
        json_t *json = render(&snapshot);

        assert_json(json_object_get(json, "units"),
                    "[{\"name\": \"tidb-4000.service\", \"policy\": \"tidb\", \"state\": "
                    "\"prepared\", \"reason\": \"\", \"reason_code\": \"\", \"remedy\": \"\", "
                    "\"nodes\": \"1\", \"cpus\": \"4-7\", \"memory_nodes\": \"\"}, {\"name\": "
                    "\"tidb-4001.service\", \"policy\": null, \"state\": \"unprepared\", "
                    "\"reason\": \"it failed\", \"reason_code\": \"start-failed\", \"remedy\": "
                    "\"see journalctl -u tidb-4001.service; a change of the unit, or systemctl "
                    "reload tidbnumad, lets it be prepared again\", \"nodes\": \"\", \"cpus\": "
                    "null, \"memory_nodes\": null}]");
        json_decref(json);
}

TEST(nothing_there) {
        const Snapshot empty = { .time_seconds = (double)NAN };
        json_t *json = render(&empty);

        assert_json(json_object_get(json, "instances"), "[]");
        assert_json(json_object_get(json, "topology"), "null");
        assert_json(json_object_get(json, "version"), "null");
        assert_json(json_object_get(json, "time"), "null");
        assert_json(json_object_get(json, "time_seconds"), "null");
        assert_json(json_object_get(json, "process"), "null");
        json_decref(json);
}

EXAMPLE_TEST(bytes_that_are_not_utf8) {
        json_t *json, *first;

        e->instances[0].exe = (char *)"/x/\xff\xc3\xa9\"\\\n";
        json = render(&e->snapshot);
        first = json_array_get(json_object_get(json, "instances"), 0);
        assert_string_equal(json_string_value(json_object_get(first, "exe")),
                            "/x/\xef\xbf\xbd\xc3\xa9\"\\\n");
        json_decref(json);
}

EXAMPLE_TEST(layout_is_stable) {
        static const char start[] =
                "{\n  \"version\": \"1.0.0\",\n  \"hwloc_version\": \"2.9.0\",\n";
        _cleanup_text_ Text first = { 0 }, second = { 0 };
        const char *one, *two;

        assert_int_equal(status_render(&e->snapshot, &first), 0);
        assert_int_equal(status_render(&e->snapshot, &second), 0);
        assert_int_equal(status_render(&e->snapshot, &second), 0); /* emptied first */
        one = first.data;
        two = second.data;
        assert_string_equal(one, two);
        assert_memory_equal(one, start, sizeof(start) - 1);
        assert_string_equal(one + strlen(one) - 3, "\n}\n");
        assert_true(strstr(one, "\"policy\"") < strstr(one, "\"topology\""));
        assert_true(strstr(one, "\"topology\"") < strstr(one, "\"instances\""));
        assert_true(strstr(one, "\"instances\"") < strstr(one, "\"events\""));
}
