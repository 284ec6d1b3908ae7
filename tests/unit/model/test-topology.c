/* Questions about a machine with gaps in its numbers, a memory-only node and odd distances. */
#include "../../support/id-sets.h"
#include "../../support/test.h"

#include "tidbnumad/model/topology.h"

TEST(sparse_machine) {
        Node nodes[3] = { { .id = 0 }, { .id = 33 }, { .id = 72, .memory_bytes = 1 } };
        uint16_t distances[9] = { 10, 16, 22, 16, 10, 28, 22, 28, 10 };
        Topology t = { .nodes = nodes, .n_nodes = 3, .distances = distances };
        NodeSet some;
        CpuSet cpus;

        nodes[0].cpus = cpu_set("0-3");
        nodes[1].cpus = cpu_set("4-7");
        assert_ids(topology_nodes(&t), "0,33,72");
        assert_ids(topology_memory_nodes(&t), "72");
        assert_ids(topology_cpus(&t), "0-7");
        some = node_set("33,72");
        assert_ids(topology_cpus_of(&t, &some), "4-7");
        cpus = cpu_set("3,4");
        assert_ids(topology_nodes_of(&t, &cpus), "0,33");
        assert_null(topology_find(&t, 1));
        assert_ptr_equal(topology_find(&t, 72), &nodes[2]);
        assert_int_equal(topology_distance(&t, 33, 72), 28);
        assert_int_equal(topology_distance(&t, 1, 1), 10);
        assert_int_equal(topology_distance(&t, 0, 1), 20);
}

/* --- Lists of devices, their order, and the nodes of the host's network cards --- */

static void add(DeviceList *list, DeviceKind kind, const char *name, const char *master, int node,
                bool default_route) {
        Device device = {
                .kind = kind,
                .name = strdup(name),
                .master = master ? strdup(master) : NULL,
                .node = node,
                .default_route = default_route,
        };

        assert_int_equal(device_list_add(list, &device), 0);
        assert_null(device.name); /* taken over */
}

TEST(names_in_order) {
        static const char *const ascending[] = {
                "",
                "a",
                "eth",
                "eth0",
                "eth01",
                "eth1",
                "eth2",
                "eth10",
                "eth10.5",
                "eth10.40",
                "ethernet",
                "nvme0n1",
                "nvme0n2",
                "nvme0n10",
                "nvme2n1",
                "nvme10n1",
                "sda",
                "sdaa",
                "x9",
                "x99999999999999999999998",
                "x99999999999999999999999",
        };

        for (size_t i = 0; i < ELEMENTSOF(ascending); i++)
                for (size_t j = 0; j < ELEMENTSOF(ascending); j++) {
                        int order = device_name_compare(ascending[i], ascending[j]);

                        assert_int_equal(order > 0   ? 1
                                         : order < 0 ? -1
                                                     : 0,
                                         i > j   ? 1
                                         : i < j ? -1
                                                 : 0);
                }
}

TEST(a_list_is_sorted) {
        static const char *const expected[] = { "eth2", "eth10", "sda", "eth0", "nvme2n1", "sda" };
        _cleanup_device_list_ DeviceList list = { 0 };

        add(&list, DEVICE_DISK, "sda", NULL, 1, false);
        add(&list, DEVICE_NET, "eth10", NULL, 0, false);
        add(&list, DEVICE_DISK, "nvme2n1", NULL, 1, false);
        add(&list, DEVICE_NET, "sda", NULL, 2, false);
        add(&list, DEVICE_DISK, "eth0", NULL, 1, false);
        add(&list, DEVICE_NET, "eth2", NULL, 0, false);
        assert_int_equal(list.n_devices, ELEMENTSOF(expected));
        for (size_t i = 0; i < list.n_devices; i++) {
                assert_string_equal(list.devices[i].name, expected[i]);
                assert_int_equal(list.devices[i].kind, i < 3 ? DEVICE_NET : DEVICE_DISK);
        }
        assert_ptr_equal(device_list_find(&list, DEVICE_NET, "sda"), &list.devices[2]);
        assert_ptr_equal(device_list_find(&list, DEVICE_DISK, "sda"), &list.devices[5]);
        assert_null(device_list_find(&list, DEVICE_DISK, "eth2"));
        assert_null(device_list_find(&list, DEVICE_NET, "eth"));
}

TEST(nodes_of_the_cards) {
        static const char *const bond[] = { "bond0" }, *const several[] = { "eth2", "eth3", "no" };
        static const char *const disk[] = { "nvme0n1" };
        _cleanup_device_list_ DeviceList list = { 0 };

        assert_ids(device_nic_nodes(&list, NULL, 0), "");
        add(&list, DEVICE_NET, "bond0", NULL, DEVICE_NODE_UNKNOWN, true);
        add(&list, DEVICE_NET, "eth0", "bond0", 1, true);
        add(&list, DEVICE_NET, "eth1", "bond0", 5, true);
        add(&list, DEVICE_NET, "eth2", NULL, 2, false);
        add(&list, DEVICE_NET, "eth3", NULL, DEVICE_NODE_UNKNOWN, false);
        add(&list, DEVICE_DISK, "nvme0n1", NULL, 7, true);
        assert_ids(device_nic_nodes(&list, NULL, 0), "1,5");
        assert_ids(device_nic_nodes(&list, bond, 1), "1,5");
        assert_ids(device_nic_nodes(&list, several, 3), "2");
        assert_ids(device_nic_nodes(&list, disk, 1), "");
}

/* R12: the card of an instance's own node, where there is a choice. */
TEST(card_of_a_node) {
        static const char *const three[] = { "eth0", "eth1", "bond0" };
        const NodeSet node[] = { node_set("0"), node_set("1-2"), node_set("5"), node_set("7") };
        _cleanup_device_list_ DeviceList list = { 0 };

        add(&list, DEVICE_NET, "eth0", NULL, 0, true);
        add(&list, DEVICE_NET, "eth1", NULL, 2, false);
        add(&list, DEVICE_NET, "eth5", "bond0", 5, false);
        assert_string_equal(device_nic_of(&list, three, 3, &node[0])->name, "eth0");
        assert_string_equal(device_nic_of(&list, three, 3, &node[1])->name, "eth1");
        assert_null(device_nic_of(&list, three, 3, &node[2])); /* a bond has one address */
        assert_null(device_nic_of(&list, three, 3, &node[3]));
        assert_null(device_nic_of(&list, three, 1, &node[0])); /* nothing to choose */
        assert_null(device_nic_of(&list, NULL, 0, &node[0]));
}
