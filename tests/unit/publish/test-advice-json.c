/* The JSON, read back by the library that its readers use. */

#include "../../support/test.h"

#include "../../support/json-check.h"
#include "tidbnumad/publish/advice.h"

#include "advice-example.h"

static json_t *render(const AdviceReport *report) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(advice_render_json(report, &text), 0);
        return json_read_back(text.data);
}

static const json_t *instance(const json_t *json, size_t index) {
        return json_array_get(json_object_get(json, "instances"), index);
}

ADVICE_TEST(instance) {
        json_t *json = render(&e->report);

        assert_int_equal(json_object_size(json), 1);
        assert_int_equal(json_array_size(json_object_get(json, "instances")), 6);
        assert_json(
                instance(json, EXAMPLE_TIDB),
                "{\"name\": \"tidb-4000\", \"product\": \"tidb-server\", \"ports\": [4000, 10080], "
                "\"unplaced\": \"\", \"inputs\": {\"nodes\": \"1\", \"cpus\": \"16-31\", "
                "\"memory_mode\": \"bind\", \"cpu_count\": 16, \"cpu_share\": 8, \"memory_bytes\": "
                "34359738368, \"memory_share_bytes\": 17179869184, \"shares_nodes_with\": "
                "[\"tikv-20161\"], \"device\": null, \"shares_device_with\": [], "
                "\"resident_bytes\": 3221225472, \"running\": true, \"gomaxprocs\": 64, \"card\": "
                "null}, \"advice\": [{\"rule\": \"A1\", \"setting\": \"performance.max-procs\", "
                "\"where\": \"config\", \"unit\": \"integer\", \"value\": 8, \"text\": \"8\", "
                "\"now\": null, \"takes_effect\": \"restart\", \"cost_bytes\": null, \"reason\": "
                "\"It has 8 of "
                "the 16 CPUs of node 1, shared with tikv-20161. Now GOMAXPROCS=64. It takes effect "
                "after a restart.\"},{\"rule\": \"A2\", \"setting\": \"tidb_server_memory_limit\", "
                "\"where\": \"sql\", \"unit\": \"bytes\", \"value\": 13743685632, \"text\": "
                "\"13107MB\", \"now\": null, \"takes_effect\": \"online\", \"cost_bytes\": null, "
                "\"reason\": \"80 "
                "% of its 16 GiB of the 32 GiB of node 1, shared with tikv-20161.\"},{\"rule\": "
                "\"A3\", \"setting\": \"GOGC\", \"where\": \"environment\", \"unit\": \"integer\", "
                "\"value\": 200, \"text\": \"200\", \"now\": null, \"takes_effect\": \"restart\", "
                "\"cost_bytes\": "
                "2684354560, \"reason\": \"2.5 GiB beside 3 GiB. It takes effect after a "
                "restart.\"}]}");
        json_decref(json);
}

ADVICE_TEST(others) {
        json_t *json;

        e->items[7].effect = HOLDS_ALREADY;
        json = render(&e->report);
        assert_json(json_object_get(json_object_get(instance(json, EXAMPLE_TIKV), "inputs"),
                                    "shares_device_with"),
                    "[\"pd-2379\"]");
        assert_json(json_array_get(json_object_get(instance(json, EXAMPLE_TIKV), "advice"), 1),
                    "{\"rule\": \"A8\", \"setting\": \"gc.max-write-bytes-per-sec\","
                    " \"where\": \"config\", \"unit\": \"bytes-per-second\", \"value\": 307200,"
                    " \"text\": \"300KB\", \"now\": null, \"takes_effect\": \"online\", "
                    "\"cost_bytes\": null,"
                    " \"reason\": \"nvme0n1 serves pd-2379.\"}");
        assert_json(json_array_get(json_object_get(instance(json, EXAMPLE_HAPROXY), "advice"), 1),
                    "{\"rule\": \"A10\", \"setting\": \"maxconn\", \"where\": \"haproxy-global\","
                    " \"unit\": \"integer\", \"value\": 20000, \"text\": \"20000\","
                    " \"now\": null, \"takes_effect\": \"already\", \"cost_bytes\": 675282944,"
                    " \"reason\": \"They take 644 MiB.\"}");
        assert_json(json_array_get(json_object_get(instance(json, EXAMPLE_HAPROXY), "advice"), 0),
                    "{\"rule\": \"A10\", \"setting\": \"nbthread\", \"where\": \"haproxy-global\", "
                    "\"unit\": \"integer\", \"value\": 16, \"text\": \"16\", \"now\": null, "
                    "\"takes_effect\": "
                    "\"reload\", \"cost_bytes\": null, \"reason\": \"It is bound to 16 CPUs of "
                    "node 1.\"}");
        assert_json(instance(json, EXAMPLE_NOWHERE),
                    "{\"name\": \"tidb-4001\", \"product\": \"tidb-server\", \"ports\": [], "
                    "\"unplaced\": \"no nodes are left\", \"inputs\": {\"nodes\": \"\", \"cpus\": "
                    "\"\", \"memory_mode\": \"bind\", \"cpu_count\": 0, \"cpu_share\": 0, "
                    "\"memory_bytes\": null, \"memory_share_bytes\": null, \"shares_nodes_with\": "
                    "[], \"device\": null, \"shares_device_with\": [], \"resident_bytes\": null, "
                    "\"running\": false, \"gomaxprocs\": null, \"card\": null}, \"advice\": []}");
        json_decref(json);
}

TEST(products_and_rules) {
        static const char *const rules[] = {
                "A1", "A2",  "A3",  "A4",  "A5",  "A6",  "A7",  "A8",
                "A9", "A10", "A11", "A12", "A13", "A14", "A15", "R12"
        };

        assert_int_equal(N_ADVICE_RULES, ELEMENTSOF(rules));
        for (unsigned i = 0; i < N_ADVICE_RULES; i++)
                assert_string_equal(advice_rule_to_id(i), rules[i]);
        assert_string_equal(product_to_string(PRODUCT_OTHER), "other");
        assert_string_equal(product_to_string(PRODUCT_JAVA), "java");
}

TEST(empty) {
        AdviceReport report = { 0 };
        json_t *json = render(&report);

        assert_json(json, "{\"instances\": []}");
        json_decref(json);
}

ADVICE_TEST(hostile_names) {
        json_t *json;

        e->subjects[EXAMPLE_TIKV].name = "a\"\n\xff";
        e->subjects[EXAMPLE_TIKV].memory_bytes = UINT64_MAX;
        json = render(&e->report);
        assert_json(json_object_get(instance(json, EXAMPLE_TIKV), "name"),
                    "\"a\\\"\\n\xef\xbf\xbd\"");
        assert_json(json_object_get(json_object_get(instance(json, EXAMPLE_TIKV), "inputs"),
                                    "memory_bytes"),
                    "9223372036854775807");
        json_decref(json);
}
