/* A plan of interrupts as JSON: each key with its value, and null for what is not known. */

#include "../../support/test.h"

#include "../../support/json-check.h"
#include "irq-example.h"
#include "tidbnumad/publish/plan-json.h"

static json_t *make(IrqExample *e) {
        irq_example_init(e);
        return JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_interrupts(j, &e->host, &e->plan));
}

TEST(devices) {
        IrqExample e;
        json_t *json = make(&e),
               *devices = json_object_get(json_object_get(json, "interrupts"), "devices"), *card;

        assert_int_equal(json_array_size(devices), 4); /* what no entry names, too */
        card = json_array_get(devices, 0);
        json_object_del(card, "vectors");
        assert_json(card, "{\"name\": \"eth0\", \"kind\": \"net\", \"node\": 1, \"pci\": "
                          "\"0000:3b:00.0\", \"driver\": \"ice\", \"master\": \"bond0\", "
                          "\"virtual_function_of\": \"0000:3b:00.1\", \"speed_mbps\": 25000, "
                          "\"link\": true, \"in_other_netns\": false, \"policy_file\": "
                          "\"/p/a.yaml\", \"policy_line\": 3, \"steer\": \"reserved\", \"reason\": "
                          "\"reserved\", \"rule\": \"R2\", \"why\": \"to the reserved CPUs\", "
                          "\"cpus\": [9, 8, 1], \"xps\": [\"0-7\", \"8-15\"], \"rps\": [\"8-9\"]}");
        assert_json(json_array_get(devices, 3),
                    "{\"name\": \"nvme1\", \"kind\": \"nvme\", \"node\": 0, \"pci\": null, "
                    "\"driver\": null, \"master\": null, \"virtual_function_of\": null, "
                    "\"speed_mbps\": null, \"link\": null, \"in_other_netns\": false, "
                    "\"policy_file\": null, \"policy_line\": null, \"steer\": \"leave\", "
                    "\"reason\": \"no-entry\", \"rule\": \"\", \"why\": \"no entry of irq matches "
                    "it\", \"cpus\": [], \"vectors\": [], \"xps\": null, \"rps\": null}");
        assert_json(json_object_get(json_array_get(devices, 1), "node"), "null");
        assert_json(json_object_get(json_array_get(devices, 1), "link"), "false");
        assert_json(json_object_get(json_array_get(devices, 1), "in_other_netns"), "true");
        json_decref(json);
}

TEST(vectors) {
        IrqExample e;
        json_t *json = make(&e),
               *devices = json_object_get(json_object_get(json, "interrupts"), "devices"), *vectors;

        vectors = json_object_get(json_array_get(devices, 0), "vectors");
        assert_int_equal(json_array_size(vectors), 3);
        assert_json(json_array_get(vectors, 1),
                    "{\"irq\": 31, \"handler\": \"eth0-rx-0\", \"role\": \"rx\", \"queue\": 0, "
                    "\"now\": \"0-15\", \"effective\": \"9\", \"decision\": \"steered\", \"cpus\": "
                    "\"9\"}");
        assert_json(json_object_get(json_array_get(vectors, 0), "queue"), "null");
        vectors = json_object_get(json_array_get(devices, 2), "vectors");
        assert_json(json_array_get(vectors, 1),
                    "{\"irq\": 41, \"handler\": null, \"role\": \"rxtx\", \"queue\": 1, \"now\": "
                    "null, \"effective\": null, \"decision\": \"managed\", \"cpus\": null}");
        json_decref(json);
}

TEST(host) {
        IrqExample e;
        json_t *json = make(&e);

        assert_json(json_object_get(json_object_get(json, "interrupts"), "irqbalance"),
                    "{\"runs\": false, \"sent\": true, \"banned_cpus\": \"0-7\", \"banned_irqs\": "
                    "[31, 32]}");
        json_decref(json);
        e.host.irqbalance.pid = 5;
        json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_interrupts(j, &e.host, &e.plan));
        assert_json(
                json_object_get(json_object_get(json_object_get(json, "interrupts"), "irqbalance"),
                                "runs"),
                "true");
        json_decref(json);
}
