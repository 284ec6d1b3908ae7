/* tidbnumad-metrics(7) says of each metric what the catalogue says.
 *
 * `test-metrics-reference --render` prints what belongs between the two marks of the page. */

#include "../../support/test.h"

#include "../../support/page-section.h"
#include "tidbnumad/publish/metrics.h"

#include "example.h"

static const char *path;

TEST(page_matches_catalogue) {
        page_section_check(path, "METRICS", metrics_render_reference);
}

/* "name{a=\"…\",b=\"…\"} 1": is each label's name documented for that metric, and no other? */
static void check_labels(const char *reference, const char *line) {
        char name[128], told[256], entry[160];
        const char *at, *label = strchr(line, '{');
        unsigned n_told = 0, n_seen = 0;

        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "{ "), line);
        (void)snprintf(entry, sizeof(entry), ".It Va %s\n", name);
        at = strstr(reference, entry);
        if (!at) /* of a histogram: its parts are not documented alone */
                return;
        at += strlen(entry);
        (void)snprintf(told, sizeof(told), "%.*s,", (int)strcspn(at, "\n"), at);
        for (const char *p = strchr(told, ';'); p; p = strchr(p + 1, ','))
                n_told += p[1] != '\0';
        while (label && *label != '}') { /* at the "{" or "," before a label */
                char word[64];

                label++;
                (void)snprintf(word, sizeof(word), " %.*s", (int)strcspn(label, "="), label);
                if (!strstr(told, word))
                        fail_msg("%s: the reference does not tell its label%s", name, word);
                n_seen++;
                label = strchr(strchr(label, '"') + 1, '"') + 1; /* no value here has one */
        }
        if (n_seen != n_told)
                fail_msg("%s has %u labels, and the reference tells %u", name, n_seen, n_told);
}

TEST(labels_are_those_rendered) {
        static Example example;
        _cleanup_text_ Text reference = { 0 }, text = { 0 };
        char *line, *rest = NULL;
        unsigned n = 0;

        example_init(&example);
        metrics_render_reference(&reference);
        assert_int_equal(metrics_render(&example.snapshot, &text), 0);
        for (line = strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
                if (*line != '#') {
                        check_labels(reference.data, line);
                        n++;
                }
        assert_true(n > 60);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return page_section_print(metrics_render_reference);
        path = argv[1];
        return test_run_all();
}
