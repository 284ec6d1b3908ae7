/* Sizing advice: its words, the table, JSON, and the fragment of a TiUP topology. That the fragment
 * merges is test-advice-merge's. */
#include <yaml.h>

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "../../support/json-check.h"
#include "advice-example.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/publish/advice.h"

/* --- values, placeholders, wrapping, and names that hold anything --- */

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

/* --- the table: columns, wrapping, and those without advice --- */

static void assert_table(const AdviceReport *report, unsigned width, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "what was there before");
        assert_int_equal(advice_render_table(report, width, &text), 0);
        assert_string_equal(text.data, expected);
}

ADVICE_TEST(whole_table) {
        assert_table(
                &e->report, 0,
                "SETTING                            VALUE    RULE  INSTANCES\n"
                "performance.max-procs              8        A1    tidb-4000\n"
                "tidb_server_memory_limit           13107MB  A2    tidb-4000\n"
                "GOGC                               200      A3    tidb-4000\n"
                "readpool.unified.max-thread-count  6        A4    tikv-20161\n"
                "gc.max-write-bytes-per-sec         300KB    A8    tikv-20161\n"
                "storage.block-cache.capacity       7GB      A9    tikv-20161\n"
                "nbthread                           16       A10   haproxy\n"
                "maxconn                            20000    A10   haproxy\n"
                "\n"
                "Why:\n"
                "  A1, tidb-4000: It has 8 of the 16 CPUs of node 1, shared with tikv-20161. Now\n"
                "    GOMAXPROCS=64. It takes effect after a restart.\n"
                "  A2, tidb-4000: 80 % of its 16 GiB of the 32 GiB of node 1, shared with "
                "tikv-20161.\n"
                "  A3, tidb-4000: 2.5 GiB beside 3 GiB. It takes effect after a restart.\n"
                "  A4, tikv-20161: 80 % of its CPUs.\n"
                "  A8, tikv-20161: nvme0n1 serves pd-2379.\n"
                "  A9, tikv-20161: 45 % of its 16 GiB of the 32 GiB of node 1, shared with "
                "tidb-4000.\n"
                "  A10, haproxy: It is bound to 16 CPUs of node 1.\n"
                "  A10, haproxy: They take 644 MiB.\n"
                "tidb-4001: no advice: no nodes are left\n"
                "app: no advice: it has no place\n");
}

/* Instances with one value share a row, and those with one reason its sentence. */
ADVICE_TEST(shared_rows) {
        e->items[1] = e->items[0];
        e->items[1].subject = EXAMPLE_TIKV;
        e->report.n_items = 2;
        e->report.n_subjects = 2;
        assert_table(&e->report, 80,
                     "SETTING                VALUE  RULE  INSTANCES\n"
                     "performance.max-procs  8      A1    tidb-4000, tikv-20161\n"
                     "\n"
                     "Why:\n"
                     "  A1, tidb-4000: It has 8 of the 16 CPUs of node 1, shared with tikv-20161.\n"
                     "    Now GOMAXPROCS=64. It takes effect after a restart.\n");
}

ADVICE_TEST(no_items) {
        e->report.n_items = 0;
        assert_table(&e->report, 40,
                     "No advice: no instance that has a place needs any.\n"
                     "tidb-4001: no advice: no nodes are left\n"
                     "app: no advice: it has no place\n");
        e->report.n_subjects = 0;
        assert_table(&e->report, 40, "No advice: no instance that has a place needs any.\n");
}

ADVICE_TEST(hostile_names) {
        _cleanup_text_ Text text = { 0 };

        e->subjects[EXAMPLE_TIDB].name = (char *)"a\nb\x1b[2J";
        e->subjects[EXAMPLE_NOWHERE].name = (char *)"c\rd";
        assert_int_equal(advice_render_table(&e->report, 0, &text), 0);
        assert_non_null(strstr(text.data, "A1    a\\x0ab\\x1b[2J"));
        assert_non_null(strstr(text.data, "shared with a\\x0ab\\x1b[2J."));
        assert_non_null(strstr(text.data, "\nc\\x0dd: no advice"));
        assert_null(strchr(text.data, '\x1b'));
}

/* Columns hold together where names have more bytes than columns. */
ADVICE_TEST(columns_count_characters) {
        e->subjects[EXAMPLE_TIDB].name = (char *)"тидб";
        e->subjects[EXAMPLE_TIDB].pid = 0;
        e->items[0].reason = "x";
        e->items[0].note = "";
        e->report.n_items = 1;
        e->report.n_subjects = 1;
        assert_table(&e->report, 0,
                     "SETTING                VALUE  RULE  INSTANCES\n"
                     "performance.max-procs  8      A1    тидб\n"
                     "\n"
                     "Why:\n"
                     "  A1, тидб: x\n");
}

/* --- the JSON, read back by the library that its readers use --- */

static json_t *render(const AdviceReport *report) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(advice_render_json(report, &text), 0);
        return json_read_back(text.data);
}

static const json_t *instance(const json_t *json, size_t index) {
        return json_array_get(json_object_get(json, "instances"), index);
}

ADVICE_TEST(instance) {
        json_t *json = render(&e->report);

        assert_int_equal(json_object_size(json), 1);
        assert_int_equal(json_array_size(json_object_get(json, "instances")), 6);
        assert_json(
                instance(json, EXAMPLE_TIDB),
                "{\"name\": \"tidb-4000\", \"product\": \"tidb-server\", \"ports\": [4000, 10080], "
                "\"unplaced\": \"\", \"inputs\": {\"nodes\": \"1\", \"cpus\": \"16-31\", "
                "\"memory_mode\": \"bind\", \"cpu_count\": 16, \"cpu_share\": 8, \"memory_bytes\": "
                "34359738368, \"memory_share_bytes\": 17179869184, \"shares_nodes_with\": "
                "[\"tikv-20161\"], \"device\": null, \"shares_device_with\": [], "
                "\"resident_bytes\": 3221225472, \"running\": true, \"gomaxprocs\": 64, \"card\": "
                "null}, \"advice\": [{\"rule\": \"A1\", \"setting\": \"performance.max-procs\", "
                "\"where\": \"config\", \"unit\": \"integer\", \"value\": 8, \"text\": \"8\", "
                "\"now\": null, \"takes_effect\": \"restart\", \"cost_bytes\": null, \"reason\": "
                "\"It has 8 of "
                "the 16 CPUs of node 1, shared with tikv-20161. Now GOMAXPROCS=64. It takes effect "
                "after a restart.\"},{\"rule\": \"A2\", \"setting\": \"tidb_server_memory_limit\", "
                "\"where\": \"sql\", \"unit\": \"bytes\", \"value\": 13743685632, \"text\": "
                "\"13107MB\", \"now\": null, \"takes_effect\": \"online\", \"cost_bytes\": null, "
                "\"reason\": \"80 "
                "% of its 16 GiB of the 32 GiB of node 1, shared with tikv-20161.\"},{\"rule\": "
                "\"A3\", \"setting\": \"GOGC\", \"where\": \"environment\", \"unit\": \"integer\", "
                "\"value\": 200, \"text\": \"200\", \"now\": null, \"takes_effect\": \"restart\", "
                "\"cost_bytes\": "
                "2684354560, \"reason\": \"2.5 GiB beside 3 GiB. It takes effect after a "
                "restart.\"}]}");
        json_decref(json);
}

ADVICE_TEST(others) {
        json_t *json;

        e->items[7].effect = HOLDS_ALREADY;
        json = render(&e->report);
        assert_json(json_object_get(json_object_get(instance(json, EXAMPLE_TIKV), "inputs"),
                                    "shares_device_with"),
                    "[\"pd-2379\"]");
        assert_json(json_array_get(json_object_get(instance(json, EXAMPLE_TIKV), "advice"), 1),
                    "{\"rule\": \"A8\", \"setting\": \"gc.max-write-bytes-per-sec\","
                    " \"where\": \"config\", \"unit\": \"bytes-per-second\", \"value\": 307200,"
                    " \"text\": \"300KB\", \"now\": null, \"takes_effect\": \"online\", "
                    "\"cost_bytes\": null,"
                    " \"reason\": \"nvme0n1 serves pd-2379.\"}");
        assert_json(json_array_get(json_object_get(instance(json, EXAMPLE_HAPROXY), "advice"), 1),
                    "{\"rule\": \"A10\", \"setting\": \"maxconn\", \"where\": \"haproxy-global\","
                    " \"unit\": \"integer\", \"value\": 20000, \"text\": \"20000\","
                    " \"now\": null, \"takes_effect\": \"already\", \"cost_bytes\": 675282944,"
                    " \"reason\": \"They take 644 MiB.\"}");
        assert_json(json_array_get(json_object_get(instance(json, EXAMPLE_HAPROXY), "advice"), 0),
                    "{\"rule\": \"A10\", \"setting\": \"nbthread\", \"where\": \"haproxy-global\", "
                    "\"unit\": \"integer\", \"value\": 16, \"text\": \"16\", \"now\": null, "
                    "\"takes_effect\": "
                    "\"reload\", \"cost_bytes\": null, \"reason\": \"It is bound to 16 CPUs of "
                    "node 1.\"}");
        assert_json(instance(json, EXAMPLE_NOWHERE),
                    "{\"name\": \"tidb-4001\", \"product\": \"tidb-server\", \"ports\": [], "
                    "\"unplaced\": \"no nodes are left\", \"inputs\": {\"nodes\": \"\", \"cpus\": "
                    "\"\", \"memory_mode\": \"bind\", \"cpu_count\": 0, \"cpu_share\": 0, "
                    "\"memory_bytes\": null, \"memory_share_bytes\": null, \"shares_nodes_with\": "
                    "[], \"device\": null, \"shares_device_with\": [], \"resident_bytes\": null, "
                    "\"running\": false, \"gomaxprocs\": null, \"card\": null}, \"advice\": []}");
        json_decref(json);
}

TEST(products_and_rules) {
        static const char *const rules[] = {
                "A1", "A2",  "A3",  "A4",  "A5",  "A6",  "A7",  "A8",
                "A9", "A10", "A11", "A12", "A13", "A14", "A15", "R12"
        };

        assert_int_equal(N_ADVICE_RULES, ELEMENTSOF(rules));
        for (unsigned i = 0; i < N_ADVICE_RULES; i++)
                assert_string_equal(advice_rule_to_id(i), rules[i]);
        assert_string_equal(product_to_string(PRODUCT_OTHER), "other");
        assert_string_equal(product_to_string(PRODUCT_JAVA), "java");
}

TEST(empty) {
        AdviceReport report = { 0 };
        json_t *json = render(&report);

        assert_json(json, "{\"instances\": []}");
        json_decref(json);
}

ADVICE_TEST(advice_json_hostile_names) {
        json_t *json;

        e->subjects[EXAMPLE_TIKV].name = (char *)"a\"\n\xff";
        e->subjects[EXAMPLE_TIKV].memory_bytes = UINT64_MAX;
        json = render(&e->report);
        assert_json(json_object_get(instance(json, EXAMPLE_TIKV), "name"),
                    "\"a\\\"\\n\xef\xbf\xbd\"");
        assert_json(json_object_get(json_object_get(instance(json, EXAMPLE_TIKV), "inputs"),
                                    "memory_bytes"),
                    "9223372036854775807");
        json_decref(json);
}

/* --- the TiUP fragment, read back by libyaml. That it merges into a topology is
 * test-advice-merge's --- */

typedef struct Fragment {
        Text text;
        yaml_document_t document;
        AdviceExample example;
} Fragment;

static void fragment_init(Fragment *fragment) {
        *fragment = (Fragment){ 0 };
        advice_example_init(&fragment->example);
}

static void fragment_done(Fragment *fragment) {
        text_done(&fragment->text);
        yaml_document_delete(&fragment->document);
}
#define _cleanup_fragment_ _cleanup_(fragment_done)
#define FRAGMENT_TEST(test) TEST_WITH(test, Fragment, f, fragment_init, fragment_done)

static void advice_tiup_render(Fragment *fragment, const char *host) {
        yaml_parser_t parser;

        text_append(&fragment->text, "what was there before");
        assert_int_equal(advice_render_tiup(&fragment->example.report, host, &fragment->text), 0);
        assert_int_equal(yaml_parser_initialize(&parser), 1);
        yaml_parser_set_input_string(&parser, (const unsigned char *)fragment->text.data,
                                     fragment->text.length);
        if (!yaml_parser_load(&parser, &fragment->document))
                fail_msg("line %zu: %s\n%s", parser.problem_mark.line + 1, parser.problem,
                         fragment->text.data);
        yaml_parser_delete(&parser);
        assert_non_null(yaml_document_get_root_node(&fragment->document));
}

static yaml_node_t *get(Fragment *fragment, const yaml_node_t *mapping, const char *key) {
        assert_int_equal(mapping->type, YAML_MAPPING_NODE);
        for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
             pair < mapping->data.mapping.pairs.top; pair++) {
                yaml_node_t *name = yaml_document_get_node(&fragment->document, pair->key);

                if (strcmp((const char *)name->data.scalar.value, key) == 0)
                        return yaml_document_get_node(&fragment->document, pair->value);
        }
        return NULL;
}

static size_t count(const yaml_node_t *node) {
        if (node->type == YAML_SEQUENCE_NODE)
                return (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
        return (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
}

/* The index-th entry of a section. */
static yaml_node_t *entry(Fragment *fragment, const char *section, size_t index) {
        yaml_node_t *list =
                get(fragment, yaml_document_get_root_node(&fragment->document), section);

        assert_non_null(list);
        assert_int_equal(list->type, YAML_SEQUENCE_NODE);
        assert_true(index < count(list));
        return yaml_document_get_node(&fragment->document, list->data.sequence.items.start[index]);
}

/* `quoted`: a string, and no number. */
static void assert_scalar(Fragment *fragment, const yaml_node_t *mapping, const char *key,
                          const char *expected, bool quoted) {
        yaml_node_t *node = get(fragment, mapping, key);

        if (!node)
                fail_msg("no %s in\n%s", key, fragment->text.data);
        assert_int_equal(node->type, YAML_SCALAR_NODE);
        assert_string_equal((const char *)node->data.scalar.value, expected);
        assert_int_equal(node->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE, quoted);
}

static void assert_comment(const Fragment *fragment, const char *comment) {
        if (!strstr(fragment->text.data, comment))
                fail_msg("no \"%s\" in\n%s", comment, fragment->text.data);
}

FRAGMENT_TEST(tidb) {
        yaml_node_t *tidb;

        advice_tiup_render(f, "10.0.1.1");
        assert_int_equal(count(yaml_document_get_root_node(&f->document)), 3);
        tidb = entry(f, "tidb_servers", 0);
        assert_int_equal(count(tidb), 5);
        assert_scalar(f, tidb, "host", "10.0.1.1", true);
        assert_scalar(f, tidb, "port", "4000", false);
        assert_scalar(f, tidb, "status_port", "10080", false);
        assert_scalar(f, tidb, "numa_node", "1", true);
        assert_int_equal(count(get(f, tidb, "config")), 1);
        assert_scalar(f, get(f, tidb, "config"), "performance.max-procs", "8", false);
        assert_comment(f, "\n    # tidb-4000\n");
        assert_comment(f, "\n      # A1: It has 8 of the 16 CPUs of node 1, shared with");
        assert_comment(
                f, "\n    # A3: 2.5 GiB beside 3 GiB. It takes effect after a restart.\n    #   by "
                   "`systemctl edit` of its unit, [Service]: Environment=GOGC=200\n");
}

/* The daemon binds: TiUP does not bind the same a second time. */
FRAGMENT_TEST(bound_by_the_daemon) {
        yaml_node_t *tidb;

        f->example.report.daemon_binds = true;
        advice_tiup_render(f, "10.0.1.1");
        tidb = entry(f, "tidb_servers", 0);
        assert_null(get(f, tidb, "numa_node"));
        assert_null(get(f, tidb, "numa_cores"));
        assert_comment(f, "# No numa_node and numa_cores: tidbnumad binds it");
        assert_scalar(f, get(f, tidb, "config"), "performance.max-procs", "8", false);
}

/* `memory_limit` of its policy: by TiUP where no daemon sets it. */
FRAGMENT_TEST(limited_by_tiup) {
        f->example.subjects[EXAMPLE_TIKV].asked_limit_bytes = UINT64_C(14) << 30;
        f->example.subjects[EXAMPLE_PD].asked_limit_bytes = UINT64_C(2) << 30;
        advice_tiup_render(f, "10.0.1.1");
        assert_scalar(f, get(f, entry(f, "tikv_servers", 0), "resource_control"), "memory_limit",
                      "14336M", true);
        assert_null(get(f, entry(f, "tidb_servers", 0), "resource_control"));
        assert_null(get(f, entry(f, "pd_servers", 0), "resource_control"));
}

FRAGMENT_TEST(limited_by_the_daemon) {
        f->example.subjects[EXAMPLE_TIKV].asked_limit_bytes = UINT64_C(14) << 30;
        f->example.report.daemon_binds = true;
        advice_tiup_render(f, "10.0.1.1");
        assert_null(get(f, entry(f, "tikv_servers", 0), "resource_control"));
        assert_comment(f, "# No resource_control.memory_limit: tidbnumad sets MemoryMax=");
}

/* R12: the entry's host is what TiUP has a server announce. */
FRAGMENT_TEST(announced_address) {
        f->example.subjects[EXAMPLE_TIDB].card = "eth1";
        f->example.subjects[EXAMPLE_TIDB].address = "10.0.2.9";
        f->example.subjects[EXAMPLE_TIKV].card = "eth2"; /* whose address is not known */
        advice_tiup_render(f, "10.0.1.1");
        assert_scalar(f, entry(f, "tidb_servers", 0), "host", "10.0.2.9", true);
        assert_scalar(f, entry(f, "tikv_servers", 0), "host", "10.0.1.1", true);
}

/* Flags with blanks are one value; TiUP manages no JVM. */
FRAGMENT_TEST(jvm) {
        Advice *advice = f->example.items;

        f->example.subjects[EXAMPLE_JVM].unplaced = "";
        *advice = (Advice){ .rule = ADVICE_JVM,
                            .subject = EXAMPLE_JVM,
                            .setting = "JAVA_TOOL_OPTIONS",
                            .where = IN_ENVIRONMENT,
                            .unit = ADVICE_TEXT,
                            .effect = HOLDS_RESTART,
                            .reason = "Because.",
                            .note = "",
                            .text = "-Xmx1g -XX:-UseNUMA" };
        advice_tiup_render(f, "10.0.1.1");
        assert_comment(f, "is not managed by TiUP. For its unit:\n# A11: Because.");
        assert_comment(f, "Environment=\"JAVA_TOOL_OPTIONS=-Xmx1g -XX:-UseNUMA\"\n");
}

FRAGMENT_TEST(tikv) {
        yaml_node_t *tikv, *config;

        f->example.subjects[EXAMPLE_TIKV].nodes = node_set("0-2,5");
        f->example.subjects[EXAMPLE_TIKV].cpus = cpu_set("1-3,9");
        f->example.subjects[EXAMPLE_TIKV].whole_nodes = false;
        advice_tiup_render(f, "10.0.1.1");
        tikv = entry(f, "tikv_servers", 0);
        assert_int_equal(count(tikv), 6);
        assert_scalar(f, tikv, "port", "20161", false);
        assert_scalar(f, tikv, "status_port", "20180", false);
        assert_scalar(f, tikv, "numa_node", "0,1,2,5", true);
        assert_scalar(f, tikv, "numa_cores", "1-3,9", true);
        config = get(f, tikv, "config");
        assert_int_equal(count(config), 3);
        assert_scalar(f, config, "readpool.unified.max-thread-count", "6", false);
        assert_scalar(f, config, "gc.max-write-bytes-per-sec", "300KB", true);
        assert_scalar(f, config, "storage.block-cache.capacity", "7GB", true);
        assert_comment(f, "\n      # A8: nvme0n1 serves pd-2379.\n      gc.max-write");
}

/* TiUP's numactl binds strictly, so a policy that does not is left to tidbnumad. */
FRAGMENT_TEST(pd_not_bound_strictly) {
        yaml_node_t *pd;

        advice_tiup_render(f, "h");
        pd = entry(f, "pd_servers", 0);
        assert_int_equal(count(pd), 3);
        assert_scalar(f, pd, "client_port", "2379", false);
        assert_scalar(f, pd, "peer_port", "2380", false);
        assert_null(get(f, pd, "numa_node"));
        assert_comment(f, "# No numa_node: \"1\" here,");
        assert_comment(f, "memory: preferred");
}

FRAGMENT_TEST(pd_bound) {
        yaml_node_t *pd;

        f->example.subjects[EXAMPLE_PD].memory = MEMORY_BIND;
        f->example.subjects[EXAMPLE_PD].whole_nodes = false;
        advice_tiup_render(f, "h");
        pd = entry(f, "pd_servers", 0);
        assert_scalar(f, pd, "numa_node", "1", true);
        assert_null(get(f, pd, "numa_cores")); /* TiUP knows none for PD */
        assert_comment(f, "selects the CPUs 16-31; TiUP has no key");
}

FRAGMENT_TEST(what_has_no_section) {
        advice_tiup_render(f, "h");
        assert_comment(
                f, "\n"
                   "# haproxy is not managed by TiUP. For the section global of its haproxy.cfg:\n"
                   "# A10: It is bound to 16 CPUs of node 1.\n"
                   "#   nbthread "
                   "16\n# A10: They take 644 MiB.\n#   maxconn 20000\n");
        assert_comment(f, "\n# tidb-4001 is left out:\n# no nodes are left\n");
        assert_comment(f, "\n# app is left out:\n# it has no place\n");
}

FRAGMENT_TEST(haproxy_without_nodes) {
        f->example.subjects[EXAMPLE_HAPROXY].unplaced = "none";
        advice_tiup_render(f, "h");
        assert_comment(f, "\n# haproxy is left out:\n# none\n");
        assert_null(strstr(f->text.data, "not managed by TiUP"));
}

FRAGMENT_TEST(advice_tiup_empty) {
        f->example.report.n_subjects = 0;
        f->example.report.n_items = 0;
        advice_tiup_render(f, "h");
        assert_int_equal(yaml_document_get_root_node(&f->document)->type, YAML_MAPPING_NODE);
        assert_int_equal(count(yaml_document_get_root_node(&f->document)), 0);
}

/* An entry without advice has no empty `config`, which TiUP would read as null. */
FRAGMENT_TEST(no_config) {
        f->example.report.n_items = 0;
        advice_tiup_render(f, "h");
        assert_null(get(f, entry(f, "tikv_servers", 0), "config"));
}

typedef struct PortCase {
        const char *name;
        uint16_t ports[3];
        size_t n_ports;
        const char *port, *status; /* NULL: left out */
} PortCase;

TEST(ports) {
        static const PortCase cases[] = {
                { "tidb-4001", { 0 }, 0, "4001", NULL },
                { "tidb-4001.service", { 0 }, 0, "4001", NULL },
                { "tidb-4001", { 10081, 4001 }, 2, "4001", "10081" },
                { "tidb-4001", { 4000, 10080 }, 2, "4000", "10080" }, /* the name is wrong */
                { "tidb-4001", { 4001, 5000, 10080 }, 3, "4001", "10080" },
                { "tidb-4001", { 4001, 5000, 6000 }, 3, "4001", NULL },
                { "tidb", { 4010 }, 1, "4010", NULL },
                { "tidb", { 4010, 4011 }, 2, NULL, NULL },
                { "tidb", { 10080, 4000 }, 2, "4000", "10080" },
                { "tidb", { 10080 }, 1, "10080", NULL },
                { "tidb", { 0 }, 0, NULL, NULL },
                { "tidb-2", { 0 }, 0, NULL, NULL }, /* the second of some imagined ones */
                { "tidb-1023", { 0 }, 0, NULL, NULL },
                { "tidb-1024", { 0 }, 0, "1024", NULL },
                { "tidb-65535", { 0 }, 0, "65535", NULL },
                { "tidb-65536", { 0 }, 0, NULL, NULL },
                { "tidb-99999", { 0 }, 0, NULL, NULL },
                { "tidb-104000", { 0 }, 0, NULL, NULL },
                { "tidb-4000x", { 0 }, 0, NULL, NULL },
                { "tidb-", { 0 }, 0, NULL, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_fragment_ Fragment f = { 0 };
                AdviceSubject *subject = &f.example.subjects[EXAMPLE_TIDB];
                yaml_node_t *tidb;

                advice_example_init(&f.example);
                subject->name = (char *)cases[i].name;
                subject->ports = (uint16_t *)cases[i].ports;
                subject->n_ports = cases[i].n_ports;
                advice_tiup_render(&f, "h");
                tidb = entry(&f, "tidb_servers", 0);
                if (cases[i].port)
                        assert_scalar(&f, tidb, "port", cases[i].port, false);
                else {
                        assert_null(get(&f, tidb, "port"));
                        assert_comment(&f, "# port: not known here; 4000 where it is left out");
                }
                if (cases[i].status)
                        assert_scalar(&f, tidb, "status_port", cases[i].status, false);
                else
                        assert_null(get(&f, tidb, "status_port"));
        }
}

TEST(advice_tiup_hostile_names) {
        static const char *const names[] = {
                "a\nevil: 1",
                "a\r\n- b",
                "\"}]{[",
                "#",
                ":",
                "a\xc2\x85"
                "b: c",
                "a\xe2\x80\xa8"
                "b: c",
                "\xff\xfe\x01\x7f",
                "\xef\xbb\xbf",
                "",
                "é",
                "\\",
                "%s%n",
                "*a &b",
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_fragment_ Fragment f = { 0 };

                advice_example_init(&f.example);
                for (size_t j = 0; j < f.example.report.n_subjects; j++)
                        f.example.subjects[j].name = (char *)names[i];
                f.example.subjects[EXAMPLE_TIKV].device = names[i];
                advice_tiup_render(&f, names[i]);
                assert_int_equal(count(yaml_document_get_root_node(&f.document)), 3);
                assert_int_equal(count(get(&f, entry(&f, "tikv_servers", 0), "config")), 3);
                if (strcmp(names[i], "\xff\xfe\x01\x7f") == 0)
                        assert_scalar(&f, entry(&f, "tidb_servers", 0), "host",
                                      "\xef\xbf\xbd\xef\xbf\xbd\x01\x7f", true);
                else
                        assert_scalar(&f, entry(&f, "tidb_servers", 0), "host", names[i], true);
        }
}
