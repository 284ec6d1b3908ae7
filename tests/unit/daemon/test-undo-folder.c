/* The folder of undo records that cannot be opened when the daemon starts. */

#include "release-life.h"

TEST(opens_late, .setup_func = setup, .teardown_func = teardown) {
        const Step set = { .kind = STEP_SET_CPUS, .reason = "" };
        const int dir = world.folder.fd;
        unsigned n;
        Life l;

        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        assert_false(undo_start_late(&l.m.undo)); /* it is open */
        bind(&l, "2", "1");
        life_end(&l);
        n = world.n_operations;

        assert_int_equal(renameat(dir, "undo", dir, "elsewhere"), 0);
        fake_write(&world.folder, "undo", "no folder");
        life_begin(&l);
        assert_false(undo_is_open(&l.m.undo));
        assert_non_null(strstr(undo_release_explain(&l.m.undo, l.instance), "cannot be restored"));
        assert_null(l.instance->undo.record);
        assert_false(undo_start_late(&l.m.undo));
        l.instance->binding.placement.cpus = cpu_set("3");
        assert_false(bind_carry_out(&l.m.binding, l.instance, &set, 0));
        assert_int_equal(world.n_operations, n); /* nothing is changed without a record */
        assert_true(is(ID_VIEW(&world.cpus), "2"));

        assert_int_equal(unlinkat(dir, "undo", 0), 0);
        assert_int_equal(renameat(dir, "elsewhere", dir, "undo"), 0);
        assert_true(undo_start_late(&l.m.undo));
        assert_true(undo_is_open(&l.m.undo));
        assert_non_null(
                strstr(undo_release_explain(&l.m.undo, l.instance), "original binding restored"));
        assert_non_null(l.instance->undo.record);
        assert_false(undo_start_late(&l.m.undo));
        bind(&l, "3", "1");
        assert_true(is(ID_VIEW(&world.cpus), "3"));
        release(&l);
        life_end(&l);
        assert_as_before(); /* what the earlier run had noted */
}

/* Of a dump nothing is ever restored. */
UNIT_LIFE_TEST(is_not_needed) {
        undo_done(&l->m.undo.records);
        l->args.dry_run = true;
        assert_true(undo_is_open(&l->m.undo));
        l->args.dry_run = false;
        undo_init(&l->m.undo.records, &l->m.host.sysroot);
        assert_true(undo_start_late(&l->m.undo));
}
