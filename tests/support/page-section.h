/* The part of a page that is made from a table: it lies between two lines that are comments of
 * mdoc(7), in a file *.md of HTML, and must be what the table gives. To be included after cmocka.h.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/text.h"

typedef void (*PageRender)(Text *text);

/* `what`: the words of the marks, as in `.\" BEGIN KEY REFERENCE`. */
static inline void page_section_check(const char *path, const char *what, PageRender render) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_text_ Text expected = { 0 };
        static char page[1 << 20];
        const size_t length = strlen(path);
        const bool markdown = length > 3 && strcmp(path + length - 3, ".md") == 0;
        char first[128], last[128], *begin, *end;

        assert_non_null(file);
        (void)snprintf(first, sizeof(first), markdown ? "<!-- BEGIN %s -->\n" : ".\\\" BEGIN %s\n",
                       what);
        (void)snprintf(last, sizeof(last), markdown ? "<!-- END %s -->\n" : ".\\\" END %s\n", what);
        page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
        begin = strstr(page, first);
        assert_non_null(begin);
        begin += strlen(first);
        end = strstr(begin, last);
        assert_non_null(end);
        *end = '\0';
        render(&expected);
        assert_int_equal(expected.error, 0);
        assert_string_equal(begin, expected.data);
}

/* Prints what belongs there. The exit status. */
static inline int page_section_print(PageRender render) {
        _cleanup_text_ Text text = { 0 };

        render(&text);
        return text.error < 0 || fputs(text.data, stdout) < 0;
}
