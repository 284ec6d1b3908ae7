/* Single settings of the kernel, over operations that fail as the test says. */
#include <sched.h>
#include <sys/mount.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/setting.h"

/* --- files --- */

TEST(paths) {
        static const struct {
                SettingKey key;
                const char *path;
        } rows[] = {
                { { SETTING_VECTOR, "0000:01:00.0", 24 }, "irq/24/smp_affinity_list" },
                { { SETTING_XPS, "eth0", 3, 7 }, "queues/tx-3/xps_cpus" },
                { { SETTING_RPS, "eth0", 0, 7 }, "queues/rx-0/rps_cpus" },
                { { SETTING_NUMA_BALANCING, "", 0 }, "sys/kernel/numa_balancing" },
        };
        char path[SETTING_TEXT_MAX];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(setting_path(&rows[i].key, path), 0);
                assert_string_equal(path, rows[i].path);
        }
}

/* They come out of a file, too. */
TEST(bad_names) {
        static const char *const names[] = { "", ".", "..", "a/b", "../../proc/x" };
        char path[SETTING_TEXT_MAX];

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const SettingKey key = { SETTING_XPS, names[i], 0, 7 };

                assert_int_equal(setting_path(&key, path), -EINVAL);
        }
        assert_int_equal(setting_path(&(SettingKey){ SETTING_XPS, "eth0", 0 }, path), -EINVAL);
}

TREE_TEST(files) {
        const SettingKey vector = { SETTING_VECTOR, "x", 24 },
                         queue = { SETTING_XPS, "eth0", 1, 7 };
        char text[SETTING_TEXT_MAX];

        fake_write(tree, "proc/irq/24/smp_affinity_list", "0-7\n");
        fake_write(tree, "sys/class/net/eth0/queues/tx-1/xps_cpus", "00\n");
        fake_write(tree, "sys/class/net/eth0/ifindex", "7\n");
        assert_int_equal(SETTING_FILES.read(&tree->sysroot, &vector, text), 0);
        assert_string_equal(text, "0-7");
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &queue, "11"), 0);
        assert_int_equal(SETTING_FILES.read(&tree->sysroot, &queue, text), 0);
        assert_string_equal(text, "11");
        fake_remove(tree, "sys/class/net/eth0/queues/tx-1/xps_cpus");
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &queue, "3"), -ENOENT);
        assert_int_equal(SETTING_FILES.read(&tree->sysroot, &queue, text), -ENOENT);
        fake_remove(tree, "sys/class/net/eth0/ifindex");
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &queue, "3"), -ENODEV);
}

static void add_interface(const FakeTree *tree, const char *name, const char *ifindex) {
        fake_write(tree, fmt("sys/class/net/%s/queues/tx-0/xps_cpus", name), "00\n");
        fake_write(tree, fmt("sys/class/net/%s/ifindex", name), ifindex);
}

static void assert_mask(const FakeTree *tree, const char *name, const char *expected) {
        char text[64];

        assert_true(path_read(tree->fd, text, sizeof(text), "sys/class/net/%s/queues/tx-0/xps_cpus",
                              name) > 0);
        assert_string_equal(text, expected);
}

/* The interface is found by its index, and another one that has its name now is left alone. */
TREE_TEST(renamed_interface) {
        const SettingKey queue = { SETTING_XPS, "eth0", 0, 7 }, other = { SETTING_XPS, "", 0, 9 };
        char text[SETTING_TEXT_MAX];

        add_interface(tree, "lan1", "70\n");
        add_interface(tree, "lan0", "7\n");
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &queue, "11"), 0);
        add_interface(tree, "eth0", "9\n");
        assert_int_equal(SETTING_FILES.read(&tree->sysroot, &queue, text), 0);
        assert_string_equal(text, "11");
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &queue, "33"), 0);
        assert_mask(tree, "lan0", "33");
        assert_mask(tree, "lan1", "00");
        assert_mask(tree, "eth0", "00");
        fake_remove(tree, "sys/class/net/lan0/ifindex");
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &queue, "33"), -ENODEV);
        assert_int_equal(SETTING_FILES.read(&tree->sysroot, &queue, text), -ENODEV);
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &other, "3"), -EINVAL);
}

/* Linux 6.12 and later: the file mode shows it, and no write is tried. */
TREE_TEST(read_only) {
        const SettingKey vector = { SETTING_VECTOR, "x", 24 };
        char text[SETTING_TEXT_MAX];

        fake_write(tree, "proc/irq/24/smp_affinity_list", "0-7\n");
        assert_int_equal(fchmodat(tree->fd, "proc/irq/24/smp_affinity_list", 0444, 0), 0);
        assert_int_equal(SETTING_FILES.write(&tree->sysroot, &vector, "1"), -EPERM);
        assert_int_equal(SETTING_FILES.read(&tree->sysroot, &vector, text), 0);
        assert_string_equal(text, "0-7");
}

/* As the daemon's unit has /proc/sys: in a child, whose mounts are its own. Its exit status. */
static int write_read_only(const char *root) {
        const SettingKey key = { SETTING_NUMA_BALANCING, "", 0 };
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;

        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount(root, root, NULL, MS_BIND, NULL) < 0 ||
            mount(NULL, root, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
                return 77;
        if (sysroot_open(root, &sysroot) < 0)
                return 1;
        return SETTING_FILES.write(&sysroot, &key, "0") == -EPERM ? 0 : 2;
}

TREE_TEST(a_read_only_mount_is_a_refusal) {
        int status;
        pid_t pid;

        fake_write(tree, "proc/sys/kernel/numa_balancing", "1\n");
        pid = fork();
        if (pid == 0)
                _exit(write_read_only(tree->path));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
                skip_because("no mount namespace can be made here");
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- a kernel that refuses --- */

static struct {
        const char *full;  /* CPUs that have no vector free: a mask of these alone is refused */
        int error;         /* of each write, where it is not 0 */
        const char *shows; /* whatever is written; NULL: that */
        char present[64];
        unsigned n_writes;
        char written[256];
} kernel;

static int fake_read(const Sysroot *sysroot, const SettingKey *key,
                     char buffer[static SETTING_TEXT_MAX]) {
        (void)sysroot;
        (void)key;
        (void)snprintf(buffer, SETTING_TEXT_MAX, "%s",
                       kernel.shows ? kernel.shows : kernel.present);
        return 0;
}

static int fake_set(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        const CpuSet full = cpu_set(kernel.full), wanted = cpu_set(text);
        size_t length = strlen(kernel.written);

        (void)sysroot;
        (void)key;
        kernel.n_writes++;
        (void)snprintf(kernel.written + length, sizeof(kernel.written) - length, "%s;", text);
        if (kernel.error < 0)
                return kernel.error;
        if (id_set_is_subset(&wanted, &full))
                return -ENOSPC;
        (void)snprintf(kernel.present, sizeof(kernel.present), "%s", text);
        return 0;
}

static const SettingOps fake_ops = { .read = fake_read, .write = fake_set };

static int apply(const char *wanted, SettingValue *ret) {
        static const uint32_t order[] = { 1, 2, 3 };
        const SettingKey key = { SETTING_VECTOR, "x", 24 };
        const SettingValue value = { .cpus = cpu_set(wanted) };

        return setting_apply(&fake_ops, NULL, &key, &value, order, ELEMENTSOF(order), ret);
}

static int forget(void **state) {
        (void)state;
        memset(&kernel, 0, sizeof(kernel));
        kernel.full = "";
        return 0;
}

TEST(apply, .setup_func = forget) {
        SettingValue ours;

        assert_int_equal(apply("1", &ours), 0);
        assert_ids(ours.cpus, "1");
        assert_string_equal(kernel.written, "1;");
}

TEST(no_vector_free, .setup_func = forget) {
        SettingValue ours;

        kernel.full = "1-2";
        assert_int_equal(apply("1", &ours), 0);
        assert_ids(ours.cpus, "3");
        /* Not that again which was refused. */
        assert_string_equal(kernel.written, "1;2;3;");
}

TEST(no_vector_anywhere, .setup_func = forget) {
        SettingValue ours = { .number = 4711 };

        kernel.full = "0-7";
        assert_int_equal(apply("1", &ours), -ENOSPC);
        assert_string_equal(kernel.written, "1;2;3;");
        assert_int_equal(ours.number, 4711);
}

TEST(managed, .setup_func = forget) {
        static const int errors[] = { -EIO, -EPERM, -EINVAL };
        SettingValue ours;

        for (size_t i = 0; i < ELEMENTSOF(errors); i++) {
                (void)forget(NULL);
                kernel.error = errors[i];
                assert_int_equal(apply("1", &ours), errors[i]);
                assert_int_equal(kernel.n_writes, 1);
        }
}

TEST(shows_something_else, .setup_func = forget) {
        SettingValue ours;

        kernel.shows = "0-7";
        assert_int_equal(apply("1", &ours), -EAGAIN);
        kernel.shows = "rubbish";
        assert_int_equal(apply("1", &ours), -EINVAL);
}

/* --- values --- */

TEST(values) {
        const SettingValue mask = { .cpus = cpu_set("0,33") }, on = { .number = 1 };
        char text[SETTING_TEXT_MAX];
        SettingValue value;

        assert_int_equal(setting_render(SETTING_VECTOR, &mask, text), 0);
        assert_string_equal(text, "0,33");
        assert_int_equal(setting_render(SETTING_XPS, &mask, text), 0);
        assert_string_equal(text, "00000002,00000001");
        assert_int_equal(setting_render(SETTING_NUMA_BALANCING, &on, text), 0);
        assert_string_equal(text, "1");
        assert_int_equal(setting_parse(SETTING_RPS, "00000002,00000001", &value), 0);
        assert_true(setting_value_equal(&value, &mask));
        assert_int_equal(setting_parse(SETTING_VECTOR, "0,33", &value), 0);
        assert_true(setting_value_equal(&value, &mask));
        assert_int_equal(setting_parse(SETTING_NUMA_BALANCING, "2", &value), 0);
        assert_int_equal(value.number, 2);
        assert_int_equal(setting_parse(SETTING_NUMA_BALANCING, "x", &value), -EINVAL);
}
