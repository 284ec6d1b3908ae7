/* Properties of a unit on their way back: what others have set, and what fails. */
#include "restore-host.h"

/* The slice above has fewer: as wide as it lets it. */
HOST_TEST(narrow_slice) {
        fake_write(&h->tree, SLICE "/cpuset.cpus.effective", "0-3");
        step_and_answer(h);
        step_and_answer(h);
        group(h, "0-2", "0-3");
        assert_int_equal(step(h), -EAGAIN);
        group(h, "0-3", "0-3");
        step_and_answer(h);
        check_and_finish(h, "", "");
}

/* Written to the cgroup's file by hand, with no property. */
HOST_TEST(files_written_by_hand) {
        set_file(&h->record->cpus, "0-5");
        set_file(&h->record->mems, "");
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-5;");
        group(h, "0-5", "0-3");
        step_and_answer(h);
        check_and_finish(h, "", "");
}

TEST(ended_or_without_the_controller_meanwhile) {
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_host_ Host h;

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

/* Another program has written to it meanwhile: it starts over, and this is logged. */
HOST_TEST(changed_meanwhile) {
        step_and_answer(h);
        step_and_answer(h);
        group(h, "0-7", "0-3");
        step_and_answer(h);
        bus.unit.cpus = cpu_set("5");
        assert_int_equal(step(h), 0);
        bus.read_reply(0, &bus.unit, bus.userdata);
        assert_int_equal(h->replied, -EBUSY);
}

/* Back to a value narrower than the present one: that has to show as well. */
HOST_TEST(narrower_than_ours) {
        set_before(&h->record->cpus, id_set("0"));
        set_before(&h->record->mems, id_set("1"));
        undo_values_clear(&h->record->cpus.ours);
        add(&h->record->cpus, "0-2");
        bus.unit.cpus = cpu_set("0-2");
        group(h, "0-2", "1");
        step_and_answer(h);
        step_and_answer(h);
        assert_int_equal(step(h), -EAGAIN);
        group(h, "0", "1");
        check_and_finish(h, "0", "1");
}

HOST_TEST(refusals) {
        bus.begins = -ECONNREFUSED;
        assert_int_equal(step(h), -ECONNREFUSED);
        bus.begins = 0;
        bus.error = -ETIMEDOUT;
        step_and_answer(h);
        assert_int_equal(h->restore.stage, RESTORE_READ);
        bus.error = 0;
        step_and_answer(h);
        bus.error = -EACCES;
        step_and_answer(h);
        assert_int_equal(h->restore.stage, RESTORE_WIDEN); /* nothing is taken for done */
        bus.begins = -ECONNREFUSED;
        assert_int_equal(step(h), -ECONNREFUSED);
}
