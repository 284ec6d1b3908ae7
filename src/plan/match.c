#include <fnmatch.h>
#include <string.h>

#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/plan/match.h"

static bool exe_matches(const char *pattern, const char *exe) {
        if (!pattern)
                return true;
        if (pattern[0] == '/')
                return fnmatch(pattern, exe, FNM_PATHNAME) == 0;
        return strcmp(pattern, basename(exe)) == 0;
}

static bool unit_matches(const char *pattern, const char *unit) {
        return !pattern || (unit && fnmatch(pattern, unit, 0) == 0);
}

bool match_wants_exe(const PolicySet *policies, const char *exe) {
        for (size_t i = 0; i < policies->n_policies; i++)
                if (exe_matches(policies->policies[i].match.exe, exe))
                        return true;
        return false;
}

const Policy *match_by_exe_alone(const PolicySet *policies, const char *exe) {
        for (size_t i = 0; i < policies->n_policies; i++) {
                const Policy *policy = &policies->policies[i];
                const PolicyMatch *match = &policy->match;

                if (exe_matches(match->exe, exe))
                        return match->exe && !match->unit && !match->args && !match->only_services
                                       ? policy
                                       : NULL;
        }
        return NULL;
}

bool match_wants_args(const PolicySet *policies, const char *exe) {
        for (size_t i = 0; i < policies->n_policies; i++)
                if (policies->policies[i].match.args &&
                    exe_matches(policies->policies[i].match.exe, exe))
                        return true;
        return false;
}

bool match_wants_path(const PolicySet *policies, const char *exe) {
        for (size_t i = 0; i < policies->n_policies; i++) {
                const char *pattern = policies->policies[i].match.exe;

                if (pattern && pattern[0] == '/' && exe_matches(pattern, exe))
                        return true;
        }
        return false;
}

static bool ids_match(const PolicyMatch *match, const ProcessId *id) {
        for (size_t i = 0; i < match->n_ids; i++)
                if (process_id_equal(&match->ids[i], id))
                        return true;
        return !match->ids;
}

MatchKey match_failing_key(const PolicyMatch *match, const Process *process) {
        if (!exe_matches(match->exe, process->exe) || !ids_match(match, &process->id))
                return MATCH_KEY_EXE;
        if (!unit_matches(match->unit, process->unit) ||
            (match->only_services && !unit_is_service(process->unit)))
                return MATCH_KEY_UNIT;
        if (match->args && (!process->args || fnmatch(match->args, process->args, 0) != 0))
                return MATCH_KEY_ARGS;
        if (match->user && (!match->uid_known || match->uid != process->uid))
                return MATCH_KEY_USER;
        if (process->foreign != FOREIGN_NONE && match->containers == CONTAINERS_EXCLUDED)
                return MATCH_KEY_CONTAINERS;
        return MATCH_KEY_NONE;
}

static MatchVerdict judge(const PolicyMatch *match, const Process *process) {
        switch (match_failing_key(match, process)) {
        case MATCH_KEY_NONE:
                return MATCH_POLICY;
        case MATCH_KEY_USER:
                return MATCH_OTHER_USER;
        case MATCH_KEY_CONTAINERS:
                return MATCH_FOREIGN;
        default:
                return MATCH_NONE;
        }
}

MatchVerdict match_judge(const PolicySet *policies, const Process *process, const Policy **ret) {
        MatchVerdict found = MATCH_NONE;

        for (size_t i = 0; i < policies->n_policies; i++) {
                MatchVerdict verdict = judge(&policies->policies[i].match, process);

                if (verdict == MATCH_NONE || (verdict != MATCH_POLICY && found != MATCH_NONE))
                        continue;
                *ret = &policies->policies[i];
                found = verdict;
                if (verdict == MATCH_POLICY)
                        break;
        }
        return found;
}

const Policy *match_process(const PolicySet *policies, const Process *process) {
        const Policy *policy = NULL;

        return match_judge(policies, process, &policy) == MATCH_POLICY ? policy : NULL;
}

static bool port_matches(uint16_t port, const uint16_t *ports, size_t n_ports) {
        for (size_t i = 0; i < n_ports; i++)
                if (ports[i] == port)
                        return true;
        return port == 0;
}

const PolicyInstance *match_instance(const Policy *policy, const char *unit, const uint16_t *ports,
                                     size_t n_ports) {
        for (size_t i = 0; i < policy->n_instances; i++) {
                const PolicyMatch *m = &policy->instances[i].match;

                if (unit_matches(m->unit, unit) && port_matches(m->port, ports, n_ports))
                        return &policy->instances[i];
        }
        return NULL;
}

bool match_needs_port(const Policy *policy, const char *unit) {
        for (size_t i = 0; i < policy->n_instances; i++) {
                const PolicyMatch *m = &policy->instances[i].match;

                if (unit_matches(m->unit, unit))
                        return m->port != 0;
        }
        return false;
}
