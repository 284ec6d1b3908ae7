/* The table of keys as a manual page has it. */
#include <string.h>

#include "tidbnumad/config/policy-reference.h"
#include "tidbnumad/config/policy-table.h"

/* Text that troff shows as it is: a minus that can be copied, and no escapes. */
static void append_plain(Text *text, const char *plain) {
        for (; *plain; plain++)
                if (*plain == '-')
                        text_append(text, "\\-");
                else if (*plain == '\\')
                        text_append(text, "\\e");
                else
                        text_appendf(text, "%c", *plain);
}

/* A line that begins with a dot or a quote would be a request. */
static void append_line(Text *text, const char *before, const char *plain, const char *after) {
        if (*before == '\0' && strchr(".'", *plain))
                text_append(text, "\\&");
        text_append(text, before);
        append_plain(text, plain);
        text_appendf(text, "%s\n", after);
}

static void render_key(Text *text, const PolicyKey *key) {
        char allowed[POLICY_KEY_ALLOWED_MAX];

        text_append(text, ".TP\n");
        append_line(text, ".B ", key->path, "");
        append_line(text, "", key->help, "");
        text_append(text, ".br\n");
        append_line(text, "Value: ", policy_key_allowed(key, allowed), ".");
        if (key->unit)
                append_line(text, "Units: ", key->unit, ".");
        if (key->default_text)
                append_line(text, "Default: \\fB", key->default_text, "\\fR.");
        if (key->need == POLICY_KEY_REQUIRED)
                text_append(text, "Required.\n");
}

static void render_later(Text *text, const PolicyKey *key) {
        text_append(text, ".TP\n");
        append_line(text, ".B ", key->path, "");
        append_line(text, "", key->help, "");
        if (key->accepted)
                append_line(text, "\\fB", key->accepted,
                            "\\fR is taken, because it is what happens anyway.");
}

void policy_reference_render(Text *text) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        text_append(text, ".SS Keys that are carried out\n");
        for (size_t i = 0; i < n; i++)
                if (keys[i].supported)
                        render_key(text, &keys[i]);
        text_append(text, ".SS Keys that are known, but not carried out by this version\n"
                          "A file that uses one of these is refused, except with the value that is "
                          "named here.\n");
        for (size_t i = 0; i < n; i++)
                if (!keys[i].supported)
                        render_later(text, &keys[i]);
}
