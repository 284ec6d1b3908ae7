/* What the parts of the loader share: policies with the places of their keys, and single values. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/config/policy-table.h"
#include "tidbnumad/config/policy-yaml.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

/* The place of a key's value, for messages. */
typedef struct PolicyPlace {
        const SourceFile *file; /* NULL: it is not given; borrowed */
        SourceSpan at;
} PolicyPlace;

/* A policy and the places of its keys. */
typedef struct PolicyDraft {
        Policy policy;
        const SourceFile *file; /* borrowed */
        size_t file_index;
        PolicyPlace places[POLICY_KEYS_MAX]; /* beside the table */
        bool faulty;                         /* something in it was refused */
} PolicyDraft;

typedef struct PolicyMerge {
        PolicyDraft *drafts; /* in force order; owned */
        size_t n_drafts;
        size_t allocated;
        bool full; /* the limit was reported */
} PolicyMerge;

/* The place of a key that is given, or else that of the policy. */
SourceSpan policy_draft_span(const PolicyDraft *draft, const char *path);

/* The set as a list for a message, in memory of the block around. */
#define policy_ids_list(set) policy_ids_render(ID_VIEW(set), (char[ID_SET_LIST_MAX]){ 0 })
const char *policy_ids_render(IdView ids, char buffer[static ID_SET_LIST_MAX]);

/* Single values of the policy language: text to a field of the model. */

/* Parses `text` as a value of `key` into `target`, a field of the type that the key's type names
 * (NULL for a version), which it replaces. Returns 0; -ENOMEM; -EINVAL with `target` untouched
 * and `*ret_reason` a static text in a few words, or NULL where "it is not what is allowed" is
 * enough. */
int policy_value_parse(const PolicyKey *key, const char *text, void *target,
                       const char **ret_reason);

/* Names, paths and globs of the policy language: may they be meant? */

/* "0000:3b:00.0" */
#define POLICY_PCI_ADDRESS_LENGTH 12u

/* What is wrong with the text as a value of that type (one of texts, or of lists of words), in a
 * few words; NULL: nothing. */
const char *policy_text_fault(PolicyKeyType type, const char *text);

/* Values of which there may be several: a key that takes one takes a list of them as well. */

bool policy_list_is(const PolicyKey *key);

/* Empties the field, then each entry of a list is added; or one `replaces` what is there. Returns
 * as policy_value_parse(). */
void policy_list_clear(const PolicyKey *key, void *target);
int policy_list_add(const PolicyKey *key, const char *text, bool replaces, void *target,
                    const char **ret_reason);

/* The numbers in the field, and whether they are CPUs or nodes. Without words: it has none. */
IdView policy_list_ids(const PolicyKey *key, const void *target, bool *ret_cpus);
