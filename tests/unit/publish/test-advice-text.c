/* Values, placeholders, wrapping, and names that hold anything. */

#include "../../support/test.h"
#include <yaml.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/advice.h"

#include "../../support/id-sets.h"
#include "advice-example.h"

static void assert_value(AdviceUnit unit, uint64_t value, const char *expected) {
        const Advice advice = { .unit = unit, .value = value };
        _cleanup_text_ Text text = { 0 };

        advice_text_append_value(&text, &advice);
        assert_string_equal(text.data, expected);
}

TEST(values) {
        assert_value(ADVICE_INTEGER, 0, "0");
        assert_value(ADVICE_INTEGER, UINT64_MAX, "18446744073709551615");
        assert_value(ADVICE_HUNDREDTHS, 7, "0.07");
        assert_value(ADVICE_HUNDREDTHS, 140, "1.40");
        assert_value(ADVICE_BYTES, UINT64_C(8) << 30, "8GB");
        assert_value(ADVICE_BYTES, UINT64_C(1025) << 20, "1025MB");
        assert_value(ADVICE_BYTES, UINT64_C(1) << 20, "1MB");
        assert_value(ADVICE_BYTES_PER_SEC, UINT64_C(200) << 20, "200MB");
        assert_value(ADVICE_BYTES_PER_SEC, 300 * 1024, "300KB");
}

static void assert_reason(const AdviceExample *e, size_t subject, const char *template,
                          const char *expected) {
        const Advice advice = { .subject = subject,
                                .reason = template,
                                .note = "",
                                .effect = HOLDS_ONLINE,
                                .base_bytes = UINT64_C(2) << 30,
                                .cost_bytes = (UINT64_C(1592) << 20) + 12345 };
        _cleanup_text_ Text text = { 0 };

        advice_text_append_reason(&text, &e->report, &advice);
        assert_string_equal(text.data ? text.data : "", expected);
}

ADVICE_TEST(placeholders) {
        assert_reason(e, EXAMPLE_TIDB, "{cpus}!", "16 CPUs of node 1!");
        assert_reason(e, EXAMPLE_TIDB, "{cpu_part}",
                      "8 of the 16 CPUs of node 1, shared with tikv-20161");
        assert_reason(e, EXAMPLE_HAPROXY, "{cpu_part}", "16 CPUs of node 1");
        assert_reason(e, EXAMPLE_TIDB, "{memory_part}",
                      "its 16 GiB of the 32 GiB of node 1, shared with tikv-20161");
        assert_reason(e, EXAMPLE_HAPROXY, "{memory_part}", "the 32 GiB of node 1");
        e->subjects[EXAMPLE_TIKV].cpu_share = 16; /* CPUs of its own on a node that it shares */
        assert_reason(e, EXAMPLE_TIKV, "{cpu_part}", "16 CPUs of node 1");
        assert_reason(e, EXAMPLE_TIKV, "<{device}> <{device_sharers}>", "<nvme0n1> <pd-2379>");
        assert_reason(e, EXAMPLE_TIDB, "{gomaxprocs}", "GOMAXPROCS=64");
        assert_reason(e, EXAMPLE_TIDB, "{base}/{cost}", "2 GiB/1.5 GiB");
        assert_reason(e, EXAMPLE_TIDB, "<{device}>", "<>");
        assert_reason(e, EXAMPLE_TIDB, "", "");
        assert_reason(e, EXAMPLE_TIDB, "a {b} {cpu} {c", "a {b} {cpu} {c}");
}

ADVICE_TEST(words_by_number) {
        size_t three[] = { EXAMPLE_TIKV, EXAMPLE_PD, EXAMPLE_HAPROXY };

        e->subjects[EXAMPLE_TIDB].device_sharers = three;
        e->subjects[EXAMPLE_TIDB].n_device_sharers = 2;
        assert_reason(e, EXAMPLE_TIDB, "{device_sharers}", "tikv-20161 and pd-2379");
        e->subjects[EXAMPLE_TIDB].n_device_sharers = 3;
        assert_reason(e, EXAMPLE_TIDB, "{device_sharers}", "tikv-20161, pd-2379 and haproxy");
        e->subjects[EXAMPLE_PD].n_cpus = 1;
        e->subjects[EXAMPLE_PD].cpu_share = 1;
        e->subjects[EXAMPLE_PD].nodes = node_set("0-2,5");
        e->subjects[EXAMPLE_PD].memory_share_bytes = UINT64_C(200) << 20;
        e->subjects[EXAMPLE_PD].memory_bytes = UINT64_C(200) << 20;
        assert_reason(e, EXAMPLE_PD, "{cpu_part}", "1 CPU of nodes 0-2,5");
        assert_reason(e, EXAMPLE_PD, "{memory_part}", "the 200 MiB of nodes 0-2,5");
}

static void assert_whole(const AdviceExample *e, const Advice *advice, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        advice_text_append_reason(&text, &e->report, advice);
        assert_string_equal(text.data, expected);
}

/* What makes it hold is said of what runs. */
ADVICE_TEST(note_and_effect) {
        Advice advice = e->items[0];

        assert_whole(e, &advice,
                     "It has 8 of the 16 CPUs of node 1, shared with tikv-20161. Now "
                     "GOMAXPROCS=64. It takes effect after a restart.");
        advice.reason = "A.";
        advice.note = "";
        advice.effect = HOLDS_RELOAD;
        assert_whole(e, &advice, "A. It takes effect after a reload.");
        advice.effect = HOLDS_ONLINE;
        assert_whole(e, &advice, "A.");
        advice.effect = HOLDS_ALREADY;
        assert_whole(e, &advice, "A.");
        advice.effect = HOLDS_RESTART;
        advice.subject = EXAMPLE_TIKV;
        assert_whole(e, &advice, "A.");
}

static void assert_wrapped(const char *string, size_t width, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        advice_text_append_wrapped(&text, string, width, ">>");
        assert_string_equal(text.data ? text.data : "", expected);
}

TEST(wrapping) {
        assert_wrapped("", 10, "");
        assert_wrapped("aa bb", 5, "aa bb");
        assert_wrapped("aa bb", 4, "aa\n>>bb");
        assert_wrapped("aa bb cc", 5, "aa bb\n>>cc");
        assert_wrapped("aaaaaa bb", 3, "aaaaaa\n>>bb");
        assert_wrapped("a aaaaaa", 3, "a\n>>aaaaaa");
        assert_wrapped("aa bb cc", 0, "aa bb cc");
        assert_wrapped("  aa  bb ", 80, "aa bb");
        assert_wrapped("éé üü", 5, "éé üü"); /* columns, not bytes */
        assert_wrapped("éé üü", 4, "éé\n>>üü");
        assert_int_equal(advice_text_width("é€😀x"), 4);
}

static void assert_visible(const char *string, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        text_append_printable(&text, string);
        assert_string_equal(text.data ? text.data : "", expected);
}

TEST(visible) {
        assert_visible("tidb-4000", "tidb-4000");
        assert_visible("", "");
        assert_visible("a\nb\tc\x1b[31m\x7f", "a\\x0ab\\x09c\\x1b[31m\\x7f");
        assert_visible("a\\x2d.service", "a\\x2d.service"); /* systemd's own escapes stay */
        assert_visible("\xc2\x85\xc2\x9f\xc2\xa0", "\\xc2\\x85\\xc2\\x9f\xc2\xa0");
        assert_visible("\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
        assert_visible("\xe2\x80\xae\xe2\x81\xa6", "\\xe2\\x80\\xae\\xe2\\x81\\xa6");
        assert_visible("\xef\xbb\xbf\xef\xbf\xbe", "\\xef\\xbb\\xbf\\xef\\xbf\\xbe");
        assert_visible("\xf0\x9f\xbf\xbf", "\\xf0\\x9f\\xbf\\xbf"); /* U+1FFFF */
        assert_visible("\xff\x80", "\\xff\\x80");
        assert_visible("é€😀", "é€😀");
}

static void assert_quoted(const char *string, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        advice_text_append_quoted(&text, string);
        assert_string_equal(text.data, expected);
}

TEST(quoted) {
        assert_quoted("10.0.1.1", "\"10.0.1.1\"");
        assert_quoted("", "\"\"");
        assert_quoted("a\"b\\c\nd", "\"a\\\"b\\\\c\\u000ad\"");
        assert_quoted("é€😀", "\"\\u00e9\\u20ac\\U0001f600\"");
        assert_quoted("\xff", "\"\\ufffd\"");
}

/* libyaml gives back what went in. */
static void assert_yaml_is(const char *yaml, const char *expected) {
        yaml_parser_t parser;
        yaml_document_t document;
        yaml_node_t *root;

        assert_int_equal(yaml_parser_initialize(&parser), 1);
        yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, strlen(yaml));
        if (!yaml_parser_load(&parser, &document))
                fail_msg("%s: %s", yaml, parser.problem);
        root = yaml_document_get_root_node(&document);
        assert_non_null(root);
        assert_int_equal(root->type, YAML_SCALAR_NODE);
        assert_string_equal((const char *)root->data.scalar.value, expected);
        yaml_document_delete(&document);
        yaml_parser_delete(&parser);
}

TEST(quoted_is_read_back) {
        for (uint32_t c = 1; c < 0x800; c++) {
                const char string[] = { 'a', (char)(c < 0x80 ? c : 0xc0 | c >> 6),
                                        (char)(c < 0x80 ? 'b' : 0x80 | (c & 0x3f)), '\0' };
                _cleanup_text_ Text text = { 0 };

                advice_text_append_quoted(&text, string);
                assert_yaml_is(text.data, string);
        }
        assert_yaml_is("\"\\u2028\\ufffe\\U0010ffff\"", "\xe2\x80\xa8\xef\xbf\xbe\xf4\x8f\xbf\xbf");
}
