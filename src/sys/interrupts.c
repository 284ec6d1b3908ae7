/* The table of /proc/interrupts. On a machine of 256 CPUs it has megabytes, so it is walked once,
 * byte by byte, and allocated for once. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/sys/interrupts.h"

enum { READ_ATTEMPTS = 3 };

void interrupts_done(InterruptTable *interrupts) {
        free(interrupts->cpus);
        free(interrupts->lines);
        free(interrupts->counts);
        free(interrupts->text);
        *interrupts = (InterruptTable){ 0 };
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *p) {
        while (*p == ' ' || *p == '\t')
                p++;
        return p;
}

static const char *next_line(const char *p) {
        const char *end = strchr(p, '\n');

        return end ? end + 1 : p + strlen(p);
}

/* A number of 32 bits, and a blank, a colon or the end of the line behind it. NULL: none. */
static const char *take_number(const char *p, uint32_t *ret) {
        uint64_t value = 0;

        if (!is_digit(*p))
                return NULL;
        for (; is_digit(*p); p++) {
                value = value * 10 + (uint64_t)(*p - '0');
                if (value > UINT32_MAX)
                        return NULL;
        }
        if (*p != ' ' && *p != '\n' && *p != ':' && *p != '\t' && *p != '\0')
                return NULL;
        *ret = (uint32_t)value;
        return p;
}

/* "           CPU0       CPU2", into room for every word of it. */
static int parse_head(const char *text, InterruptTable *ret) {
        size_t n_words = 0;

        for (const char *p = skip_blanks(text); *p && *p != '\n';
             p = skip_blanks(p + strcspn(p, " \t\n")))
                n_words++;
        ret->cpus = malloc((n_words + 1) * sizeof(*ret->cpus));
        if (!ret->cpus)
                return -ENOMEM;
        for (const char *p = skip_blanks(text); *p && *p != '\n'; p = skip_blanks(p)) {
                p = strncmp(p, "CPU", 3) == 0 ? take_number(p + 3, &ret->cpus[ret->n_cpus]) : NULL;
                if (!p || *p == ':')
                        return -EBADMSG;
                ret->n_cpus++;
        }
        return n_words > 0 ? 0 : -EBADMSG;
}

/* Where the number of a line ends, at its colon; NULL: the line has none. */
static const char *take_irq(const char *line, uint32_t *ret) {
        const char *p = take_number(skip_blanks(line), ret);

        return p && *p == ':' ? p : NULL;
}

static size_t count_lines(const char *text) {
        size_t n = 0;
        uint32_t irq;

        for (const char *line = text; *line; line = next_line(line))
                n += take_irq(line, &irq) != NULL;
        return n;
}

/* Behind the counters are the chip, its number and type, padded, and after two blanks the
 * handlers (kernel/irq/proc.c, show_interrupts()). What ends with padding has no handler. */
static void take_names(const char *p, InterruptLine *line) {
        const char *end = p + strcspn(p, "\n");

        line->names = end;
        if (end == p || end[-1] == ' ')
                return;
        for (const char *at = end; at > p + 1; at--)
                if (at[-1] == ' ' && at[-2] == ' ') {
                        line->names = at;
                        break;
                }
        line->names_length = (size_t)(end - line->names);
}

static int parse_line(const char *p, size_t n_cpus, uint32_t *counts, InterruptLine *line) {
        uint32_t more;

        for (size_t i = 0; i < n_cpus; i++) {
                p = take_number(skip_blanks(p), &counts[i]);
                if (!p || *p == ':')
                        return -EAGAIN;
        }
        p = skip_blanks(p);
        if (take_number(p, &more)) /* no chip is called so */
                return -EAGAIN;
        line->counts = counts;
        take_names(p, line);
        return 0;
}

static int parse_lines(const char *text, InterruptTable *ret) {
        size_t n = count_lines(text);

        /* Each counter takes a digit at least: what is shorter is no table to allocate for. */
        if (n > strlen(text) / ret->n_cpus)
                return -EAGAIN;
        ret->lines = calloc(n + 1, sizeof(*ret->lines));
        ret->counts = reallocarray(NULL, n + 1, ret->n_cpus * sizeof(*ret->counts));
        if (!ret->lines || !ret->counts)
                return -ENOMEM;
        for (const char *line = text; *line; line = next_line(line)) {
                InterruptLine *to = &ret->lines[ret->n_lines];
                const char *p = take_irq(line, &to->irq);
                int r;

                if (!p)
                        continue;
                r = parse_line(p + 1, ret->n_cpus, ret->counts + ret->n_lines * ret->n_cpus, to);
                if (r < 0)
                        return r;
                ret->n_lines++;
        }
        return 0;
}

int interrupts_parse(const char *text, InterruptTable *ret) {
        _cleanup_interrupts_ InterruptTable interrupts = { 0 };
        int r = parse_head(text, &interrupts);

        if (r >= 0)
                r = parse_lines(next_line(text), &interrupts);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(interrupts);
        return 0;
}

int interrupts_read(const Sysroot *sysroot, InterruptTable *ret) {
        int r = -EAGAIN;

        for (unsigned i = 0; r == -EAGAIN && i < READ_ATTEMPTS; i++) {
                _cleanup_free_ char *text = NULL;

                r = read_file_alloc_at(sysroot->proc_fd, "interrupts", &text, NULL);
                if (r >= 0)
                        r = interrupts_parse(text, ret);
                if (r >= 0)
                        ret->text = TAKE_PTR(text);
        }
        return r;
}

const InterruptLine *interrupts_find(const InterruptTable *interrupts, uint32_t irq) {
        const size_t at = ARRAY_LOWER_BOUND(interrupts->n_lines, i, interrupts->lines[i].irq < irq);

        return at < interrupts->n_lines && interrupts->lines[at].irq == irq ? &interrupts->lines[at]
                                                                            : NULL;
}
