/* Every refusal, with its exact message: where, what is wrong, what was expected. */

#include "load-support.h"
#include "refuse-support.h"

TEST(syntax) {
        assert_errors(V "---\n" V,
                      "a.yaml:2:1: a second document, expected one document in a file");
}

TEST(tricks) {
        assert_errors("version: !!int 1\n", "a.yaml:1:10: a tag (`!`), expected the value alone");
        assert_errors(V "policies: !x {}\n", "a.yaml:2:11: a tag (`!`), expected the value alone");
        assert_errors(V "sampling: !x []\n", "a.yaml:2:11: a tag (`!`), expected the value alone");
        assert_errors(V "a: \"x\\0y\"\n",
                      "a.yaml:2:4: a NUL character inside a value, expected text");
        assert_errors("<<: {version: 1}\n",
                      "a.yaml:1:1: a merge key (`<<`) is not supported, expected the keys "
                      "themselves; an alias (`*`) can replace a whole value");
        assert_errors(V "'<<': {version: 1}\n",
                      "a.yaml:2:1: unknown key `<<` at the top, expected one of `version`, "
                      "`host`, `policies`, `irq`, `sampling`, `enforcement`");
}

TEST(bounds) {
        _cleanup_text_ Text many = { 0 };

        assert_errors(V "irq: [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]\n",
                      "a.yaml:2:21: nested too deep, expected at most 16 levels");
        text_append(&many, "[");
        for (unsigned i = 1; i < YAML_NODES_MAX; i++)
                text_append(&many, "a,");
        text_append(&many, "a]"); /* with the list itself one too many */
        assert_errors(many.data,
                      "a.yaml:1:100000: too much in one file, expected at most 50000 values");
}

TEST(shape) {
        assert_errors("text\n", "a.yaml:1:1: the file is `text`, expected a mapping with "
                                "`version: 1`");
        assert_errors("- a\n", "a.yaml:1:1: the file is a list, expected a mapping with "
                               "`version: 1`");
        assert_errors(V "policies: {}\n",
                      "a.yaml:2:11: `policies` is a mapping, expected a list of mappings");
        assert_errors(V "policies:\n",
                      "a.yaml:2:10: `policies` is empty, expected a list of mappings");
        assert_errors(V "policies: [a, [], ~]\n",
                      "a.yaml:2:12: an entry of `policies` is `a`, expected a mapping",
                      "a.yaml:2:15: an entry of `policies` is a list, expected a mapping",
                      "a.yaml:2:19: an entry of `policies` is empty, expected a mapping");
        assert_errors(P "  place: 3\n",
                      "a.yaml:5:10: `policies[].place` is `3`, expected a mapping such as "
                      "{count: 1}");
        assert_errors(
                P "  place: {nodes: []}\n",
                "a.yaml:5:18: `policies[].place.nodes` is a list (it is empty), " NODES_EXPECTED);
        assert_errors(P "  place: {nodes: [0, [1], {}, ~, x, 1]}\n",
                      "a.yaml:5:22: `policies[].place.nodes` is a list, " NODES_EXPECTED,
                      "a.yaml:5:27: `policies[].place.nodes` is a mapping, " NODES_EXPECTED,
                      "a.yaml:5:31: `policies[].place.nodes` is empty, " NODES_EXPECTED,
                      "a.yaml:5:34: `policies[].place.nodes` is `x`, " NODES_EXPECTED);
        assert_errors(P "  memory: [bind]\n",
                      "a.yaml:5:11: `policies[].memory` is a list, expected bind, preferred or "
                      "none");
        assert_errors(P "  cpus: {all: 1}\n",
                      "a.yaml:5:9: `policies[].cpus` is a mapping, " CPUS_EXPECTED);
        assert_errors(P "  instances: [7]\n",
                      "a.yaml:5:15: an entry of `policies[].instances` is `7`, expected a mapping");
        assert_errors(V "? [a]\n: b\n",
                      "a.yaml:2:3: a key is not plain text, expected a word before the colon");
}

TEST(version) {
        assert_errors("policies: []\n", "a.yaml:1:1: `version` is missing, expected 1");
        assert_errors("version: 2\n", "a.yaml:1:10: `version` is `2`, expected 1");
        assert_errors("version: 1.0\n", "a.yaml:1:10: `version` is `1.0`, expected 1");
        /* A number in quotes is that number, everywhere. */
        assert_errors("version: '1'\n", NULL);
        assert_errors(P "  place: {count: '2'}\n"
                        "  instances: [{match: {port: '4000'}, nodes: '1'}]\n",
                      NULL);
        assert_errors("version: '2'\n", "a.yaml:1:10: `version` is `2`, expected 1");
        assert_errors("version:\n", "a.yaml:1:9: `version` is empty, expected 1");
}

TEST(unknown_keys) {
        assert_errors(P "  memroy: bind\n",
                      "a.yaml:5:3: unknown key `memroy` in `policies[]`, did you mean `memory`?");
        assert_errors(P "  nodes: 1\n", "a.yaml:5:3: unknown key `nodes` in `policies[]`, expected "
                                        "it as `policies[].place.nodes`");
        assert_errors(P "  place: {zzzzzz: 1}\n",
                      "a.yaml:5:11: unknown key `zzzzzz` in `policies[].place`, expected one of "
                      "`count`, `nodes`, `near`, `same_package`, `share`, `avoid`");
        /* A misspelled key is reported as that, and not as missing too. */
        assert_errors("vresion: 1\n",
                      "a.yaml:1:1: unknown key `vresion` at the top, did you mean `version`?");
        assert_errors(V "policies: [{name: a, match: {ext: x}}]\n",
                      "a.yaml:2:30: unknown key `ext` in `policies[].match`, did you mean `exe`?");
        assert_errors(P "  instances: [{match: {port: 1}, nodes: 0,4-5}]\n",
                      "a.yaml:5:43: unknown key `4-5` in `policies[].instances[]`, expected quotes "
                      "around a list with commas inside braces");
        /* A path is not a key, and what is shown is harmless. */
        assert_errors(
                P "  place.nodes: 1\n",
                "a.yaml:5:3: unknown key `place.nodes` in `policies[]`, expected one of "
                "`name`, `match`, `max_instances`, `place`, `cpus`, `memory`, `on_full`, "
                "`memory_limit`, `migrate`, `rate`, `backend`, `weight`, `metrics`, `instances`");
        assert_errors(P "  count: 2\n  strict: true\n",
                      "a.yaml:5:3: unknown key `count` in `policies[]`, expected it as "
                      "`policies[].place.count`",
                      "a.yaml:6:3: unknown key `strict` in `policies[]`, expected it as "
                      "`host.reserve.strict`");
        assert_errors(V "irq: [{match: {net: e}, nodes: 1}]\nhost: {reserve: {node: 0}}\n",
                      "a.yaml:2:25: unknown key `nodes` in `irq[]`, expected it as "
                      "`host.reserve.nodes`",
                      "a.yaml:3:18: unknown key `node` in `host.reserve`, did you mean `nodes`?");
        assert_errors(V "policy: []\n",
                      "a.yaml:2:1: unknown key `policy` at the top, did you mean `policies`?");
        assert_errors(V "host: {reserve: nic}\n",
                      "a.yaml:2:17: `host.reserve` is `nic`, expected a "
                      "mapping such as {nodes: nic}");
        assert_errors(V "\"\\e[2Jé\": 1\n",
                      "a.yaml:2:1: unknown key `?[2J??` at the top, expected one of `version`, "
                      "`host`, `policies`, `irq`, `sampling`, `enforcement`");
}

TEST(twice) {
        assert_errors(P "  memory: bind\n  memory: none\n",
                      "a.yaml:6:3: `policies[].memory` is given twice, expected it once; the first "
                      "is in line 5");
        assert_errors(V V, "a.yaml:2:1: `version` is given twice, expected it once; the first is "
                           "in line 1");
        assert_errors(P "- name: b\n  match: {unit: b.scope}\n- match: {exe: x}\n  name: a\n",
                      "a.yaml:8:9: a second policy `a`, expected each name once in a file; the "
                      "first is in line 3");
}

TEST(missing) {
        assert_errors(V "policies: [{}]\n",
                      "a.yaml:2:12: `policies[].name` is missing, expected 1 to 64 of the "
                      "characters A-Z a-z 0-9 . _ -",
                      "a.yaml:2:12: `policies[].match` is missing, expected a mapping such as "
                      "{exe: tidb-server, user: tidb}");
        assert_errors(V "policies: [{name: a, match: {}}]\n",
                      "a.yaml:2:29: `policies[].match` is empty, expected at least `exe` or "
                      "`unit`");
        assert_errors(V "policies: [{name: a, match: {user: tidb}}]\n",
                      "a.yaml:2:29: `policies[].match` is too wide, expected at least `exe` or "
                      "`unit`");
        assert_errors(P "  instances: [{}]\n",
                      "a.yaml:5:15: `policies[].instances[].match` is missing, expected a mapping "
                      "such as {unit: tidb-4000.service}",
                      "a.yaml:5:15: `policies[].instances[].nodes` is missing, " NODES_EXPECTED);
        assert_errors(P "  instances: [{match: {}, nodes: 1}]\n",
                      "a.yaml:5:23: `policies[].instances[].match` is empty, expected at least "
                      "`unit` or `port`");
        assert_errors(
                V "irq: [{match: {}}, {steer: auto}]\n",
                "a.yaml:2:15: `irq[].match` is empty, expected at least `net` or `nvme` or `pci`",
                "a.yaml:2:20: `irq[].match` is missing, expected a mapping such as {net: \"*\"}");
        assert_errors(P "  instances: [{match: {port: 70000}, nodes: 1}]\n",
                      "a.yaml:5:30: `policies[].instances[].match.port` is `70000`, expected a TCP "
                      "port from 1 to 65535");
        assert_errors(P "  instances: [{match: {port: 0}, nodes: 1}]\n",
                      "a.yaml:5:30: `policies[].instances[].match.port` is `0`, expected a TCP "
                      "port from 1 to 65535");
}

TEST(values) {
        assert_errors(P "  memory: bin\n", "a.yaml:5:11: `policies[].memory` is `bin`, expected "
                                           "bind, preferred or none");
        assert_errors(P "  migrate: Gentle\n",
                      "a.yaml:5:12: `policies[].migrate` is `Gentle`, expected gentle, kernel "
                      "or none");
        assert_errors(V "enforcement: {mode: ~}\n",
                      "a.yaml:2:21: `enforcement.mode` is empty, expected enforce or observe");
        assert_errors(
                P "  rate: 256\n",
                "a.yaml:5:9: `policies[].rate` is `256` (without a unit and /s), " RATE_EXPECTED);
        assert_errors(P "  rate: 1111111111111111111111111111111111111111111111111111111111111111"
                        "MiB/s\n",
                      "a.yaml:5:9: `policies[].rate` is `1111111111111111111111111111111111111111"
                      "11111111111111111111...`, " RATE_EXPECTED);
        assert_errors(V "sampling: {interval: 10}\n",
                      "a.yaml:2:22: `sampling.interval` is `10` (without a unit), " TIME_EXPECTED);
        assert_errors(
                V "policies: [{name: a b, match: {exe: bin/x}}]\n",
                "a.yaml:2:19: `policies[].name` is `a b` (a character that is not allowed), "
                "expected 1 to 64 of the characters A-Z a-z 0-9 . _ -",
                "a.yaml:2:37: `policies[].match.exe` is `bin/x` (a relative path), " EXE_EXPECTED);
}

TEST(nodes) {
        assert_errors(P "  place: {nodes: '7-9,11'}\n",
                      "a.yaml:5:18: `policies[].place.nodes` names node 8-9,11, which this machine "
                      "does not have, expected some of 0-7");
        assert_errors(P "  instances: [{match: {unit: b.scope}, nodes: 8}]\n",
                      "a.yaml:5:47: `policies[].instances[].nodes` names node 8, which this "
                      "machine does not have, expected some of 0-7");
        assert_errors(P "  place: {nodes: ''}\n",
                      "a.yaml:5:18: `policies[].place.nodes` is `` (it is empty), " NODES_EXPECTED);
        assert_errors(P "  place: {nodes: -1}\n",
                      "a.yaml:5:18: `policies[].place.nodes` is `-1`, " NODES_EXPECTED);
}

/* The values of the keys that are not of an older version. */
TEST(more_values) {
        assert_errors(P "  place: {count: 0}\n", "a.yaml:5:18: `policies[].place.count` is `0`, "
                                                 "expected a number of nodes above zero, or auto");
        assert_errors(P "  place: {count: 1025}\n",
                      "a.yaml:5:18: `policies[].place.count` is `1025` (no machine has so many "
                      "nodes), expected a number of nodes above zero, or auto");
        assert_errors(P "  place: {near: disk}\n",
                      "a.yaml:5:17: `policies[].place.near` is `disk`, expected none, storage or "
                      "nic");
        assert_errors(P "  place: {share: alone}\n",
                      "a.yaml:5:18: `policies[].place.share` is `alone`, expected exclusive or "
                      "shared");
        assert_errors(P "  cpus: some\n",
                      "a.yaml:5:9: `policies[].cpus` is `some`, " CPUS_EXPECTED);
        assert_errors(P "  cpus: [all]\n",
                      "a.yaml:5:10: `policies[].cpus` is `all`, " CPUS_EXPECTED);
        assert_errors(P "  on_full: kill\n",
                      "a.yaml:5:12: `policies[].on_full` is `kill`, expected widen or keep");
        assert_errors(V "policies: [{name: a, match: {unit: a.scope, args: '[x'}}]\n",
                      "a.yaml:2:51: `policies[].match.args` is `[x` (a [ is not closed), expected "
                      "a glob such as \"*--store=tikv*\"");
        assert_errors(V "host: {numa_balancing: false, reserve: {nodes: all, devices: 'e*'}}\n",
                      "a.yaml:2:24: `host.numa_balancing` is `false`, expected leave, off or on",
                      "a.yaml:2:48: `host.reserve.nodes` is `all`, expected none, nic, or node "
                      "numbers such as 0 or [0, 4]",
                      "a.yaml:2:62: `host.reserve.devices` is `e*` (a glob, but names are expected "
                      "here), expected network interfaces such as eth0 or [eth0, eth1]");
        assert_errors(
                V "irq: [{match: {pci: [3b:00.0, 0000-3b]}, steer: here, irqbalance: kill, rps: "
                  "x}]\n",
                "a.yaml:2:31: `irq[].match.pci` is `0000-3b` (not an address), expected PCI "
                "addresses in quotes, such as \"0000:3b:00.0\" or \"3b:00.0\"",
                "a.yaml:2:49: `irq[].steer` is `here`, expected auto, reserved, local, away, "
                "leave, or CPU numbers such as 0-3 or 0,2",
                "a.yaml:2:67: `irq[].irqbalance` is `kill`, expected cooperate, ban or ignore",
                "a.yaml:2:78: `irq[].rps` is `x`, expected auto, on or off");
        assert_errors(V "sampling: {access: true, budget: 1}\n",
                      "a.yaml:2:20: `sampling.access` is `true`, expected off or on",
                      "a.yaml:2:34: `sampling.budget` is `1` (without a unit), expected a "
                      "percentage from 0.01% to 100%, such as 1% or 0.5%");
        assert_errors(V "sampling: {budget: 0.001%}\n",
                      "a.yaml:2:20: `sampling.budget` is `0.001%` (it is too little), expected a "
                      "percentage from 0.01% to 100%, such as 1% or 0.5%");
        assert_errors(V "enforcement: {backend: cgroup2, on_stop: leave, release: x}\n",
                      "a.yaml:2:24: `enforcement.backend` is `cgroup2`, expected auto, systemd, "
                      "cgroup1 or affinity",
                      "a.yaml:2:42: `enforcement.on_stop` is `leave`, expected keep or restore",
                      "a.yaml:2:49: `enforcement.release` is no key of a policy, expected the "
                      "command: tidbnumactl release NAME");
}

TEST(booleans) {
        static const char *const cases[][2] = {
                { "yes", " (write it as true)" },  { "On", " (write it as true)" },
                { "TRUE", " (write it as true)" }, { "1", " (write it as true)" },
                { "no", " (write it as false)" },  { "off", " (write it as false)" },
                { "0", " (write it as false)" },   { "maybe", "" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {

                assert_errors(fmt(P "  place: {same_package: %s}\n", cases[i][0]),
                              fmt("a.yaml:5:25: `policies[].place.same_package` is `%s`%s, "
                                  "expected true or false",
                                  cases[i][0], cases[i][1]));
        }
        assert_errors(V "host: {reserve: {strict: 'true'}}\n",
                      "a.yaml:2:26: `host.reserve.strict` is `true` (a text in quotes), expected "
                      "true or false");
        assert_errors(V "policies: [{name: a, match: {unit: a.scope, containers: yes}}]\n",
                      "a.yaml:2:57: `policies[].match.containers` is `yes` (write it as true), "
                      "expected true or false");
}

/* CPUs and nodes that the machine does not have, in each key that takes numbers. */
TEST(absent) {
        assert_errors(P "  cpus: 30-32,99\n",
                      "a.yaml:5:9: `policies[].cpus` names CPU 32,99, which this machine does not "
                      "have, expected some of 0-31");
        assert_errors(P "  cpus: [4, 40]\n", "a.yaml:5:13: `policies[].cpus` names CPU 40, which "
                                             "this machine does not have, expected some of 0-31");
        assert_errors(V "irq: [{match: {net: eth0}, steer: 64}]\n",
                      "a.yaml:2:35: `irq[].steer` names CPU 64, which this machine does not have, "
                      "expected some of 0-31");
        assert_errors(V "host: {reserve: {nodes: [0, 8-9]}}\n",
                      "a.yaml:2:29: `host.reserve.nodes` names node 8-9, which this machine does "
                      "not have, expected some of 0-7");
        assert_errors(P "  place: {nodes: 9999999999}\n",
                      "a.yaml:5:18: `policies[].place.nodes` is `9999999999` (no machine has a "
                      "node of that number), " NODES_EXPECTED);
        assert_errors(P "  cpus: [8192]\n", "a.yaml:5:10: `policies[].cpus` is `8192` (no machine "
                                            "has a CPU of that number), " CPUS_EXPECTED);
}

/* --- Good files, damaged in many small ways: never a crash, and never half a load. What is damaged
 * is the same in every run --- */

static const char *const good[] = {
        V "policies:\n"
          "  - name: tidb\n"
          "    match: {exe: tidb-server, user: tidb, unit: \"tidb-*.service\", args: '*-L*'}\n"
          "    place: {count: 1, nodes: [0, 1-3], near: storage, same_package: true, avoid: 3}\n"
          "    cpus: one-per-core\n"
          "    memory: bind\n"
          "    on_full: keep\n"
          "    rate: 256MiB/s\n"
          "    instances:\n"
          "      - match: {unit: tidb-4000.service}\n"
          "        nodes: 1\n"
          "      - match: {port: 4001}\n"
          "        nodes: [2]\n"
          "sampling:\n"
          "  interval: 10s\n",
        "version: 1\n"
        "policies: [{name: a, match: &m {exe: '/opt/*/a'}, migrate: none}, {name: b, match: *m, "
        "place: {share: shared}}]\n"
        "enforcement: {mode: observe, on_stop: keep}\n",
        "version: 1\n"
        "host: {numa_balancing: off, reserve: {nodes: nic, devices: [eth0, eth1], strict: true}}\n"
        "irq:\n"
        "- match: {net: ['eth*', ens1], nvme: nvme0, pci: '3b:00.0'}\n"
        "  steer: [0-3, 8]\n"
        "  irqbalance: ban\n"
        "  xps: false\n"
        "  rps: on\n"
        "- {match: {nvme: '*'}, steer: '0,2'}\n"
        "sampling: {access: on, budget: 0.5%}\n",
};

/* xorshift64, Marsaglia 2003. */
static uint64_t next_random(uint64_t *state) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        return *state;
}

/* Overwrites, removes or repeats a piece. `text` has room for twice its length. */
static void damage(char *text, size_t *length, uint64_t *random) {
        static const char interesting[] = "0123456789aeiz\0\t\n \"'#%&*,-:<?@[]`{|}~\\\x7f\xc3\xff";
        size_t at = next_random(random) % *length;
        size_t span = 1 + next_random(random) % 24;

        if (span > *length - at)
                span = *length - at;
        switch (next_random(random) % 4) {
        case 0:
        case 1:
                text[at] = interesting[next_random(random) % (sizeof(interesting) - 1)];
                break;
        case 2:
                memmove(text + at, text + at + span, *length - at - span);
                *length -= span;
                break;
        default:
                memmove(text + at + span, text + at, *length - at);
                *length += span;
                break;
        }
}

/* load_run() asserts that a failed load left the set alone and said why. */
TEST(mutations) {
        unsigned refused = 0, taken = 0;
        uint64_t random = 88172645463325252;

        for (unsigned i = 0; i < 600; i++) { /* 200 of each */
                _cleanup_load_ Load load = { 0 };
                const char *text = good[i % ELEMENTSOF(good)];
                size_t length = strlen(text);
                char damaged[2048];

                memcpy(damaged, text, length);
                for (uint64_t n = 1 + next_random(&random) % 2; n > 0 && length > 0; n--)
                        damage(damaged, &length, &random);
                assert_int_equal(source_file_list_add(&load.files, "a.yaml", damaged, length), 0);
                load_run(&load);
                *(load.result == 0 ? &taken : &refused) += 1;
        }
        /* Damage that is never or always refused would not be much of a test. */
        print_message("%u refused, %u taken\n", refused, taken);
        assert_true(refused > 150);
        assert_true(taken > 10);
}

/* Every prefix of a file, as an editor that died leaves it. */
TEST(truncations) {
        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                for (size_t length = 0; length <= strlen(good[i]); length++) {
                        _cleanup_load_ Load load = { 0 };

                        assert_int_equal(
                                source_file_list_add(&load.files, "a.yaml", good[i], length), 0);
                        load_run(&load);
                        if (length == strlen(good[i]) && load.result < 0)
                                fail_msg("%s", load.errors.messages[0]);
                }
}
