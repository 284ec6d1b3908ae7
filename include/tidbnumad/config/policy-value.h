/* Single values of the policy language: text to a field of the model. */
#pragma once

#include "tidbnumad/config/policy-table.h"

/* Parses `text` as a value of `key` into `target`, a field of the type that the key's type names
 * (NULL for a version), which it replaces. Returns 0; -ENOMEM; -EINVAL with `target` untouched
 * and `*ret_reason` a static text in a few words, or NULL where "it is not what is allowed" is
 * enough. */
int policy_value_parse(const PolicyKey *key, const char *text, void *target,
                       const char **ret_reason);
