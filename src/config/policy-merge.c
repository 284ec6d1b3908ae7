/* How the policies of several files go together: the later one of a name wins, in its own place. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/config/policy-load.h"
#include "tidbnumad/config/policy-merge.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/config/policy-value.h"

void policy_draft_done(PolicyDraft *draft) {
        policy_done(&draft->policy);
}

void policy_merge_done(PolicyMerge *merge) {
        for (size_t i = 0; i < merge->n_drafts; i++)
                policy_draft_done(&merge->drafts[i]);
        free(merge->drafts);
        *merge = (PolicyMerge){ 0 };
}

int policy_draft_set_defaults(PolicyDraft *draft) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                const char *reason;
                int r;

                if (!keys[i].default_text || !policy_key_is_below(&keys[i], "policies[]"))
                        continue;
                r = policy_value_parse(&keys[i], keys[i].default_text,
                                       (char *)&draft->policy + keys[i].offset, &reason);
                if (r < 0)
                        return r;
        }
        return 0;
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
        memmove(draft, draft + 1, (merge->n_drafts - i - 1) * sizeof(*draft));
        merge->drafts[--merge->n_drafts] = (PolicyDraft){ 0 };
}

int policy_merge_add(PolicyMerge *merge, PolicyDraft *draft, Diagnostics *errors) {
        const Policy *policy = &draft->policy;
        PolicyDraft *earlier = find_name(merge, policy->name);

        if (earlier && earlier->file_index == draft->file_index) {
                diagnostics_addf(errors,
                                 "%s:%u:%u: a second policy `%s`, expected each name once in a "
                                 "file; the first is in line %u",
                                 policy->file, draft->name_line, draft->name_column, policy->name,
                                 earlier->name_line);
                return 0;
        }
        if (earlier)
                drop(merge, earlier);
        if (merge->n_drafts == POLICIES_MAX) {
                if (!merge->full)
                        diagnostics_addf(errors,
                                         "%s:%u:%u: one policy too many, expected at most %u in "
                                         "all files together",
                                         policy->file, policy->line, draft->column, POLICIES_MAX);
                merge->full = true;
                return 0;
        }
        if (ARRAY_RESERVE(merge->drafts, merge->allocated, merge->n_drafts + 1) < 0)
                return -ENOMEM;
        merge->drafts[merge->n_drafts++] = *draft;
        *draft = (PolicyDraft){ 0 };
        return 0;
}

static bool has_nodes(const Policy *policy) {
        return !id_set_is_empty(&policy->nodes) || policy->n_instances > 0;
}

void policy_merge_warn(const PolicyMerge *merge, Diagnostics *warnings) {
        for (size_t i = 0; i < merge->n_drafts; i++) {
                const PolicyDraft *draft = &merge->drafts[i];
                const Policy *policy = &draft->policy;

                if (!policy->match.unit && !policy->match.user)
                        diagnostics_addf(warnings,
                                         "%s:%u:%u: policy `%s` matches by `exe` alone, so any "
                                         "user's process of that name; add `unit` or `user`",
                                         policy->file, policy->line, draft->column, policy->name);
                if (!has_nodes(policy))
                        diagnostics_addf(warnings,
                                         "%s:%u:%u: policy `%s` has no nodes, so its processes are "
                                         "only watched and reported; give `place.nodes` or "
                                         "`instances` to bind them",
                                         policy->file, policy->line, draft->column, policy->name);
        }
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
