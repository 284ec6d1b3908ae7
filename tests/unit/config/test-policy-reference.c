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

#include "../../support/page-section.h"
#include "tidbnumad/config/policy-reference.h"

static const char *path;

static void test_page_matches_table(void **state) {
        (void)state;
        page_section_check(path, "KEY REFERENCE", policy_reference_render);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_page_matches_table) };

        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return page_section_print(policy_reference_render);
        path = argv[1];
        return cmocka_run_group_tests(tests, NULL, NULL);
}
