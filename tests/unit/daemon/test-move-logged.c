/* Moving in slices: what is logged, the pace, and migration by the kernel. */
#include "move-host.h"
#include "tidbnumad/daemon/binding/binding.h"

static void set_pressure(TestHost *h, double recent, uint64_t memory_usec, uint64_t cpu_usec) {
        fake_write(&h->tree, "sys/fs/cgroup/x.service/memory.pressure",
                   fmt("some avg10=%.2f avg60=0.00 avg300=0.00 total=%ju\n", recent,
                       (uintmax_t)memory_usec));
        fake_write(&h->tree, "sys/fs/cgroup/x.service/cpu.pressure",
                   fmt("some avg10=0.00 avg60=0.00 avg300=0.00 total=%ju\n", (uintmax_t)cpu_usec));
}

/* --- what is logged --- */

HOST_TEST(told_at_start_and_end) {
        Instance *i = add(h, 10);
        Capture c;

        fake.answer = 0;
        fake.own = MIB(2);
        capture_begin(&c, STDERR_FILENO);
        for (unsigned pass = 0; pass < 3; pass++) {
                pass_begin(h, i);
                move_slice(&h->rooms.binding, i, fake.now);
                assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
        }
        capture_end(&c);
        assert_contains(c.text, "moving 100.0 MiB to node 1, gently\n");
        assert_null(strstr(strchr(c.text, '\n'), "mov")); /* one line */
        capture_begin(&c, STDERR_FILENO);
        move_progress_end(&h->rooms.binding, i, false, fake.now);
        move_progress_end(&h->rooms.binding, i, false, fake.now);
        capture_end(&c);
        assert_contains(c.text,
                        ": of 100.0 MiB on other nodes, tidbnumad moved 6.0 MiB within 0.0 s of "
                        "the start of the move; 94.0 MiB are on other nodes now\n");
        assert_null(strstr(strchr(c.text, '\n'), "mov"));
}

/* Memory that is gone and was not moved by the daemon is not counted as moved by it. */
HOST_TEST(rest_is_told_apart) {
        Instance *i = add(h, 10);
        Capture c;

        pass_begin(h, i);
        move_progress_add(&h->rooms.binding, i, MIB(6));
        i->binding.outside_bytes = 0;
        CAPTURE_STDERR(&c, move_progress_end(&h->rooms.binding, i, false, fake.now));
        assert_contains(c.text, "tidbnumad moved 6.0 MiB within");
        assert_contains(c.text, "; the process freed, or the kernel itself moved, the other "
                                "94.0 MiB\n");
}

HOST_TEST(a_little_is_not_told) {
        Instance *i = add(h, 10);
        Capture c;

        i->binding.outside_bytes = MOVE_LOGGED_BYTES - 1;
        capture_begin(&c, STDERR_FILENO);
        pass_begin(h, i);
        move_progress_end(&h->rooms.binding, i, false, fake.now);
        (void)binding_enter(&h->rooms.binding, i, EVENT_PASSED, fake.now);
        i->binding.outside_bytes = MOVE_LOGGED_BYTES;
        capture_end(&c);
        assert_string_equal(c.text, "");
        /* And what the message about the binding says is not logged twice. */
        pass_begin(h, i);
        CAPTURE_STDERR(&c, move_progress_end(&h->rooms.binding, i, true, fake.now));
        assert_string_equal(c.text, "");
}

/* A pause and its end are true of what is published next, before any reconcile. */
HOST_TEST(pause_shows_at_once) {
        Host *host = &h->rooms.host;
        const bool live = host->sysroot.live;
        Instance *i = add(h, 10);
        Verdict v;

        host->sysroot.live = true;
        i->binding.state = INSTANCE_MOVING;
        i->binding.step = (Step){ .kind = STEP_PULL, .reason = "" };
        host->policies.mode = ENFORCEMENT_OBSERVE;
        binding_work(&h->rooms.binding, i, WORK_REQUEST, fake.now);
        assert_int_equal(reconcile_verdict(&h->rooms.binding, i).state, INSTANCE_PLANNED);
        binding_set_failure(i, REASON_OBSERVE, "would move 1.0 MiB");
        v = reconcile_verdict(&h->rooms.binding, i);
        assert_int_equal(v.code, REASON_OBSERVE);
        host->policies.mode = ENFORCEMENT_ENFORCE;
        binding_work(&h->rooms.binding, i, WORK_REQUEST, fake.now);
        v = reconcile_verdict(&h->rooms.binding, i);
        assert_int_equal(v.state, INSTANCE_WAITING);
        assert_int_equal(v.code, REASON_NONE);
        assert_string_equal(v.reason, "");
        host->sysroot.live = live;
}

/* --- pace --- */

HOST_TEST(pace) {
        uint64_t memory = 500, cpu = 700;
        Instance *i = add(h, 10);

        set_pressure(h, 10, memory, cpu);
        assert_int_equal(move_rate_in_force(i), 0);
        assert_true(isnan(move_left_seconds(i, fake.now)));
        pass_begin(h, i);
        assert_int_equal(move_rate_in_force(i), MIB(64));
        assert_true(fabs(move_left_seconds(i, fake.now) - 100.0 / 64) < 0.01);
        fake.now += PACE_WINDOW_USEC;
        set_pressure(h, 10, memory += 100000, cpu += 40000); /* as usual, and within the margin */
        move_slice(&h->rooms.binding, i, fake.now);
        assert_int_equal(move_rate_in_force(i), MIB(64));
        fake.now += PACE_WINDOW_USEC / 2;
        set_pressure(h, 10, memory += 400000, cpu);
        move_slice(&h->rooms.binding, i, fake.now); /* not a whole window yet */
        assert_int_equal(move_rate_in_force(i), MIB(64));
        fake.now += PACE_WINDOW_USEC / 2;
        move_slice(&h->rooms.binding, i, fake.now);
        assert_int_equal(move_rate_in_force(i), MIB(32));
        assert_int_equal(i->binding.rate.bytes_per_sec, MIB(32));
        fake_remove(&h->tree, "sys/fs/cgroup/x.service");
        fake.now += 2 * PACE_WINDOW_USEC;
        move_slice(&h->rooms.binding, i, fake.now); /* no counter changes any more: as before */
        assert_int_equal(move_rate_in_force(i), MIB(32));
}

/* A group that holds others too says nothing of the instance. */
HOST_TEST(pressure_of_others) {
        Instance *i = add(h, 10);

        i->binding.observed.alone = false;
        set_pressure(h, 0, 0, 0);
        pass_begin(h, i);
        fake.now += PACE_WINDOW_USEC;
        set_pressure(h, 0, PACE_WINDOW_USEC, PACE_WINDOW_USEC);
        move_slice(&h->rooms.binding, i, fake.now);
        assert_int_equal(move_rate_in_force(i), MIB(64));
}

HOST_TEST(time_left_by_what_was_reached) {
        Instance *i = add(h, 10);

        pass_begin(h, i);
        move_progress_add(&h->rooms.binding, i, MIB(20));
        fake.now = i->binding.migration.begun_usec + 2000000;
        assert_true(fabs(move_left_seconds(i, fake.now) - 10) < 0.01); /* 10 MiB a second */
}

/* --- the kernel's own way --- */

HOST_TEST(kernel) {
        Instance *i = add(h, 10);

        i->binding.placement.nodes = node_set("1,2");
        i->binding.placement.migrate = MIGRATE_KERNEL;
        i->memory_known = true;
        i->by_node[0].anon_bytes = MIB(500);
        i->by_node[1].anon_bytes = MIB(500); /* at home */
        i->by_node[3].anon_bytes = MIB(400);
        i->binding.observed.alone = true;
        fake.answer = 0;
        rooms_set_memory(&h->tree, 1, 900, 0);
        pass_begin(h, i);
        assert_int_equal(i->binding.state, INSTANCE_MOVING);
        assert_int_equal(fake.sweeps.n, 0);
        move_slice(&h->rooms.binding, i, fake.now); /* one call, and others have their turns */
        assert_true(i->binding.state == INSTANCE_MOVING && i->binding.due_usec <= fake.now);
        assert_int_equal(fake.sweeps.n, 1);
        assert_int_equal(fake.n_steps, 0);
        wait_for_end(h, i);
        assert_int_equal(i->binding.progress.passes, 1);
        assert_int_equal(fake.sweeps.n, 2);
        assert_int_equal(fake.sweeps.list[0].from, 0);
        assert_int_equal(fake.sweeps.list[0].to, 1); /* most room */
        assert_int_equal(fake.sweeps.list[1].from, 3);
        assert_int_equal(fake.sweeps.list[1].to, 2); /* 1 is full by then */
        assert_int_equal(fake.sweeps.list[1].pid, 10);
        assert_int_equal(fake.sweeps.n_pulls, 1); /* what a fork shares is left by the sweeps */
        assert_true(fake.sweeps.pulled_alone);
}

/* Without counts of memory by node the kernel cannot be asked for a move from node to node: the
 * mover reads every page. */
HOST_TEST(kernel_cannot_be_asked) {
        Instance *i = add(h, 10);

        i->binding.placement.migrate = MIGRATE_KERNEL;
        i->memory_known = false;
        pass_begin(h, i);
        assert_int_equal(i->binding.state, INSTANCE_MOVING);
        fake.answer = 0;
        move_slice(&h->rooms.binding, i, fake.now);
        assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
        assert_int_equal(fake.n_steps, 1);
        assert_true(i->binding.progress.pass_whole);
}

/* Nothing outside: no call. Given up: no further call. */
HOST_TEST(kernel_has_nothing_to_do) {
        Instance *i = add(h, 10);

        i->binding.placement.migrate = MIGRATE_KERNEL;
        i->memory_known = true;
        fake.answer = 0;
        pass_begin(h, i);
        assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
        assert_int_equal(i->binding.progress.passes, 1);
        i->by_node[0].anon_bytes = i->by_node[2].anon_bytes = i->by_node[3].anon_bytes = MIB(1);
        pass_begin(h, i);
        assert_int_equal(i->binding.state, INSTANCE_MOVING);
        (void)binding_enter(&h->rooms.binding, i, EVENT_CHANGE, fake.now);
        assert_int_not_equal(i->binding.state, INSTANCE_MOVING);
        assert_null(i->binding.kernel.list);
        assert_int_equal(fake.sweeps.n, 0);
}
