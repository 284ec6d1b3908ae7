/* The TiUP fragment, read back by libyaml. That it merges into a topology is test-advice-merge's.
 */

#include "../../support/test.h"
#include <yaml.h>

#include "tidbnumad/publish/advice.h"

#include "../../support/id-sets.h"
#include "advice-example.h"

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

static void render(Fragment *fragment, const char *host) {
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

        render(f, "10.0.1.1");
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
        render(f, "10.0.1.1");
        tidb = entry(f, "tidb_servers", 0);
        assert_null(get(f, tidb, "numa_node"));
        assert_null(get(f, tidb, "numa_cores"));
        assert_comment(f, "# No numa_node and numa_cores: tidbnumad binds it");
        assert_scalar(f, get(f, tidb, "config"), "performance.max-procs", "8", false);
}

/* R12: the entry's host is what TiUP has a server announce. */
FRAGMENT_TEST(announced_address) {
        f->example.subjects[EXAMPLE_TIDB].card = "eth1";
        f->example.subjects[EXAMPLE_TIDB].address = "10.0.2.9";
        f->example.subjects[EXAMPLE_TIKV].card = "eth2"; /* whose address is not known */
        render(f, "10.0.1.1");
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
        render(f, "10.0.1.1");
        assert_comment(f, "is not managed by TiUP. For its unit:\n# A11: Because.");
        assert_comment(f, "Environment=\"JAVA_TOOL_OPTIONS=-Xmx1g -XX:-UseNUMA\"\n");
}

FRAGMENT_TEST(tikv) {
        yaml_node_t *tikv, *config;

        f->example.subjects[EXAMPLE_TIKV].nodes = node_set("0-2,5");
        f->example.subjects[EXAMPLE_TIKV].cpus = cpu_set("1-3,9");
        f->example.subjects[EXAMPLE_TIKV].whole_nodes = false;
        render(f, "10.0.1.1");
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

        render(f, "h");
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
        render(f, "h");
        pd = entry(f, "pd_servers", 0);
        assert_scalar(f, pd, "numa_node", "1", true);
        assert_null(get(f, pd, "numa_cores")); /* TiUP knows none for PD */
        assert_comment(f, "selects the CPUs 16-31; TiUP has no key");
}

FRAGMENT_TEST(what_has_no_section) {
        render(f, "h");
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
        render(f, "h");
        assert_comment(f, "\n# haproxy is left out:\n# none\n");
        assert_null(strstr(f->text.data, "not managed by TiUP"));
}

FRAGMENT_TEST(empty) {
        f->example.report.n_subjects = 0;
        f->example.report.n_items = 0;
        render(f, "h");
        assert_int_equal(yaml_document_get_root_node(&f->document)->type, YAML_MAPPING_NODE);
        assert_int_equal(count(yaml_document_get_root_node(&f->document)), 0);
}

/* An entry without advice has no empty `config`, which TiUP would read as null. */
FRAGMENT_TEST(no_config) {
        f->example.report.n_items = 0;
        render(f, "h");
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
                subject->name = cases[i].name;
                subject->ports = cases[i].ports;
                subject->n_ports = cases[i].n_ports;
                render(&f, "h");
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

TEST(hostile_names) {
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
                        f.example.subjects[j].name = names[i];
                f.example.subjects[EXAMPLE_TIKV].device = names[i];
                render(&f, names[i]);
                assert_int_equal(count(yaml_document_get_root_node(&f.document)), 3);
                assert_int_equal(count(get(&f, entry(&f, "tikv_servers", 0), "config")), 3);
                if (strcmp(names[i], "\xff\xfe\x01\x7f") == 0)
                        assert_scalar(&f, entry(&f, "tidb_servers", 0), "host",
                                      "\xef\xbf\xbd\xef\xbf\xbd\x01\x7f", true);
                else
                        assert_scalar(&f, entry(&f, "tidb_servers", 0), "host", names[i], true);
        }
}
