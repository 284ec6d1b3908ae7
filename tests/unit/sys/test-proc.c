/* The files of /proc/PID as text: who chose their names may have chosen them to deceive. */

#include "../../support/id-sets.h"
#include "../../support/test.h"

#include "tidbnumad/sys/proc.h"

/* Recorded from Linux 6.1, with every field its own number where the kernel allows that. */
#define STAT_TAIL                                                                                  \
        " S 1201 1202 1203 0 -1 4194560 104 105 106 107 108 109 110 111 20 0 23 0 987654321 "      \
        "112 113 18446744073709551615 114 115 116 117 118 119 120 121 122 123 124 125 17 6 126 "   \
        "127 128 129 130 131 132 133 134 135 136 137 138\n"

static void assert_stat(const char *text) {
        ProcStat stat;

        assert_int_equal(proc_stat_parse(text, &stat), 0);
        assert_int_equal(stat.state, 'S');
        assert_int_equal(stat.parent, 1201);
        assert_false(stat.kernel_thread);
        assert_int_equal(stat.n_threads, 23);
        assert_int_equal(stat.cpu_ticks, 108 + 109);
        assert_int_equal(stat.start_ticks, 987654321);
        assert_int_equal(stat.last_cpu, 6);
}

TEST(stat) {
        ProcStat stat;

        assert_stat("1200 (tikv-server)" STAT_TAIL);
        assert_int_equal(proc_stat_parse("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 "
                                         "0 3 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 "
                                         "0 0 0 0 511 0 0 0 0 0 0 0 0 0 0 0 0 0",
                                         &stat),
                         0);
        assert_true(stat.kernel_thread);
        assert_int_equal(stat.parent, 0);
        assert_int_equal(stat.last_cpu, 511);
}

TEST(stat_of_hostile_names) {
        assert_stat("1200 ()" STAT_TAIL);
        assert_stat("1200 ())" STAT_TAIL);
        assert_stat("1200 () R 1 ()" STAT_TAIL);
        assert_stat("1200 (a) Z 1 1 1 1)" STAT_TAIL);
        assert_stat("1200 (a\n1 (b) R 7 8)" STAT_TAIL);
        assert_stat("1200 (\x80\xff \t%s%n)" STAT_TAIL);
}

TEST(stat_refuses) {
        static const char full[] = "1200 (x)" STAT_TAIL;
        static const char *const bad[] = { "",         "1200",       "1200 (x",
                                           "1200 (x)", "1200 (x) S", "1200 (x) S a b c" };
        /* Up to the end of the last field that counts. */
        const size_t needed = (size_t)(strstr(full, " 17 6 ") - full) + strlen(" 17 6");
        ProcStat stat, untouched;
        char text[sizeof(full)];

        memset(&stat, 0xa5, sizeof(stat));
        memset(&untouched, 0xa5, sizeof(untouched));
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_int_equal(proc_stat_parse(bad[i], &stat), -EBADMSG);
        for (size_t n = 0; n < needed; n++) {
                memcpy(text, full, n);
                text[n] = '\0';
                assert_int_equal(proc_stat_parse(text, &stat), -EBADMSG);
        }
        assert_memory_equal(&stat, &untouched, sizeof(stat));
        memcpy(text, full, needed);
        text[needed] = '\0';
        assert_stat(text);
}

TEST(status) {
        ProcStatus status;

        assert_int_equal(
                proc_status_parse("Name:\tUid:\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t9\n"
                                  "Uid:\t1000\t997\t1002\t1003\nGid:\t0\t0\t0\t0\nThreads:\t1\n"
                                  "Cpus_allowed:\tff\nCpus_allowed_list:\t0-3,8\n"
                                  "Mems_allowed:\t00000000,00000003\nMems_allowed_list:\t0-1\n"
                                  "voluntary_ctxt_switches:\t1\n",
                                  &status),
                0);
        assert_int_equal(status.uid, 997); /* the effective one */
        assert_ids(status.cpus_allowed, "0-3,8");
        assert_ids(status.mems_allowed, "0-1");
}

TEST(status_in_any_order) {
        ProcStatus status;

        assert_int_equal(proc_status_parse("Mems_allowed_list:\t0,1023\nNot_Uid:\t5\t5\t5\t5\n\n"
                                           "Cpus_allowed_list:\t\nUid:\t0\t4294967294\t0\t0",
                                           &status),
                         0);
        assert_int_equal(status.uid, 4294967294u);
        assert_ids(status.cpus_allowed, "");
        assert_ids(status.mems_allowed, "0,1023");
}

TEST(status_refuses) {
        static const struct {
                const char *text;
                int error;
        } cases[] = {
                { "", -EBADMSG },
                { "Uid:\t0\t0\t0\t0\n", -EBADMSG },
                { "Uid:\t0\t0\t0\t0\nCpus_allowed_list:\t0\n", -EBADMSG },
                { "Uid:\t0\t0\t0\t0\nMems_allowed_list:\t0\n", -EBADMSG },
                { "Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n", -EBADMSG },
                { "Uid:\t0\nCpus_allowed_list:\t0\nMems_allowed_list:\t0\n", -EBADMSG },
                { "Uid:\t0\t0\nCpus_allowed_list:\tx\nMems_allowed_list:\t0\n", -EINVAL },
                { "Uid:\t0\t0\nCpus_allowed_list:\t0\nMems_allowed_list:\t0-\n", -EINVAL },
                { "Uid:\t0\t0\nCpus_allowed_list:\t8192\nMems_allowed_list:\t0\n", -ERANGE },
        };
        ProcStatus status, untouched;

        memset(&status, 0xa5, sizeof(status));
        memset(&untouched, 0xa5, sizeof(untouched));
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(proc_status_parse(cases[i].text, &status), cases[i].error);
        assert_memory_equal(&status, &untouched, sizeof(status));
}

/* Every second CPU of the widest kernel, in a list of some 20,000 characters. */
TEST(status_with_a_huge_list) {
        _cleanup_free_ char *text = NULL;
        ProcStatus status;
        size_t size;
        FILE *stream = open_memstream(&text, &size);

        assert_non_null(stream);
        (void)fprintf(stream, "Uid:\t1\t2\t3\t4\nCpus_allowed_list:\t0");
        for (unsigned cpu = 2; cpu < CPU_SET_MAX; cpu += 2)
                (void)fprintf(stream, ",%u", cpu);
        (void)fprintf(stream, "\nMems_allowed_list:\t0-1023\n");
        assert_int_equal(fclose(stream), 0);
        assert_int_equal(proc_status_parse(text, &status), 0);
        assert_int_equal(id_set_count(&status.cpus_allowed), CPU_SET_MAX / 2);
        assert_true(id_set_has(&status.cpus_allowed, 8190));
        assert_false(id_set_has(&status.cpus_allowed, 8191));
        assert_int_equal(id_set_count(&status.mems_allowed), 1024);
}

static void assert_cgroup(const char *text, const char *expected) {
        _cleanup_free_ char *path = NULL;

        assert_int_equal(proc_cgroup_parse(text, &path), 0);
        assert_string_equal(path, expected);
}

TEST(cgroup) {
        char *path = (char *)7;

        assert_cgroup("0::/system.slice/tikv-20160.service\n",
                      "/system.slice/tikv-20160.service"); /* v2 */
        assert_cgroup("0::/", "/");
        assert_cgroup("3:cpuset:/a\n2:cpu,cpuacct:/b\n1:name=systemd:/system.slice/x.service\n",
                      "/system.slice/x.service"); /* v1 */
        assert_cgroup("1:name=systemd:/old\n0::/system.slice/x.service\n",
                      "/system.slice/x.service"); /* hybrid */
        assert_cgroup("0::/system.slice/x.service\n1:name=systemd:/old\n",
                      "/system.slice/x.service");
        /* Mounted by another program on a host of v1, or the other way round. */
        assert_cgroup("1:name=systemd:/system.slice/x.service\n0::/\n", "/system.slice/x.service");
        assert_cgroup("0::/\n1:name=systemd:/system.slice/x.service\n", "/system.slice/x.service");
        assert_cgroup("1:name=systemd:/\n0::/x.service\n", "/x.service");
        /* A controller's path of its own is not a unit's. */
        assert_int_equal(proc_cgroup_parse("3:cpuset:/system.slice/x.service\n", &path), -ENXIO);
        assert_int_equal(proc_cgroup_parse("10::/x\n", &path), -ENXIO);
        assert_int_equal(proc_cgroup_parse("3:cpuset:/0::/x\n", &path), -ENXIO);
        assert_int_equal(proc_cgroup_parse("", &path), -ENXIO);
        assert_ptr_equal(path, (char *)7);
}

/* The name of a group is free but for "/" and, since Linux 5.13, a newline. */
TEST(cgroup_forged) {
        static const char *const no_unit[] = {
                "4:pids:/user.slice/x:name=systemd:/system.slice/tikv.service\n",
                "4:pids:/1:name=systemd:/system.slice/tikv.service\n",
                ("4:pids:/a\n1:name=systemd:/system.slice/tikv.service\n1:name=systemd:/"
                 "user.slice\n"),
                "1:name=systemd:/user.slice\n1:name=systemd:/system.slice/tikv.service\n",
                "4:pids:/a\n0::/system.slice/tikv.service\n0::/user.slice/s.scope\n",
                "4:pids:/a\n0::/system.slice/tikv.service/\nb\n1:name=systemd:/user.slice\n",
                "1:name=systemd:/user.slice\n/system.slice/tikv.service\n",
                "x:name=systemd:/system.slice/tikv.service\n",
                " 0::/system.slice/tikv.service\n",
                ":name=systemd:/system.slice/tikv.service\n",
                "1:name=systemd:system.slice/tikv.service\n",
                "1:name=systemd2:/system.slice/tikv.service\n",
                "1:xname=systemd:/system.slice/tikv.service\n",
                "1::/system.slice/tikv.service\n",
                "0:name=systemd:/system.slice/tikv.service\n",
        };
        char *path = (char *)7;

        assert_cgroup("4:pids:/x:name=systemd:/system.slice/tikv.service\n"
                      "1:name=systemd:/user.slice/user-1000.slice/session-1.scope\n",
                      "/user.slice/user-1000.slice/session-1.scope");
        assert_cgroup("1:name=systemd:/user.slice/1:name=systemd:/system.slice/tikv.service\n",
                      "/user.slice/1:name=systemd:/system.slice/tikv.service");
        assert_cgroup("4:pids:/0::/system.slice/tikv.service\n0::/user.slice/s.scope\n",
                      "/user.slice/s.scope");
        assert_cgroup("5:cpu,name=systemd,pids:/a.service", "/a.service");
        for (size_t i = 0; i < ELEMENTSOF(no_unit); i++)
                if (proc_cgroup_parse(no_unit[i], &path) != -ENXIO)
                        fail_msg("%s gave %s", no_unit[i], path);
        assert_ptr_equal(path, (char *)7);
}
