/* Plans of instances and of interrupts for people and as JSON. */
#include "../../support/test.h"

#include "../../support/json-check.h"
#include "irq-example.h"
#include "plan-example.h"
#include "tidbnumad/publish/plan-json.h"
#include "tidbnumad/publish/plan-text.h"

/* --- sentences about places: each basis, each criterion, sets and sizes for people --- */

static void check_why(const PlanReportInstance *instance, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        plan_words_why(instance, &text);
        assert_string_equal(text.data, expected);
}

PLAN_TEST(basis) {
        check_why(&e->instances[0], "nearest to its device (R4); leaves reserved nodes free (R2)");
        check_why(&e->instances[1], "it is bound there and still fits");
        check_why(&e->instances[2], placement_refusal_to_string(REFUSAL_TOO_FEW_NODES));
        check_why(&e->instances[3], "its policy names the node");
        e->choices[3].placement.nodes = node_set("0-1");
        check_why(&e->instances[3], "its policy names the nodes");
        e->instances[0].bound = true;
        check_why(&e->instances[0], "it is bound there and still fits");
        e->instances[1].bound = false;
        check_why(&e->instances[1], "it is placed there and still fits");
        e->instances[0].bound = false;
        e->choices[0].grounds.outdone = true;
        check_why(&e->instances[0], "an earlier plan placed it there");
        e->instances[2].unplaced = "released on request";
        check_why(&e->instances[2], "released on request");
}

static void decide(PlacementChoice *i, uint32_t criteria) {
        i->grounds = (PlacementGrounds){ .decides = criteria };
}

PLAN_TEST(chosen) {
        PlacementChoice *i = &e->choices[0];

        decide(i, 1 << WEIGH_LOAD | 1 << WEIGH_EXCLUSIVE);
        check_why(&e->instances[0], "alone on its node (R3); its CPUs are the least loaded");
        decide(i, 1 << WEIGH_LOAD | 1 << WEIGH_EXCLUSIVE | 1 << WEIGH_RESERVED);
        /* Two suffice: the weightiest, and that of the nearest rivals. */
        check_why(&e->instances[0], "alone on its node (R3); its CPUs are the least loaded");
        e->choices[0].placement.nodes = node_set("0-1");
        decide(i, 1 << WEIGH_NUMBER | 1 << WEIGH_EXCLUSIVE);
        check_why(&e->instances[0],
                  "alone on its nodes (R3); of equal nodes the lowest number"); /* a tie is one */
        decide(i, 1 << WEIGH_NUMBER);
        check_why(&e->instances[0], "a tie with other nodes; the lowest number is taken");
        e->instances[0].in_force = node_set("1"); /* it is to have one more */
        decide(i, 1 << WEIGH_STABILITY);
        check_why(&e->instances[0], "it is bound to a part of them");
        decide(i, 1 << WEIGH_NUMBER);
        i->n_alternatives = 0; /* what is kept of them does not matter */
        check_why(&e->instances[0], "a tie with other nodes; the lowest number is taken");
        decide(i, 0);
        check_why(&e->instances[0], "a tie with other nodes");
        i->n_feasible = 1;
        check_why(&e->instances[0], "no other nodes are available to it");
}

/* Where there are too few nodes for all, the best place is not said to be its own. */
PLAN_TEST(chosen_and_shared) {
        PlacementChoice *i = &e->choices[0];

        decide(i, 1 << WEIGH_EXCLUSIVE | 1 << WEIGH_SPREAD);
        check_why(&e->instances[0], "alone on its node (R3); one per socket");
        i->grounds.others = 2;
        check_why(&e->instances[0], "no other exclusive instance on its node (R3); one per socket");
        i->grounds.exclusive = i->grounds.in_sockets = 1;
        check_why(&e->instances[0],
                  "fewest exclusive instances on its node (R3); spread over the sockets");
        decide(i, 1 << WEIGH_POLICY | 1 << WEIGH_RESERVED);
        check_why(&e->instances[0],
                  "no other of its policy on its node (R3); leaves reserved nodes free (R2)");
        i->grounds.of_policy = 1;
        i->reserved = node_set("1");
        check_why(&e->instances[0],
                  "fewest of its policy on its node (R3); fewest reserved nodes (R2)");
        decide(i, 1 << WEIGH_MEMORY);
        check_why(&e->instances[0], "has the memory for it (R10)");
        i->warnings = WARN_MEMORY;
        check_why(&e->instances[0], "lacks the least memory (R10)");
}

PLAN_TEST(alternative) {
        _cleanup_text_ Text text = { 0 };

        plan_words_alternative(&e->alternatives[0], &text);
        assert_string_equal(text.data, "node 0: device 32 against 10 (R4)");
        text_reset(&text);
        e->alternatives[1].criterion = WEIGH_SPREAD;
        plan_words_alternative(&e->alternatives[1], &text);
        assert_string_equal(text.data, "nodes 0-1: spread 1 against 0");
}

TEST(criteria_have_words) {
        for (unsigned c = 0; c < N_CRITERIA; c++)
                assert_true(strlen(plan_words_criterion(c)) > 10);
}

static void check_set(const char *list, const char *expected) {
        const CpuSet set = cpu_set(list);
        _cleanup_text_ Text text = { 0 };

        plan_words_set(ID_VIEW(&set), &text);
        assert_string_equal(text.data, expected);
}

TEST(sets) {
        _cleanup_text_ Text text = { 0 };
        CpuSet many = { 0 };

        check_set("", "-");
        check_set("0-3,8", "0-3,8");
        check_set("0,2,4,6,8,10,12,14,16,1", "0-2,4,6,8,10,12,14,16");
        check_set("0,2,4,6,8,10,12,14,16,8", "0,2,4,6,8,10,12,14,16");
        check_set("100,102,104,106,108,110", "100,102,104,106,108,110"); /* 23 */
        check_set("0,2,4,6,8,10,12,14,16,18,20", "0,2,…,20 (11)");
        check_set("100,102,104,106,108,110,112", "100,102,…,112 (7)");
        check_set("0-1023,2048-3071,4096-5119", "0-1023,…,4096-5119 (3072)");
        check_set("0-31,64-95,128-159,192-193", "0-31,…,192-193 (98)");
        for (uint32_t i = 0; i < CPU_SET_MAX; i += 2)
                id_set_add(&many, i);
        plan_words_set(ID_VIEW(&many), &text);
        assert_string_equal(text.data, "0,…,8190 (4096)");
}

static void check_bytes(uint64_t bytes, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        plan_words_bytes(bytes, &text);
        assert_string_equal(text.data, expected);
}

TEST(bytes) {
        check_bytes(0, "0 B");
        check_bytes(1023, "1023 B");
        check_bytes(1024, "1.0 KiB");
        check_bytes(1536, "1.5 KiB");
        check_bytes((UINT64_C(1) << 20) - 1, "1.0 MiB");
        check_bytes(UINT64_C(64) << 30, "64.0 GiB");
        check_bytes(UINT64_C(3) << 40, "3.0 TiB");
        check_bytes(UINT64_MAX, "16.0 EiB");
}

/* --- A whole plan as text, as an operator reads it --- */

PLAN_TEST(plan) {
        _cleanup_text_ Text text = { 0 };

        plan_table_render(&e->report, 0, &text);
        assert_string_equal(
                text.data,
                "INSTANCE    POLICY  NODES  CPUS       MEMORY     WHY\n"
                "tikv-1      tikv    1      4-7,12-15  bind       nearest to its device (R4)\n"
                "tikv-20160  tikv    1      4-7,12-15  bind       it is bound there and still "
                "fits\n"
                "pd-\\x1b[1m  pd      -      -          -          fewer nodes are available to it "
                "than place.count asks for; lower place.count or widen place.nodes\n"
                "pd-2        pd      0      0          preferred  its policy names the node\n"
                "\n"
                "NODE  SOCKET  CPUS       MEMORY    FREE     DEVICES          INSTANCES\n"
                "0     0       0-3,8-11   64.0 GiB  1.5 GiB  eth0             reserved; pd-2\n"
                "1     1       4-7,12-15  64.0 GiB  512 B    nvme0n1 nvme1n1  tikv-1 tikv-20160\n"
                "4     1       -          1.0 TiB   0 B                       no home: memory "
                "without CPUs\n"
                "?                                           sda\n"
                "\n"
                "warning: pd-2: it uses a reserved node: no other node was free when it was "
                "placed, or its device is there (R2)\n"
                "warning: tikv-20160: it is exclusive but shares a node with another exclusive "
                "instance: there are too few nodes, or their devices are on the same node (R3)\n"
                "warning: tikv-20160, pd-2: it is bound to other nodes than the plan gives it: it "
                "moves\n"
                "warning: tikv-20160: it has its own memory policy, interleave:0-7 (numactl?), "
                "which binding by affinity leaves as it is: its new memory comes from there; "
                "restart it without\n"
                "note: tikv-20160 is bound by affinity, so its memory is moved but not bound: its "
                "unit is shared\n"
                "note: imagined\n");
}

PLAN_TEST(own_memory_policy) {
        _cleanup_text_ Text affinity = { 0 }, unit = { 0 };

        e->instances[1].memory_policy = "bind:1"; /* its place */
        plan_table_render(&e->report, 0, &affinity);
        assert_null(strstr(affinity.data, "memory policy"));
        e->instances[1].bound_by = "unit";
        plan_table_render(&e->report, 0, &unit);
        assert_non_null(strstr(unit.data,
                               "warning: tikv-20160: it has its own memory policy, bind:1 "
                               "(numactl?), which the kernel changes when memory is bound: a "
                               "release cannot restore it; restart it without\n"));
}

PLAN_TEST(refused_is_not_bound) {
        const InstanceInfo refused = { .state = INSTANCE_REFUSED };
        _cleanup_text_ Text text = { 0 };

        e->instances[1].published = &refused;
        plan_table_render(&e->report, 0, &text);
        assert_null(strstr(text.data, "is bound by affinity"));
}

/* What is free of it is not known either. */
PLAN_TEST(unknown_memory) {
        _cleanup_text_ Text text = { 0 };

        e->nodes[1].memory_bytes = e->free_bytes[1] = 0;
        e->nodes[1].memory_unknown = true;
        plan_table_render(&e->report, 0, &text);
        assert_non_null(strstr(text.data, "4-7,12-15  ?         -"));
}

PLAN_TEST(nothing_to_place) {
        _cleanup_text_ Text text = { 0 };

        e->report.n_instances = e->report.notes.n_words = 0;
        e->report.free_bytes = NULL;
        e->report.devices = NULL;
        e->nodes[1].package = PACKAGE_UNKNOWN;
        e->nodes[1].memory_bytes = 0;
        e->nodes[1].memory_unknown = true;
        e->nodes[2].kind = NODE_GPU;
        plan_table_render(&e->report, 0, &text);
        assert_string_equal(
                text.data,
                "NODE  SOCKET  CPUS       MEMORY    FREE  DEVICES  INSTANCES\n"
                "0     0       0-3,8-11   64.0 GiB  -              reserved\n"
                "1     ?       4-7,12-15  ?         -\n"
                "4     1       -          1.0 TiB   -              no home: GPU memory\n");
}

/* Of what runs, the nodes that it has now and what is to be moved. */
PLAN_TEST(running) {
        _cleanup_text_ Text text = { 0 };

        for (size_t i = 0; i < PLAN_INSTANCES; i++)
                e->instances[i].pid = 7;
        e->instances[0].in_force = node_set("0");
        e->instances[0].cost_known = true;
        plan_table_render(&e->report, 0, &text);
        assert_non_null(strstr(text.data,
                               "INSTANCE    NOW  TO  CPUS       MOVE     WHY\n"
                               "tikv-1      0    1   4-7,12-15  -        nearest to its device "
                               "(R4)\n"
                               "tikv-20160  1    1   4-7,12-15  12 B     it is bound there and "
                               "still fits\n"
                               "pd-\\x1b[1m  -    -   -          -        fewer nodes "));
        assert_non_null(
                strstr(text.data, "\npd-2        -    0   0          unknown  its policy "));
}

PLAN_TEST(explain) {
        _cleanup_text_ Text text = { 0 };

        plan_table_explain(&e->report, &text);
        assert_string_equal(
                text.data,
                "tikv-1 on node 1: nearest to its device (R4); leaves reserved nodes free (R2)\n"
                "  node 0: device 32 against 10 (R4)\n"
                "  nodes 0-1: reserved 1 against 0 (R2)\n"
                "  … and 6 more\n"
                "tikv-20160 on node 1: it is bound there and still fits\n"
                "pd-\\x1b[1m is not placed: fewer nodes are available to it than place.count asks "
                "for; lower place.count or widen place.nodes\n"
                "pd-2 on node 0: its policy names the node\n"
                "\n"
                "Each number is a sum over the whole plan, with the instance on those nodes and as "
                "planned. Lower is better; the first difference decides:\n"
                "  device     summed distances from instances to their devices\n"
                "  reserved   reserved nodes that instances use\n");
}

/* Those that are not shown are counted. */
PLAN_TEST(alternatives) {
        _cleanup_text_ Text text = { 0 };

        e->choices[0].n_feasible = 3;
        plan_table_alternatives(&e->instances[0], &text);
        assert_string_equal(text.data, "  node 0: device 32 against 10 (R4)\n"
                                       "  nodes 0-1: reserved 1 against 0 (R2)\n");
        text_reset(&text);
        e->choices[0].n_feasible = 4;
        plan_table_alternatives(&e->instances[0], &text);
        assert_non_null(strstr(text.data, "\n  … and 1 more\n"));
}

PLAN_TEST(changes) {
        _cleanup_text_ Text text = { 0 };
        PlanChange changes[4];

        changes[0] = (PlanChange){ .name = "tikv-20160",
                                   .before = &e->instances[1],
                                   .after = &e->instances[1],
                                   .to = node_set("1") };
        changes[1] =
                (PlanChange){ .name = "gone", .before = &e->instances[0], .from = node_set("0-1") };
        changes[2] = (PlanChange){ .name = "tikv-1",
                                   .after = &e->instances[0],
                                   .from = node_set("0"),
                                   .to = node_set("1") };
        e->instances[3].pid = 5;
        changes[3] = (PlanChange){ .name = "pd-2", .after = &e->instances[3], .to = node_set("0") };
        plan_table_changes(changes, 4, 0, &text);
        assert_string_equal(text.data,
                            "INSTANCE    FROM  TO  MOVE     WHY\n"
                            "tikv-20160  -     1   12 B     it is bound there and still fits\n"
                            "gone        0-1   -   -        no policy matches it any more\n"
                            "tikv-1      0     1   -        nearest to its device (R4)\n"
                            "pd-2        -     0   unknown  its policy names the node\n");
        text_reset(&text);
        plan_table_changes(NULL, 0, 0, &text);
        assert_string_equal(text.data, "Nothing changes.\n");
}

/* --- A plan as JSON: every key that tidbnumactl(8) documents, with its value --- */

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

PLAN_TEST(plan_json_running) {
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
        e->nodes[1].memory_unknown = true;
        json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_report(j, &e->report));
        assert_json(json_object_get(at(json, "nodes", 1), "free_bytes"), "null");
        json_decref(json);
        e->report.devices = NULL;
        e->report.free_bytes = NULL;
        json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) plan_json_report(j, &e->report));
        assert_json(json_object_get(json, "devices"), "[]");
        assert_json(json_object_get(at(json, "nodes", 0), "free_bytes"), "null");
        json_decref(json);
}

PLAN_TEST(plan_json_changes) {
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

/* --- A plan of interrupts as text, as an operator reads it --- */

IRQ_TEST(irq_plan_table_plan) {
        _cleanup_text_ Text text = { 0 };

        irq_plan_table_render(&e->host, &e->plan, 0, &text);
        assert_string_equal(
                text.data,
                "DEVICE          NODE  SPEED        INTERRUPTS         CPUS   WHY\n"
                "eth0            1     25 Gbit/s    3 steered          1,8-9  to the reserved "
                "CPUs (R2)\n"
                "0000:\\x1b:00.0  ?     2500 Mbit/s  -                  -      it is in another "
                "network "
                "namespace\n"
                "nvme0           0     -            1 managed, 1 left  -      irqbalance "
                "distributes its interrupts, except to CPUs of instances (R11)\n"
                "irqbalance must leave alone CPUs 0-7 and 2 interrupts, once it runs\n");
}

static void assert_line(const IrqExample *e, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        irq_plan_line(&e->plan, &text);
        assert_string_equal(text.data, expected);
}

IRQ_TEST(one_line) {
        assert_line(e,
                    "Interrupts: 3 of eth0 to CPUs 1,8-9, 1 of nvme0 managed, 1 of nvme0 left\n");
        e->plan.devices++;
        e->plan.n_devices = 1; /* which has no interrupt here */
        assert_line(e, "Interrupts: none to steer\n");
        e->plan.devices += 2; /* what no entry names */
        assert_line(e, "Interrupts: no device matches an entry of irq\n");
}

static void assert_last_lines(const IrqExample *e, const char *expected) {
        _cleanup_text_ Text text = { 0 };
        const char *lines;

        irq_plan_table_render(&e->host, &e->plan, 0, &text);
        lines = strstr(text.data, "(R11)\n");
        assert_non_null(lines);
        assert_string_equal(lines + strlen("(R11)\n"), expected);
}

IRQ_TEST(what_irqbalance_is_told) {
        e->host.irqbalance.pid = 7;
        assert_last_lines(e, "irqbalance must leave alone CPUs 0-7 and 2 interrupts\n");
        e->plan.irqbalance.n_banned_irqs = 1;
        assert_last_lines(e, "irqbalance must leave alone CPUs 0-7 and 1 interrupt\n");
        e->plan.irqbalance.banned_cpus = cpu_set("");
        assert_last_lines(e, "irqbalance must leave alone 1 interrupt\n");
        e->plan.irqbalance.n_banned_irqs = 0;
        assert_last_lines(e, "");
        e->plan.irqbalance.banned_cpus = cpu_set("3");
        assert_last_lines(e, "irqbalance must leave alone CPUs 3\n");
        e->plan.irqbalance.sent = false;
        assert_last_lines(e, "");
}

IRQ_TEST(no_device) {
        _cleanup_text_ Text text = { 0 };

        e->plan.devices += 3; /* what no entry names */
        e->plan.n_devices = 1;
        e->plan.irqbalance.sent = false;
        irq_plan_table_render(&e->host, &e->plan, 0, &text);
        assert_string_equal(text.data, "No device matches an entry of irq.\n");
}

IRQ_TEST(irq_plan_table_explain) {
        _cleanup_text_ Text text = { 0 };

        irq_plan_table_explain(&e->plan, &text);
        assert_string_equal(
                text.data,
                "\n"
                "eth0: to the reserved CPUs (R2)\n"
                "  IRQ  HANDLER    FOR    NOW   TO\n"
                "  30   eth0       other  ?     1,8-9\n"
                "  31   eth0-rx-0  rx 0   0-15  9\n"
                "  32   -          tx 1   ?     9\n"
                "  transmit queue 0: CPUs 0-7\n"
                "  transmit queue 1: CPUs 8-15\n"
                "  receive queue 0: CPUs 8-9\n"
                "\n"
                "0000:\\x1b:00.0: it is in another network namespace\n"
                "\n"
                "nvme0: irqbalance distributes its interrupts, except to CPUs of instances (R11)\n"
                "  IRQ  HANDLER  FOR      NOW  TO\n"
                "  40   -        admin 0  ?    left\n"
                "  41   -        rxtx 1   ?    managed\n");
}

/* What was called before has left something on the stack. */
static void __attribute__((noinline)) fill_stack(void) {
        volatile unsigned char bytes[8192];

        for (size_t i = 0; i < sizeof(bytes); i++)
                bytes[i] = 0xa5;
}

IRQ_TEST(a_device_that_no_entry_names_is_not_explained) {
        _cleanup_text_ Text text = { 0 };

        e->plan.devices += 3;
        e->plan.n_devices = 1;
        fill_stack();
        irq_plan_table_explain(&e->plan, &text);
        assert_null(text.data);
}

/* --- A plan of interrupts as JSON: each key with its value, and null for what is not known --- */

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
