/* The full-node guard: whom it watches, what counts as room, when it widens, and the way back. */
#include "guard-host.h"

/* --- whom it watches --- */

/* Node 1 runs full; who is not watched costs no reading of it. */
static void assert_watched(TestHost *h, const char *what, bool watched) {
        const unsigned before = kernel.n_widened;
        uint64_t wait;

        set_memory(1, 0, 0);
        wait = second(h);
        if ((wait != INSTANCE_NEVER) != watched || kernel.n_widened - before != watched)
                fail_msg("%s: %ju us, %u widened", what, (uintmax_t)wait,
                         kernel.n_widened - before);
}

TEST(whom_it_watches) {
        static const struct {
                const char *what, *mems, *nodes;
                MemoryMode memory;
                const char *before; /* it was bound so by an earlier daemon; and `mems` is since */
                bool node_3_is_empty, no_cpuset, deaf, observes, once, dump, watched;
        } rows[] = {
                { "bound", ALL_NODES, "1", MEMORY_BIND, .watched = true },
                { "to a node without memory, too", ALL_NODES, "1,3", MEMORY_BIND,
                  .node_3_is_empty = true, .watched = true },
                { "preferred", ALL_NODES, "1", MEMORY_PREFERRED },
                { "bound before", "1", "1", MEMORY_PREFERRED, .before = "1", .deaf = true },
                { "to all nodes", ALL_NODES, ALL_NODES, MEMORY_BIND },
                { "not narrow yet", ALL_NODES, "1", MEMORY_BIND, .deaf = true },
                { "narrow elsewhere", "2", "1", MEMORY_BIND, .before = "1", .deaf = true },
                { "by threads", ALL_NODES, "1", MEMORY_BIND, .no_cpuset = true },
                { "only observed", "1", "1", MEMORY_BIND, .observes = true },
                { "a single run", ALL_NODES, "1", MEMORY_BIND, .once = true },
                { "a dump", ALL_NODES, "1", MEMORY_BIND, .dump = true },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                const NodeSet mems = node_set(rows[k].mems);
                _cleanup_host_ TestHost h;

                host_init(&h);
                if (rows[k].node_3_is_empty)
                        h.nodes[3].memory_bytes = 0;
                started(10, ALL_NODES);
                if (rows[k].before) {
                        (void)seen(&h, 10, rows[k].before, MEMORY_BIND);
                        rooms_stop(&h);
                        daemon_start(&h);
                }
                assert_int_equal(second(&h), INSTANCE_NEVER); /* nobody is there */
                if (rows[k].once || rows[k].dump) {
                        guard_stop(&h.rooms.binding);
                        h.args.once = rows[k].once;
                        h.rooms.host.sysroot.live = !rows[k].dump;
                        assert_int_equal(guard_start(&h.rooms.binding), 0);
                        h.rooms.host.sysroot.live = true;
                }
                if (rows[k].no_cpuset)
                        h.rooms.host.backend.ops = &fake_affinity;
                if (rows[k].observes)
                        h.rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
                kernel_show_mems("10.service", &mems);
                kernel.deaf = rows[k].deaf;
                (void)seen(&h, 10, rows[k].nodes, rows[k].memory);
                assert_watched(&h, rows[k].what, rows[k].watched);
        }
}

/* A reload has paused it, and it was not reconciled since. */
HOST_TEST(nothing_is_changed_while_paused) {
        Instance *i = serve(h, 10, "1");

        h->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        set_memory(1, 0, 0);
        assert_int_equal(second(h), INSTANCE_NEVER);
        h->rooms.host.policies.mode = ENFORCEMENT_ENFORCE;
        h->rooms.host.stopping = true;
        assert_int_equal(second(h), INSTANCE_NEVER);
        assert_mems(i, "1");
        h->rooms.host.stopping = false;
        (void)second(h);
        assert_mems(i, "0-1");
}

/* What a daemon finds narrow when it starts: what its admin's own unit file has set is not ours to
 * widen. A property for this boot only is taken for ours where no record can tell; where one can,
 * it has the last word, for the admin may have set it himself. */
TEST(whose_it_is) {
        static const struct {
                const char *what;
                bool bound, noted, runtime, ours;
        } rows[] = {
                { "by its unit file" },
                { "for this boot", .runtime = true, .ours = true },
                { "for this boot, and by the admin", .noted = true, .runtime = true },
                { "by the daemon before", .bound = true, .noted = true, .ours = true },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                started(10, rows[k].noted ? ALL_NODES : "1");
                if (rows[k].noted) {
                        kernel.admins = node_set(rows[k].bound ? "" : "1");
                        if (!rows[k].bound)
                                kernel_show_mems("10.service", &kernel.admins);
                        (void)seen(&h, 10, "1", rows[k].bound ? MEMORY_BIND : MEMORY_PREFERRED);
                        rooms_stop(&h);
                        daemon_start(&h);
                }
                if (rows[k].runtime)
                        fake_write(&kernel.tree,
                                   "run/systemd/system.control/10.service.d/"
                                   "50-AllowedMemoryNodes.conf",
                                   "");
                kernel.n_set = 0;
                (void)seen(&h, 10, "1", MEMORY_BIND);
                assert_int_equal(kernel.n_set, 0); /* it is as it is to be */
                assert_watched(&h, rows[k].what, rows[k].ours);
        }
}

/* The fullest node of any instance decides. */
HOST_TEST(far_from_full_it_reads_less_often) {
        set_memory(1, 80 << 10, 0);
        (void)serve(h, 10, "1");
        assert_int_equal(second(h), GUARD_FAR_INTERVAL_USEC);
        (void)serve(h, 11, "2");
        assert_int_equal(second(h), GUARD_INTERVAL_USEC);
}

/* --- widening --- */

HOST_TEST(widens_a_full_node) {
        Instance *i = serve(h, 10, "1");
        Capture c;

        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
        set_memory(1, 21, 0);
        assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        assert_mems(i, "1");
        set_memory(1, 20, 0);
        set_memory(2, 801, 0);
        kernel.n_set = 0;
        CAPTURE_STDERR(&c, assert_int_equal(second(h), GUARD_FAST_INTERVAL_USEC));
        assert_contains(c.text, "10: node 1 is nearly full (no more than the headroom of 20.0 MiB "
                                "is left): it may use memory of node 2 as well");
        assert_null(strstr(c.text, "something else changed"));
        assert_mems(i, "1-2");
        assert_int_equal(kernel.n_set, 1); /* and systemd knows of it */
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FULL);
        assert_int_equal(n_counted(h), 1);
        assert_int_equal(h->counters[0].drift_repairs[DRIFT_MEMS], 0);
        /* There is room now, on the two together. */
        assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        assert_mems(i, "1-2");
        /* That one fills too. */
        set_memory(2, 10, 0);
        (void)second(h);
        assert_mems(i, "0-2");
        assert_int_equal(n_counted(h), 2);
}

/* The planner's rule for homes is the guard's, too. */
HOST_TEST(memory_of_a_gpu) {
        Instance *i;
        Capture c;

        h->nodes[0].cpus = h->nodes[2].cpus = (CpuSet){ 0 };
        h->nodes[2].kind = NODE_GPU;
        i = serve(h, 10, "1");
        set_memory(1, 5, 0);
        (void)second(h);
        assert_mems(i, "1,3"); /* 0 and 2 are nearer */
        set_memory(0, 5, 0);
        set_memory(3, 5, 0);
        CAPTURE_STDERR(&c, (void)second(h));
        assert_contains(c.text, "memory of node 2 (GPU memory) as well");
        assert_mems(i, "1-3");
}

HOST_TEST(foresees) {
        Instance *i = serve(h, 10, "1");
        Capture c;

        for (unsigned s = 1; s <= 10; s++) {
                const uint64_t wait = (set_memory(1, 820 - 40 * s, 0), second(h));

                assert_int_equal(wait, s < 2 ? GUARD_INTERVAL_USEC : GUARD_FAST_INTERVAL_USEC);
        }
        assert_mems(i, "1"); /* it has taken 360 MiB, and 400 were left */
        set_memory(1, 820 - 40 * 11, 0);
        set_memory(0, 400, 0); /* would last 9.5 s */
        set_memory(2, 400, 0);
        CAPTURE_STDERR(&c, (void)second(h));
        assert_contains(c.text,
                        "node 1 will be full in 9.0 s (360.0 MiB of room, 40.0 MiB less each "
                        "second): it may use memory of node 3 as well, until that has ended");
        assert_mems(i, "1,3");
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FILLING);
}

/* The kernel's victim may be any of them. */
HOST_TEST(all_on_the_node) {
        Instance *a = serve(h, 10, "1"), *b = serve(h, 20, "1"), *both = serve(h, 30, "1-2"),
                 *other = serve(h, 40, "3"), *loose;

        started(50, ALL_NODES);
        loose = seen(h, 50, "1", MEMORY_PREFERRED);
        set_memory(1, 5, 0);
        (void)second(h);
        assert_state(h, a, INSTANCE_WIDENED, REASON_NODE_FULL);
        assert_state(h, b, INSTANCE_WIDENED, REASON_NODE_FULL);
        assert_state(h, loose, INSTANCE_BOUND, REASON_NONE); /* it may use all of them */
        assert_mems(both, "1-2");                            /* has room on its other one */
        assert_mems(other, "3");
        set_memory(2, 5, 0);
        (void)second(h);
        assert_state(h, both, INSTANCE_WIDENED, REASON_NODE_FULL);
        assert_mems(other, "3");
}

HOST_TEST(nodes_that_are_not_allowed) {
        Instance *i = serve(h, 10, "1");
        Capture c;

        set_memory(1, 5, 0);
        kernel.forbidden = node_set("0,2");
        (void)second(h);
        assert_mems(i, "1,3");
        /* None at all: logged once. */
        set_memory(3, 5, 0);
        capture_begin(&c, STDERR_FILENO);
        assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        capture_end(&c);
        assert_contains(c.text, "nodes 1,3 are nearly full (no more than the headroom of 40.0 MiB");
        assert_contains(c.text, "no other node that it may use has room");
        assert_null(strstr(strstr(c.text, "nearly full") + 1, "nearly full"));
        assert_mems(i, "1,3");
        assert_contains(reported(h, i).reason, "no other node");
}

/* How the kernel answers, or the worker that writes: what is done, and what is reported. */
TEST(widenings_that_fail) {
        static const struct {
                int error;
                const char *mems, *reason; /* NULL: nothing is logged */
                uint64_t wait_usec;
        } rows[] = {
                { -ESRCH, "1", NULL, GUARD_INTERVAL_USEC }, /* its end is logged elsewhere */
                { -ENOMEM, "1", "no memory to widen", GUARD_FAST_INTERVAL_USEC },
                /* A process of it is stalled and holds the lock that the writer waits for. Nobody
                 * else writes meanwhile: systemd would wait for it too. */
                { -ETIME, "1", "one of its processes is stalled", GUARD_FAST_INTERVAL_USEC },
        };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                _cleanup_host_ TestHost h;
                Instance *i;
                Capture c;

                host_init(&h);
                i = serve(&h, 10, "1");
                set_memory(1, 5, 0);
                kernel.n_set = 0;
                kernel.error = rows[k].error;
                CAPTURE_STDERR(&c, assert_int_equal(second(&h), rows[k].wait_usec));
                assert_mems(i, rows[k].mems);
                assert_int_equal(kernel.n_set, 0);
                assert_int_equal(n_counted(&h), 0);
                if (rows[k].reason) {
                        assert_contains(c.text, rows[k].reason);
                        assert_contains(reported(&h, i).reason, rows[k].reason);
                } else {
                        assert_string_equal(c.text, "");
                }
                /* It is over: the same node, and nothing is reported of it any more. */
                kernel.error = 0;
                (void)second(&h);
                assert_mems(i, "0-1");
                assert_state(&h, i, INSTANCE_WIDENED, REASON_NODE_FULL);
        }
}

/* The kernel's file is not to be had: then by systemd alone. */
HOST_TEST(widened_by_the_backend_alone) {
        Instance *i = serve(h, 10, "1");

        set_memory(1, 5, 0);
        kernel.error = -ENXIO;
        (void)second(h);
        assert_mems(i, "0-1");
        assert_int_equal(n_counted(h), 1);
}

/* What the kernel's file shows counts; systemd, which would wait for the same lock, is asked when
 * the writer has probably come back. */
HOST_TEST(a_write_that_has_not_come_back) {
        Instance *i = serve(h, 10, "1");

        set_memory(1, 5, 0);
        kernel.n_set = 0;
        kernel.error = -EINPROGRESS;
        (void)second(h);
        assert_mems(i, "0-1");
        assert_int_equal(n_counted(h), 1);
        assert_int_equal(kernel.n_set, 0);
        seconds(h, 3);
        assert_int_equal(kernel.n_set, 1);
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FULL);
}

/* --- what is room, and on which nodes --- */

HOST_TEST(reserved_nodes) {
        Instance *i;

        h->rooms.host.policies.host.reserve =
                (Reserve){ .kind = RESERVE_LIST, .nodes = node_set("0,2") };
        host_queue(&h->rooms.host, HOST_WORK_PLAN);
        place_refresh(&h->rooms.placing);
        i = serve(h, 10, "1");
        set_memory(1, 5, 0);
        (void)second(h);
        assert_mems(i, "1,3");
        set_memory(3, 5, 0);
        (void)second(h);
        assert_mems(i, "0-1,3"); /* rather than that it is killed */
        h->rooms.host.policies.host.reserve.strict = true;
        set_memory(0, 5, 0);
        seconds(h, 2);
        assert_mems(i, "0-1,3");
}

/* The admin's setting of the unit leaves out the nodes that are nearer. */
HOST_TEST(nodes_that_the_unit_does_not_name) {
        Instance *i;

        kernel.admins = node_set("1,3");
        started(10, ALL_NODES);
        kernel_show_mems("10.service", &kernel.admins);
        i = seen(h, 10, "1", MEMORY_BIND);
        assert_mems(i, "1");
        set_memory(1, 5, 0);
        (void)second(h);
        assert_mems(i, "1,3");
        set_memory(3, 5, 0);
        (void)second(h);
        assert_mems(i, "1,3");
}

/* Nor is what was read before it could not be read. */
HOST_TEST(a_node_that_cannot_be_read) {
        Instance *i = serve(h, 10, "1");

        set_memory(1, 5, 0);
        fake_remove(&kernel.tree, "sys/devices/system/node/node1/meminfo");
        assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        for (unsigned n = 0; n < NODES; n++)
                set_memory(n, 5, 0); /* there is no node to widen to */
        (void)second(h);
        fake_remove(&kernel.tree, "sys/devices/system/node/node1/meminfo");
        set_memory(0, 500, 0);
        (void)second(h);
        assert_mems(i, "1");
}

HOST_TEST(cache_is_room) {
        Instance *i = serve(h, 10, "1");

        set_memory(1, 5, 700);
        for (unsigned s = 1; s <= 100; s++)
                assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        assert_mems(i, "1");
        /* On the nodes to choose from as well. */
        set_memory(0, 5, 0);
        set_memory(2, 5, 300);
        set_memory(3, 700, 0);
        set_memory(1, 5, 0);
        kernel.now += SEC(100); /* nothing is known of how it came so far */
        seconds(h, 1);
        assert_mems(i, "1-2");
}

/* Cache that waits for a disk is none. */
TEST(dirty_cache_is_no_room) {
        static const char *const fields[] = { "Dirty", "Writeback" };

        for (size_t k = 0; k < ELEMENTSOF(fields); k++) {
                _cleanup_host_ TestHost h;
                Instance *i;

                host_init(&h);
                i = serve(&h, 10, "1");
                fake_write(&kernel.tree, "sys/devices/system/node/node1/meminfo",
                           fmt("Node 1 MemTotal: 1024000 kB\nNode 1 MemFree: 5120 kB\n"
                               "Node 1 Inactive(file): 512000 kB\nNode 1 %s: 502000 kB\n",
                               fields[k]));
                (void)second(&h);
                assert_mems(i, "0-1");
        }
}

/* --- on_full: keep --- */

static bool is_warned_of(const TestHost *h, const Instance *i) {
        return strstr(reported(h, i).reason, "on_full: keep") != NULL;
}

HOST_TEST(on_full_keep_only_logs) {
        Instance *i = serve(h, 10, "1");
        Capture c;

        h->policies[0].on_full = ON_FULL_KEEP;
        set_memory(1, 5, 0);
        capture_begin(&c, STDERR_FILENO);
        for (unsigned s = 1; s <= 5; s++)
                assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        capture_end(&c);
        assert_contains(c.text, "on_full: keep");
        assert_null(strstr(strstr(c.text, "on_full") + 1, "on_full"));
        assert_true(is_warned_of(h, i));
        assert_mems(i, "1");
        /* A minute of room ends it; the next time is logged again. */
        set_memory(1, 40, 0);
        seconds(h, 60);
        assert_true(is_warned_of(h, i));
        seconds(h, 1);
        assert_false(is_warned_of(h, i));
        set_memory(1, 5, 0);
        CAPTURE_STDERR(&c, (void)second(h));
        assert_contains(c.text, "on_full: keep");
        /* A minute in one piece. */
        for (unsigned s = 0; s < 91; s++) {
                set_memory(1, s == 30 ? 5 : 40, 0);
                (void)second(h);
                assert_true(is_warned_of(h, i));
        }
        seconds(h, 1);
        assert_false(is_warned_of(h, i));
        assert_int_equal(n_counted(h), 0);
}

/* --- and back --- */

/* A service of node 1, which is nearly full, so that it has another. */
static Instance *serve_widened(TestHost *h, pid_t pid) {
        Instance *i = serve(h, pid, "1");

        set_memory(1, 5, 0);
        (void)second(h);
        assert_mems(i, "0-1");
        return i;
}

HOST_TEST(becomes_keep) {
        Instance *i = serve_widened(h, 10);

        h->policies[0].on_full = ON_FULL_KEEP;
        (void)second(h);
        assert_mems(i, "1");
        assert_int_equal(n_counted(h), 1);
}

/* A growth of ten seconds, which was to fill the node in nine more. */
static Instance *serve_foreseen(TestHost *h) {
        Instance *i = serve(h, 10, "1");

        for (unsigned s = 1; s <= 11; s++) {
                set_memory(1, 820 - 40 * s, 0);
                (void)second(h);
        }
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FILLING);
        return i;
}

/* It ended: it returns soon, and what is said of it is true each time. */
HOST_TEST(foreseen_and_ended) {
        Instance *i = serve_foreseen(h);

        (void)host_take(&h->rooms.host, HOST_WORK_PUBLISH);
        seconds(h, 3);
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FREED);
        assert_true(host_take(&h->rooms.host, HOST_WORK_PUBLISH));
        seconds(h, 12);
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FREED);
        seconds(h, 1);
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
        assert_mems(i, "1");
}

/* It was full after all: then a minute. */
HOST_TEST(foreseen_and_full) {
        Instance *i = serve_foreseen(h);

        set_memory(1, 10, 0);
        seconds(h, 1);
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FULL);
        set_memory(1, 500, 0);
        seconds(h, 60);
        assert_state(h, i, INSTANCE_WIDENED, REASON_NODE_FREED);
        seconds(h, 1);
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
}

/* After a minute with twice the headroom. A new shortage starts it again. */
HOST_TEST(narrows_again) {
        Instance *i = serve_widened(h, 10);

        set_memory(1, 39, 0);
        seconds(h, 200);
        assert_mems(i, "0-1");
        set_memory(1, 40, 0);
        seconds(h, 50);
        set_memory(1, 5, 0);
        seconds(h, 1);
        set_memory(1, 40, 0);
        seconds(h, 60);
        assert_mems(i, "0-1");
        seconds(h, 1);
        assert_mems(i, "1");
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
        assert_int_equal(n_counted(h), 1);
}

/* With its next shortage, nodes that were not allowed are tried again. */
HOST_TEST(what_was_not_allowed_is_tried_again) {
        Instance *i;

        kernel.forbidden = node_set("0");
        i = serve(h, 10, "1");
        set_memory(1, 5, 0);
        (void)second(h);
        assert_mems(i, "1-2");
        kernel.forbidden = node_set("");
        set_memory(1, 40, 0);
        seconds(h, 61);
        assert_mems(i, "1");
        set_memory(1, 5, 0);
        (void)second(h);
        assert_mems(i, "0-1");
}

/* What it took elsewhere meanwhile is brought home first, and at once. */
HOST_TEST(narrows_when_its_memory_is_home) {
        Instance *i = serve_widened(h, 10);

        assert_int_equal(guard_margin_bytes(&h->rooms.binding, i), 0);
        kernel_hold("10.service", (uint64_t[NODES]){ 100, 300 });
        set_memory(1, 500, 0);
        seconds(h, 60);
        assert_int_equal(kernel.n_moves, 0);
        seconds(h, 1);
        assert_int_equal(reported(h, i).state, INSTANCE_MOVING);
        assert_mems(i, "0-1");
        assert_int_equal(guard_margin_bytes(&h->rooms.binding, i), MIB(20)); /* is to be left */
        kernel.mover_works = true;
        seconds(h, 3);
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
        assert_mems(i, "1");
        assert_int_equal(guard_margin_bytes(&h->rooms.binding, i), 0);
}

/* On a host of two nodes it then has all of them, and must come back from there too. */
HOST_TEST(all_nodes_there_are) {
        const NodeSet two = node_set("0-1");
        Instance *i;

        h->nodes[2].memory_bytes = h->nodes[3].memory_bytes = 0;
        started(10, ALL_NODES);
        kernel_show_mems("10.service", &two);
        i = seen(h, 10, "1", MEMORY_BIND);
        set_memory(1, 5, 0);
        (void)second(h);
        assert_mems(i, "0-1");
        set_memory(1, 80 << 10, 0);
        for (unsigned s = 0; s < 60; s++)
                assert_int_equal(second(h), GUARD_INTERVAL_USEC);
        assert_mems(i, "0-1");
        seconds(h, 1);
        assert_mems(i, "1");
}

/* Its policy gives it another place, where it has room. */
HOST_TEST(another_place_ends_it) {
        Instance *i = serve_widened(h, 10);
        static char *all[] = { (char *)"*" };

        h->policies[0].place.nodes = node_set("3");
        place_replan(&h->rooms.placing, &(WordList){ .words = all, .n_words = 1 });
        binding_work(&h->rooms.binding, i, WORK_POLICY, kernel.now);
        seconds(h, 2);
        assert_mems(i, "3");
        assert_state(h, i, INSTANCE_BOUND, REASON_NONE);
}

/* What the mover may take on the way back: as much as the guard counts. */
HOST_TEST(room_on_the_way_back) {
        static const char meminfo[] =
                "Node 1 MemTotal: 1024000 kB\nNode 1 MemFree: 1024 kB\n"
                "Node 1 Active(file): 4096 kB\nNode 1 Inactive(file): 3072 kB\n"
                "Node 1 Dirty: 1024 kB\n";
        Instance *i = serve(h, 10, "1");

        static const char *const mems[] = { "1", "0-1", "1" };

        for (size_t k = 0; k < ELEMENTSOF(mems); k++) {
                const NodeSet home = node_set("1");
                NodeRoom *rooms;
                size_t n;

                assert_mems(i, mems[k]);
                fake_write(&kernel.tree, "sys/devices/system/node/node1/meminfo", meminfo);
                assert_int_equal(room_of(&h->rooms.placing, i, &rooms, &n), 0);
                assert_int_equal(n, 1);
                assert_int_equal(rooms[0].reclaimable_bytes, k == 1 ? MIB(4) : MIB(2));
                free(rooms);
                assert_int_equal(room_on(&h->rooms.placing, &home, NULL, &rooms, &n), 0);
                assert_int_equal(rooms[0].reclaimable_bytes, MIB(2));
                free(rooms);
                seconds(h, 1);
                set_memory(1, 500, 0);
                seconds(h, k * 61); /* the second time until it is back */
        }
}

/* --- beside the mover --- */

/* Services of node 1 that were widened to node 0 are on their way back: the mover is to bring their
 * memory. What they may use by then is what is left of node 1. */
static void return_home(TestHost *h, unsigned n, unsigned free_mib, bool mover_works) {
        const Instance *its[2];

        for (unsigned k = 0; k < n; k++)
                its[k] = serve(h, 10 + (pid_t)k, "1");
        set_memory(1, 5, 0);
        (void)second(h);
        for (unsigned k = 0; k < n; k++) {
                assert_mems(its[k], "0-1");
                kernel_hold(its[k]->unit, (uint64_t[NODES]){ 100, 100 });
        }
        set_memory(0, 20, 0);
        set_memory(1, free_mib, 0);
        kernel.mover_works = mover_works;
        seconds(h, 61);
        for (unsigned k = 0; k < n; k++)
                assert_int_equal(reported(h, its[k]).state,
                                 mover_works ? INSTANCE_BOUND : INSTANCE_MOVING);
        assert_int_equal(n_counted(h), n);
}

/* Of the two together, and no longer than it brings something. */
HOST_TEST(what_the_mover_brings_is_no_fall) {
        return_home(h, 2, 500, false);
        for (unsigned s = 1; s <= 8; s++) {
                set_memory(1, 500 - 50 * s, 0);
                (void)second(h);
        }
        assert_int_equal(n_counted(h), 2);
        kernel.mover_works = true;
        seconds(h, 3);
        for (unsigned s = 1; s <= 5; s++) {
                set_memory(1, 100 - 10 * s, 0);
                (void)second(h);
        }
        assert_int_equal(n_counted(h), 4);
}

/* A mover that goes slowly, so as not to stall its owner, has not brought all that is gone. */
HOST_TEST(what_a_slow_mover_brings) {
        double waiting = 1, waited = 0;

        fake_write(&kernel.tree, "sys/fs/cgroup/system.slice/10.service/cpu.pressure",
                   "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
        fake_write(&kernel.tree, "sys/fs/cgroup/system.slice/10.service/memory.pressure",
                   "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
        return_home(h, 1, 250, false);
        for (unsigned s = 1; s <= 8; s++) {
                waited += waiting;
                waiting *= 0.7; /* each halving of the rate helps */
                fake_write(
                        &kernel.tree, "sys/fs/cgroup/system.slice/10.service/memory.pressure",
                        fmt("some avg10=0.00 avg60=0.00 avg300=0.00 total=%.0f\n", waited * 1e6));
                (void)second(h);
        }
        assert_int_equal(n_counted(h), 1);
        for (unsigned s = 1; s <= 5; s++) {
                set_memory(1, 250 - 30 * s, 0);
                (void)second(h);
        }
        assert_int_equal(n_counted(h), 2);
}

/* The mover is at rest at either of them, and what it brought is no burst. */
HOST_TEST(a_pass_between_two_readings_is_no_fall) {
        h->rate_bytes_per_sec = MIB(256);
        return_home(h, 1, 500, true);
        set_memory(1, 250, 0);
        seconds(h, 2);
        assert_int_equal(n_counted(h), 1);
        set_memory(1, 100, 0); /* this fall is not ours */
        seconds(h, 1);
        assert_int_equal(n_counted(h), 2);
}

/* Of two for which there is room for one, that one gets it, and the other what is left over. */
HOST_TEST(room_that_is_promised) {
        static const unsigned free_mib[] = { 320, 500 };

        for (size_t k = 0; k < ELEMENTSOF(free_mib); k++) {
                Instance *its[2];
                uint32_t node;

                set_memory(2 + (unsigned)k, free_mib[k], 0);
                for (unsigned n = 0; n < 2; n++) {
                        const pid_t pid = (pid_t)(10 + 2 * k + n);

                        started(pid, ALL_NODES);
                        kernel_hold(fmt("%d.service", pid), (uint64_t[NODES]){ 0, 300 });
                        its[n] = seen(h, pid, k == 0 ? "2" : "3", MEMORY_BIND);
                }
                assert_int_equal(reported(h, its[0]).state, INSTANCE_MOVING);
                assert_int_equal(reported(h, its[1]).state,
                                 k == 0 ? INSTANCE_PARTLY : INSTANCE_MOVING);
                set_memory(2 + (unsigned)k, 320, 0);
                assert_int_equal(room_choose_node(&h->rooms.placing, its[0], &node), 0);
                assert_int_equal(room_choose_node(&h->rooms.placing, its[1], &node), -ENOSPC);
        }
}
