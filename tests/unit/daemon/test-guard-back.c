/* The guard: on_full: keep, and the way back. */
#include "guard-host.h"
#include "tidbnumad/daemon/placing/place.h"

/* Once a second, the first and the last of these too. */
static void ticks(TestHost *h, unsigned first, unsigned last) {
        for (unsigned s = first; s <= last; s++)
                (void)guard_tick(&h->rooms.binding, SEC(s));
}

/* An instance of node 1, which is nearly full: at the first second it is given another. */
static Instance *widened(TestHost *h) {
        Instance *i = add(h, 10, "1");

        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        observe_applied(h, i);
        return i;
}

/* --- on_full: keep --- */

HOST_TEST(on_full_keep_only_logs) {
        Instance *i;
        Capture c;

        h->policy.on_full = ON_FULL_KEEP;
        i = add(h, 10, "1");
        set_memory(h, 1, 5, 0);
        capture_begin(&c, STDERR_FILENO);
        for (unsigned s = 1; s <= 5; s++)
                assert_int_equal(guard_tick(&h->rooms.binding, SEC(s)), GUARD_INTERVAL_USEC);
        capture_end(&c);
        assert_contains(c.text, "on_full: keep");
        assert_null(strstr(strstr(c.text, "on_full") + 1, "on_full"));
        assert_contains(i->binding.failure, "on_full: keep");
        assert_int_equal(seen.n_widened + seen.n_set, 0);
        assert_true(id_set_is_empty(&i->binding.guard.extra) && !i->binding.guard.widened);
        /* A minute of room ends it; the next time is logged again. */
        set_memory(h, 1, 40, 0);
        ticks(h, 6, 65);
        assert_non_null(i->binding.failure);
        (void)guard_tick(&h->rooms.binding, SEC(66));
        assert_null(i->binding.failure);
        set_memory(h, 1, 5, 0);
        CAPTURE_STDERR(&c, (void)guard_tick(&h->rooms.binding, SEC(67)));
        assert_contains(c.text, "on_full: keep");
        /* A minute in one piece. */
        for (unsigned s = 68; s <= 158; s++) {
                set_memory(h, 1, s == 98 ? 5 : 40, 0);
                (void)guard_tick(&h->rooms.binding, SEC(s));
                assert_non_null(i->binding.failure);
        }
        (void)guard_tick(&h->rooms.binding, SEC(159));
        assert_null(i->binding.failure);
}

HOST_TEST(becomes_keep) {
        Instance *i = widened(h);

        h->policy.on_full = ON_FULL_KEEP;
        (void)guard_tick(&h->rooms.binding, SEC(2));
        assert_true(id_set_is_empty(&i->binding.guard.extra));
        assert_int_equal(i->binding.due_usec, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

/* --- and back --- */

/* A growth that was to fill the node in seconds, and ended: it returns soon, and what is said of it
 * is true each time. */
HOST_TEST(foreseen_and_ended) {
        Instance *i = add(h, 10, "1");

        for (unsigned s = 1; s <= 11; s++) {
                set_memory(h, 1, 820 - 40 * s, 0);
                (void)guard_tick(&h->rooms.binding, SEC(s));
        }
        observe_applied(h, i);
        assert_true(i->binding.guard.widened && i->binding.guard.foreseen);
        assert_int_equal(i->binding.guard.why, REASON_NODE_FILLING);
        (void)host_take(&h->rooms.host, HOST_WORK_PUBLISH);
        ticks(h, 12, 14);
        assert_int_equal(i->binding.guard.why, REASON_NODE_FREED);
        assert_true(host_take(&h->rooms.host, HOST_WORK_PUBLISH));
        ticks(h, 15, 26);
        assert_false(id_set_is_empty(&i->binding.guard.extra));
        ticks(h, 27, 27);
        assert_true(id_set_is_empty(&i->binding.guard.extra));
}

/* It was full after all: then a minute. */
HOST_TEST(foreseen_and_full) {
        Instance *i = add(h, 10, "1");

        for (unsigned s = 1; s <= 11; s++) {
                set_memory(h, 1, 820 - 40 * s, 0);
                (void)guard_tick(&h->rooms.binding, SEC(s));
        }
        observe_applied(h, i);
        set_memory(h, 1, 10, 0);
        ticks(h, 12, 12);
        assert_int_equal(i->binding.guard.why, REASON_NODE_FULL);
        set_memory(h, 1, 500, 0);
        ticks(h, 13, 72);
        assert_int_equal(i->binding.guard.why, REASON_NODE_FREED);
        assert_false(id_set_is_empty(&i->binding.guard.extra));
        ticks(h, 73, 73);
        assert_true(id_set_is_empty(&i->binding.guard.extra));
}

HOST_TEST(narrows_again) {
        Instance *i = add(h, 10, "1");

        set_memory(h, 1, 5, 0);
        seen.forbidden = node_set("0");
        (void)guard_tick(&h->rooms.binding, SEC(1));
        observe_applied(h, i);
        set_memory(h, 1, 39, 0); /* more than the headroom, and less than twice */
        ticks(h, 2, 200);
        assert_ids(i->binding.guard.extra, "2");
        set_memory(h, 1, 40, 0);
        ticks(h, 201, 260);
        assert_ids(i->binding.guard.extra, "2");
        assert_int_equal(i->binding.due_usec, INSTANCE_NEVER);
        i->binding.rest_until_usec = SEC(999);
        (void)guard_tick(&h->rooms.binding, SEC(261));
        assert_ids(i->binding.guard.extra, "");
        assert_ids(i->binding.guard.blocked, "");
        assert_int_equal(i->binding.due_usec, SEC(261));
        assert_int_equal(i->binding.rest_until_usec, 0); /* the pull is not put off */
        /* Until the steps have narrowed it, it is wide, and watched as such. */
        assert_true(i->binding.guard.widened && i->binding.guard.watched);
        i->binding.observed.mems = node_set("1-2");
        guard_note(&h->rooms.binding, i);
        assert_true(i->binding.guard.widened && i->binding.guard.watched);
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(262));
        assert_int_equal(i->binding.guard.n_widenings, 1); /* the other one has room */
        i->binding.observed.mems = node_set("1");
        guard_note(&h->rooms.binding, i);
        assert_false(i->binding.guard.widened);
        assert_int_equal(i->binding.guard.n_widenings, 1);
        assert_int_equal(guard_margin_bytes(&h->rooms.binding, i), 0);
}

/* A new shortage while it is widened: its minute starts again, and it keeps its nodes. */
HOST_TEST(rest_is_disturbed) {
        Instance *i = widened(h);

        set_memory(h, 1, 500, 0);
        ticks(h, 2, 50);
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(51));
        set_memory(h, 1, 500, 0);
        ticks(h, 52, 111);
        assert_false(id_set_is_empty(&i->binding.guard.extra));
        (void)guard_tick(&h->rooms.binding, SEC(112));
        assert_true(id_set_is_empty(&i->binding.guard.extra));
}

/* On a host of two nodes it then has all of them, and must come back from there too. */
HOST_TEST(all_nodes_there_are) {
        Instance *i;

        h->nodes[2].memory_bytes = h->nodes[3].memory_bytes = 0;
        i = add(h, 10, "1");
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        assert_ids(seen.widened, "0-1");
        observe_applied(h, i);
        set_memory(h, 1, 500, 0);
        for (unsigned s = 2; s <= 62; s++)
                assert_int_equal(guard_tick(&h->rooms.binding, SEC(s)), GUARD_INTERVAL_USEC);
        assert_true(id_set_is_empty(&i->binding.guard.extra));
}

/* What the mover may take on the way back: as much as the guard counts. */
HOST_TEST(room_on_the_way_back) {
        Instance *i = add(h, 10, "1");
        NodeRoom *rooms;
        size_t n;

        fake_write(&h->tree, "sys/devices/system/node/node1/meminfo",
                   "Node 1 MemTotal: 1024000 kB\nNode 1 MemFree: 1024 kB\n"
                   "Node 1 Active(file): 4096 kB\nNode 1 Inactive(file): 3072 kB\n"
                   "Node 1 Dirty: 1024 kB\n");
        assert_int_equal(room_of(&h->rooms.placing, i, &rooms, &n), 0);
        assert_int_equal(n, 1);
        assert_int_equal(rooms[0].reclaimable_bytes, MIB(2));
        free(rooms);
        i->binding.guard.widened = true;
        assert_int_equal(room_of(&h->rooms.placing, i, &rooms, &n), 0);
        assert_int_equal(rooms[0].reclaimable_bytes, MIB(4));
        free(rooms);
        assert_int_equal(room_on(&h->rooms.placing, &i->binding.placement.nodes, NULL, &rooms, &n),
                         0);
        assert_int_equal(rooms[0].reclaimable_bytes, MIB(2));
        free(rooms);
}

HOST_TEST(forget) {
        Instance *i = add(h, 10, "1");

        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        binding_end_widening(i);
        assert_true(id_set_is_empty(&i->binding.guard.extra) && !i->binding.guard.widened &&
                    !i->binding.guard.watched);
        assert_int_equal(i->binding.guard.n_widenings, 1);
}
