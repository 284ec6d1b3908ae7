/* Sets of CPU and node numbers. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/id-set.h"

void id_set_add(IdSet *set, uint32_t id) {
        if (id < ID_SET_MAX)
                set->words[id / 64] |= UINT64_C(1) << (id % 64);
}

bool id_set_has(const IdSet *set, uint32_t id) {
        return id < ID_SET_MAX && (set->words[id / 64] >> (id % 64) & 1);
}

void id_set_add_all(IdSet *set, const IdSet *other) {
        for (size_t i = 0; i < ID_SET_WORDS; i++)
                set->words[i] |= other->words[i];
}

void id_set_remove_all(IdSet *set, const IdSet *other) {
        for (size_t i = 0; i < ID_SET_WORDS; i++)
                set->words[i] &= ~other->words[i];
}

void id_set_keep_only(IdSet *set, const IdSet *other) {
        for (size_t i = 0; i < ID_SET_WORDS; i++)
                set->words[i] &= other->words[i];
}

bool id_set_is_empty(const IdSet *set) {
        return id_set_next(set, 0) < 0;
}

bool id_set_equal(const IdSet *a, const IdSet *b) {
        return memcmp(a, b, sizeof(*a)) == 0;
}

bool id_set_is_subset(const IdSet *inner, const IdSet *outer) {
        for (size_t i = 0; i < ID_SET_WORDS; i++)
                if (inner->words[i] & ~outer->words[i])
                        return false;
        return true;
}

bool id_set_intersects(const IdSet *a, const IdSet *b) {
        for (size_t i = 0; i < ID_SET_WORDS; i++)
                if (a->words[i] & b->words[i])
                        return true;
        return false;
}

uint32_t id_set_count(const IdSet *set) {
        uint32_t n = 0;

        for (size_t i = 0; i < ID_SET_WORDS; i++)
                n += (uint32_t)__builtin_popcountll(set->words[i]);
        return n;
}

int id_set_next(const IdSet *set, uint32_t from) {
        for (size_t i = from / 64; i < ID_SET_WORDS; i++) {
                uint64_t word = set->words[i];

                if (i == from / 64)
                        word &= ~UINT64_C(0) << (from % 64);
                if (word)
                        return (int)(i * 64 + (size_t)__builtin_ctzll(word));
        }
        return -1;
}

static int parse_id(const char **p, uint32_t *ret) {
        uint32_t id = 0;

        if (!isdigit((unsigned char)**p))
                return -EINVAL;
        for (; isdigit((unsigned char)**p); (*p)++) {
                id = id * 10 + (uint32_t)(**p - '0');
                if (id >= ID_SET_MAX)
                        return -ERANGE;
        }
        *ret = id;
        return 0;
}

static int parse_range(const char **p, IdSet *set) {
        uint32_t first, last;
        int r;

        r = parse_id(p, &first);
        if (r < 0)
                return r;
        last = first;
        if (**p == '-') {
                (*p)++;
                r = parse_id(p, &last);
                if (r < 0)
                        return r;
                if (last < first)
                        return -EINVAL;
        }
        for (uint32_t id = first; id <= last; id++)
                id_set_add(set, id);
        return 0;
}

int id_set_parse_list(const char *text, IdSet *ret) {
        const char *p = text + strspn(text, " \t\n");
        IdSet set = { 0 };
        int r;

        while (*p && !isspace((unsigned char)*p)) {
                r = parse_range(&p, &set);
                if (r < 0)
                        return r;
                if (*p == ',' && isdigit((unsigned char)p[1]))
                        p++;
                else if (*p && !isspace((unsigned char)*p))
                        return -EINVAL;
        }
        if (p[strspn(p, " \t\n")] != '\0')
                return -EINVAL;
        *ret = set;
        return 0;
}

int id_set_render_list(const IdSet *set, char *buffer, size_t size) {
        size_t length = 0;

        if (size == 0)
                return -ENOSPC;
        buffer[0] = '\0';
        for (int first = id_set_next(set, 0); first >= 0;) {
                int last = first;
                int n;

                while (id_set_has(set, (uint32_t)last + 1))
                        last++;
                n = last > first ? snprintf(buffer + length, size - length, "%s%d-%d",
                                            length ? "," : "", first, last)
                                 : snprintf(buffer + length, size - length, "%s%d",
                                            length ? "," : "", first);
                if (n < 0 || (size_t)n >= size - length) {
                        buffer[0] = '\0';
                        return -ENOSPC;
                }
                length += (size_t)n;
                first = id_set_next(set, (uint32_t)last + 1);
        }
        return (int)length;
}

size_t id_set_to_bytes(const IdSet *set, uint8_t *buffer) {
        size_t length = 0;

        for (size_t i = 0; i < ID_SET_MAX / 8; i++) {
                buffer[i] = (uint8_t)(set->words[i / 8] >> (i % 8 * 8));
                if (buffer[i])
                        length = i + 1;
        }
        return length;
}

IdSet id_set_from_bytes(const uint8_t *bytes, size_t n) {
        IdSet set = { 0 };

        for (size_t i = 0; i < n && i < ID_SET_MAX / 8; i++)
                set.words[i / 8] |= (uint64_t)bytes[i] << (i % 8 * 8);
        return set;
}

/* Its digits, of which the last is at end[-1], into the set's 32 bits of that number. */
static int take_group(const char *end, size_t digits, size_t group, IdSet *set) {
        uint64_t value = 0;

        if (digits == 0 || digits > 8)
                return -EINVAL;
        for (const char *p = end - digits; p < end; p++)
                value = value * 16 + (uint64_t)(isdigit((unsigned char)*p)
                                                        ? *p - '0'
                                                        : tolower((unsigned char)*p) - 'a' + 10);
        if (value == 0)
                return 0; /* leading zeros, however many */
        if (group >= ID_SET_MAX / 32)
                return -ERANGE;
        set->words[group / 2] |= value << (group % 2 * 32);
        return 0;
}

int id_set_parse_mask(const char *text, IdSet *ret) {
        const char *start = text + strspn(text, " \t\n");
        const char *end = start + strcspn(start, " \t\n");
        IdSet set = { 0 };
        bool more = true;

        if (end[strspn(end, " \t\n")] != '\0')
                return -EINVAL;
        for (size_t group = 0; more; group++) {
                size_t digits = 0;
                int r;

                while (end - digits > start && isxdigit((unsigned char)end[-1 - (ssize_t)digits]))
                        digits++;
                r = take_group(end, digits, group, &set);
                if (r < 0)
                        return r;
                end -= digits;
                more = end > start;
                if (more && *--end != ',')
                        return -EINVAL;
        }
        *ret = set;
        return 0;
}

int id_set_render_mask(const IdSet *set, char *buffer, size_t size) {
        size_t group = ID_SET_MAX / 32, length = 0;

        if (size == 0)
                return -ENOSPC;
        while (group > 1 && (uint32_t)(set->words[(group - 1) / 2] >> ((group - 1) % 2 * 32)) == 0)
                group--;
        while (group-- > 0) {
                int n = snprintf(buffer + length, size - length, "%08" PRIx32 "%s",
                                 (uint32_t)(set->words[group / 2] >> (group % 2 * 32)),
                                 group > 0 ? "," : "");

                if (n < 0 || (size_t)n >= size - length) {
                        buffer[0] = '\0';
                        return -ENOSPC;
                }
                length += (size_t)n;
        }
        return (int)length;
}
