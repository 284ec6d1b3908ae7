/* Good policies: what is loaded, what the defaults are, and which file wins. */

#include "load-support.h"
#include "refuse-support.h"

#include "tidbnumad/config/policy-loader.h"
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
        _cleanup_load_ Load said = load_text(V "policies: []\n"), unsaid = load_text(V),
                            refused = load_text(V "policies:\n"
                                                  "  - match: {exe: tidb-server, user: root}\n");

        assert_int_equal(said.result, 0);
        assert_int_equal(said.warnings.n_messages, 1);
        assert_non_null(strstr(said.warnings.messages[0], "is released"));
        assert_int_equal(unsaid.result, 0);
        assert_int_equal(unsaid.warnings.n_messages, 0);
        /* It has one. */
        assert_int_equal(refused.result, -EINVAL);
        assert_int_equal(refused.warnings.n_messages, 0);
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
        assert_int_equal(policy->at.line, 3);
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
        assert_int_equal(load.set.policies[2].at.line, 4);
        assert_int_equal(load.set.policies[2].at.column, 3);
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

/* --- A host without any policy: the products are watched, and nothing else is said of them --- */

static void assert_built_in(const Load *load) {
        assert_int_equal(load->result, 0);
        assert_int_equal(load->warnings.n_messages, 0);
        assert_int_equal(policy_set_count_written(&load->set), 0);
        assert_int_equal(load->set.n_policies, N_PRODUCTS - 1);
        for (size_t i = 0; i < load->set.n_policies; i++) {
                const ProductInfo *info = product_info((Product)i + 1);
                const Policy *policy = &load->set.policies[i];

                assert_string_equal(policy->name, info->name);
                assert_string_equal(policy->match.exe, info->exe);
                assert_int_equal(product_of_pattern(info->exe, policy->match.args, NULL), i + 1);
                assert_null(policy->match.unit); /* or every service would be prepared */
                assert_true(policy->match.only_services);
                assert_null(policy->match.user);
                assert_true(policy->built_in);
                assert_int_equal(policy->memory, MEMORY_NONE);
                assert_int_equal(policy->migrate, MIGRATE_NONE);
                assert_string_equal(policy->file, "");
                assert_int_equal(policy->at.line, 0);
                assert_int_equal(policy->place.count, 1);
                assert_true(id_set_is_empty(&policy->place.nodes));
        }
}

TEST(nothing) {
        _cleanup_load_ Load load = { 0 };

        load_run(&load);
        assert_built_in(&load);
}

/* Settings are no policy. */
TEST(settings_alone) {
        _cleanup_load_ Load load = load_text(V "enforcement: {mode: observe}\n");

        assert_built_in(&load);
        assert_int_equal(load.set.mode, ENFORCEMENT_OBSERVE);
}

TEST(one_policy) {
        _cleanup_load_ Load load = load_text(V "policies: [{name: a, match: {unit: a.scope}}]\n");

        assert_int_equal(load.set.n_policies, 1);
        assert_int_equal(policy_set_count_written(&load.set), 1);
        assert_false(load.set.policies[0].built_in);
}

/* --- Every key of the language into its field: written, by default, as a list and as a single
 * value, and over several files --- */

#define P V "policies:\n- name: a\n  match: {unit: a.scope}\n"

static void assert_words(const WordList *list, const char *const *expected) {
        size_t n = 0;

        for (; expected[n]; n++) {
                assert_true(n < list->n_words);
                assert_string_equal(list->words[n], expected[n]);
        }
        assert_int_equal(list->n_words, n);
}
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

TEST(keys_defaults) {
        _cleanup_load_ Load load = load_text(P "irq: [{match: {net: '*'}}]\n");
        const PolicySet *set = &load.set;
        const Policy *p = set->policies;
        const IrqPolicy *irq = set->irqs;

        assert_int_equal(load.result, 0);
        assert_int_equal(p->place.count, 1);
        assert_false(p->place.count_is_set);
        assert_true(id_set_is_empty(&p->place.nodes));
        assert_true(id_set_is_empty(&p->place.avoid));
        assert_int_equal(p->place.near, NEAR_NONE);
        assert_int_equal(p->place.share, SHARE_EXCLUSIVE);
        assert_false(p->place.share_is_set);
        assert_true(p->place.same_package);
        assert_false(p->place.same_package_is_set);
        assert_int_equal(p->cpus.choice, CPUS_ALL);
        assert_int_equal(p->on_full, ON_FULL_WIDEN);
        assert_int_equal(p->migrate, MIGRATE_GENTLE);
        assert_int_equal(p->backend, POLICY_BACKEND_AUTO);
        assert_int_equal(p->match.containers, CONTAINERS_EXCLUDED);
        assert_null(p->match.args);
        assert_false(p->built_in);
        assert_int_equal(set->host.numa_balancing, NUMA_BALANCING_LEAVE);
        assert_int_equal(set->host.reserve.kind, RESERVE_NONE);
        assert_int_equal(set->host.reserve.devices.n_words, 0);
        assert_false(set->host.reserve.strict);
        assert_int_equal(irq->steer, STEER_AUTO);
        assert_int_equal(irq->irqbalance, IRQBALANCE_COOPERATE);
        assert_true(irq->xps);
        assert_int_equal(irq->rps, RPS_AUTO);
        assert_false(set->sampling_access);
        assert_false(set->sampling_events[LOCALITY_LOCAL].given);
        assert_false(set->sampling_events[LOCALITY_REMOTE].given);
        assert_int_equal(set->sampling_budget_ppm, 2000);
        assert_int_equal(set->on_stop, ON_STOP_KEEP);
}

/* The table's words for the settings of a host come to what the model begins with. */
TEST(model_begins_with_the_defaults) {
        _cleanup_policy_set_ PolicySet loaded = { 0 };
        Diagnostics errors = { 0 }, warnings = { 0 };
        PolicySet initial, bare;

        policy_set_init(&initial);
        assert_int_equal(
                policy_set_parse(&(SourceFileList){ 0 }, NULL, NULL, &loaded, &errors, &warnings),
                0);
        bare = loaded;
        bare.policies = NULL; /* the built-in ones */
        bare.n_policies = 0;
        assert_memory_equal(&initial, &bare, sizeof(bare));
}

TEST(named_nodes_less_those_to_avoid) {
        _cleanup_load_ Load load = load_text(P "  place: {nodes: 0-3, avoid: [1, 5]}\n");

        assert_int_equal(load.result, 0);
        assert_ids(load.set.policies[0].place.nodes, "0,2-3");
}

TEST(place) {
        _cleanup_load_ Load load =
                load_text(P "  place:\n"
                            "    count: 2\n"
                            "    nodes: [0, 2-3, '5']\n"
                            "    near: storage\n"
                            "    same_package: false\n"
                            "    share: shared\n"
                            "    avoid: 3\n"
                            "  on_full: keep\n"
                            "  migrate: kernel\n"
                            "  backend: affinity\n"
                            "- name: b\n"
                            "  match: {exe: b, args: '*--x [ab]*', user: 7, "
                            "containers: true}\n"
                            "  place: {count: auto, near: nic, avoid: [1, 4-5]}\n"
                            "  cpus: one-per-core\n"
                            "  instances: [{match: {port: 4000}, nodes: [6, 7]}]\n");
        const Policy *a = load.set.policies, *b = a + 1;

        assert_int_equal(load.result, 0);
        assert_int_equal(a->place.count, 2);
        assert_true(a->place.count_is_set);
        assert_ids(a->place.nodes, "0,2-3,5");
        assert_int_equal(a->place.near, NEAR_STORAGE);
        assert_false(a->place.same_package);
        assert_true(a->place.same_package_is_set);
        assert_int_equal(a->place.share, SHARE_SHARED);
        assert_true(a->place.share_is_set);
        assert_ids(a->place.avoid, "3");
        assert_int_equal(a->on_full, ON_FULL_KEEP);
        assert_int_equal(a->migrate, MIGRATE_KERNEL);
        assert_int_equal(a->backend, POLICY_BACKEND_AFFINITY);
        assert_string_equal(b->match.args, "*--x [ab]*");
        assert_int_equal(b->match.containers, CONTAINERS_INCLUDED);
        assert_int_equal(b->place.count, PLACE_COUNT_AUTO);
        assert_true(b->place.count_is_set);
        assert_int_equal(b->place.near, NEAR_NIC);
        assert_ids(b->place.avoid, "1,4-5");
        assert_int_equal(b->cpus.choice, CPUS_ONE_PER_CORE);
        assert_true(id_set_is_empty(&b->cpus.list));
        assert_int_equal(b->instances[0].match.port, 4000);
        assert_ids(b->instances[0].nodes, "6-7");
}

TEST(cpus) {
        static const char *const cases[][2] = { { "8-15", "8-15" },
                                                { "8", "8" },
                                                { "[8, 10-11]", "8,10-11" } };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {

                _cleanup_load_ Load load = load_text(fmt(P "  cpus: %s\n", cases[i][0]));
                assert_int_equal(load.set.policies->cpus.choice, CPUS_LIST);
                assert_ids(load.set.policies->cpus.list, cases[i][1]);
        }
}

TEST(host) {
        _cleanup_load_ Load nic = load_text(V "host: {numa_balancing: on, reserve: {nodes: nic, "
                                              "devices: [eth0, eth1], strict: true}}\n");
        _cleanup_load_ Load list = load_text(V "host: {reserve: {nodes: 0-1, devices: []}}\n");
        _cleanup_load_ Load off =
                load_text(V "host: {numa_balancing: off, reserve: {devices: eth0, nodes: [7]}}\n");

        assert_int_equal(nic.set.host.numa_balancing, NUMA_BALANCING_ON);
        assert_int_equal(nic.set.host.reserve.kind, RESERVE_NIC);
        assert_words(&nic.set.host.reserve.devices, WORDS("eth0", "eth1"));
        assert_true(nic.set.host.reserve.strict);
        assert_int_equal(list.set.host.reserve.kind, RESERVE_LIST);
        assert_ids(list.set.host.reserve.nodes, "0-1");
        assert_int_equal(off.set.host.numa_balancing, NUMA_BALANCING_OFF);
        assert_int_equal(off.set.host.reserve.kind, RESERVE_LIST);
        assert_ids(off.set.host.reserve.nodes, "7");
        assert_words(&off.set.host.reserve.devices, WORDS("eth0"));
}

/* A later file takes over what it gives, a list as a whole, and nothing else. */
TEST(host_key_by_key) {
        _cleanup_load_ Load load = load_two(
                V "host: {numa_balancing: off, reserve: {nodes: 0-3, devices: [eth0, eth1], "
                  "strict: true}}\n"
                  "sampling: {interval: 20s, budget: 2%, access: on, events: {local: 1, "
                  "remote: 2}}\n"
                  "enforcement: {on_stop: restore, backend: affinity}\n",
                V "host: {reserve: {nodes: [2], devices: eth0}}\n"
                  "sampling: {budget: 0.5%, events: {remote: 3}}\n"
                  "enforcement: {backend: auto}\n");
        const PolicySet *set = &load.set;

        assert_int_equal(load.result, 0);
        assert_int_equal(set->host.numa_balancing, NUMA_BALANCING_OFF);
        assert_ids(set->host.reserve.nodes, "2");
        assert_words(&set->host.reserve.devices, WORDS("eth0"));
        assert_true(set->host.reserve.strict);
        assert_int_equal(set->sampling_interval_usec, 20000000);
        assert_int_equal(set->sampling_budget_ppm, 5000);
        assert_true(set->sampling_access);
        assert_int_equal(set->sampling_events[LOCALITY_LOCAL].config, 1);
        assert_int_equal(set->sampling_events[LOCALITY_REMOTE].config, 3);
        assert_int_equal(set->on_stop, ON_STOP_RESTORE);
        assert_int_equal(set->backend, BACKEND_AUTO);
}

TEST(reserve_taken_back) {
        _cleanup_load_ Load load =
                load_two(V "host: {reserve: {nodes: 0-3}}\n", V "host: {reserve: {nodes: none}}\n");

        assert_int_equal(load.set.host.reserve.kind, RESERVE_NONE);
        assert_true(id_set_is_empty(&load.set.host.reserve.nodes));
}

TEST(irq) {
        _cleanup_load_ Load load =
                load_two(V "irq:\n"
                           "- match: {net: [eth0, 'ens*'], nvme: nvme0}\n"
                           "  steer: local\n"
                           "  irqbalance: ban\n"
                           "  xps: false\n"
                           "  rps: on\n"
                           "- match: {nvme: ['nvme*', nvme1], pci: [0000:3B:00.0, '3b:00.1']}\n"
                           "  steer: 0-3\n"
                           "  irqbalance: ignore\n"
                           "  rps: off\n",
                         V "irq: [{match: {pci: 0001:00:1f.7}, steer: [1, 5]}, {match: {net: e}, "
                           "steer: away}]\n");
        const IrqPolicy *irq = load.set.irqs;

        assert_messages(&load.errors, (const char *const[]){ NULL });
        assert_int_equal(load.set.n_irqs, 4);
        assert_words(&irq[0].net, WORDS("eth0", "ens*"));
        assert_words(&irq[0].nvme, WORDS("nvme0"));
        assert_int_equal(irq[0].pci.n_words, 0);
        assert_int_equal(irq[0].steer, STEER_LOCAL);
        assert_int_equal(irq[0].irqbalance, IRQBALANCE_BAN);
        assert_false(irq[0].xps);
        assert_int_equal(irq[0].rps, RPS_ON);
        assert_string_equal(irq[0].file, "etc/a.yaml");
        assert_int_equal(irq[0].at.line, 3);
        assert_int_equal(irq[0].at.column, 3);
        assert_words(&irq[1].nvme, WORDS("nvme*", "nvme1"));
        assert_words(&irq[1].pci, WORDS("0000:3b:00.0", "0000:3b:00.1"));
        assert_int_equal(irq[1].steer, STEER_CPUS);
        assert_ids(irq[1].cpus, "0-3");
        assert_int_equal(irq[1].irqbalance, IRQBALANCE_IGNORE);
        assert_int_equal(irq[1].rps, RPS_OFF);
        assert_string_equal(irq[2].file, "etc/b.yaml");
        assert_words(&irq[2].pci, WORDS("0001:00:1f.7"));
        assert_int_equal(irq[2].steer, STEER_CPUS);
        assert_ids(irq[2].cpus, "1,5");
        assert_int_equal(irq[3].steer, STEER_AWAY);
}

TEST(steer_words) {
        static const char *const words[] = { "auto", "reserved", "local", "away", "leave" };

        for (unsigned i = 0; i < ELEMENTSOF(words); i++) {

                _cleanup_load_ Load load =
                        load_text(fmt(V "irq: [{match: {net: e}, steer: %s}]", words[i]));
                assert_int_equal(load.set.irqs->steer, i);
        }
}

/* Each path once, each parent there, and what makes a row whole. */
TEST(table) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                const PolicyKey *key = &keys[i];
                bool holds = key->type == POLICY_KEY_SECTION || key->type == POLICY_KEY_LIST;
                size_t below = 0;

                assert_ptr_equal(policy_key_at(key->path), key);
                assert_int_equal(policy_key_index(key), i);
                assert_int_equal(key->help[strlen(key->help) - 1], '.');
                assert_true(key->choices || key->type != POLICY_KEY_CHOICE);
                for (size_t j = 0; j < n; j++) {

                        below += policy_key_is_below(&keys[j], key->path) ||
                                 policy_key_is_below(&keys[j], fmt("%s[]", key->path));
                        assert_true(i == j || strcmp(key->path, keys[j].path) != 0);
                }
                assert_int_equal(holds, below > 0);
        }
        assert_null(policy_key_at("policies[].nodes"));
        assert_null(policy_key_find("policies[]", "place.nodes"));
        assert_null(policy_key_find("", "irq[]"));
}

/* --- What messages of refusals show beside their words: excerpts and marks, of all files --- */

/* What a terminal shows below the message. */
TEST(excerpts) {
        _cleanup_load_ Load load = load_text(P "  memroy: bind\n"
                                               "  place: {nodes: [0, 12]}  # far\n"
                                               "\tx: y\n");
        _cleanup_load_ Load more = load_text(P "  memroy: bind\n"
                                               "  place: {nodes: [0, 12]}  # far\n"
                                               "  instances: [{nodes: 1}]\n"
                                               "  memory: [bind,\n    none]\n"
                                               "  cpus:\n    all: 1\n");
        _cleanup_text_ Text text = { 0 };

        for (size_t i = 0; i < load.errors.n_messages; i++)
                diagnostics_render(&load.errors, i, &text);
        for (size_t i = 0; i < more.errors.n_messages; i++)
                diagnostics_render(&more.errors, i, &text);
        assert_string_equal(
                text.data,
                "a.yaml:7:1: not valid YAML: a tab; indent with spaces, not with tabs\n"
                "    \tx: y\n"
                "    ^\n"
                "a.yaml:5:3: unknown key `memroy` in `policies[]`, did you mean `memory`?\n"
                "      memroy: bind\n"
                "      ^~~~~~\n"
                "a.yaml:6:22: `policies[].place.nodes` names node 12, which this machine does not "
                "have, expected some of 0-7\n"
                "      place: {nodes: [0, 12]}  # far\n"
                "                         ^~\n"
                "a.yaml:7:15: `policies[].instances[].match` is missing, expected a mapping such "
                "as {unit: tidb-4000.service}\n"
                "      instances: [{nodes: 1}]\n"
                "                  ^~~~~~~~~~\n"
                "a.yaml:8:11: `policies[].memory` is a list, expected bind, preferred or none\n"
                "      memory: [bind,\n"
                "              ^\n"
                "a.yaml:11:5: `policies[].cpus` is a mapping, " CPUS_EXPECTED "\n"
                "        all: 1\n"
                "        ^\n");
}

/* How far a mark goes where something ends on another line, or with the file. */
TEST(marks) {
        _cleanup_load_ Load text = load_text(P "  memory: \"bi\n                      nd\"\n");
        _cleanup_load_ Load end = load_text("policies: []");

        assert_string_equal(text.errors.details[0].excerpt, "  memory: \"bi\n          ^~~");
        assert_string_equal(end.errors.details[0].excerpt, "policies: []\n^");
}

/* One broken file does not hide what is wrong with the next. */
TEST(all_errors_of_all_files) {
        _cleanup_load_ Load load = load_two("version: 1\npolicies: [\n", "version: 3\nzzzzzz: 1\n");

        assert_messages(&load.errors,
                        (const char *const[]){
                                "etc/a.yaml:3:1: not valid YAML: the file ends inside [ ] or { }, "
                                "expected the closing bracket",
                                "etc/b.yaml:1:10: `version` is `3`, expected 1",
                                "etc/b.yaml:2:1: unknown key `zzzzzz` at the top, expected one of "
                                "`version`, `host`, `policies`, `irq`, `sampling`, `enforcement`",
                                NULL });
}
