/* Properties of a unit on their way back, with a systemd and a cgroup that the test makes up. */
#include "restore-host.h"
#include "tidbnumad/sys/path.h"

HOST_TEST(full_first_and_cleared_then) {
        step_and_answer(h);
        assert_string_equal(bus.said, "");
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
        assert_int_equal(step(h), -EAGAIN); /* it does not show yet */
        group(h, "0-7", "1");
        assert_int_equal(step(h), -EAGAIN);
        group(h, "0-7", "0-3");
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;MemoryNodes=,CPUs=;");
        check_and_finish(h, "", "");
        assert_null(h->restore.shortfall);
}

/* systemd issue 43846. */
/* Of one in a scope of ours, the scope's: that it came from a unit is of no matter. */
HOST_TEST(scope) {
        assert_int_equal(undo_record_set_scope(h->record, "tidbnumad-a-1.scope", "/b.scope"), 0);
        h->record->cpus.noted = h->record->mems.noted = true;
        bus.name = "tidbnumad-a-1.scope";
        step_and_answer(h); /* read */
        step_and_answer(h); /* the full sets */
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
}

HOST_TEST(narrow_again_after_the_clearing) {
        step_and_answer(h);
        step_and_answer(h);
        group(h, "0-7", "0-3");
        step_and_answer(h);
        group(h, "2", "0-3");
        bus.unit.cpus = (CpuSet){ 0 };
        bus.unit.mems = (NodeSet){ 0 };
        step_and_answer(h);
        assert_int_equal(step(h), -EAGAIN);
        bus.said[0] = '\0';
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
}

/* The group keeps what was written first, also when they have come. */
HOST_TEST(cpus_and_nodes_that_may_come) {
        h->backend.all_cpus = cpu_set("0-15");
        h->backend.all_nodes = node_set("0-7");
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-7,CPUs=0-15;");
        group(h, "0-7", "0-3"); /* those that are there */
        step_and_answer(h);
        check_and_finish(h, "", "");
}

HOST_TEST(idle_is_cleared_at_once) {
        bus.unit.group = "";
        set_before(&h->record->mems, id_set("0-1"));
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-1,CPUs=;");
        check_and_finish(h, "", "0-1");
}

static void restores_the_admins_cpus(Host *h) {
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-3;");
        group(h, "0-3", "0-3");
        bus.said[0] = '\0';
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=;");
        check_and_finish(h, "0-3", "");
}

HOST_TEST(what_the_admin_had_set) {
        set_before(&h->record->cpus, id_set("0-3"));
        h->record->cpus.origin = UNDO_PERSISTENT;
        restores_the_admins_cpus(h);
        assert_non_null(strstr(h->restore.shortfall, "drop-in"));
}

HOST_TEST(all_had_a_value) {
        set_before(&h->record->cpus, id_set("0-3"));
        set_before(&h->record->mems, id_set("0-1"));
        h->record->cpus.origin = h->record->mems.origin = UNDO_RUNTIME;
        step_and_answer(h);
        step_and_answer(h);
        group(h, "0-3", "0-1");
        bus.said[0] = '\0';
        check_and_finish(h, "0-3", "0-1");
        assert_string_equal(bus.said, ""); /* one write was all */
        assert_null(h->restore.shortfall);
}

HOST_TEST(only_what_is_ours) {
        bus.unit.cpus = cpu_set("0-1"); /* others were set since */
        group(h, "0-1", "1");
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3;");
        group(h, "0-1", "0-3"); /* and their CPUs are not awaited to be wide */
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3;MemoryNodes=;");
        check_and_finish(h, "0-1", "");
}

/* Systemd shows the properties and sets none: then nothing is given back, and the record stays. */
TEST(not_to_be_set) {
        static const struct {
                const char *load_state;
                int error;
        } rows[] = { { "masked", -ERFKILL },
                     { "bad-setting", -ENOEXEC },
                     { "error", -ENOEXEC },
                     { "not-found", -ENOEXEC } /* while it runs: the last one */ };

        for (size_t i = 0; i < 2 * ELEMENTSOF(rows) - 1; i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                bus.unit.load_state = rows[i / 2].load_state;
                if (i % 2) /* it does not run: its next start would be bound */
                        bus.unit.group = "";
                assert_int_equal(step(&h), 0);
                bus.read_reply(0, &bus.unit, bus.userdata);
                assert_int_equal(h.replied, rows[i / 2].error);
                assert_int_equal(h.restore.stage, RESTORE_READ);
                assert_string_equal(bus.said, "");
                bus.unit.load_state = "loaded"; /* it was unmasked */
                step_and_answer(&h);
                step_and_answer(&h);
                assert_string_not_equal(bus.said, "");
        }
}

/* The daemon is killed with the full sets in place, or clearing them fails: they are its own as
 * well. */
HOST_TEST(begun_anew_in_the_middle) {
        step_and_answer(h);
        h->record->stale = false;
        step_and_answer(h);
        assert_true(h->record->stale); /* to be written down, where that is done */
        bus.unit.cpus = cpu_set("0-7");
        bus.unit.mems = node_set("0-3");
        group(h, "0-7", "0-3");
        undo_restore_done(&h->restore);
        undo_restore_begin(&h->restore, h->record);
        step_and_answer(h);
        step_and_answer(h);
        bus.said[0] = '\0';
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=,CPUs=;");
        check_and_finish(h, "", "");
}

/* The original value is the administrator's: a later one that is the same is not the daemon's. */
HOST_TEST(what_stood_before_is_not_ours) {
        const IdSet before = id_set("0-3");

        assert_int_equal(undo_property_set(&h->record->cpus, ID_VIEW(&before), UNDO_RUNTIME), 0);
        step_and_answer(h);
        step_and_answer(h);
        assert_false(undo_values_have(&h->record->cpus.ours, ID_VIEW(&before)));
        assert_int_equal(h->record->mems.ours.n, 2);
}

/* Written down before systemd is asked. */
HOST_TEST(the_full_sets_are_written_down) {
        Undo undo;
        struct stat st;

        undo_init(&undo, &h->tree.sysroot);
        assert_int_equal(undo_open(&undo, h->tree.fd), 0);
        h->restore.undo = &undo;
        step_and_answer(h);
        assert_null(h->record->file);
        bus.begins = -ECONNREFUSED; /* it is too late for this */
        assert_int_equal(step(h), -ECONNREFUSED);
        assert_non_null(h->record->file);
        assert_int_equal(fstatat(undo.dir_fd, h->record->file, &st, 0), 0);
        assert_false(h->record->stale);
        bus.begins = 0;
        closep(&undo.dir_fd); /* no room any more: opened all the same */
        undo.dir_fd = -EBADF;
        h->record->stale = true;
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
        undo_done(&undo);
}

/* Born narrow, and the clearing of a group with processes changes nothing. */
HOST_TEST(started_meanwhile) {
        bus.unit.group = "";
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=,CPUs=;");
        bus.unit.cpus = (CpuSet){ 0 };
        bus.unit.mems = (NodeSet){ 0 };
        bus.unit.group = "/system.slice/a.service";
        step_and_answer(h);
        assert_int_equal(step(h), -EAGAIN);
        bus.said[0] = '\0';
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;");
        group(h, "0-7", "0-3");
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;MemoryNodes=,CPUs=;");
        check_and_finish(h, "", "");
}

/* systemd has what was there before, and the kernel still what we had set: it did not follow a
 * release in time, or somebody has cleared the property. */
HOST_TEST(the_kernel_is_behind) {
        set_before(&h->record->cpus, id_set("0-3"));
        bus.unit.cpus = cpu_set("0-3");
        bus.unit.mems = (NodeSet){ 0 };
        restores_the_admins_cpus(h);
}

TEST(nothing_is_ours) {
        for (unsigned i = 0; i < 3; i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                if (i == 0) { /* the kill came before the change */
                        group(&h, "0-7", "0-3");
                        bus.unit.cpus = (CpuSet){ 0 };
                        bus.unit.mems = (NodeSet){ 0 };
                } else if (i == 1) { /* the unit is gone, and its file */
                        bus.unit.load_state = "not-found";
                        fake_remove(&h.tree, GROUP);
                } else
                        h.record->cpus.noted = h.record->mems.noted = false;
                if (i < 2)
                        step_and_answer(&h);
                assert_int_equal(step(&h), 1);
                assert_string_equal(bus.said, "");
        }
}

/* --- the memory limit --- */

static void limit(Host *h, uint64_t before) {
        assert_int_equal(undo_property_set(&h->record->limit, UNIT_BYTES(&before), UNDO_RUNTIME),
                         0);
        set_limit(h->record, UINT64_C(100) << 20, 1);
        set_limit(h->record, UINT64_C(200) << 20, 2);
        bus.unit.memory_max = UINT64_C(200) << 20;
        fake_write(&h->tree, GROUP "/memory.high", "199229440\n"); /* 190 MiB */
}

/* What it begins with: no kernel's file, the rest stays. */
static void assert_begins(const Host *h, const char *file, const char *value) {
        char text[64];

        assert_true(path_read(h->tree.fd, text, sizeof(text), GROUP "/%s", file) > 0);
        assert_memory_equal(text, value, strlen(value));
}

HOST_TEST(limit_with_the_sets) {
        limit(h, UINT64_MAX);
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "Limit=-1,MemoryNodes=0-3,CPUs=0-7;");
        group(h, "0-7", "0-3");
        bus.said[0] = '\0';
        step_and_answer(h);
        assert_string_equal(bus.said, "Limit=-1,MemoryNodes=,CPUs=;");
        bus.unit.memory_max = UINT64_MAX;
        check_and_finish(h, "", "");
        assert_begins(h, "memory.high", "max");
}

/* Without systemd. */
HOST_TEST(limit_lifted_in_the_files) {
        int fd;

        limit(h, UINT64_MAX);
        fake_write(&h->tree, GROUP "/memory.max", "209715200\n");
        fd = path_open(h->tree.fd, O_RDONLY | O_DIRECTORY, GROUP);
        assert_true(fd >= 0);
        for (unsigned i = 0; i < 2; i++) { /* the second time there is nothing left */
                assert_int_equal(backend_limit_lift(fd, h->record), 0);
                assert_begins(h, "memory.max", "max");
                assert_begins(h, "memory.high", "max");
        }
        fake_write(&h->tree, GROUP "/memory.max", "157286400\n"); /* the admin's */
        assert_int_equal(backend_limit_lift(fd, h->record), 0);
        assert_begins(h, "memory.max", "157286400");
        fake_remove(&h->tree, GROUP "/memory.max"); /* v1 */
        fake_write(&h->tree, GROUP "/memory.limit_in_bytes", "209715200\n");
        assert_int_equal(backend_limit_lift(fd, h->record), 0);
        assert_begins(h, "memory.limit_in_bytes", "-1");
        close(fd);
}

/* MemoryHigh= of the admin, over which the brake is written. */
HOST_TEST(brake_that_was_there_comes_back) {
        UndoRecord *again = NULL;
        char *text = NULL;
        size_t size;
        int fd;

        limit(h, UINT64_MAX);
        backend_limit_note_brake(h->record, UINT64_C(300) << 20);
        backend_limit_note_brake(h->record, UINT64_C(190) << 20); /* ours */
        assert_int_equal(undo_text_render(h->record, &text, &size), 0);
        assert_int_equal(undo_text_parse(text, size, &again), 0);
        free(text);
        fake_write(&h->tree, GROUP "/memory.max", "max\n");
        fd = path_open(h->tree.fd, O_RDONLY | O_DIRECTORY, GROUP);
        assert_int_equal(backend_limit_lift(fd, again), 0);
        assert_begins(h, "memory.high", "314572800");
        backend_limit_note_brake(again, UINT64_MAX); /* the admin has taken it out */
        fake_write(&h->tree, GROUP "/memory.high", "199229440\n");
        assert_int_equal(backend_limit_lift(fd, again), 0);
        assert_begins(h, "memory.high", "max");
        undo_record_free(again);
        close(fd);
}

/* As on cgroup v1, or where the CPUs are not ours. */
HOST_TEST(limit_alone) {
        limit(h, UINT64_C(700) << 20);
        undo_values_clear(&h->record->cpus.ours);
        undo_values_clear(&h->record->mems.ours);
        h->record->cpus.noted = h->record->mems.noted = false;
        step_and_answer(h);
        step_and_answer(h);
        assert_string_equal(bus.said, "Limit=734003200;");
        bus.unit.memory_max = UINT64_C(700) << 20;
        check_and_finish(h, "2", "1");
}

/* Somebody else has set it since. */
HOST_TEST(limit_of_another) {
        limit(h, UINT64_MAX);
        bus.unit.memory_max = UINT64_C(150) << 20;
        step_and_answer(h);
        step_and_answer(h);
        group(h, "0-7", "0-3");
        step_and_answer(h);
        assert_string_equal(bus.said, "MemoryNodes=0-3,CPUs=0-7;MemoryNodes=,CPUs=;");
}

/* Something writes it at the same time. */
HOST_TEST(limit_that_does_not_stay) {
        limit(h, UINT64_MAX);
        undo_values_clear(&h->record->cpus.ours);
        undo_values_clear(&h->record->mems.ours);
        step_and_answer(h);
        step_and_answer(h);
        assert_int_equal(step(h), 0);
        bus.read_reply(0, &bus.unit, bus.userdata);
        assert_int_equal(h->replied, -EBUSY);
}
