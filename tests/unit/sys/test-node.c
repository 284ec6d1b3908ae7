/* A node's memory, meminfo and zoneinfo, as this host shows them and as larger ones do; the times
 * of CPUs. */
#include <sys/sysmacros.h>

#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/sys/node.h"

/* Linux 6.1, node 3 of eight; the lines that are not read left as decoys. */
static const char meminfo[] = "Node 3 MemTotal:       263931200 kB\n"
                              "Node 3 MemFree:         1234567 kB\n"
                              "Node 3 MemUsed:        262696633 kB\n"
                              "Node 3 SwapCached:            1 kB\n"
                              "Node 3 Active:               11 kB\n"
                              "Node 3 Inactive:             12 kB\n"
                              "Node 3 Active(anon):         13 kB\n"
                              "Node 3 Inactive(anon):       14 kB\n"
                              "Node 3 Active(file):         15 kB\n"
                              "Node 3 Inactive(file):       16 kB\n"
                              "Node 3 Unevictable:          17 kB\n"
                              "Node 3 Dirty:                18 kB\n"
                              "Node 3 Writeback:            19 kB\n"
                              "Node 3 FilePages:            20 kB\n"
                              "Node 3 AnonPages:            23 kB\n"
                              "Node 3 ShmemHugePages:       24 kB\n"
                              "Node 3 Shmem:                25 kB\n"
                              "Node 3 WritebackTmp:         21 kB\n"
                              "Node 3 HugePages_Free:       22\n";

TEST(meminfo) {
        NodeMeminfo m;

        assert_int_equal(node_meminfo_parse(meminfo, &m), 0);
        assert_int_equal(m.total_bytes, UINT64_C(263931200) * 1024);
        assert_int_equal(m.free_bytes, UINT64_C(1234567) * 1024);
        assert_int_equal(m.inactive_file_bytes, 16 * 1024);
        assert_int_equal(m.active_file_bytes, 15 * 1024);
        assert_int_equal(m.dirty_bytes, 18 * 1024);
        assert_int_equal(m.writeback_bytes, 19 * 1024);
        assert_int_equal(m.file_bytes, 20 * 1024);
        assert_int_equal(m.anon_bytes, 23 * 1024);
        assert_int_equal(m.shmem_bytes, 25 * 1024);
}

TEST(meminfo_that_lacks_something) {
        NodeMeminfo m = { .total_bytes = 7 };

        assert_int_equal(node_meminfo_parse("", &m), -EBADMSG);
        assert_int_equal(node_meminfo_parse("Node 0 MemTotal: 5 kB\n", &m), -EBADMSG);
        assert_int_equal(node_meminfo_parse("Node 0 MemFree: 5 kB\n", &m), -EBADMSG);
        assert_int_equal(node_meminfo_parse("Node 0 MemTotal: x kB\nNode 0 MemFree: 5 kB\n", &m),
                         -EBADMSG);
        assert_int_equal(m.total_bytes, 7);
        assert_int_equal(node_meminfo_parse("Node 0 MemTotal: 5 kB\nNode 0 MemFree: 4 kB\n", &m),
                         0);
        assert_int_equal(m.free_bytes, 4096);
        assert_int_equal(m.inactive_file_bytes, 0);
}

FAKE_TEST(meminfo_read) {
        NodeMeminfo m;

        fake_write(tree, "sys/devices/system/node/node3/meminfo", meminfo);
        assert_int_equal(node_meminfo_read(&tree->sysroot, 3, &m), 0);
        assert_int_equal(m.dirty_bytes, 18 * 1024);
        assert_int_equal(node_meminfo_read(&tree->sysroot, 4, &m), -ENODEV);
}

/* The per-CPU `high:` of the page sets, and the words that begin with it, are not watermarks. */
#define PAGESETS                                                                                   \
        "  pagesets\n"                                                                             \
        "    cpu: 0\n"                                                                             \
        "              count:    63\n"                                                             \
        "              high:     100000\n"                                                         \
        "              batch:    63\n"                                                             \
        "              high_min: 200000\n"                                                         \
        "              high_max: 400000\n"                                                         \
        "  vm stats threshold: 24\n"

static const char zoneinfo[] = "Node 0, zone      DMA\n"
                               "  per-node stats\n"
                               "      nr_inactive_anon 406467\n"
                               "  pages free     3840\n"
                               "        boost    0\n"
                               "        min      32\n"
                               "        low      40\n"
                               "        high     48\n"
                               "        promo    56\n"
                               "        spanned  4095\n" PAGESETS "  node_unreclaimable:  0\n"
                               "  start_pfn:           1\n"
                               "Node 0, zone   Normal\n"
                               "  pages free     772434\n"
                               "        high     9684\n" PAGESETS "Node 1, zone   Normal\n"
                               "  pages free     772434\n"
                               "        high     7000\n" PAGESETS "Node 1, zone  Movable\n"
                               "  pages free     0\n"
                               "        high     300\n"
                               "Node 11, zone  Normal\n"
                               "        high     5\n"
                               "Node 12, zone  Normal\n"
                               "  pages free     1\n";

TEST(zoneinfo) {
        uint64_t pages = 7;

        assert_int_equal(zoneinfo_high_parse(zoneinfo, 0, &pages), 0);
        assert_int_equal(pages, 48 + 9684);
        assert_int_equal(zoneinfo_high_parse(zoneinfo, 1, &pages), 0);
        assert_int_equal(pages, 7000 + 300);
        assert_int_equal(zoneinfo_high_parse(zoneinfo, 11, &pages), 0);
        assert_int_equal(pages, 5);
        pages = 7;
        assert_int_equal(zoneinfo_high_parse(zoneinfo, 2, &pages), -ENODEV);
        assert_int_equal(zoneinfo_high_parse(zoneinfo, 12, &pages), -ENODEV);
        assert_int_equal(zoneinfo_high_parse("", 0, &pages), -ENODEV);
        assert_int_equal(zoneinfo_high_parse("        high     48\n", 0, &pages), -ENODEV);
        assert_int_equal(pages, 7);
}

TEST(zoneinfo_with_long_lines) {
        char text[512] = "Node 0, zone Normal\n        protection: (";
        uint64_t pages;

        for (int i = 0; i < 60; i++)
                strcat(text, "0, 17");
        strcat(text, ")\n        high     48"); /* and no final newline */
        assert_int_equal(zoneinfo_high_parse(text, 0, &pages), 0);
        assert_int_equal(pages, 48);
}

/* Against awk(1) of a sort: this host's own file, read in another way. */
LIVE_TEST(zoneinfo_of_this_host) {
        _cleanup_fclose_ FILE *file = fopen("/proc/zoneinfo", "re");
        uint64_t pages = 0, expected = 0;
        unsigned node = 0, id, value;
        char line[1024], word[32];

        assert_non_null(file);
        while (fgets(line, sizeof(line), file)) {
                if (sscanf(line, "Node %u", &id) == 1)
                        node = id;
                else if (node == 0 && sscanf(line, "%31s %u", word, &value) == 2 &&
                         strcmp(word, "high") == 0)
                        expected += value;
        }
        assert_int_equal(zoneinfo_high_read(sysroot, 0, &pages), 0);
        assert_int_equal(pages, expected);
        assert_true(pages > 0);
}

/* --- /proc/stat --- */

TEST(cpus) {
        CpuTimes t[4];

        assert_int_equal(cpu_times_parse("cpu  9 9 9 9 9 9 9 9 9 9\n"
                                         "cpu0 1 2 3 4 5 6 7 8 90 91\n"
                                         "cpu130 11 12 13 14 15 16 17 18\n"
                                         "intr 1 2 3\ncpu7 1 1 1 1 1 1 1 1\n",
                                         t, 4),
                         2);
        assert_int_equal(t[0].cpu, 0);
        assert_int_equal(t[0].user, 1);
        assert_int_equal(t[0].nice, 2);
        assert_int_equal(t[0].system, 3);
        assert_int_equal(t[0].idle, 4);
        assert_int_equal(t[0].iowait, 5);
        assert_int_equal(t[0].irq, 6);
        assert_int_equal(t[0].softirq, 7);
        assert_int_equal(t[0].steal, 8);
        assert_int_equal(t[1].cpu, 130);
        assert_int_equal(t[1].steal, 18);
        assert_int_equal(cpu_times_parse("cpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8\n", t, 1), 1);
}

TEST(cpus_refused) {
        CpuTimes t[2];

        assert_int_equal(cpu_times_parse("", t, 2), -EBADMSG);
        assert_int_equal(cpu_times_parse("intr 1\n", t, 2), -EBADMSG);
        assert_int_equal(cpu_times_parse("cpu  1 2 3\n", t, 2), -EBADMSG);
        assert_int_equal(cpu_times_parse("cpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7 8\n", t, 2),
                         -EBADMSG);
        assert_int_equal(cpu_times_parse("cpux 1 2 3 4 5 6 7 8\n", t, 2), -EBADMSG);
}

/* --- pools of huge pages, and file systems whose mappings are such --- */

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

/* --- /proc/cpuinfo of x86, of Arm, and of an unknown architecture --- */

#define INTEL                                                                                      \
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"              \
        "model name\t: Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz\nstepping\t: 7\n\n"
#define ARM                                                                                        \
        "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"        \
        "CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n"

TEST(x86) {
        CpuInfo info;

        assert_int_equal(cpuinfo_parse(INTEL INTEL, &info), 0);
        assert_string_equal(info.vendor, "GenuineIntel");
        assert_int_equal(info.family, 6);
        assert_int_equal(info.model, 85);
        assert_int_equal(info.implementer, 0);
        assert_int_equal(info.part, 0);
        assert_int_equal(
                cpuinfo_parse("vendor_id: AuthenticAMD\ncpu family : 25\nmodel : 17", &info), 0);
        assert_string_equal(info.vendor, "AuthenticAMD");
        assert_int_equal(info.model, 17);
        /* How two small vendors write themselves. */
        assert_int_equal(
                cpuinfo_parse("vendor_id\t:   Shanghai  \ncpu family\t: 7\nmodel\t: 0\n", &info),
                0);
        assert_string_equal(info.vendor, "Shanghai");
}

TEST(arm) {
        CpuInfo info;

        assert_int_equal(cpuinfo_parse(ARM ARM, &info), 0);
        assert_string_equal(info.vendor, "");
        assert_int_equal(info.implementer, 0x41);
        assert_int_equal(info.part, 0xd0c);
        assert_int_equal(info.family, 0);
}

TEST(refused) {
        static const char *const texts[] = {
                "",
                "\n\n\n",
                "vendor_id\t: GenuineIntel\n",
                "vendor_id\t: GenuineIntel\ncpu family\t: 6\n",
                "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel name\t: 85\n",
                "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: x\n",
                "CPU implementer\t: 0x41\n",
                "CPU part\t: 0xd0c\n",
                "cpu family\t: 6\nmodel\t: 85\n",
                "cpu\t\t: POWER9, altivec supported\n",
        };
        CpuInfo info = { .model = 1234 };

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_int_equal(cpuinfo_parse(texts[i], &info), -EBADMSG);
        assert_int_equal(info.model, 1234);
}

FAKE_TEST(read) {
        CpuInfo info;

        assert_int_equal(cpuinfo_read(&tree->sysroot, &info), -ENOENT);
        fake_write(tree, "proc/cpuinfo", INTEL);
        assert_int_equal(cpuinfo_read(&tree->sysroot, &info), 0);
        assert_int_equal(info.model, 85);
}
