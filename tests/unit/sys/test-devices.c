/* Devices in a small /sys: what they are called, and what those above them tell. */
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/devices.h"

#define ETH0 "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/net/eth0"

FAKE_TEST(resolve) {
        char path[PATH_MAX] = "untouched";

        fake_mkdir(tree, "sys/" ETH0);
        fake_mkdir(tree, "elsewhere");
        fake_link(tree, "sys/class/net/eth0", "../../" ETH0);
        fake_link(tree, "sys/class/net/out", "../../../elsewhere");
        fake_mkdir(tree, "sys-too/x");
        fake_link(tree, "sys/class/net/near", "../../../sys-too/x");
        fake_write(tree, "sys/class/net/bonding_masters", "\n");
        assert_int_equal(sysfs_resolve(&tree->sysroot, path, "class/net/out"), -EXDEV);
        assert_int_equal(sysfs_resolve(&tree->sysroot, path, "class/net/near"), -EXDEV);
        assert_int_equal(sysfs_resolve(&tree->sysroot, path, "class/net/none"), -ENOENT);
        assert_int_equal(sysfs_resolve(&tree->sysroot, path, "class/net/bonding_masters"), -ENOENT);
        assert_string_equal(path, "untouched");
        assert_int_equal(sysfs_resolve(&tree->sysroot, path, "class/net/eth0"), 0);
        assert_string_equal(path, ETH0);
        assert_string_equal(basename(path), "eth0");
}

FAKE_TEST(node_of_the_nearest_that_tells) {
        fake_mkdir(tree, "sys/" ETH0);
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), -1);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/numa_node", "7\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), 7);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/numa_node", "-1\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), 7);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/numa_node", "99999\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), 7);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/numa_node", "3\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), 3);
}

/* "Near all CPUs" is no news; "near some of one node" is. */
FAKE_TEST(node_by_near_cpus) {
        fake_mkdir(tree, "sys/" ETH0);
        fake_write(tree, "sys/devices/system/cpu/online", "0-15\n");
        fake_write(tree, "sys/devices/system/node/online", "0,4\n");
        fake_write(tree, "sys/devices/system/node/node0/cpulist", "0-7\n");
        fake_write(tree, "sys/devices/system/node/node4/cpulist", "8-15\n");
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/local_cpulist", "0-15\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), -1);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/local_cpulist", "7-8\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), -1);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/local_cpulist", "\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), -1);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/local_cpulist", "64-71\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), -1);
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/local_cpulist", "8-11,90\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), 4);
        /* On a machine of one node it is no news either. */
        fake_write(tree, "sys/devices/system/node/node4/cpulist", "0-15\n");
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/local_cpulist", "0-15\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), -1);
        /* A number that is given comes first. */
        fake_write(tree, "sys/devices/pci0000:3a/0000:3a:00.0/numa_node", "0\n");
        assert_int_equal(sysfs_node(&tree->sysroot, ETH0), 0);
}

/* A driver may give the device of its class a node that nobody set: NVMe of RHEL 8.1 reports 0. */
FAKE_TEST(node_of_a_class_does_not_count) {
        static const char pci[] = "devices/pci0000:c0/0000:c1:00.0";
        static const char *const classes[] = { "nvme/nvme0", "infiniband/mlx5_0", "net/eth0",
                                               "nvme/0000:ff:00.0" };

        fake_write(tree, "sys/devices/system/cpu/online", "0-15\n");
        fake_write(tree, "sys/devices/system/node/online", "0,4\n");
        fake_write(tree, "sys/devices/system/node/node0/cpulist", "0-7\n");
        fake_write(tree, "sys/devices/system/node/node4/cpulist", "8-15\n");
        fake_write(tree, fmt("sys/%s/numa_node", pci), "6\n");
        for (size_t i = 0; i < ELEMENTSOF(classes); i++) {
                char path[128];

                (void)snprintf(path, sizeof(path), "%s/%s", pci, classes[i]);
                fake_write(tree, fmt("sys/%s/numa_node", path), "0\n");
                fake_write(tree, fmt("sys/%s/local_cpulist", path), "0-3\n");
                if (i != 1) /* a dump may lack the link */
                        fake_link(tree, fmt("sys/%s/subsystem", path), "../../../../../class/any");
                assert_int_equal(sysfs_node(&tree->sysroot, fmt("%s/nvme0n1", path)), 6);
                assert_int_equal(sysfs_node(&tree->sysroot, path), 6);
        }
        /* What the firmware does not report, no class does, by number or by CPUs. */
        fake_write(tree, fmt("sys/%s/numa_node", pci), "-1\n");
        assert_int_equal(sysfs_node(&tree->sysroot, fmt("%s/nvme/nvme0/nvme0n1", pci)), -1);
        fake_write(tree, "sys/devices/virtual/nvme-fabrics/ctl/nvme1/numa_node", "0\n");
        fake_link(tree, "sys/devices/virtual/nvme-fabrics/ctl/nvme1/subsystem",
                  "../../../../../class/nvme");
        assert_int_equal(
                sysfs_node(&tree->sysroot, "devices/virtual/nvme-fabrics/ctl/nvme1/nvme1n1"), -1);
}

/* Other buses than PCI have nodes as well. */
FAKE_TEST(node_of_any_bus) {
        static const char vmbus[] = "devices/LNXSYSTM:00/VMBUS:00/f8b3781a-1e82-4818-a1c3-63d806ec";
        static const char pmem[] = "devices/LNXSYSTM:00/ndbus0/region0/namespace0.0";

        fake_write(tree, fmt("sys/%s/numa_node", vmbus), "2\n");
        fake_link(tree, fmt("sys/%s/subsystem", vmbus), "../../../../bus/vmbus");
        assert_int_equal(sysfs_node(&tree->sysroot, fmt("%s/net/eth0", vmbus)), 2);
        fake_write(tree, fmt("sys/%s/numa_node", pmem), "5\n");
        fake_link(tree, fmt("sys/%s/subsystem", pmem), "../../../../../bus/nd");
        assert_int_equal(sysfs_node(&tree->sysroot, fmt("%s/block/pmem0", pmem)), 5);
}

FAKE_TEST(driver) {
        _cleanup_free_ char *own = NULL, *above = NULL;
        char *none = NULL;

        fake_mkdir(tree, "sys/" ETH0);
        assert_int_equal(sysfs_driver(&tree->sysroot, ETH0, &none), -ENOENT);
        fake_link(tree, "sys/devices/pci0000:3a/0000:3a:00.0/driver", "../../bus/pci/pcieport");
        assert_int_equal(sysfs_driver(&tree->sysroot, ETH0, &above), 0);
        assert_string_equal(above, "pcieport");
        fake_link(tree, "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/driver",
                  "../../../bus/pci/drivers/mlx5_core");
        assert_int_equal(sysfs_driver(&tree->sysroot, ETH0, &own), 0);
        assert_string_equal(own, "mlx5_core");
        fake_write(tree, "sys/" ETH0 "/file", "x");
        assert_int_equal(path_read_link_name(tree->sysroot.sys_fd, &none, ETH0 "/file"), -ENOENT);
        assert_null(none);
}

TEST(pci) {
        char pci[SYSFS_PCI_MAX] = "untouched";

        assert_int_equal(sysfs_pci("devices/virtual/net/bond0", pci), -ENOENT);
        assert_int_equal(sysfs_pci("devices/pci0000:00", pci), -ENOENT);
        assert_int_equal(sysfs_pci("devices/0000:00:03.0.1/x", pci), -ENOENT);
        assert_int_equal(sysfs_pci("devices/000:00:03.0", pci), -ENOENT);
        assert_int_equal(sysfs_pci("devices/4:0:0:0", pci), -ENOENT);
        assert_string_equal(pci, "untouched");
        assert_int_equal(sysfs_pci(ETH0, pci), 0);
        assert_string_equal(pci, "0000:3b:00.1");
        assert_int_equal(sysfs_pci("devices/pci0000:00/0000:00:1f.2/ata1/host4/4:0:0:0", pci), 0);
        assert_string_equal(pci, "0000:00:1f.2");
        assert_int_equal(sysfs_pci("devices/pci10000:00/10000:01:00.0/nvme/nvme0", pci), 0);
        assert_string_equal(pci, "10000:01:00.0");
}

/* --- the default route's interface, from the kernel's text files --- */

#define HEAD "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"

static void assert_route(const char *text, const char *expected) {
        char name[INTERFACE_NAME_SIZE] = "untouched";

        assert_int_equal(default_route_parse(text, name), expected ? 0 : -ENOENT);
        assert_string_equal(name, expected ? expected : "untouched");
}

static void assert_route6(const char *text, const char *expected) {
        char name[INTERFACE_NAME_SIZE] = "untouched";

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
        char name[INTERFACE_NAME_SIZE];

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

/* --- the address of an interface of this host --- */

TEST(of_the_loopback) {
        char address[ADDRESS_TEXT_SIZE] = "";
        int r = interface_address_read("lo", address);

        if (r == -ENODATA)
                skip(); /* a network namespace whose loopback is down */
        assert_int_equal(r, 0);
        assert_true(strcmp(address, "127.0.0.1") == 0 || strcmp(address, "::1") == 0);
}

TEST(of_none) {
        char address[ADDRESS_TEXT_SIZE] = "as it was";

        assert_int_equal(interface_address_read("no-such-card", address), -ENODATA);
        assert_string_equal(address, "as it was");
}

/* --- which messages of rtnetlink cause interrupts to be read --- */

typedef struct Message {
        _Alignas(struct nlmsghdr) char bytes[512];
} Message;

static struct nlmsghdr *head(Message *m) {
        return (struct nlmsghdr *)m->bytes;
}

static void begin(Message *m, uint16_t type) {
        memset(m, 0, sizeof(*m));
        head(m)->nlmsg_type = type;
        head(m)->nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg));
}

/* Where `content` is NULL, of so many bytes that follow later. */
static struct rtattr *add(Message *m, unsigned short type, const char *content, size_t size) {
        struct rtattr *a = (struct rtattr *)(m->bytes + NLMSG_ALIGN(head(m)->nlmsg_len));

        a->rta_type = type;
        a->rta_len = (unsigned short)RTA_LENGTH(size);
        if (content)
                memcpy(RTA_DATA(a), content, size);
        head(m)->nlmsg_len =
                NLMSG_ALIGN(head(m)->nlmsg_len) + (content ? a->rta_len : RTA_LENGTH(0));
        return a;
}

static bool counts(const Message *m) {
        return link_event_counts(m->bytes, ((const struct nlmsghdr *)m->bytes)->nlmsg_len);
}

static void card(Message *m) {
        begin(m, RTM_NEWLINK);
        (void)add(m, IFLA_IFNAME, "eth0", 5);
        (void)add(m, IFLA_MTU, "1234", 4);
}

/* A link of software, as a veth or a bridge is. */
static void software(Message *m, unsigned short flag) {
        card(m);
        (void)add(m, IFLA_LINKINFO | flag, NULL, RTA_LENGTH(5));
        (void)add(m, IFLA_INFO_KIND, "veth", 5);
}

TEST(cards) {
        Message m;

        card(&m);
        assert_true(counts(&m));
        head(&m)->nlmsg_type = RTM_DELLINK;
        assert_true(counts(&m));
        card(&m); /* a card in a bond is of no kind, but of a slave's */
        (void)add(&m, IFLA_LINKINFO, NULL, RTA_LENGTH(5));
        (void)add(&m, IFLA_INFO_SLAVE_KIND, "bond", 5);
        assert_true(counts(&m));
}

TEST(software) {
        Message m;

        software(&m, 0);
        assert_false(counts(&m));
        software(&m, NLA_F_NESTED);
        assert_false(counts(&m));
        head(&m)->nlmsg_type = RTM_DELLINK;
        assert_false(counts(&m));
        head(&m)->nlmsg_type = NLMSG_OVERRUN; /* something was lost */
        assert_true(counts(&m));
}

/* Cut off anywhere, or of wrong lengths: it counts, and nothing behind its end is read. */
TEST(broken) {
        Message m;
        size_t size;

        software(&m, 0);
        size = head(&m)->nlmsg_len;
        for (size_t n = 0; n < size; n++) {
                char *exact = malloc(n + 1);

                assert_non_null(exact);
                memcpy(exact, m.bytes, n);
                assert_true(link_event_counts(exact, n));
                free(exact);
        }
        head(&m)->nlmsg_len = (uint32_t)size + 1;
        assert_true(link_event_counts(m.bytes, size));
        head(&m)->nlmsg_len = 3;
        assert_true(link_event_counts(m.bytes, size));
        for (size_t at = NLMSG_LENGTH(sizeof(struct ifinfomsg)); at < size; at++) {
                software(&m, 0);
                m.bytes[at] = (char)0xff;
                (void)link_event_counts(m.bytes, size);
        }
}

/* One that counts among those that do not. */
TEST(drain) {
        int fds[2];
        Message m;

        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        assert_false(link_events_drain(fds[0]));
        software(&m, 0);
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        assert_false(link_events_drain(fds[0]));
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        card(&m);
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        software(&m, 0);
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        assert_true(link_events_drain(fds[0]));
        assert_false(link_events_drain(fds[0])); /* all of it was read */
        closep(&fds[0]);
        closep(&fds[1]);
}

TEST(open) {
        int fd = -EBADF;

        if (link_events_open(&fd) < 0)
                skip();
        (void)link_events_drain(fd);
        closep(&fd);
}
