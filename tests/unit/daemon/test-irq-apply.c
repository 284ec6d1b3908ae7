/* Settings put on and given back over a kernel that fails: each operation in turn, with each errno
 * that it may have, or the daemon dies there. After every write, what a new life of the daemon
 * would know is read from the file alone: no setting may be changed without a record of it. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "rooms.h"
#include "tidbnumad/daemon/interrupts/irq.h"

#define PCI "0000:3b:00.0"

/* --- the kernel --- */

static const struct {
        SettingKey key;
        const char *before, *wanted;
} SETTINGS[] = {
        { { SETTING_VECTOR, PCI, 24 }, "0-7", "1" },
        { { SETTING_VECTOR, PCI, 25 }, "4", "5" }, /* the kernel's own */
        { { SETTING_VECTOR, PCI, 26 }, "0-3,6", "0" },
        { { SETTING_XPS, "eth0", 0, 3 }, "00", "00000002" },
        { { SETTING_RPS, "eth0", 0, 3 }, "ff", "00000000" },
        { { SETTING_NUMA_BALANCING, "", 0 }, "1", "0" },
};
enum { N = ELEMENTSOF(SETTINGS), OWN = 1 };

static struct {
        char present[N][32];
        const char *before[N];
        uint32_t ifindex;
        unsigned n_operations, harm_at, n_writes[N];
        int error; /* of the operation that is harmed; 0: the daemon dies there */
        bool dead;
        Undo *undo;
} kernel;

static bool is_gone(const SettingKey *key) {
        return setting_is_queue(key->kind) && key->ifindex != kernel.ifindex;
}

static SettingKey key_of(size_t i) {
        SettingKey key = SETTINGS[i].key;

        if (setting_is_queue(key.kind))
                key.ifindex = kernel.ifindex;
        return key;
}

static size_t index_of(const SettingKey *key) {
        for (size_t i = 0; i < N; i++)
                if (SETTINGS[i].key.kind == key->kind && SETTINGS[i].key.number == key->number)
                        return i;
        fail_msg("there is no such setting");
        return 0;
}

/* 1: as always. */
static int harm(void) {
        if (kernel.dead)
                return -ESHUTDOWN;
        if (++kernel.n_operations != kernel.harm_at)
                return 1;
        kernel.dead = kernel.error == 0;
        return kernel.error == 0 ? -ESHUTDOWN : kernel.error;
}

static int kernel_read(const Sysroot *sysroot, const SettingKey *key,
                       char buffer[static SETTING_TEXT_MAX]) {
        const int r = harm();

        (void)sysroot;
        if (r < 0)
                return r;
        if (is_gone(key))
                return -ENODEV;
        (void)snprintf(buffer, SETTING_TEXT_MAX, "%s", kernel.present[index_of(key)]);
        return 0;
}

static void no_bad_file(const char *name, int error, void *userdata) {
        (void)error;
        (void)userdata;
        fail_msg("%s", name);
}

static void assert_recorded(void) {
        _cleanup_(undo_done) Undo read;

        undo_init(&read, kernel.undo->sysroot);
        read.dir_fd = dup(kernel.undo->dir_fd);
        assert_int_equal(undo_load(&read, no_bad_file, NULL), 0);

        for (size_t i = 0; i < N; i++) {
                const SettingKey key = key_of(i);
                const UndoSetting *entry = undo_record_find_setting(&read.host, &key);

                if (strcmp(kernel.present[i], kernel.before[i]) != 0) {
                        assert_non_null(entry);
                        assert_string_equal(entry->before, kernel.before[i]);
                }
        }
}

static int kernel_write(const Sysroot *sysroot, const SettingKey *key, const char *text) {
        const size_t i = index_of(key);
        const int r = is_gone(key) ? -ENODEV : harm();

        (void)sysroot;
        if (r < 0)
                return r;
        kernel.n_writes[i]++;
        if (i == OWN)
                return -EIO;
        (void)snprintf(kernel.present[i], sizeof(kernel.present[i]), "%s", text);
        assert_recorded();
        return 0;
}

static const SettingOps kernel_ops = { kernel_read, kernel_write };

/* --- the host, and one life of the daemon --- */

static IrqVector vectors[] = { { .irq = 24, .name = (char *)"eth0-0", .mask_known = true },
                               { .irq = 25, .name = (char *)"eth0-1", .mask_known = true },
                               { .irq = 26, .name = (char *)"eth0-2", .mask_known = true } };
static IrqDevice device = { .kind = IRQ_DEVICE_NET,
                            .name = (char *)"eth0",
                            .pci = (char *)PCI,
                            .vectors = vectors,
                            .n_vectors = 3 };
static IrqHost host = { .devices = &device, .n_devices = 1 };

typedef struct Life {
        FakeTree tree;
        Rooms m;
        Interrupts irq;
        Args args;
} Life;

static void begin(Life *l) {
        l->irq.host = &l->m.host;
        l->irq.undo = &l->m.undo;
        l->irq.ops = &kernel_ops;
        undo_init(&l->m.undo.records, &l->tree.sysroot);
        assert_int_equal(undo_open(&l->m.undo.records, l->tree.fd), 0);
        kernel.undo = &l->m.undo.records;
        assert_int_equal(undo_load(&l->m.undo.records, no_bad_file, NULL), 0);
}

static void end(Life *l) {
        for (size_t i = 0; i < l->irq.n_settings; i++)
                free((char *)l->irq.settings[i].key.device);
        free(l->irq.settings);
        undo_done(&l->m.undo.records);
        l->irq = (Interrupts){ 0 };
}

/* As it is before us. */
static void set(size_t i, const char *text) {
        kernel.before[i] = text;
        (void)snprintf(kernel.present[i], sizeof(kernel.present[i]), "%s", text);
}

static void life_init(Life *l) {
        *l = (Life){ .args = { .runtime_dir = (char *)"/run" } };
        memset(&kernel, 0, sizeof(kernel));
        kernel.ifindex = 3;
        for (size_t i = 0; i < N; i++)
                set(i, SETTINGS[i].before);
        fake_init(&l->tree);
        l->m = (Rooms){ .host.args = &l->args,
                        .host.sysroot = l->tree.sysroot,
                        .host.journal = { .max_priority = -1 } };
        rooms_wire(&l->m);
        begin(l);
}

static void life_done(Life *l) {
        end(l);
        fake_done(&l->tree);
}
#define _cleanup_life_ _cleanup_(life_done)
#define LIFE_TEST(test) TEST_WITH(test, Life, l, life_init, life_done)

static void die_and_live(Life *l) {
        end(l);
        kernel.dead = false;
        begin(l);
}

/* What would be observed. */
static void desired_of(IrqDesiredList *ret) {
        *ret = (IrqDesiredList){ .settings = calloc(N, sizeof(IrqDesired)), .n_settings = N };
        for (size_t i = 0; i < N; i++) {
                IrqDesired *w = &ret->settings[i];

                w->key = key_of(i);
                w->known = true;
                assert_int_equal(setting_parse(w->key.kind, SETTINGS[i].wanted, &w->value), 0);
                assert_int_equal(setting_parse(w->key.kind, kernel.present[i], &w->present), 0);
        }
}

static void put_on(Life *l) {
        _cleanup_irq_desired_ IrqDesiredList desired;

        desired_of(&desired);
        irq_put_on(&l->irq, &host, &desired);
}

static void give_back(Life *l) {
        const IrqDesiredList none = { 0 };

        irq_give_back(&l->irq, &host, &none, false);
}

static void assert_all(bool wanted) {
        for (size_t i = 0; i < N; i++)
                assert_string_equal(kernel.present[i],
                                    wanted && i != OWN ? SETTINGS[i].wanted : SETTINGS[i].before);
}

static bool has_record(const Life *l) {
        return faccessat(l->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0) == 0;
}

/* --- tests --- */

LIFE_TEST(on_and_back) {
        put_on(l);
        assert_all(true);
        assert_true(has_record(l));
        assert_int_equal(l->m.undo.records.host.n_settings,
                         N - 1); /* of what the kernel kept there is none */
        give_back(l);
        assert_all(false);
        assert_false(has_record(l));
}

LIFE_TEST(quiet) {
        uint64_t writes;

        put_on(l);
        writes = l->irq.n_writes;
        assert_int_equal(writes, N);
        for (unsigned i = 0; i < 5; i++)
                put_on(l);
        assert_int_equal(l->irq.n_writes, writes);
        assert_int_equal(kernel.n_writes[OWN], 1); /* refused once, never tried again */
}

LIFE_TEST(taken_over) {
        put_on(l);
        die_and_live(l);
        put_on(l);
        assert_int_equal(l->irq.n_writes, 1); /* that of the kernel's own */
        give_back(l);
        assert_all(false);
}

LIFE_TEST(changed_by_others) {
        put_on(l);
        for (unsigned i = 0; i < 3; i++) {
                (void)strcpy(kernel.present[0], "6");
                put_on(l);
                assert_all(true);
        }
        assert_int_equal(l->irq.n_repairs, 3);
        (void)strcpy(kernel.present[0], "6");
        put_on(l);
        assert_string_equal(kernel.present[0], "6");
        assert_true(irq_setting_find(&l->irq, &SETTINGS[0].key)->progress.yield_usec != 0);
        /* A conflicting setting is left as it is. */
        give_back(l);
        assert_string_equal(kernel.present[0], "6");
        assert_string_equal(kernel.present[2], SETTINGS[2].before);
        assert_false(has_record(l));
}

LIFE_TEST(device_gone) {
        put_on(l);
        device.n_vectors = 2; /* 26 is another device's now */
        kernel.ifindex = 4;   /* and eth0 another interface */
        set(3, SETTINGS[3].wanted);
        set(4, SETTINGS[4].wanted);
        give_back(l);
        device.n_vectors = 3;
        assert_string_equal(kernel.present[0], SETTINGS[0].before);
        assert_string_equal(kernel.present[2], SETTINGS[2].wanted);
        assert_string_equal(kernel.present[3], SETTINGS[3].wanted);
        assert_false(has_record(l));
}

/* An interface of that name that has come since: what it had itself is what it gets back. */
LIFE_TEST(another_interface) {
        put_on(l);
        kernel.ifindex = 4;
        set(3, "0f");
        set(4, "ff");
        put_on(l);
        assert_string_equal(kernel.present[3], SETTINGS[3].wanted);
        give_back(l);
        assert_string_equal(kernel.present[3], "0f");
}

LIFE_TEST(no_record_no_change) {
        closep(&l->m.undo.records.dir_fd);
        l->m.undo.records.dir_fd = -EBADF;
        put_on(l);
        assert_all(false);
        for (size_t i = 0; i < N; i++)
                assert_int_equal(kernel.n_writes[i], 0);
}

static void play_harm(unsigned at, int error) {
        _cleanup_life_ Life l;

        life_init(&l);
        kernel.harm_at = at;
        kernel.error = error;
        put_on(&l);
        give_back(&l);
        assert_recorded();
        die_and_live(&l);
        kernel.harm_at = 0;
        give_back(&l);
        assert_all(false);
        assert_false(has_record(&l));
}

TEST(each_operation_fails) {
        static const int errors[] = { 0, -EPERM, -EIO, -ENOSPC, -EINVAL, -ENOMEM };
        unsigned n;

        {
                _cleanup_life_ Life l;

                life_init(&l);
                put_on(&l);
                give_back(&l);
                n = kernel.n_operations;
        }
        assert_true(n > 3 * N);
        for (size_t e = 0; e < ELEMENTSOF(errors); e++)
                for (unsigned at = 1; at <= n; at++)
                        play_harm(at, errors[e]);
}
