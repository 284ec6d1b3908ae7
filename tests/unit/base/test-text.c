/* The growing text keeps its memory and stays terminated. */
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
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

TEST(words_of_a_list) {
        assert_true(text_has_word("rw,cpuset,noprefix", ',', '\0', "cpuset"));
        assert_true(text_has_word("rw", ',', '\0', "rw"));
        assert_true(text_has_word("cpu  io", ' ', '\0', "io"));
        assert_true(text_has_word("cpu,cpuacct:/a", ',', ':', "cpuacct"));
        assert_true(text_has_word(":/", ',', ':', "")); /* the one word of an empty list */
        assert_false(text_has_word("cpu:,cpuset", ',', ':', "cpuset"));
        assert_false(text_has_word("cpuset,cpu_", ',', '\0', "cpu"));
        assert_false(text_has_word("", ',', '\0', "cpu"));
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

/* --- Bytes of any origin come out as well-formed UTF-8 --- */

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

TEST(names_in_a_sentence_are_escaped) {
        _cleanup_text_ Text text = { 0 };

        text_append_names(&text, "%s: of %s.\n", "a\nb", "c");
        text_append_names(&text, "none\n");
        assert_string_equal(text.data, "a\\x0ab: of c.\nnone\n");
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
        check_visible("\xef\xbf\xbe\xf0\x9f\xbf\xbf",
                      "\\xef\\xbf\\xbe\\xf0\\x9f\\xbf\\xbf");      /* U+FFFE, U+1FFFF */
        check_visible("\xf3\xa0\x81\xa1", "\\xf3\\xa0\\x81\\xa1"); /* a tag */
        check_visible("\xc0\x9b\xe2\x80", "\\xc0\\x9b\\xe2\\x80"); /* no UTF-8 */
}

TEST(what_is_kept) {
        _cleanup_text_ Text text = { 0 };

        utf8_append_visible(&text, "a\n\tb\x1b\0c", 7, "\n");
        assert_string_equal(text.data, "a\n\\x09b\\x1b\\x00c");
}

/* --- Numbers, sizes and times as people type them into a policy --- */

TEST(u64) {
        uint64_t v = 7;

        assert_int_equal(parse_u64("0", &v), 0);
        assert_int_equal(v, 0);
        assert_int_equal(parse_u64("18446744073709551615", &v), 0);
        assert_true(v == UINT64_MAX);
        v = 7;
        assert_int_equal(parse_u64("18446744073709551616", &v), -ERANGE);
        assert_int_equal(parse_u64("", &v), -EINVAL);
        assert_int_equal(parse_u64(" 1", &v), -EINVAL);
        assert_int_equal(parse_u64("-1", &v), -EINVAL);
        assert_int_equal(parse_u64("+1", &v), -EINVAL);
        assert_int_equal(parse_u64("1 ", &v), -EINVAL);
        assert_int_equal(v, 7);
}

TEST(size) {
        uint64_t v = 7;

        assert_int_equal(parse_size("256MiB", &v), 0);
        assert_int_equal(v, 256 << 20);
        assert_int_equal(parse_size("1.5KiB", &v), 0);
        assert_int_equal(v, 1536);
        assert_int_equal(parse_size("2kB", &v), 0);
        assert_int_equal(v, 2000);
        v = 7;
        assert_int_equal(parse_size("256", &v), -EINVAL); /* a unit is required */
        assert_int_equal(parse_size("256M", &v), -EINVAL);
        assert_int_equal(parse_size("1.MiB", &v), -EINVAL);
        assert_int_equal(parse_size("MiB", &v), -EINVAL);
        assert_int_equal(parse_size("99999999999999999999B", &v), -ERANGE);
        assert_int_equal(parse_size("20000000TiB", &v), -ERANGE);
        assert_int_equal(v, 7);
}

TEST(duration) {
        uint64_t v;

        assert_int_equal(parse_duration("10s", &v), 0);
        assert_int_equal(v, 10000000);
        assert_int_equal(parse_duration("1.5min", &v), 0);
        assert_int_equal(v, 90000000);
        assert_int_equal(parse_duration("250ms", &v), 0);
        assert_int_equal(v, 250000);
        assert_int_equal(parse_duration("10", &v), -EINVAL);
        assert_int_equal(parse_duration("10 s", &v), -EINVAL);
}

TEST(percent) {
        uint64_t v;

        assert_int_equal(parse_percent("1%", &v), 0);
        assert_int_equal(v, 10000);
        assert_int_equal(parse_percent("0.05%", &v), 0);
        assert_int_equal(v, 500);
        assert_int_equal(parse_percent("1", &v), -EINVAL);
        assert_int_equal(parse_percent("1 %", &v), -EINVAL);
        assert_int_equal(parse_percent("99999999999999999999%", &v), -ERANGE);
}

/* --- Which word a misspelled one is taken for --- */

TEST(nearest) {
        static const struct {
                const char *word, *known[4]; /* words that are known, */
                int nearest;                 /* and which of them is suggested; -1: none */
        } cases[] = {
                { "memry", { "exe", "unit", "memory" }, 2 },   /* insert */
                { "memoryy", { "exe", "unit", "memory" }, 2 }, /* delete */
                { "memary", { "exe", "unit", "memory" }, 2 },  /* replace */
                { "memroy", { "exe", "unit", "memory" }, 2 },  /* swap */
                { "memory", { "memery", "memory" }, 1 },
                { "usr", { "exe", "unit", "user" }, 2 },
                { "exec", { "exe", "exef" }, 0 }, /* the first among equals */
                { "ext", { "exe" }, 0 },
                { "mmr", { "exe", "unit", "user", "memory" }, -1 },
                { "kitten", { "sitting" }, -1 },
                { "xer", { "exe" }, -1 }, /* two edits of three letters */
                { "x", { NULL }, -1 },
                { "", { "abc" }, -1 },
                /* A long word that begins right may have one letter more that is wrong. */
                { "policy", { "policies" }, 0 },
                { "colicy", { "policies" }, -1 },
                { "memo", { "memories" }, -1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                Suggestion s = { .word = cases[i].word };

                for (size_t k = 0; k < ELEMENTSOF(cases[i].known) && cases[i].known[k]; k++)
                        suggest(&s, cases[i].known[k]);
                assert_ptr_equal(s.nearest,
                                 cases[i].nearest < 0 ? NULL : cases[i].known[cases[i].nearest]);
        }
}

TEST(long_words) {
        char word[SUGGEST_WORD_MAX + 2];
        Suggestion s = { .word = word };

        memset(word, 'a', sizeof(word));
        word[SUGGEST_WORD_MAX + 1] = '\0';
        suggest(&s, word);
        assert_null(s.nearest);
        word[SUGGEST_WORD_MAX] = '\0';
        suggest(&s, word);
        assert_ptr_equal(s.nearest, word);
}

/* --- What is masked in a command line, and what is not --- */

/* Arguments are separated by "|" here. */
static void assert_masked(const char *arguments, const char *expected) {
        _cleanup_text_ Text text = { 0 };
        char bytes[256];
        size_t n = strlen(arguments) + 1;

        memcpy(bytes, arguments, n);
        for (size_t i = 0; i < n; i++)
                bytes[i] = (char)(bytes[i] == '|' ? '\0' : bytes[i]);
        mask_arguments(&text, bytes, n);
        assert_int_equal(text.error, 0);
        for (size_t i = 0; i + 1 < text.length; i++)
                text.data[i] = (char)(text.data[i] == '\0' ? '|' : text.data[i]);
        assert_string_equal(text.data, expected);
}

TEST(what_is_no_secret) {
        assert_masked("tikv-server|--data-dir|/d|--addr=0.0.0.0:20160",
                      "tikv-server|--data-dir|/d|--addr=0.0.0.0:20160");
        assert_masked("a||b", "a||b");
        assert_masked("--pd=http://10.0.0.1:2379,http://h:1/p@x",
                      "--pd=http://10.0.0.1:2379,http://h:1/p@x");
}

TEST(by_name) {
        assert_masked("mysqld|--password=abc|-x", "mysqld|--password=***|-x");
        assert_masked("a|--ROOT-PASSWORD|abc|--next|b", "a|--ROOT-PASSWORD|***|--next|b");
        assert_masked("a|--security.auth-token:abc", "a|--security.auth-token:***");
        assert_masked("a|SECRET_KEY=abc=def|c", "a|SECRET_KEY=***|c");
        assert_masked("a|-Djavax.net.ssl.trustStorePassword=x",
                      "a|-Djavax.net.ssl.trustStorePassword=***");
        assert_masked("a|--s3.access-key|x|--s3.secret-access-key|y",
                      "a|--s3.access-key|***|--s3.secret-access-key|***");
        assert_masked("a|--token", "a|--token");
        assert_masked("password|a", "password|a"); /* a word, and no option */
}

TEST(in_urls) {
        assert_masked("a|--dsn=mysql://root:pw@h:4000/db", "a|--dsn=mysql://***@h:4000/db");
        assert_masked("https://u:p@q@host/x@y", "https://***@host/x@y");
}

TEST(every_word) {
        static const char *const names[] = { "Passwd",     "passphrase",  "SECRET",
                                             "token",      "apikey",      "api-key",
                                             "api_key",    "access-key",  "access_key",
                                             "accesskey",  "private-key", "private_key",
                                             "credentials" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                assert_masked(fmt("--x%sy=1", names[i]), fmt("--x%sy=***", names[i]));
        }
}
