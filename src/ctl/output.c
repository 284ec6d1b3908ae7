#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/output.h"

static unsigned width_of(int fd) {
        struct winsize size;

        return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) >= 0 ? size.ws_col : 0;
}

unsigned output_width(void) {
        return width_of(STDOUT_FILENO);
}

bool output_colors(void) {
        const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

        return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
               !(term && strcmp(term, "dumb") == 0);
}

bool output_utf8(void) {
        locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
        const bool utf8 = locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;

        if (locale)
                freelocale(locale);
        return utf8;
}

/* Length of a sequence that sets a colour; 0: none. */
static size_t color_length(const char *string) {
        size_t n;

        if (strncmp(string, "\x1b[", 2) != 0)
                return 0;
        n = 2 + strspn(string + 2, "0123456789;");
        return string[n] == 'm' ? n + 1 : 0;
}

/* Appends a line of `n` bytes, in which sequences of colours have no width. */
static void line_append_wrapped(const char *line, size_t n, unsigned width, Text *ret) {
        const size_t indent = strspn(line, " ");
        size_t column = 0, blank = 0, begin = 0;

        for (size_t i = 0; i < n; i++) {
                const size_t color = color_length(line + i);

                if (color > 0) {
                        i += color - 1;
                        continue;
                }
                if (line[i] == ' ' && i > begin + indent)
                        blank = i;
                column += !utf8_continues(line[i]);
                if (column <= width || blank == 0 || line[i] == ' ')
                        continue;
                text_append_bytes(ret, line + begin, blank - begin);
                text_appendf(ret, "\n%*s", (int)indent + 2, "");
                i = blank + strspn(line + blank, " ") - 1;
                begin = i + 1;
                column = indent + 2;
                blank = 0;
        }
        text_append_bytes(ret, line + begin, n - begin);
}

void output_fit(const Text *text, unsigned width, bool colors, bool utf8, Text *ret) {
        _cleanup_text_ Text visible = { 0 }, lines = { 0 };

        /* Names are escaped already; this escapes what a caller forgot. */
        for (const char *rest = text_string(text); *rest;) {
                const size_t n = strcspn(rest, "\x1b"), color = color_length(rest + n);

                utf8_append_visible(&visible, rest, n, "\n\t");
                rest += n;
                if (*rest && color > 0 && colors)
                        text_append_bytes(&visible, rest, color);
                else if (*rest && color == 0)
                        utf8_append_visible(&visible, rest, 1, "");
                rest += color > 0 ? color : *rest != '\0';
        }
        for (const char *line = text_string(&visible); *line;) {
                const size_t n = strcspn(line, "\n");

                if (width > 0)
                        line_append_wrapped(line, n, width, &lines);
                else
                        text_append_bytes(&lines, line, n);
                text_append(&lines, line[n] ? "\n" : "");
                line += n + (line[n] != '\0');
        }
        if (utf8)
                text_append_text(ret, &lines);
        else
                for (const char *c = text_string(&lines); *c; c++)
                        if (!((unsigned char)*c & 0x80))
                                text_append_bytes(ret, c, 1);
                        else if (!utf8_continues(*c))
                                text_append(ret, strncmp(c, "…", strlen("…")) == 0 ? "~" : "?");
        if (visible.error < 0 || lines.error < 0 || text->error < 0)
                ret->error = -ENOMEM;
}

static int stdout_write(const char *data, size_t length) {
        int r;

        errno = 0;
        if (fwrite(data, 1, length, stdout) == length && fflush(stdout) == 0)
                return 0;
        r = errno != 0 ? -errno : -EIO;
        if (r != -EPIPE)
                (void)fprintf(stderr, "tidbnumactl: writing to standard output: %s\n",
                              strerror(-r));
        return r;
}

int output_text(const Text *text) {
        _cleanup_text_ Text fitting = { 0 };

        output_fit(text, output_width(), output_colors(), output_utf8(), &fitting);
        return stdout_write(must_text(&fitting), fitting.length);
}

void output_lines(FILE *stream, const Text *text) {
        _cleanup_text_ Text fitting = { 0 };

        output_fit(text, width_of(fileno(stream)), false, output_utf8(), &fitting);
        (void)fflush(stdout); /* keeps the order of standard output and standard error, also in a
                               * pipe */
        (void)fputs(must_text(&fitting), stream);
}

void output_line(FILE *stream, const char *format, ...) {
        _cleanup_text_ Text message = { 0 }, line = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&message, format, args);
        va_end(args);
        text_append_printable(&line, must_text(&message));
        text_append(&line, "\n");
        output_lines(stream, &line);
}

void output_error(Error *error) {
        must(error->code);
        if (error->sentence)
                output_line(stderr, "tidbnumactl: %s", error->sentence);
        error_done(error);
}

int output_json(const Text *text) {
        return stdout_write(must_text(text), text->length);
}

int must(int r) {
        if (r != -ENOMEM)
                return r;
        (void)fputs("tidbnumactl: not enough memory\n", stderr);
        exit(EXIT_FAILURE);
}

void *must_have(void *memory) {
        must(memory ? 0 : -ENOMEM);
        return memory;
}

const char *must_text(const Text *text) {
        must(text->error);
        return text_string(text);
}

const char *output_may_read(void) {
        return geteuid() == 0 ? "root needs CAP_SYS_PTRACE for it, which it lacks here"
                              : "run it as root";
}
