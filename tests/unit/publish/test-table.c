/* Columns, broken lines, and names that must not talk to the terminal. */

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
        check(&table, 13 + 33,
              "NAME  NODES  WHY\na     1      one two three four five six seven\n");
        check(&table, 12 + 33,
              "NAME  NODES  WHY\n"
              "a     1      one two three four five six\n"
              "             seven\n");
}

/* Where not even the words have room, the last column is below its row, and nothing else is. */
TEST(narrow) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "tidb-4000", "8-15,72-79", "contested now");
        add_row(&table, "b", "1", "");
        check(&table, 26,
              "NAME       NODES\n"
              "tidb-4000  8-15,72-79\n"
              "  contested now\n"
              "b          1\n");
        check(&table, 17,
              "NAME       NODES\n"
              "tidb-4000  8-15,\n"
              "           72-79\n"
              "  contested now\n"
              "b          1\n");
}

/* No line is longer than the terminal: where breaking between words is not enough, words are
 * broken, lists after a comma. */
TEST(long_words) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "a", "1",
                "a-word-that-is-longer-than-the-room and-another-one-of-the-kind x");
        check(&table, 33,
              "NAME  NODES  WHY\n"
              "a     1      a-word-that-is-\n"
              "             longer-than-the-room\n"
              "             and-another-one-of-\n"
              "             the-kind x\n");
        table_done(&table);
        table_init(&table, headings, 3);
        add_row(&table, "a", "1", "aWordThatIsLongerThanTheRoom x");
        check(&table, 33,
              "NAME  NODES  WHY\n"
              "a     1      aWordThatIsLongerTha\n"
              "             nTheRoom x\n");
}

/* A name is copied, a sentence is read. */
TEST(names_stay_whole_beside_a_sentence) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "readpool.unified.max-threads", "1", "see (raftstore.store-io-pool-size)");
        check(&table, 50,
              "NAME                          NODES  WHY\n"
              "readpool.unified.max-threads  1      see\n"
              "                                     (raftstore.\n"
              "                                     store-io-\n"
              "                                     pool-size)\n");
}

TEST(lists) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "tikv-20160", "0-7,16-23,32-39,48-55", "short");
        check(&table, 0,
              "NAME        NODES                  WHY\n"
              "tikv-20160  0-7,16-23,32-39,48-55  short\n");
        check(&table, 29,
              "NAME        NODES       WHY\n"
              "tikv-20160  0-7,16-23,  short\n"
              "            32-39,\n"
              "            48-55\n");
}

/* Every width, with names of letters that take three bytes and two columns. */
TEST(never_wider) {
        static const char *const many[] = { "INSTANCE",  "STATE",  "NODES", "CPUS",
                                            "ANONYMOUS", "REMOTE", "WHY" };
        _cleanup_table_ Table table;

        table_init(&table, many, ELEMENTSOF(many));
        add_row(&table, "a-very-long-name-of-a-unit@20160", "partly", "0,2-3");
        add_row(&table, "0-7,16-23,32-39,48-55", "1: 12.0 GiB, 2: 3.0 MiB, …", "6.2 %");
        table_add(&table,
                  "数据库数据库数据库 does not fit on its nodes and the others have no room");
        for (unsigned width = 80; width <= 200; width++) {
                _cleanup_text_ Text text = { 0 };

                table_render(&table, width, &text);
                for (const char *line = text.data; *line; line += strcspn(line, "\n") + 1) {
                        size_t columns = 0;

                        for (const char *c = line; *c != '\n';
                             c++) /* U+6570 and its like: two columns */
                                columns += ((unsigned char)*c & 0xc0) == 0x80
                                                   ? 0
                                                   : ((unsigned char)*c >= 0xe4 ? 2 : 1);
                        assert_true(columns <= width);
                }
        }
}

TEST(colors) {
        _cleanup_table_ Table table;

        table_init(&table, headings, 3);
        add_row(&table, "a", "bound", "ound");
        add_row(&table, "b", "refused", "bound");
        table.state_column = 1;
        check(&table, 0, "NAME  NODES    WHY\na     bound    ound\nb     refused  bound\n");
        table.colors = true;
        check(&table, 0,
              "NAME  NODES    WHY\n"
              "a     \x1b[32mbound  \x1b[0m  ound\n"
              "b     \x1b[31mrefused\x1b[0m  bound\n");
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
