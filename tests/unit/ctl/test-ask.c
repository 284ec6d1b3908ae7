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

/* This process takes the place of a TiDB whose default port is another process's, or free. */
LIVE_TEST(only_its_own_port) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Member member = { .process.exe = strdup("/opt/tidb-server"), .handle = &handle };
        Observed o = { .members = &member, .n_members = 1 };
        uint16_t own = 4000, port = 7;

        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        o.ports = (ListenPorts){ .ports = &own, .n_ports = 1 };
        assert_int_equal(ask_gomaxprocs(sysroot, &o, &port), 0);
        assert_int_equal(port, 0);
        own = 10080; /* it says that it listens there: it is asked, and there is no answer, or
                        without it */
        assert_int_equal(ask_gomaxprocs(sysroot, &o, &port), 0);
        assert_int_equal(port, 10080);
        sysroot->live = false;
        assert_int_equal(ask_gomaxprocs(sysroot, &o, &port), 0);
        assert_int_equal(port, 0);
        free(member.process.exe);
}

static const char answer[] = "HTTP/1.0 200 OK\r\n\r\ngo_sched_gomaxprocs_threads 48\n";

/* A child that listens at TiDB's default port and answers once; 0: the port is taken. */
static pid_t serve(void) {
        const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(10080) };
        _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char request[512];
        pid_t pid;
        int fd;

        (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
        if (bind(listener, (const void *)&at, sizeof(at)) < 0 || listen(listener, 1) < 0)
                return 0;
        pid = child_fork();
        if (pid > 0)
                return pid;
        (void)alarm(60); /* it ends, also if it is never asked */
        fd = accept(listener, NULL, NULL);
        if (fd < 0 || read(fd, request, sizeof(request)) <= 0)
                _exit(1);
        _exit(write(fd, answer, sizeof(answer) - 1) < 0);
}

LIVE_TEST(a_running_server) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char exe[] = "/opt/tidb-server";
        Member member = { .process.exe = exe, .handle = &handle };
        Observed o = { .members = &member, .n_members = 1 };
        pid_t pid = serve();
        uint16_t port;

        if (pid == 0)
                skip_because("port 10080 is taken here");
        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_int_equal(read_port_list(sysroot, &handle, &o.ports), 0);
        assert_int_equal(ask_gomaxprocs(sysroot, &o, &port), 48);
        assert_int_equal(port, 10080);
        listen_ports_done(&o.ports);
        child_end(pid);
}
