/* Properties of a unit on their way back, with a systemd and a cgroup that the test makes up. */
#include "restore-host.h"

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
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
