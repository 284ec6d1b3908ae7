/* Resident memory by kind out of /proc/PID/status. */
#include <grp.h>
#include <sys/mman.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "tidbnumad/sys/proc.h"

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
