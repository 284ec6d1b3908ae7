/* Which port a server is asked at, that no other process is asked in its place, and its answer. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/port-list.h"
#include "../../support/test.h"

#include "tidbnumad/ctl/ask.h"

#define PORT(product, args) ask_port_of(product, args, sizeof(args) - 1)

TEST(port) {
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0-P\0"
                                            "4000\0"),
                         10080);
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0--status=10081\0-P\0"
                                            "4001\0"),
                         10081);
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0-status\0"
                                            "10082\0"),
                         10082);
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0--status-host=h:1\0"), 10080);
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0--status=off\0"), 0);
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0--status=123456\0"), 0);
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0--status=12345678901\0"), 0);
        assert_int_equal(PORT(PRODUCT_TIDB, "tidb-server\0--status\0"), 10080);
        assert_int_equal(PORT(PRODUCT_TIDB, ""), 10080);
        assert_int_equal(PORT(PRODUCT_PD, "pd-server\0--name=pd\0"), 2379);
        assert_int_equal(PORT(PRODUCT_PD, "pd-server\0--client-urls=http://0.0.0.0:12379\0"),
                         12379);
        assert_int_equal(PORT(PRODUCT_PD, "pd-server\0--client-urls\0http://h:1,http://h:2\0"), 1);
        assert_int_equal(PORT(PRODUCT_TIKV, "tikv-server\0--status=10080\0"), 0);
        assert_int_equal(PORT(PRODUCT_OTHER, "x\0--status=10080\0"), 0);
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
