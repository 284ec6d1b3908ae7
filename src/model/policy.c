/* Life and defaults of policies. */
#include <stdlib.h>

#include "tidbnumad/model/policy.h"

static void policy_match_done(PolicyMatch *match) {
        free(match->exe);
        free(match->unit);
        free(match->user);
        *match = (PolicyMatch){ 0 };
}

void policy_done(Policy *policy) {
        policy_match_done(&policy->match);
        for (size_t i = 0; i < policy->n_instances; i++)
                policy_match_done(&policy->instances[i].match);
        free(policy->instances);
        free(policy->name);
        free(policy->file);
        *policy = (Policy){ 0 };
}

void policy_set_init(PolicySet *set) {
        *set = (PolicySet){
                .mode = ENFORCEMENT_ENFORCE,
                .sampling_interval_usec = UINT64_C(10) * 1000 * 1000,
        };
}

void policy_set_done(PolicySet *set) {
        for (size_t i = 0; i < set->n_policies; i++)
                policy_done(&set->policies[i]);
        free(set->policies);
        *set = (PolicySet){ 0 };
}

const char *memory_mode_to_string(MemoryMode mode) {
        switch (mode) {
        case MEMORY_BIND:
                return "bind";
        case MEMORY_PREFERRED:
                return "preferred";
        case MEMORY_NONE:
                return "none";
        }
        return "unknown";
}
