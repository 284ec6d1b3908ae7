/* Which port a server is asked at, and that no other process is asked in its place. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* We stand for a TiDB whose default port is another process's, or nobody's. */
TEST(only_its_own_port) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Member member = { .process.exe = strdup("/opt/tidb-server"), .handle = &handle };
        Observed o = { .members = &member, .n_members = 1 };
        uint16_t own = 4000, port = 7;

        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        assert_int_equal(proc_open(&sysroot, getpid(), &handle), 0);
        o.ports = (ListenPorts){ .ports = &own, .n_ports = 1 };
        assert_int_equal(ask_gomaxprocs(&sysroot, &o, &port), 0);
        assert_int_equal(port, 0);
        own = 10080; /* it says that it listens there: it is asked, and nobody answers, or without
                        it */
        assert_int_equal(ask_gomaxprocs(&sysroot, &o, &port), 0);
        assert_int_equal(port, 10080);
        sysroot.live = false;
        assert_int_equal(ask_gomaxprocs(&sysroot, &o, &port), 0);
        assert_int_equal(port, 0);
        free(member.process.exe);
}
