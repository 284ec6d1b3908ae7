/* The guard: whom it watches, and when it widens. */
#include "guard-host.h"

/* --- whom it watches --- */

HOST_TEST(nothing_to_watch) {
        Instance *i;

        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), INSTANCE_NEVER);
        i = add(h, 10, "1");
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), GUARD_INTERVAL_USEC);
        i->binding.placement.memory = MEMORY_PREFERRED;
        guard_note(&h->rooms.binding, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(2)), INSTANCE_NEVER);
        i->binding.placement.memory = MEMORY_BIND;
        i->binding.observed.mems = node_set("0-3"); /* not narrow yet */
        guard_note(&h->rooms.binding, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(3)), INSTANCE_NEVER);
        i->binding.observed.mems = node_set("2"); /* and narrow elsewhere: not by its placement */
        guard_note(&h->rooms.binding, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(4)), INSTANCE_NEVER);
        i->binding.observed.mems = node_set("1");
        i->binding.observed.cpuset = false;
        guard_note(&h->rooms.binding, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(5)), INSTANCE_NEVER);
        i->binding.observed.cpuset = true;
        h->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        guard_note(&h->rooms.binding, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(6)), INSTANCE_NEVER);
        h->rooms.host.policies.mode = ENFORCEMENT_ENFORCE;
        i->binding.placement.nodes = node_set("");
        guard_note(&h->rooms.binding, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(7)), INSTANCE_NEVER);
}

/* A reload has paused it, and it was not reconciled since. */
HOST_TEST(nothing_is_changed_while_paused) {
        (void)add(h, 10, "1");
        set_memory(h, 1, 0, 0);
        h->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), INSTANCE_NEVER);
        h->rooms.host.policies.mode = ENFORCEMENT_ENFORCE;
        h->rooms.host.stopping = true;
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(2)), INSTANCE_NEVER);
        assert_int_equal(seen.n_widened + seen.n_set, 0);
        h->rooms.host.stopping = false;
        (void)guard_tick(&h->rooms.binding, SEC(3));
        assert_int_equal(seen.n_widened, 1);
}

/* By systemd: narrow by the admin's own unit file is not ours to widen. */
HOST_TEST(whose_it_is) {
        Instance *i;

        h->rooms.host.backend.ops = &systemd_ops;
        i = add(h, 10, "1");
        set_memory(h, 1, 0, 0);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), INSTANCE_NEVER);
        i->binding.we_narrowed = true;
        guard_note(&h->rooms.binding, i);
        (void)guard_tick(&h->rooms.binding, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

/* A property for this boot only is taken for ours where no record can tell; where one can, it has
 * the last word: the admin may have set it himself. */
HOST_TEST(whose_without_a_record) {
        UndoRecord *record;
        Instance *i;

        h->rooms.host.backend.ops = &systemd_ops;
        i = add(h, 10, "1");
        set_memory(h, 1, 0, 0);
        i->unit = strdup("x.service");
        fake_write(&h->tree, "run/systemd/system.control/x.service.d/50-AllowedMemoryNodes.conf",
                   "");
        assert_int_equal(undo_get(&h->rooms.undo.records, "x", "x.service", NULL, &record), 0);
        undo_adopt(&h->rooms.undo, i);
        guard_note(&h->rooms.binding, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), INSTANCE_NEVER);
        undo_reset(&h->rooms.undo, record);
        guard_note(&h->rooms.binding, i);
        (void)guard_tick(&h->rooms.binding, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

/* The fullest node of any instance decides. */
HOST_TEST(far_from_full_it_reads_less_often) {
        (void)add(h, 10, "1");
        set_memory(h, 1, 80 << 10, 0);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), GUARD_FAR_INTERVAL_USEC);
        (void)add(h, 11, "2");
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(2)), GUARD_INTERVAL_USEC);
}

HOST_TEST(not_for_a_single_run_or_a_dump) {
        Instance *i;

        guard_stop(&h->rooms.binding);
        h->args.once = true;
        assert_int_equal(guard_start(&h->rooms.binding), 0);
        assert_null(h->rooms.binding.guard);
        h->args.once = false;
        h->rooms.host.sysroot.live = false;
        assert_int_equal(guard_start(&h->rooms.binding), 0);
        assert_null(h->rooms.binding.guard);
        i = add(h, 10, "1"); /* that it does not exist does no harm */
        assert_false(i->binding.guard.watched);
        assert_int_equal(guard_margin_bytes(&h->rooms.binding, i), 0);
}

/* --- widening --- */

HOST_TEST(widens_a_full_node) {
        Instance *i = add(h, 10, "1");
        Capture c;

        set_memory(h, 1, 21, 0);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 0);
        set_memory(h, 1, 20, 0);
        set_memory(h, 2, 801, 0);
        i->binding.mems_drift.in_force = true; /* as observed so far */
        CAPTURE_STDERR(&c, assert_int_equal(guard_tick(&h->rooms.binding, SEC(2)),
                                            GUARD_FAST_INTERVAL_USEC));
        assert_null(strstr(c.text, "something else changed"));
        assert_int_equal(h->counters[0].drift_repairs[DRIFT_MEMS], 0);
        assert_contains(c.text, "x:10: node 1 is nearly full (no more than the headroom of 20.0 "
                                "MiB is left): it may use memory of node 2 as well");
        assert_int_equal(seen.n_widened, 1);
        assert_ids(seen.widened, "1-2");
        assert_int_equal(seen.n_set, 1); /* and the backend notes the new nodes */
        assert_ids(seen.set, "1-2");
        assert_ids(i->binding.guard.extra, "2");
        assert_true(i->binding.guard.widened);
        assert_false(i->binding.guard.extra_pending);
        assert_int_equal(i->binding.guard.n_widenings, 1);
        assert_int_equal(i->binding.due_usec, SEC(2)); /* to be reconciled at once */
        assert_int_equal(guard_margin_bytes(&h->rooms.binding, i), 0);
        i->binding.outside_bytes = 1;
        assert_int_equal(guard_margin_bytes(&h->rooms.binding, i), MIB(20));
        guard_note(&h->rooms.binding, i); /* observed before the write took effect */
        assert_true(i->binding.guard.widened);
        /* Before it is observed, and after that: there is room now. */
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(3)), GUARD_INTERVAL_USEC);
        observe_applied(h, i);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(4)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 1);
        /* That one fills too. */
        set_memory(h, 2, 10, 0);
        (void)guard_tick(&h->rooms.binding, SEC(5));
        assert_ids(seen.widened, "0-2");
        assert_ids(i->binding.guard.extra, "0,2");
        assert_int_equal(i->binding.guard.n_widenings, 2);
        assert_int_equal(h->counters[0].memory_widenings, 2);
}

/* The planner's rule for homes is the guard's, too. */
HOST_TEST(memory_of_a_gpu) {
        Capture c;

        h->nodes[0].cpus = h->nodes[2].cpus = (CpuSet){ 0 };
        h->nodes[2].kind = NODE_GPU;
        (void)add(h, 10, "1");
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        assert_ids(seen.widened, "1,3"); /* 0 and 2 are nearer */
        set_memory(h, 0, 5, 0);
        set_memory(h, 3, 5, 0);
        CAPTURE_STDERR(&c, (void)guard_tick(&h->rooms.binding, SEC(2)));
        assert_contains(c.text, "memory of node 2 (GPU memory) as well");
        assert_ids(seen.widened, "1-3");
}

HOST_TEST(foresees) {
        Capture c;

        (void)add(h, 10, "1");
        for (unsigned s = 1; s <= 5; s++) {
                set_memory(h, 1, 820 - 40 * s, 0);
                assert_int_equal(guard_tick(&h->rooms.binding, SEC(s)),
                                 s < 2 ? GUARD_INTERVAL_USEC : GUARD_FAST_INTERVAL_USEC);
        }
        for (unsigned s = 6; s <= 11; s++) {
                set_memory(h, 1, 820 - 40 * s, 0);
                if (s < 11)
                        (void)guard_tick(&h->rooms.binding, SEC(s));
        }
        assert_int_equal(seen.n_widened, 0); /* it has taken 360 MiB, and 400 were left */
        set_memory(h, 0, 400, 0);            /* would last 9.5 s */
        set_memory(h, 2, 400, 0);
        CAPTURE_STDERR(&c, (void)guard_tick(&h->rooms.binding, SEC(11)));
        assert_contains(c.text,
                        "node 1 will be full in 9.0 s (360.0 MiB of room, 40.0 MiB less each "
                        "second): it may use memory of node 3 as well, until that has ended");
        assert_ids(seen.widened, "1,3");
}

/* It moves nothing at either of them, and what it brought is no burst. */
HOST_TEST(a_pass_between_two_readings_is_no_fall) {
        Instance *i = add(h, 10, "1");

        set_memory(h, 1, 400, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        (void)guard_tick(&h->rooms.binding, SEC(2));
        i->binding.pull_peak_bytes_per_sec = MIB(256);
        set_memory(h, 1, 250, 0);
        (void)guard_tick(&h->rooms.binding, SEC(3));
        assert_int_equal(seen.n_widened, 0);
        (void)guard_tick(&h->rooms.binding, SEC(4));
        set_memory(h, 1, 100, 0); /* this fall is not ours */
        (void)guard_tick(&h->rooms.binding, SEC(5));
        assert_int_equal(seen.n_widened, 1);
}

/* The kernel's victim may be any of them. */
HOST_TEST(all_on_the_node) {
        Instance *a, *b, *both, *other, *loose;

        a = add(h, 10, "1");
        b = add(h, 20, "1");
        both = add(h, 30, "1-2");
        other = add(h, 40, "3");
        loose = add(h, 50, "1");
        loose->binding.placement.memory = MEMORY_PREFERRED;
        guard_note(&h->rooms.binding, loose);
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        assert_true(a->binding.guard.widened && b->binding.guard.widened);
        assert_false(loose->binding.guard.widened); /* is not bound */
        assert_false(both->binding.guard.widened);  /* has room on its other one */
        assert_false(other->binding.guard.widened);
        set_memory(h, 2, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(2));
        assert_true(both->binding.guard.widened);
        assert_false(other->binding.guard.widened);
}

HOST_TEST(nodes_that_are_not_allowed) {
        Instance *i = add(h, 10, "1");
        Capture c;

        set_memory(h, 1, 5, 0);
        seen.forbidden = node_set("0,2");
        (void)guard_tick(&h->rooms.binding, SEC(1));
        assert_ids(seen.widened, "1,3");
        assert_ids(i->binding.guard.blocked, "0,2");
        assert_ids(i->binding.guard.extra, "3");
        /* None at all: logged once. */
        set_memory(h, 3, 5, 0);
        capture_begin(&c, STDERR_FILENO);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(2)), GUARD_INTERVAL_USEC);
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(3)), GUARD_INTERVAL_USEC);
        capture_end(&c);
        assert_contains(c.text, "nodes 1,3 are nearly full (no more than the headroom of 40.0 MiB");
        assert_contains(c.text, "no other node that it may use has room");
        assert_null(strstr(strstr(c.text, "nearly full") + 1, "nearly full"));
        assert_int_equal(seen.n_widened, 1);
        assert_contains(i->binding.failure, "no other node");
        /* There is one again: that is over. */
        seen.forbidden = i->binding.guard.blocked = node_set("0");
        (void)guard_tick(&h->rooms.binding, SEC(4));
        assert_ids(seen.widened, "1-3");
        assert_null(i->binding.failure);
        assert_false(i->binding.guard.logged);
}

HOST_TEST(one_that_has_ended) {
        Instance *i = add(h, 10, "1");
        Capture c;

        set_memory(h, 1, 5, 0);
        seen.error = -ESRCH;
        CAPTURE_STDERR(&c, (void)guard_tick(&h->rooms.binding, SEC(1)));
        assert_string_equal(c.text, "");
        assert_int_equal(seen.n_set, 0);
        assert_false(i->binding.guard.widened || i->binding.guard.logged);
        assert_ids(i->binding.guard.blocked, "");
        /* The kernel had no memory for the write: nothing was widened, and the next try is soon. */
        seen.error = -ENOMEM;
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(2)), GUARD_FAST_INTERVAL_USEC);
        assert_false(i->binding.guard.widened);
        assert_ids(i->binding.guard.extra, "");
        assert_ids(i->binding.guard.blocked, "");
        assert_int_equal(i->binding.guard.n_widenings, 0);
        assert_contains(i->binding.failure, "no memory to widen");
        /* The kernel's file is not to be had: then by the backend's rooms alone. */
        seen.error = -ENXIO;
        (void)guard_tick(&h->rooms.binding, SEC(3));
        assert_int_equal(seen.n_set, 1);
        assert_true(i->binding.guard.widened);
}

/* A process of it is stalled and holds the lock that the writer waits for. Nobody else writes
 * meanwhile: systemd would wait for it too. What the kernel's file shows counts. */
HOST_TEST(a_write_that_has_not_come_back) {
        Instance *i = add(h, 10, "1");

        set_memory(h, 1, 5, 0);
        seen.error = -ETIME;
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), GUARD_FAST_INTERVAL_USEC);
        assert_false(i->binding.guard.widened);
        assert_ids(i->binding.guard.blocked, "");
        assert_contains(i->binding.failure, "one of its processes is stalled");
        assert_int_equal(seen.n_set, 0);
        seen.error = -EINPROGRESS;
        (void)guard_tick(&h->rooms.binding, SEC(2));
        assert_true(i->binding.guard.widened);
        assert_true(i->binding.guard.extra_pending);
        assert_int_equal(seen.n_set, 0);
        assert_true(i->binding.due_usec > SEC(2) && i->binding.due_usec < SEC(10));
}
