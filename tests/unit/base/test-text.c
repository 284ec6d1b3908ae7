/* The growing text keeps its memory and stays terminated. */

#include "../../support/test.h"

#include "tidbnumad/base/text.h"

TEST(appends) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "a");
        text_appendf(&text, "%d-%s", 12, "b");
        assert_string_equal(text.data, "a12-b");
        assert_int_equal(text.length, 5);
        assert_int_equal(text.error, 0);
}

TEST(appends_bytes) {
        _cleanup_text_ Text text = { 0 };

        text_append_bytes(&text, "abc", 2);
        text_append_bytes(&text, "x\0y", 3);
        text_append_bytes(&text, NULL, 0);
        assert_int_equal(text.length, 5);
        assert_memory_equal(text.data, "abx\0y", 6); /* terminated */
}

TEST(reset_keeps_the_memory) {
        _cleanup_text_ Text text = { 0 };
        size_t allocated;

        for (int i = 0; i < 1000; i++)
                text_appendf(&text, "line %d\n", i);
        assert_int_equal(strlen(text.data), text.length);
        allocated = text.allocated;
        text_reset(&text);
        assert_string_equal(text.data, "");
        for (int i = 0; i < 1000; i++)
                text_appendf(&text, "line %d\n", i);
        assert_int_equal(text.allocated, allocated);
}
