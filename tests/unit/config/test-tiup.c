/* TiUP's topology: what is read of it, and the places of what is wrong. */

#include "../../support/test.h"

#include "tidbnumad/config/tiup.h"

#include "../../support/id-sets.h"

typedef struct Parsed {
        SourceFileList files;
        TiupTopology topology;
        Diagnostics errors;
} Parsed;

static void parsed_done(Parsed *parsed) {
        source_file_list_done(&parsed->files);
        tiup_topology_done(&parsed->topology);
        diagnostics_done(&parsed->errors);
}
#define _cleanup_parsed_ _cleanup_(parsed_done)

static int parse(Parsed *parsed, const char *text) {
        assert_int_equal(source_file_list_add(&parsed->files, "t.yaml", text, strlen(text)), 0);
        return tiup_parse(&parsed->files.files[0], &parsed->topology, &parsed->errors);
}

TEST(servers_have_tiups_names_ports_and_directories) {
        _cleanup_parsed_ Parsed p = { 0 };
        const TiupServer *s;

        assert_int_equal(parse(&p, "global:\n  user: tidb\n  data_dir: /data\n"
                                   "  deploy_dir: /deploy\n"
                                   "tidb_servers:\n  - host: a\n    port: 4001\n"
                                   "tikv_servers:\n  - host: a\n"
                                   "  - host: b\n    data_dir: /nvme1/tikv\n"
                                   "  - host: c\n    data_dir: kv\n"
                                   "pd_servers:\n  - host: 10.0.0.1\n    client_port: 3379\n"
                                   "tiflash_servers:\n  - host: d\n  - host: e\n"),
                         0);
        s = p.topology.servers;
        assert_int_equal(p.topology.n_servers, 5);
        assert_int_equal(p.topology.n_others, 2);
        assert_string_equal(s[0].name, "pd-3379");
        assert_string_equal(s[0].unit, "pd-3379.service");
        assert_string_equal(s[0].data_dir, "/data/pd-3379");
        assert_int_equal(s[0].ports[1], 2380);
        assert_string_equal(s[1].name, "tidb-4001");
        assert_int_equal(s[1].ports[1], 10080);
        assert_null(s[1].data_dir);
        assert_string_equal(s[2].data_dir, "/data/tikv-20160");
        assert_string_equal(s[3].data_dir, "/nvme1/tikv");
        assert_string_equal(s[4].data_dir, "/deploy/tikv-20160/kv");
}

TEST(a_relative_data_dir_below_an_unknown_directory_is_not_known) {
        _cleanup_parsed_ Parsed p = { 0 };

        assert_int_equal(parse(&p, "tikv_servers:\n  - host: a\n    data_dir: kv\n"), 0);
        assert_null(p.topology.servers[0].data_dir);
}

TEST(numa_node_and_limits_are_read) {
        static const struct {
                const char *limit;
                uint64_t bytes;
        } limits[] = { { "16G", UINT64_C(16) << 30 },
                       { "1.5T", UINT64_C(1536) << 30 },
                       { "1048576", 1 << 20 },
                       { "80%", 0 },
                       { "16GB", 0 },
                       { "16K", 16384 },
                       { "-1G", 0 },
                       { "G", 0 },
                       { "lots", 0 } };

        for (size_t i = 0; i < ELEMENTSOF(limits); i++) {
                _cleanup_parsed_ Parsed p = { 0 };
                _cleanup_text_ Text text = { 0 };

                text_appendf(&text,
                             "tikv_servers:\n  - host: a\n    numa_node: \"0,2-3\"\n"
                             "    resource_control: {memory_limit: %s}\n",
                             limits[i].limit);
                assert_int_equal(parse(&p, text.data), 0);
                assert_ids(p.topology.servers[0].nodes, "0,2-3");
                assert_int_equal(p.topology.servers[0].numa_at.line, 3);
                assert_int_equal(p.topology.servers[0].memory_limit, limits[i].bytes);
        }
}

TEST(settings_are_found_with_dots_and_nested) {
        _cleanup_parsed_ Parsed p = { 0 };
        const TiupServer *s;

        assert_int_equal(parse(&p, "tikv_servers:\n  - host: a\n    config:\n"
                                   "      server.grpc-concurrency: 4\n"
                                   "      readpool:\n        unified.max-thread-count: 8\n"),
                         0);
        s = &p.topology.servers[0];
        assert_true(tiup_server_sets(s, "server.grpc-concurrency"));
        assert_true(tiup_server_sets(s, "readpool.unified.max-thread-count"));
        assert_false(tiup_server_sets(s, "server"));
        assert_false(tiup_server_sets(s, "rocksdb.max-background-jobs"));
        assert_true(s->in_lines && s->config_fits);
        assert_int_equal(s->config_at.line, 4);
}

TEST(what_is_in_braces_or_shared_cannot_be_filled_in) {
        _cleanup_parsed_ Parsed p = { 0 };

        assert_int_equal(parse(&p, "tidb_servers:\n  - {host: a}\n  - &x\n    host: b\n"
                                   "  - host: c\n    config: {performance.max-procs: 3}\n"
                                   "  - host: d\n    config: &s\n      log.level: warn\n"
                                   "  - host: e\n    config: *s\n"
                                   "  - host: f\n    config:\n"),
                         0);
        assert_false(p.topology.servers[0].in_lines);
        assert_false(p.topology.servers[1].in_lines);
        for (size_t i = 2; i < 6; i++) {
                assert_true(p.topology.servers[i].in_lines);
                assert_false(p.topology.servers[i].config_fits);
        }
        assert_true(tiup_server_sets(&p.topology.servers[4], "log.level"));
}

TEST(each_mistake_is_told_at_its_place) {
        static const struct {
                const char *text, *message;
        } wrong[] = {
                { "tidb_servers: [host]\n", "t.yaml:1:16: no `host`" },
                { "tidb_servers: host\n", "t.yaml:1:15: `tidb_servers` is not a list" },
                { "pd_servers:\n  - host: ..\n", "t.yaml:2:11: not a host" },
                { "pd_servers:\n  - host: a/b\n", "t.yaml:2:11: not a host" },
                { "tidb_servers:\n  - host: a\n    port: 70000\n",
                  "t.yaml:3:11: `port` is not a port" },
                { "tidb_servers:\n  - host: a\n    numa_node: x\n",
                  "t.yaml:3:16: `numa_node` is not a list of nodes" },
                { "tidb_servers:\n  - host: a\n  - host: a\n",
                  "t.yaml:3:11: a second tidb-4000 on host `a`, expected another port; the first "
                  "is in line 2" },
                { "global: {}\n", "t.yaml:1:1: no servers" },
                { "- a\n", "t.yaml:1:1: not a topology of TiUP" },
                { "tidb_servers:\n\t- host: a\n", "t.yaml:2:1: " },
        };

        for (size_t i = 0; i < ELEMENTSOF(wrong); i++) {
                _cleanup_parsed_ Parsed p = { 0 };

                assert_int_equal(parse(&p, wrong[i].text), -EINVAL);
                assert_true(p.errors.n_messages > 0);
                if (strncmp(p.errors.messages[0], wrong[i].message, strlen(wrong[i].message)) != 0)
                        fail_msg("%s\n is not: %s", p.errors.messages[0], wrong[i].message);
        }
}
