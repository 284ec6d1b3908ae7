/* Four policies that change nothing: after the installation of the package the report has the
 * host's database before anybody has written a line. Only services: a program of that name that
 * some user starts is no part of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/config/policy-builtin.h"
#include "tidbnumad/config/policy-loader.h"

static int fill(Policy *policy, const char *name, const char *exe) {
        int r = policy_field_set_defaults("policies[]", policy);

        if (r < 0)
                return r;
        policy->name = strdup(name);
        policy->match.exe = strdup(exe);
        policy->match.only_services = true;
        policy->file = strdup("");
        policy->memory = MEMORY_NONE;
        policy->migrate = MIGRATE_NONE;
        policy->built_in = true;
        return policy->name && policy->match.exe && policy->file ? 0 : -ENOMEM;
}

int policy_builtin_add(PolicySet *set) {
        static const struct {
                const char *name, *exe;
        } watched[] = {
                { "tidb", "tidb-server" },
                { "tikv", "tikv-server" },
                { "pd", "pd-server" },
                { "haproxy", "haproxy" },
        };

        set->policies = calloc(ELEMENTSOF(watched), sizeof(*set->policies));
        if (!set->policies)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(watched); i++) {
                int r = fill(&set->policies[set->n_policies++], watched[i].name, watched[i].exe);

                if (r < 0)
                        return r;
        }
        return 0;
}
