/* The manual page says of each key what the table of keys says.
 *
 * `test-policy-reference --render` prints what belongs between the two marks of the page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tidbnumad/config/policy-reference.h"

#define BEGIN ".\\\" BEGIN KEY REFERENCE\n"
#define END ".\\\" END KEY REFERENCE\n"

static const char *path;

static void test_page_matches_table(void **state) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_text_ Text expected = { 0 };
        static char page[1 << 20];
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
        policy_reference_render(&expected);
        assert_int_equal(expected.error, 0);
        assert_string_equal(begin, expected.data);
}

static int render(void) {
        _cleanup_text_ Text text = { 0 };

        policy_reference_render(&text);
        return text.error < 0 || fputs(text.data, stdout) < 0;
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_page_matches_table) };

        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return render();
        path = argv[1];
        return cmocka_run_group_tests(tests, NULL, NULL);
}
