/* Which policy a process or a unit belongs to, and how many instances each policy has. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/model/workload.h"

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

bool match_wants_mounts(const PolicySet *policies, const Process *process) {
        for (size_t i = 0; i < policies->n_policies; i++) {
                const char *pattern = policies->policies[i].match.exe;

                if (pattern && pattern[0] == '/' && exe_matches(pattern, process->exe))
                        return true;
        }
        return process->foreign == FOREIGN_ROOT;
}

MatchKey match_failing_key(const PolicyMatch *match, const Process *process) {
        bool listed = !match->ids;

        for (size_t i = 0; i < match->n_ids; i++)
                listed |= process_id_equal(&match->ids[i], &process->id);
        if (!listed || !exe_matches(match->exe, process->exe))
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

MatchVerdict match_judge(const PolicySet *policies, const Process *process, const Policy **ret) {
        MatchVerdict found = MATCH_NONE;

        for (size_t i = 0; i < policies->n_policies; i++) {
                const MatchKey key = match_failing_key(&policies->policies[i].match, process);
                const MatchVerdict verdict = key == MATCH_KEY_NONE         ? MATCH_POLICY
                                             : key == MATCH_KEY_USER       ? MATCH_OTHER_USER
                                             : key == MATCH_KEY_CONTAINERS ? MATCH_FOREIGN
                                                                           : MATCH_NONE;

                if (verdict == MATCH_NONE || (verdict != MATCH_POLICY && found != MATCH_NONE))
                        continue;
                *ret = &policies->policies[i];
                found = verdict;
                if (verdict == MATCH_POLICY)
                        break;
        }
        return found;
}

/* A running program is recognized by its own name: the pattern may fit others too. */
Product match_product(const char *exe, const PolicyMatch *match, const char *unit) {
        const char *args = match ? match->args : NULL;

        if (!unit && match)
                unit = match->unit;
        if (exe || !match)
                return product_of(exe, args, unit);
        return product_of_pattern(match->exe, args, unit);
}

uint32_t match_weight(const char *exe, const Policy *policy, const char *unit) {
        if (policy && policy->weight != WEIGHT_AUTO)
                return policy->weight;
        return product_info(match_product(exe, policy ? &policy->match : NULL, unit))->weight;
}

const Policy *match_process(const PolicySet *policies, const Process *process) {
        const Policy *policy = NULL;

        return match_judge(policies, process, &policy) == MATCH_POLICY ? policy : NULL;
}

const PolicyInstance *match_instance(const Policy *policy, const char *unit, const uint16_t *ports,
                                     size_t n_ports) {
        for (size_t i = 0; i < policy->n_instances; i++) {
                const PolicyMatch *m = &policy->instances[i].match;
                bool listens = m->port == 0;

                for (size_t k = 0; k < n_ports; k++)
                        listens |= ports[k] == m->port;
                if (listens && unit_matches(m->unit, unit))
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

/* A node's memory is given to a unit alone only with so much of it free, see the header. */
enum { ROOM_SHARE = 8, ROOM_SHARE_NARROW = 16, LITERALS_MIN = 2 };

static const char SUFFIX[] = ".service";

bool known_unit_is_service(const char *unit) {
        return unit_is_service(unit) && !text_ends_with(unit, "@.service");
}

bool known_unit_is_own(const char *own, const char *unit) {
        const size_t length = own && text_ends_with(own, SUFFIX) ? strlen(own) - strlen(SUFFIX) : 0;

        return length > 0 && strncmp(unit, own, length) == 0 &&
               (unit[length] == '-' || strcmp(unit + length, SUFFIX) == 0);
}

/* Letters and digits that match themselves, the suffix not counted. */
static size_t count_literals(const char *glob) {
        size_t n = 0, length = strlen(glob) - (text_ends_with(glob, SUFFIX) ? strlen(SUFFIX) : 0);
        bool in_brackets = false;

        for (size_t i = 0; i < length; i++) {
                in_brackets = glob[i] == '[' || (in_brackets && glob[i] != ']');
                n += !in_brackets && isalnum((unsigned char)glob[i]);
        }
        return n;
}

static bool glob_names(const char *glob, const char *unit) {
        return glob && count_literals(glob) >= LITERALS_MIN && fnmatch(glob, unit, 0) == 0;
}

static bool policy_names(const Policy *policy, const char *unit) {
        if (!unit_matches(policy->match.unit, unit))
                return false;
        if (glob_names(policy->match.unit, unit))
                return true;
        for (size_t i = 0; i < policy->n_instances; i++)
                if (glob_names(policy->instances[i].match.unit, unit))
                        return true;
        return false;
}

bool known_unit_is_named(const PolicySet *policies, const char *unit) {
        for (size_t i = 0; i < policies->n_policies; i++)
                if (policy_names(&policies->policies[i], unit))
                        return true;
        return false;
}

/* --- patterns --- */

/* Without its escapes, to the names where it has no wildcard. An escaped character becomes "?" in a
 * glob, for systemd knows no escapes. */
static int add_pattern(UnitPatterns *patterns, const char *pattern) {
        _cleanup_free_ char *text = NULL;
        bool exact = true;
        char *out;

        if (!pattern || count_literals(pattern) < LITERALS_MIN)
                return 0;
        out = text = strdup(pattern);
        if (!text)
                return -ENOMEM;
        for (const char *p = pattern; *p; p++)
                if (*p == '\\' && p[1])
                        p++;
                else if (strchr("*?[", *p))
                        exact = false;
        for (const char *p = pattern; *p; p++) {
                const bool escaped = *p == '\\' && p[1];

                p += escaped;
                *out++ = escaped && !exact ? '?' : *p;
        }
        *out = '\0';
        return word_list_add(exact ? &patterns->names : &patterns->globs, text);
}

int known_unit_patterns(const PolicySet *policies, UnitPatterns *ret) {
        _cleanup_unit_patterns_ UnitPatterns p = { 0 };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < policies->n_policies; i++) {
                const Policy *policy = &policies->policies[i];

                r = add_pattern(&p, policy->match.unit);
                for (size_t k = 0; r >= 0 && k < policy->n_instances; k++)
                        r = add_pattern(&p, policy->instances[k].match.unit);
        }
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(p);
        return 0;
}

void unit_patterns_done(UnitPatterns *patterns) {
        word_list_done(&patterns->names);
        word_list_done(&patterns->globs);
}

/* --- which policy --- */

static bool user_holds(const PolicyMatch *match, bool uid_known, uid_t uid) {
        return !match->user || (match->uid_known && uid_known && match->uid == uid);
}

/* Nodes that are not weighed against anything, or NULL. */
static const NodeSet *explicit_nodes(const Policy *policy, const char *unit) {
        for (size_t i = 0; i < policy->n_instances; i++)
                if (unit_matches(policy->instances[i].match.unit, unit))
                        return &policy->instances[i].nodes;
        return !policy->place.count_is_set && !id_set_is_empty(&policy->place.nodes)
                       ? &policy->place.nodes
                       : NULL;
}

static const char *find_doubt(const PolicySet *policies, const Policy *chosen, const char *unit,
                              bool uid_known, uid_t uid) {
        const NodeSet *own_nodes = explicit_nodes(chosen, unit);
        const PolicyMatch *own = &chosen->match;

        for (size_t i = 0; i < policies->n_policies; i++) {
                const Policy *p = &policies->policies[i];
                const char *exe = p->match.exe;
                const NodeSet *nodes;
                bool overlap, covered;

                if (p == chosen || !unit_matches(p->match.unit, unit) ||
                    !user_holds(&p->match, uid_known, uid))
                        continue;
                nodes = explicit_nodes(p, unit);
                if (p->memory == chosen->memory && nodes && own_nodes &&
                    id_set_equal(nodes, own_nodes))
                        continue;
                /* Could one executable match both? Where that is not clear, it could. */
                overlap = !exe || !own->exe || (exe[0] == '/' && own->exe[0] == '/') ||
                          fnmatch(basename(exe), basename(own->exe), 0) == 0 ||
                          fnmatch(basename(own->exe), basename(exe), 0) == 0;
                if (p < chosen && overlap)
                        return "an earlier policy without a unit may match its processes; which "
                               "policy applies is known when they run";
                /* Every process that `p` could take, `chosen` takes before it. */
                covered = !own->args && (!own->exe || (exe && strcmp(own->exe, exe) == 0));
                if (p > chosen && policy_names(p, unit) && !covered)
                        return "two policies with different places match it; which one applies is "
                               "known when it runs";
        }
        return NULL;
}

const Policy *known_unit_policy(const PolicySet *policies, const char *unit, bool uid_known,
                                uid_t uid, bool container, const char **ret_reason) {
        *ret_reason = "";
        for (size_t i = 0; i < policies->n_policies; i++) {
                const Policy *p = &policies->policies[i];
                const char *doubt;

                if (!policy_names(p, unit))
                        continue;
                if (!user_holds(&p->match, uid_known, uid)) {
                        *ret_reason = "its User= is not the user of the policy";
                        continue;
                }
                if (container && p->match.containers == CONTAINERS_EXCLUDED) {
                        *ret_reason = "it has its own root or namespaces (RootDirectory=, "
                                      "PrivateUsers= and the like), and its policy does not set "
                                      "`containers: true`";
                        continue;
                }
                doubt = p->match.args
                                ? "its policy matches the command line, which is known when it runs"
                                : find_doubt(policies, p, unit, uid_known, uid);
                *ret_reason = doubt ? doubt : "";
                return doubt ? NULL : p;
        }
        return NULL;
}

uint64_t known_unit_room_bytes(const Topology *topology, const NodeSet *nodes, bool narrow) {
        return topology_memory_bytes(topology, nodes) / (narrow ? ROOM_SHARE_NARROW : ROOM_SHARE);
}

/* How many instances and processes each policy has of each user. An entry whose instances have
 * ended stays until the policies are loaded again: it remembers what was logged. */

void instance_counts_done(InstanceCounts *counts) {
        free(counts->counts);
        *counts = (InstanceCounts){ 0 };
}

/* The index of the entry, or where it would be. */
static size_t counts_place(const InstanceCounts *c, size_t policy, uid_t uid) {
        return ARRAY_LOWER_BOUND(c->n_counts, i,
                                 c->counts[i].policy < policy ||
                                         (c->counts[i].policy == policy && c->counts[i].uid < uid));
}

static InstanceCount *counts_find(const InstanceCounts *c, size_t policy, uid_t uid) {
        const size_t at = counts_place(c, policy, uid);
        const bool found =
                at < c->n_counts && c->counts[at].policy == policy && c->counts[at].uid == uid;

        return found ? &c->counts[at] : NULL;
}

int instance_counts_add(InstanceCounts *c, size_t policy, uid_t uid) {
        const InstanceCount first = { .policy = policy, .uid = uid, .n = 1 };
        InstanceCount *count = counts_find(c, policy, uid);

        if (!count)
                return ARRAY_INSERT(c->counts, c->n_counts, c->allocated,
                                    counts_place(c, policy, uid), &first);
        count->n++;
        return 0;
}

void instance_counts_remove(InstanceCounts *c, size_t policy, uid_t uid) {
        InstanceCount *count = counts_find(c, policy, uid);

        if (count && count->n > 0)
                count->n--;
}

size_t instance_counts_of(const InstanceCounts *c, size_t policy, uid_t uid) {
        const InstanceCount *count = counts_find(c, policy, uid);

        return count ? count->n : 0;
}

void instance_counts_join(InstanceCounts *c, size_t policy, uid_t uid, size_t n) {
        InstanceCount *count = counts_find(c, policy, uid);

        if (count)
                count->n_processes += n;
}

void instance_counts_leave(InstanceCounts *c, size_t policy, uid_t uid) {
        InstanceCount *count = counts_find(c, policy, uid);

        if (count && count->n_processes > 0)
                count->n_processes--;
}

bool instance_counts_have_place(const InstanceCounts *c, size_t policy, uid_t uid,
                                size_t n_places) {
        size_t taken = 0, of_user = 0, own = 0;

        for (size_t i = 0; i < c->n_counts; i++) {
                const InstanceCount *count = &c->counts[i];

                taken += count->n_processes;
                of_user += count->uid == uid ? count->n_processes : 0;
                own += count->uid == uid && count->policy == policy ? count->n_processes : 0;
        }
        return taken + own < n_places && of_user < n_places - n_places / 4;
}

bool instance_counts_log(InstanceCounts *c, size_t policy, uid_t uid, InstanceLimit limit) {
        InstanceCount *count = counts_find(c, policy, uid);

        if (!count || (count->logged & limit))
                return false;
        count->logged |= limit;
        return true;
}
