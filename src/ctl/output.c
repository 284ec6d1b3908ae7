/* Standard output. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tidbnumad/base/utf8.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/publish/object.h"

unsigned output_width(void) {
        struct winsize size;

        if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
                return 0;
        return size.ws_col;
}

static int put(const char *data, size_t length) {
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

/* What gets here is escaped already where it is a name; this is for what was forgotten. */
int output_text(const Text *text) {
        _cleanup_text_ Text visible = { 0 };

        utf8_append_visible(&visible, text->data ? text->data : "", text->length, "\n\t");
        if (text->error < 0 || visible.error < 0)
                return text->error < 0 ? text->error : visible.error;
        return put(visible.data ? visible.data : "", visible.length);
}

void output_line(FILE *stream, const char *format, ...) {
        _cleanup_text_ Text message = { 0 }, line = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&message, format, args);
        va_end(args);
        text_append_printable(&line, message.data ? message.data : "");
        if (message.error >= 0 && line.error >= 0)
                (void)fprintf(stream, "%s\n", line.data ? line.data : "");
}

int output_json(json_t *json) {
        _cleanup_free_ char *text = NULL;
        int r = object_render(json, &text);

        return r < 0 ? r : put(text, strlen(text));
}
