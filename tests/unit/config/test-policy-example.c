/* The example that is shipped loads on the machine it is for, without a word. */

#include "load-support.h"

static const char *path;

static void read_example(Load *load) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        static char text[SOURCE_FILE_MAX_BYTES];
        size_t size;

        assert_non_null(file);
        size = fread(text, 1, sizeof(text), file);
        assert_int_equal(source_file_list_add(&load->files, path, text, size), 0);
}

static void assert_instance(const PolicySet *set, const char *unit, int node, MemoryMode memory) {
        for (size_t i = 0; i < set->n_policies; i++) {
                const Policy *policy = &set->policies[i];

                for (size_t j = 0; j < policy->n_instances; j++) {
                        if (strcmp(policy->instances[j].match.unit, unit) != 0)
                                continue;
                        assert_int_equal(id_set_count(&policy->instances[j].nodes), 1);
                        assert_int_equal(id_set_next(&policy->instances[j].nodes, 0), node);
                        assert_int_equal(policy->memory, memory);
                        return;
                }
        }
        fail_msg("%s has no node of its own", unit);
}

TEST(example) {
        _cleanup_load_ Load load = { 0 };

        read_example(&load);
        load_run(&load);
        assert_messages(&load.errors, (const char *const[]){ NULL });
        assert_messages(&load.warnings, (const char *const[]){ NULL });
        assert_int_equal(load.set.n_policies, 4);
        assert_int_equal(load.set.host.numa_balancing, NUMA_BALANCING_OFF);
        assert_int_equal(load.set.n_irqs, 1);
        assert_int_equal(load.set.mode, ENFORCEMENT_OBSERVE);
        assert_instance(&load.set, "tidb-4000.service", 0, MEMORY_BIND);
        assert_instance(&load.set, "tidb-4001.service", 2, MEMORY_BIND);
        assert_instance(&load.set, "tikv-20160.service", 3, MEMORY_BIND);
        assert_instance(&load.set, "tikv-20161.service", 6, MEMORY_BIND);
        assert_instance(&load.set, "pd-2379.service", 4, MEMORY_PREFERRED);
        assert_string_equal(load.set.policies[3].match.unit, "haproxy.service");
        assert_null(load.set.policies[3].match.user);
        assert_int_equal(load.set.policies[3].memory, MEMORY_PREFERRED);
        assert_int_equal(id_set_next(&load.set.policies[3].place.nodes, 0), 5);
        for (size_t i = 0; i < load.set.n_policies; i++) /* node 1 is the network card's */
                assert_false(id_set_has(&load.set.policies[i].place.nodes, 1));
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        path = argv[1];
        return test_run_all();
}
