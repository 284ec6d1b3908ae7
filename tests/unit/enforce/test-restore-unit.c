/* Properties of a unit on their way back, with a systemd and a cgroup that the test makes up. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/enforce/restore.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"

#define SLICE "sys/fs/cgroup/system.slice"
#define GROUP SLICE "/a.service"

/* What systemd has, and what was asked of it since. */
static struct {
        const char *name; /* that is asked for */
        BusUnit unit;
        int error;      /* of the next answer */
        int begins;     /* of the next call */
        char said[512]; /* each write as "CPUs=…;MemoryNodes=… " */
        BusUnitReply read_reply;
        BusUnitsReply write_reply;
        void *userdata;
} bus;

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_bus_manager_read_unit(sd_bus *b, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot);
int __wrap_bus_units_set_all(sd_bus *b, const char *unit, const BusUnitsProperty *properties,
                             size_t n, BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot);

int __wrap_backend_systemd_ensure_bus(Backend *backend) {
        (void)backend;
        return bus.begins;
}

int __wrap_bus_manager_read_unit(sd_bus *b, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot) {
        (void)b;
        (void)ret_slot;
        assert_string_equal(unit, bus.name);
        bus.read_reply = reply;
        bus.userdata = userdata;
        return 0;
}

int __wrap_bus_units_set_all(sd_bus *b, const char *unit, const BusUnitsProperty *properties,
                             size_t n, BusUnitsReply reply, void *userdata,
                             sd_bus_slot **ret_slot) {
        char list[ID_SET_LIST_MAX];

        (void)b;
        (void)ret_slot;
        assert_string_equal(unit, bus.name);
        for (size_t i = 0; i < n; i++) {
                assert_true(id_set_render_list(properties[i].value, list, sizeof(list)) >= 0);
                assert_memory_equal(properties[i].name, "Allowed", 7);
                (void)snprintf(bus.said + strlen(bus.said), sizeof(bus.said) - strlen(bus.said),
                               "%s%s=%.80s%s", i > 0 ? "," : "", properties[i].name + 7, list,
                               i + 1 == n ? ";" : "");
        }
        bus.write_reply = reply;
        bus.userdata = userdata;
        return 0;
}

typedef struct Host {
        FakeTree tree;
        Backend backend;
        UndoRecord *record;
        Restore restore;
        int replied; /* 1: not yet */
} Host;

static void group(Host *h, const char *cpus, const char *mems) {
        fake_write(&h->tree, GROUP "/cpuset.cpus.effective", cpus);
        fake_write(&h->tree, GROUP "/cpuset.mems.effective", mems);
}

static void add(UndoProperty *p, const char *value) {
        const IdSet set = ids(value);

        assert_int_equal(undo_values_add(&p->ours, &set), 1);
}

/* It runs, and is bound to CPU 2 and memory node 1; nothing stood before. */
static void host_init(Host *h) {
        *h = (Host){ .replied = 1 };
        fake_init(&h->tree);
        fake_write(&h->tree, GROUP "/cgroup.procs", "50\n");
        fake_write(&h->tree, SLICE "/cpuset.cpus.effective", "0-7");
        fake_write(&h->tree, SLICE "/cpuset.mems.effective", "0-3");
        group(h, "2", "1");
        backend_init(&h->backend, &h->tree.sysroot, NULL);
        h->backend.all_cpus = ids("0-7");
        h->backend.all_nodes = ids("0-3");
        assert_int_equal(undo_record_new("a", "a.service", &h->record), 0);
        h->record->unit_noted = true;
        add(&h->record->cpus, "2");
        add(&h->record->mems, "1");
        restore_begin(&h->restore, h->record);
        memset(&bus, 0, sizeof(bus));
        bus.name = "a.service";
        bus.unit = (BusUnit){ .load_state = "loaded",
                              .group = "/system.slice/a.service",
                              .cpus = ids("2"),
                              .mems = ids("1") };
}

static void host_done(Host *h) {
        restore_done(&h->restore);
        undo_record_free(h->record);
        backend_done(&h->backend);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

static void on_reply(int error, const char *message, void *userdata) {
        Host *h = userdata;

        (void)message;
        h->replied = error;
}

static int step(Host *h) {
        sd_bus_slot *slot = NULL;

        return restore_unit(&h->backend, &h->restore, on_reply, h, &slot);
}

/* A step that asks systemd, and systemd's answer. */
static void step_and_answer(Host *h) {
        h->replied = 1;
        bus.read_reply = NULL;
        bus.write_reply = NULL;
        assert_int_equal(step(h), 0);
        assert_int_equal(h->replied, 1);
        if (bus.read_reply)
                bus.read_reply(bus.error, bus.error ? NULL : &bus.unit, bus.userdata);
        else
                bus.write_reply(bus.error, "", bus.userdata);
        assert_int_equal(h->replied, bus.error);
}

/* The last look at what systemd has, and at the kernel's files. */
static void check_and_finish(Host *h, const char *cpus, const char *mems) {
        bus.unit.cpus = ids(cpus);
        bus.unit.mems = ids(mems);
        step_and_answer(h);
        assert_int_equal(step(h), 1);
}

static void test_full_first_and_cleared_then(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        step_and_answer(&h);
        assert_string_equal(bus.said, "");
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
        assert_int_equal(step(&h), -EAGAIN); /* it does not show yet */
        group(&h, "0-7", "1");
        assert_int_equal(step(&h), -EAGAIN);
        group(&h, "0-7", "0-3");
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;MemoryNodes=,CPUs=;");
        check_and_finish(&h, "", "");
        assert_null(h.restore.shortfall);
}

/* systemd issue 43846. */
/* Of one in a scope of ours, the scope's: that it came from a unit is of no matter. */
static void test_scope(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        assert_int_equal(undo_record_set_scope(h.record, "tidbnumad-a-1.scope", "/b.scope"), 0);
        h.record->unit_noted = true;
        bus.name = "tidbnumad-a-1.scope";
        step_and_answer(&h); /* read */
        step_and_answer(&h); /* the full sets */
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
}

static void test_narrow_again_after_the_clearing(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        step_and_answer(&h);
        step_and_answer(&h);
        group(&h, "0-7", "0-3");
        step_and_answer(&h);
        group(&h, "2", "0-3");
        bus.unit.cpus = bus.unit.mems = (IdSet){ 0 };
        step_and_answer(&h);
        assert_int_equal(step(&h), -EAGAIN);
        bus.said[0] = '\0';
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
}

static void test_idle_is_cleared_at_once(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        bus.unit.group = "";
        h.record->mems.before = ids("0-1");
        step_and_answer(&h);
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-1,CPUs=;");
        check_and_finish(&h, "", "0-1");
}

static void test_what_the_admin_had_set(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.record->cpus.before = ids("0-3");
        h.record->cpus.origin = UNDO_PERSISTENT;
        step_and_answer(&h);
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-3;");
        group(&h, "0-3", "0-3");
        bus.said[0] = '\0';
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=;");
        check_and_finish(&h, "0-3", "");
        assert_non_null(strstr(h.restore.shortfall, "drop-in"));
}

static void test_all_had_a_value(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.record->cpus.before = ids("0-3");
        h.record->mems.before = ids("0-1");
        h.record->cpus.origin = h.record->mems.origin = UNDO_RUNTIME;
        step_and_answer(&h);
        step_and_answer(&h);
        group(&h, "0-3", "0-1");
        bus.said[0] = '\0';
        check_and_finish(&h, "0-3", "0-1");
        assert_string_equal(bus.said, ""); /* one write was all */
        assert_null(h.restore.shortfall);
}

static void test_only_what_is_ours(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        bus.unit.cpus = ids("0-1"); /* somebody has set others since */
        group(&h, "0-1", "1");
        step_and_answer(&h);
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-3;");
        group(&h, "0-1", "0-3"); /* and their CPUs are not awaited to be wide */
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-3;MemoryNodes=;");
        check_and_finish(&h, "0-1", "");
}

static void test_nothing_is_ours(void **state) {
        for (unsigned i = 0; i < 3; i++) {
                _cleanup_host_ Host h;

                (void)state;
                host_init(&h);
                if (i == 0) /* the kill came before the change */
                        bus.unit.cpus = bus.unit.mems = (IdSet){ 0 };
                else if (i == 1) /* the unit file is gone */
                        bus.unit.load_state = "not-found";
                else
                        h.record->unit_noted = false;
                if (i < 2)
                        step_and_answer(&h);
                assert_int_equal(step(&h), 1);
                assert_string_equal(bus.said, "");
        }
}

/* The slice above has fewer: as wide as it lets it. */
static void test_narrow_slice(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        fake_write(&h.tree, SLICE "/cpuset.cpus.effective", "0-3");
        step_and_answer(&h);
        step_and_answer(&h);
        group(&h, "0-2", "0-3");
        assert_int_equal(step(&h), -EAGAIN);
        group(&h, "0-3", "0-3");
        step_and_answer(&h);
        check_and_finish(&h, "", "");
}

/* Written to the cgroup's file by hand, with no property. */
static void test_files_written_by_hand(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.record->files = (UndoFiles){ .known = true, .cpus = ids("0-5") };
        step_and_answer(&h);
        step_and_answer(&h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-5;");
        group(&h, "0-5", "0-3");
        step_and_answer(&h);
        check_and_finish(&h, "", "");
}

static void test_ended_or_without_the_controller_meanwhile(void **state) {
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_host_ Host h;

                (void)state;
                host_init(&h);
                step_and_answer(&h);
                step_and_answer(&h);
                if (i == 0) {
                        fake_remove(&h.tree, GROUP);
                } else {
                        fake_remove(&h.tree, GROUP "/cpuset.cpus.effective");
                        fake_remove(&h.tree, GROUP "/cpuset.mems.effective");
                }
                step_and_answer(&h);
                assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;MemoryNodes=,CPUs=;");
                if (i == 1)
                        bus.unit.load_state = "not-found";
                check_and_finish(&h, i == 0 ? "" : "5", "");
        }
}

/* Somebody else has written to it between: then from the begin, and told. */
static void test_changed_meanwhile(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        step_and_answer(&h);
        step_and_answer(&h);
        group(&h, "0-7", "0-3");
        step_and_answer(&h);
        bus.unit.cpus = ids("5");
        assert_int_equal(step(&h), 0);
        bus.read_reply(0, &bus.unit, bus.userdata);
        assert_int_equal(h.replied, -EBUSY);
}

/* Back to what is narrower than what stood: that has to show as well. */
static void test_narrower_than_ours(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.record->cpus.before = ids("0");
        h.record->mems.before = ids("1");
        undo_values_clear(&h.record->cpus.ours);
        add(&h.record->cpus, "0-2");
        bus.unit.cpus = ids("0-2");
        group(&h, "0-2", "1");
        step_and_answer(&h);
        step_and_answer(&h);
        assert_int_equal(step(&h), -EAGAIN);
        group(&h, "0", "1");
        check_and_finish(&h, "0", "1");
}

static void test_refusals(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        bus.begins = -ECONNREFUSED;
        assert_int_equal(step(&h), -ECONNREFUSED);
        bus.begins = 0;
        bus.error = -ETIMEDOUT;
        step_and_answer(&h);
        assert_int_equal(h.restore.stage, RESTORE_READ);
        bus.error = 0;
        step_and_answer(&h);
        bus.error = -EACCES;
        step_and_answer(&h);
        assert_int_equal(h.restore.stage, RESTORE_WIDEN); /* nothing is taken for done */
        bus.begins = -ECONNREFUSED;
        assert_int_equal(step(&h), -ECONNREFUSED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_full_first_and_cleared_then),
                cmocka_unit_test(test_scope),
                cmocka_unit_test(test_narrow_again_after_the_clearing),
                cmocka_unit_test(test_idle_is_cleared_at_once),
                cmocka_unit_test(test_what_the_admin_had_set),
                cmocka_unit_test(test_all_had_a_value),
                cmocka_unit_test(test_only_what_is_ours),
                cmocka_unit_test(test_nothing_is_ours),
                cmocka_unit_test(test_narrow_slice),
                cmocka_unit_test(test_files_written_by_hand),
                cmocka_unit_test(test_ended_or_without_the_controller_meanwhile),
                cmocka_unit_test(test_changed_meanwhile),
                cmocka_unit_test(test_narrower_than_ours),
                cmocka_unit_test(test_refusals),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
