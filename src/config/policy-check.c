/* What contradicts itself or has no effect in policies: inside of one, between two, and beside the
 * policies that were in force before. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/config/policy-check.h"
#include "tidbnumad/model/placement.h"

static const PolicyPlace *place_of(const PolicyPlace *places, const char *key) {
        return &places[policy_key_index(policy_key_at(key))];
}

static bool draft_gives(const PolicyDraft *draft, const char *path) {
        return place_of(draft->places, path)->file;
}

const char *policy_ids_render(IdView ids, char buffer[static ID_SET_LIST_MAX]) {
        if (id_view_render_list(ids, buffer, ID_SET_LIST_MAX) < 0)
                strcpy(buffer, "numbers"); /* thousands of single ones */
        return buffer;
}

SourceSpan policy_draft_span(const PolicyDraft *draft, const char *path) {
        return draft_gives(draft, path) ? place_of(draft->places, path)->at : draft->policy.at;
}

/* Nodes that leave no choice: those of each of `instances`, then place.nodes without a count. */
static size_t draft_n_explicit(const PolicyDraft *draft) {
        const Place *place = &draft->policy.place;

        return draft->policy.n_instances +
               (!place->count_is_set && !id_set_is_empty(&place->nodes));
}

static const NodeSet *draft_explicit(const PolicyDraft *draft, size_t i, SourceSpan *ret_at) {
        if (i < draft->policy.n_instances) {
                *ret_at = draft->policy.instances[i].nodes_at;
                return &draft->policy.instances[i].nodes;
        }
        *ret_at = policy_draft_span(draft, "policies[].place.nodes");
        return &draft->policy.place.nodes;
}

/* --- entries that never count, because an earlier one takes all that they are for. Only what is
 * certain is reported: two globs that merely overlap are not reported --- */

/* Does `wide` match everything that `narrow` matches? NULL is a key that is not set. */
static bool glob_covers(const char *wide, const char *narrow, int flags) {
        if (!wide)
                return true;
        if (!narrow)
                return false;
        if (strcmp(wide, narrow) == 0)
                return true;
        /* A ? or a set could match the `*` of the narrower glob, and not what it matches. */
        if (strpbrk(narrow, "*?[\\") && strpbrk(wide, "?[\\"))
                return false;
        return fnmatch(wide, narrow, flags) == 0;
}

static bool exe_covers(const char *wide, const char *narrow) {
        const char *slash = narrow ? strrchr(narrow, '/') : NULL;

        if (wide && narrow && wide[0] != '/')
                return strcmp(wide, slash ? slash + 1 : narrow) == 0;
        return glob_covers(wide, narrow, FNM_PATHNAME);
}

/* --- entries of `instances` --- */

static bool check_entry(const PolicyDraft *draft, size_t i, size_t j, Diagnostics *errors,
                        Diagnostics *warnings) {
        const PolicyMatch *earlier = &draft->policy.instances[i].match;
        const PolicyMatch *later = &draft->policy.instances[j].match;
        const SourceSpan at = draft->policy.instances[j].at;
        const uint32_t line = draft->policy.instances[i].at.line;

        if (!glob_covers(earlier->unit, later->unit, 0) ||
            (earlier->port != 0 && earlier->port != later->port))
                return false;
        if (earlier->port == later->port && text_equal(earlier->unit, later->unit))
                diagnostics_add_at(errors, draft->file, at,
                                   "a second entry of `instances` for the same %s, expected one; "
                                   "the first is in line %u",
                                   !later->unit       ? "port"
                                   : later->port == 0 ? "unit"
                                                      : "unit and port",
                                   line);
        else
                diagnostics_add_at(warnings, draft->file, at,
                                   "this entry of `instances` has no effect: that in line %u is "
                                   "before it and matches the same; put the narrower one first",
                                   line);
        return true;
}

/* --- entries of `irq` --- */

static bool words_cover(const WordList *wide, const WordList *narrow) {
        for (size_t i = 0; i < narrow->n_words; i++) {
                bool found = false;

                for (size_t j = 0; j < wide->n_words && !found; j++)
                        found = glob_covers(wide->words[j], narrow->words[i], 0);
                if (!found)
                        return false;
        }
        return true;
}

/* "nvme0n1": a disk of the controller, whose own interrupts have the name "nvme0q1". */
static bool names_namespace(const char *glob) {
        const size_t prefix = strlen("nvme");
        const size_t number =
                strncmp(glob, "nvme", prefix) == 0 ? strspn(glob + prefix, "0123456789*?[]!^-") : 0;

        return number > 0 && glob[prefix + number] == 'n';
}

void policy_check_irqs(const PolicySet *set, const SourceFileList *files, Diagnostics *warnings) {
        for (size_t i = 0; i < set->n_irqs; i++) {
                const IrqPolicy *irq = &set->irqs[i], *cover = NULL;
                const SourceFile *file = source_file_find(files, irq->file);

                if (!file || irq->net.n_words + irq->nvme.n_words + irq->pci.n_words == 0)
                        continue; /* it was refused */
                for (size_t k = 0; k < i && !cover; k++)
                        if (words_cover(&set->irqs[k].net, &irq->net) &&
                            words_cover(&set->irqs[k].nvme, &irq->nvme) &&
                            words_cover(&set->irqs[k].pci, &irq->pci))
                                cover = &set->irqs[k];
                if (cover)
                        diagnostics_add_at(
                                warnings, file, irq->at,
                                "this entry of `irq` has no effect: that in %s:%u is before it and "
                                "matches the same devices; put the narrower one first",
                                cover->file, cover->at.line);
                for (size_t k = 0; k < irq->nvme.n_words; k++)
                        if (names_namespace(irq->nvme.words[k]))
                                diagnostics_add_at(
                                        warnings, file, irq->at,
                                        "`irq[].match.nvme` has the name of a disk, %s, which no "
                                        "controller has; name its controller, such as nvme0 (ls "
                                        "/sys/class/nvme)",
                                        irq->nvme.words[k]);
                if (irq->steer == STEER_RESERVED && set->host.reserve.kind == RESERVE_NONE &&
                    set->host.reserve.cpus == 0)
                        diagnostics_add_at(
                                warnings, file, irq->at,
                                "`steer: reserved` has no CPUs to steer to, because no node and no "
                                "CPU is reserved; set `host.reserve.nodes` or `host.reserve.cpus`");
        }
}

/* --- contradictions inside of one policy --- */

#define NODES "policies[].place.nodes"
#define AVOID "policies[].place.avoid"
#define COUNT "policies[].place.count"
#define SAME_PACKAGE "policies[].place.same_package"
#define CPUS "policies[].cpus"
#define ON_FULL "policies[].on_full"
#define MEMORY "policies[].memory"
#define LIMIT "policies[].memory_limit"
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

/* Keys that have no effect beside another one, or too little of it. */
static void check_idle_keys(const Check *c) {
        const Policy *policy = c->policy;

        if (policy->memory != MEMORY_BIND && draft_gives(c->draft, ON_FULL))
                WARN(c, policy_draft_span(c->draft, ON_FULL),
                     "`" ON_FULL "` has no effect with `memory: %s`, only with `memory: bind`",
                     memory_mode_to_string(policy->memory));
        else if (policy->backend == POLICY_BACKEND_AFFINITY && draft_gives(c->draft, ON_FULL))
                WARN(c, policy_draft_span(c->draft, ON_FULL),
                     "`" ON_FULL
                     "` has no effect with `backend: affinity`, which cannot bind memory");
        if (policy->backend == POLICY_BACKEND_AFFINITY && policy->memory == MEMORY_BIND &&
            draft_gives(c->draft, MEMORY))
                WARN(c, policy_draft_span(c->draft, MEMORY),
                     "`" MEMORY ": bind` is treated as `preferred` with `backend: affinity`, which "
                     "cannot bind memory");
        if (policy->backend == POLICY_BACKEND_AFFINITY && policy->memory_limit != MEMORY_LIMIT_NONE)
                WARN(c, policy_draft_span(c->draft, LIMIT),
                     "`" LIMIT "` has no effect with `backend: affinity`, which changes no unit");
        if (!draft_gives(c->draft, RATE))
                return;
        if (policy->migrate != MIGRATE_GENTLE)
                WARN(c, policy_draft_span(c->draft, RATE),
                     "`" RATE "` has no effect with `migrate: %s`, only with `migrate: gentle`",
                     policy->migrate == MIGRATE_KERNEL ? "kernel" : "none");
        else if (policy->rate_bytes_per_sec < RATE_LOW)
                WARN(c, policy_draft_span(c->draft, RATE),
                     "`" RATE "` is below 1MiB/s: moving 1 GiB takes more than 17 minutes");
}

/* Refuses what leaves no instance a place, so that the policy would do nothing. */
static void check_choice(const Check *c) {
        const Place *place = &c->policy->place;
        const bool listed = !id_set_is_empty(&place->nodes);
        const char *less = id_set_is_empty(&place->avoid) ? "" : " less `place.avoid`";
        const char *from = listed ? "`place.nodes`" : "this machine";
        SourceSpan at = policy_draft_span(c->draft, COUNT);
        NodeSet open = place->nodes, homes;
        uint32_t n;

        if (!listed && !c->topology)
                return;
        if (!listed)
                open = topology_nodes(c->topology);
        id_set_subtract(&open, &place->avoid);
        n = id_set_count(&open);
        if (n == 0) {
                REFUSE(c, policy_draft_span(c->draft, AVOID),
                       "`" AVOID "` excludes %s, expected that a node remains",
                       listed ? "all of `place.nodes`" : "all nodes of this machine");
                return;
        }
        if (!place->count_is_set || place->count == PLACE_COUNT_AUTO)
                return;
        if (place->count > n) {
                REFUSE(c, at, "`" COUNT "` is %u, and %s%s has %u, expected at most that",
                       place->count, from, less, n);
                return;
        }
        if (!c->topology)
                return;
        homes = topology_homes(c->topology);
        id_set_intersect(&homes, &open);
        if (place->count > id_set_count(&homes)) {
                WARN(c, at,
                     "`" COUNT
                     "` is %u, and %s%s has %u with CPUs and memory now, expected at most that",
                     place->count, from, less, id_set_count(&homes));
                return;
        }
        if (!place->same_package)
                return;
        /* The most of these nodes that one socket has. */
        n = 0;
        for (size_t i = 0; i < c->topology->n_nodes; i++) {
                uint32_t of_package = 0;

                for (size_t j = 0; j < c->topology->n_nodes; j++)
                        of_package += topology_same_package(&c->topology->nodes[i],
                                                            &c->topology->nodes[j]) &&
                                      id_set_has(&open, c->topology->nodes[j].id);
                n = of_package > n ? of_package : n;
        }
        if (place->count > n)
                REFUSE(c, at,
                       "`" COUNT "` is %u, and no socket of %s%s has more than %u, expected at "
                       "most that, or `same_package: false`%s",
                       place->count, from, less, n,
                       place->same_package_is_set ? "" : " (it is true by default)");
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

/* A CPU that is offline belongs to a node that is not known. */
static bool lists_cpus(const Check *c) {
        return c->topology && c->policy->cpus.choice == CPUS_LIST &&
               !id_set_intersects(&c->policy->cpus.list, &c->topology->offline_cpus);
}

/* The node of a CPU that is offline is not known: such a CPU may belong to one of these nodes. */
static void check_cpus(const Check *c, const NodeSet *nodes, SourceSpan at) {
        CpuSet theirs, lacking = c->policy->cpus.list;

        if (!c->topology || c->policy->cpus.choice != CPUS_LIST)
                return;
        theirs = topology_cpus_of(c->topology, nodes);
        id_set_subtract(&lacking, &theirs);
        id_set_subtract(&lacking, &c->topology->offline_cpus);
        if (!id_set_is_empty(&lacking)) {
                REFUSE(c, policy_draft_span(c->draft, CPUS),
                       "`" CPUS "` names CPU %s, which node %s in line %u does not have, expected "
                       "some of %s",
                       policy_ids_list(&lacking), policy_ids_list(nodes), at.line,
                       policy_ids_list(&theirs));
                return;
        }
        for (size_t i = 0; lists_cpus(c) && i < c->topology->n_nodes; i++) {
                const Node *node = &c->topology->nodes[i];
                NodeSet alone = { 0 };

                /* A node that only has memory needs none. */
                if (!id_set_has(nodes, node->id) || id_set_is_empty(&node->cpus) ||
                    id_set_intersects(&node->cpus, &c->policy->cpus.list))
                        continue;
                id_set_add(&alone, node->id);
                REFUSE(c, policy_draft_span(c->draft, CPUS),
                       "`" CPUS "` has no CPU of node %s, which line %u names, expected some of %s "
                       "as well, or nodes without that one",
                       policy_ids_list(&alone), at.line, policy_ids_list(&node->cpus));
                return;
        }
}

/* First as the planner refuses an instance on these nodes. No error: CPUs and memory come and go,
 * and one policy must not keep all others from coming into force. */
static void check_memory(const Check *c, const NodeSet *nodes, SourceSpan at) {
        PlacementRefusal refusal = REFUSAL_NONE;
        NodeSet with_memory, empty = { 0 };
        CpuSet cpus;
        bool paired = false;

        if (!c->topology)
                return;
        with_memory = topology_memory_nodes(c->topology);
        cpus = topology_cpus_of(c->topology, nodes);
        if (id_set_is_empty(&cpus))
                refusal = REFUSAL_NO_CPU;
        else if (c->policy->memory == MEMORY_BIND && !id_set_intersects(&with_memory, nodes))
                refusal = REFUSAL_NO_MEMORY;
        if (refusal != REFUSAL_NONE) {
                WARN(c, at, POLICY_PLACES_NOTHING " %s: %s", policy_ids_list(nodes),
                     placement_refusal_to_string(refusal));
                return;
        }
        /* Beside a node that only has memory, one without memory is named on purpose. */
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
                     policy_ids_list(&empty));
}

static void check_draft(const PolicyDraft *draft, const Topology *topology, Diagnostics *errors,
                        Diagnostics *warnings) {
        const Check c = { draft, &draft->policy, topology, errors, warnings };
        const Place *place = &draft->policy.place;
        NodeSet seen = { 0 }, absent, all;
        uint32_t n = 0;

        if (!c.policy->match.unit && !c.policy->match.user)
                WARN(&c, draft->policy.at,
                     "policy `%s` matches by `exe` alone, so any user's process of that name; add "
                     "`unit` or `user`",
                     c.policy->name);
        check_idle_keys(&c);
        for (size_t j = 1; j < draft->policy.n_instances; j++)
                for (size_t i = 0; i < j; i++)
                        if (check_entry(draft, i, j, errors, warnings))
                                break;
        check_choice(&c);
        if (topology) {
                all = topology_nodes(topology);
                id_set_union(&all, &topology->hidden_nodes);
                absent = id_set_minus(&place->avoid, &all);
                if (!id_set_is_empty(&absent))
                        WARN(&c, policy_draft_span(draft, AVOID),
                             "`" AVOID "` names node %s, which this machine does not have",
                             policy_ids_list(&absent));
        }
        /* The nodes to choose are those of the listed CPUs. */
        if (lists_cpus(&c) && place->count_is_set && place->count != PLACE_COUNT_AUTO) {
                for (size_t i = 0; i < topology->n_nodes; i++)
                        n += id_set_intersects(&topology->nodes[i].cpus, &c.policy->cpus.list);
                if (n > 0 && n < place->count)
                        REFUSE(&c, policy_draft_span(draft, CPUS),
                               "`" CPUS "` has CPUs of %u node%s, and `" COUNT
                               "` in line %u is %u, expected CPUs of as many nodes, or a lower "
                               "count",
                               n, n == 1 ? "" : "s", policy_draft_span(draft, COUNT).line,
                               place->count);
        }
        for (size_t k = 0; k < draft_n_explicit(draft); k++) {
                SourceSpan at;
                const NodeSet *nodes = draft_explicit(c.draft, k, &at);
                const NodeSet avoided = id_set_and(&place->avoid, nodes),
                              again = id_set_and(&seen, nodes);

                if (topology && place->same_package_is_set && place->same_package &&
                    spans_packages(topology, nodes))
                        REFUSE(&c, at,
                               "nodes %s belong to several sockets, and `same_package: true` is in "
                               "line %u, expected nodes of one socket",
                               policy_ids_list(nodes), policy_draft_span(draft, SAME_PACKAGE).line);
                check_memory(&c, nodes, at);
                check_cpus(&c, nodes, at);
                if (k >= c.policy->n_instances)
                        continue;
                if (!id_set_is_empty(&avoided))
                        WARN(&c, at, "node %s is in `place.avoid` of line %u, but used here",
                             policy_ids_list(&avoided), policy_draft_span(c.draft, AVOID).line);
                if (!id_set_is_empty(&again) && place->share == SHARE_EXCLUSIVE)
                        WARN(&c, at,
                             "node %s is also used by another entry of `instances`, and the policy "
                             "%s, expected different nodes, or `share: shared`",
                             policy_ids_list(&again),
                             place->share_is_set ? "sets `share: exclusive`"
                                                 : "is exclusive, as it is by default");
                id_set_union(&seen, nodes);
        }
}

void policy_check_reserve(const Reserve *reserve, const PolicyPlace places[static POLICY_KEYS_MAX],
                          const PolicyMerge *merge, const Topology *topology,
                          Diagnostics *warnings) {
        const PolicyPlace *nodes = place_of(places, "host.reserve.nodes"),
                          *devices = place_of(places, "host.reserve.devices"),
                          *cpus = place_of(places, "host.reserve.cpus");
        uint32_t most = 0; /* cores of the node that has most of them */
        NodeSet left = topology ? topology_homes(topology) : (NodeSet){ 0 };
        bool near = false; /* a policy, to these devices */

        for (size_t i = 0; topology && i < topology->n_nodes; i++) {
                const CpuSet cores = topology_one_per_core(topology, &topology->nodes[i].cpus);
                const uint32_t n = id_set_count(&cores);

                most = n > most ? n : most;
        }
        if (cpus->file && reserve->cpus > 0 && reserve->kind == RESERVE_NIC)
                diagnostics_add_at(
                        warnings, cpus->file, cpus->at,
                        "`host.reserve.cpus` has no effect, because `host.reserve.nodes: nic` "
                        "reserves the whole node; remove one of the two");
        else if (cpus->file && reserve->cpus != RESERVE_CPUS_AUTO && most > 0 &&
                 reserve->cpus >= most)
                diagnostics_add_at(warnings, cpus->file, cpus->at,
                                   "`host.reserve.cpus` is %" PRIu32
                                   ", and no node of this machine has more than %" PRIu32
                                   " cores, expected fewer than that: one core of the node remains "
                                   "for instances",
                                   reserve->cpus, most);
        id_set_subtract(&left, &reserve->nodes);
        if (nodes->file && reserve->kind == RESERVE_LIST && reserve->strict && topology &&
            id_set_is_empty(&left))
                diagnostics_add_at(warnings, nodes->file, nodes->at,
                                   "`host.reserve.nodes` reserves every node that instances can "
                                   "have, and `host.reserve.strict` is true: only those are placed "
                                   "whose policy names their nodes; leave out a node");
        for (size_t i = 0; i < merge->n_drafts; i++)
                near |= merge->drafts[i].policy.place.near == NEAR_NIC;
        if (devices->file && reserve->devices.n_words > 0 && reserve->kind != RESERVE_NIC &&
            reserve->cpus == 0 && !near)
                diagnostics_add_at(warnings, devices->file, devices->at,
                                   "`host.reserve.devices` has no effect, because "
                                   "`host.reserve.nodes` is not `nic`, and no policy has "
                                   "`near: nic`");
}

/* --- two policies --- */

void policy_check_drafts(const PolicyMerge *merge, const Topology *topology, Diagnostics *errors,
                         Diagnostics *warnings) {
        _cleanup_free_ NodeSet *nodes = calloc(merge->n_drafts + 1, sizeof(*nodes));

        for (size_t i = 0; i < merge->n_drafts; i++)
                if (!merge->drafts[i].faulty)
                        check_draft(&merge->drafts[i], topology, errors, warnings);
        if (!nodes)
                errors->error = -ENOMEM;
        /* Two exclusive policies that name one node. */
        for (size_t j = 0; nodes && j < merge->n_drafts; j++) {
                const PolicyDraft *later = &merge->drafts[j];
                const Policy *b = &later->policy;

                if (later->faulty || b->place.share != SHARE_EXCLUSIVE)
                        continue;
                for (size_t i = 0; i < draft_n_explicit(later); i++) {
                        SourceSpan at;

                        id_set_union(&nodes[j], draft_explicit(later, i, &at));
                }
                for (size_t i = 0; i < j; i++) {
                        const NodeSet both = id_set_and(&nodes[i], &nodes[j]);
                        const Policy *a = &merge->drafts[i].policy;
                        bool meant = a->place.share_is_set && b->place.share_is_set;
                        SourceSpan at = b->at;

                        if (id_set_is_empty(&both))
                                continue;
                        for (size_t k = 0; k < draft_n_explicit(later); k++)
                                if (id_set_intersects(draft_explicit(later, k, &at), &both))
                                        break;
                        diagnostics_add_at(
                                meant ? errors : warnings, later->file, at,
                                "policy `%s` names node %s, and so does policy `%s` (%s:%u); both "
                                "are exclusive%s, expected different nodes, or `share: shared`",
                                b->name, policy_ids_list(&both), a->name, a->file, a->at.line,
                                meant ? "" : ", as they are by default");
                }
        }
        /* Warns of a policy whose processes all belong to an earlier one. */
        for (size_t j = 1; j < merge->n_drafts; j++) {
                const PolicyDraft *later = &merge->drafts[j];

                for (size_t k = 0; k < j && !later->faulty; k++) {
                        const PolicyDraft *earlier = &merge->drafts[k];

                        if (earlier->faulty ||
                            !(exe_covers(earlier->policy.match.exe, later->policy.match.exe) &&
                              glob_covers(earlier->policy.match.unit, later->policy.match.unit,
                                          0) &&
                              (!earlier->policy.match.user ||
                               text_equal(earlier->policy.match.user, later->policy.match.user)) &&
                              glob_covers(earlier->policy.match.args, later->policy.match.args,
                                          0) &&
                              (earlier->policy.match.containers == CONTAINERS_INCLUDED ||
                               later->policy.match.containers == CONTAINERS_EXCLUDED)))
                                continue;
                        diagnostics_add_at(
                                warnings, later->file, later->policy.at,
                                "policy `%s` has no effect: policy `%s` (%s:%u) is before it and "
                                "matches all of its processes; put the narrower one first",
                                later->policy.name, earlier->policy.name, earlier->policy.file,
                                earlier->policy.at.line);
                        break;
                }
        }
}

/* --- beside those in force before --- */

static bool is_written(const Policy *policy) {
        return !policy->built_in && !policy->adopted;
}

void policy_check_lost(const PolicySet *former, const PolicySet *fresh, const SourceFileList *files,
                       PolicyFindBeside find_beside, Diagnostics *errors) {
        const char *reported = "";

        for (size_t i = 0; i < former->n_policies; i++) {
                const Policy *policy = &former->policies[i];
                _cleanup_free_ char *beside = NULL;
                bool is_kept = false;

                for (size_t k = 0; k < fresh->n_policies; k++)
                        is_kept |= is_written(&fresh->policies[k]) &&
                                   strcmp(fresh->policies[k].name, policy->name) == 0;
                if (!is_written(policy) || is_kept || strcmp(policy->file, reported) == 0 ||
                    word_list_has(&fresh->listing, policy->file))
                        continue;
                reported = policy->file;
                if (source_file_find(files, policy->file)) {
                        diagnostics_add_path(errors, policy->file,
                                             "has no policies any more, but some of those in force "
                                             "are from it, such as `%s`; to release what they "
                                             "bind, write `policies: []`, or remove the file",
                                             policy->name);
                        continue;
                }
                beside = find_beside(policy->file);
                if (beside)
                        diagnostics_add_path(
                                errors, policy->file,
                                "is gone, and `%s` is beside it; some of the policies in force are "
                                "from it, such as `%s`; to release what they bind, remove that "
                                "file too, else put this one back",
                                beside, policy->name);
        }
}

/* --- once the processes are known --- */

void policy_check_matched(const PolicySet *set, PolicyIsMatched is_matched, void *userdata,
                          const SourceFileList *files, Diagnostics *warnings) {
        for (size_t i = 0; i < set->n_policies; i++) {
                const Policy *policy = &set->policies[i];
                const SourceFile nothing = { .path = policy->file, .text = (char *)"" };
                const SourceFile *file = files ? source_file_find(files, policy->file) : NULL;

                file = file ? file : &nothing;
                /* Whose user is unknown has a warning of its own, by policy_users_look_up(). */
                if (policy->built_in || (policy->match.user && !policy->match.uid_known))
                        continue;
                if (!is_matched(policy, NULL, userdata)) {
                        diagnostics_add_at(warnings, file, policy->at,
                                           "policy `%s` matches nothing on this host now",
                                           policy->name);
                        continue;
                }
                for (size_t k = 0; k < policy->n_instances; k++) {
                        const PolicyInstance *entry = &policy->instances[k];

                        if (!is_matched(policy, entry, userdata))
                                diagnostics_add_at(warnings, file, entry->at,
                                                   "this entry of `instances` matches no process "
                                                   "of policy `%s` on this host now",
                                                   policy->name);
                }
        }
}
