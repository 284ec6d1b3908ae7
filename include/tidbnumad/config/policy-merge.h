/* How the policies of several files go together. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/model/policy.h"

/* A policy and where its parts stand, for messages. Its line is in the policy itself. */
typedef struct PolicyDraft {
        Policy policy;
        size_t file_index;
        uint32_t column;
        uint32_t name_line, name_column;
} PolicyDraft;

typedef struct PolicyMerge {
        PolicyDraft *drafts; /* in force order; owned */
        size_t n_drafts;
        size_t allocated;
        bool full; /* the limit was reported */
} PolicyMerge;

void policy_draft_done(PolicyDraft *draft);
void policy_merge_done(PolicyMerge *merge);

/* The defaults of the table. Returns 0 or -ENOMEM. */
int policy_draft_set_defaults(PolicyDraft *draft);

/* Takes over `draft`, which is then empty, and drops an earlier file's policy of the same name.
 * What cannot be added is reported and stays with the caller. Returns 0 or -ENOMEM. */
int policy_merge_add(PolicyMerge *merge, PolicyDraft *draft, Diagnostics *errors);

/* What is allowed but probably not what is wanted. */
void policy_merge_warn(const PolicyMerge *merge, Diagnostics *warnings);

/* Moves the policies into `set`, which has none so far. Returns 0 or -ENOMEM. */
int policy_merge_finish(PolicyMerge *merge, PolicySet *set);
