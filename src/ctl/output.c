/* Standard output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

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

int output_text(const Text *text) {
        return text->error < 0 ? text->error : put(text->data ? text->data : "", text->length);
}

int output_json(json_t *json) {
        _cleanup_free_ char *text = NULL;
        int r = object_render(json, &text);

        return r < 0 ? r : put(text, strlen(text));
}
