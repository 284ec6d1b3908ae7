/* Devices in a small /sys: what they are called, and what those above them tell. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
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
        assert_true(sysfs_to_parent(path));
        assert_string_equal(path, "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.1/net");
        (void)strcpy(path, "devices");
        assert_false(sysfs_to_parent(path));
        assert_string_equal(path, "devices");
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
