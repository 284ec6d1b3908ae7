/* Control groups: the witness memory.numa_stat, and walks over a fake hierarchy. */
#include <math.h>

#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/sys/cgroup.h"

/* Linux 6.1, two nodes. */
static const char numa_stat[] = "anon N0=1769472 N1=83886080\n"
                                "file N0=4096 N1=8192\n"
                                "kernel_stack N0=16384 N1=1\n"
                                "pagetables N0=114688 N1=2\n"
                                "sec_pagetables N0=0 N1=0\n"
                                "shmem N0=0 N1=4096\n"
                                "file_mapped N0=3 N1=4\n"
                                "file_dirty N0=5 N1=6\n"
                                "file_writeback N0=0 N1=0\n"
                                "swapcached N0=0 N1=0\n"
                                "anon_thp N0=7 N1=8\n"
                                "file_thp N0=9 N1=10\n"
                                "shmem_thp N0=11 N1=12\n"
                                "inactive_anon N0=13 N1=14\n"
                                "active_anon N0=15 N1=16\n"
                                "inactive_file N0=17 N1=18\n"
                                "active_file N0=19 N1=20\n"
                                "unevictable N0=0 N1=0\n"
                                "slab_reclaimable N0=21 N1=22\n"
                                "workingset_refault_anon N0=23 N1=24\n";

TEST(numa_stat) {
        NumaStatRow rows[4];

        assert_int_equal(numa_stat_parse(numa_stat, 4096, rows, 4), 2);
        assert_int_equal(rows[0].node, 0);
        assert_int_equal(rows[0].anon_bytes, 1769472);
        assert_int_equal(rows[0].file_bytes, 4096);
        assert_int_equal(rows[0].shmem_bytes, 0);
        assert_int_equal(rows[0].mapped_bytes, 3);
        assert_int_equal(rows[1].mapped_bytes, 4);
        assert_int_equal(rows[1].node, 1);
        assert_int_equal(rows[1].anon_bytes, 83886080);
        assert_int_equal(rows[1].file_bytes, 8192);
        assert_int_equal(rows[1].shmem_bytes, 4096);
}

/* v1 counts pages, writes the total at the name, and adds up the groups below in rows of their own.
 */
TEST(numa_stat_v1) {
        static const char text[] = "total=90 N0=60 N1=30\nfile=61 N0=61 N1=0\nanon=7 N0=7 N1=0\n"
                                   "unevictable=0 N0=0 N1=0\nhierarchical_total=9 N0=9 N1=0\n"
                                   "hierarchical_file=12 N0=10 N1=2\n"
                                   "hierarchical_anon=8 N0=3 N1=5\nhierarchical_unevictable=0 N0=0 "
                                   "N1=0\n";
        NumaStatRow rows[2];

        assert_int_equal(numa_stat_parse(text, 4096, rows, 2), 2);
        assert_int_equal(rows[0].node, 0);
        assert_int_equal(rows[0].anon_bytes, 3 * 4096);
        assert_int_equal(rows[0].file_bytes, 10 * 4096);
        assert_int_equal(rows[1].anon_bytes, 5 * 4096);
        assert_int_equal(rows[1].file_bytes, 2 * 4096);
        assert_int_equal(rows[1].shmem_bytes, 0);
        assert_int_equal(numa_stat_parse(text, 4096, rows, 1), -ENOSPC);
        assert_int_equal(numa_stat_parse("anon=7 N0=7\n", 4096, rows, 2), -EBADMSG);
}

TEST(numa_stat_of_sparse_nodes) {
        NumaStatRow rows[2];

        assert_int_equal(
                numa_stat_parse("shmem N72=5\nanon N8=18446744073709551615", 4096, rows, 2), 2);
        assert_int_equal(rows[0].node, 72);
        assert_int_equal(rows[0].shmem_bytes, 5);
        assert_int_equal(rows[0].anon_bytes, 0);
        assert_int_equal(rows[1].node, 8);
        assert_true(rows[1].anon_bytes == UINT64_MAX);
}

TEST(numa_stat_refuses) {
        NumaStatRow rows[2];

        assert_int_equal(numa_stat_parse("", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("unknown N0=1\n", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("an N0=1\n N1=2\n", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("anon\nfile\n", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("anon 5\n", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("anon N0\n", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("anon N0=\n", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("anon 0=1\n", 4096, rows, 2), -EBADMSG);
        assert_int_equal(numa_stat_parse("anon N0=1 Nx=1\n", 4096, rows, 2), -EBADMSG);
        /* v1 counts pages and looks like this: never to be taken for bytes. */
        assert_int_equal(numa_stat_parse("total=5526 N0=5526\nanon=374 N0=374\n", 4096, rows, 2),
                         -EBADMSG);
        assert_int_equal(numa_stat_parse(numa_stat, 4096, rows, 1), -ENOSPC);
        assert_int_equal(numa_stat_parse(numa_stat, 4096, rows, 0), -ENOSPC);
}

static CgroupVersion version_of(const char *const *files) {
        _cleanup_fake_ FakeTree tree;

        fake_init(&tree);
        for (; *files; files++)
                fake_write(&tree, *files, "");
        return cgroup_version(&tree.sysroot);
}

/* Of 6.1 and of 5.10 on cgroup v1, shortened. */
static const char memory_stat[] = "anon 41943040\nfile 419430400\nkernel 1228800\nshmem 4096\n"
                                  "file_mapped 0\nfile_dirty 8192\nfile_writeback 4096\n"
                                  "inactive_anon 1\nactive_anon 2\ninactive_file 314572800\n"
                                  "active_file 104857600\nunevictable 3\nslab_reclaimable 4\n";
static const char memory_stat_v1[] = "cache 1\nrss 2\ndirty 3\nwriteback 4\ninactive_file 5\n"
                                     "active_file 6\nhierarchical_memory_limit 7\n"
                                     "total_cache 8\ntotal_dirty 9\ntotal_writeback 10\n"
                                     "total_inactive_file 11\ntotal_active_file 12\n";

TEST(page_cache_of_a_group) {
        CgroupMemory m = { .unclean_bytes = 99 };

        assert_int_equal(cgroup_memory_stat_parse(memory_stat, &m), 0);
        assert_int_equal(m.inactive_file_bytes, 314572800);
        assert_int_equal(m.active_file_bytes, 104857600);
        assert_int_equal(m.unclean_bytes, 8192 + 4096);
        assert_int_equal(cgroup_memory_stat_parse(memory_stat_v1, &m), 0);
        assert_int_equal(m.inactive_file_bytes, 11);
        assert_int_equal(m.active_file_bytes, 12);
        assert_int_equal(m.unclean_bytes, 19);
        assert_int_equal(cgroup_memory_stat_parse("", &m), -EBADMSG);
        assert_int_equal(cgroup_memory_stat_parse("inactive_filed 1\nactive_file\n", &m), -EBADMSG);
}

FAKE_TEST(memory_of_a_group) {
        CgroupMemory m = { 0 };
        _cleanup_close_ int fd = -EBADF;

        fake_write(tree, "sys/fs/cgroup/a/cgroup.procs", "");
        fake_write(tree, "sys/fs/cgroup/a/memory.max", "max\n");
        fake_write(tree, "sys/fs/cgroup/a/memory.high", "1048576\n");
        fake_write(tree, "sys/fs/cgroup/a/memory.current", "467664896\n");
        fake_write(tree, "sys/fs/cgroup/a/memory.stat", memory_stat);
        assert_int_equal(cgroup_open(&tree->sysroot, "/a", &fd), 0);
        assert_int_equal(cgroup_memory_read(fd, &m), 0);
        assert_int_equal(m.limit_bytes, UINT64_MAX);
        assert_int_equal(m.brake_bytes, 1048576);
        assert_true(m.has_brake);
        assert_int_equal(m.current_bytes, 467664896);
        assert_int_equal(m.active_file_bytes, 104857600);
        fake_remove(tree, "sys/fs/cgroup/a/memory.current");
        assert_int_equal(cgroup_memory_read(fd, &m), -EOPNOTSUPP);
}

/* "No limit" of v1 is the largest number of whole pages. */
FAKE_TEST(memory_of_a_group_of_v1) {
        CgroupMemory m = { 0 };
        _cleanup_close_ int fd = -EBADF;

        fake_write(tree, "sys/fs/cgroup/memory/a/cgroup.procs", "");
        fake_write(tree, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
        fake_write(tree, "sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4096\n");
        fake_write(tree, "sys/fs/cgroup/memory/a/memory.stat", memory_stat_v1);
        assert_int_equal(cgroup_open(&tree->sysroot, "/memory/a", &fd), 0);
        assert_int_equal(cgroup_memory_read(fd, &m), 0);
        assert_int_equal(m.limit_bytes, UINT64_MAX);
        assert_int_equal(m.brake_bytes, UINT64_MAX);
        assert_false(m.has_brake);
        assert_int_equal(m.inactive_file_bytes, 11);
        fake_write(tree, "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "167772160\n");
        assert_int_equal(cgroup_memory_read(fd, &m), 0);
        assert_int_equal(m.limit_bytes, 167772160);
}

FAKE_TEST(cpu_quota) {
        static const struct {
                const char *text;
                uint32_t percent;
        } cases[] = {
                { "max 100000\n", 0 },   { "400000 100000\n", 400 },
                { "25000 50000\n", 50 }, { "1 0\n", 0 },
                { "junk\n", 0 },         { "18446744073709551615 1\n", 0 },
        };
        _cleanup_close_ int fd = -EBADF;

        fake_write(tree, "sys/fs/cgroup/a/cgroup.procs", "");
        assert_int_equal(cgroup_open(&tree->sysroot, "/a", &fd), 0);
        assert_int_equal(cgroup_cpu_quota_read(fd), 0);
        fake_write(tree, "sys/fs/cgroup/a/cpu.cfs_period_us", "100000\n"); /* of v1 */
        fake_write(tree, "sys/fs/cgroup/a/cpu.cfs_quota_us", "-1\n");
        assert_int_equal(cgroup_cpu_quota_read(fd), 0);
        fake_write(tree, "sys/fs/cgroup/a/cpu.cfs_quota_us", "150000\n");
        assert_int_equal(cgroup_cpu_quota_read(fd), 150);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                fake_write(tree, "sys/fs/cgroup/a/cpu.max", cases[i].text);
                assert_int_equal(cgroup_cpu_quota_read(fd), cases[i].percent);
        }
}

TEST(version) {
        Sysroot none = SYSROOT_NONE;

        assert_int_equal(version_of((const char *const[]){ "sys/fs/cgroup/cgroup.controllers",
                                                           "sys/fs/cgroup/cgroup.procs", NULL }),
                         CGROUP_V2);
        assert_int_equal(
                version_of((const char *const[]){ "sys/fs/cgroup/cpuset/cpuset.cpus", NULL }),
                CGROUP_V1);
        /* Hybrid: the unified hierarchy is there, and the controllers are not on it. */
        assert_int_equal(
                version_of((const char *const[]){ "sys/fs/cgroup/unified/cgroup.controllers",
                                                  "sys/fs/cgroup/cpuset/cpuset.cpus", NULL }),
                CGROUP_V1);
        assert_int_equal(cgroup_version(&none), CGROUP_NONE);
}

FAKE_TEST(open) {
        int fd = -7;

        fake_write(tree, "sys/fs/cgroup/cgroup.procs", "");
        fake_write(tree, "sys/fs/cgroup/system.slice/a.service/cgroup.procs", "");
        assert_int_equal(cgroup_open(&tree->sysroot, "/system.slice/b.service", &fd), -ESRCH);
        /* Of a process outside of our cgroup namespace. */
        assert_int_equal(cgroup_open(&tree->sysroot, "/../a.service", &fd), -ENXIO);
        assert_int_equal(cgroup_open(&tree->sysroot, "/system.slice/../../../proc", &fd), -ENXIO);
        fake_link(tree, "sys/fs/cgroup/link", "/");
        assert_true(cgroup_open(&tree->sysroot, "/link", &fd) < 0);
        assert_int_equal(fd, -7);
        assert_int_equal(cgroup_open(&tree->sysroot, "/system.slice/a.service", &fd), 0);
        assert_int_equal(faccessat(fd, "cgroup.procs", F_OK, 0), 0);
        closep(&fd);
        fake_write(tree, "sys/fs/cgroup/a..b.service/cgroup.procs", "");
        assert_int_equal(cgroup_open(&tree->sysroot, "/a..b.service", &fd), 0);
        closep(&fd);
        assert_int_equal(cgroup_open(&tree->sysroot, "/", &fd), 0);
        assert_int_equal(faccessat(fd, "system.slice", F_OK, 0), 0);
        closep(&fd);
}

static int open_group(const FakeTree *tree, const char *path) {
        int fd = -1;

        assert_int_equal(cgroup_open(&tree->sysroot, path, &fd), 0);
        return fd;
}

FAKE_TEST(effective) {
        _cleanup_close_ int fd = -EBADF;
        CpuSet cpus = { { 7 } };
        NodeSet mems = { { 7 } };
        NumaStatRow row;

        fake_mkdir(tree, "sys/fs/cgroup/a");
        fd = open_group(tree, "/a");
        assert_int_equal(cgroup_effective_cpus_read(fd, &cpus), -ESRCH); /* not a group any more */
        assert_int_equal(numa_stat_read(fd, &row, 1), -ESRCH);
        fake_write(tree, "sys/fs/cgroup/a/cgroup.procs", "");
        assert_int_equal(cgroup_effective_cpus_read(fd, &cpus), -EOPNOTSUPP);
        assert_int_equal(cgroup_effective_mems_read(fd, &mems), -EOPNOTSUPP);
        assert_int_equal(numa_stat_read(fd, &row, 1), -EOPNOTSUPP);
        assert_int_equal(cpus.words[0], 7);
        assert_int_equal(mems.words[0], 7);
        fake_write(tree, "sys/fs/cgroup/a/cpuset.cpus.effective", "0-3,8\n");
        fake_write(tree, "sys/fs/cgroup/a/cpuset.mems.effective", "1\n");
        fake_write(tree, "sys/fs/cgroup/a/cpuset.cpus", "5\n");
        fake_write(tree, "sys/fs/cgroup/a/memory.numa_stat", "anon N0=4096\n");
        assert_int_equal(cgroup_effective_cpus_read(fd, &cpus), 0);
        assert_ids(cpus, "0-3,8");
        assert_int_equal(cgroup_effective_mems_read(fd, &mems), 0);
        assert_ids(mems, "1");
        assert_int_equal(numa_stat_read(fd, &row, 1), 1);
        assert_int_equal(row.anon_bytes, 4096);
}

typedef struct Pids {
        pid_t pids[32];
        size_t n;
        pid_t stop_at;
} Pids;

static int note_pid(pid_t pid, void *userdata) {
        Pids *p = userdata;

        assert_true(p->n < ELEMENTSOF(p->pids));
        p->pids[p->n++] = pid;
        return pid == p->stop_at ? -ECANCELED : 0;
}

static bool has_pid(const Pids *p, pid_t pid) {
        for (size_t i = 0; i < p->n; i++)
                if (p->pids[i] == pid)
                        return true;
        return false;
}

FAKE_TEST(pids) {
        _cleanup_close_ int fd = -EBADF;
        Pids all = { 0 }, some = { .stop_at = 12 };

        fake_write(tree, "sys/fs/cgroup/a/cgroup.procs", "10\n11\n0\nx\n-3\n99999999999\n");
        fake_write(tree, "sys/fs/cgroup/a/b/cgroup.procs", "12\n");
        fake_write(tree, "sys/fs/cgroup/a/b/c/cgroup.procs", "13");
        fake_mkdir(tree, "sys/fs/cgroup/a/gone");
        fake_write(tree, "sys/fs/cgroup/z/cgroup.procs", "66\n");
        fake_link(tree, "sys/fs/cgroup/a/link", "../z");
        fd = open_group(tree, "/a");
        assert_int_equal(cgroup_foreach_pid(fd, note_pid, &all), 0);
        assert_int_equal(all.n, 4);
        for (pid_t pid = 10; pid <= 13; pid++)
                assert_true(has_pid(&all, pid));
        assert_int_equal(cgroup_foreach_pid(fd, note_pid, &some), -ECANCELED);
        assert_true(some.n <= 4 && has_pid(&some, 12));
        fake_remove(tree, "sys/fs/cgroup/a/cgroup.procs");
        assert_int_equal(cgroup_foreach_pid(fd, note_pid, &all), -ESRCH);
}

/* A tree that is nested without an end does not use up our descriptors. */
FAKE_TEST(pids_of_a_deep_tree) {
        _cleanup_close_ int fd = -EBADF;
        char path[300] = "sys/fs/cgroup/a";
        Pids pids = { 0 };

        for (int i = 1; i <= 30; i++) {
                fake_write(tree, fmt("%s/cgroup.procs", path), fmt("%d\n", i));
                strcat(path, "/a");
        }
        fd = open_group(tree, "/a");
        assert_int_equal(cgroup_foreach_pid(fd, note_pid, &pids), 0);
        assert_int_equal(pids.n, 17);
}

static int count_pid(_unused_ pid_t pid, void *userdata) {
        ++*(unsigned *)userdata;
        return 0;
}

/* Nor does one with groups without number take the loop's time. */
FAKE_TEST(pids_of_a_wide_tree) {
        _cleanup_close_ int fd = -EBADF;
        unsigned n = 0;

        fake_write(tree, "sys/fs/cgroup/a/cgroup.procs", "1\n");
        for (int i = 0; i < OTHERS_GROUPS_MAX; i++) {
                fake_write(tree, fmt("sys/fs/cgroup/a/%d/cgroup.procs", i), "2\n");
                fake_write(tree, fmt("sys/fs/cgroup/a/%d/b/cgroup.procs", i), "3\n");
        }
        fd = open_group(tree, "/a");
        assert_int_equal(cgroup_foreach_pid(fd, count_pid, &n), 0);
        assert_int_equal(n, 1 + OTHERS_GROUPS_MAX);
}

FAKE_TEST(process_in_a_deep_tree) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *found = NULL;
        char path[300] = "", expected[300] = "";

        for (int i = 1; i <= 30; i++) {
                strcat(path, "/a");
                if (i <= OTHERS_GROUP_DEPTH_MAX)
                        strcat(expected, "/a");
        }
        fake_process(tree, 50, 1, "/srv/a", path, "0");
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(proc_cgroup_read(&handle, &found), 0);
        assert_string_equal(found, expected);
}

static void assert_widened(int fd, const char *mems, int result, const char *present) {
        const NodeSet set = node_set(mems);
        char text[64];

        assert_int_equal(cgroup_mems_widen(fd, &set), result);
        assert_true(path_read(fd, text, sizeof(text), "cpuset.mems") >= 0);
        assert_string_equal(text, present);
}

/* The file shows what it was given, as the kernel's does where the group above allows it. */
FAKE_TEST(mems_widen) {
        _cleanup_close_ int fd = -EBADF;

        fake_write(tree, "sys/fs/cgroup/a/cpuset.mems", "3\n");
        fake_write(tree, "sys/fs/cgroup/a/cgroup.procs", "");
        fake_link(tree, "sys/fs/cgroup/a/cpuset.mems.effective", "cpuset.mems");
        assert_int_equal(cgroup_open(&tree->sysroot, "/a", &fd), 0);
        assert_widened(fd, "3-4", 0, "3-4");
        assert_widened(fd, "1", 0, "1,3-4"); /* never less than it has */
        /* A value that is in place is not written again. */
        fake_write(tree, "sys/fs/cgroup/a/cpuset.mems", "1,3,4\n");
        assert_widened(fd, "1,4", 0, "1,3,4");
}

FAKE_TEST(mems_widen_in_vain) {
        _cleanup_close_ int fd = -EBADF;
        const NodeSet more = node_set("3-4");

        fake_write(tree, "sys/fs/cgroup/a/cgroup.procs", "");
        assert_int_equal(cgroup_open(&tree->sysroot, "/a", &fd), 0);
        assert_int_equal(cgroup_mems_widen(fd, &more), -EOPNOTSUPP);
        fake_write(tree, "sys/fs/cgroup/a/cpuset.mems", "3\n");
        fake_write(tree, "sys/fs/cgroup/a/cpuset.mems.effective", "3\n");
        assert_widened(fd, "3-4", -ENODEV, "3-4"); /* written, and not allowed from above */
}

/* --- pressure stall information: the text, and a control group of this test's own making --- */

#define FULL "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"

TEST(text) {
        Pressure p = { 0 };

        assert_int_equal(
                pressure_parse("some avg10=12.50 avg60=1.00 avg300=0.00 total=123456789012" FULL,
                               &p),
                0);
        assert_true(fabs(p.recent - 0.125) < 1e-9);
        assert_int_equal(p.total_usec, UINT64_C(123456789012));
        assert_int_equal(pressure_parse("some avg10=0.00 avg60=0.00 avg300=0.00 total=0", &p), 0);
        assert_true(p.recent == 0);
}

TEST(texts_that_are_none) {
        static const char *const texts[] = {
                "",
                "some",
                "some avg10=x avg60=1.00 avg300=0.00 total=1",
                "some avg10=101 avg60=1.00 avg300=0.00 total=1",
                "some avg10=-1 avg60=1.00 avg300=0.00 total=1",
                "some avg10=nan avg60=1.00 avg300=0.00 total=1",
                "some avg10=1 avg60=1.00 avg300=0.00",
                "some avg10=1 avg60=1.00 avg300=0.00 total=",
                "full avg10=1.00 avg60=1.00 avg300=0.00 total=1",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                Pressure p = { .total_usec = 7 };

                if (pressure_parse(texts[i], &p) != -EBADMSG)
                        fail_msg("is taken: %s", texts[i]);
                assert_int_equal(p.total_usec, 7);
        }
}

/* Memory and CPU together, "some" of each. */
FAKE_TEST(group) {
        _cleanup_close_ int fd = -EBADF;
        Pressure p = { .total_usec = 7 };

        fake_write(tree, "group/memory.pressure",
                   "some avg10=1.00 avg60=0.00 avg300=0.00 total=1000" FULL);
        assert_int_equal(pressure_read(tree->fd, &p), -EOPNOTSUPP);
        fd = openat(tree->fd, "group", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(pressure_read(fd, &p), -EOPNOTSUPP);
        assert_int_equal(p.total_usec, 7);
        fake_write(tree, "group/cpu.pressure",
                   "some avg10=10.00 avg60=0.00 avg300=0.00 total=30" FULL);
        assert_int_equal(pressure_read(fd, &p), 0);
        assert_int_equal(p.total_usec, 1030);
        assert_true(fabs(p.recent - 0.11) < 1e-9);
}

/* --- hierarchies of cgroup v1: their mounts, a process's paths, names for folders --- */

#define TMPFS "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
#define CPU                                                                                        \
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup "            \
        "rw,cpu,cpuacct\n"
#define CPUSET "35 31 0:32 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
#define V2 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cpuset rw,cpuset\n"

static void assert_mount(const char *text, const char *controller, const char *expected) {
        _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };
        int r = cgroup1_mount_parse(text, controller, &mount);

        assert_int_equal(r, expected ? 0 : -ENOENT);
        if (expected)
                assert_string_equal(mount.point, expected);
}

TEST(mount) {
        assert_mount(TMPFS CPU V2 CPUSET, "cpuset", "/sys/fs/cgroup/cpuset");
        assert_mount(TMPFS CPU CPUSET, "cpuacct", "/sys/fs/cgroup/cpu,cpuacct");
        assert_mount(TMPFS CPU CPUSET, "cpu", "/sys/fs/cgroup/cpu,cpuacct");
        assert_mount(TMPFS CPU V2, "cpuset", NULL);
        assert_mount("", "cpuset", NULL);
        /* A part of it, as in a container; and cpusets of old. */
        assert_mount("1 2 0:3 /docker/1 /a rw - cgroup cgroup rw,cpuset\n", "cpuset", NULL);
        assert_mount("1 2 0:3 / /dev/cpuset rw - cgroup cgroup rw,cpuset,noprefix\n", "cpuset",
                     NULL);
        assert_mount("1 2 0:3 / /a\\040b\\134c rw - cgroup cgroup rw,cpuset\n", "cpuset",
                     "/a b\\c");
}

#define ELSEWHERE(options) "36 31 0:32 / /cgroup/cpuset " options " - cgroup cgroup rw,cpuset\n"

/* Mounted is not usable: as the sandbox of a service has it. */
TEST(read_only) {
        static const struct {
                const char *text, *point;
                bool read_only;
        } rows[] = {
                { CPUSET, "/sys/fs/cgroup/cpuset", false },
                { ELSEWHERE("ro,nosuid"), "/cgroup/cpuset", true },
                { ELSEWHERE("ro"), "/cgroup/cpuset", true },
                { ELSEWHERE("rootcontext"), "/cgroup/cpuset", false },
                { "36 31 0:32 / /c rw shared:1 - cgroup cgroup ro,cpuset\n", "/c", true },
                { ELSEWHERE("ro") CPUSET, "/sys/fs/cgroup/cpuset", false },
                { CPUSET ELSEWHERE("ro"), "/sys/fs/cgroup/cpuset", false },
                { CPUSET ELSEWHERE("rw"), "/sys/fs/cgroup/cpuset", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };

                assert_int_equal(cgroup1_mount_parse(rows[i].text, "cpuset", &mount), 0);
                assert_string_equal(mount.point, rows[i].point);
                assert_int_equal(mount.read_only, rows[i].read_only);
        }
}

FAKE_TEST(may_write) {
        assert_int_equal(cgroup1_may_write(&tree->sysroot, "cpuset"), -ENOENT);
        fake_write(tree, "cgroup/cpuset/mark", "");
        fake_write(tree, "proc/self/mountinfo", ELSEWHERE("rw"));
        assert_int_equal(cgroup1_may_write(&tree->sysroot, "cpuset"), 0);
        fake_write(tree, "proc/self/mountinfo", ELSEWHERE("ro"));
        assert_int_equal(cgroup1_may_write(&tree->sysroot, "cpuset"), -EROFS);
}

static void assert_path(const char *text, const char *controller, const char *expected) {
        _cleanup_free_ char *path = NULL;
        int r = proc_cgroup_path_parse(text, controller, &path);

        assert_int_equal(r, expected ? 0 : -ENXIO);
        if (expected)
                assert_string_equal(path, expected);
}

TEST(path) {
        static const char text[] =
                "9:name=systemd:/cpuset:/x\n4:memory:/a:b\n3:cpu,cpuset:/c\n0::/d\n";

        assert_path(text, "memory", "/a:b");
        assert_path(text, "cpuset", "/c");
        assert_path(text, "cpu", "/c");
        assert_path(text, "pids", NULL);
        assert_path("", "cpuset", NULL);
        assert_path("3:cpuset\n", "cpuset", NULL);
        assert_path("3:cpuset:/c", "cpuset", "/c");
}

/* Through a sysroot: what is mounted there is looked for below it. */
FAKE_TEST(cgroup1_open) {
        _cleanup_close_ int fd = -EBADF;

        assert_int_equal(cgroup1_open(&tree->sysroot, "cpuset", &fd), -ENOENT);
        fake_write(tree, "proc/self/mountinfo", CPUSET);
        assert_int_equal(cgroup1_open(&tree->sysroot, "cpuset", &fd), -ENOENT);
        fake_write(tree, "sys/fs/cgroup/cpuset/mark", "");
        assert_int_equal(cgroup1_open(&tree->sysroot, "cpuset", &fd), 0);
        assert_int_equal(faccessat(fd, "mark", F_OK, 0), 0);
}

static const char *named(const char *name) {
        static char buffer[CGROUP1_NAME_MAX];

        cgroup1_name(name, buffer);
        assert_true(strlen(buffer) < CGROUP1_NAME_MAX);
        assert_null(strchr(buffer, '/'));
        assert_true(buffer[0] != '.' && buffer[0] != '\0');
        return buffer;
}

TEST(names_that_stay) {
        static const char *const names[] = { "tidb-4000", "tidb-server:123", "a\\x2db@1", "a.b",
                                             "cpusets.x", "tasks2",          "memory" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                assert_string_equal(named(names[i]), names[i]);
}

TEST(names_that_change) {
        static const char *const names[] = { "",     ".",     "..",           "a/b",
                                             "a_b/", "a\nb",  ".a",           "~",
                                             "a~b",  "tasks", "cgroup.procs", "cpuset.cpus",
                                             "a/b/", "_a/" };
        char all[ELEMENTSOF(names)][CGROUP1_NAME_MAX];

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                strcpy(all[i], named(names[i]));
                assert_string_not_equal(all[i], names[i]);
                for (size_t k = 0; k < i; k++)
                        assert_string_not_equal(all[i], all[k]);
        }
}

TEST(long_names) {
        char a[400], b[400], first[CGROUP1_NAME_MAX];

        memset(a, 'a', sizeof(a));
        memset(b, 'a', sizeof(b));
        a[300] = b[301] = '\0';
        strcpy(first, named(a));
        assert_string_not_equal(named(b), first);
        a[110] = '\0'; /* the longest that stays */
        assert_string_equal(named(a), a);
        b[111] = '\0';
        assert_string_not_equal(named(b), b);
}
