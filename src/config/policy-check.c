/* Checks across policies and files. Checks of one policy are policy-check-draft's. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/config/policy-check.h"

static const PolicyPlace *place_of(const PolicyPlace *places, const char *key) {
        return &places[policy_key_index(policy_key_at(key))];
}

/* Cores of the node that has most of them. */
static uint32_t most_cores(const Topology *topology) {
        uint32_t most = 0;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                const uint32_t n = id_set_count(&topology->nodes[i].first_threads);

                most = n > most ? n : most;
        }
        return most;
}

static void check_reserved_cpus(const Reserve *reserve, const PolicyPlace *place,
                                const Topology *topology, Diagnostics *warnings) {
        const uint32_t most = topology ? most_cores(topology) : 0;

        if (!place->file || reserve->cpus == 0)
                return;
        if (reserve->kind == RESERVE_NIC)
                diagnostics_add_at(warnings, place->file, place->at,
                                   "`host.reserve.cpus` has no effect, because "
                                   "`host.reserve.nodes: nic` reserves the whole node; remove one "
                                   "of the two");
        else if (reserve->cpus != RESERVE_CPUS_AUTO && most > 0 && reserve->cpus >= most)
                diagnostics_add_at(warnings, place->file, place->at,
                                   "`host.reserve.cpus` is %" PRIu32 ", and no node of this "
                                   "machine has more than %" PRIu32 " cores, expected fewer than "
                                   "that: one core of the node remains for instances",
                                   reserve->cpus, most);
}

void policy_check_reserve(const Reserve *reserve, const PolicyPlace places[static POLICY_KEYS_MAX],
                          const Topology *topology, Diagnostics *warnings) {
        const PolicyPlace *place = place_of(places, "host.reserve.devices");

        check_reserved_cpus(reserve, place_of(places, "host.reserve.cpus"), topology, warnings);

        if (place->file && reserve->devices.n_words > 0 && reserve->kind != RESERVE_NIC &&
            reserve->cpus == 0)
                diagnostics_add_at(warnings, place->file, place->at,
                                   "`host.reserve.devices` has no effect, because "
                                   "`host.reserve.nodes` is not `nic`");
}

/* --- two policies --- */

/* All nodes that a policy names for its instances, leaving no choice. */
static NodeSet explicit_nodes(const PolicyDraft *draft) {
        NodeSet nodes = { 0 };

        for (size_t i = 0; i < policy_draft_n_explicit(draft); i++) {
                SourceSpan at;

                id_set_union(&nodes, policy_draft_explicit(draft, i, &at));
        }
        return nodes;
}

static void report_conflict(const PolicyDraft *earlier, const PolicyDraft *later,
                            const NodeSet *nodes, Diagnostics *errors, Diagnostics *warnings) {
        const Policy *a = &earlier->policy, *b = &later->policy;
        bool meant = a->place.share_is_set && b->place.share_is_set;
        char list[ID_SET_LIST_MAX];
        SourceSpan at = later->at;

        for (size_t i = 0; i < policy_draft_n_explicit(later); i++)
                if (id_set_intersects(policy_draft_explicit(later, i, &at), nodes))
                        break;
        if (id_set_render_list(nodes, list, sizeof(list)) < 0)
                strcpy(list, "numbers");
        diagnostics_add_at(meant ? errors : warnings, later->file, at,
                           "policy `%s` names node %s, and so does policy `%s` (%s:%u); both are "
                           "exclusive%s, expected different nodes, or `share: shared`",
                           b->name, list, a->name, a->file, a->line,
                           meant ? "" : ", as they are by default");
}

static void check_pairs(const PolicyMerge *merge, Diagnostics *errors, Diagnostics *warnings) {
        _cleanup_free_ NodeSet *nodes = calloc(merge->n_drafts + 1, sizeof(*nodes));

        if (!nodes) {
                errors->error = -ENOMEM;
                return;
        }
        for (size_t j = 0; j < merge->n_drafts; j++) {
                const PolicyDraft *draft = &merge->drafts[j];

                if (draft->faulty || draft->policy.place.share != SHARE_EXCLUSIVE)
                        continue;
                nodes[j] = explicit_nodes(draft);
                for (size_t i = 0; i < j; i++) {
                        NodeSet both = nodes[i];

                        if (!id_set_intersects(&both, &nodes[j]))
                                continue;
                        id_set_intersect(&both, &nodes[j]);
                        report_conflict(&merge->drafts[i], draft, &both, errors, warnings);
                }
        }
}

void policy_check_drafts(const PolicyMerge *merge, const Topology *topology, Diagnostics *errors,
                         Diagnostics *warnings) {
        for (size_t i = 0; i < merge->n_drafts; i++)
                if (!merge->drafts[i].faulty)
                        policy_check_draft(&merge->drafts[i], topology, errors, warnings);
        check_pairs(merge, errors, warnings);
        policy_check_shadowed(merge, warnings);
}

void policy_check_none(const PolicyMerge *merge, const PolicySet *set, Diagnostics *warnings) {
        if (merge->n_drafts == 0 && set->listing.n_words > 0)
                diagnostics_add_path(warnings, set->listing.words[0],
                                     "`policies: []`, and no other file has a policy: what the "
                                     "daemon has bound is released when this comes into force");
}

/* --- beside those in force before --- */

static bool is_written(const Policy *policy) {
        return !policy->built_in && !policy->adopted;
}

static bool has_written(const PolicySet *set, const char *name) {
        for (size_t i = 0; i < set->n_policies; i++)
                if (is_written(&set->policies[i]) && strcmp(set->policies[i].name, name) == 0)
                        return true;
        return false;
}

static void check_lost(const Policy *policy, const SourceFileList *files,
                       PolicyFindBeside find_beside, Diagnostics *errors) {
        _cleanup_free_ char *beside = NULL;

        if (source_file_find(files, policy->file)) {
                diagnostics_add_path(errors, policy->file,
                                     "has no policies any more, but some of those in force are "
                                     "from it, such as `%s`; to release what they bind, write "
                                     "`policies: []`, or remove the file",
                                     policy->name);
                return;
        }
        beside = find_beside(policy->file);
        if (beside)
                diagnostics_add_path(
                        errors, policy->file,
                        "is gone, and `%s` is beside it; some of the policies in force "
                        "are from it, such as `%s`; to release what they bind, remove "
                        "that file too, else put this one back",
                        beside, policy->name);
}

void policy_check_lost(const PolicySet *former, const PolicySet *fresh, const SourceFileList *files,
                       PolicyFindBeside find_beside, Diagnostics *errors) {
        const char *reported = "";

        for (size_t i = 0; i < former->n_policies; i++) {
                const Policy *policy = &former->policies[i];

                if (!is_written(policy) || strcmp(policy->file, reported) == 0 ||
                    has_written(fresh, policy->name) ||
                    word_list_has(&fresh->listing, policy->file))
                        continue;
                check_lost(policy, files, find_beside, errors);
                reported = policy->file;
        }
}

/* --- once the processes are known --- */

static void check_entries_matched(const Policy *policy, PolicyIsMatched is_matched, void *userdata,
                                  const SourceFile *file, Diagnostics *warnings) {
        for (size_t i = 0; i < policy->n_instances; i++) {
                const PolicyInstance *entry = &policy->instances[i];

                if (!is_matched(policy, entry, userdata))
                        diagnostics_add_at(warnings, file,
                                           (SourceSpan){ entry->line, entry->column, 0 },
                                           "this entry of `instances` matches no process of policy "
                                           "`%s` on this host now",
                                           policy->name);
        }
}

void policy_check_matched(const PolicySet *set, PolicyIsMatched is_matched, void *userdata,
                          const SourceFileList *files, Diagnostics *warnings) {
        for (size_t i = 0; i < set->n_policies; i++) {
                const Policy *policy = &set->policies[i];
                const SourceFile nothing = { .path = policy->file, .text = (char *)"" };
                const SourceFile *file = files ? source_file_find(files, policy->file) : NULL;

                file = file ? file : &nothing;
                if (policy->built_in)
                        continue;
                if (is_matched(policy, NULL, userdata))
                        check_entries_matched(policy, is_matched, userdata, file, warnings);
                else
                        diagnostics_add_at(
                                warnings, file, (SourceSpan){ policy->line, policy->column, 0 },
                                "policy `%s` matches nothing on this host now", policy->name);
        }
}
