/* Tables that describe the fields of what is published: they write status.json, read it back, and
 * have the metrics of instances (publish/status.h, publish/metrics.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum FieldKind {
        FIELD_BOOL,
        FIELD_COUNT,   /* uint64_t or size_t */
        FIELD_NUMBER,  /* double; NAN is null, or no sample */
        FIELD_STRING,  /* const char *; NULL is null */
        FIELD_IDS,     /* CpuSet or NodeSet: its list */
        FIELD_PID,     /* pid_t; 0 when it is read: it is missing, or no process can have it */
        FIELD_NODE,    /* int32_t; -1 is null */
        FIELD_NODE_ID, /* uint32_t */
        FIELD_WORD,    /* an enum, by its word */
        FIELD_COUNTS,  /* an array of uint64_t: an object with a count for each word */
        FIELD_SUM,     /* of such an array */
        FIELD_STRINGS, /* const char *const *, with its number */
        FIELD_PORTS,   /* const uint16_t *, likewise */
        FIELD_OBJECT,  /* a struct, or a part of one */
        FIELD_LIST,    /* an array of structs, with its number */

        FIELD_WARNINGS, /* bits of PlacementWarning: their rules and sentences */
        FIELD_TIME,     /* double, seconds since the epoch: RFC 3339 */
        FIELD_REMEDY,   /* Reason: what to do about it */
        FIELD_TOPOLOGY, /* const Topology * */
        FIELD_IN_FORCE, /* Snapshot.policy_in_force, with policy_kept */
} FieldKind;

/* These are written only: FIELD_SUM, FIELD_PORTS, and those from FIELD_TIME to FIELD_TOPOLOGY. */

typedef enum FieldFlags {
        FIELD_REQUIRED = 1 << 0,  /* a file without it, or with an invalid one, is refused */
        FIELD_ELSE_NULL = 1 << 1, /* without `when` it is null, instead of left out */
        FIELD_OR_EMPTY = 1 << 2,  /* read: a missing string is "", not NULL */
        FIELD_OR_TRUE = 1 << 3,   /* read: a missing bool is true */
        FIELD_NOT_ZERO = 1 << 4,  /* FIELD_COUNTS: only those that are not 0 */
        FIELD_OR_ZERO = 1 << 5,   /* the metric is 0 where the number is NAN */
} FieldFlags;

typedef struct FieldTable FieldTable;

typedef struct Field {
        const char *key; /* in JSON; NULL: it is a metric only */
        FieldKind kind;
        unsigned flags; /* FieldFlags */
        size_t offset, size;
        size_t n_offset; /* of the number of a list, size_t; FIELD_REMEDY: of the unit's name */
        /* What says whether it is there: with zeros it is left out. A bool is set when it is read.
         */
        size_t when, when_size;                   /* 0: always */
        const FieldTable *of;                     /* FIELD_OBJECT, FIELD_LIST */
        const char *(*to_string)(unsigned value); /* words, and their number */
        unsigned n_words;
        unsigned missing, unknown; /* read: without a word, or with one of another version */

        /* As a metric; NULL: it is none. */
        const char *metric;
        const char *type; /* "gauge", "counter" */
        const char *help; /* no backslash, no newline */
} Field;

struct FieldTable {
        const Field *fields;
        size_t n_fields;
        size_t struct_size;
};

#define FIELD_AT(struct_type, member)                                                              \
        .offset = offsetof(struct_type, member), .size = sizeof(((struct_type *)0)->member)
#define FIELD_WHEN(struct_type, member)                                                            \
        .when = offsetof(struct_type, member), .when_size = sizeof(((struct_type *)0)->member)
#define FIELD_OF_KIND(json_key, field_kind, struct_type, member, ...)                              \
        { .key = (json_key), .kind = (field_kind), FIELD_AT(struct_type, member), __VA_ARGS__ }

/* The kind by the type of the member. */
#define FIELD(json_key, struct_type, member, ...)                                                  \
        FIELD_OF_KIND(json_key,                                                                    \
                      _Generic(((struct_type *)0)->member,                                         \
                              bool: FIELD_BOOL,                                                    \
                              uint64_t: FIELD_COUNT,                                               \
                              double: FIELD_NUMBER,                                                \
                              char *: FIELD_STRING,                                                \
                              const char *: FIELD_STRING,                                          \
                              CpuSet: FIELD_IDS,                                                   \
                              NodeSet: FIELD_IDS),                                                 \
                      struct_type, member, __VA_ARGS__)
#define FIELD_ENUM(json_key, struct_type, member, string_of, number, ...)                          \
        FIELD_OF_KIND(json_key, FIELD_WORD, struct_type, member, .to_string = (string_of),         \
                      .n_words = (number), __VA_ARGS__)
#define FIELD_REASON(json_key, struct_type, member)                                                \
        FIELD_ENUM(json_key, struct_type, member, reason_to_string, N_REASONS,                     \
                   .unknown = REASON_OTHER)
#define FIELD_ARRAY(json_key, struct_type, member, table, ...)                                     \
        FIELD_OF_KIND(json_key, FIELD_LIST, struct_type, member,                                   \
                      .n_offset = offsetof(struct_type, n_##member), .of = &(table), __VA_ARGS__)

#define FIELD_TABLE(name, struct_type, rows)                                                       \
        const FieldTable name = { (rows), sizeof(rows) / sizeof((rows)[0]), sizeof(struct_type) }
