/* What each key allows for itself, and what still cannot be meant; and what is only warned of. The
 * refusals have samples of their own, in samples/contradictory. */

#include "load-support.h"

#include "tidbnumad/config/policy-check.h"

#define P V "policies:\n- name: a\n  match: {unit: a.scope}\n"

#define assert_warned(text, ...)                                                                   \
        do {                                                                                       \
                _cleanup_load_ Load _load = load_text(text);                                       \
                assert_messages(&_load.errors, (const char *const[]){ NULL });                     \
                assert_warnings(_load, __VA_ARGS__);                                               \
        } while (0)

TEST(count) {
        assert_errors(P "  place: {count: 9}\n", "a.yaml:5:18: `policies[].place.count` is 9, and "
                                                 "this machine has 8, expected at most that");
        assert_errors(P "  place: {count: 8, avoid: 3}\n",
                      "a.yaml:5:18: `policies[].place.count` is 8, and this machine less "
                      "`place.avoid` has 7, expected at most that");
        assert_errors(P "  place: {count: 5}\n",
                      "a.yaml:5:18: `policies[].place.count` is 5, and no socket of this machine "
                      "has more than 4, expected at most that, or `same_package: false` (it is "
                      "true by default)");
        assert_errors(P "  place: {count: 2, nodes: 3-4}\n",
                      "a.yaml:5:18: `policies[].place.count` is 2, and no socket of "
                      "`place.nodes` has more than 1, expected at most that, or `same_package: "
                      "false` (it is true by default)");
        assert_errors(P "  place: {count: 5, same_package: true}\n",
                      "a.yaml:5:18: `policies[].place.count` is 5, and no socket of this machine "
                      "has more than 4, expected at most that, or `same_package: false`");
        /* As many as there are; not written; not asked for. */
        assert_warned(P "  place: {count: 8, same_package: false}\n", NULL);
        assert_warned(P "  place: {count: 4, same_package: true}\n", NULL);
        assert_warned(P "  place: {count: 5, same_package: false}\n", NULL);
        assert_warned(P "  place: {count: auto, nodes: 0-5, same_package: true}\n", NULL);
        assert_warned(P "  place: {nodes: 3-4}\n", NULL);
        assert_warned(P "  place: {nodes: 3-4, same_package: false}\n", NULL);
        assert_warned(P "  place: {nodes: 4-7, same_package: true}\n", NULL);
}

TEST(avoid) {
        assert_warned(P "  place: {avoid: [1, 9-10]}\n",
                      "a.yaml:5:18: `policies[].place.avoid` names node 9-10, which this machine "
                      "does not have");
        assert_warned(P "  place: {avoid: 1-2}\n"
                        "  instances:\n"
                        "  - {match: {port: 1}, nodes: 2-3}\n"
                        "  - {match: {port: 2}, nodes: 4}\n",
                      "a.yaml:7:31: node 2 is in `place.avoid` of line 5, but used here");
        assert_warned(P "  place: {nodes: 0-3, avoid: 3}\n", NULL);
}

TEST(entries) {
        static const char *const entries = "  instances:\n"
                                           "  - {match: {port: 1}, nodes: 2-3}\n"
                                           "  - {match: {port: 2}, nodes: 4}\n"
                                           "  - {match: {port: 3}, nodes: [3, 4, 5]}\n";

        assert_warned(
                fmt(P "  place: {share: exclusive}\n%s", entries),
                "a.yaml:9:31: node 3-4 is also used by another entry of `instances`, "
                "and the policy sets `share: exclusive`, expected different nodes, or `share: "
                "shared`");
        assert_warned(fmt(P "%s", entries),
                      "a.yaml:8:31: node 3-4 is also used by another entry of `instances`, and the "
                      "policy is exclusive, as it is by default, expected different nodes, or "
                      "`share: shared`");
        assert_warned(fmt(P "  place: {share: shared}\n%s", entries), NULL);
}

/* A CPU that is offline may be of any node. */
TEST(cpus) {
        assert_warned(P "  place: {nodes: 6-7}\n  cpus: 27-31\n", NULL);
        assert_warned(P "  cpus: 0,31\n", NULL);
        assert_warned(P "  place: {count: 1, nodes: 0-3}\n  cpus: 30\n", NULL);
        assert_errors(P "  place: {nodes: 1}\n  cpus: [3-4, 31]\n",
                      "a.yaml:6:9: `policies[].cpus` names CPU 3, which node 1 in line 5 does not "
                      "have, expected some of 4-7");
}

/* Each node gets some, or its memory is bound to without a CPU beside it. */
TEST(cpus_of_each_node) {
        assert_errors(P "  place: {nodes: 0-1}\n  cpus: 0-3\n",
                      "a.yaml:6:9: `policies[].cpus` has no CPU of node 1, which line 5 names, "
                      "expected some of 4-7 as well, or nodes without that one");
        assert_errors(P "  place: {count: 2}\n  cpus: 0-3\n",
                      "a.yaml:6:9: `policies[].cpus` has CPUs of 1 node, and "
                      "`policies[].place.count` in line 5 is 2, expected CPUs of as many nodes, or "
                      "a lower count");
        assert_warned(P "  place: {nodes: 0-1}\n  cpus: 3-4\n", NULL);
        assert_warned(P "  place: {count: 2}\n  cpus: 3-4\n", NULL);
}

/* Node 5 has no memory, node 6 no CPUs. */
static Topology lacking_nodes(Node nodes[static 8]) {
        Topology topology = *eight_nodes();

        memcpy(nodes, topology.nodes, 8 * sizeof(nodes[0]));
        nodes[5].memory_bytes = 0;
        nodes[6].cpus = (CpuSet){ 0 };
        topology.nodes = nodes;
        return topology;
}

/* What the planner refuses, in its own words: test-placement-rules has the same nodes. */
TEST(nodes_that_lack_something) {
        static const char no_memory[] =
                "a.yaml:5:18: nothing can be placed on node 5: its nodes have no memory, which "
                "memory: bind needs; name a node with memory, or set memory: preferred or none";
        static const char no_cpu[] = "a.yaml:5:18: nothing can be placed on node 6: its nodes have "
                                     "no online CPU; name a node with CPUs";
        static const char few_homes[] = "a.yaml:5:18: `policies[].place.count` is 8, and this "
                                        "machine has 6 with CPUs and memory now, expected at "
                                        "most that";
        static const struct {
                const char *text, *error, *warning;
        } rows[] = {
                { P "  place: {nodes: 5}\n", NULL, no_memory },
                { P "  place: {nodes: 5}\n  memory: none\n", NULL,
                  "a.yaml:5:18: node 5 has no memory: all memory that its CPUs use is remote" },
                { P "  place: {nodes: 5}\n  memory: preferred\n", NULL,
                  "a.yaml:5:18: node 5 has no memory: all memory that its CPUs use is remote" },
                { P "  place: {nodes: 4-5}\n", NULL,
                  "a.yaml:5:18: node 5 has no memory: all memory that its CPUs use is remote" },
                { P "  place: {nodes: 5-6}\n", NULL, NULL },
                { P "  place: {nodes: 6}\n", NULL, no_cpu },
                { P "  place: {count: 8, same_package: false}\n", NULL, few_homes },
                { P "  place: {count: 6, same_package: false}\n", NULL, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Node nodes[8];
                Topology topology = lacking_nodes(nodes);
                _cleanup_load_ Load load = { 0 };

                load = load_on(&topology, rows[i].text);
                assert_messages(&load.errors, (const char *const[]){ rows[i].error, NULL });
                assert_messages(&load.warnings, (const char *const[]){ rows[i].warning, NULL });
        }
}

#define A "- {name: a, match: {unit: a.scope}, "
#define B "- {name: b, match: {unit: b.scope}, "

TEST(pairs) {
        assert_warned(V "policies:\n" A "place: {nodes: 0-1}}\n" B "place: {nodes: [1]}}\n",
                      "a.yaml:4:52: policy `b` names node 1, and so does policy `a` (a.yaml:3); "
                      "both are exclusive, as they are by default, expected different nodes, or "
                      "`share: shared`");
        assert_warned(V
                      "policies:\n" A "place: {nodes: 0-1, share: exclusive}}\n" B
                      "instances: [{match: {port: 1}, nodes: 3}, {match: {port: 2}, nodes: 1}]}\n",
                      "a.yaml:4:105: policy `b` names node 1, and so does policy `a` (a.yaml:3); "
                      "both are exclusive, as they are by default, expected different nodes, or "
                      "`share: shared`");
        assert_warned(V "policies:\n" A "place: {nodes: 0}}\n" B
                        "place: {nodes: 0, share: shared}}\n",
                      NULL);
        assert_warned(V "policies:\n" A "place: {nodes: 0}}\n" B "place: {nodes: 1}}\n", NULL);
        /* Nodes to choose from are not explicit. */
        assert_warned(V "policies:\n" A "place: {nodes: 0-3, count: 2, share: exclusive}}\n" B
                        "place: {nodes: 0-3, share: exclusive}}\n",
                      NULL);
}

/* A policy that is replaced cannot contradict another one. */
TEST(pairs_in_force) {
        _cleanup_load_ Load load =
                load_two(V "policies:\n" A "place: {nodes: 0, share: exclusive}}\n" B
                           "place: {nodes: 1, share: exclusive}}\n",
                         V "policies:\n" A "place: {nodes: 1, share: exclusive}}\n" B
                           "place: {nodes: 0, share: exclusive}}\n");

        assert_int_equal(load.result, 0);
        assert_warnings(load, NULL);
}

/* One error does not call forth another. */
TEST(faulty_is_left_out) {
        assert_errors(V "policies:\n" A "place: {nodes: 0, share: exclusive}, memroy: bind}\n" B
                        "place: {nodes: 0, share: exclusive}}\n",
                      "a.yaml:3:74: unknown key `memroy` in `policies[]`, did you mean `memory`?");
        assert_errors(P "  place: {count: 4, nodes: [0, 99]}\n",
                      "a.yaml:5:32: `policies[].place.nodes` names node 99, which this machine "
                      "does not have, expected some of 0-7");
}

TEST(reserve) {
        _cleanup_load_ Load load = load_two(V "host: {reserve: {nodes: nic, devices: eth0}}\n",
                                            V "host: {reserve: {nodes: 0}}\n");

        assert_warnings(load, "etc/a.yaml:2:39: `host.reserve.devices` has no effect, because "
                              "`host.reserve.nodes` is not `nic`, and no policy has `near: nic`");
        assert_warned(V "host: {reserve: {nodes: nic, devices: eth0}}\n", NULL);
        assert_warned(V "host: {reserve: {devices: []}}\n", NULL);
        assert_warned(V "host: {reserve: {devices: eth0}}\npolicies:\n"
                        "- {name: a, match: {unit: a.service}, place: {near: nic}}\n",
                      NULL);
}

/* Processes of the policy `b`, of which one listens on port 2. */
static bool matches_b(const Policy *policy, const PolicyInstance *entry, void *userdata) {
        (void)userdata;
        return strcmp(policy->name, "b") == 0 && (!entry || entry->match.port == 2);
}

TEST(entries_matched) {
        _cleanup_load_ Load load = load_text(V "policies:\n"
                                               "- name: b\n"
                                               "  match: {unit: b.scope}\n"
                                               "  instances:\n"
                                               "  - {match: {port: 1}, nodes: 2}\n"
                                               "  - {match: {port: 2}, nodes: 4}\n"
                                               "- name: a\n"
                                               "  match: {unit: a.scope}\n"
                                               "  instances: [{match: {port: 1}, nodes: 3}]\n");
        _cleanup_diagnostics_ Diagnostics warnings = { 0 };

        policy_check_matched(&load.set, matches_b, NULL, &load.files, &warnings);
        assert_messages(&warnings,
                        (const char *const[]){ "a.yaml:6:5: this entry of `instances` matches no "
                                               "process of policy `b` on this host now",
                                               "a.yaml:8:3: policy `a` matches nothing on this "
                                               "host now",
                                               NULL });
}

TEST(matched) {
        _cleanup_load_ Load load = load_two(V "policies: [{name: a, match: {unit: a.scope}}, "
                                              "{name: b, match: {unit: b.scope}}, "
                                              "{name: u, match: {exe: u, user: nobody-here}}]\n",
                                            V "policies:\n- name: c\n  match: {unit: c.scope}\n");
        _cleanup_diagnostics_ Diagnostics warnings = { 0 }, bare = { 0 };
        _cleanup_load_ Load empty = load_text(V);

        policy_check_matched(&load.set, matches_b, NULL, &load.files, &warnings);
        assert_messages(&warnings, (const char *const[]){ "etc/a.yaml:2:12: policy `a` matches "
                                                          "nothing on this host now",
                                                          "etc/b.yaml:3:3: policy `c` matches "
                                                          "nothing on this host now",
                                                          NULL });
        assert_string_equal(warnings.details[1].excerpt, "- name: c\n  ^");
        policy_check_matched(&load.set, matches_b, NULL, NULL, &bare);
        assert_int_equal(bare.n_messages, 2);
        assert_null(bare.details[0].excerpt);
        policy_check_matched(&empty.set, matches_b, NULL, &empty.files, &bare);
        assert_int_equal(bare.n_messages, 2);
}

/* Without a machine nothing is asked of it. */
TEST(no_topology) {
        static const char text[] = P "  place: {count: 900, avoid: 0-1000}\n  cpus: 8000\n";
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_policy_set_ PolicySet set = { 0 };

        assert_int_equal(source_file_list_add(&files, "a.yaml", text, strlen(text)), 0);
        assert_int_equal(policy_set_parse(&files, NULL, NULL, &set, &errors, &warnings), 0);
        assert_int_equal(warnings.n_messages, 0);
}

/* Nodes 0 and 3 have CPUs and memory, node 1 no memory, and node 2 no CPUs; nobody knows their
 * sockets. */
static void load_uneven(const char *text, Diagnostics *errors, Diagnostics *warnings) {
        Node nodes[] = { { .id = 0, .package = PACKAGE_UNKNOWN, .memory_bytes = 1 << 30 },
                         { .id = 1, .package = PACKAGE_UNKNOWN },
                         { .id = 2, .package = PACKAGE_UNKNOWN, .memory_bytes = 1 << 30 },
                         { .id = 3, .package = PACKAGE_UNKNOWN, .memory_bytes = 1 << 30 } };
        const Topology topology = { .nodes = nodes, .n_nodes = ELEMENTSOF(nodes) };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_policy_set_ PolicySet set = { 0 };

        id_set_add(&nodes[0].cpus, 0);
        id_set_add(&nodes[1].cpus, 1);
        id_set_add(&nodes[3].cpus, 3);
        assert_int_equal(source_file_list_add(&files, "a.yaml", text, strlen(text)), 0);
        (void)policy_set_parse(&files, &topology, NULL, &set, errors, warnings);
}

TEST(unknown_sockets) {
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, none = { 0 }, warnings = { 0 };

        /* The placement never takes two nodes of unknown sockets for one socket, … */
        load_uneven(P "  place: {count: 2}\n", &errors, &warnings);
        assert_messages(&errors,
                        (const char *const[]){ "a.yaml:5:18: `policies[].place.count` is 2, and no "
                                               "socket of this machine has more than 1, expected "
                                               "at most that, or `same_package: false` (it is true "
                                               "by default)",
                                               NULL });
        /* … nor for two where the operator has named them. */
        load_uneven(P "  place: {nodes: [0, 2], same_package: true}\n", &none, &warnings);
        assert_messages(&none, (const char *const[]){ NULL });
        assert_messages(&warnings, (const char *const[]){ NULL });
}

TEST(node_without_memory) {
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };

        load_uneven(P "  place: {nodes: 0-1}\n", &errors, &warnings);
        load_uneven(P "  place: {nodes: 0-2}\n", &errors, &warnings);
        assert_messages(&errors, (const char *const[]){ NULL });
        assert_messages(&warnings,
                        (const char *const[]){ "a.yaml:5:18: node 1 has no memory: all memory that "
                                               "its CPUs use is remote",
                                               NULL });
}

/* A card that is not there decides nothing, and the operator would not notice. */
TEST(cards) {
        assert_errors(V "host: {reserve: {nodes: nic, devices: eth7}}\n",
                      "a.yaml:2:39: `host.reserve.devices` names the network card eth7, which this "
                      "machine does not have, expected some of eth0, eth1");
        assert_errors(V "host: {reserve: {nodes: nic, devices: [eth1, nvme0n1]}}\n",
                      "a.yaml:2:46: `host.reserve.devices` names the network card nvme0n1, which "
                      "this machine does not have, expected some of eth0, eth1");
}

/* In a container without a card of its own any name will do. */
TEST(no_cards) {
        static const char text[] = V "host: {reserve: {nodes: nic, devices: eth7}}\n";
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        const DeviceList none = { 0 }, *const lists[] = { NULL, &none };

        assert_int_equal(source_file_list_add(&files, "a.yaml", text, strlen(text)), 0);
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                _cleanup_policy_set_ PolicySet set = { 0 };

                assert_int_equal(policy_set_parse(&files, NULL, lists[i], &set, &errors, &warnings),
                                 0);
        }
}

TEST(idle_keys) {
        assert_warned(P "  on_full: keep\n  memory: preferred\n",
                      "a.yaml:5:12: `policies[].on_full` has no effect with `memory: preferred`, "
                      "only with `memory: bind`");
        assert_warned(P "  on_full: keep\n  memory: none\n",
                      "a.yaml:5:12: `policies[].on_full` has no effect with `memory: none`, only "
                      "with `memory: bind`");
        assert_warned(P "  rate: 64MiB/s\n  migrate: kernel\n",
                      "a.yaml:5:9: `policies[].rate` has no effect with `migrate: kernel`, only "
                      "with `migrate: gentle`");
        assert_warned(P "  rate: 1023KiB/s\n", "a.yaml:5:9: `policies[].rate` is below 1MiB/s: "
                                               "moving 1 GiB takes more than 17 minutes");
        assert_warned(P "  rate: 1MiB/s\n  migrate: gentle\n  on_full: keep\n", NULL);
        assert_warned(P "  migrate: none\n  memory: none\n", NULL);
        assert_warned(P "  backend: affinity\n  memory_limit: share\n",
                      "a.yaml:6:17: `policies[].memory_limit` has no effect with `backend: "
                      "affinity`, which changes no unit");
        assert_warned(P "  backend: affinity\n  memory_limit: none\n", NULL);
        assert_warned(P "  backend: affinity\n  on_full: keep\n",
                      "a.yaml:6:12: `policies[].on_full` has no effect with `backend: affinity`, "
                      "which cannot bind memory");
        assert_warned(P "  backend: affinity\n  memory: bind\n",
                      "a.yaml:6:11: `policies[].memory: bind` is treated as `preferred` with "
                      "`backend: affinity`, which cannot bind memory");
        assert_warned(P "  backend: affinity\n", NULL);
        assert_warned(P "  backend: affinity\n  memory: preferred\n", NULL);
}

TEST(entries_twice) {
        assert_errors(P "  instances:\n"
                        "  - {match: {port: 1}, nodes: 2}\n"
                        "  - {match: {unit: b.scope}, nodes: 3}\n"
                        "  - {match: {port: 1}, nodes: 4}\n"
                        "  - {match: {unit: b.scope}, nodes: 5}\n"
                        "  - {match: {unit: c.scope, port: 2}, nodes: 6}\n"
                        "  - {match: {unit: c.scope, port: 2}, nodes: 6}\n",
                      "a.yaml:8:5: a second entry of `instances` for the same port, expected one; "
                      "the first is in line 6",
                      "a.yaml:9:5: a second entry of `instances` for the same unit, expected one; "
                      "the first is in line 7",
                      "a.yaml:11:5: a second entry of `instances` for the same unit and port, "
                      "expected one; the first is in line 10");
}

#define HAS_NO_EFFECT                                                                              \
        ": this entry of `instances` has no effect: that in line 6 is before it and matches the "  \
        "same; put the narrower one first"

TEST(entries_shadowed) {
        assert_warned(P "  instances:\n"
                        "  - {match: {unit: \"b-*.scope\"}, nodes: 2}\n"
                        "  - {match: {unit: b-1.scope, port: 4}, nodes: 3}\n"
                        "  - {match: {unit: \"b-[12].scope\"}, nodes: 4}\n",
                      "a.yaml:7:5" HAS_NO_EFFECT, "a.yaml:8:5" HAS_NO_EFFECT);
        assert_warned(P "  instances:\n"
                        "  - {match: {unit: b-1.scope, port: 4}, nodes: 3}\n"
                        "  - {match: {unit: \"b-?.scope\", port: 5}, nodes: 2}\n"
                        "  - {match: {unit: \"b-*.scope\", port: 5}, nodes: 1}\n"
                        "  - {match: {port: 4}, nodes: 4}\n"
                        "  - {match: {unit: \"b-1*\"}, nodes: 5}\n",
                      NULL);
}

TEST(policies_shadowed) {
        assert_warned(V "policies:\n"
                        "- {name: a, match: {exe: x, unit: \"a-*.service\"}}\n"
                        "- {name: b, match: {exe: /opt/x, unit: a-1.service, user: u}}\n"
                        "- {name: c, match: {exe: /opt/x, unit: b-1.service, user: u}}\n"
                        "- {name: d, match: {exe: x, unit: a-1.service, containers: true}}\n",
                      "a.yaml:4:3: policy `b` has no effect: policy `a` (a.yaml:3) is before it "
                      "and matches all of its processes; put the narrower one first");
        assert_warned(V "policies:\n"
                        "- {name: a, match: {exe: /opt/x, unit: a.service, args: \"*y*\"}}\n"
                        "- {name: b, match: {exe: x, unit: a.service}}\n"
                        "- {name: c, match: {unit: a.service, user: u}}\n"
                        "- {name: d, match: {unit: a.service}}\n",
                      NULL);
}

TEST(irqs_shadowed) {
        assert_warned(V "irq:\n"
                        "- match: {net: [\"eth*\", ib0], nvme: nvme0}\n"
                        "- match: {net: eth1}\n"
                        "- match: {net: [eth2, ib1]}\n"
                        "- match: {net: ib0, nvme: nvme1}\n",
                      "a.yaml:4:3: this entry of `irq` has no effect: that in a.yaml:3 is before "
                      "it and matches the same devices; put the narrower one first");
}

TEST(irqs_of_a_disk) {
        assert_warned(V "irq:\n"
                        "- match: {nvme: [nvme0, \"nvme1*\"]}\n"
                        "- match: {nvme: nvme2n1}\n",
                      "a.yaml:4:3: `irq[].match.nvme` has the name of a disk, nvme2n1, which no "
                      "controller has; name its controller, such as nvme0 (ls /sys/class/nvme)");
        assert_warned(V "irq: [{match: {nvme: \"nvme[0-3]n*\"}}]\n",
                      "a.yaml:2:7: `irq[].match.nvme` has the name of a disk, nvme[0-3]n*, which "
                      "no controller has; name its controller, such as nvme0 (ls "
                      "/sys/class/nvme)");
}

TEST(steer_reserved) {
        _cleanup_load_ Load load = load_two(V "irq: [{match: {net: eth0}, steer: reserved}]\n",
                                            V "host: {reserve: {nodes: 0}}\n");

        assert_warnings(load, NULL);
        assert_warned(V "irq: [{match: {net: eth0}, steer: reserved}]\n",
                      "a.yaml:2:7: `steer: reserved` has no CPUs to steer to, because no node "
                      "and no CPU is reserved; set `host.reserve.nodes` or `host.reserve.cpus`");
        assert_warned(V "host: {reserve: {cpus: 1}}\n"
                        "irq: [{match: {net: eth0}, steer: reserved}]\n",
                      NULL);
}

TEST(reserved_cpus_without_effect) {
        assert_warned(V "host: {reserve: {nodes: nic, cpus: auto}}\n",
                      "a.yaml:2:36: `host.reserve.cpus` has no effect, because "
                      "`host.reserve.nodes: nic` reserves the whole node; remove one of the two");
        assert_warned(V "host: {reserve: {nodes: nic}}\n", NULL);
        assert_warned(V "host: {reserve: {nodes: nic, cpus: 0}}\n", NULL);
}

/* Machine of these tests: see load-support.h. */
TEST(all_nodes_reserved) {
        assert_warned(V "host: {reserve: {nodes: 0-7, strict: true}}\n",
                      "a.yaml:2:25: `host.reserve.nodes` reserves every node that instances can "
                      "have, and `host.reserve.strict` is true: only those are placed whose policy "
                      "names their nodes; leave out a node");
        assert_warned(V "host: {reserve: {nodes: 0-7}}\n", NULL);
        assert_warned(V "host: {reserve: {nodes: 0-6, strict: true}}\n", NULL);
}

TEST(more_reserved_cpus_than_a_node_has) {
        assert_warned(V "host: {reserve: {cpus: 4}}\n",
                      "a.yaml:2:24: `host.reserve.cpus` is 4, and no node of this machine has more "
                      "than 4 cores, expected fewer than that: one core of the node remains for "
                      "instances");
        assert_warned(V "host: {reserve: {cpus: 3}}\n", NULL);
        assert_warned(V "host: {reserve: {cpus: auto}}\n", NULL);
}

/* --- A file that loses its policies without a word releases nothing --- */

#define ONE(name) "  - {name: " name ", match: {exe: " name "-server, user: root}}\n"
#define POLICIES V "policies:\n"

static char *beside(const char *path) {
        return strcmp(path, "renamed.yaml") == 0 ? strdup("renamed.yaml~") : NULL;
}

/* Pairs of a path and a text. */
static Load load_pairs(const char *const *pairs) {
        Load load = { 0 };

        for (size_t i = 0; pairs[i]; i += 2)
                assert_int_equal(source_file_list_add(&load.files, pairs[i], pairs[i + 1],
                                                      strlen(pairs[i + 1])),
                                 0);
        load_run(&load);
        assert_int_equal(load.result, 0);
        return load;
}

TEST(what_a_file_has_lost) {
        static const struct {
                const char *before[5], *after[5], *error; /* of `error` the beginning; NULL: none */
        } cases[] = {
                { { "a.yaml", POLICIES ONE("tidb") }, { "a.yaml", V }, "a.yaml: has no policies" },
                { { "a.yaml", POLICIES ONE("tikv") ONE("pd") },
                  { "a.yaml", V "host: {numa_balancing: off}\n" },
                  "a.yaml: has no policies" },
                /* of several files, one */
                { { "a.yaml", POLICIES ONE("tidb"), "b.yaml", POLICIES ONE("tikv") },
                  { "a.yaml", POLICIES ONE("tidb"), "b.yaml", V },
                  "b.yaml: has no policies" },
                { { "a.yaml", POLICIES ONE("tidb"), "renamed.yaml", POLICIES ONE("tikv") },
                  { "a.yaml", POLICIES ONE("tidb") },
                  "renamed.yaml: is gone" },
                { { "renamed.yaml", POLICIES ONE("tikv") }, { NULL }, "renamed.yaml: is gone" },
                /* a part has moved, the rest is lost */
                { { "a.yaml", POLICIES ONE("tidb") ONE("tikv") },
                  { "a.yaml", V, "b.yaml", POLICIES ONE("tidb") },
                  "a.yaml: has no policies" },
                /* meant */
                { { "a.yaml", POLICIES ONE("tidb") }, { "a.yaml", V "policies: []\n" }, NULL },
                { { "a.yaml", POLICIES ONE("tidb") }, { NULL }, NULL },
                { { "a.yaml", POLICIES ONE("tidb") }, { "a.yaml", POLICIES ONE("pd") }, NULL },
                { { "a.yaml", POLICIES ONE("tidb"), "b.yaml", POLICIES ONE("tikv") },
                  { "a.yaml", POLICIES ONE("tidb") },
                  NULL },
                /* all of it has moved */
                { { "a.yaml", POLICIES ONE("tidb") },
                  { "a.yaml", V, "b.yaml", POLICIES ONE("tidb") },
                  NULL },
                { { "renamed.yaml", POLICIES ONE("tidb") },
                  { "b.yaml", POLICIES ONE("tidb") },
                  NULL },
                /* it had none before */
                { { "a.yaml", V }, { "a.yaml", V }, NULL },
                { { NULL }, { "a.yaml", V }, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_load_ Load before = load_pairs(cases[i].before),
                                    after = load_pairs(cases[i].after);
                _cleanup_diagnostics_ Diagnostics errors = { 0 };

                policy_check_lost(&before.set, &after.set, &after.files, beside, &errors);
                if (errors.n_messages != (cases[i].error ? 1 : 0) ||
                    (cases[i].error &&
                     strncmp(errors.messages[0], cases[i].error, strlen(cases[i].error)) != 0))
                        fail_msg("case %zu: %s", i,
                                 errors.n_messages > 0 ? errors.messages[0] : "nothing");
        }
}
