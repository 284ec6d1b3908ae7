/* Sets of numbers, and their forms as text and bytes. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/id-set.h"

void id_target_union(IdTarget set, IdView other) {
        for (size_t i = 0; i < set.n_words; i++)
                set.words[i] |= other.words[i];
}

void id_target_subtract(IdTarget set, IdView other) {
        for (size_t i = 0; i < set.n_words; i++)
                set.words[i] &= ~other.words[i];
}

void id_target_intersect(IdTarget set, IdView other) {
        for (size_t i = 0; i < set.n_words; i++)
                set.words[i] &= other.words[i];
}

bool id_view_equal(IdView a, IdView b) {
        return id_view_is_subset(a, b) && id_view_is_subset(b, a);
}

uint32_t id_view_count(IdView set) {
        uint32_t n = 0;

        for (size_t i = 0; i < set.n_words; i++)
                n += (uint32_t)__builtin_popcountll(set.words[i]);
        return n;
}

int id_view_next(IdView set, uint32_t from) {
        for (size_t i = from / 64; i < set.n_words; i++) {
                uint64_t word = set.words[i];

                if (i == from / 64)
                        word &= ~UINT64_C(0) << (from % 64);
                if (word)
                        return (int)(i * 64 + (size_t)__builtin_ctzll(word));
        }
        return -1;
}

void id_view_convert(IdView from, IdTarget ret) {
        for (size_t i = 0; i < ret.n_words; i++)
                ret.words[i] = i < from.n_words ? from.words[i] : 0;
}

static int parse_id(const char **p, size_t n_words, uint32_t *ret) {
        uint32_t id = 0;

        if (!isdigit((unsigned char)**p))
                return -EINVAL;
        for (; isdigit((unsigned char)**p); (*p)++) {
                id = id * 10 + (uint32_t)(**p - '0');
                if (id / 64 >= n_words)
                        return -ERANGE;
        }
        *ret = id;
        return 0;
}

/* Word by word: a text may name the same thousands of ids again and again. */
static void add_range(IdSet *set, uint32_t first, uint32_t last) {
        for (uint32_t i = first / 64; i <= last / 64; i++)
                set->words[i] |= (i == first / 64 ? ~UINT64_C(0) << first % 64 : ~UINT64_C(0)) &
                                 (i == last / 64 ? ~UINT64_C(0) >> (63 - last % 64) : ~UINT64_C(0));
}

int id_target_parse_list(const char *text, IdTarget ret) {
        const char *p = text + strspn(text, " \t\n");
        IdSet set = { 0 };

        while (*p && !isspace((unsigned char)*p)) {
                uint32_t first, last, used = 1, group = 1;
                int r = parse_id(&p, ret.n_words, &first);

                if (r < 0)
                        return r;
                last = first;
                if (*p == '-') {
                        p++;
                        r = parse_id(&p, ret.n_words, &last);
                        if (r < 0)
                                return r;
                        if (last < first)
                                return -EINVAL;
                }
                /* "0-15:1/2", as bitmap_parselist() of the kernel has it: the first one of each
                 * two. */
                if (*p == ':') {
                        p++;
                        r = parse_id(&p, ret.n_words, &used);
                        if (r < 0)
                                return r;
                        if (*p++ != '/')
                                return -EINVAL;
                        r = parse_id(&p, ret.n_words, &group);
                        if (r < 0)
                                return r;
                        if (used == 0 || used > group)
                                return -EINVAL;
                }
                if (used == group)
                        add_range(&set, first, last);
                else
                        for (; first <= last; first += group)
                                for (uint32_t id = first; id < first + used && id <= last; id++)
                                        id_set_add(&set, id);
                if (*p == ',' && isdigit((unsigned char)p[1]))
                        p++;
                else if (*p && !isspace((unsigned char)*p))
                        return -EINVAL;
        }
        if (p[strspn(p, " \t\n")] != '\0')
                return -EINVAL;
        id_view_convert(ID_VIEW(&set), ret);
        return 0;
}

int id_view_render_list(IdView set, char *buffer, size_t size) {
        size_t length = 0;

        if (size == 0)
                return -ENOSPC;
        buffer[0] = '\0';
        for (int first = id_view_next(set, 0); first >= 0;) {
                int last = first;
                int n;

                while (id_view_has(set, (uint32_t)last + 1))
                        last++;
                n = snprintf(buffer + length, size - length, last > first ? "%s%d-%d" : "%s%d",
                             length ? "," : "", first, last);
                if (n < 0 || (size_t)n >= size - length) {
                        buffer[0] = '\0';
                        return -ENOSPC;
                }
                length += (size_t)n;
                first = id_view_next(set, (uint32_t)last + 1);
        }
        return (int)length;
}

size_t id_view_to_bytes(IdView set, uint8_t *buffer) {
        size_t length = 0;

        for (size_t i = 0; i < set.n_words * 8; i++) {
                buffer[i] = (uint8_t)(set.words[i / 8] >> (i % 8 * 8));
                if (buffer[i])
                        length = i + 1;
        }
        return length;
}

void id_target_from_bytes(const uint8_t *bytes, size_t n, IdTarget ret) {
        IdSet set = { 0 };

        for (size_t i = 0; i < n && i < sizeof(set); i++)
                set.words[i / 8] |= (uint64_t)bytes[i] << (i % 8 * 8);
        id_view_convert(ID_VIEW(&set), ret);
}

int id_target_parse_mask(const char *text, IdTarget ret) {
        const char *start = text + strspn(text, " \t\n");
        const char *end = start + strcspn(start, " \t\n");
        IdSet set = { 0 };
        bool more = true;

        if (end[strspn(end, " \t\n")] != '\0')
                return -EINVAL;
        for (size_t group = 0; more; group++) {
                uint64_t value = 0;
                size_t digits = 0;

                for (; end > start && isxdigit((unsigned char)end[-1]); digits++) {
                        const int c = tolower((unsigned char)*--end);

                        if (digits < 8)
                                value |= (uint64_t)(isdigit(c) ? c - '0' : c - 'a' + 10)
                                         << (4 * digits);
                }
                if (digits == 0 || digits > 8)
                        return -EINVAL;
                /* Leading zeros may be there, however many. */
                if (value > 0 && group / 2 >= ret.n_words)
                        return -ERANGE;
                if (value > 0)
                        set.words[group / 2] |= value << (group % 2 * 32);
                more = end > start;
                if (more && *--end != ',')
                        return -EINVAL;
        }
        id_view_convert(ID_VIEW(&set), ret);
        return 0;
}

const char *id_view_list(IdView set, char *buffer) {
        (void)id_view_render_list(set, buffer, ID_SET_LIST_MAX);
        return buffer;
}

int id_view_render_mask(IdView set, char *buffer, size_t size) {
        size_t group = set.n_words * 2, length = 0;

        if (size == 0)
                return -ENOSPC;
        while (group > 1 && (uint32_t)(set.words[(group - 1) / 2] >> ((group - 1) % 2 * 32)) == 0)
                group--;
        while (group-- > 0) {
                int n = snprintf(buffer + length, size - length, "%08" PRIx32 "%s",
                                 (uint32_t)(set.words[group / 2] >> (group % 2 * 32)),
                                 group > 0 ? "," : "");

                if (n < 0 || (size_t)n >= size - length) {
                        buffer[0] = '\0';
                        return -ENOSPC;
                }
                length += (size_t)n;
        }
        return (int)length;
}
