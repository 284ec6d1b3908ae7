/* Bytes of any origin come out as well-formed UTF-8. */

#include "../../support/test.h"

#include "tidbnumad/base/text.h"

#define BAD "\xef\xbf\xbd"

static void check(const char *in, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        utf8_sanitize(&text, in, strlen(in));
        assert_int_equal(text.error, 0);
        assert_string_equal(text.data ? text.data : "", expected);
}

TEST(good_stays) {
        check("", "");
        check("/usr/bin/tikv-server", "/usr/bin/tikv-server");
        check("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7\x01\n",
              "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7\x01\n");
        check("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
              "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

TEST(bad_is_replaced_byte_by_byte) {
        check("a\xff", "a" BAD);
        check("\x80z", BAD "z");
        check("\xc0\xaf", BAD BAD);                 /* overlong "/" */
        check("\xe0\x80\xaf", BAD BAD BAD);         /* overlong "/" */
        check("\xed\xa0\x80", BAD BAD BAD);         /* a surrogate */
        check("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* above U+10FFFF */
        check("\xe2\x82", BAD BAD);                 /* cut off by the end */
        check("\xe2\x82(\xc3\xa9", BAD BAD "(\xc3\xa9");
}

TEST(never_reads_beyond_the_length) {
        _cleanup_text_ Text text = { 0 };

        utf8_sanitize(&text, "\xe2\x82\xac", 2);
        assert_string_equal(text.data, BAD BAD);
}

static void check_visible(const char *in, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        text_append_printable(&text, in);
        assert_int_equal(text.error, 0);
        assert_string_equal(text.data ? text.data : "", expected);
}

/* Nothing of a name drives a terminal, begins a line, or is shown where it is not. */
TEST(what_is_hidden_is_escaped) {
        check_visible("", "");
        check_visible("tikv-20160 \xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7",
                      "tikv-20160 \xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7");
        check_visible("system-a\\x2db.service", "system-a\\x2db.service");
        check_visible("a\x1b[2J\n\r\t\x07z\x7f", "a\\x1b[2J\\x0a\\x0d\\x09\\x07z\\x7f");
        check_visible("\xc2\x9b"
                      "31m",
                      "\\xc2\\x9b31m"); /* C1, as UTF-8 */
        check_visible("\x9b"
                      "31m\x85",
                      "\\x9b31m\\x85"); /* and as bytes */
        check_visible("\xe2\x80\xae"
                      "cod.exe",
                      "\\xe2\\x80\\xaecod.exe"); /* U+202E */
        check_visible("\xe2\x80\xaa\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f",
                      "\\xe2\\x80\\xaa\\xe2\\x81\\xa6\\xd8\\x9c\\xe2\\x80\\x8f");
        check_visible("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x8b\xef\xbb\xbf\xc2\xad",
                      "\\xe2\\x80\\xa8\\xe2\\x80\\xa9\\xe2\\x80\\x8b\\xef\\xbb\\xbf\\xc2\\xad");
        check_visible("\xf3\xa0\x81\xa1", "\\xf3\\xa0\\x81\\xa1"); /* a tag */
        check_visible("\xc0\x9b\xe2\x80", "\\xc0\\x9b\\xe2\\x80"); /* no UTF-8 */
}

TEST(what_is_kept) {
        _cleanup_text_ Text text = { 0 };

        utf8_append_visible(&text, "a\n\tb\x1b\0c", 7, "\n");
        assert_string_equal(text.data, "a\n\\x09b\\x1b\\x00c");
}
