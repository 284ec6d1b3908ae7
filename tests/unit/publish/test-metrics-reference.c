/* tidbnumad-metrics(7) says of each metric what the catalogue says.
 *
 * `test-metrics-reference --render` prints what belongs between the two marks of the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tidbnumad/publish/metrics.h"

#include "example.h"

#define BEGIN ".\\\" BEGIN METRICS\n"
#define END ".\\\" END METRICS\n"

static const char *path;

static void test_page_matches_catalogue(void **state) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_text_ Text expected = { 0 };
        static char page[1 << 18];
        char *begin, *end;

        (void)state;
        assert_non_null(file);
        page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
        begin = strstr(page, BEGIN);
        assert_non_null(begin);
        begin += strlen(BEGIN);
        end = strstr(begin, END);
        assert_non_null(end);
        *end = '\0';
        metrics_render_reference(&expected);
        assert_int_equal(expected.error, 0);
        assert_string_equal(begin, expected.data);
}

/* "name{a=\"…\",b=\"…\"} 1": is each label's name told of that metric, and no other? */
static void check_labels(const char *reference, const char *line) {
        char name[128], told[256], entry[160];
        const char *at, *label = strchr(line, '{');
        unsigned n_told = 0, n_seen = 0;

        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, "{ "), line);
        (void)snprintf(entry, sizeof(entry), ".It Va %s\n", name);
        at = strstr(reference, entry);
        if (!at) /* of a histogram: its parts are not told alone */
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

static void test_labels_are_those_rendered(void **state) {
        static Example example;
        _cleanup_text_ Text reference = { 0 }, text = { 0 };
        char *line, *rest = NULL;
        unsigned n = 0;

        (void)state;
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

static int render(void) {
        _cleanup_text_ Text text = { 0 };

        metrics_render_reference(&text);
        return text.error < 0 || fputs(text.data, stdout) < 0;
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_page_matches_catalogue),
                cmocka_unit_test(test_labels_are_those_rendered),
        };

        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return render();
        path = argv[1];
        return cmocka_run_group_tests(tests, NULL, NULL);
}
