/* Lists of preferences in headers: "a;q=0.5, b;version=1;q=0.75". A client may send anything:
 * what is malformed is an element that matches nothing. */
#include <string.h>
#include <strings.h>

#include "tidbnumad/exporter/negotiate.h"

/* A part of a header, without blanks around it. */
typedef struct Span {
        const char *start;
        size_t length;
} Span;

/* How well an element of a list fits what is offered: the best fit decides, not the best quality.
 */
typedef struct Wish {
        int fit;     /* 0: nothing fits */
        int quality; /* 0 to 1000 */
} Wish;

static Span trimmed(const char *start, size_t length) {
        while (length > 0 && strchr(" \t", *start))
                start++, length--;
        while (length > 0 && strchr(" \t", start[length - 1]))
                length--;
        return (Span){ start, length };
}

/* Cuts off what stands before `separator`. A quoted separator is none (RFC 9110, 5.6.4). */
static Span take(const char **rest, char separator) {
        const char *start = *rest, *p = start;
        bool quoted = false;

        for (; *p && (quoted || *p != separator); p++) {
                if (*p == '"')
                        quoted = !quoted;
                else if (quoted && *p == '\\' && p[1])
                        p++;
        }
        *rest = *p ? p + 1 : p;
        return trimmed(start, (size_t)(p - start));
}

static Span take_within(Span *rest, char separator) {
        const char *found = memchr(rest->start, separator, rest->length);
        size_t length = found ? (size_t)(found - rest->start) : rest->length;
        Span part = trimmed(rest->start, length);

        length += found ? 1 : 0;
        rest->start += length;
        rest->length -= length;
        return part;
}

static bool is(Span span, const char *word) {
        return span.length == strlen(word) && strncasecmp(span.start, word, span.length) == 0;
}

/* "0.75" as 750; -1 for what is no quality. */
static int quality_of(Span value) {
        int quality = 0, scale = 1000;

        if (value.length == 0 || value.length > 5 || (*value.start != '0' && *value.start != '1'))
                return -1;
        quality = (*value.start - '0') * scale;
        if (value.length > 1 && value.start[1] != '.')
                return -1;
        for (size_t i = 2; i < value.length; i++) {
                if (value.start[i] < '0' || value.start[i] > '9')
                        return -1;
                scale /= 10;
                quality += (value.start[i] - '0') * scale;
        }
        return quality <= 1000 ? quality : -1;
}

/* The parameters of an element: its quality, and its version where it names one. False: malformed.
 */
static bool read_parameters(Span rest, int *ret_quality, Span *ret_version) {
        *ret_quality = 1000;
        *ret_version = (Span){ 0 };
        while (rest.length > 0) {
                Span value = take_within(&rest, ';'), name = take_within(&value, '=');

                value = trimmed(value.start, value.length);
                if (is(name, "q"))
                        *ret_quality = quality_of(value);
                else if (is(name, "version"))
                        *ret_version = value;
        }
        return *ret_quality >= 0;
}

static void improve(Wish *wish, int fit, int quality) {
        if (fit > wish->fit || (fit == wish->fit && fit > 0 && quality > wish->quality))
                *wish = (Wish){ fit, quality };
}

/* An element's fit to a media type: 4 with its version, 3 by name, 2 "text/ *", 1 "* / *". */
static int fit_of(Span type, Span version, const char *name, const char *range,
                  const char *number) {
        if (is(type, name)) {
                if (version.length == 0)
                        return 3;
                return is(version, number) ? 4 : 0;
        }
        if (range && is(type, range))
                return 2;
        return is(type, "*/*") ? 1 : 0;
}

MetricsFormat negotiate_format(const char *accept) {
        Wish text = { 0 }, openmetrics = { 0 };

        while (accept && *accept) {
                Span element = take(&accept, ','), type = take_within(&element, ';'), version;
                int quality;

                if (!read_parameters(element, &quality, &version))
                        continue;
                improve(&text, fit_of(type, version, "text/plain", "text/*", "0.0.4"), quality);
                improve(&openmetrics,
                        fit_of(type, version, "application/openmetrics-text", "application/*",
                               "1.0.0"),
                        quality);
        }
        return openmetrics.quality > text.quality ? METRICS_FORMAT_OPENMETRICS
                                                  : METRICS_FORMAT_TEXT;
}

bool negotiate_gzip(const char *accept_encoding) {
        Wish gzip = { 0 }, identity = { 0 };

        while (accept_encoding && *accept_encoding) {
                Span element = take(&accept_encoding, ','), name = take_within(&element, ';'),
                     version;
                int quality;

                if (!read_parameters(element, &quality, &version))
                        continue;
                improve(&gzip,
                        is(name, "gzip") || is(name, "x-gzip") ? 2
                        : is(name, "*")                        ? 1
                                                               : 0,
                        quality);
                improve(&identity, is(name, "identity") ? 1 : 0, quality);
        }
        return gzip.quality > 0 && gzip.quality >= identity.quality;
}
