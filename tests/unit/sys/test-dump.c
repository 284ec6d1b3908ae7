/* What `tidbnumactl gather` takes of a machine, and what it leaves. */
#include <sys/resource.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/dump.h"

typedef struct Pair {
        FakeTree from, to;
} Pair;

static void pair_init(Pair *p) {
        fake_init(&p->from);
        fake_init(&p->to);
}

static void pair_done(Pair *p) {
        fake_done(&p->from);
        fake_done(&p->to);
}
#define _cleanup_pair_ _cleanup_(pair_done)

#define PAIR_TEST(test) TEST_WITH(test, Pair, p, pair_init, pair_done)

/* The content of a file, without its last line end, or the target of a link; "(none)". */
static const char *copied(const Pair *p, const char *name) {
        static char text[512];
        ssize_t n = readlinkat(p->to.fd, name, text, sizeof(text) - 1);

        if (n < 0)
                n = path_read(p->to.fd, text, sizeof(text), "%s", name);
        if (n < 0)
                return "(none)";
        text[n] = '\0';
        return text;
}

static void add_bytes(const FakeTree *tree, const char *name, const char *bytes, size_t n) {
        fake_mkdir_of(tree, name);
        assert_int_equal(dump_write(tree->fd, name, bytes, n), 0);
}

PAIR_TEST(machine) {
        fake_write(&p->from, "sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 4 kB\n");
        fake_write(&p->from, "sys/devices/system/cpu/cpu0/topology/core_id", "7\n");
        fake_write(&p->from, "sys/devices/pci0000:00/0000:00:01.0/numa_node", "1\n");
        fake_write(&p->from, "sys/devices/pci0000:00/0000:00:01.0/rom", "slow to read");
        fake_link(&p->from, "sys/class/net/eth0", "../../devices/x/net/eth0");
        fake_write(&p->from, "sys/devices/pci0000:00/block/sda/size", "2048\n");
        fake_write(&p->from, "proc/net/ipv6_route", "00\n");
        fake_write(&p->from, "proc/interrupts", "CPU0\n");
        fake_write(&p->from, "proc/irq/33/smp_affinity_list", "0-3\n");
        fake_write(&p->from, "proc/kmsg", "whatever");
        fake_write(&p->from, "proc/sys/kernel/hostname", "secret");
        assert_int_equal(dump_machine(&p->from.sysroot, p->to.fd), 0);
        assert_string_equal(copied(p, "sys/devices/system/node/node1/meminfo"),
                            "Node 1 MemTotal: 4 kB");
        assert_string_equal(copied(p, "sys/devices/system/cpu/cpu0/topology/core_id"), "7");
        assert_string_equal(copied(p, "sys/devices/pci0000:00/0000:00:01.0/numa_node"), "1");
        assert_string_equal(copied(p, "sys/class/net/eth0"), "../../devices/x/net/eth0");
        assert_string_equal(copied(p, "sys/devices/pci0000:00/block/sda/size"), "2048");
        assert_string_equal(copied(p, "proc/net/ipv6_route"), "00");
        assert_string_equal(copied(p, "proc/interrupts"), "CPU0");
        assert_string_equal(copied(p, "proc/irq/33/smp_affinity_list"), "0-3");
        assert_string_equal(copied(p, "sys/devices/pci0000:00/0000:00:01.0/rom"), "(none)");
        assert_string_equal(copied(p, "proc/kmsg"), "(none)");
        assert_string_equal(copied(p, "proc/sys/kernel/hostname"), "(none)");
        assert_string_equal(copied(p, "proc/cmdline"), "(none)");
        assert_int_equal(dump_machine(&p->from.sysroot, p->to.fd), 0); /* once more over it */
}

PAIR_TEST(arguments_of_the_kernel) {
        fake_write(&p->from, "proc/cmdline", "quiet isolcpus=2-3 root_password=x\n");
        assert_int_equal(dump_machine(&p->from.sysroot, p->to.fd), 0);
        assert_string_equal(copied(p, "proc/cmdline"), "quiet isolcpus=2-3 root_password=***");
}

TEST(process) {
        static const char arguments[] = "tikv-server\0--addr\0x:1\0--password\0y";
        static const char environ[] = "SECRET=1\0GOMAXPROCS=12345678901234567890\0A=b";
        _cleanup_pair_ Pair p;
        char long_text[400];

        memset(long_text, 'm', sizeof(long_text));
        pair_init(&p);
        fake_process(&p.from, 50, 1, "/srv/tikv-server", "/a.slice", "0-3");
        fake_link(&p.from, "proc/50/fd/3", "socket:[9]");
        fake_link(&p.from, "proc/50/ns/net", "net:[1]");
        add_bytes(&p.from, "proc/50/cmdline", arguments, sizeof(arguments));
        add_bytes(&p.from, "proc/50/environ", environ, sizeof(environ));
        add_bytes(&p.from, "proc/50/numa_maps", long_text, sizeof(long_text));
        add_bytes(&p.from, "proc/50/mem", long_text, sizeof(long_text));
        assert_int_equal(dump_process(&p.from.sysroot, 50, p.to.fd), 0);
        assert_string_equal(copied(&p, "proc/50/exe"), "/srv/tikv-server");
        assert_string_equal(copied(&p, "proc/50/fd/3"), "socket:[9]");
        assert_string_equal(copied(&p, "proc/50/ns/net"), "net:[1]");
        assert_non_null(strstr(copied(&p, "proc/50/task/50/stat"), "50 ("));
        assert_string_equal(copied(&p, "proc/50/environ"), "GOMAXPROCS=1234567890");
        assert_int_equal(strlen(copied(&p, "proc/50/numa_maps")), 128);
        assert_string_equal(copied(&p, "proc/50/mem"), "(none)");
        (void)copied(&p, "proc/50/cmdline");
        assert_null(memmem(copied(&p, "proc/50/cmdline"), sizeof(arguments) + 2, "\0y", 2));
}

PAIR_TEST(process_with_little) {
        fake_process(&p->from, 50, 1, "/srv/a", "/", "0-3");
        assert_int_equal(dump_process(&p->from.sysroot, 50, p->to.fd), 0);
        assert_string_equal(copied(p, "proc/50/exe"), "/srv/a");
        assert_string_equal(copied(p, "proc/50/environ"), "(none)");
        assert_int_equal(dump_process(&p->from.sysroot, 51, p->to.fd), 0); /* it has ended */
        assert_string_equal(copied(p, "proc/51"), "(none)");
}

/* The caller gets an error, and not half of a dump that looks complete. */
PAIR_TEST(disk_that_is_full) {
        const struct rlimit small = { .rlim_cur = 4, .rlim_max = RLIM_INFINITY };
        struct rlimit before;
        int machine, process;

        fake_write(&p->from, "proc/meminfo", "MemTotal: 1 kB\n");
        fake_process(&p->from, 50, 1, "/srv/a", "/", "0-3");
        (void)signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(
                setrlimit(RLIMIT_FSIZE, &(struct rlimit){ small.rlim_cur, before.rlim_max }), 0);
        machine = dump_machine(&p->from.sysroot, p->to.fd);
        process = dump_process(&p->from.sysroot, 50, p->to.fd);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(machine, -EFBIG);
        assert_int_equal(process, -EFBIG);
}

PAIR_TEST(something_in_the_way) {
        fake_write(&p->from, "proc/meminfo", "MemTotal: 1 kB\n");
        fake_link(&p->from, "proc/50/exe", "/srv/a");
        fake_remove(&p->to, "proc");
        fake_write(&p->to, "proc", "a file");
        assert_int_equal(dump_machine(&p->from.sysroot, p->to.fd), -ENOTDIR);
        assert_int_equal(dump_process(&p->from.sysroot, 50, p->to.fd), -ENOTDIR);
        assert_int_equal(dump_write(p->to.fd, "proc/x", "", 0), -ENOTDIR);
}

TEST(path_that_is_too_long) {
        _cleanup_fake_ FakeTree tree;
        char path[2000];

        memset(path, 'x', sizeof(path));
        path[1] = '/';
        path[sizeof(path) - 1] = '\0';
        fake_init(&tree);
        assert_int_equal(dump_write(tree.fd, path, "", 0), -ENAMETOOLONG);
}
