/* The text format of Prometheus. It keeps no label but "le": what is asked of a metric here is
 * asked of all its label sets together. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/prometheus.h"

/* --- a line --- */

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char LETTERS_AND_DIGITS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                         "0123456789";
static const char BLANKS[] = " \t";

static char *skip_blanks(char *p) {
        return p + strspn(p, BLANKS);
}

/* The end of a name of a label, or with `colon` of a metric; NULL: there is none. */
static char *name_end(char *p, bool colon) {
        if (!*p || !(strchr(LETTERS, *p) || (colon && *p == ':')))
                return NULL;
        do
                p += strspn(p, LETTERS_AND_DIGITS);
        while (colon && *p == ':' && p++);
        return p;
}

/* Without what strtod() takes beside it: blanks, hexadecimal numbers, "infinity", NAN(…). */
static bool parse_value(const char *text, double *ret) {
        const char *digits = text + (*text == '+' || *text == '-');
        char *end;

        if (strcmp(digits, "Inf") == 0 || strcmp(text, "NaN") == 0) {
                *ret = *digits == 'N' ? NAN : *text == '-' ? -INFINITY : INFINITY;
                return true;
        }
        if (*digits == '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
                return false;
        *ret = strtod(text, &end);
        return *end == '\0';
}

/* The value of a label behind its first quote, in place; NULL: it does not end, or has an unknown
 * escape. Returns what follows the last quote. */
static char *label_unquote(char *p) {
        char *to = p;

        for (; *p && *p != '"'; p++) {
                if (*p == '\\') {
                        p++;
                        if (*p != '\\' && *p != '"' && *p != 'n')
                                return NULL;
                        *to++ = *p == 'n' ? '\n' : *p;
                } else
                        *to++ = *p;
        }
        if (*p != '"')
                return NULL;
        *to = '\0';
        return p + 1;
}

static bool is_name(const char *name, const char *end, const char *wanted) {
        return (size_t)(end - name) == strlen(wanted) && memcmp(name, wanted, strlen(wanted)) == 0;
}

/* The labels behind "{"; returns what follows "}", NULL: malformed. */
static char *parse_labels(char *p, PromSample *ret) {
        for (p = skip_blanks(p); *p != '}';) {
                char *const name = p, *const end = name_end(p, false), *value;
                bool is_le, is_version;

                if (!end)
                        return NULL;
                is_le = is_name(name, end, "le");
                is_version = is_name(name, end, "version");
                p = skip_blanks(end);
                if (*p != '=' || *(p = skip_blanks(p + 1)) != '"')
                        return NULL;
                value = p + 1;
                p = label_unquote(value);
                if (!p || (is_le && !parse_value(value, &ret->le)))
                        return NULL;
                if (is_version)
                        ret->version = value;
                p = skip_blanks(p);
                if (*p == ',')
                        p = skip_blanks(p + 1);
                else if (*p != '}')
                        return NULL;
        }
        return p + 1;
}

/* One line, which is changed. 1: a sample; 0: a comment, or empty; -EBADMSG: malformed. */
static int parse_line(char *line, PromSample *ret) {
        PromSample sample = { .le = NAN };
        char *p = skip_blanks(line), *end, *value;

        if (*p == '\0' || *p == '#')
                return 0;
        sample.name = p;
        end = name_end(p, true);
        if (!end)
                return -EBADMSG;
        p = skip_blanks(end);
        sample.labelled = *p == '{';
        if (sample.labelled)
                p = parse_labels(p + 1, &sample);
        else if (p == end)
                return -EBADMSG;
        if (!p)
                return -EBADMSG;
        *end = '\0';
        value = skip_blanks(p);
        p = value + strcspn(value, BLANKS);
        if (*p) { /* a time stamp, in milliseconds */
                *p = '\0';
                p = skip_blanks(p + 1);
                end = p + (*p == '-');
                end += strspn(end, "0123456789");
                if (*skip_blanks(end) != '\0')
                        return -EBADMSG;
        }
        if (!parse_value(value, &sample.value))
                return -EBADMSG;
        *ret = sample;
        return 1;
}

void prom_reader_add(PromReader *reader, const char *bytes, size_t size) {
        while (size > 0) {
                const char *newline = memchr(bytes, '\n', size);
                const size_t n = newline ? (size_t)(newline - bytes) : size;
                PromSample sample;
                int r;

                if (reader->cut || n >= sizeof(reader->line) - reader->length)
                        reader->cut = true;
                else {
                        memcpy(reader->line + reader->length, bytes, n);
                        reader->length += n;
                }
                if (!newline)
                        return;
                reader->line[reader->length] = '\0';
                r = reader->cut || strlen(reader->line) != reader->length
                            ? -EBADMSG
                            : parse_line(reader->line, &sample);
                if (r > 0)
                        reader->handler(&sample, reader->userdata);
                reader->n_malformed += r < 0;
                reader->length = 0;
                reader->cut = false;
                bytes += n + 1;
                size -= n + 1;
        }
}

/* --- a metric --- */

void prom_metric_add(PromMetric *m, const PromSample *sample) {
        const size_t length = strlen(m->name);
        const char *suffix = sample->name + length;
        size_t at;

        if (strncmp(sample->name, m->name, length) != 0 || !isfinite(sample->value) ||
            sample->value < 0)
                return;
        if (*suffix == '\0' || strcmp(suffix, "_count") == 0) {
                m->total += sample->value;
                m->found = true;
                return;
        }
        if (strcmp(suffix, "_bucket") != 0 || isnan(sample->le))
                return;
        at = ARRAY_LOWER_BOUND(m->n_buckets, i, m->buckets[i].le < sample->le);
        if (at < m->n_buckets && m->buckets[at].le <= sample->le) {
                m->buckets[at].count += sample->value;
                return;
        }
        m->overflow = m->overflow || m->n_buckets == PROM_BUCKETS_MAX;
        if (m->overflow)
                return;
        memmove(&m->buckets[at + 1], &m->buckets[at], (m->n_buckets - at) * sizeof(PromBucket));
        m->buckets[at] = (PromBucket){ .le = sample->le, .count = sample->value };
        m->n_buckets++;
}

bool prom_metric_increase(const PromMetric *before, const PromMetric *now, double *ret) {
        if (!before->found || !now->found || !(now->total >= before->total))
                return false;
        *ret = now->total - before->total;
        return true;
}

/* A label set that came since then brings no new bound as a rule; where it does, the bound counted
 * nothing before. */
static double count_before(const PromMetric *before, double le) {
        const size_t at = ARRAY_LOWER_BOUND(before->n_buckets, i, before->buckets[i].le < le);

        return at < before->n_buckets && before->buckets[at].le <= le ? before->buckets[at].count
                                                                      : 0;
}

bool prom_metric_quantile(const PromMetric *before, const PromMetric *now, double q, double *ret) {
        const PromBucket *const last = now->buckets + now->n_buckets - 1;
        double total, rank, below = 0, bound_below = 0;

        if (now->overflow || before->overflow || now->n_buckets < 2 || !isinf(last->le))
                return false;
        total = last->count - count_before(before, last->le);
        rank = q * total;
        if (!(total > 0) || !isfinite(total))
                return false;
        for (const PromBucket *b = now->buckets; b < last; b++) {
                const double count = b->count - count_before(before, b->le);

                if (count < 0)
                        return false;
                if (count >= rank && count > below) {
                        *ret = b == now->buckets && b->le <= 0
                                       ? b->le
                                       : bound_below + (b->le - bound_below) * (rank - below) /
                                                               (count - below);
                        return isfinite(*ret);
                }
                below = count > below ? count : below;
                bound_below = b->le;
        }
        *ret = bound_below; /* above the last finite bound: nothing shows how far */
        return isfinite(*ret);
}
