/* Which port a server is asked at, that no other process is asked in its place, and its answer. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/port-list.h"
#include "../../support/test.h"

#include "tidbnumad/ctl/ask.h"

TEST(status_addresses) {
        static const struct {
                const char *exe, *args; /* words that end with "|" */
                const char *address;    /* NULL: there is none */
        } rows[] = {
                { "/b/tidb-server", "tidb-server|-P|4000|", "127.0.0.1:10080" },
                { "tidb-server", "tidb-server|--status=10081|--status-host=0.0.0.0|",
                  "127.0.0.1:10081" },
                { "tidb-server", "tidb-server|-status|10082|", "127.0.0.1:10082" },
                { "tidb-server", "tidb-server|--status=0|", NULL },
                { "tidb-server", "tidb-server|--status=off|", NULL },
                { "tidb-server", "tidb-server|--status=123456|", NULL },
                { "tidb-server", "tidb-server|--status=99999999999999999999|", NULL },
                { "tidb-server", "tidb-server|--status|", "127.0.0.1:10080" },
                { "tidb-server", "tidb-server|--status-host=h:1|", "127.0.0.1:10080" },
                { "tikv-server", "tikv-server|--addr|0.0.0.0:20160|", "127.0.0.1:20180" },
                { "tikv-server", "tikv-server|--status-addr|0.0.0.0:20181|", "127.0.0.1:20181" },
                { "tikv-server", "tikv-server|--status-addr=[::]:20182|", "127.0.0.1:20182" },
                { "tikv-server",
                  "tikv-server|--advertise-status-addr|127.0.0.1:20183|--status-addr=:20184|",
                  "127.0.0.1:20184" },
                { "tikv-server", "tikv-server|--advertise-status-addr|127.0.0.1:20183|",
                  "127.0.0.1:20183" },
                { "tikv-server", "tikv-server|--status-addr=db7.example.com:20180|",
                  "127.0.0.1:20180" },
                { "tikv-server", "tikv-server|--status-addr=192.0.2.7:20180|",
                  NULL }, /* not here */
                { "tikv-server", "tikv-server|--status-addr=[2001:db8::7]:20180|", NULL },
                { "tikv-server", "tikv-server|--status-addr=|", "127.0.0.1:20180" },
                { "pd-server", "pd-server|--name=pd|", "127.0.0.1:2379" },
                { "pd-server", "pd-server|--client-urls=http://0.0.0.0:12379,http://h:1|",
                  "127.0.0.1:12379" },
                { "pd-server", "pd-server|--client-urls=https://0.0.0.0:2379|", NULL },
                { "haproxy", "haproxy|-f|x.cfg|", NULL },
                { "tidb-server", "", "127.0.0.1:10080" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const size_t size = strlen(rows[i].args);
                char *args = malloc(size + 1), shown[INET_ADDRSTRLEN + 8] = "";
                HttpAddress address;
                const char *why;

                print_message("row %zu: %s\n", i, rows[i].args);
                memcpy(args, rows[i].args, size + 1);
                for (size_t k = 0; k < size; k++)
                        args[k] = (char)(args[k] == '|' ? '\0' : args[k]);
                why = ask_address_parse(product_of(rows[i].exe, NULL, NULL), args, size, &address);
                free(args);
                assert_int_equal(why != NULL, rows[i].address == NULL);
                if (why)
                        continue;
                assert_non_null(inet_ntop(AF_INET, &address.in.sin_addr, shown, sizeof(shown)));
                (void)snprintf(shown + strlen(shown), sizeof(shown) - strlen(shown), ":%u",
                               http_port(&address));
                assert_string_equal(shown, rows[i].address);
        }
}

/* --- what servers answer --- */

typedef struct Answer {
        const char *path, *text;
} Answer;

#define OK "HTTP/1.0 200 OK\r\n\r\n"

static const char *answer_to(const Answer *answers, const char *request) {
        for (; answers->path; answers++)
                if (strncmp(request + strlen("GET "), answers->path, strlen(answers->path)) == 0 &&
                    request[strlen("GET ") + strlen(answers->path)] == ' ')
                        return answers->text;
        return "HTTP/1.0 404 Not Found\r\n\r\n";
}

/* A child that listens there and answers until it is ended; 0: the port is taken. */
static pid_t serve(uint16_t port, const Answer *answers) {
        const struct sockaddr_in at = { .sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pid_t pid;

        (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
        if (bind(listener, (const void *)&at, sizeof(at)) < 0 || listen(listener, 8) < 0)
                return 0;
        pid = child_fork();
        if (pid > 0)
                return pid;
        (void)alarm(60); /* it ends, also if nobody ends it */
        for (;;) {
                const int fd = accept(listener, NULL, NULL);
                char request[512] = "";

                if (fd >= 0 && read(fd, request, sizeof(request) - 1) > 0) {
                        const char *text = answer_to(answers, request);

                        (void)!write(fd, text, strlen(text));
                }
                (void)close(fd);
        }
}

/* What `pid`, as a server of that name, says when it is asked. */
static void ask(Sysroot *sysroot, pid_t pid, const char *exe, ServerInstance *ret) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Member member = { .process.exe = (char *)exe, .handle = &handle };
        _cleanup_listen_ports_ ListenPorts ports = { 0 };
        HostInstance o = {
                .name = (char *)"x", .exe = (char *)exe, .members = &member, .n_members = 1
        };

        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_int_equal(read_port_list(sysroot, &handle, &ports), 0);
        o.ports = ports.ports;
        o.n_ports = ports.n_ports;
        *ret = (ServerInstance){ 0 };
        ask_server(sysroot, &o, true, ret);
}

static void assert_setting(const ServerInstance *asked, const char *name, const char *value) {
        const char *found = server_report_find(&asked->said, name);

        print_message("%s: %s\n", name, found ? found : "(none)");
        if (!value)
                assert_null(found);
        else {
                assert_non_null(found);
                assert_string_equal(found, value);
        }
}

/* The forms of 7.5, 8.5 and 9.0 are the same; the version is in another place for each product. */
LIVE_TEST(settings_of_servers) {
        static const Answer tidb[] = {
                { "/metrics", OK "go_goroutines 7\ngo_sched_gomaxprocs_threads 48\n" },
                { "/status",
                  OK "{\"connections\":0,\"version\":\"8.0.11-TiDB-v8.5.1\",\"git_hash\":\"x\"}" },
                { "/config",
                  OK "{\"host\":\"0.0.0.0\",\"performance\":{\"max-procs\":8,\"gogc\":100,"
                     "\"plan-replayer-gc-lease\":\"10m\",\"stmt-count-limit\":5000},"
                     "\"labels\":{},\"tmp-storage-quota\":-1,\"split-table\":true}" },
                { NULL, NULL },
        };
        static const Answer tikv[] = {
                { "/metrics", OK "# TYPE tikv_server_info gauge\n"
                                 "tikv_server_info{version=\"8.5.5\",hash=\"0a1b\"} 1764000000\n" },
                { "/config",
                  OK "{\"memory-usage-limit\":\"12GiB\",\"server\":{\"labels\":{\"host\":\"db1\"},"
                     "\"grpc-concurrency\":5},\"storage\":{\"block-cache\":{\"capacity\":"
                     "\"7372MiB\"}},\"readpool\":{\"unified\":{\"max-thread-count\":4,"
                     "\"cpu-threshold\":0.5}},\"raft-engine\":{\"purge\":null}}" },
                { NULL, NULL },
        };
        static const Answer pd[] = {
                { "/metrics", OK "go_sched_gomaxprocs_threads 2\n" },
                { "/pd/api/v1/version", OK "{\"version\":\"v9.0.0-beta.2\"}" },
                { "/pd/api/v1/config", OK
                  "{\"replication\":{\"max-replicas\":3,\"location-labels\":[\"zone\",\"host\"]},"
                  "\"schedule\":{\"store-limit\":{\"1\":{\"add-peer\":15}}}}" },
                { NULL, NULL },
        };
        static const struct {
                const char *exe;
                uint16_t port;
                const Answer *answers;
                uint32_t gomaxprocs, version;
                const char *settings[4][2];
        } rows[] = {
                { "/b/tidb-server",
                  10080,
                  tidb,
                  48,
                  SERVER_VERSION(8, 5, 1),
                  { { "performance.max-procs", "8" },
                    { "split-table", "true" },
                    { "tmp-storage-quota", "-1" },
                    { "labels", NULL } } },
                { "/b/tikv-server",
                  20180,
                  tikv,
                  0,
                  SERVER_VERSION(8, 5, 5),
                  { { "server.labels.host", "db1" },
                    { "storage.block-cache.capacity", "7372MiB" },
                    { "readpool.unified.cpu-threshold", "0.5" },
                    { "raft-engine.purge", NULL } } },
                { "/b/pd-server",
                  2379,
                  pd,
                  2,
                  SERVER_VERSION(9, 0, 0),
                  { { "replication.location-labels", "zone,host" },
                    { "schedule.store-limit.1.add-peer", "15" },
                    { "replication.max-replicas", "3" },
                    { "", NULL } } },
        };
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const pid_t pid = serve(rows[i].port, rows[i].answers);
                ServerInstance asked;

                if (pid == 0)
                        continue; /* a real one, perhaps */
                ask(sysroot, pid, rows[i].exe, &asked);
                assert_int_equal(asked.gomaxprocs, rows[i].gomaxprocs);
                assert_int_equal(asked.gomaxprocs_reported, rows[i].gomaxprocs > 0);
                assert_int_equal(asked.said.version, rows[i].version);
                for (size_t k = 0; k < ELEMENTSOF(rows[i].settings); k++)
                        assert_setting(&asked, rows[i].settings[k][0], rows[i].settings[k][1]);
                server_report_done(&asked.said);
                child_end(pid);
                n++;
        }
        if (n == 0)
                skip_because("the ports of TiDB, TiKV and PD are taken here");
}

/* What was said before the answer that is none remains. */
LIVE_TEST(bad_answers) {
        static const struct {
                const char *metrics, *config;
                uint32_t version;
                size_t n_settings;
        } rows[] = {
                { "\x15\x03\x03", "", 0, 0 }, /* TLS */
                { "HTTP/1.0 302 Found\r\nLocation: http://h/\r\n\r\n", "", 0, 0 },
                { OK "tikv_server_info{version=\"x\"} 1\n", OK "{}", 0, 0 },
                { OK "tikv_server_info{version=\"8.5\"} 1\n", OK "[1]", 0, 0 },
                { OK "tikv_server_info{version=\"7.5.1-pre\"} 1\n", OK "{\"a\":", 7005001, 0 },
                { OK "tikv_server_info{version=\"9999.5.1\"} 1\n", OK "\"\\u0000\"", 0, 0 },
                { OK "", OK "{\"a\":[1],\"b\":[[]],\"c\":{\"d\":null},\"e\":1e400}", 0, 0 },
                /* deeper than any server has it */
                { OK "",
                  OK
                  "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}"
                  "},\"z\":1}",
                  0, 1 },
                { OK "", OK "{\"a\":\"1\",\"a\":\"2\"}", 0, 1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const Answer answers[] = { { "/metrics", rows[i].metrics },
                                           { "/config", rows[i].config },
                                           { NULL, NULL } };
                const pid_t pid = serve(20180, answers);
                ServerInstance asked;

                if (pid == 0)
                        skip_because("port 20180 is taken here");
                print_message("row %zu\n", i);
                ask(sysroot, pid, "tikv-server", &asked);
                assert_int_equal(asked.said.version, rows[i].version);
                assert_int_equal(asked.said.n_settings, rows[i].n_settings);
                server_report_done(&asked.said);
                child_end(pid);
        }
}

/* Another process has the default port, or nobody; a dump has no servers. */
LIVE_TEST(only_its_own_port) {
        static const Answer answers[] = { { "/metrics", OK "go_sched_gomaxprocs_threads 48\n" },
                                          { NULL, NULL } };
        const pid_t pid = serve(10080, answers);
        ServerInstance asked;

        ask(sysroot, getpid(), "tidb-server", &asked);
        assert_false(asked.gomaxprocs_reported);
        if (pid == 0)
                return;
        ask(sysroot, pid, "tidb-server", &asked);
        assert_true(asked.gomaxprocs_reported);
        server_report_done(&asked.said);
        sysroot->live = false;
        ask(sysroot, pid, "tidb-server", &asked);
        assert_false(asked.gomaxprocs_reported);
        child_end(pid);
}
