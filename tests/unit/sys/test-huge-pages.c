/* Pools as the kernel shows them, and the file systems whose mappings are huge pages. */
#include "../../support/test.h"

#include <sys/sysmacros.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/node.h"

#define HOST "sys/kernel/mm/hugepages/hugepages-"
#define NODE "sys/devices/system/node/node"

FAKE_TEST(sizes) {
        HugeSize sizes[4] = { 0 };

        assert_int_equal(huge_sizes_read(&tree->sysroot, sizes, 4), 0); /* a kernel without */
        fake_write(tree, HOST "2048kB/nr_hugepages", "40\n");
        fake_write(tree, HOST "2048kB/resv_hugepages", "24\n");
        assert_int_equal(huge_sizes_read(&tree->sysroot, sizes, 4), 1);
        assert_int_equal(sizes[0].page_bytes, 2 << 20);
        assert_int_equal(sizes[0].n_pages, 40);
        assert_int_equal(sizes[0].n_reserved, 24);
        fake_write(tree, HOST "1048576kB/nr_hugepages", "0\n");
        fake_write(tree, HOST "x2048kB/nr_hugepages", "3\n");
        fake_write(tree, HOST "2048kBx/nr_hugepages", "3\n");
        fake_write(tree, HOST "64kB/nr_hugepages", "many\n");
        assert_int_equal(huge_sizes_read(&tree->sysroot, sizes, 4), 2);
        assert_int_equal(huge_sizes_read(&tree->sysroot, sizes, 1), 1);
}

/* The longest of such paths. */
FAKE_TEST(a_node) {
        uint64_t pages = 7, unused = 7;

        assert_int_equal(huge_node_read(&tree->sysroot, 1023, 1 << 30, &pages, &unused), -ENODEV);
        fake_write(tree, NODE "1023/hugepages/hugepages-1048576kB/nr_hugepages", "20\n");
        assert_int_equal(huge_node_read(&tree->sysroot, 1023, 1 << 30, &pages, &unused), -ENODEV);
        assert_int_equal(pages, 7);
        fake_write(tree, NODE "1023/hugepages/hugepages-1048576kB/free_hugepages", "18\n");
        assert_int_equal(huge_node_read(&tree->sysroot, 1023, 1 << 30, &pages, &unused), 0);
        assert_int_equal(pages, 20);
        assert_int_equal(unused, 18);
}

TEST(mounts) {
        HugeDevices devices = { 0 };

        huge_devices_add_mounts(
                &devices,
                "22 1 0:20 / /sys rw shared:7 - sysfs sysfs rw\n"
                "23 1 0:31 / /dev/hugepages rw shared:8 - hugetlbfs hugetlbfs rw,pagesize=2M\n"
                "24 1 0:32 / /mnt/huge rw - hugetlbfs none rw,uid=5,pagesize=1024M,size=2G\n"
                "25 1 0:33 / /mnt/small rw - hugetlbfs none rw,pagesize=64K\n"
                "26 1 0:34 / /mnt/odd rw - hugetlbfs none rw,pagesize=7X\n"
                "27 1 0:35 / /mnt/none rw - hugetlbfs none rw\n"
                "28 1 0:36 / /mnt/tmp rw - tmpfs none rw,pagesize=2M\n"
                "29 1 0:31 / /again rw - hugetlbfs hugetlbfs rw,pagesize=2M\n");
        assert_int_equal(devices.n, 3);
        assert_int_equal(huge_devices_find(&devices, makedev(0, 31)), 2 << 20);
        assert_int_equal(huge_devices_find(&devices, makedev(0, 32)), 1 << 30);
        assert_int_equal(huge_devices_find(&devices, makedev(0, 33)), 64 << 10);
        assert_int_equal(huge_devices_find(&devices, makedev(0, 36)), 0);
        assert_int_equal(huge_devices_find(&devices, 0), 0);
}

TEST(hundreds_of_mounts) {
        static char text[64 * 1024];
        HugeDevices devices = { 0 };
        size_t n = 0;

        for (unsigned i = 0; i < 300; i++)
                n += (size_t)snprintf(text + n, sizeof(text) - n,
                                      "%u 1 0:%u / /m%u rw - hugetlbfs none rw,pagesize=2M\n", i,
                                      i + 1, i);
        huge_devices_add_mounts(&devices, text);
        assert_int_equal(devices.n, HUGE_DEVICES_MAX);
}
