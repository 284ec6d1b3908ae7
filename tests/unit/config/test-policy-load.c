/* Good policies: what is loaded, what the defaults are, and which file wins. */
#include "load-support.h"

#include "tidbnumad/config/policy-table.h"

TEST(no_file) {
        Load load = { 0 };

        load_run(&load);
        assert_int_equal(load.result, 0);
        assert_int_equal(policy_set_count_written(&load.set), 0);
        assert_int_equal(load.set.mode, ENFORCEMENT_ENFORCE);
        assert_int_equal(load.set.sampling_interval_usec, 10000000);
        load_done(&load);
}

TEST(empty_files) {
        static const char *const texts[] = {
                "", "~", "\n\n", "# nothing\n", "---\n", "\xef\xbb\xbf"
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_load_ Load load = load_text(texts[i]);

                assert_int_equal(load.result, -EINVAL);
                assert_int_equal(load.errors.n_messages, 1);
                assert_non_null(strstr(load.errors.messages[0], "`policies: []`"));
        }
}

TEST(no_policies_at_all) {
        _cleanup_load_ Load said = load_text(V "policies: []\n"), unsaid = load_text(V);

        assert_int_equal(said.result, 0);
        assert_int_equal(said.warnings.n_messages, 1);
        assert_non_null(strstr(said.warnings.messages[0], "is released"));
        assert_int_equal(unsaid.result, 0);
        assert_int_equal(unsaid.warnings.n_messages, 0);
}

TEST(everything) {
        _cleanup_load_ Load load = load_text("version: 1\n"
                                             "policies:\n"
                                             "  - name: tikv\n"
                                             "    match:\n"
                                             "      exe: /opt/tidb/*/tikv-server\n"
                                             "      unit: \"tikv-*.service\"\n"
                                             "      user: 1000\n"
                                             "    place: {nodes: '0,2-3'}\n"
                                             "    memory: preferred\n"
                                             "    migrate: none\n"
                                             "    rate: 1.5GiB/s\n"
                                             "    instances:\n"
                                             "      - {match: {unit: tikv-1.service}, nodes: 4}\n"
                                             "      - match: {unit: tikv-2.service}\n"
                                             "        nodes: 6-7\n"
                                             "sampling: {interval: 1min}\n"
                                             "enforcement: {mode: observe}\n");
        const Policy *policy = load.set.policies;

        assert_int_equal(load.result, 0);
        assert_warnings(load, "a.yaml:11:11: `policies[].rate` has no effect with `migrate: none`, "
                              "only with `migrate: gentle`");
        assert_int_equal(load.set.n_policies, 1);
        assert_int_equal(load.set.mode, ENFORCEMENT_OBSERVE);
        assert_int_equal(load.set.sampling_interval_usec, 60000000);
        assert_string_equal(policy->name, "tikv");
        assert_string_equal(policy->match.exe, "/opt/tidb/*/tikv-server");
        assert_string_equal(policy->match.unit, "tikv-*.service");
        assert_string_equal(policy->match.user, "1000");
        assert_ids(policy->place.nodes, "0,2-3");
        assert_int_equal(policy->memory, MEMORY_PREFERRED);
        assert_int_equal(policy->migrate, MIGRATE_NONE);
        assert_int_equal(policy->rate_bytes_per_sec, UINT64_C(3) << 29);
        assert_int_equal(policy->n_instances, 2);
        assert_string_equal(policy->instances[0].match.unit, "tikv-1.service");
        assert_ids(policy->instances[0].nodes, "4");
        assert_string_equal(policy->instances[1].match.unit, "tikv-2.service");
        assert_ids(policy->instances[1].nodes, "6-7");
        assert_string_equal(policy->file, "a.yaml");
        assert_int_equal(policy->line, 3);
}

TEST(defaults) {
        _cleanup_load_ Load load = load_text(V "policies:\n- name: a\n  match: {unit: a.scope}\n");
        const Policy *policy = load.set.policies;

        assert_int_equal(load.result, 0);
        assert_int_equal(policy->memory, MEMORY_BIND);
        assert_int_equal(policy->migrate, MIGRATE_GENTLE);
        assert_int_equal(policy->rate_bytes_per_sec, 256 << 20);
        assert_true(id_set_is_empty(&policy->place.nodes));
        assert_int_equal(policy->n_instances, 0);
        assert_null(policy->match.exe);
        assert_null(policy->match.user);
        /* A unit alone is no reason to warn. */
        assert_warnings(load, NULL);
}

/* The words of an enum in the order of its values, and nothing swapped. */
TEST(choices) {
        static const char *const memory[] = { "bind", "preferred", "none" };

        for (unsigned i = 0; i < ELEMENTSOF(memory); i++) {

                _cleanup_load_ Load load = load_text(fmt(
                        V "policies: [{name: a, match: {unit: a.scope}, memory: %s}]", memory[i]));
                assert_int_equal(load.result, 0);
                assert_int_equal(load.set.policies[0].memory, i);
                assert_string_equal(memory_mode_to_string(load.set.policies[0].memory), memory[i]);
        }
}

TEST(cpus_and_backends) {
        static const char *const backends[] = { "auto", "systemd", "cgroup1", "affinity" };

        for (unsigned i = 0; i < ELEMENTSOF(backends); i++) {

                _cleanup_load_ Load load =
                        load_text(fmt(V "enforcement: {backend: %s}\n"
                                        "policies: [{name: a, match: {unit: a.scope}, cpus: '%s'}]",
                                      backends[i], i % 2 == 0 ? "all" : "2-3,8"));
                assert_int_equal(load.result, 0);
                assert_int_equal(load.set.backend, i);
                assert_ids(load.set.policies[0].cpus.list, i % 2 == 0 ? "" : "2-3,8");
        }
        _cleanup_load_ Load load = load_text(V);
        assert_int_equal(load.set.backend, BACKEND_AUTO);
}

/* What this version does anyway may be said. */
TEST(accepted) {
        _cleanup_load_ Load load =
                load_text(V "host: {numa_balancing: leave, reserve: {nodes: none}}\n"
                            "irq: []\n"
                            "sampling: {access: off}\n"
                            "enforcement: {backend: auto, on_stop: keep}\n"
                            "policies:\n"
                            "- {name: a, match: {unit: a.scope}, cpus: all,\n"
                            "   on_full: keep, instances: []}\n");

        assert_messages(&load.errors, (const char *const[]){ NULL });
        assert_warnings(load, NULL);
        assert_int_equal(load.result, 0);
}

TEST(later_file_replaces_whole_policy) {
        _cleanup_load_ Load load =
                load_two(V "policies:\n"
                           "- {name: a, match: {unit: a.scope}, place: {nodes: 1}, memory: none}\n"
                           "- {name: b, match: {unit: b.scope}, place: {nodes: 2}}\n",
                         V "policies:\n"
                           "- {name: c, match: {unit: c.scope}, place: {nodes: 3}}\n"
                           "- {name: a, match: {exe: x, user: y}, place: {nodes: 4}}\n");

        assert_int_equal(load.result, 0);
        assert_int_equal(load.set.n_policies, 3);
        assert_string_equal(load.set.policies[0].name, "b");
        assert_string_equal(load.set.policies[1].name, "c");
        assert_string_equal(load.set.policies[2].name, "a");
        assert_null(load.set.policies[2].match.unit);
        assert_int_equal(load.set.policies[2].memory, MEMORY_BIND);
        assert_ids(load.set.policies[2].place.nodes, "4");
        assert_string_equal(load.set.policies[2].file, "etc/b.yaml");
        assert_int_equal(load.set.policies[2].line, 4);
        assert_int_equal(load.set.policies[2].column, 3);
}

TEST(settings_override_key_by_key) {
        _cleanup_load_ Load load =
                load_two(V "sampling: {interval: 30s}\nenforcement: {mode: observe}\n",
                         V "sampling: {}\nenforcement: {mode: enforce}\n");

        assert_int_equal(load.result, 0);
        assert_int_equal(load.set.sampling_interval_usec, 30000000);
        assert_int_equal(load.set.mode, ENFORCEMENT_ENFORCE);
}

TEST(no_topology) {
        static const char text[] =
                V "policies: [{name: a, match: {unit: a.scope}, place: {nodes: 63}}]";
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_policy_set_ PolicySet set = { 0 };

        assert_int_equal(source_file_list_add(&files, "a.yaml", text, strlen(text)), 0);
        assert_int_equal(policy_set_parse(&files, NULL, NULL, &set, &errors, &warnings), 0);
        assert_ids(set.policies[0].place.nodes, "63");
}

TEST(warnings) {
        _cleanup_load_ Load load = load_two(V "policies: [{name: b, match: {exe: old}}]",
                                            V "policies:\n"
                                              "- name: a\n"
                                              "  match: {exe: tidb-server}\n"
                                              "  place: {nodes: 1}\n"
                                              "- name: b\n"
                                              "  match: {exe: tikv-server, user: tidb}\n");

        assert_int_equal(load.result, 0);
        assert_warnings(load, "etc/b.yaml:3:3: policy `a` matches by `exe` alone, so any user's "
                              "process of that name; add `unit` or `user`");
}

TEST(limit_of_policies) {
        for (unsigned n = POLICIES_MAX; n <= POLICIES_MAX + 2; n++) {
                _cleanup_text_ Text text = { 0 };

                text_append(&text, V "policies:\n");
                for (unsigned i = 0; i < n; i++)
                        text_appendf(&text, "- {name: p%u, match: {unit: a.scope}}\n", i);
                _cleanup_load_ Load load = load_text(text.data);
                if (n == POLICIES_MAX) {
                        assert_int_equal(load.set.n_policies, POLICIES_MAX);
                        continue;
                }
                assert_messages(&load.errors, (const char *const[]){
                                                      "a.yaml:1027:3: one policy too many, "
                                                      "expected at most 1024 in all files together",
                                                      NULL });
        }
}

/* The table says the defaults in words, the model has them as values. */
TEST(table_agrees_with_model) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                if (strcmp(keys[i].path, "sampling.interval") == 0)
                        assert_string_equal(keys[i].default_text, "10s");
                if (strcmp(keys[i].path, "enforcement.mode") == 0)
                        assert_string_equal(keys[i].default_text, "enforce");
                for (size_t j = 0; j < i; j++)
                        assert_string_not_equal(keys[i].path, keys[j].path);
        }
}
