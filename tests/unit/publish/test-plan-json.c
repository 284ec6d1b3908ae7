/* A plan as JSON: every key that tidbnumactl(8) documents, with its value. */

#include "../../support/test.h"

#include "../../support/json-check.h"
#include "plan-example.h"
#include "tidbnumad/publish/plan-json.h"

static json_t *at(json_t *json, const char *key, size_t index) {
        return json_array_get(json_object_get(json, key), index);
}

PLAN_TEST(instances) {
        json_t *json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_report(j, &e->report));

        assert_int_equal(json_array_size(json_object_get(json, "instances")), PLAN_INSTANCES);
        assert_json(at(json, "instances", 0),
                    "{\"name\": \"tikv-1\", \"policy\": \"tikv\", \"policy_file\": \"/p/a.yaml\", "
                    "\"policy_line\": 3, \"unit\": null, \"storage\": \"nvme0n1\", "
                    "\"device_nodes\": \"1\", \"need_bytes\": null, \"nodes\": \"1\", \"cpus\": "
                    "\"4-7,12-15\", \"memory_mode\": \"bind\", \"basis\": \"chosen\", \"refusal\": "
                    "null, \"why\": \"nearest to its device (R4); leaves reserved nodes free "
                    "(R2)\", \"warnings\": [], \"reserved_nodes\": \"\", \"open\": 9, "
                    "\"alternatives\": [{\"nodes\": \"0\", \"criterion\": \"device\", \"rule\": "
                    "\"R4\", \"chosen\": 10, \"other\": 32},{\"nodes\": \"0-1\", \"criterion\": "
                    "\"reserved\", \"rule\": \"R2\", \"chosen\": 0, \"other\": 1}], \"pid\": null, "
                    "\"in_force\": null, \"move_bytes\": null, \"bound_by\": null, "
                    "\"bound_by_reason\": null, \"memory_policy\": null, \"state\": null, "
                    "\"state_reason\": null, \"cpu_bound\": null, \"memory_bound\": null}");
        json_decref(json);
}

PLAN_TEST(running) {
        json_t *json, *instance;

        instance = JSON_WRITTEN(j, plan_json_instance(j, NULL, &e->instances[1]));
        assert_json(json_object_get(instance, "pid"), "4711");
        assert_json(json_object_get(instance, "in_force"), "\"1\"");
        assert_json(json_object_get(instance, "move_bytes"), "12");
        assert_json(json_object_get(instance, "memory_policy"), "\"interleave:0-7\"");
        assert_json(json_object_get(instance, "bound_by"), "\"affinity\"");
        assert_json(json_object_get(instance, "bound_by_reason"), "\"its unit is shared\"");
        assert_json(json_object_get(instance, "need_bytes"), "4096");
        assert_json(json_object_get(instance, "unit"), "\"tikv-20160.service\"");
        assert_json(json_object_get(instance, "state"), "\"bound\"");
        assert_json(json_object_get(instance, "cpu_bound"), "true");
        assert_json(json_object_get(instance, "memory_bound"), "false");
        assert_json(json_object_get(instance, "basis"), "\"kept\"");
        json = json_object_get(instance, "warnings");
        assert_int_equal(json_array_size(json), 2);
        assert_json(json_object_get(json_array_get(json, 0), "rule"), "\"R3\"");
        assert_json(json_object_get(json_array_get(json, 1), "rule"), "\"\"");
        json_decref(instance);
        instance = JSON_WRITTEN(j, plan_json_instance(j, NULL, &e->instances[2]));
        assert_json(json_object_get(instance, "basis"), "\"refused\"");
        assert_json(json_object_get(instance, "refusal"), "\"too-few-nodes\"");
        assert_json(json_object_get(instance, "name"), "\"pd-\\u001b[1m\"");
        json_decref(instance);
        instance = JSON_WRITTEN(j, plan_json_instance(j, NULL, &e->instances[3]));
        assert_json(json_object_get(instance, "basis"), "\"explicit\"");
        assert_json(json_object_get(instance, "memory_mode"), "\"preferred\"");
        assert_json(json_object_get(instance, "reserved_nodes"), "\"0\"");
        json_decref(instance);
}

PLAN_TEST(machine) {
        json_t *json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_report(j, &e->report));

        assert_json(json_object_get(json, "source"), "\"this host\"");
        assert_json(json_object_get(json, "notes"), "[\"imagined\"]");
        assert_json(json_object_get(json, "reserved_nodes"), "\"0\"");
        assert_json(json_object_get(json, "nic_nodes"), "\"0\"");
        assert_json(json_object_get(json_object_get(json, "score"), "reserved"), "1");
        assert_int_equal(json_object_size(json_object_get(json, "score")), N_CRITERIA);
        assert_json(at(json, "nodes", 1),
                    "{\"id\": 1, \"package\": 1, \"cpus\": \"4-7,12-15\", \"memory_bytes\": "
                    "68719476736, \"kind\": \"normal\", \"free_bytes\": 512, \"home\": true, "
                    "\"why_no_home\": null, \"reserved\": false, \"devices\": [\"nvme0n1\", "
                    "\"nvme1n1\"], \"instances\": [\"tikv-1\", \"tikv-20160\"]}");
        assert_json(json_object_get(at(json, "nodes", 0), "reserved"), "true");
        assert_json(json_object_get(at(json, "nodes", 2), "home"), "false");
        assert_json(json_object_get(at(json, "nodes", 2), "why_no_home"),
                    "\"memory without CPUs\"");
        assert_json(
                at(json, "devices", 0),
                "{\"name\": \"eth0\", \"kind\": \"net\", \"node\": 0, \"pci\": \"0000:3b:00.0\","
                " \"driver\": \"mlx5_core\", \"master\": null, \"speed_mbps\": 100000,"
                " \"default_route\": true, \"virtual_function\": false}");
        assert_json(json_object_get(at(json, "devices", 1), "kind"), "\"nvme\"");
        assert_json(json_object_get(at(json, "devices", 2), "kind"), "\"disk\"");
        assert_json(json_object_get(at(json, "devices", 3), "node"), "null");
        json_decref(json);
        e->report.devices = NULL;
        e->report.free_bytes = NULL;
        json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_report(j, &e->report));
        assert_json(json_object_get(json, "devices"), "[]");
        assert_json(json_object_get(at(json, "nodes", 0), "free_bytes"), "null");
        json_decref(json);
}

PLAN_TEST(changes) {
        PlanChange changes[2];
        json_t *json;

        changes[0] = (PlanChange){ .name = "a",
                                   .before = &e->instances[3],
                                   .after = &e->instances[1],
                                   .from = node_set("0"),
                                   .to = node_set("1-2") };
        changes[1] = (PlanChange){ .name = "b", .before = &e->instances[0], .from = node_set("4") };
        json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_changes(j, changes, 2));
        assert_json(json_object_get(json, "changes"),
                    "[{\"name\": \"a\", \"policy_before\": \"pd\", \"policy_after\": "
                    "\"tikv\", \"from\": \"0\", \"to\": \"1-2\", \"move_bytes\": "
                    "12},{\"name\": \"b\", \"policy_before\": \"tikv\", \"policy_after\": "
                    "null, \"from\": \"4\", \"to\": \"\", \"move_bytes\": null}]");
        json_decref(json);
}
