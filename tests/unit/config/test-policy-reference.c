/* The manual page says of each key what the table of keys says.
 *
 * `test-policy-reference --render` prints what belongs between the two marks of the page. */

#include "../../support/test.h"

#include "../../support/page-section.h"
#include "tidbnumad/config/policy-table.h"

static const char *path;

/* Escapes text for troff: a minus that can be copied, and no escape sequences. */
static void append_plain(Text *text, const char *plain) {
        for (; *plain; plain++)
                if (*plain == '-')
                        text_append(text, "\\-");
                else if (*plain == '\\')
                        text_append(text, "\\e");
                else
                        text_appendf(text, "%c", *plain);
}

/* troff reads a line that begins with a dot or a quote as a request. */
static void append_line(Text *text, const char *before, const char *plain, const char *after) {
        if (*before == '\0' && strchr(".'", *plain))
                text_append(text, "\\&");
        text_append(text, before);
        append_plain(text, plain);
        text_appendf(text, "%s\n", after);
}

/* The units of a number; NULL: none. */
static const char *units_of(const PolicyKey *key) {
        switch (key->type) {
        case POLICY_KEY_RATE:
                return "B/s, KiB/s, MiB/s, GiB/s, TiB/s (powers of 1024), kB/s, MB/s, GB/s, TB/s "
                       "(of 1000)";
        case POLICY_KEY_LIMIT:
                return "B, KiB, MiB, GiB, TiB (powers of 1024), kB, MB, GB, TB (of 1000)";
        case POLICY_KEY_DURATION:
                return "us, ms, s, min, h";
        case POLICY_KEY_PERCENT:
                return "%";
        default:
                return NULL;
        }
}

/* When a change takes effect; NULL for RELOAD_NONE. */
static const char *reload_to_string(PolicyReload reload) {
        static const char *const texts[N_RELOADS] = {
                [RELOAD_JUDGE] = "at once: all processes are matched again",
                [RELOAD_BIND] = "at once, for every instance",
                [RELOAD_PLACE] =
                        "at once if an instance no longer fits, else at its next placement",
                [RELOAD_MOVE] = "at the next move of memory",
                [RELOAD_HOST] = "at once, for the host",
                [RELOAD_TIMER] = "after the present interval",
                [RELOAD_STOP] = "when the daemon next stops",
        };

        return texts[reload];
}

static void render_key(Text *text, const PolicyKey *key) {
        const char *reload = reload_to_string(key->reload);
        const char *units = units_of(key);
        char allowed[POLICY_KEY_ALLOWED_MAX];

        text_append(text, ".TP\n");
        append_line(text, ".B ", key->path, "");
        append_line(text, "", key->help, "");
        text_append(text, ".br\n");
        append_line(text, "Value: ", policy_key_allowed(key, allowed), ".");
        if (units)
                append_line(text, "Units: ", units, ".");
        if (key->default_text)
                append_line(text, "Default: \\fB", key->default_text, "\\fR.");
        if (key->need == POLICY_KEY_REQUIRED)
                text_append(text, "Required.\n");
        if (reload) {
                text_append(text, ".br\n");
                append_line(text, "A change takes effect ", reload, ".");
        }
}

static void policy_reference_render(Text *text) {
        const PolicyKey *keys;
        size_t n = policy_keys(&keys);

        for (size_t i = 0; i < n; i++) {
                if (policy_key_is_below(&keys[i], ""))
                        append_line(text, ".SS ", keys[i].path, "");
                render_key(text, &keys[i]);
        }
}

TEST(page_matches_table) {
        page_section_check(path, "KEY REFERENCE", policy_reference_render);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return page_section_print(policy_reference_render);
        path = argv[1];
        return test_run_all();
}
