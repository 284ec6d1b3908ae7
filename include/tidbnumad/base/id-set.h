/* Sets of CPU numbers and of node numbers, by value.
 *
 * One fixed-size type serves both: no allocation, no failure, copied by assignment. CpuSet and
 * NodeSet name what a set holds. The list form is the kernel's cpulist ("0-3,8", see
 * Documentation/admin-guide/cputopology.rst); an empty set is the empty string.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CONFIG_NR_CPUS of the widest distribution kernels (Debian, RHEL: 8192). Nodes stay far below
 * (CONFIG_NODES_SHIFT=10: 1024). */
#define ID_SET_MAX 8192u
#define ID_SET_WORDS (ID_SET_MAX / 64u)

typedef struct IdSet {
        uint64_t words[ID_SET_WORDS];
} IdSet;

typedef IdSet CpuSet;
typedef IdSet NodeSet;

/* id must be below ID_SET_MAX for id_set_add(); id_set_has() answers false above it. */
void id_set_add(IdSet *set, uint32_t id);
bool id_set_has(const IdSet *set, uint32_t id);
void id_set_add_all(IdSet *set, const IdSet *other);
void id_set_remove_all(IdSet *set, const IdSet *other);
void id_set_keep_only(IdSet *set, const IdSet *other);

bool id_set_is_empty(const IdSet *set);
bool id_set_equal(const IdSet *a, const IdSet *b);
bool id_set_is_subset(const IdSet *inner, const IdSet *outer);
bool id_set_intersects(const IdSet *a, const IdSet *b);
uint32_t id_set_count(const IdSet *set);

/* The lowest member that is at least `from`, or -1 when there is none. */
int id_set_next(const IdSet *set, uint32_t from);

#define ID_SET_FOREACH(id, set)                                                                    \
        for (int id = id_set_next((set), 0); id >= 0; id = id_set_next((set), (uint32_t)id + 1))

/* Parses a whole cpulist. White space around it is allowed, inside it is not. Strides ("0-8:2/4")
 * are not taken. -EINVAL: not a cpulist; -ERANGE: a number of ID_SET_MAX or more. */
int id_set_parse_list(const char *text, IdSet *ret);

/* Writes the cpulist form. Returns its length without the final NUL, or -ENOSPC when `size` is
 * too small (the buffer then holds an empty string). */
int id_set_render_list(const IdSet *set, char *buffer, size_t size);

/* Room that suffices for the lists people and machines really have; longer ones say -ENOSPC. */
#define ID_SET_LIST_MAX 4096u

/* The kernel's other form, a mask in hexadecimal, 32 bits between commas: "00000001,000000ff"
 * (bitmap_parse() and %*pb; xps_cpus, rps_cpus). White space around it is
 * allowed, and groups of fewer than 8 digits. Errors as above. */
int id_set_parse_mask(const char *text, IdSet *ret);

/* Writes it with as many groups as the highest member needs, at least one. As above. */
int id_set_render_mask(const IdSet *set, char *buffer, size_t size);

/* Room for any mask. */
#define ID_SET_MASK_MAX (ID_SET_MAX / 32u * 9u)

/* The bytes of the set as systemd's AllowedCPUs= and AllowedMemoryNodes= want them on D-Bus
 * (org.freedesktop.systemd1(5), "ay"): bit i of byte i/8, least significant bit first, trailing
 * zero bytes dropped. `buffer` must hold ID_SET_MAX/8 bytes. Returns the number of bytes. */
size_t id_set_to_bytes(const IdSet *set, uint8_t *buffer);

/* The other way. Bits of ID_SET_MAX and above are dropped. */
IdSet id_set_from_bytes(const uint8_t *bytes, size_t n);
