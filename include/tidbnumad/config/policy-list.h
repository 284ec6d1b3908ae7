/* Values of which there may be several: a key that takes one takes a list of them as well. */
#pragma once

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/config/policy-table.h"

bool policy_list_is(const PolicyKey *key);

/* As policy_value_parse(), for such keys: a single value, or a word in place of a list. */
int policy_list_parse(const PolicyKey *key, const char *text, void *target,
                      const char **ret_reason);

/* Empties the field, then each entry of a list is added. Returns as above. */
void policy_list_clear(const PolicyKey *key, void *target);
int policy_list_add(const PolicyKey *key, const char *text, void *target, const char **ret_reason);

/* The numbers in the field, and whether they are CPUs or nodes. Without words: it has none. */
IdView policy_list_ids(const PolicyKey *key, const void *target, bool *ret_cpus);
