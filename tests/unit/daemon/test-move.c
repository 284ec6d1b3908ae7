/* Moving in slices: turns and passes. */
#include "move-host.h"

/* --- turns --- */

/* A binding goes before all moves, however long these have been due; of the moves one slice. */
HOST_TEST(bindings_go_first) {
        Instance *mover, *other, *fresh;
        static int in_flight;

        mover = add(h, 10);
        other = add(h, 20);
        fresh = add(h, 30);
        pass_begin(h, mover);
        pass_begin(h, other);
        mover->binding.due_usec = 2;
        other->binding.due_usec = 1;
        fresh->binding.due_usec = fake.now;
        fresh->binding.call.slot = (void *)&in_flight; /* it is not observed any further then */
        reconcile_due(&h->rooms.binding, fake.now);
        assert_true(fresh->binding.due_usec == INSTANCE_NEVER);
        assert_ptr_equal(fake.last, &other->binding.counted);
        assert_int_equal(mover->binding.due_usec, 2);
        reconcile_due(&h->rooms.binding, fake.now);
        assert_ptr_equal(fake.last, &mover->binding.counted);
        fresh->binding.call.slot = NULL;
}

HOST_TEST(moves_take_turns) {
        unsigned slices[3] = { 0 };
        Instance *i[3];

        for (unsigned k = 0; k < 3; k++) {
                i[k] = add(h, 10 + (pid_t)k);
                pass_begin(h, i[k]);
        }
        for (unsigned n = 0; n < 300; n++) {
                reconcile_due(&h->rooms.binding, fake.now);
                for (unsigned k = 0; k < 3; k++)
                        slices[k] += fake.last == &i[k]->binding.counted;
        }
        for (unsigned k = 0; k < 3; k++)
                assert_int_equal(slices[k], 100);
}

/* A slice is one piece, though there is more to do. */
HOST_TEST(a_slice_ends) {
        Instance *i = add(h, 10);

        pass_begin(h, i);
        move_slice(&h->rooms.binding, i, fake.now);
        assert_int_equal(fake.n_steps, 1);
        assert_true(i->binding.state == INSTANCE_MOVING && i->binding.due_usec <= fake.now + 1);
}

/* --- a pass --- */

HOST_TEST(pending_goes_down) {
        Instance *i = add(h, 10);

        i->binding.placement.rate_bytes_per_sec = MIB(100000);
        fake.own = MIB(2);
        fake.shared = MIB(1);
        pass_begin(h, i);
        move_slice(&h->rooms.binding, i, fake.now);
        assert_true(fake.n_steps > 0);
        assert_int_equal(i->binding.outside_bytes, MIB(100) - fake.n_steps * MIB(2));
        assert_int_equal(i->binding.migrated_bytes, fake.n_steps * MIB(3));
        i->binding.outside_bytes = MIB(1);
        move_slice(&h->rooms.binding, i, fake.now);
        assert_int_equal(i->binding.outside_bytes,
                         0); /* there was more than the last sample knew */
}

/* What an instance has counted is its policy's as well, and stays when it ends. */
HOST_TEST(counted_for_the_policy) {
        for (pid_t pid = 10; pid < 12; pid++) {
                Instance *i = add(h, pid);

                fake.own = MIB(2);
                fake.failed = 3;
                fake.answer = 0;
                pass_begin(h, i);
                move_slice(&h->rooms.binding, i, fake.now);
                assert_int_equal(i->binding.migrated_bytes, MIB(2));
                assert_int_equal(i->binding.failed_pages, 3);
                registry_remove_process(&h->rooms.registry, i, 0);
                rooms_free_instance(registry_take_ended(&h->rooms.registry));
                assert_int_equal(h->rooms.registry.n_instances, 0);
        }
        assert_int_equal(h->counters[0].migrated_bytes, MIB(4));
        assert_int_equal(h->counters[0].failed_pages, 6);
}

/* The one that is paid for is what was moved: 64 MiB a second, a piece at a time. */
HOST_TEST(rate) {
        uint64_t begin;
        Instance *i = add(h, 10);

        fake.own = MIB(2);
        pass_begin(h, i);
        begin = fake.now;
        while (i->binding.migrated_bytes < MIB(64)) {
                move_slice(&h->rooms.binding, i, fake.now);
                assert_true(i->binding.due_usec != INSTANCE_NEVER);
                fake.now = i->binding.due_usec > fake.now ? i->binding.due_usec : fake.now;
        }
        assert_in_range(fake.now - begin, 800000, 1100000);
}

HOST_TEST(another_program) {
        Instance *i = add(h, 10);

        pass_begin(h, i);
        fake.answer = -ESTALE;
        for (unsigned n = 0; n < 100 && i->binding.state == INSTANCE_MOVING; n++)
                move_slice(&h->rooms.binding, i, fake.now);
        assert_int_not_equal(i->binding.state, INSTANCE_MOVING); /* not for ever */
        assert_in_range(fake.n_walks, 3, 20);
        assert_int_equal(i->binding.progress.passes, 1);
        /* One that ends is none that goes on. */
        fake.n_walks = 0;
        fake.answer = -ESRCH;
        pass_begin(h, i);
        move_slice(&h->rooms.binding, i, fake.now);
        assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
        assert_int_equal(fake.n_walks, 1);
}

static void set_memory(TestHost *h, unsigned anon, unsigned mapped) {
        char text[256];

        (void)snprintf(text, sizeof(text),
                       "anon N0=%u N1=5\nfile N0=0 N1=0\nshmem N0=0 N1=0\n"
                       "file_mapped N0=%u N1=7\n",
                       anon, mapped);
        fake_write(&h->tree, "sys/fs/cgroup/x.service/memory.numa_stat", text);
}

/* What others map too stays after a pass, and is no reason for the next one. */
HOST_TEST(what_a_pass_left) {
        _cleanup_close_ int fd = -EBADF;
        Instance *i = add(h, 10);

        set_memory(h, 300, 1000);
        fd = openat(h->tree.fd, "sys/fs/cgroup/x.service", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        observe_memory(&h->rooms.binding, i, fd);
        assert_true(i->memory_known);
        assert_int_equal(i->binding.outside_bytes, 300);
        assert_int_equal(i->binding.mapped_outside_bytes, 1000);
        assert_int_equal(i->binding.mapped_left_bytes, 0);
        i->binding.passed = true;
        set_memory(h, 300, 400);
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.mapped_left_bytes, 400);
        assert_false(i->binding.passed);
        set_memory(h, 300, 900);
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.mapped_left_bytes, 400);
        set_memory(h, 300, 100); /* the counters lag */
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.mapped_left_bytes, 100);
        i->binding.observed.alone = false;
        observe_memory(&h->rooms.binding, i, fd);
        assert_true(!i->memory_known &&
                    i->binding.outside_bytes + i->binding.mapped_outside_bytes == 0);
}

/* Linux before 5.16 shows for ever what a CPU has not reported: not where a whole pass has found
 * nothing outside, as far as the CPUs can have kept so much. */
HOST_TEST(what_only_the_counters_show) {
        _cleanup_close_ int fd = -EBADF;
        Instance *i;

        h->nodes[0].cpus = cpu_set("0-1");
        i = add(h, 10);
        set_memory(h, 33 * 4096, 0);
        fd = openat(h->tree.fd, "sys/fs/cgroup/x.service", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.outside_bytes, 33 * 4096);
        i->binding.progress.passes = 1;
        i->binding.progress.pass_whole = true;
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.outside_bytes, 0);
        i->binding.progress.pass_found_bytes = 4096;
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.outside_bytes, 33 * 4096);
        i->binding.progress.pass_found_bytes = 0;
        i->binding.progress.pass_whole = false;
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.outside_bytes, 33 * 4096);
        i->binding.progress.pass_whole = true;
        set_memory(h, 1 << 20, 0);
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.outside_bytes, 1 << 20);
}

/* No page was found outside, because none could be read: that is not a complete pass. */
HOST_TEST(what_cannot_be_looked_into) {
        static const struct {
                int error;
                bool whole;
        } rows[] = { { -ESRCH, true }, { -EACCES, false }, { -EHOSTDOWN, false }, { 0, true } };
        Instance *i = add(h, 10);

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                fake.answer = rows[k].error;
                pass_begin(h, i);
                move_slice(&h->rooms.binding, i, fake.now);
                assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
                assert_int_equal(i->binding.progress.pass_whole, rows[k].whole);
        }
}

/* What the kernel's own way has moved is counted when it shows. */
HOST_TEST(what_the_kernel_moved) {
        _cleanup_close_ int fd = -EBADF;
        Instance *i = add(h, 10);

        set_memory(h, 300, 0);
        fd = openat(h->tree.fd, "sys/fs/cgroup/x.service", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        i->binding.placement.migrate = MIGRATE_KERNEL;
        fake.answer = 0;
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.migrated_bytes, 0);
        pass_begin(h, i);
        set_memory(h, 100, 0);
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.migrated_bytes, 200);
        observe_memory(&h->rooms.binding, i, fd);
        assert_int_equal(i->binding.migrated_bytes, 200);
        wait_for_end(h, i);
}
