#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/status-history.h"
#include "tidbnumad/sys/journalctl.h"

#define MESSAGES_SHOWN "20"

static void append_time(Text *text, const char *usec) {
        const time_t t = (time_t)(strtoull(usec, NULL, 10) / 1000000);
        char buffer[32];
        struct tm tm;

        if (localtime_r(&t, &tm) && strftime(buffer, sizeof(buffer), "%F %T", &tm) > 0)
                text_append(text, buffer);
}

/* journalctl writes a field that is no valid UTF-8 as an array of numbers: it is omitted. */
static size_t append_line(const char *line, size_t size, Text *text) {
        json_error_t error;
        json_t *object = json_loadb(line, size, 0, &error);
        const char *usec = json_string_value(json_object_get(object, "__REALTIME_TIMESTAMP"));
        const char *message = json_string_value(json_object_get(object, "MESSAGE"));
        const bool shown = usec && message;

        if (shown) {
                text_append(text, "  ");
                append_time(text, usec);
                text_append(text, "  ");
                text_append_printable(text, message);
                text_append(text, "\n");
        }
        json_decref(object);
        return shown;
}

size_t status_history_parse(const char *lines, Text *text) {
        size_t n = 0;

        while (*lines) {
                const size_t size = strcspn(lines, "\n");

                n += append_line(lines, size, text);
                lines += size + (lines[size] == '\n');
        }
        return n;
}

/* Any user may log TIDBNUMAD_INSTANCE=, so match _UID, which the journal itself sets. */
static int read_journal(const char *instance, Text *ret) {
        _cleanup_free_ char *match = NULL;
        int r = asprintf(&match, "TIDBNUMAD_INSTANCE=%s", instance);

        if (r < 0) {
                match = NULL;
                return -ENOMEM;
        }
        return journalctl_read((const char *const[]){ "--output=json", "--output-fields=MESSAGE",
                                                      "--lines=" MESSAGES_SHOWN, match, "_UID=0",
                                                      NULL },
                               ret);
}

void status_history_render(const char *instance, Text *text) {
        _cleanup_text_ Text json = { 0 }, lines = { 0 };
        int r = read_journal(instance, &json);

        if (r == -ENOMEM || json.error < 0)
                text->error = -ENOMEM;
        text_append(text, "\nHistory of ");
        text_append_printable(text, instance);
        if (r < 0 || !json.data || status_history_parse(json.data, &lines) == 0) {
                text_append(text, ": no entry in the journal that this user can read\n");
                return;
        }
        text_append(text, ":\n");
        text_append(text, lines.data ? lines.data : "");
        if (lines.error < 0)
                text->error = lines.error;
}
