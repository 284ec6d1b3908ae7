/* Columns, broken lines, and names that must not talk to the terminal. */
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/publish/table.h"

static const char *const headings[] = { "NAME", "NODES", "WHY" };

static void check(const Table *table, unsigned width, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        table_render(table, width, &text);
        assert_int_equal(text.error, 0);
        assert_string_equal(text.data ? text.data : "", expected);
}

static void add_row(Table *table, const char *a, const char *b, const char *c) {
        table_add(table, a);
        table_add(table, b);
        table_add(table, c);
}

TEST(columns) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        check(&table, 0, "");
        add_row(&table, "tidb-4000", "1", "one two");
        table_add(&table, "x");
        table_addf(&table, "%d-%d", 10, 4711);
        table_add(&table, "");
        add_row(&table, "a", "", "b");
        check(&table, 0,
              "NAME       NODES    WHY\n"
              "tidb-4000  1        one two\n"
              "x          10-4711\n"
              "a                   b\n");
}

/* The width is never exceeded while a blank lets it be, and nothing is lost. */
TEST(width) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "a", "1", "one two three four five six seven");
        check(&table, 34,
              "NAME  NODES  WHY\n"
              "a     1      one two three four\n"
              "             five six seven\n");
        check(&table, 33,
              "NAME  NODES  WHY\n"
              "a     1      one two three four\n"
              "             five six seven\n");
        check(&table, 32,
              "NAME  NODES  WHY\n"
              "a     1      one two three four five six seven\n");
        check(&table, 13 + 33,
              "NAME  NODES  WHY\na     1      one two three four five six seven\n");
        check(&table, 12 + 33,
              "NAME  NODES  WHY\n"
              "a     1      one two three four five six\n"
              "             seven\n");
}

TEST(long_words) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "a", "1",
                "a-word-that-is-longer-than-the-room and-another-one-of-the-kind x");
        check(&table, 33,
              "NAME  NODES  WHY\n"
              "a     1      a-word-that-is-longer-than-the-room\n"
              "             and-another-one-of-the-kind\n"
              "             x\n");
}

TEST(hostile) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "\x1b[31m", "a\nb",
                "\xc2\x9b"
                "1m\x7f\xff");
        add_row(&table, "m\xc3\xbcnch", "1", "\xc2\xa0");
        check(&table, 0,
              "NAME      NODES   WHY\n"
              "\\x1b[31m  a\\x0ab  \\xc2\\x9b1m\\x7f\\xff\n"
              "m\xc3\xbcnch     1       \xc2\xa0\n");
}
