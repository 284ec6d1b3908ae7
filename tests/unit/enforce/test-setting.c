/* Single settings of the kernel, over operations that fail as the test says. */
#include <errno.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/enforce/setting.h"

/* --- files --- */

TEST(paths) {
        static const struct {
                SettingKey key;
                const char *path;
                bool in_proc;
        } rows[] = {
                { { SETTING_VECTOR, "0000:01:00.0", 24 }, "irq/24/smp_affinity_list", true },
                { { SETTING_XPS, "eth0", 3 }, "class/net/eth0/queues/tx-3/xps_cpus", false },
                { { SETTING_RPS, "eth0", 0 }, "class/net/eth0/queues/rx-0/rps_cpus", false },
                { { SETTING_NUMA_BALANCING, "", 0 }, "sys/kernel/numa_balancing", true },
        };
        char path[SETTING_TEXT_MAX];
        bool in_proc;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(setting_path(&rows[i].key, &in_proc, path), 0);
                assert_string_equal(path, rows[i].path);
                assert_int_equal(in_proc, rows[i].in_proc);
        }
}

/* They come out of a file, too. */
TEST(bad_names) {
        static const char *const names[] = { "", ".", "..", "a/b", "../../proc/x" };
        char path[SETTING_TEXT_MAX];
        bool in_proc;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                const SettingKey key = { SETTING_XPS, names[i], 0 };

                assert_int_equal(setting_path(&key, &in_proc, path), -EINVAL);
        }
}

TEST(files) {
        const SettingKey vector = { SETTING_VECTOR, "x", 24 }, queue = { SETTING_XPS, "eth0", 1 };
        char text[SETTING_TEXT_MAX];
        _cleanup_fake_ FakeTree tree;

        fake_init(&tree);
        fake_write(&tree, "proc/irq/24/smp_affinity_list", "0-7\n");
        fake_write(&tree, "sys/class/net/eth0/queues/tx-1/xps_cpus", "00\n");
        fake_write(&tree, "sys/class/net/eth0/ifindex", "7\n");
        assert_int_equal(SETTING_FILES.read(&tree.sysroot, &vector, text), 0);
        assert_string_equal(text, "0-7");
        assert_int_equal(SETTING_FILES.write(&tree.sysroot, &queue, "11"), 0);
        assert_int_equal(SETTING_FILES.read(&tree.sysroot, &queue, text), 0);
        assert_string_equal(text, "11");
        assert_int_equal(SETTING_FILES.identify(&tree.sysroot, &queue, text), 0);
        assert_string_equal(text, "7");
        assert_int_equal(SETTING_FILES.identify(&tree.sysroot, &vector, text), 0);
        assert_string_equal(text, "");
        fake_remove(&tree, "sys/class/net/eth0/ifindex");
        assert_int_equal(SETTING_FILES.identify(&tree.sysroot, &queue, text), -ENOENT);
        assert_int_equal(
                SETTING_FILES.write(&tree.sysroot, &(SettingKey){ SETTING_XPS, "eth1", 0 }, "3"),
                -ENOENT);
}

/* Linux 6.12 and later: the mode tells, and nothing is tried. */
TEST(read_only) {
        const SettingKey vector = { SETTING_VECTOR, "x", 24 };
        char text[SETTING_TEXT_MAX];
        _cleanup_fake_ FakeTree tree;

        fake_init(&tree);
        fake_write(&tree, "proc/irq/24/smp_affinity_list", "0-7\n");
        assert_int_equal(fchmodat(tree.fd, "proc/irq/24/smp_affinity_list", 0444, 0), 0);
        assert_int_equal(SETTING_FILES.write(&tree.sysroot, &vector, "1"), -EPERM);
        assert_int_equal(SETTING_FILES.read(&tree.sysroot, &vector, text), 0);
        assert_string_equal(text, "0-7");
}

/* --- a kernel that refuses --- */

static struct {
        const char *full;  /* CPUs that have no vector free: a mask of these alone is refused */
        int error;         /* of each write, where it is not 0 */
        const char *shows; /* whatever is written; NULL: that */
        char stands[64];
        unsigned n_writes;
        char written[256];
} kernel;

static int fake_read(const Sysroot *sysroot, const SettingKey *key,
                     char buffer[static SETTING_TEXT_MAX]) {
        (void)sysroot;
        (void)key;
        (void)snprintf(buffer, SETTING_TEXT_MAX, "%s", kernel.shows ? kernel.shows : kernel.stands);
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
        (void)snprintf(kernel.stands, sizeof(kernel.stands), "%s", text);
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
