/* What terminals and files get of a text. */

#include "../../support/test.h"

#include "tidbnumad/ctl/output.h"

static void check(const char *in, unsigned width, bool colors, bool utf8, const char *expected) {
        _cleanup_text_ Text text = { 0 }, fitting = { 0 };

        text_append(&text, in);
        output_fit(&text, width, colors, utf8, &fitting);
        assert_int_equal(fitting.error, 0);
        assert_string_equal(fitting.data ? fitting.data : "", expected);
}

TEST(lines_fit) {
        check("one two three four\n  five six seven\n", 10, false, true,
              "one two\n  three\n  four\n  five six\n    seven\n");
        check("one two three\n", 13, false, true, "one two three\n");
        check("a-word-that-is-too-long b\n", 10, false, true, "a-word-that-is-too-long\n  b\n");
        check("one two three four\n", 0, false, true, "one two three four\n");
        check("éééé éééé", 9, false, true, "éééé éééé");
        check("", 9, false, true, "");
}

TEST(colors_and_controls) {
        check("\x1b[32mbound\x1b[0m x", 7, true, true, "\x1b[32mbound\x1b[0m x");
        check("\x1b[32mbound\x1b[0m x", 7, false, true, "bound x");
        check("\x1b[2J\x1b]0;x\x07", 0, true, true, "\\x1b[2J\\x1b]0;x\\x07");
}

TEST(other_locales) {
        check("0,2,…,62 é", 0, false, false, "0,2,~,62 ?");
}
