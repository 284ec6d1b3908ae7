/* Every key of the language into its field: written, by default, as a list and as a single value,
 * and over several files. */
#include "load-support.h"

#include "tidbnumad/config/policy-loader.h"
#include "tidbnumad/config/policy-table.h"

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

TEST(defaults) {
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
        assert_int_equal(irq[0].line, 3);
        assert_int_equal(irq[0].column, 3);
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
