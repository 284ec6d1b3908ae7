#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/instance-name.h"
#include "tidbnumad/plan/known-unit.h"

/* A node's memory is given to a unit alone only with so much of it free, see the header. */
enum { ROOM_SHARE = 8, ROOM_SHARE_NARROW = 16, LITERALS_MIN = 2 };

static const char SUFFIX[] = ".service";

bool known_unit_is_service(const char *unit) {
        return unit_is_service(unit) && !text_ends_with(unit, "@.service");
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

static bool matches(const char *glob, const char *unit) {
        return fnmatch(glob, unit, 0) == 0;
}

static bool names(const char *glob, const char *unit) {
        return glob && count_literals(glob) >= LITERALS_MIN && matches(glob, unit);
}

static bool can_hold(const Policy *policy, const char *unit) {
        return !policy->match.unit || matches(policy->match.unit, unit);
}

static bool policy_names(const Policy *policy, const char *unit) {
        if (!can_hold(policy, unit))
                return false;
        if (names(policy->match.unit, unit))
                return true;
        for (size_t i = 0; i < policy->n_instances; i++)
                if (names(policy->instances[i].match.unit, unit))
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

/* The text without escapes; `ret_exact`: it has no wildcard. An escaped character becomes "?" in a
 * glob, for systemd knows no escapes. */
static char *unescape(const char *pattern, bool *ret_exact) {
        char *text = strdup(pattern), *out = text;
        bool exact = true;

        if (!text)
                return NULL;
        for (const char *p = pattern; *p; p++)
                if (*p == '\\' && p[1])
                        p++;
                else if (strchr("*?[", *p))
                        exact = false;
        for (const char *p = pattern; *p; p++) {
                bool escaped = *p == '\\' && p[1];

                p += escaped;
                *out++ = escaped && !exact ? '?' : *p;
        }
        *out = '\0';
        *ret_exact = exact;
        return text;
}

static int add_pattern(UnitPatterns *p, const char *pattern) {
        _cleanup_free_ char *text = NULL;
        bool exact;

        if (!pattern || count_literals(pattern) < LITERALS_MIN)
                return 0;
        text = unescape(pattern, &exact);
        if (!text)
                return -ENOMEM;
        return word_list_add(exact ? &p->names : &p->globs, text);
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

static const NodeSet *nodes_of(const Policy *policy, const char *unit) {
        for (size_t i = 0; i < policy->n_instances; i++)
                if (!policy->instances[i].match.unit ||
                    matches(policy->instances[i].match.unit, unit))
                        return &policy->instances[i].nodes;
        return &policy->place.nodes;
}

/* Nodes that are not weighed against anything. */
static bool has_explicit_nodes(const Policy *policy, const char *unit) {
        return nodes_of(policy, unit) != &policy->place.nodes ||
               (!policy->place.count_is_set && !id_set_is_empty(&policy->place.nodes));
}

static bool agree(const Policy *a, const Policy *b, const char *unit) {
        return a->memory == b->memory && has_explicit_nodes(a, unit) &&
               has_explicit_nodes(b, unit) && id_set_equal(nodes_of(a, unit), nodes_of(b, unit));
}

/* Could one executable match both? Where that is not clear, it could. */
static bool overlap(const char *a, const char *b) {
        if (!a || !b)
                return true;
        if (a[0] == '/' && b[0] == '/')
                return true;
        return fnmatch(basename(a), basename(b), 0) == 0 ||
               fnmatch(basename(b), basename(a), 0) == 0;
}

/* Every process that `other` could take, `first` takes before it. */
static bool covers(const Policy *first, const Policy *other) {
        return !first->match.args &&
               (!first->match.exe ||
                (other->match.exe && strcmp(first->match.exe, other->match.exe) == 0));
}

static const char *find_doubt(const PolicySet *policies, const Policy *chosen, const char *unit,
                              bool uid_known, uid_t uid) {
        for (size_t i = 0; i < policies->n_policies; i++) {
                const Policy *p = &policies->policies[i];

                if (p == chosen || !can_hold(p, unit) || agree(p, chosen, unit) ||
                    !user_holds(&p->match, uid_known, uid))
                        continue;
                if (p < chosen && overlap(p->match.exe, chosen->match.exe))
                        return "an earlier policy without a unit may match its processes; which "
                               "policy applies is known when they run";
                if (p > chosen && policy_names(p, unit) && !covers(chosen, p))
                        return "two policies with different places match it; which one applies is "
                               "known when it runs";
        }
        return NULL;
}

const Policy *known_unit_policy(const PolicySet *policies, const char *unit, bool uid_known,
                                uid_t uid, const char **ret_reason) {
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

/* --- one property --- */

void known_property_read(KnownProperty *property, IdView value, bool ours, const IdSet *before) {
        property->ours = ours;
        property->before = ours ? *before : (IdSet){ 0 };
        id_view_convert(value, ID_TARGET(&property->value));
}

const IdSet *known_property_own(const KnownProperty *property) {
        return property->ours ? &property->before : &property->value;
}

bool known_property_plan(const KnownProperty *property, const IdSet *want, IdSet *ret) {
        if (id_set_is_empty(want) && !property->ours)
                return false;
        *ret = id_set_is_empty(want) ? property->before : *want;
        return !id_set_equal(ret, &property->value);
}

void known_property_done(KnownProperty *property, const IdSet *want, const IdSet *value) {
        if (id_set_is_empty(want)) {
                property->ours = false;
        } else if (!property->ours) {
                property->ours = !id_set_equal(&property->value, value);
                property->before = property->value;
        }
        property->value = *value;
}
