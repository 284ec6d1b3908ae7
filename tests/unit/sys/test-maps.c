/* /proc/PID/maps: single lines, files of any length through the window, and this process's own. */
#include <numaif.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/test.h"

#include "tidbnumad/sys/maps.h"
#include "tidbnumad/sys/pages.h"

typedef struct KnownLine {
        const char *line;
        MappingKind kind;
        bool has_file;
} KnownLine;

#define AT "55e2c0000000-55e2c0021000 "

/* 00:01, 00:19, 00:0f and 00:1e */
static const ShmemDevices shmem = {
        .kernel = 0x01, .dev_shm = 0x19, .huge = 0x0f, .dev_hugepages = 0x1e
};

TEST(on_disk) {
        static const struct {
                const char *line;
                bool on_disk;
        } rows[] = {
                { "1000-2000 rw-p 00033000 fe:00 325835   /usr/lib/libc.so.6", true },
                { "1000-2000 rw-p 00033000 00:2f 325835   /mnt/fuse/libc.so.6", false },
                { "1000-2000 rw-p 00000000 00:00 0 ", false },
        };
        const ShmemDevices none = { 0 };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Mapping mapping;

                assert_int_equal(maps_parse_line(rows[i].line, &none, &mapping), 0);
                assert_int_equal(mapping.on_disk, rows[i].on_disk);
        }
}

TEST(lines) {
        static const KnownLine known[] = {
                { AT "rw-p 00000000 00:00 0                          [heap]", MAPPING_PRIVATE,
                  false },
                { AT "rw-p 00000000 00:00 0 ", MAPPING_PRIVATE, false },
                { AT "rw-p 00000000 00:00 0", MAPPING_PRIVATE, false },
                { AT "rw-p 00033000 fe:00 325835   /usr/lib/libc.so.6", MAPPING_PRIVATE, true },
                { AT "r--p 00033000 103:05 18446744073709551615 /a", MAPPING_PRIVATE, true },
                { AT "r-xp 00033000 fe:00 325835 /usr/bin/tikv (deleted)", MAPPING_PRIVATE, true },
                { AT "-w-p 00033000 fe:00 325835 /a b\\012[vdso]", MAPPING_PRIVATE, true },
                { AT "rw-p 00000000 00:00 0 [anon:glibc: malloc arena]", MAPPING_PRIVATE, false },
                { AT "rw-p 00000000 00:00 0 [stack]\n", MAPPING_PRIVATE, false },
                { AT "rw-p 00000000 00:0f 1 /anon_hugepage (deleted)", MAPPING_PRIVATE, true },
                { AT "rw-s 00000000 00:01 1 /dev/zero (deleted)", MAPPING_SHARED_ANON, true },
                { AT "rw-s 00000000 00:01 1 [anon_shmem:pool]", MAPPING_SHARED_ANON, false },
                { AT "r--s 00000000 fe:00 1 /dev/zero (deleted)", MAPPING_OTHER, true },
                { AT "r--s 00000000 fe:00 1 /usr/lib/locale", MAPPING_FILE, true },
                { AT "rw-s 00000000 00:01 7 /SYSV00000000 (deleted)", MAPPING_FILE, true },
                { AT "rw-s 00000000 00:01 7 /memfd:pool (deleted)", MAPPING_FILE, true },
                { AT "rw-s 00000000 00:19 7 /dev/shm/pool", MAPPING_FILE, true },
                { AT "rw-s 00000000 00:19 7 /dev/hugepages/pool", MAPPING_FILE, true },
                { AT "rw-s 00000000 00:06 7 /dev/dri/card0", MAPPING_OTHER, true },
                { AT "rw-s 00000000 00:06 7 /dev/zero", MAPPING_OTHER, true },
                { AT "rw-s 00000000 00:0e 7 anon_inode:[perf_event]", MAPPING_OTHER, false },
                { AT "---p 00000000 00:00 0 ", MAPPING_OTHER, false },
                { AT "---s 00000000 fe:00 1 /a", MAPPING_OTHER, true },
                { AT "--xp 00000000 00:00 0 [x]", MAPPING_OTHER, false },
                { AT "--xp 00000000 00:00 0 [vsyscall]", MAPPING_OTHER, false },
                { AT "r-xp 00000000 00:00 0 [vsyscall]", MAPPING_OTHER, false },
                { AT "r-xp 00000000 00:00 0      [vdso]", MAPPING_OTHER, false },
                { AT "r--p 00000000 00:00 0      [vvar_vclock]", MAPPING_OTHER, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(known); i++) {
                Mapping m = { 0 };

                if (maps_parse_line(known[i].line, &shmem, &m) != 0 || m.kind != known[i].kind ||
                    m.has_file != known[i].has_file)
                        fail_msg("taken for kind %d: %s", m.kind, known[i].line);
                assert_true(m.start == UINT64_C(0x55e2c0000000));
                assert_true(m.end == UINT64_C(0x55e2c0021000));
        }
}

TEST(lines_that_are_none) {
        static const char *const lines[] = {
                "",
                "\n",
                "rw-p",
                "1000-2000",
                "1000-2000 rw-p",
                "1000-2000 rw-p 0",
                "1000-2000 rw-p 0 fe:00",
                "1000-2000 rw-p 0 fe 00 1",
                "1000-2000 rw- 0 fe:00 1",
                "1000-2000 rw-pp 0 fe:00 1",
                "2000-1000 rw-p 0 fe:00 1",
                "1000-1000 rw-p 0 fe:00 1",
                "1000 2000 rw-p 0 fe:00 1",
                "x-2000 rw-p 0 fe:00 1",
                "[heap] 1000-2000 rw-p 0 fe:00 1",
        };

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                Mapping m = { .start = 7 };

                if (maps_parse_line(lines[i], &shmem, &m) != -EBADMSG)
                        fail_msg("is taken: %s", lines[i]);
                assert_int_equal(m.start, 7);
        }
}

/* Reads a text through the window. */
static MapsReader *open_text(const char *text, size_t length) {
        MapsReader *reader = calloc(1, sizeof(*reader));

        assert_non_null(reader);
        reader->fd = memfd_create("maps", MFD_CLOEXEC);
        assert_true(reader->fd >= 0);
        assert_int_equal(write(reader->fd, text, length), length);
        assert_int_equal(maps_rewind(reader), 0);
        return reader;
}

/* Every line once and in order, whatever falls on the window's border: lines of many lengths, some
 * much longer than the window, and some that are none. */
typedef struct KnownShmem {
        const char *line;
        bool is_shmem, is_huge;
} KnownShmem;

TEST(shared_memory) {
        static const KnownShmem known[] = {
                { AT "rw-s 00000000 00:01 1 /dev/zero (deleted)", true },
                { AT "rw-s 00000000 00:01 1 [anon_shmem:pool]", true },
                { AT "rw-s 00000000 00:01 1 /memfd:x (deleted)", true },
                { AT "rw-s 00000000 00:01 1 /SYSV00000000 (deleted)", true },
                { AT "rw-s 00000000 00:19 1 /dev/shm/a", true },
                { AT "rw-s 00000000 00:19 1 /mnt/a", true },
                { AT "rw-s 00000000 fe:00 1 /dev/shm/a", false },
                { AT "rw-s 00000000 fe:00 1 /memfd:x (deleted)", false },
                { AT "rw-s 00000000 fe:00 1 /dev/zero (deleted)", false },
                { AT "rw-p 00000000 00:01 1 /memfd:x (deleted)", false },
                { AT "rw-p 00000000 00:00 0 ", false },
                { AT "rw-s 00000000 00:0f 1 /memfd:x (deleted)", false, true },
                { AT "rw-s 00000000 00:0f 1 /anon_hugepage (deleted)", false, true },
                { AT "rw-s 00000000 00:1e 1 /dev/hugepages/java", false, true },
                { AT "rw-s 00000000 fe:00 1 /dev/hugepages/java", false, false },
                { AT "rw-p 00000000 00:0f 1 /anon_hugepage (deleted)", false, false },
        };
        Mapping mapping;

        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
                assert_int_equal(maps_parse_line(known[i].line, &shmem, &mapping), 0);
                assert_int_equal(mapping.is_shmem, known[i].is_shmem);
                assert_int_equal(mapping.is_huge, known[i].is_huge);
        }
}

TEST(window) {
        enum { LINES = 3000 };
        _cleanup_free_ char *text = malloc(LINES * 128 + 40 * 10000);
        MapsReader *reader;
        size_t length = 0;
        Mapping m;

        assert_non_null(text);
        for (unsigned i = 0; i < LINES; i++) {
                int name = i % 100 == 99 ? 4000 + (int)(i % 7) * 1000 : (int)(i % 61);

                length += (size_t)sprintf(text + length, "%x000-%x000 rw-p 0 00:00 0 /%0*d\n",
                                          2 * i + 1, 2 * i + 2, name, 7);
                if (i % 50 == 0)
                        length += (size_t)sprintf(text + length, "what is this\n\n");
        }
        reader = open_text(text, length);
        for (unsigned round = 0; round < 2; round++) {
                for (unsigned i = 0; i < LINES; i++) {
                        assert_int_equal(maps_next(reader, &m), 1);
                        assert_int_equal(m.start, (uint64_t)(2 * i + 1) << 12);
                        assert_int_equal(m.end, (uint64_t)(2 * i + 2) << 12);
                }
                assert_int_equal(maps_next(reader, &m), 0);
                assert_int_equal(maps_next(reader, &m), 0);
                assert_int_equal(maps_rewind(reader), 0);
        }
        reader = maps_close(reader);
        assert_null(reader);
        assert_null(maps_close(NULL));
}

/* What is cut off a long name is not a line, whatever it looks like; and a rewind forgets that
 * something is to be cut off. */
TEST(long_name) {
        static const char rest[] = "1000-2000 rw-p 0 00:00 0 /no\n";
        static const char next[] = "7000-8000 rw-p 0 00:00 0 /next\n";
        enum { WINDOW = sizeof(((MapsReader *)NULL)->window) - 1 };
        char text[WINDOW + sizeof(rest) + sizeof(next)];
        MapsReader *reader;
        Mapping m;

        (void)sprintf(text, "3000-4000 rw-p 0 00:00 0 /");
        memset(text + strlen(text), 'x', WINDOW);
        (void)sprintf(text + WINDOW, "%s%s", rest, next);
        reader = open_text(text, strlen(text));
        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(maps_next(reader, &m), 1);
                assert_int_equal(m.start, 0x3000);
                if (i == 0) {
                        assert_int_equal(maps_rewind(reader), 0);
                        continue;
                }
                assert_int_equal(maps_next(reader, &m), 1);
                assert_int_equal(m.start, 0x7000);
                if (i == 2)
                        assert_int_equal(maps_next(reader, &m), 0);
                assert_int_equal(maps_rewind(reader), 0);
        }
        maps_close(reader);
}

/* In the middle of a window too. */
TEST(rewind) {
        static const char text[] = "1000-2000 rw-p 0 00:00 0 /a\n3000-4000 rw-p 0 00:00 0 /b\n"
                                   "5000-6000 rw-p 0 00:00 0 /c\n";
        MapsReader *reader = open_text(text, strlen(text));
        Mapping m;

        assert_int_equal(maps_next(reader, &m), 1);
        assert_int_equal(maps_rewind(reader), 0);
        assert_int_equal(maps_next(reader, &m), 1);
        assert_int_equal(m.start, 0x1000);
        assert_int_equal(maps_next(reader, &m), 1);
        assert_int_equal(m.start, 0x3000);
        maps_close(reader);
}

static void *map(size_t size, int protection, int flags) {
        void *p = mmap(NULL, size, protection, flags | MAP_ANONYMOUS, -1, 0);

        assert_true(p != MAP_FAILED);
        return p;
}

/* -1: not mapped. */
static int kind_at(MapsReader *reader, const void *address) {
        uint64_t last = 0;
        int found = -1;
        Mapping m;

        assert_int_equal(maps_rewind(reader), 0);
        while (maps_next(reader, &m) == 1) {
                assert_true(m.start >= last && m.end > m.start);
                last = m.end;
                if ((uintptr_t)address >= m.start && (uintptr_t)address < m.end)
                        found = m.kind;
        }
        return found;
}

LIVE_TEST(own_maps) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = memfd_create("pool", MFD_CLOEXEC);
        size_t size = 16 * page_size_bytes();
        void *rw = map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        void *shared = map(size, PROT_READ | PROT_WRITE, MAP_SHARED);
        void *none = map(size, PROT_NONE, MAP_PRIVATE);
        void *named = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        MapsReader *reader;

        assert_true(named != MAP_FAILED);
        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        assert_int_equal(maps_open(&handle, &reader), 0);
        assert_int_equal(kind_at(reader, rw), MAPPING_PRIVATE);
        assert_int_equal(kind_at(reader, &size), MAPPING_PRIVATE); /* the stack */
        assert_int_equal(kind_at(reader, shared), MAPPING_SHARED_ANON);
        assert_int_equal(kind_at(reader, named), MAPPING_FILE);
        assert_int_equal(kind_at(reader, none), MAPPING_OTHER);
        assert_int_equal(kind_at(reader, NULL), -1);
        maps_close(reader);
        (void)munmap(rw, size);
        (void)munmap(shared, size);
        (void)munmap(none, size);
        (void)munmap(named, size);
}

/* --- a name that a user gives to a file of the host --- */

static bool write_own(const char *name, const char *text) {
        _cleanup_close_ int fd = open(name, O_WRONLY | O_CLOEXEC);

        return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* In a user and mount namespace of its own: its program, mapped under the name that the kernel
 * gives to shared memory. */
static void *map_forged(void) {
        char path[4096] = "";
        int fd;
        void *p;

        if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0 ||
            unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return NULL;
        if (!write_own("/proc/self/setgroups", "deny") ||
            !write_own("/proc/self/uid_map", fmt("0 %u 1", geteuid())) ||
            !write_own("/proc/self/gid_map", fmt("0 %u 1", getegid())) ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tmpfs", "/dev", "tmpfs", 0, NULL) < 0 ||
            close(open("/dev/zero (deleted)", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) < 0 ||
            mount(path, "/dev/zero (deleted)", NULL, MS_BIND, NULL) < 0)
                return NULL;
        fd = open("/dev/zero (deleted)", O_RDONLY | O_CLOEXEC);
        p = mmap(NULL, page_size_bytes(), PROT_READ, MAP_SHARED, fd, 0);
        return p == MAP_FAILED ? NULL : p;
}

static pid_t start_forger(void **ret) {
        int ends[2];
        pid_t pid;

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid = child_fork();
        if (pid == 0) {
                void *p = map_forged();

                (void)!write(ends[1], &p, sizeof(p));
                child_wait();
        }
        assert_int_equal(read(ends[0], ret, sizeof(*ret)), sizeof(*ret));
        (void)close(ends[0]);
        (void)close(ends[1]);
        return pid;
}

static bool has_line(const ProcHandle *handle, const char *name) {
        static char text[65536];

        return path_read(handle->dir_fd, text, sizeof(text), "maps") > 0 && strstr(text, name);
}

LIVE_TEST(a_forged_name_is_no_shared_memory) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        MapsReader *reader;
        void *p;
        pid_t pid = start_forger(&p);
        int kind;

        if (!p) {
                child_end(pid);
                sysroot_close(sysroot); /* nothing is done after a skip */
                skip_because("no user namespaces");
        }
        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        assert_true(has_line(&handle, " /dev/zero (deleted)\n")); /* the forgery works */
        assert_int_equal(maps_open(&handle, &reader), 0);
        kind = kind_at(reader, p);
        maps_close(reader);
        child_end(pid);
        assert_int_equal(kind, MAPPING_OTHER);
}

/* --- /proc/PID/numa_maps: lines, this process's own, and policies --- */

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

TEST(numa_maps_lines) {
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
        uint64_t shared = 0, anon = 0;
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
                shared += seen.bytes[i][NUMA_MAPS_SHMEM];
                anon += seen.bytes[i][NUMA_MAPS_ANON];
        }
        assert_int_equal(shared, size);
        assert_true(anon > 0);
}

FAKE_TEST(pages_of_one_that_is_gone) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Seen seen = { 0 };

        fake_process(tree, 50, 1, "/srv/a", "/", "0");
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(numa_maps_read(&handle, see, &seen), -ENOENT);
        fake_remove(tree, "proc/50");
        assert_int_equal(numa_maps_read(&handle, see, &seen), -ESRCH);
        assert_int_equal(seen.n_calls, 0);
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
        assert_parsed("55d prefer (many):0-1 anon=1", 0, "prefer (many):0-1");
        assert_parsed("55d weighted interleave:0-7\n", 0, "weighted interleave:0-7");
        assert_parsed("55d bind:1 heap anon=1", 0, "bind:1");
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
