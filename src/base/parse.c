#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/parse.h"

typedef struct Unit {
        const char *name;
        uint64_t factor;
} Unit;

int parse_u64(const char *text, uint64_t *ret) {
        char *end;
        unsigned long long value;

        /* strtoull() takes signs and white space; neither belongs into a file of numbers. */
        if (!isdigit((unsigned char)text[0]))
                return -EINVAL;
        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno == ERANGE)
                return -ERANGE;
        if (end == text || *end)
                return -EINVAL;
        *ret = value;
        return 0;
}

/* digits[.digits]unit, by integers only: strtod() would follow the locale. */
static int parse_with_unit(const char *text, const Unit *units, size_t n_units, uint64_t *ret) {
        uint64_t whole = 0, fraction = 0, divisor = 1, value, tail;
        const char *p = text;

        if (!isdigit((unsigned char)*p))
                return -EINVAL;
        for (; isdigit((unsigned char)*p); p++)
                if (__builtin_mul_overflow(whole, 10, &whole) ||
                    __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
                        return -ERANGE;
        if (*p == '.') {
                if (!isdigit((unsigned char)*++p))
                        return -EINVAL;
                for (; isdigit((unsigned char)*p); p++)
                        if (divisor < 1000000) { /* further decimals are below the precision */
                                fraction = fraction * 10 + (uint64_t)(*p - '0');
                                divisor *= 10;
                        }
        }
        for (size_t i = 0; i < n_units; i++) {
                if (strcmp(p, units[i].name) != 0)
                        continue;
                if (__builtin_mul_overflow(whole, units[i].factor, &value) ||
                    __builtin_mul_overflow(fraction, units[i].factor, &tail) ||
                    __builtin_add_overflow(value, tail / divisor, &value))
                        return -ERANGE;
                *ret = value;
                return 0;
        }
        return -EINVAL;
}

int parse_size(const char *text, uint64_t *ret_bytes) {
        static const Unit units[] = {
                { "B", 1 },
                { "KiB", UINT64_C(1) << 10 },
                { "MiB", UINT64_C(1) << 20 },
                { "GiB", UINT64_C(1) << 30 },
                { "TiB", UINT64_C(1) << 40 },
                { "kB", UINT64_C(1000) },
                { "MB", UINT64_C(1000000) },
                { "GB", UINT64_C(1000000000) },
                { "TB", UINT64_C(1000000000000) },
        };

        return parse_with_unit(text, units, ELEMENTSOF(units), ret_bytes);
}

int parse_duration(const char *text, uint64_t *ret_usec) {
        static const Unit units[] = {
                { "us", 1 },
                { "ms", UINT64_C(1000) },
                { "s", UINT64_C(1000000) },
                { "min", UINT64_C(60000000) },
                { "h", UINT64_C(3600000000) },
        };

        return parse_with_unit(text, units, ELEMENTSOF(units), ret_usec);
}

int parse_percent(const char *text, uint64_t *ret_ppm) {
        static const Unit units[] = { { "%", 10000 } };

        return parse_with_unit(text, units, ELEMENTSOF(units), ret_ppm);
}

int parse_field(const char *text, const char *key, uint64_t *ret) {
        const char *p = strstr(text, key);
        unsigned long long value;

        if (!p)
                return -EBADMSG;
        p += strlen(key);
        p += strspn(p, " \t");
        errno = 0;
        value = isdigit((unsigned char)*p) ? strtoull(p, NULL, 10) : 0;
        if (!isdigit((unsigned char)*p) || errno == ERANGE)
                return -EBADMSG;
        *ret = value;
        return 0;
}

int parse_kib_field(const char *text, const char *key, uint64_t *ret_bytes) {
        uint64_t kib;

        if (parse_field(text, key, &kib) < 0 || kib > UINT64_MAX / 1024)
                return -EBADMSG;
        *ret_bytes = kib * 1024;
        return 0;
}
