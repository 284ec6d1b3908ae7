/* Lists of messages: their forms, their parts, and how many there may be. */
#include "../../support/test.h"

#include "tidbnumad/base/diagnostics.h"

static const SourceFile file = { .path = (char *)"etc/a.yaml",
                                 .text = (char *)"a: b\nc: d\n",
                                 .size = 10 };

TEST(forms) {
        _cleanup_diagnostics_ Diagnostics d = { 0 };

        diagnostics_addf(&d, "no %s", "place");
        errno = ENOENT;
        diagnostics_add_path(&d, "etc", "cannot be read: %m");
        diagnostics_add_at(&d, &file, (SourceSpan){ 2, 4, 1 }, "is `%c`", 'd');
        assert_int_equal(d.n_messages, 3);
        assert_string_equal(d.messages[0], "no place");
        assert_string_equal(d.messages[1], "etc: cannot be read: No such file or directory");
        assert_string_equal(d.messages[2], "etc/a.yaml:2:4: is `d`");
        assert_string_equal(diagnostics_what(&d, 0), "no place");
        assert_string_equal(diagnostics_what(&d, 1), "cannot be read: No such file or directory");
        assert_string_equal(diagnostics_what(&d, 2), "is `d`");
        assert_null(d.details[0].path);
        assert_string_equal(d.details[1].path, "etc");
        assert_int_equal(d.details[1].line, 0);
        assert_string_equal(d.details[2].path, "etc/a.yaml");
        assert_int_equal(d.details[2].line, 2);
        assert_int_equal(d.details[2].column, 4);
        assert_string_equal(d.details[2].excerpt, "c: d\n   ^");
}

TEST(render) {
        _cleanup_diagnostics_ Diagnostics d = { 0 };
        _cleanup_text_ Text text = { 0 };

        diagnostics_add_path(&d, "etc", "no folder");
        diagnostics_add_at(&d, &file, (SourceSpan){ 1, 1, 4 }, "wrong");
        for (size_t i = 0; i < d.n_messages; i++)
                diagnostics_render(&d, i, &text);
        assert_string_equal(text.data, "etc: no folder\n"
                                       "etc/a.yaml:1:1: wrong\n"
                                       "    a: b\n"
                                       "    ^~~~\n");
}

/* What an alias repeats is reported once; the same words of another place are another message. */
TEST(same_again) {
        _cleanup_diagnostics_ Diagnostics d = { 0 };

        diagnostics_add_at(&d, &file, (SourceSpan){ 1, 1, 1 }, "wrong");
        diagnostics_add_at(&d, &file, (SourceSpan){ 1, 1, 1 }, "wrong");
        diagnostics_add_at(&d, &file, (SourceSpan){ 1, 2, 1 }, "wrong");
        diagnostics_add_at(&d, &file, (SourceSpan){ 1, 1, 1 }, "odd");
        assert_int_equal(d.n_messages, 3);
        assert_int_equal(d.n_added, 4);
}

TEST(bound) {
        _cleanup_diagnostics_ Diagnostics d = { 0 };

        for (unsigned i = 0; i < DIAGNOSTICS_MAX + 5; i++)
                diagnostics_addf(&d, "wrong %u", i);
        assert_int_equal(d.n_messages, DIAGNOSTICS_MAX + 1);
        assert_string_equal(d.messages[DIAGNOSTICS_MAX - 1], "wrong 999");
        assert_string_equal(d.messages[DIAGNOSTICS_MAX],
                            "more errors follow; correct the ones above first");
        assert_int_equal(d.n_added, DIAGNOSTICS_MAX + 5);
        assert_int_equal(d.error, 0);
}

TEST(bound_of_excerpts) {
        _cleanup_diagnostics_ Diagnostics d = { 0 };

        for (unsigned i = 0; i <= DIAGNOSTICS_EXCERPTS_MAX; i++)
                diagnostics_add_at(&d, &file, (SourceSpan){ 1, 1, 1 }, "wrong %u", i);
        assert_non_null(d.details[DIAGNOSTICS_EXCERPTS_MAX - 1].excerpt);
        assert_null(d.details[DIAGNOSTICS_EXCERPTS_MAX].excerpt);
        assert_string_equal(d.messages[DIAGNOSTICS_EXCERPTS_MAX], "etc/a.yaml:1:1: wrong 100");
}

/* --- what is shown of a line, and where the caret is --- */

static void assert_excerpt(const char *source, SourceSpan at, const char *expected) {
        _cleanup_source_file_list_ SourceFileList files = { 0 };
        _cleanup_diagnostics_ Diagnostics d = { 0 };

        assert_int_equal(source_file_list_add(&files, "a", source, strlen(source)), 0);
        diagnostics_add_at(&d, &files.files[0], at, "wrong");
        assert_string_equal(d.details[0].excerpt ? d.details[0].excerpt : "", expected);
}

TEST(lines) {
        assert_excerpt("one\ntwo: 2\nthree", (SourceSpan){ 2, 1, 3 }, "two: 2\n^~~");
        assert_excerpt("one\ntwo: 2\nthree", (SourceSpan){ 1, 2, 1 }, "one\n ^");
        assert_excerpt("one\ntwo: 2\nthree", (SourceSpan){ 3, 5, 0 }, "three\n    ^");
        assert_excerpt("one\r\ntwo\rthree\n", (SourceSpan){ 2, 3, 1 }, "two\n  ^");
        assert_excerpt("one\r\ntwo\rthree\n", (SourceSpan){ 3, 1, 5 }, "three\n^~~~~");
        /* The other breaks of YAML 1.1, so that line numbers mean the same here and there. */
        assert_excerpt("a\xc2\x85"
                       "b\xe2\x80\xa8"
                       "c\xe2\x80\xa9"
                       "d",
                       (SourceSpan){ 4, 1, 1 }, "d\n^");
        assert_excerpt("\xe2\x80", (SourceSpan){ 1, 1, 1 }, "?\n^");
}

/* The end of a line, of a file, and what is in neither. */
TEST(ends) {
        assert_excerpt("one\n", (SourceSpan){ 1, 4, 9 }, "one\n   ^");
        /* The end of a text, with and without a last newline. */
        assert_excerpt("one\n", (SourceSpan){ 2, 1, 1 }, "one\n   ^");
        assert_excerpt("one", (SourceSpan){ 2, 1, 1 }, "one\n   ^");
        assert_excerpt("one\n\ntwo", (SourceSpan){ 2, 1, 1 }, "\n^");
        assert_excerpt("one", (SourceSpan){ 2, 2, 1 }, "");
        assert_excerpt("", (SourceSpan){ 1, 1, 1 }, "\n^");
        assert_excerpt("one\n", (SourceSpan){ 1, 5, 1 }, "");
        assert_excerpt("one\n", (SourceSpan){ 3, 1, 1 }, "");
        assert_excerpt("one\n", (SourceSpan){ 0, 1, 1 }, "");
        assert_excerpt("one\n", (SourceSpan){ 1, 0, 1 }, "");
        /* What spans lines is marked to the end of its first. */
        assert_excerpt("a: [1,\n2]", (SourceSpan){ 1, 4, 99 }, "a: [1,\n   ^~~");
}

TEST(printable) {
        assert_excerpt("\tx:\ty", (SourceSpan){ 1, 5, 1 }, "\tx:\ty\n\t  \t^");
        assert_excerpt("\x1b[2J \x7f", (SourceSpan){ 1, 6, 1 }, "?[2J ?\n     ^");
        /* One mark for each character, however many bytes it has. */
        assert_excerpt("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80: x", (SourceSpan){ 1, 6, 1 },
                       "???: x\n     ^");
        assert_excerpt("\xff\xfe: x", (SourceSpan){ 1, 1, 2 }, "??: x\n^~");
}

static void fill(char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                text[i] = (char)('a' + i % 26);
        text[n] = '\0';
}

TEST(long_lines) {
        char line[301], expected[800];

        fill(line, 100);
        (void)snprintf(expected, sizeof(expected), "%s\n%99s^", line, "");
        assert_excerpt(line, (SourceSpan){ 1, 100, 5 }, expected);

        fill(line, 300);
        (void)snprintf(expected, sizeof(expected), "%.100s...\n%59s^~~", line, "");
        assert_excerpt(line, (SourceSpan){ 1, 60, 3 }, expected);
        (void)snprintf(expected, sizeof(expected), "...%.100s...\n%63s^~~", line + 40, "");
        assert_excerpt(line, (SourceSpan){ 1, 101, 3 }, expected);
        /* Nothing is marked that is not shown. */
        (void)snprintf(expected, sizeof(expected),
                       "...%.100s...\n%63s^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~", line + 40, "");
        assert_excerpt(line, (SourceSpan){ 1, 101, 150 }, expected);
        (void)snprintf(expected, sizeof(expected), "...%s\n%63s^", line + 239, "");
        assert_excerpt(line, (SourceSpan){ 1, 300, 3 }, expected);
}

/* --- Edits of a text file: places, order, and what the file does not have --- */

#define FILE_TEXT "a: 1 # one\r\n\xc3\xa9: \"2\"\nlast"

static int edit_file(const char *content, const SourceSpan *places, const char *const *texts,
                     size_t n, Text *ret) {
        _cleanup_source_edit_list_ SourceEditList edits = { 0 };
        _cleanup_source_file_list_ SourceFileList files = { 0 };

        assert_int_equal(source_file_list_add(&files, "f", content, strlen(content)), 0);
        for (size_t i = 0; i < n; i++) {
                _cleanup_text_ Text text = { 0 };

                text_append(&text, texts[i]);
                assert_int_equal(source_edit_add(&edits, places[i], &text), 0);
        }
        return source_edit_apply(&files.files[0], &edits, ret);
}

static int edit(const SourceSpan *places, const char *const *texts, size_t n, Text *ret) {
        return edit_file(FILE_TEXT, places, texts, n, ret);
}

TEST(lines_that_are_added_end_as_the_others) {
        const SourceSpan places[] = { { 1, SOURCE_EDIT_LINE_END, 0 }, { 2, 1, 0 } };
        const char *const texts[] = { "\n  b: 2", "c\n" };
        static const struct {
                const char *content, *expected;
        } rows[] = { { "a\r\nd\r\n", "a\r\n  b: 2\r\nc\r\nd\r\n" },
                     { "a\r\nd", "a\r\n  b: 2\r\nc\r\nd" },
                     { "a\r\nd\n", "a\n  b: 2\r\nc\nd\n" },
                     { "a\nd\r\n", "a\n  b: 2\nc\nd\r\n" } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_text_ Text text = { 0 };

                assert_int_equal(edit_file(rows[i].content, places, texts, 2, &text), 0);
                assert_string_equal(text.data, rows[i].expected);
        }
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
