/* Sets of CPU numbers and of node numbers, by value.
 *
 * Fixed sizes: no allocation, no failure, copied by assignment. CpuSet and NodeSet are distinct
 * types, and what takes two sets compiles only for two of one type. IdSet holds either, where the
 * code is the same for both: an undo record, a property of a unit. The list form is the kernel's
 * cpulist ("0-3,8", see Documentation/admin-guide/cputopology.rst); an empty set is the empty
 * string.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CONFIG_NR_CPUS of the widest distribution kernels (Debian, RHEL: 8192), and CONFIG_NODES_SHIFT=10
 * there. */
#define CPU_SET_MAX 8192u
#define NODE_SET_MAX 1024u

typedef struct CpuSet {
        uint64_t words[CPU_SET_MAX / 64];
} CpuSet;

typedef struct NodeSet {
        uint64_t words[NODE_SET_MAX / 64];
} NodeSet;

typedef struct IdSet {
        uint64_t words[CPU_SET_MAX / 64];
} IdSet;

/* A set of any of the three types, for functions that serve all of them. */
typedef struct IdView {
        const uint64_t *words;
        size_t n_words;
} IdView;

typedef struct IdTarget {
        uint64_t *words;
        size_t n_words;
} IdTarget;

#define ID_SET_N_WORDS(set) (sizeof((set)->words) / sizeof((set)->words[0]))
#define ID_VIEW(set) ((IdView){ (set)->words, ID_SET_N_WORDS(set) })
#define ID_TARGET(set) ((IdTarget){ (set)->words, ID_SET_N_WORDS(set) })

/* `set`, which does not compile unless it is of the type of `like`. */
#define ID_VIEW_LIKE(like, set) ID_VIEW(true ? (set) : (like))

/* id_set_add() drops an id that the type cannot hold; id_set_has() returns false for it. */
#define id_set_add(set, id) id_target_add(ID_TARGET(set), (id))
#define id_set_has(set, id) id_view_has(ID_VIEW(set), (id))
#define id_set_union(set, other) id_target_union(ID_TARGET(set), ID_VIEW_LIKE(set, other))
#define id_set_subtract(set, other) id_target_subtract(ID_TARGET(set), ID_VIEW_LIKE(set, other))
#define id_set_intersect(set, other) id_target_intersect(ID_TARGET(set), ID_VIEW_LIKE(set, other))

/* Leaves what a limit lets it have; an empty one limits nothing. */
#define id_set_limit(set, limit)                                                                   \
        do                                                                                         \
                if (!id_set_is_empty(limit))                                                       \
                        id_set_intersect((set), (limit));                                          \
        while (false)

/* The same as a new set: what either has, what both have, and what only the first one has. */
#define id_set_or(set, other)                                                                      \
        ({                                                                                         \
                __auto_type _all = *(set);                                                         \
                id_set_union(&_all, (other));                                                      \
                _all;                                                                              \
        })
#define id_set_and(set, other)                                                                     \
        ({                                                                                         \
                __auto_type _both = *(set);                                                        \
                id_set_intersect(&_both, (other));                                                 \
                _both;                                                                             \
        })
#define id_set_minus(set, other)                                                                   \
        ({                                                                                         \
                __auto_type _rest = *(set);                                                        \
                id_set_subtract(&_rest, (other));                                                  \
                _rest;                                                                             \
        })

#define id_set_is_empty(set) (id_set_next((set), 0) < 0)
#define id_set_equal(a, b) id_view_equal(ID_VIEW(a), ID_VIEW_LIKE(a, b))
#define id_set_is_subset(inner, outer) id_view_is_subset(ID_VIEW(inner), ID_VIEW_LIKE(inner, outer))
#define id_set_intersects(a, b) id_view_intersects(ID_VIEW(a), ID_VIEW_LIKE(a, b))
#define id_set_count(set) id_view_count(ID_VIEW(set))

/* The lowest member that is at least `from`, or -1 when there is none. */
#define id_set_next(set, from) id_view_next(ID_VIEW(set), (from))

#define ID_SET_FOREACH(id, set)                                                                    \
        for (int id = id_set_next((set), 0); id >= 0; id = id_set_next((set), (uint32_t)id + 1))

/* Into a set of another type. Members that it cannot hold are dropped. */
#define id_set_convert(from, ret) id_view_convert(ID_VIEW(from), ID_TARGET(ret))

/* Parses a whole cpulist, with the strides of the kernel ("0-8:2/4": the first two of each four).
 * White space around it is allowed, inside it is not. -EINVAL: not a cpulist; -ERANGE: a number
 * that the type cannot hold. */
#define id_set_parse_list(text, ret) id_target_parse_list((text), ID_TARGET(ret))

/* Writes the cpulist form. Returns its length without the final NUL, or -ENOSPC when `size` is
 * too small (the buffer then holds an empty string). */
#define id_set_render_list(set, buffer, size) id_view_render_list(ID_VIEW(set), (buffer), (size))

/* The list for a message, in memory of the block around; "" where it is longer than
 * ID_SET_LIST_MAX. */
#define id_set_list(set) id_view_list(ID_VIEW(set), (char[ID_SET_LIST_MAX]){ 0 })

/* Room that suffices for the lists people and machines really have; longer ones give -ENOSPC. */
#define ID_SET_LIST_MAX 4096u

/* Room for any list: four digits and a comma for each member. */
#define ID_SET_LIST_ANY (CPU_SET_MAX * 5u)

/* The kernel's other form, a mask in hexadecimal, 32 bits between commas: "00000001,000000ff"
 * (bitmap_parse() and %*pb; xps_cpus, rps_cpus). White space around it is
 * allowed, and groups of fewer than 8 digits. Errors as above. */
#define id_set_parse_mask(text, ret) id_target_parse_mask((text), ID_TARGET(ret))

/* Writes it with as many groups as the highest member needs, at least one. As above. */
#define id_set_render_mask(set, buffer, size) id_view_render_mask(ID_VIEW(set), (buffer), (size))

/* Room for any mask. */
#define ID_SET_MASK_MAX (CPU_SET_MAX / 32u * 9u)

static inline void id_target_add(IdTarget set, uint32_t id) {
        if (id / 64 < set.n_words)
                set.words[id / 64] |= UINT64_C(1) << (id % 64);
}

void id_target_union(IdTarget set, IdView other);
void id_target_subtract(IdTarget set, IdView other);
void id_target_intersect(IdTarget set, IdView other);
int id_target_parse_list(const char *text, IdTarget ret);
int id_target_parse_mask(const char *text, IdTarget ret);
/* Of what id_view_to_bytes() makes. Bits that the type cannot hold are dropped. */
void id_target_from_bytes(const uint8_t *bytes, size_t n, IdTarget ret);

static inline bool id_view_has(IdView set, uint32_t id) {
        return id / 64 < set.n_words && (set.words[id / 64] >> (id % 64) & 1);
}

/* Of views of different width, the ids that the narrower one cannot hold are not in it. */
static inline uint64_t id_view_word(IdView set, size_t index) {
        return index < set.n_words ? set.words[index] : 0;
}

static inline bool id_view_is_subset(IdView inner, IdView outer) {
        for (size_t i = 0; i < inner.n_words; i++)
                if (inner.words[i] & ~id_view_word(outer, i))
                        return false;
        return true;
}

static inline bool id_view_intersects(IdView a, IdView b) {
        for (size_t i = 0; i < a.n_words; i++)
                if (a.words[i] & id_view_word(b, i))
                        return true;
        return false;
}

bool id_view_equal(IdView a, IdView b);
uint32_t id_view_count(IdView set);
int id_view_next(IdView set, uint32_t from);
void id_view_convert(IdView from, IdTarget ret);
int id_view_render_list(IdView set, char *buffer, size_t size);
const char *id_view_list(IdView set, char *buffer);
int id_view_render_mask(IdView set, char *buffer, size_t size);

/* The bytes of the set as systemd's AllowedCPUs= and AllowedMemoryNodes= want them on D-Bus
 * (org.freedesktop.systemd1(5), "ay"): bit i of byte i/8, least significant bit first, trailing
 * zero bytes dropped. `buffer` must hold CPU_SET_MAX/8 bytes. Returns the number of bytes. */
size_t id_view_to_bytes(IdView set, uint8_t *buffer);
