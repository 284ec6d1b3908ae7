/* Which policy a process belongs to. */
#include <fnmatch.h>
#include <string.h>

#include "tidbnumad/plan/match.h"

static const char *base_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

static bool exe_matches(const char *pattern, const char *exe) {
        if (!pattern)
                return true;
        if (pattern[0] == '/')
                return fnmatch(pattern, exe, FNM_PATHNAME) == 0;
        return strcmp(pattern, base_name(exe)) == 0;
}

static bool unit_matches(const char *pattern, const char *unit) {
        return !pattern || (unit && fnmatch(pattern, unit, 0) == 0);
}

static bool user_matches(const PolicyMatch *match, uid_t uid) {
        return !match->user || (match->uid_known && match->uid == uid);
}

bool match_wants_exe(const PolicySet *policies, const char *exe) {
        for (size_t i = 0; i < policies->n_policies; i++)
                if (exe_matches(policies->policies[i].match.exe, exe))
                        return true;
        return false;
}

const Policy *match_process(const PolicySet *policies, const Process *process) {
        if (process->stranger)
                return NULL;
        for (size_t i = 0; i < policies->n_policies; i++) {
                const PolicyMatch *m = &policies->policies[i].match;

                if (exe_matches(m->exe, process->exe) && unit_matches(m->unit, process->unit) &&
                    user_matches(m, process->uid))
                        return &policies->policies[i];
        }
        return NULL;
}

const PolicyInstance *match_instance(const Policy *policy, const char *unit) {
        for (size_t i = 0; i < policy->n_instances; i++)
                if (unit_matches(policy->instances[i].match.unit, unit))
                        return &policy->instances[i];
        return NULL;
}
