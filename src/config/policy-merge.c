/* How the policies of several files go together: the later one of a name wins, in its own place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/config/policy-merge.h"

#define NAME "policies[].name"

void policy_draft_done(PolicyDraft *draft) {
        policy_done(&draft->policy);
        free(draft->entries);
        *draft = (PolicyDraft){ 0 };
}

void policy_merge_done(PolicyMerge *merge) {
        for (size_t i = 0; i < merge->n_drafts; i++)
                policy_draft_done(&merge->drafts[i]);
        free(merge->drafts);
        *merge = (PolicyMerge){ 0 };
}

bool policy_draft_gives(const PolicyDraft *draft, const char *path) {
        return draft->places[policy_key_index(policy_key_at(path))].file;
}

SourceSpan policy_draft_span(const PolicyDraft *draft, const char *path) {
        return policy_draft_gives(draft, path)
                       ? draft->places[policy_key_index(policy_key_at(path))].at
                       : draft->at;
}

size_t policy_draft_n_explicit(const PolicyDraft *draft) {
        const Place *place = &draft->policy.place;

        return draft->policy.n_instances +
               (!place->count_is_set && !id_set_is_empty(&place->nodes));
}

const NodeSet *policy_draft_explicit(const PolicyDraft *draft, size_t i, SourceSpan *ret_at) {
        if (i < draft->policy.n_instances) {
                *ret_at = draft->entries[i].nodes;
                return &draft->policy.instances[i].nodes;
        }
        *ret_at = policy_draft_span(draft, "policies[].place.nodes");
        return &draft->policy.place.nodes;
}

static PolicyDraft *find_name(const PolicyMerge *merge, const char *name) {
        for (size_t i = 0; i < merge->n_drafts; i++)
                if (strcmp(merge->drafts[i].policy.name, name) == 0)
                        return &merge->drafts[i];
        return NULL;
}

static void drop(PolicyMerge *merge, PolicyDraft *draft) {
        size_t i = (size_t)(draft - merge->drafts);

        policy_draft_done(draft);
        ARRAY_REMOVE(merge->drafts, merge->n_drafts, i);
}

int policy_merge_add(PolicyMerge *merge, PolicyDraft *draft, Diagnostics *errors) {
        const Policy *policy = &draft->policy;
        PolicyDraft *earlier = find_name(merge, policy->name);

        if (earlier && earlier->file_index == draft->file_index) {
                diagnostics_add_at(errors, draft->file, policy_draft_span(draft, NAME),
                                   "a second policy `%s`, expected each name once in a file; the "
                                   "first is in line %u",
                                   policy->name, policy_draft_span(earlier, NAME).line);
                return 0;
        }
        if (earlier)
                drop(merge, earlier);
        if (merge->n_drafts == POLICIES_MAX) {
                if (!merge->full)
                        diagnostics_add_at(errors, draft->file, draft->at,
                                           "one policy too many, expected at most %u in all files "
                                           "together",
                                           POLICIES_MAX);
                merge->full = true;
                return 0;
        }
        if (ARRAY_RESERVE(merge->drafts, merge->allocated, merge->n_drafts + 1) < 0)
                return -ENOMEM;
        merge->drafts[merge->n_drafts++] = *draft;
        *draft = (PolicyDraft){ 0 };
        return 0;
}

int policy_merge_finish(PolicyMerge *merge, PolicySet *set) {
        if (merge->n_drafts == 0)
                return 0;
        set->policies = calloc(merge->n_drafts, sizeof(*set->policies));
        if (!set->policies)
                return -ENOMEM;
        for (size_t i = 0; i < merge->n_drafts; i++) {
                set->policies[i] = merge->drafts[i].policy;
                merge->drafts[i].policy = (Policy){ 0 };
        }
        set->n_policies = merge->n_drafts;
        return 0;
}
