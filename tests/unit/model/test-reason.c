/* Every reason has a distinct word that fits a metric's label, and the manual page lists the same.
 *
 * `test-reason --render` prints the text between the two marks of the page. */
#include <ctype.h>

#include "../../support/test.h"

#include "../../support/page-section.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/model/reason.h"

static const char *path;

static void assert_word(const char *word) {
        assert_true(islower((unsigned char)word[0]));
        for (const char *c = word; *c; c++)
                assert_true(islower((unsigned char)*c) || *c == '-');
}

/* Without a full stop: it goes into a sentence. */
static void assert_part(const char *part) {
        assert_true(strlen(part) > 6);
        assert_true(part[strlen(part) - 1] != '.');
        assert_null(strchr(part, '\n'));
}

TEST(words) {
        assert_string_equal(reason_to_string(REASON_NONE), "");
        assert_string_equal(reason_to_sentence(REASON_NONE), "");
        for (Reason r = REASON_NONE + 1; r < N_REASONS; r++) {
                assert_word(reason_to_string(r));
                assert_part(reason_to_sentence(r));
                assert_part(reason_to_remedy(r));
                for (Reason other = REASON_NONE; other < r; other++)
                        assert_string_not_equal(reason_to_string(r), reason_to_string(other));
        }
}

static void assert_error(int error, const char *word) {
        assert_string_equal(reason_to_string(reason_of_error(-error)), word);
}

TEST(errors) {
        assert_error(EPERM, "permission");
        assert_error(EACCES, "permission");
        assert_error(EROFS, "permission");
        assert_error(ERFKILL, "unit-masked");
        assert_error(ENOENT, "unit-gone");
        assert_error(ENOEXEC, "unit-gone");
        assert_error(ENODEV, "node-offline");
        assert_error(ENOSPC, "node-offline");
        assert_error(EINVAL, "slice-too-tight");
        assert_error(ENOTCONN, "bus-gone");
        assert_error(ECONNREFUSED, "bus-gone");
        assert_error(ECONNRESET, "bus-gone");
        assert_error(EPIPE, "bus-gone");
        assert_error(EHOSTUNREACH, "bus-gone");
        assert_error(ESHUTDOWN, "bus-gone");
        assert_error(ETIMEDOUT, "no-answer");
        assert_error(ENOMEM, "no-memory");
        assert_error(EOPNOTSUPP, "controller-missing");
        assert_error(EIO, "other");
        assert_error(0, "other");
        assert_error(-EPERM, "other"); /* positive: not an error */
}

static void render_sentence(Text *text, const char *part) {
        text_appendf(text, "%c%s.\n", toupper((unsigned char)part[0]), part + 1);
}

/* No part begins with a dot or a quote, which mdoc(7) would read as a macro. */
static void render_page(Text *text) {
        for (Reason r = REASON_NONE + 1; r < N_REASONS; r++) {
                text_appendf(text, ".It Cm %s\n", reason_to_string(r));
                render_sentence(text, reason_to_sentence(r));
                render_sentence(text, reason_to_remedy(r));
        }
}

TEST(page_matches_table) {
        page_section_check(path, "REASONS", render_page);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        if (strcmp(argv[1], "--render") == 0)
                return page_section_print(render_page);
        path = argv[1];
        return test_run_all();
}
