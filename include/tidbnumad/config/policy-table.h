/* Every key of the policy language, in one table: the loader walks it, and the reference in
 * tidbnumad.d(5) and the JSON Schema are rendered from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PolicyKeyType {
        POLICY_KEY_SECTION, /* a mapping; its keys are rows of their own */
        POLICY_KEY_LIST,    /* a list of mappings; the keys of an entry are rows under "path[]" */
        POLICY_KEY_VERSION, /* stored nowhere */
        POLICY_KEY_NAME,    /* char *, owned, as the five below */
        POLICY_KEY_EXE,
        POLICY_KEY_UNIT,
        POLICY_KEY_USER,
        POLICY_KEY_ARGS,
        POLICY_KEY_METRIC,
        POLICY_KEY_NODES,      /* NodeSet */
        POLICY_KEY_CPUS,       /* PolicyCpus */
        POLICY_KEY_RESERVE,    /* the fields `kind` and `nodes` of Reserve */
        POLICY_KEY_STEER,      /* the fields `steer` and `cpus` of IrqPolicy; the field is all */
        POLICY_KEY_INTERFACES, /* WordList, as the three below */
        POLICY_KEY_NET_GLOBS,
        POLICY_KEY_NVME_GLOBS,
        POLICY_KEY_PCI_ADDRESSES,
        POLICY_KEY_PORT,        /* uint16_t, above zero */
        POLICY_KEY_COUNT,       /* uint32_t, PLACE_COUNT_AUTO for "auto" */
        POLICY_KEY_NUMBER,      /* uint32_t, from `min` to `max` */
        POLICY_KEY_AUTO_NUMBER, /* likewise; `min` - 1, modulo 2^32, for "auto" */
        POLICY_KEY_CHOICE,      /* an enum whose values are the indices of `choices` */
        POLICY_KEY_SWITCH,      /* bool, written off and on */
        POLICY_KEY_BOOL,     /* bool, written false and true; with `choices` an enum of these two */
        POLICY_KEY_RATE,     /* uint64_t, bytes per second, above zero */
        POLICY_KEY_LIMIT,    /* uint64_t, bytes; MEMORY_LIMIT_NONE, MEMORY_LIMIT_SHARE */
        POLICY_KEY_DURATION, /* uint64_t, microseconds, from `min` to `max` */
        POLICY_KEY_PERCENT,  /* uint32_t, parts per million, from `min` to `max` */
        POLICY_KEY_EVENT,    /* AccessEvent */
} PolicyKeyType;

typedef enum PolicyKeyNeed {
        POLICY_KEY_OPTIONAL,
        POLICY_KEY_REQUIRED,
        POLICY_KEY_ONE_OF, /* at least one of the siblings that are marked so */
} PolicyKeyNeed;

/* When a change of the key counts, once the files are loaded again. */
typedef enum PolicyReload {
        RELOAD_NONE,  /* it holds other keys, or changes nothing by itself */
        RELOAD_JUDGE, /* which processes belong to which policy */
        RELOAD_BIND,  /* what is set on an instance */
        RELOAD_PLACE, /* which nodes are open: an instance that still fits stays */
        RELOAD_MOVE,  /* how memory is moved */
        RELOAD_HOST,  /* what is set on the host */
        RELOAD_TIMER, /* how often something is done */
        RELOAD_STOP,  /* what happens at the end */
        N_RELOADS,
} PolicyReload;

typedef struct PolicyKey {
        const char *path; /* "policies[].place.nodes"; "[]" means an entry of a list */
        PolicyKeyType type;
        PolicyKeyNeed need;
        PolicyReload reload;
        const char *default_text;   /* as one would write it; NULL: none */
        const char *example;        /* of a SECTION, as one would write it; NULL: none */
        const char *const *choices; /* the values of a CHOICE, or the words in place of a
                                       list of CPUS, RESERVE and STEER, by the values of their enum;
                                       ends with NULL */
        uint64_t min, max;          /* of a NUMBER, an AUTO_NUMBER, a DURATION and a PERCENT */
        bool empty_ok;              /* a list may be empty */
        size_t offset;        /* of the field: in Policy under policies[], in PolicyInstance under
                               * policies[].instances[], in IrqPolicy under irq[], in PolicySet
                               * elsewhere */
        size_t is_set_offset; /* of a bool there that is set when the key was written; 0: none */
        const char *help;     /* one line, whole sentences */
} PolicyKey;

#define POLICY_KEY_PATH_MAX 128u
/* An upper bound of the table's length, for arrays beside it. */
#define POLICY_KEYS_MAX 64u

size_t policy_keys(const PolicyKey **ret);

/* The row of that path, which has one; its index, for arrays beside the table. */
const PolicyKey *policy_key_at(const char *path);
size_t policy_key_index(const PolicyKey *key);

/* The row of `name` below `parent` ("" at the top), or NULL. A name with a dot or a bracket is
 * never a key, even where it spells a path. */
const PolicyKey *policy_key_find(const char *parent, const char *name);

/* The last part of the path; whether the key is directly below `parent`. */
const char *policy_key_leaf(const PolicyKey *key);
bool policy_key_is_below(const PolicyKey *key, const char *parent);

/* The table of keys in words, for messages, the manual and the schema. */

/* What is allowed: "bind, preferred or none", "a mapping". Returns `buffer`. */
#define POLICY_KEY_ALLOWED_MAX 200u
const char *policy_key_allowed(const PolicyKey *key, char buffer[static POLICY_KEY_ALLOWED_MAX]);
