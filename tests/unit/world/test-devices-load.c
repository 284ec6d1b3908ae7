/* Network cards and disks of fake machines, and of this one. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "fake-devices.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/world/devices.h"
#include "tidbnumad/world/topology-hwloc.h"

static void assert_devices(const FakeTree *tree, const char *expected) {
        _cleanup_device_list_ DeviceList list = { 0 };
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(devices_load(&tree->sysroot, &list), 0);
        text_append(&text, "");
        for (size_t i = 0; i < list.n_devices; i++) {
                device_note_render(&list.devices[i], &text);
                text_append(&text, "\n");
        }
        assert_string_equal(text.data, expected);
}

/* --- network cards -------------------------------------------------------------------------- */

static void route_over(const FakeTree *tree, const char *interface) {
        fake_write(tree, "proc/net/route",
                   fmt("%s\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\n", interface));
}

FAKE_TEST(a_machine_without_anything) {
        assert_devices(tree, "");
}

FAKE_TEST(cards) {
        fake_card(tree, "eth10", "0000:3b:00.0", "1\n");
        fake_card(tree, "eth2", "0000:1a:00.0", "-1\n");
        fake_device_file(tree, "pci0000:00/0000:3b:00.0/net/eth10", "speed", "100000\n");
        fake_device_file(tree, "pci0000:00/0000:1a:00.0/net/eth2", "speed", "-1\n");
        fake_device(tree, "net", "virtual/net/lo");
        fake_device(tree, "net", "virtual/net/veth1");
        fake_device(tree, "net", "virtual/net/tun0");
        fake_write(tree, "sys/class/net/bonding_masters", "bond0\n");
        assert_devices(tree, "net eth2 pci=0000:1a:00.0 driver=ice\n"
                             "net eth10 node=1 pci=0000:3b:00.0 driver=ice speed=100000\n");
        route_over(tree, "eth10");
        assert_devices(tree, "net eth2 pci=0000:1a:00.0 driver=ice\n"
                             "net eth10 node=1 pci=0000:3b:00.0 driver=ice speed=100000 "
                             "default-route\n");
        /* As some drivers say that there is no link. */
        fake_device_file(tree, "pci0000:00/0000:3b:00.0/net/eth10", "speed", "4294967295\n");
        route_over(tree, "tun0");
        assert_devices(tree, "net eth2 pci=0000:1a:00.0 driver=ice\n"
                             "net eth10 node=1 pci=0000:3b:00.0 driver=ice\n");
}

#define ETH0 "pci0000:00/0000:3b:00.0/net/eth0"
#define ETH1 "pci0000:00/0000:86:00.0/net/eth1"
#define ETH2 "pci0000:00/0000:87:00.0/net/eth2"

static void add_bond(const FakeTree *tree) {
        fake_card(tree, "eth0", "0000:3b:00.0", "0\n");
        fake_card(tree, "eth1", "0000:86:00.0", "4\n");
        fake_card(tree, "eth2", "0000:87:00.0", "5\n");
        fake_device(tree, "net", "virtual/net/bond0");
        fake_device_file(tree, "virtual/net/bond0", "bonding/slaves", "eth0 eth1\n");
        fake_device_file(tree, "virtual/net/bond0", "speed", "50000\n");
        fake_device_link(tree, "virtual/net/bond0", "lower_eth0", "../../../" ETH0);
        fake_device_link(tree, "virtual/net/bond0", "lower_eth1", "../../../" ETH1);
        fake_device_link(tree, ETH0, "master", "../../../../virtual/net/bond0");
        fake_device_link(tree, ETH1, "master", "../../../../virtual/net/bond0");
}

FAKE_TEST(bond) {
        add_bond(tree);
        route_over(tree, "bond0");
        assert_devices(tree,
                       "net bond0 speed=50000 default-route\n"
                       "net eth0 node=0 pci=0000:3b:00.0 driver=ice master=bond0 default-route\n"
                       "net eth1 node=4 pci=0000:86:00.0 driver=ice master=bond0 default-route\n"
                       "net eth2 node=5 pci=0000:87:00.0 driver=ice\n");
        /* Members that agree, or of which one is known, give the bond a node. */
        fake_device_file(tree, "pci0000:00/0000:3b:00.0", "numa_node", "-1\n");
        assert_devices(tree,
                       "net bond0 node=4 speed=50000 default-route\n"
                       "net eth0 pci=0000:3b:00.0 driver=ice master=bond0 default-route\n"
                       "net eth1 node=4 pci=0000:86:00.0 driver=ice master=bond0 default-route\n"
                       "net eth2 node=5 pci=0000:87:00.0 driver=ice\n");
}

/* br0 on bond0.100 on bond0 on two cards, as virtualisation hosts have it; a guest's tap is on the
 * bridge as well. */
FAKE_TEST(default_route_through_bridge_vlan_and_bond) {
        add_bond(tree);
        fake_device(tree, "net", "virtual/net/bond0.100");
        fake_device_link(tree, "virtual/net/bond0.100", "lower_bond0", "../bond0");
        fake_device(tree, "net", "virtual/net/vnet0");
        fake_device_link(tree, "virtual/net/vnet0", "master", "../br0");
        fake_device(tree, "net", "virtual/net/br0");
        fake_mkdir(tree, "sys/devices/virtual/net/br0/bridge");
        fake_device_link(tree, "virtual/net/br0", "lower_bond0.100", "../bond0.100");
        fake_device_link(tree, "virtual/net/br0", "lower_vnet0", "../vnet0");
        route_over(tree, "br0");
        assert_devices(tree,
                       "net bond0 speed=50000 default-route\n"
                       "net eth0 node=0 pci=0000:3b:00.0 driver=ice master=bond0 default-route\n"
                       "net eth1 node=4 pci=0000:86:00.0 driver=ice master=bond0 default-route\n"
                       "net eth2 node=5 pci=0000:87:00.0 driver=ice\n");
        /* No real /sys has a circle. */
        fake_device_link(tree, "virtual/net/bond0", "lower_br0", "../br0");
        assert_devices(tree,
                       "net bond0 speed=50000 default-route\n"
                       "net eth0 node=0 pci=0000:3b:00.0 driver=ice master=bond0 default-route\n"
                       "net eth1 node=4 pci=0000:86:00.0 driver=ice master=bond0 default-route\n"
                       "net eth2 node=5 pci=0000:87:00.0 driver=ice\n");
}

/* A bridge is nobody's bond, nor is a VRF, whose ports keep their own addresses. */
FAKE_TEST(masters) {
        fake_card(tree, "eth0", "0000:3b:00.0", "0\n");
        fake_card(tree, "eth1", "0000:86:00.0", "4\n");
        fake_card(tree, "eth2", "0000:87:00.0", "5\n");
        fake_device(tree, "net", "virtual/net/br0");
        fake_mkdir(tree, "sys/devices/virtual/net/br0/bridge");
        fake_device_file(tree, "virtual/net/br0", "address", "02:00:00:00:00:01\n");
        fake_device_link(tree, ETH0, "master", "../../../../virtual/net/br0");
        fake_device(tree, "net", "virtual/net/vrf0");
        fake_device_file(tree, "virtual/net/vrf0", "address", "02:00:00:00:00:99\n");
        fake_device_link(tree, ETH1, "master", "../../../../virtual/net/vrf0");
        fake_device(tree, "net", "virtual/net/team0");
        fake_device_file(tree, "virtual/net/team0", "address", "02:00:00:00:00:01\n");
        fake_device_link(tree, ETH2, "master", "../../../../virtual/net/team0");
        route_over(tree, "team0");
        assert_devices(tree, "net eth0 node=0 pci=0000:3b:00.0 driver=ice\n"
                             "net eth1 node=4 pci=0000:86:00.0 driver=ice\n"
                             "net eth2 node=5 pci=0000:87:00.0 driver=ice master=team0 "
                             "default-route\n"
                             "net team0 node=5 default-route\n");
        /* Gone while it was read: a link to nothing, and one whose name is not its folder's. */
        fake_device_link(tree, ETH1, "master", "../../../../virtual/net/gone");
        fake_link(tree, "sys/class/net/alias", "../../devices/virtual/net/team0");
        fake_device_link(tree, ETH0, "master", "alias");
        assert_devices(tree, "net alias node=0\n"
                             "net eth0 node=0 pci=0000:3b:00.0 driver=ice master=alias\n"
                             "net eth1 node=4 pci=0000:86:00.0 driver=ice\n"
                             "net eth2 node=5 pci=0000:87:00.0 driver=ice master=team0 "
                             "default-route\n"
                             "net team0 node=5 default-route\n");
}

/* On Hyper-V the virtual function is below the card that the guest uses. */
FAKE_TEST(virtual_functions) {
        fake_card(tree, "eth0", "0000:3b:00.0", "0\n");
        fake_card(tree, "eth1", "0000:86:00.0", "4\n");
        fake_device_link(tree, ETH1, "device", "../..");
        fake_device_link(tree, "pci0000:00/0000:86:00.0", "physfn", "../0000:3b:00.0");
        fake_device_link(tree, ETH1, "master", "../../../" ETH0);
        route_over(tree, "eth0");
        assert_devices(tree, "net eth0 node=0 pci=0000:3b:00.0 driver=ice default-route\n"
                             "net eth1 node=4 pci=0000:86:00.0 driver=ice master=eth0 "
                             "default-route virtual-function\n");
}

/* --- disks ---------------------------------------------------------------------------------- */

FAKE_TEST(disks) {
        static const char *const others[] = {
                "virtual/block/loop0",
                "virtual/block/ram0",
                "virtual/block/dm-0",
                "virtual/block/md127",
                "virtual/block/zram0",
                "virtual/block/nbd0",
                "pci0000:00/0000:00:1f.2/ata2/block/sr0",
                "platform/floppy.0/block/fd0",
        };

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                fake_block(tree, others[i], "9:9\n");
        fake_device_file(tree, "pci0000:3a/0000:3b:00.0", "numa_node", "3\n");
        fake_device_link(tree, "pci0000:3a/0000:3b:00.0", "driver", "../../bus/pci/drivers/nvme");
        fake_block(tree, "pci0000:3a/0000:3b:00.0/nvme/nvme10/nvme10n1", "259:0\n");
        fake_device_file(tree, "pci0000:3a/0000:3b:00.0/nvme/nvme10/nvme10n1", "size", "2048\n");
        fake_block(tree, "pci0000:3a/0000:3b:00.0/nvme/nvme10/nvme10n1/nvme10n1p1", "259:1\n");
        fake_device_file(tree, "pci0000:3a/0000:3b:00.0/nvme/nvme10/nvme10n1/nvme10n1p1",
                         "partition", "1\n");
        fake_device_file(tree, "pci0000:00/0000:00:05.0", "numa_node", "0\n");
        fake_device_link(tree, "pci0000:00/0000:00:05.0/virtio2", "driver", "../virtio_blk");
        fake_block(tree, "pci0000:00/0000:00:05.0/virtio2/block/vda", "254:0\n");
        fake_device_file(tree, "pci0000:00/0000:00:1f.2", "numa_node", "-1\n");
        fake_block(tree, "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",
                   "8:0\n");
        /* A dump may lack the file that marks a partition. */
        fake_block(tree, "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1",
                   "8:1\n");
        assert_devices(tree, "disk nvme10n1 node=3 pci=0000:3b:00.0 driver=nvme size=1048576 nvme\n"
                             "disk sda pci=0000:00:1f.2\n"
                             "disk vda node=0 pci=0000:00:05.0 driver=virtio_blk\n");
}

#define SUBSYSTEM "virtual/nvme-subsystem/nvme-subsys0"

static void add_controller(const FakeTree *tree, const char *name, const char *pci,
                           const char *node) {
        char path[256];

        (void)snprintf(path, sizeof(path), "pci0000:00/%s", pci);
        fake_device_file(tree, path, "numa_node", node);
        fake_device_link(tree, path, "driver", "../../bus/pci/drivers/nvme");
        fake_mkdir(tree, fmt("sys/devices/pci0000:00/%s/nvme/%s", pci, name));
        (void)snprintf(path, sizeof(path), "pci0000:00/%s/nvme/%s/%sc%sn1", pci, name, "nvme0",
                       name + 4);
        fake_block(tree, path, "0:0\n");
        fake_device_file(tree, path, "hidden", "1\n");
        fake_device_link(tree, SUBSYSTEM, name, fmt("../../../pci0000:00/%s/nvme/%s", pci, name));
}

FAKE_TEST(nvme_multipath) {
        fake_block(tree, SUBSYSTEM "/nvme0n1", "259:0\n");
        assert_devices(tree, "disk nvme0n1 nvme\n");
        add_controller(tree, "nvme0", "0000:3b:00.0", "-1\n");
        assert_devices(tree, "disk nvme0n1 pci=0000:3b:00.0 driver=nvme nvme\n");
        add_controller(tree, "nvme1", "0000:3c:00.0", "2\n");
        assert_devices(tree, "disk nvme0n1 node=2 driver=nvme nvme\n");
        add_controller(tree, "nvme2", "0000:86:00.0", "2\n");
        assert_devices(tree, "disk nvme0n1 node=2 driver=nvme nvme\n");
        add_controller(tree, "nvme3", "0000:87:00.0", "6\n");
        assert_devices(tree, "disk nvme0n1 driver=nvme nvme\n");
}

/* --- this machine --------------------------------------------------------------------------- */

LIVE_TEST(this_machine) {
        _cleanup_device_list_ DeviceList list = { 0 };

        assert_int_equal(devices_load(sysroot, &list), 0);
        for (size_t i = 0; i < list.n_devices; i++) {
                const Device *device = &list.devices[i];

                assert_int_equal(
                        access(fmt("/sys/%s/%s", device->kind == DEVICE_NET ? "class/net" : "block",
                                   device->name),
                               F_OK),
                        0);
                if (!device->pci)
                        continue;
                assert_int_equal(access(fmt("/sys/bus/pci/devices/%s", device->pci), F_OK), 0);
        }
}
