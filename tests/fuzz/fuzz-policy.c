/* Policy text of any kind: no crash, no leak, and either a whole set or an untouched one. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/config/policy-load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition) {
        if (!condition)
                abort();
}

static void check_loaded(const PolicySet *set) {
        check(set->n_policies <= POLICIES_MAX);
        for (size_t i = 0; i < set->n_policies; i++) {
                const Policy *policy = &set->policies[i];

                check(policy->name && policy->file && policy->line > 0);
                check(policy->match.exe || policy->match.unit);
                check(policy->rate_bytes_per_sec > 0);
                check(policy->memory <= MEMORY_NONE && policy->migrate <= MIGRATE_NONE);
                for (size_t j = 0; j < policy->n_instances; j++)
                        check(policy->instances[j].match.unit &&
                              !id_set_is_empty(&policy->instances[j].nodes));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_diagnostics_ Diagnostics errors = { 0 }, warnings = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        Node nodes[2] = { { .id = 0 }, { .id = 1 } };
        Topology topology = { .nodes = nodes, .n_nodes = 2 };
        PolicySet set, untouched;
        int r;

        if (source_file_list_add(&files, "fuzz.yaml", (const char *)data, size) < 0)
                return 0;
        memset(&set, 0xa5, sizeof(set));
        memset(&untouched, 0xa5, sizeof(untouched));
        r = policy_set_parse(&files, &topology, &set, &errors, &warnings);
        if (r == 0) {
                check(errors.n_messages == 0);
                check_loaded(&set);
                policy_set_done(&set);
        } else {
                check(r == -ENOMEM || (r == -EINVAL && errors.n_messages > 0));
                check(memcmp(&set, &untouched, sizeof(set)) == 0);
        }
        return 0;
}
