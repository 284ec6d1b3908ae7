/* How the policies of several files go together. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/model/policy.h"

/* The place of a key's value, for messages. */
typedef struct PolicyPlace {
        const SourceFile *file; /* NULL: it is not given; borrowed */
        SourceSpan at;
} PolicyPlace;

/* Where an entry of `instances` and its nodes are. */
typedef struct PolicyEntryPlace {
        SourceSpan at, nodes;
} PolicyEntryPlace;

/* A policy and the places of its parts. */
typedef struct PolicyDraft {
        Policy policy;
        const SourceFile *file; /* borrowed */
        size_t file_index;
        SourceSpan at;
        PolicyPlace places[POLICY_KEYS_MAX]; /* beside the table */
        PolicyEntryPlace *entries;           /* beside the policy's `instances`; owned */
        bool faulty;                         /* something in it was refused */
} PolicyDraft;

typedef struct PolicyMerge {
        PolicyDraft *drafts; /* in force order; owned */
        size_t n_drafts;
        size_t allocated;
        bool full; /* the limit was reported */
} PolicyMerge;

void policy_draft_done(PolicyDraft *draft);
void policy_merge_done(PolicyMerge *merge);

/* The place of a key that is given, or else that of the policy. */
SourceSpan policy_draft_span(const PolicyDraft *draft, const char *path);
bool policy_draft_gives(const PolicyDraft *draft, const char *path);

/* Nodes that leave no choice: those of each of `instances`, then place.nodes without a count. */
size_t policy_draft_n_explicit(const PolicyDraft *draft);
const NodeSet *policy_draft_explicit(const PolicyDraft *draft, size_t i, SourceSpan *ret_at);

/* Takes over `draft`, which is then empty, and drops an earlier file's policy of the same name.
 * What cannot be added is reported and stays with the caller. Returns 0 or -ENOMEM. */
int policy_merge_add(PolicyMerge *merge, PolicyDraft *draft, Diagnostics *errors);

/* Moves the policies into `set`, which has none so far. Returns 0 or -ENOMEM. */
int policy_merge_finish(PolicyMerge *merge, PolicySet *set);
