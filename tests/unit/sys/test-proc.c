/* The files of /proc/PID as text: who chose their names may have chosen them to deceive. */
#include <grp.h>
#include <sys/mman.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "../../support/port-list.h"
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

/* --- resident memory by kind out of /proc/PID/status --- */

TEST(fields) {
        ProcMemory m = { .anon_bytes = 7 };

        assert_int_equal(proc_memory_parse("Name:\tRssAnon:\\n\nVmRSS:\t 9 kB\nRssAnon:\t      12 "
                                           "kB\nRssFile:\t  3 kB\nRssShmem:\t 4 kB\nVmData:\t1 "
                                           "kB\nHugetlbPages:\t  2048 kB\n",
                                           &m),
                         0);
        assert_int_equal(m.anon_bytes, 12 * 1024);
        assert_int_equal(m.file_bytes, 3 * 1024);
        assert_int_equal(m.shmem_bytes, 4 * 1024);
        assert_int_equal(m.huge_bytes, 2048 * 1024);
        assert_int_equal(proc_memory_parse("Name:\ta\nRssAnon:\t1 kB\nRssFile:\t1 kB\n"
                                           "RssShmem:\t1 kB\n",
                                           &m),
                         0);
        assert_int_equal(m.huge_bytes, 0);
}

TEST(refused) {
        static const char *const texts[] = {
                "",
                "Name:\tkthreadd\n",
                "Name:\ta\nRssAnon:\t1 kB\nRssFile:\t1 kB\n",
                "Name:\ta\nRssAnon:\t1 kB\nRssShmem:\t1 kB\n",
                "Name:\ta\nRssFile:\t1 kB\nRssShmem:\t1 kB\n",
                "Name:\ta\nRssAnon:\tx kB\nRssFile:\t1 kB\nRssShmem:\t1 kB\n",
                "Name:\ta\nRssAnon:\t18446744073709551615 kB\nRssFile:\t1 kB\nRssShmem:\t1 kB\n",
        };
        ProcMemory m = { .anon_bytes = 7 };

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_int_equal(proc_memory_parse(texts[i], &m), -EBADMSG);
        assert_int_equal(m.anon_bytes, 7);
}

LIVE_TEST(own) {
        const size_t size = (size_t)64 << 20;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        ProcMemory before, after;
        char *area;

        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        assert_int_equal(proc_memory_read(&handle, &before), 0);
        area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(area != MAP_FAILED);
        memset(area, 1, size);
        assert_int_equal(proc_memory_read(&handle, &after), 0);
        assert_in_range(after.anon_bytes - before.anon_bytes, size - (4 << 20), size + (4 << 20));
        (void)munmap(area, size);
}

enum { N_GROUPS = 8000 }; /* of five digits: more than any buffer of the readers */

static pid_t start_with_groups(void) {
        _cleanup_free_ gid_t *groups = calloc(N_GROUPS, sizeof(gid_t));
        pid_t pid;

        assert_non_null(groups);
        for (gid_t i = 0; i < N_GROUPS; i++)
                groups[i] = 20000 + i;
        pid = child_fork();
        if (pid > 0)
                return pid;
        (void)raise(setgroups(N_GROUPS, groups) < 0 ? SIGKILL : SIGSTOP);
        _exit(0);
}

LIVE_TEST(thousands_of_groups) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        const pid_t pid = start_with_groups();
        ProcMemory memory;
        ProcStatus status;
        int how;

        assert_int_equal(waitpid(pid, &how, WUNTRACED), pid);
        if (!WIFSTOPPED(how))
                skip_because("supplementary groups cannot be set here");
        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_int_equal(proc_status_read(&handle, 0, &status), 0);
        assert_int_equal(status.uid, geteuid());
        assert_int_equal(proc_status_read(&handle, pid, &status), 0);
        assert_int_equal(proc_memory_read(&handle, &memory), 0);
        assert_true(memory.file_bytes > 0);
        child_end(pid);
}

/* --- command lines of a dump, and of a process that lives --- */

static void write_cmdline(const FakeTree *tree, const char *bytes, size_t size) {
        _cleanup_close_ int fd = -EBADF;

        fake_write(tree, "proc/50/cmdline", "");
        fd = openat(tree->fd, "proc/50/cmdline", O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, size), size);
}

static void open_fake(FakeTree *tree, ProcHandle *handle) {
        fake_init(tree);
        fake_process(tree, 50, 1, "/x", "/", "0");
        assert_int_equal(proc_open(&tree->sysroot, 50, handle), 0);
}

static void assert_joined(const char *bytes, size_t size, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(cmdline_join(bytes, size, &text), 0);
        assert_string_equal(text, expected);
}

TEST(read) {
        static const struct {
                const char *bytes;
                size_t size;
                size_t expected_size;
                const char *joined;
        } cases[] = {
                { "tikv-server\0-C\0conf\0", 20, 20, "tikv-server -C conf" },
                { "a\0\0b\0", 5, 5, "a  b" },                   /* an empty argument */
                { "rewritten: 1\n", 13, 14, "rewritten: 1\n" }, /* without a NUL */
                { "a\0b", 3, 4, "a b" },
                { "\0", 1, 1, "" },
                { "", 0, 0, "" },
        };
        _cleanup_fake_ FakeTree tree;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        open_fake(&tree, &handle);
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *bytes = NULL;
                size_t size = 7;

                write_cmdline(&tree, cases[i].bytes, cases[i].size);
                assert_int_equal(cmdline_read(&handle, &bytes, &size), 0);
                assert_int_equal(size, cases[i].expected_size);
                assert_memory_equal(bytes, cases[i].bytes, cases[i].size);
                assert_int_equal(bytes[size], '\0');
                assert_joined(bytes, size, cases[i].joined);
        }
}

TEST(next) {
        static const char bytes[] = "a\0\0bc"; /* with the last NUL */
        const char *p = cmdline_next(bytes, sizeof(bytes), NULL);

        assert_string_equal(p, "a");
        p = cmdline_next(bytes, sizeof(bytes), p);
        assert_string_equal(p, "");
        p = cmdline_next(bytes, sizeof(bytes), p);
        assert_string_equal(p, "bc");
        assert_null(cmdline_next(bytes, sizeof(bytes), p));
        assert_null(cmdline_next(bytes, 0, NULL));
}

/* A line of `size` bytes whose last argument begins at `last`. */
static void assert_cut(const FakeTree *tree, const ProcHandle *handle, size_t size, size_t last,
                       int expected, size_t expected_size) {
        _cleanup_free_ char *bytes = NULL, *line = malloc(size);
        size_t got;

        assert_non_null(line);
        memset(line, 'a', size);
        line[size - 1] = '\0';
        if (last > 0)
                line[last - 1] = '\0';
        write_cmdline(tree, line, size);
        assert_int_equal(cmdline_read(handle, &bytes, &got), expected);
        assert_int_equal(got, expected_size);
        assert_memory_equal(bytes, line, got);
        assert_int_equal(bytes[got], '\0');
}

TEST(too_long) {
        const size_t max = CMDLINE_MAX_BYTES;
        _cleanup_fake_ FakeTree tree;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;

        open_fake(&tree, &handle);
        assert_cut(&tree, &handle, max, 0, 0, max);
        assert_cut(&tree, &handle, max + 1, 100, 1, 100);
        assert_cut(&tree, &handle, max + 1, max, 1, max); /* ends right at the bound */
        assert_cut(&tree, &handle, max * 3, 100, 1, 100);
        assert_cut(&tree, &handle, max * 3, 0, 1, 0); /* not one argument fits */
}

LIVE_TEST(live) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_free_ char *bytes = NULL, *own = NULL;
        char *untouched = (char *)7;
        size_t size;
        pid_t pid = child_start();

        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_int_equal(cmdline_read(&handle, &bytes, &size), 0);
        assert_string_equal(bytes, program_invocation_name);
        child_make_zombie(pid);
        assert_int_equal(cmdline_read(&handle, &own, &size), 0); /* a zombie has none */
        assert_int_equal(size, 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(cmdline_read(&handle, &untouched, &size), -ESRCH);
        assert_ptr_equal(untouched, (char *)7);
}

/* --- the environment of a process --- */

TEST(find) {
        static const char bytes[] = "PATH=/bin\0GOMAXPROCS=8\0GOMAXPROCSX=9\0EMPTY=\0=x\0last";

        assert_string_equal(environment_find(bytes, sizeof(bytes), "GOMAXPROCS"), "8");
        assert_string_equal(environment_find(bytes, sizeof(bytes), "PATH"), "/bin");
        assert_string_equal(environment_find(bytes, sizeof(bytes), "EMPTY"), "");
        assert_null(environment_find(bytes, sizeof(bytes), "GOMAX"));
        assert_null(environment_find(bytes, sizeof(bytes), "last"));
        assert_null(environment_find("", 0, "PATH"));
}

LIVE_TEST(read_variable) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        char value[4096], small[1];

        assert_int_equal(proc_open(sysroot, getpid(), &self), 0);
        assert_int_equal(environment_read(&self, "PATH", value, sizeof(value)), 0);
        assert_string_equal(value, getenv("PATH"));
        assert_int_equal(environment_read(&self, "PATH", small, sizeof(small)), -ENOSPC);
        assert_int_equal(environment_read(&self, "NO_SUCH_VARIABLE_HERE", value, sizeof(value)),
                         -ENODATA);
}

/* --- what a process has open, out of a dump and of this process itself --- */

typedef struct Seen {
        size_t n;
        int last;
        uint64_t sum;
        bool ascending;
        int answer; /* of the callback */
        char target[64];
} Seen;

static int note(int fd, const char *target, void *userdata) {
        Seen *seen = userdata;

        seen->ascending = seen->n == 0 || (seen->ascending && fd > seen->last);
        seen->n++;
        seen->last = fd;
        seen->sum += (uint64_t)fd;
        (void)snprintf(seen->target, sizeof(seen->target), "%s", target);
        return seen->answer;
}

FAKE_TEST(dump) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char long_name[PATH_MAX];
        Seen seen = { 0 };

        fake_process(tree, 50, 1, "/x", "/", "0");
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ESRCH);
        fake_mkdir(tree, "proc/50/fd");
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.n, 0);
        fake_link(tree, "proc/50/fd/7", "/a (deleted)");
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.n, 1);
        assert_string_equal(seen.target, "/a (deleted)");
        /* Neither a number nor a link; the longest link that there can be. */
        fake_link(tree, "proc/50/fd/x", "/b");
        fake_write(tree, "proc/50/fd/9", "");
        memset(long_name, 'a', sizeof(long_name));
        long_name[PATH_MAX - 1] = '\0';
        fake_link(tree, "proc/50/fd/11", long_name);
        seen = (Seen){ 0 };
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.sum, 18);
        /* The callback ends it. */
        seen = (Seen){ .answer = -ENOTTY };
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ENOTTY);
        assert_int_equal(seen.n, 1);
}

LIVE_TEST(open_files_live) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Seen seen = { 0 };

        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_true(seen.n >= 5 && seen.ascending);
}

/* A zombie has a folder still, and nothing in it. */
LIVE_TEST(gone) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Seen seen = { 0 };
        pid_t pid = child_start();

        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        child_make_zombie(pid);
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ESRCH);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ESRCH);
        assert_int_equal(seen.n, 0);
}

/* More than the bound: so many are reported, and that there are more; so are the ports found until
 * then. */
FAKE_TEST(bound) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int folder = -EBADF;
        _cleanup_listen_ports_ ListenPorts ports = { 0 };
        Seen seen = { 0 };

        fake_process(tree, 50, 1, "/x", "/", "0");
        fake_mkdir(tree, "proc/50/fd");
        folder = openat(tree->fd, "proc/50/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t fd = 0; fd < OPEN_FILES_MAX; fd++) {
                assert_int_equal(symlinkat("socket:[77]", folder, fmt("%zu", fd)), 0);
        }
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.n, OPEN_FILES_MAX);
        fake_link(tree, "proc/50/fd/99999999", "/a");
        seen = (Seen){ 0 };
        assert_int_equal(open_files_foreach(&handle, note, &seen), 1);
        assert_int_equal(seen.n, OPEN_FILES_MAX);
        fake_write(tree, "proc/50/net/tcp",
                   "   0: 00000000:4EC0 00000000:0000 0A 0:0 0:0 0 997 0 77 1\n");
        assert_int_equal(read_port_list(&tree->sysroot, &handle, &ports), 1);
        assert_int_equal(ports.n_ports, 1);
}
