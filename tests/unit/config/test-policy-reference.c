/* The manual page says of each key what the table of keys says.
 *
 * `test-policy-reference --render` prints what belongs between the two marks of the page. */
#include <stdio.h>
#include <string.h>

#include "../../support/test.h"

#include "../../support/page-section.h"
#include "tidbnumad/config/policy-reference.h"

static const char *path;

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
