/* Bytes of any origin come out as well-formed UTF-8. */
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/publish/utf8.h"

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
