/* /proc/stat by CPU, and numastat. */
#include <errno.h>
#include <string.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/node-counters.h"

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

#define NUMASTAT                                                                                   \
        "numa_hit 10\nnuma_miss 20\nnuma_foreign 30\ninterleave_hit 40\nlocal_node 50\n"           \
        "other_node 60\n"

TEST(numastat) {
        _cleanup_fake_ FakeTree tree;
        NumaStat s = { 0 };

        fake_init(&tree);
        fake_write(&tree, "sys/devices/system/node/node3/numastat", NUMASTAT);
        assert_int_equal(numastat_read(&tree.sysroot, 2, &s), -ENODEV);
        assert_int_equal(numastat_read(&tree.sysroot, 3, &s), 0);
        assert_int_equal(s.hit, 10);
        assert_int_equal(s.miss, 20);
        assert_int_equal(s.foreign, 30);
        assert_int_equal(s.interleave, 40);
        assert_int_equal(s.local, 50);
        assert_int_equal(s.other, 60);
}

/* Each line is needed, and under its very name. */
TEST(numastat_refused) {
        static const char all[] = NUMASTAT;
        const char *at = all;
        NumaStat s = { .hit = 7 };

        while (*at) {
                const char *end = strchr(at, '\n') + 1;
                char text[256];

                (void)snprintf(text, sizeof(text), "%.*sx%s", (int)(at - all), all, at);
                assert_int_equal(numastat_parse(text, &s), -EBADMSG);
                (void)snprintf(text, sizeof(text), "%.*s%s", (int)(at - all), all, end);
                assert_int_equal(numastat_parse(text, &s), -EBADMSG);
                at = end;
        }
        assert_int_equal(numastat_parse("numa_hits 9\n" NUMASTAT, &s), 0); /* another's name */
        assert_int_equal(s.hit, 10);
        s.hit = 7;
        assert_int_equal(numastat_parse("numa_hit\n", &s), -EBADMSG);
        assert_int_equal(s.hit, 7);
}
