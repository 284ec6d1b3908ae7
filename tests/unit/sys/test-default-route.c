/* The default route's interface, from the kernel's text files. */
#include <errno.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/network.h"

#define HEAD "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

static void assert_route(const char *text, const char *expected) {
        char name[IF_NAMESIZE] = "untouched";

        assert_int_equal(default_route_parse(text, name), expected ? 0 : -ENOENT);
        assert_string_equal(name, expected ? expected : "untouched");
}

static void assert_route6(const char *text, const char *expected) {
        char name[IF_NAMESIZE] = "untouched";

        assert_int_equal(default_route6_parse(text, name), expected ? 0 : -ENOENT);
        assert_string_equal(name, expected ? expected : "untouched");
}

TEST(lowest_metric) {
        assert_route(HEAD "eth0\t000A0A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
                          "eth1\t00000000\t010A0A0A\t0003\t0\t0\t200\t00000000\t0\t0\t0\n"
                          "bond0.100\t00000000\t010A0A0A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                          "eth3\t00000000\t010A0A0A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n",
                     "bond0.100");
        /* 4294967295 is the worst of all, though the kernel prints it as -1. */
        assert_route("eth1\t00000000\t010A0A0A\t0003\t0\t0\t-1\t00000000\t0\t0\t0\n"
                     "eth2\t00000000\t010A0A0A\t0003\t0\t0\t7\t00000000\t0\t0\t0\n",
                     "eth2");
}

TEST(routes_that_do_not_count) {
        assert_route("", NULL);
        assert_route(HEAD, NULL);
        assert_route("eth0\t00000000\t0\t0002\t0\t0\t0\t00000000\t0\t0\t0\n", NULL); /* down */
        assert_route("eth0\t00000000\t0\t0201\t0\t0\t0\t00000000\t0\t0\t0\n", NULL); /* refuses */
        assert_route("*\t00000000\t0\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", NULL);
        assert_route("lo\t00000000\t0\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", NULL);
        assert_route("..\t00000000\t0\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", NULL);
        assert_route("a/b\t00000000\t0\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", NULL);
        /* Half of the world, as VPNs route it. */
        assert_route("tun0\t00000000\t0\t0001\t0\t0\t0\t00000080\t0\t0\t0\n", NULL);
        assert_route("sixteenletters16\t00000000\t0\t0001\t0\t0\t0\t00000000\t0\t0\t0\n", NULL);
}

#define ZERO "00000000000000000000000000000000"
#define GATE "fe800000000000000000000000000001"

TEST(ipv6) {
        assert_route6("fe800000000000000000000000000000 40 " ZERO " 00 " ZERO
                      " 00000100 00000001 00000000 00000001     eth0\n" ZERO " 00 " ZERO " 00 " GATE
                      " 00000400 00000001 00000000 00450003     eth1\n" ZERO " 00 " ZERO " 00 " GATE
                      " 00000064 00000001 00000000 00000003     eth2\n" ZERO " 00 " ZERO " 00 " ZERO
                      " ffffffff 00000001 00000000 00200200       lo\n",
                      "eth2");
        assert_route6(ZERO " 00 " ZERO " 00 " ZERO
                           " ffffffff 00000001 00000000 00200200       lo\n",
                      NULL);
        assert_route6(ZERO " 00 " ZERO " 00 " ZERO " 00000001 0 0 00000201 eth0\n", NULL);
        /* From some addresses only. */
        assert_route6(ZERO " 00 " GATE " 40 " GATE " 00000001 0 0 00000003 eth0\n", NULL);
        assert_route6(ZERO " 01 " ZERO " 00 " GATE " 00000001 0 0 00000003 eth0\n", NULL);
}

FAKE_TEST(ipv4_before_ipv6) {
        char name[IF_NAMESIZE];

        assert_int_equal(default_route_read(&tree->sysroot, name), -ENOENT);
        fake_write(tree, "proc/net/ipv6_route",
                   ZERO " 00 " ZERO " 00 " GATE " 00000001 0 0 00000003 eth6\n");
        assert_int_equal(default_route_read(&tree->sysroot, name), 0);
        assert_string_equal(name, "eth6");
        fake_write(tree, "proc/net/route", HEAD);
        assert_int_equal(default_route_read(&tree->sysroot, name), 0);
        assert_string_equal(name, "eth6");
        fake_write(tree, "proc/net/route",
                   HEAD "eth4\t00000000\t0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
        assert_int_equal(default_route_read(&tree->sysroot, name), 0);
        assert_string_equal(name, "eth4");
}
