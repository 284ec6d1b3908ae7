/* /proc/PID/numa_maps: single lines, this process's own, and policies as the kernel writes them. */
#include <numaif.h>
#include <sys/mman.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/maps.h"

enum { NODES = 32 };

typedef struct Seen {
        uint64_t bytes[NODES][N_NUMA_MAPS_KINDS];
        unsigned n_calls;
} Seen;

static void see(uint32_t node, NumaMapsKind kind, uint64_t bytes, void *userdata) {
        Seen *seen = userdata;

        assert_true(node < NODES && kind < N_NUMA_MAPS_KINDS && bytes > 0);
        seen->bytes[node][kind] += bytes;
        seen->n_calls++;
}

static Seen parse(const char *line, unsigned n_calls) {
        Seen seen = { 0 };

        assert_int_equal(numa_maps_parse_line(line, see, &seen), 0);
        assert_int_equal(seen.n_calls, n_calls);
        return seen;
}

TEST(lines) {
        Seen s = parse("7f3e8c000000 default anon=33 dirty=33 N0=10 N17=23 kernelpagesize_kB=4\n",
                       2);

        assert_int_equal(s.bytes[0][NUMA_MAPS_ANON], 10 * 4096);
        assert_int_equal(s.bytes[17][NUMA_MAPS_ANON], 23 * 4096);
        s = parse("55a0 bind:0-1 file=/usr/bin/N3=9 mapped=2 mapmax=3 N1=2 kernelpagesize_kB=64",
                  1);
        assert_int_equal(s.bytes[1][NUMA_MAPS_FILE], 2 * 65536);
        s = parse("55a0 default file=/lib/c.so anon=3 dirty=3 mapped=4 N1=4 kernelpagesize_kB=4",
                  1);
        assert_int_equal(s.bytes[1][NUMA_MAPS_ANON], 4 * 4096);
        s = parse("55a0 default file=/lib/c.so anon=2 dirty=2 mapped=4 N1=4 kernelpagesize_kB=4",
                  1);
        assert_int_equal(s.bytes[1][NUMA_MAPS_FILE], 4 * 4096);
        s = parse("7f00 default file=/dev/zero\\040(deleted) dirty=5 N2=5 kernelpagesize_kB=4", 1);
        assert_int_equal(s.bytes[2][NUMA_MAPS_SHMEM], 5 * 4096);
        s = parse("7f00 default file=/memfd:x\\040(deleted) dirty=5 N2=5 kernelpagesize_kB=4", 1);
        assert_int_equal(s.bytes[2][NUMA_MAPS_SHMEM], 5 * 4096);
        s = parse("7f00 default file=/dev/shm/a dirty=5 N2=5 kernelpagesize_kB=4", 1);
        assert_int_equal(s.bytes[2][NUMA_MAPS_SHMEM], 5 * 4096);
        s = parse("7f00 default file=/SYSV00000000 dirty=5 N2=5 kernelpagesize_kB=4", 1);
        assert_int_equal(s.bytes[2][NUMA_MAPS_SHMEM], 5 * 4096);
        s = parse("7f00 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N3=2 "
                  "kernelpagesize_kB=1048576",
                  1);
        assert_int_equal(s.bytes[3][NUMA_MAPS_HUGE], UINT64_C(2) << 30);
        s = parse("7ffc stack anon=3 dirty=3 N0=3 kernelpagesize_kB=4", 1);
        assert_int_equal(s.bytes[0][NUMA_MAPS_ANON], 3 * 4096);
        (void)parse("7ffc2d8a1000 default", 0);
        (void)parse("7ffc2d8a1000 default file=/a", 0);
}

TEST(refused) {
        static const char *const lines[] = {
                "",
                "\n",
                "g default N0=1 kernelpagesize_kB=4",
                "7f00",
                "7f00 default anon=1 N0=1", /* pages of no size */
                "7f00 default anon=1 N0=1 kernelpagesize_kB=0",
                "7f00 default N0=18446744073709551615 kernelpagesize_kB=4",
                "7f00 default N0=18446744073709551615 N1=2 kernelpagesize_kB=4",
        };
        Seen seen = { 0 };

        for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
                assert_int_equal(numa_maps_parse_line(lines[i], see, &seen), -EBADMSG);
        assert_int_equal(seen.n_calls, 0);
}

LIVE_TEST(own) {
        const size_t size = (size_t)32 << 20;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        uint64_t shmem = 0, anon = 0;
        Seen seen = { 0 };
        int r;

        assert_true(area != MAP_FAILED);
        memset(area, 1, size);
        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        r = numa_maps_read(&handle, see, &seen);
        (void)munmap(area, size);
        if (r == -ENOENT)
                skip_because("no numa_maps here");
        assert_int_equal(r, 0);
        for (unsigned i = 0; i < NODES; i++) {
                shmem += seen.bytes[i][NUMA_MAPS_SHMEM];
                anon += seen.bytes[i][NUMA_MAPS_ANON];
        }
        assert_int_equal(shmem, size);
        assert_true(anon > 0);
}

/* --- the policy --- */

static void assert_parsed(const char *text, int expected, const char *policy) {
        char buffer[32] = "untouched";

        assert_int_equal(memory_policy_parse(text, buffer, sizeof(buffer)), expected);
        assert_string_equal(buffer, policy);
}

TEST(policy) {
        assert_parsed("00400000 default file=/bin/a mapped=1 N0=1\n", 0, "default");
        assert_parsed("7f0000400000 interleave:0-7 anon=1\n7f bind:2", 0, "interleave:0-7");
        assert_parsed("55d bind:2\n", 0, "bind:2");
        assert_parsed("55d prefer=relative:1", 0, "prefer=relative:1");
        assert_parsed("", -EBADMSG, "untouched");
        assert_parsed("default", -EBADMSG, "untouched"); /* letters of a number, and no space */
        assert_parsed("55d", -EBADMSG, "untouched");
        assert_parsed("55d ", -EBADMSG, "untouched");
        assert_parsed("55d  default", -EBADMSG, "untouched");
        assert_parsed("55d 7", -EBADMSG, "untouched");
        assert_parsed("55d interleave:0,2,4,6,8,10,12,14,16,18", -ENOSPC, "untouched");
}

LIVE_TEST(own_policy) {
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;
        unsigned long nodes = 1;
        char policy[64];

        assert_int_equal(proc_open(sysroot, getpid(), &self), 0);
        if (memory_policy_read(&self, policy, sizeof(policy)) == -ENOENT)
                skip();
        if (set_mempolicy(MPOL_BIND, &nodes, 8) < 0)
                skip(); /* not allowed here */
        assert_int_equal(memory_policy_read(&self, policy, sizeof(policy)), 0);
        assert_int_equal(set_mempolicy(MPOL_DEFAULT, NULL, 0), 0);
        assert_string_equal(policy, "bind:0");
        assert_int_equal(memory_policy_read(&self, policy, sizeof(policy)), 0);
        assert_string_equal(policy, "default");
}

FAKE_TEST(policy_of_one_that_is_gone) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char policy[64];

        fake_process(tree, 50, 1, "/srv/a", "/", "0");
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(memory_policy_read(&handle, policy, sizeof(policy)), -ENOENT);
        fake_remove(tree, "proc/50");
        assert_int_equal(memory_policy_read(&handle, policy, sizeof(policy)), -ESRCH);
}
