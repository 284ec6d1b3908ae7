/* Lists of messages: their forms, their parts, and how many there may be. */
#include <errno.h>
#include <string.h>

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

/* What an alias repeats is told once; the same words of another place are another message. */
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
