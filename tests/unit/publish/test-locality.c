/* Locality for people and for programs. */
#include <math.h>

#include "../../support/test.h"

#include "../../support/json-check.h"

#include "tidbnumad/publish/locality.h"

static Node nodes[] = { { .id = 0 }, { .id = 3 }, { .id = 4 } };
static const Topology topology = { .nodes = nodes, .n_nodes = 3 };
static const pid_t pids[] = { 7, 4711 };
static const LocalityNode by_node[] = { { 768 << 20, 0, 256 << 20, 0 },
                                        { 0, 1 << 20, 0, 0 },
                                        { 0, 0, 0, 0 } };

static LocalityReport example(void) {
        return (LocalityReport){ .name = "tikv\x1b[31m",
                                 .pids = pids,
                                 .n_pids = 2,
                                 .n_pages = 4096,
                                 .halfwidth = 0.0153,
                                 .file_halfwidth = NAN,
                                 .shmem_halfwidth = 0.031,
                                 .topology = &topology,
                                 .by_node = by_node };
}

static void assert_rendered(const LocalityReport *report, const char *part, bool has) {
        _cleanup_text_ Text text = { 0 };

        text_append(&text, "before");
        locality_render(report, &text);
        assert_int_equal(text.error, 0);
        if (!strstr(text.data, part) == has)
                fail_msg("%s: %s", part, text.data);
        assert_null(strstr(text.data, "before"));
        assert_null(strstr(text.data, "\x1b")); /* names do not talk to the terminal */
}

TEST(table) {
        LocalityReport r = example();

        assert_rendered(&r, "tikv\\x1b[31m, processes 7, 4711\n", true);
        assert_rendered(&r,
                        "sampled: 4096 anonymous pages; each node's share is within +-1.5 points "
                        "at 95 %; of shared memory +-3.1\n"
                        "\n",
                        true);
        assert_rendered(&r, "0     ########################  99.9 %", true);
        assert_rendered(&r, "3     #.......................  0.1 %", true); /* a sliver */
        assert_rendered(&r, "4     ........................  0.0 %", true);
        assert_rendered(&r, "1.0 GiB", true);
        assert_rendered(&r, "768.0 MiB  0 B      256.0 MiB  0 B\n", true);
        r.n_pids = 1;
        assert_rendered(&r, ", process 7\n", true);
}

TEST(methods) {
        LocalityReport r = example();

        r.halfwidth = r.shmem_halfwidth = 0;
        r.file_halfwidth = 0.0004;
        assert_rendered(&r, "sampled: all of its 4096 anonymous pages; of files +-0.0\n", true);
        r.file_halfwidth = 0;
        assert_rendered(&r, "sampled: all of its 4096 anonymous pages\n", true);
        r.halfwidth = NAN;
        assert_rendered(&r, "no anonymous page was found", true);
        r.exact = true;
        r.halfwidth = 0;
        assert_rendered(&r, "every page was counted (numa_maps)\n", true);
        assert_rendered(&r, "sampled", false);
}

TEST(nothing_resident) {
        static const LocalityNode empty[3];
        LocalityReport r = example();

        r.by_node = empty;
        assert_rendered(&r, "0     ........................  0.0 %", true);
}

TEST(json) {
        LocalityReport r = example();
        json_t *json = JSON_WRITTEN(j, locality_json(j, &r)), *node;

        assert_string_equal(json_string_value(json_object_get(json, "method")), "sampled");
        assert_int_equal(json_integer_value(json_object_get(json, "anon_pages_seen")), 4096);
        assert_true(fabs(json_real_value(json_object_get(json, "share_halfwidth")) - 0.0153) <
                    1e-9);
        assert_true(json_is_null(json_object_get(json, "file_share_halfwidth")));
        assert_true(fabs(json_real_value(json_object_get(json, "shmem_share_halfwidth")) - 0.031) <
                    1e-9);
        assert_int_equal(json_array_size(json_object_get(json, "pids")), 2);
        assert_int_equal(json_array_size(json_object_get(json, "nodes")), 3);
        node = json_array_get(json_object_get(json, "nodes"), 0);
        assert_int_equal(json_integer_value(json_object_get(node, "anon_bytes")), 768 << 20);
        assert_int_equal(json_integer_value(json_object_get(node, "shmem_bytes")), 256 << 20);
        node = json_array_get(json_object_get(json, "nodes"), 1);
        assert_int_equal(json_integer_value(json_object_get(node, "node")), 3);
        assert_int_equal(json_integer_value(json_object_get(node, "file_bytes")), 1 << 20);
        json_decref(json);
        r.exact = true;
        json = JSON_WRITTEN(j, locality_json(j, &r));
        assert_string_equal(json_string_value(json_object_get(json, "method")), "numa_maps");
        assert_true(json_is_null(json_object_get(json, "anon_pages_seen")));
        json_decref(json);
}
