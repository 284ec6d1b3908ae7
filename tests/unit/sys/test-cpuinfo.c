/* /proc/cpuinfo of x86, of Arm, and of an unknown architecture. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/node.h"

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
