/* The table of keys in words, for messages, the manual and the schema. */
#pragma once

#include "tidbnumad/config/policy-table.h"

/* What is allowed: "bind, preferred or none", "a mapping". Returns `buffer`. */
#define POLICY_KEY_ALLOWED_MAX 200u
const char *policy_key_allowed(const PolicyKey *key, char buffer[static POLICY_KEY_ALLOWED_MAX]);
