/* Names, paths and globs of the policy language: may they be meant? */
#pragma once

#include "tidbnumad/config/policy-table.h"

/* "0000:3b:00.0" */
#define POLICY_PCI_ADDRESS_LENGTH 12u

/* What is wrong with the text as a value of that type (one of texts, or of lists of words), in a
 * few words; NULL: nothing. */
const char *policy_text_fault(PolicyKeyType type, const char *text);

/* The index of `text` in `words`, which end with NULL, or -EINVAL. */
int policy_word_find(const char *const *words, const char *text);
