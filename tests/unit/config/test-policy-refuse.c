/* Every refusal, with its exact message: where, what is wrong, what was expected. */
#include "load-support.h"

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-yaml.h"

/* The start of a policy that is fine so far; the next key stands in line 5. */
#define P V "policies:\n- name: a\n  match: {unit: a.scope}\n"

#define UNIT_EXPECTED                                                                              \
        "expected a service or scope such as tidb-4000.service, or a glob such as tidb-*.service"
#define EXE_EXPECTED                                                                               \
        "expected a base name such as tidb-server, or an absolute path, which may hold globs"
#define RATE_EXPECTED "expected a size above zero with its unit, per second, such as 256MiB/s"
#define TIME_EXPECTED "expected a time from 1s to 1h with its unit, such as 10s"
#define NODES_EXPECTED "expected node numbers such as 1, 2-3 or 0,4"
#define LATER "is known but not carried out by this version; remove it"

static void test_syntax(void **state) {
        (void)state;
        assert_errors(V "policies: [\n",
                      "a.yaml:3:1: not valid YAML: did not find expected node content while "
                      "parsing a flow node");
        assert_errors(V "policies:\n\t- name: a\n",
                      "a.yaml:3:1: not valid YAML: found character that cannot start any token "
                      "while scanning for the next token; indent with spaces, not with tabs");
        assert_errors(V "policies:\n- name: a\n  match: {unit: *.service}\n",
                      "a.yaml:4:18: not valid YAML: did not find expected alphabetic or numeric "
                      "character while scanning an alias; put a glob that begins with * in quotes");
        assert_errors(
                V "é: \xff\n",
                "a.yaml:2:4: not valid YAML: invalid leading UTF-8 octet, expected UTF-8 text");
        assert_errors(V "---\n" V,
                      "a.yaml:2:1: a second document, expected one document in a file");
}

static void test_tricks(void **state) {
        (void)state;
        assert_errors(V "policies: &p []\nirq: *p\n",
                      "a.yaml:2:11: an anchor (`&`), expected the value alone; write it out "
                      "wherever it is needed",
                      "a.yaml:3:6: an alias (`*`), expected the value itself; put a glob that "
                      "begins with * in quotes");
        assert_errors("version: !!int 1\n", "a.yaml:1:10: a tag (`!`), expected the value alone");
        assert_errors(V "policies: !x {}\n", "a.yaml:2:11: a tag (`!`), expected the value alone");
        assert_errors(V "sampling: !x []\n", "a.yaml:2:11: a tag (`!`), expected the value alone");
        assert_errors(V "a: \"x\\0y\"\n",
                      "a.yaml:2:4: a NUL character inside a value, expected text");
        assert_errors(V "<<: {policies: []}\n",
                      "a.yaml:2:1: unknown key `<<` at the top, expected one of `version`, "
                      "`policies`, `sampling`, `enforcement`, `host`");
}

static void test_bounds(void **state) {
        _cleanup_text_ Text many = { 0 };

        (void)state;
        assert_errors(V "irq: [[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]\n",
                      "a.yaml:2:21: nested too deep, expected at most 16 levels");
        text_append(&many, "[");
        for (unsigned i = 1; i < YAML_NODES_MAX; i++)
                text_append(&many, "a,");
        text_append(&many, "a]"); /* with the list itself one too many */
        assert_errors(many.data,
                      "a.yaml:1:100000: too much in one file, expected at most 50000 values");
}

static void test_shape(void **state) {
        (void)state;
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
                      "a.yaml:5:10: `policies[].place` is `3`, expected a mapping");
        assert_errors(P "  place: {nodes: [0]}\n",
                      "a.yaml:5:18: `policies[].place.nodes` is a list, " NODES_EXPECTED);
        assert_errors(P "  instances: [7]\n",
                      "a.yaml:5:15: an entry of `policies[].instances` is `7`, expected a mapping");
        assert_errors(V "? [a]\n: b\n",
                      "a.yaml:2:3: a key is not plain text, expected a word before the colon");
}

static void test_version(void **state) {
        (void)state;
        assert_errors("policies: []\n", "a.yaml:1:1: `version` is missing, expected 1");
        assert_errors("version: 2\n", "a.yaml:1:10: `version` is `2`, expected 1");
        assert_errors("version: 1.0\n", "a.yaml:1:10: `version` is `1.0`, expected 1");
        assert_errors("version: '1'\n",
                      "a.yaml:1:10: `version` is `1` (a text in quotes), expected 1");
        assert_errors("version:\n", "a.yaml:1:9: `version` is empty, expected 1");
}

static void test_unknown_keys(void **state) {
        (void)state;
        assert_errors(P "  memroy: bind\n",
                      "a.yaml:5:3: unknown key `memroy` in `policies[]`, did you mean `memory`?");
        assert_errors(P "  nodes: 1\n", "a.yaml:5:3: unknown key `nodes` in `policies[]`, expected "
                                        "it as `policies[].place.nodes`");
        assert_errors(P "  place: {zzzzzz: 1}\n",
                      "a.yaml:5:11: unknown key `zzzzzz` in `policies[].place`, expected one of "
                      "`nodes`");
        /* A misspelled key is told as that, and not as missing too. */
        assert_errors("vresion: 1\n",
                      "a.yaml:1:1: unknown key `vresion` at the top, did you mean `version`?");
        assert_errors(V "policies: [{name: a, match: {ext: x}}]\n",
                      "a.yaml:2:30: unknown key `ext` in `policies[].match`, did you mean `exe`?");
        /* A path is not a key, and what is shown is harmless. */
        assert_errors(P "  place.nodes: 1\n",
                      "a.yaml:5:3: unknown key `place.nodes` in `policies[]`, expected one of "
                      "`name`, `match`, `place`, `cpus`, `memory`, `migrate`, `rate`, `instances`");
        assert_errors(V "\"\\e[2Jé\": 1\n",
                      "a.yaml:2:1: unknown key `?[2J??` at the top, expected one of `version`, "
                      "`policies`, `sampling`, `enforcement`, `host`");
}

static void test_twice(void **state) {
        (void)state;
        assert_errors(P "  memory: bind\n  memory: none\n",
                      "a.yaml:6:3: `policies[].memory` is given twice, expected it once; the first "
                      "is in line 5");
        assert_errors(V V, "a.yaml:2:1: `version` is given twice, expected it once; the first is "
                           "in line 1");
        assert_errors(P "- name: b\n  match: {unit: b.scope}\n- match: {exe: x}\n  name: a\n",
                      "a.yaml:8:9: a second policy `a`, expected each name once in a file; the "
                      "first is in line 3");
}

static void test_missing(void **state) {
        (void)state;
        assert_errors(V "policies: [{}]\n",
                      "a.yaml:2:12: `policies[].name` is missing, expected 1 to 64 of the "
                      "characters A-Z a-z 0-9 . _ -",
                      "a.yaml:2:12: `policies[].match` is missing, expected a mapping");
        assert_errors(V "policies: [{name: a, match: {}}]\n",
                      "a.yaml:2:29: `policies[].match` is too wide, expected at least `exe` or "
                      "`unit`");
        assert_errors(V "policies: [{name: a, match: {user: tidb}}]\n",
                      "a.yaml:2:29: `policies[].match` is too wide, expected at least `exe` or "
                      "`unit`");
        assert_errors(P "  instances: [{}]\n",
                      "a.yaml:5:15: `policies[].instances[].match` is missing, expected a mapping",
                      "a.yaml:5:15: `policies[].instances[].nodes` is missing, " NODES_EXPECTED);
        assert_errors(P "  instances: [{match: {}, nodes: 1}]\n",
                      "a.yaml:5:23: `policies[].instances[].match` is too wide, expected at least "
                      "`unit` or `port`");
        assert_errors(P "  instances: [{match: {port: 70000}, nodes: 1}]\n",
                      "a.yaml:5:30: `policies[].instances[].match.port` is `70000`, expected a TCP "
                      "port from 1 to 65535");
        assert_errors(P "  instances: [{match: {port: 0}, nodes: 1}]\n",
                      "a.yaml:5:30: `policies[].instances[].match.port` is `0`, expected a TCP "
                      "port from 1 to 65535");
}

static void test_values(void **state) {
        (void)state;
        assert_errors(P "  memory: bin\n", "a.yaml:5:11: `policies[].memory` is `bin`, expected "
                                           "bind, preferred or none");
        assert_errors(P "  migrate: kernel\n",
                      "a.yaml:5:12: `policies[].migrate` is `kernel`, expected gentle or none");
        assert_errors(P "  migrate: Gentle\n",
                      "a.yaml:5:12: `policies[].migrate` is `Gentle`, expected gentle or none");
        assert_errors(V "enforcement: {mode: ~}\n",
                      "a.yaml:2:21: `enforcement.mode` is empty, expected enforce or observe");
        assert_errors(P "  rate: 256\n",
                      "a.yaml:5:9: `policies[].rate` is `256` (without /s), " RATE_EXPECTED);
        assert_errors(V "sampling: {interval: 10}\n",
                      "a.yaml:2:22: `sampling.interval` is `10` (without a unit), " TIME_EXPECTED);
        assert_errors(
                V "policies: [{name: a b, match: {exe: bin/x}}]\n",
                "a.yaml:2:19: `policies[].name` is `a b` (a character that is not allowed), "
                "expected 1 to 64 of the characters A-Z a-z 0-9 . _ -",
                "a.yaml:2:37: `policies[].match.exe` is `bin/x` (a relative path), " EXE_EXPECTED);
}

static void test_nodes(void **state) {
        (void)state;
        assert_errors(P "  place: {nodes: '7-9,11'}\n",
                      "a.yaml:5:18: `policies[].place.nodes` names node 8-9,11, which this machine "
                      "does not have, expected some of 0-7");
        assert_errors(
                P "  instances: [{match: {unit: b.scope}, nodes: 8}]\n",
                "a.yaml:5:47: `policies[].instances[].nodes` names node 8, which this machine "
                "does not have, expected some of 0-7");
        assert_errors(P "  place: {nodes: ''}\n",
                      "a.yaml:5:18: `policies[].place.nodes` is `` (it is empty), " NODES_EXPECTED);
        assert_errors(P "  place: {nodes: -1}\n",
                      "a.yaml:5:18: `policies[].place.nodes` is `-1`, " NODES_EXPECTED);
}

static void test_not_carried_out(void **state) {
        static const char *const plain[][3] = {
                { "count: 1", "count", "" },
                { "near: nic", "near", " or set it to `none`" },
                { "same_package: true", "same_package", "" },
                { "share: shared", "share", "" },
                { "avoid: [1]", "avoid", " or set it to `[]`" },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(plain); i++) {
                _cleanup_free_ char *text = NULL, *message = NULL;

                assert_true(asprintf(&text, P "  place: {%s}\n", plain[i][0]) > 0);
                assert_true(asprintf(&message, "a.yaml:5:11: `policies[].place.%s` " LATER "%s",
                                     plain[i][1], plain[i][2]) > 0);
                assert_errors(text, message);
        }
        assert_errors(P "  cpus: one-per-core\n  on_full: widen\n",
                      "a.yaml:5:9: `policies[].cpus` is `one-per-core` (known but not carried out "
                      "by this version), expected all, or CPU numbers such as 8-15 or 8,10",
                      "a.yaml:6:3: `policies[].on_full` " LATER " or set it to `keep`");
        assert_errors(V "policies: [{name: a, match: {unit: a.scope, args: x}}]\n",
                      "a.yaml:2:45: `policies[].match.args` " LATER);
        assert_errors(
                V "policies: [{name: a, match: {unit: a.scope, containers: yes}}]\n",
                "a.yaml:2:57: `policies[].match.containers` is `yes`, expected false or true");
        assert_errors(
                V "host: {numa_balancing: off, reserve: {nodes: nic, devices: [], strict: 1}}\n",
                "a.yaml:2:8: `host.numa_balancing` " LATER " or set it to `leave`",
                "a.yaml:2:39: `host.reserve.nodes` " LATER " or set it to `none`",
                "a.yaml:2:51: `host.reserve.devices` " LATER,
                "a.yaml:2:64: `host.reserve.strict` " LATER);
        assert_errors(V "irq: [{match: {net: '*'}}]\nsampling: {access: on, budget: 1%}\n",
                      "a.yaml:2:1: `irq` " LATER " or set it to `[]`",
                      "a.yaml:3:12: `sampling.access` " LATER " or set it to `off`",
                      "a.yaml:3:24: `sampling.budget` " LATER);
        assert_errors(V "enforcement: {backend: cgroup2, on_stop: restore}\n",
                      "a.yaml:2:24: `enforcement.backend` is `cgroup2`, expected auto, systemd, "
                      "cgroup1 or affinity",
                      "a.yaml:2:33: `enforcement.on_stop` " LATER " or set it to `keep`");
}

/* One broken file does not hide what is wrong with the next. */
static void test_all_errors_of_all_files(void **state) {
        _cleanup_load_ Load load = load_two("version: 1\npolicies: [\n", "version: 3\nzzzzzz: 1\n");

        (void)state;
        assert_messages(&load.errors,
                        (const char *const[]){
                                "etc/a.yaml:3:1: not valid YAML: did not find expected node "
                                "content while parsing a flow node",
                                "etc/b.yaml:1:10: `version` is `3`, expected 1",
                                "etc/b.yaml:2:1: unknown key `zzzzzz` at the top, expected one of "
                                "`version`, `policies`, `sampling`, `enforcement`, `host`",
                                NULL });
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_syntax),
                cmocka_unit_test(test_tricks),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_shape),
                cmocka_unit_test(test_version),
                cmocka_unit_test(test_unknown_keys),
                cmocka_unit_test(test_twice),
                cmocka_unit_test(test_missing),
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_nodes),
                cmocka_unit_test(test_not_carried_out),
                cmocka_unit_test(test_all_errors_of_all_files),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
