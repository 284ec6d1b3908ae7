/* Edits of a text file: places, order, and what the file does not have. */

#include "../../support/test.h"

#include "tidbnumad/base/diagnostics.h"

#define FILE_TEXT "a: 1 # one\r\n\xc3\xa9: \"2\"\nlast"

static int edit(const SourceSpan *places, const char *const *texts, size_t n, Text *ret) {
        _cleanup_source_edit_list_ SourceEditList edits = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };

        assert_int_equal(source_file_list_add(&files, "f", FILE_TEXT, strlen(FILE_TEXT)), 0);
        for (size_t i = 0; i < n; i++) {
                _cleanup_text_ Text text = { 0 };

                text_append(&text, texts[i]);
                assert_int_equal(source_edit_add(&edits, places[i], &text), 0);
        }
        return source_edit_apply(&files.files[0], &edits, ret);
}

TEST(edits_are_applied_by_place_whatever_their_order) {
        const SourceSpan places[] = { { 3, 1, 4 },
                                      { 2, 4, 3 },
                                      { 1, SOURCE_EDIT_LINE_END, 0 },
                                      { 3, SOURCE_EDIT_LINE_END, 0 },
                                      { 1, 1, 0 } };
        const char *const texts[] = { "end", "3", "\n  b: 2", "\nmore", "x " };
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(edit(places, texts, ELEMENTSOF(places), &text), 0);
        /* Before the break of the line; columns count characters; the last line has no break. */
        assert_string_equal(text.data, "x a: 1 # one\n  b: 2\r\n\xc3\xa9: 3\nend\nmore");
}

TEST(edits_of_one_place_keep_their_order) {
        const SourceSpan places[] = { { 1, 1, 0 }, { 1, 1, 0 } };
        const char *const texts[] = { "1", "2" };
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(edit(places, texts, 2, &text), 0);
        assert_memory_equal(text.data, "12a", 3);
}

TEST(without_edits_the_file_is_the_same) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(edit(NULL, NULL, 0, &text), 0);
        assert_string_equal(text.data, FILE_TEXT);
}

TEST(a_place_that_is_not_there_is_refused) {
        const SourceSpan wrong[] = { { 4, 1, 0 }, { 0, 1, 0 }, { 3, 6, 0 }, { 1, 0, 0 } };
        const char *const texts[] = { "x" };

        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                _cleanup_text_ Text text = { 0 };

                assert_int_equal(edit(&wrong[i], texts, 1, &text), -EINVAL);
        }
}

TEST(edits_that_overlap_are_refused) {
        const SourceSpan places[] = { { 3, 1, 3 }, { 3, 2, 1 } };
        const char *const texts[] = { "x", "y" };
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(edit(places, texts, 2, &text), -EINVAL);
}
