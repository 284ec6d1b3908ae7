/* Contradictions inside of one policy. */
#include <string.h>

#include "tidbnumad/config/policy-check.h"
#include "tidbnumad/model/placement.h"

#define NODES "policies[].place.nodes"
#define AVOID "policies[].place.avoid"
#define COUNT "policies[].place.count"
#define SAME_PACKAGE "policies[].place.same_package"
#define CPUS "policies[].cpus"
#define ON_FULL "policies[].on_full"
#define MEMORY "policies[].memory"
#define RATE "policies[].rate"
#define RATE_LOW (UINT64_C(1) << 20)

typedef struct Check {
        const PolicyDraft *draft;
        const Policy *policy;
        const Topology *topology;
        Diagnostics *errors, *warnings;
} Check;

#define REPORT(diagnostics, c, at, ...)                                                            \
        diagnostics_add_at((diagnostics), (c)->draft->file, (at), __VA_ARGS__)
#define REFUSE(c, at, ...) REPORT((c)->errors, (c), (at), __VA_ARGS__)
#define WARN(c, at, ...) REPORT((c)->warnings, (c), (at), __VA_ARGS__)

static const char *render(IdView ids, char buffer[static ID_SET_LIST_MAX]) {
        if (id_view_render_list(ids, buffer, ID_SET_LIST_MAX) < 0)
                strcpy(buffer, "numbers"); /* thousands of single ones */
        return buffer;
}

/* Keys that have no effect beside another one, or too little of it. */
static void check_idle_keys(const Check *c) {
        const Policy *policy = c->policy;

        if (policy->memory != MEMORY_BIND && policy_draft_gives(c->draft, ON_FULL))
                WARN(c, policy_draft_span(c->draft, ON_FULL),
                     "`" ON_FULL "` has no effect with `memory: %s`, only with `memory: bind`",
                     memory_mode_to_string(policy->memory));
        else if (policy->backend == POLICY_BACKEND_AFFINITY &&
                 policy_draft_gives(c->draft, ON_FULL))
                WARN(c, policy_draft_span(c->draft, ON_FULL),
                     "`" ON_FULL "` has no effect with `backend: affinity`, which cannot bind "
                     "memory");
        if (policy->backend == POLICY_BACKEND_AFFINITY && policy->memory == MEMORY_BIND &&
            policy_draft_gives(c->draft, MEMORY))
                WARN(c, policy_draft_span(c->draft, MEMORY),
                     "`" MEMORY ": bind` is treated as `preferred` with `backend: affinity`, which "
                     "cannot bind memory");
        if (!policy_draft_gives(c->draft, RATE))
                return;
        if (policy->migrate != MIGRATE_GENTLE)
                WARN(c, policy_draft_span(c->draft, RATE),
                     "`" RATE "` has no effect with `migrate: %s`, only with `migrate: gentle`",
                     policy->migrate == MIGRATE_KERNEL ? "kernel" : "none");
        else if (policy->rate_bytes_per_sec < RATE_LOW)
                WARN(c, policy_draft_span(c->draft, RATE),
                     "`" RATE "` is below 1MiB/s: moving 1 GiB takes more than 17 minutes");
}

static void check_match(const Check *c) {
        if (!c->policy->match.unit && !c->policy->match.user)
                WARN(c, c->draft->at,
                     "policy `%s` matches by `exe` alone, so any user's process of that name; add "
                     "`unit` or `user`",
                     c->policy->name);
}

/* The most of these nodes that one socket has. */
static uint32_t most_of_a_package(const Topology *topology, const NodeSet *nodes) {
        uint32_t most = 0;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                uint32_t n = 0;

                for (size_t j = 0; j < topology->n_nodes; j++)
                        n += topology_same_package(&topology->nodes[i], &topology->nodes[j]) &&
                             id_set_has(nodes, topology->nodes[j].id);
                if (n > most)
                        most = n;
        }
        return most;
}

static uint32_t count_homes(const Topology *topology, const NodeSet *nodes) {
        NodeSet homes = topology_homes(topology);

        id_set_intersect(&homes, nodes);
        return id_set_count(&homes);
}

/* No instance could be placed, so that the policy would do nothing. */
static void check_count(const Check *c, const NodeSet *open) {
        const Place *place = &c->policy->place;
        bool listed = !id_set_is_empty(&place->nodes);
        const char *less = id_set_is_empty(&place->avoid) ? "" : " less `place.avoid`";
        const char *from = listed ? "`place.nodes`" : "this machine";
        SourceSpan at = policy_draft_span(c->draft, COUNT);
        uint32_t n = id_set_count(open);

        if (!place->count_is_set || place->count == PLACE_COUNT_AUTO)
                return;
        if (place->count > n) {
                REFUSE(c, at, "`" COUNT "` is %u, and %s%s has %u, expected at most that",
                       place->count, from, less, n);
                return;
        }
        if (c->topology && place->count > count_homes(c->topology, open)) {
                WARN(c, at,
                     "`" COUNT
                     "` is %u, and %s%s has %u with CPUs and memory now, expected at most "
                     "that",
                     place->count, from, less, count_homes(c->topology, open));
                return;
        }
        if (!c->topology || !place->same_package)
                return;
        n = most_of_a_package(c->topology, open);
        if (place->count > n)
                REFUSE(c, at,
                       "`" COUNT
                       "` is %u, and no socket of %s%s has more than %u, expected at most "
                       "that, or `same_package: false`%s",
                       place->count, from, less, n,
                       place->same_package_is_set ? "" : " (it is true by default)");
}

static void check_choice(const Check *c) {
        const Place *place = &c->policy->place;
        bool listed = !id_set_is_empty(&place->nodes);
        NodeSet open = place->nodes;

        if (!listed && !c->topology)
                return;
        if (!listed)
                open = topology_nodes(c->topology);
        id_set_subtract(&open, &place->avoid);
        if (id_set_is_empty(&open))
                REFUSE(c, policy_draft_span(c->draft, AVOID),
                       "`" AVOID "` excludes %s, expected that a node remains",
                       listed ? "all of `place.nodes`" : "all nodes of this machine");
        else
                check_count(c, &open);
}

static void check_avoid(const Check *c) {
        NodeSet absent = c->policy->place.avoid, all;
        char list[ID_SET_LIST_MAX];

        if (!c->topology)
                return;
        all = topology_nodes(c->topology);
        id_set_union(&all, &c->topology->hidden_nodes);
        id_set_subtract(&absent, &all);
        if (!id_set_is_empty(&absent))
                WARN(c, policy_draft_span(c->draft, AVOID),
                     "`" AVOID "` names node %s, which this machine does not have",
                     render(ID_VIEW(&absent), list));
}

/* As the placement takes it: nodes without CPUs or of an unknown socket do not count. */
static bool spans_packages(const Topology *topology, const NodeSet *nodes) {
        uint32_t first = PACKAGE_UNKNOWN;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];

                if (!id_set_has(nodes, node->id) || id_set_is_empty(&node->cpus) ||
                    node->package == PACKAGE_UNKNOWN)
                        continue;
                if (first != PACKAGE_UNKNOWN && node->package != first)
                        return true;
                first = node->package;
        }
        return false;
}

static void check_package(const Check *c, const NodeSet *nodes, SourceSpan at) {
        char list[ID_SET_LIST_MAX];

        if (!c->topology || !c->policy->place.same_package_is_set ||
            !c->policy->place.same_package || !spans_packages(c->topology, nodes))
                return;
        REFUSE(c, at,
               "nodes %s belong to several sockets, and `same_package: true` is in line %u, "
               "expected nodes of one socket",
               render(ID_VIEW(nodes), list), policy_draft_span(c->draft, SAME_PACKAGE).line);
}

/* A CPU that is offline belongs to a node that is not known. */
static bool lists_cpus(const Check *c) {
        return c->topology && c->policy->cpus.choice == CPUS_LIST &&
               !id_set_intersects(&c->policy->cpus.list, &c->topology->offline_cpus);
}

/* A node that only has memory needs none. */
static void check_cpus_of_each(const Check *c, const NodeSet *nodes, SourceSpan at) {
        char list[ID_SET_LIST_MAX], inside[ID_SET_LIST_MAX];

        for (size_t i = 0; lists_cpus(c) && i < c->topology->n_nodes; i++) {
                const Node *node = &c->topology->nodes[i];
                NodeSet alone = { 0 };

                if (!id_set_has(nodes, node->id) || id_set_is_empty(&node->cpus) ||
                    id_set_intersects(&node->cpus, &c->policy->cpus.list))
                        continue;
                id_set_add(&alone, node->id);
                REFUSE(c, policy_draft_span(c->draft, CPUS),
                       "`" CPUS "` has no CPU of node %s, which line %u names, expected some of %s "
                       "as well, or nodes without that one",
                       render(ID_VIEW(&alone), list), at.line,
                       render(ID_VIEW(&node->cpus), inside));
                return;
        }
}

/* The nodes to choose are those of the listed CPUs. */
static void check_cpus_of_choice(const Check *c) {
        const Place *place = &c->policy->place;
        uint32_t n = 0;

        if (!lists_cpus(c) || !place->count_is_set || place->count == PLACE_COUNT_AUTO)
                return;
        for (size_t i = 0; i < c->topology->n_nodes; i++)
                n += id_set_intersects(&c->topology->nodes[i].cpus, &c->policy->cpus.list);
        if (n > 0 && n < place->count)
                REFUSE(c, policy_draft_span(c->draft, CPUS),
                       "`" CPUS "` has CPUs of %u node%s, and `" COUNT "` in line %u is %u, "
                       "expected CPUs of as many nodes, or a lower count",
                       n, n == 1 ? "" : "s", policy_draft_span(c->draft, COUNT).line, place->count);
}

/* The node of a CPU that is offline is not known. */
static bool check_cpus(const Check *c, const NodeSet *nodes, SourceSpan at) {
        char outside[ID_SET_LIST_MAX], list[ID_SET_LIST_MAX], inside[ID_SET_LIST_MAX];
        CpuSet theirs, lacking = c->policy->cpus.list;

        if (!c->topology || c->policy->cpus.choice != CPUS_LIST)
                return true;
        theirs = topology_cpus_of(c->topology, nodes);
        id_set_subtract(&lacking, &theirs);
        id_set_subtract(&lacking, &c->topology->offline_cpus);
        if (id_set_is_empty(&lacking))
                return true;
        REFUSE(c, policy_draft_span(c->draft, CPUS),
               "`" CPUS "` names CPU %s, which node %s in line %u does not have, expected "
               "some of %s",
               render(ID_VIEW(&lacking), outside), render(ID_VIEW(nodes), list), at.line,
               render(ID_VIEW(&theirs), inside));
        return false;
}

/* As the planner refuses an instance on these nodes. No error: CPUs and memory come and go, and one
 * policy must not keep all others from coming into force. */
static bool check_refusals(const Check *c, const NodeSet *nodes, SourceSpan at) {
        NodeSet with_memory = topology_memory_nodes(c->topology);
        const CpuSet cpus = topology_cpus_of(c->topology, nodes);
        char list[ID_SET_LIST_MAX];

        if (id_set_is_empty(&cpus)) {
                WARN(c, at, POLICY_PLACES_NOTHING " %s: %s", render(ID_VIEW(nodes), list),
                     placement_refusal_to_string(REFUSAL_NO_CPU));
                return false;
        }
        if (c->policy->memory != MEMORY_BIND || id_set_intersects(&with_memory, nodes))
                return true;
        WARN(c, at, POLICY_PLACES_NOTHING " %s: %s", render(ID_VIEW(nodes), list),
             placement_refusal_to_string(REFUSAL_NO_MEMORY));
        return false;
}

/* Beside a node that only has memory, one without memory is named on purpose. */
static void check_memory(const Check *c, const NodeSet *nodes, SourceSpan at) {
        char list[ID_SET_LIST_MAX];
        NodeSet empty = { 0 };
        bool paired = false;

        if (!c->topology || !check_refusals(c, nodes, at))
                return;
        for (size_t i = 0; i < c->topology->n_nodes; i++) {
                const Node *node = &c->topology->nodes[i];

                if (!id_set_has(nodes, node->id))
                        continue;
                paired |= id_set_is_empty(&node->cpus);
                if (!topology_has_memory(node))
                        id_set_add(&empty, node->id);
        }
        if (!id_set_is_empty(&empty) && !paired)
                WARN(c, at, "node %s has no memory: all memory that its CPUs use is remote",
                     render(ID_VIEW(&empty), list));
}

static void check_explicit(const Check *c) {
        const Place *place = &c->policy->place;
        char list[ID_SET_LIST_MAX];
        NodeSet seen = { 0 };

        for (size_t i = 0; i < policy_draft_n_explicit(c->draft); i++) {
                SourceSpan at;
                const NodeSet *nodes = policy_draft_explicit(c->draft, i, &at);
                NodeSet avoided = place->avoid, again = seen;

                check_package(c, nodes, at);
                check_memory(c, nodes, at);
                if (check_cpus(c, nodes, at))
                        check_cpus_of_each(c, nodes, at);
                if (i >= c->policy->n_instances)
                        continue;
                id_set_intersect(&avoided, nodes);
                if (!id_set_is_empty(&avoided))
                        WARN(c, at, "node %s is in `place.avoid` of line %u, but used here",
                             render(ID_VIEW(&avoided), list),
                             policy_draft_span(c->draft, AVOID).line);
                id_set_intersect(&again, nodes);
                if (!id_set_is_empty(&again) && place->share == SHARE_EXCLUSIVE)
                        WARN(c, at,
                             "node %s is also used by another entry of `instances`, and the policy "
                             "%s, expected different nodes, or `share: shared`",
                             render(ID_VIEW(&again), list),
                             place->share_is_set ? "sets `share: exclusive`"
                                                 : "is exclusive, as it is by default");
                id_set_union(&seen, nodes);
        }
}

void policy_check_draft(const PolicyDraft *draft, const Topology *topology, Diagnostics *errors,
                        Diagnostics *warnings) {
        const Check c = { draft, &draft->policy, topology, errors, warnings };

        check_match(&c);
        check_idle_keys(&c);
        policy_check_entries(draft, errors, warnings);
        check_choice(&c);
        check_avoid(&c);
        check_cpus_of_choice(&c);
        check_explicit(&c);
}
