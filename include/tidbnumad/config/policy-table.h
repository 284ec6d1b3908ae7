/* Every key of the policy language, in one table: the loader walks it, and the reference in
 * tidbnumad.d(5) is rendered from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PolicyKeyType {
        POLICY_KEY_SECTION, /* a mapping; its keys are rows of their own */
        POLICY_KEY_LIST,    /* a list of mappings; the keys of an entry are rows under "path[]" */
        POLICY_KEY_VERSION, /* stored nowhere */
        POLICY_KEY_NAME,    /* char *, owned, as the four below */
        POLICY_KEY_EXE,
        POLICY_KEY_UNIT,
        POLICY_KEY_USER,
        POLICY_KEY_NODES,    /* NodeSet, never empty */
        POLICY_KEY_PORT,     /* uint16_t, above zero */
        POLICY_KEY_CPUS,     /* CpuSet, empty for "all" */
        POLICY_KEY_CHOICE,   /* an enum whose values are the indices of `choices` */
        POLICY_KEY_RATE,     /* uint64_t, bytes per second, above zero */
        POLICY_KEY_DURATION, /* uint64_t, microseconds, from `min` to `max` */
        POLICY_KEY_TEXT,     /* what only keys use that are not carried out yet */
} PolicyKeyType;

typedef enum PolicyKeyNeed {
        POLICY_KEY_OPTIONAL,
        POLICY_KEY_REQUIRED,
        POLICY_KEY_ONE_OF, /* at least one of the siblings that are marked so */
} PolicyKeyNeed;

typedef struct PolicyKey {
        const char *path; /* "policies[].place.nodes"; "[]" stands for an entry of a list */
        PolicyKeyType type;
        PolicyKeyNeed need;
        bool supported;
        const char *default_text;   /* as one would write it; NULL: none */
        const char *const *choices; /* of a CHOICE, ends with NULL */
        const char *allowed;        /* what is allowed, in words; NULL for a CHOICE */
        const char *unit;           /* the units a number may or must have; NULL: none */
        const char *accepted;       /* not supported, but this one value is what happens anyway */
        uint64_t min, max;          /* of a DURATION */
        size_t offset;    /* of the field: in Policy under policies[], in PolicyInstance under
                           * policies[].instances[], in PolicySet elsewhere */
        const char *help; /* one line, whole sentences */
} PolicyKey;

#define POLICY_KEY_PATH_MAX 128u
/* An upper bound of the table's length, for arrays beside it. */
#define POLICY_KEYS_MAX 64u

size_t policy_keys(const PolicyKey **ret);

/* The row of `name` below `parent` ("" at the top), or NULL. A name with a dot or a bracket is
 * never a key, even where it spells a path. */
const PolicyKey *policy_key_find(const char *parent, const char *name);

/* The last part of the path; whether the key stands directly below `parent`. */
const char *policy_key_leaf(const PolicyKey *key);
bool policy_key_is_below(const PolicyKey *key, const char *parent);

/* The nearest known key below `parent` for a misspelled one, or NULL. */
const PolicyKey *policy_key_nearest(const char *parent, const char *name);

/* "bind, preferred or none"; other types: `allowed`. Returns `buffer`. */
#define POLICY_KEY_ALLOWED_MAX 160u
const char *policy_key_allowed(const PolicyKey *key, char buffer[static POLICY_KEY_ALLOWED_MAX]);
