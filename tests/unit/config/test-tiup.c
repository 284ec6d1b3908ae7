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
                                   "tiflash_servers:\n  - host: d\n"
                                   "  - host: e\n    deploy_dir: x\n"
                                   "    data_dir: \"/a, /b c ,d,/e\"\n"
                                   "tispark_masters:\n  - host: d\n  - host: e\n"),
                         0);
        s = p.topology.servers;
        assert_int_equal(p.topology.n_servers, 7 + 6 * 2); /* and two exporters a host */
        assert_int_equal(p.topology.n_others, 1);
        assert_string_equal(p.topology.others[0].section, "tispark_masters");
        assert_int_equal(p.topology.others[0].n, 2);
        assert_string_equal(s[0].name, "tidb-4001");
        assert_int_equal(s[0].ports[1], 10080);
        assert_null(s[0].data_dirs);
        assert_string_equal(s[1].data_dirs, "/data/tikv-20160");
        assert_string_equal(s[2].data_dirs, "/nvme1/tikv");
        assert_string_equal(s[3].data_dirs, "/deploy/tikv-20160/kv");
        assert_string_equal(s[4].name, "pd-3379");
        assert_string_equal(s[4].unit, "pd-3379.service");
        assert_string_equal(s[4].data_dirs, "/data/pd-3379");
        assert_int_equal(s[4].ports[1], 2380);
        assert_string_equal(s[5].name, "tiflash-9000");
        assert_string_equal(s[5].data_dirs, "/data/tiflash-9000");
        assert_string_equal(s[6].data_dirs, "/a,/b c,/home/tidb/x/d,/e");
}

/* TiUP's own rules, see config/tiup.c. */
TEST(what_is_relative_is_below_the_home_of_the_user) {
        static const struct {
                const char *text, *dirs;
        } cases[] = {
                { "tikv_servers:\n  - host: a\n    data_dir: kv\n",
                  "/home/tidb/deploy/tikv-20160/kv" },
                { "tikv_servers:\n  - host: a\n", "/home/tidb/deploy/tikv-20160/data" },
                { "global: {user: ops}\ntikv_servers:\n  - host: a\n    deploy_dir: x\n",
                  "/home/ops/x/data" },
                { "global: {user: ops, deploy_dir: d, data_dir: v}\ntikv_servers:\n  - host: a\n",
                  "/home/ops/d/tikv-20160/v" },
                { "global: {data_dir: /v}\ntikv_servers:\n  - host: a\n    deploy_dir: /d\n",
                  "/v/tikv-20160" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_parsed_ Parsed p = { 0 };

                assert_int_equal(parse(&p, cases[i].text), 0);
                assert_string_equal(p.topology.servers[0].data_dirs, cases[i].dirs);
        }
}

/* Every row of the table that is a server of a topology, at its section and its port. */
TEST(each_section_gives_its_product) {
        _cleanup_text_ Text text = { 0 };
        _cleanup_parsed_ Parsed p = { 0 };
        size_t n = 0;

        for (Product i = PRODUCT_OTHER + 1; i < N_PRODUCTS; i++)
                if (text_ends_with(product_info(i)->tiup.section, "_servers"))
                        text_appendf(&text, "%s:\n  - host: h%d\n    %s: %d\n",
                                     product_info(i)->tiup.section, (int)i,
                                     product_info(i)->tiup.port_keys[0], 7000 + (int)i);
        assert_int_equal(parse(&p, text.data), 0);
        for (Product i = PRODUCT_OTHER + 1; i < N_PRODUCTS; i++)
                if (text_ends_with(product_info(i)->tiup.section, "_servers")) {
                        const TiupServer *s = &p.topology.servers[n++];

                        assert_int_equal(s->product, i);
                        assert_int_equal(s->ports[0], 7000 + (int)i);
                        assert_int_equal(product_of(product_info(i)->exe, NULL, s->unit), i);
                        assert_int_equal(s->data_dirs != NULL, product_info(i)->tiup.has_data_dir);
                }
        assert_int_equal(p.topology.n_servers, n + 2 * n); /* each on a host with two exporters */
        assert_int_equal(p.topology.n_others, 0);
}

TEST(exporters_are_on_each_host_that_has_not_said_no) {
        _cleanup_parsed_ Parsed p = { 0 };
        const TiupServer *s;

        assert_int_equal(parse(&p, "monitored: {node_exporter_port: 9101, numa_node: \"1\"}\n"
                                   "pd_servers:\n  - host: a\n"
                                   "tidb_servers:\n  - host: a\n  - host: b\n"
                                   "tiproxy_servers:\n  - host: b\n    ignore_exporter: true\n"),
                         0);
        s = p.topology.servers;
        assert_int_equal(p.topology.n_servers, 6);
        assert_string_equal(s[4].name, "node_exporter-9101");
        assert_string_equal(s[4].host, "a");
        assert_ids(s[4].nodes, "1");
        assert_true(s[4].on_each_host && !s[0].on_each_host);
        assert_string_equal(s[5].unit, "blackbox_exporter-9115.service");
}

/* TiUP deploys them at their usual ports then. */
TEST(exporters_need_no_section) {
        _cleanup_parsed_ Parsed p = { 0 };

        assert_int_equal(parse(&p, "pd_servers:\n  - host: a\n"
                                   "tiproxy_servers:\n  - host: b\n    ignore_exporter: true\n"),
                         0);
        assert_int_equal(p.topology.n_servers, 4);
        assert_string_equal(p.topology.servers[2].unit, "node_exporter-9100.service");
        assert_string_equal(p.topology.servers[3].unit, "blackbox_exporter-9115.service");
        assert_string_equal(p.topology.servers[3].host, "a");
}

TEST(words_of_numactl_are_not_known) {
        static const char *const words[] = { "all", "+0", "!0", "netdev:eth0", "same", "pci:1:0" };

        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                _cleanup_parsed_ Parsed p = { 0 };
                _cleanup_text_ Text text = { 0 };

                text_appendf(&text, "tidb_servers:\n  - host: a\n    numa_node: \"%s\"\n",
                             words[i]);
                assert_int_equal(parse(&p, text.data), 0);
                assert_true(p.topology.servers[0].nodes_unknown);
                assert_true(id_set_is_empty(&p.topology.servers[0].nodes));
                assert_int_equal(p.topology.servers[0].numa_at.line, 3);
        }
}

/* Of what is merged, nothing may be changed where it was written: others have it too. */
TEST(keys_are_merged) {
        _cleanup_parsed_ Parsed p = { 0 };
        const TiupServer *s;

        assert_int_equal(parse(&p, "tikv_servers:\n"
                                   "  - &kv\n    host: a\n    port: 21160\n    numa_node: \"1\"\n"
                                   "    config: {log.level: warn}\n"
                                   "  - <<: *kv\n    host: b\n"
                                   "  - host: c\n    <<: [{port: 5, data_dir: /x}, *kv]\n"
                                   "    numa_node: \"2\"\n"
                                   "    config:\n      <<: {a.b: 1}\n      c: 2\n"),
                         0);
        s = p.topology.servers;
        assert_string_equal(s[1].name, "tikv-21160");
        assert_string_equal(s[1].host, "b");
        assert_ids(s[1].nodes, "1");
        assert_int_equal(s[1].numa_at.line, 0);
        assert_true(tiup_server_sets(&s[1], "log.level"));
        assert_true(s[1].in_lines && !s[1].config_fits);
        assert_string_equal(s[2].name, "tikv-5");
        assert_string_equal(s[2].data_dirs, "/x");
        assert_ids(s[2].nodes, "2");
        assert_true(tiup_server_sets(&s[2], "a.b") && tiup_server_sets(&s[2], "c"));
        assert_false(tiup_server_sets(&s[2], "log.level"));
        assert_true(s[2].config_fits);
}

TEST(limits_and_settings_of_all_servers_count) {
        _cleanup_parsed_ Parsed p = { 0 };
        const TiupServer *s;

        assert_int_equal(parse(&p, "global:\n  systemd_mode: user\n"
                                   "  resource_control: {memory_limit: 8G, cpu_quota: 400%}\n"
                                   "server_configs:\n  tikv: {server.grpc-concurrency: 4}\n"
                                   "tikv_servers:\n  - host: a\n"
                                   "  - host: b\n    resource_control: {cpu_quota: 50%}\n"
                                   "tidb_servers:\n  - host: a\n"
                                   "    resource_control: {cpu_quota: 1.5%, memory_limit: 1G}\n"),
                         0);
        s = p.topology.servers;
        assert_true(p.topology.user_units);
        assert_int_equal(s[0].memory_limit, UINT64_C(8) << 30);
        assert_int_equal(s[0].cpu_quota, 400);
        assert_int_equal(s[1].memory_limit, UINT64_C(8) << 30);
        assert_int_equal(s[1].cpu_quota, 50);
        assert_int_equal(s[2].memory_limit, UINT64_C(1) << 30);
        assert_int_equal(s[2].cpu_quota, 0);
        assert_true(tiup_server_sets(&s[0], "server.grpc-concurrency"));
        assert_false(tiup_server_sets(&s[2], "server.grpc-concurrency"));
        assert_true(s[0].config_fits);
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
                                   "  - host: f\n    config:\n"
                                   "  - host: g\n    numa_node: \"0,\\\n      1\"\n"
                                   "  - host: h\n    numa_cores: >-\n      0-1\n"
                                   "  - host: \"i\\\n      j\"\n"),
                         0);
        assert_false(p.topology.servers[0].in_lines);
        assert_false(p.topology.servers[1].in_lines);
        for (size_t i = 6; i < 9; i++)
                assert_false(p.topology.servers[i].in_lines);
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
