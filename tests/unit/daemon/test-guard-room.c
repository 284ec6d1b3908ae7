/* The guard: what is room, and on which nodes. */
#include "../change/set-before.h"
#include "guard-host.h"

HOST_TEST(reserved_nodes) {
        h->rooms.placing.reserved = node_set("0,2");
        (void)add(h, 10, "1");
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        assert_ids(seen.widened, "1,3");
        set_memory(h, 3, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(2));
        assert_ids(seen.widened, "0-1,3");
        h->rooms.host.policies.host.reserve.strict = true;
        set_memory(h, 0, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(3));
        assert_int_equal(seen.n_widened, 2);
}

/* The unit has limits of its own, and its group has others. */
HOST_TEST(nodes_that_the_unit_does_not_name) {
        UndoRecord *record;
        Instance *i;

        h->rooms.host.backend.ops = &systemd_ops;
        i = add(h, 10, "1");
        i->binding.we_narrowed = true;
        assert_non_null(i->unit = strdup("x.service"));
        guard_note(&h->rooms.binding, i);
        assert_int_equal(undo_get(&h->rooms.undo.records, "x", "x.service", NULL, &record), 0);
        undo_adopt(&h->rooms.undo, i);
        record->cpus.noted = record->mems.noted = true;
        set_before(&record->mems, id_set("1,3"));
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(1));
        assert_ids(seen.widened, "1,3"); /* 0 and 2 are nearer */
        set_memory(h, 3, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(2));
        assert_int_equal(seen.n_widened, 1);
}

HOST_TEST(a_node_that_cannot_be_read) {
        (void)add(h, 10, "1");
        set_memory(h, 1, 5, 0);
        fake_remove(&h->tree, "sys/devices/system/node/node1/meminfo");
        assert_int_equal(guard_tick(&h->rooms.binding, SEC(1)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 0);
        /* Nor is what was read before it could not. */
        for (unsigned n = 0; n < NODES; n++)
                set_memory(h, n, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(2));
        fake_remove(&h->tree, "sys/devices/system/node/node1/meminfo");
        set_memory(h, 0, 500, 0);
        (void)guard_tick(&h->rooms.binding, SEC(3));
        assert_int_equal(seen.n_widened, 0);
}

HOST_TEST(cache_is_room) {
        (void)add(h, 10, "1");
        set_memory(h, 1, 5, 700);
        for (unsigned s = 1; s <= 100; s++)
                assert_int_equal(guard_tick(&h->rooms.binding, SEC(s)), GUARD_INTERVAL_USEC);
        assert_int_equal(seen.n_widened, 0);
        /* On the nodes to choose from as well. */
        set_memory(h, 0, 5, 0);
        set_memory(h, 2, 5, 300);
        set_memory(h, 3, 700, 0);
        set_memory(h, 1, 5, 0);
        (void)guard_tick(&h->rooms.binding, SEC(200)); /* nothing is known of how it came so far */
        assert_ids(seen.widened, "1-2");
}

/* Cache that waits for a disk is none. */
TEST(dirty_cache_is_no_room) {
        static const char *const fields[] = { "Dirty", "Writeback" };

        for (size_t k = 0; k < ELEMENTSOF(fields); k++) {
                _cleanup_host_ TestHost h;
                char text[256];

                host_init(&h);
                (void)add(&h, 10, "1");
                (void)snprintf(text, sizeof(text),
                               "Node 1 MemTotal: 1024000 kB\nNode 1 MemFree: 5120 kB\n"
                               "Node 1 Inactive(file): 512000 kB\nNode 1 %s: 502000 kB\n",
                               fields[k]);
                fake_write(&h.tree, "sys/devices/system/node/node1/meminfo", text);
                (void)guard_tick(&h.rooms.binding, SEC(1));
                assert_int_equal(seen.n_widened, 1);
        }
}

HOST_TEST(what_the_mover_brings) {
        Instance *one, *other;

        one = add(h, 10, "1");
        one->binding.state = INSTANCE_MOVING;
        other = add(h, 20, "1");
        other->binding.state = INSTANCE_MOVING;
        for (unsigned s = 1; s <= 8; s++) {
                set_memory(h, 1, 500 - 50 * s, 0);
                assert_int_equal(guard_tick(&h->rooms.binding, SEC(s)), GUARD_INTERVAL_USEC);
        }
        assert_int_equal(seen.n_widened, 0);
        one->binding.state = INSTANCE_BOUND;
        other->binding.placement.nodes = node_set("2"); /* not there */
        for (unsigned s = 9; s <= 13; s++) {
                set_memory(h, 1, 100 - 10 * (s - 8), 0);
                (void)guard_tick(&h->rooms.binding, SEC(s));
        }
        assert_true(seen.n_widened > 0);
}

/* A mover that goes slowly, so as not to stall its owner, has not brought all that is gone. */
HOST_TEST(what_a_slow_mover_brings) {
        Instance *i = add(h, 10, "1");

        i->binding.state = INSTANCE_MOVING;
        i->binding.migration.pace.shift = PACE_SHIFT_MAX;
        for (unsigned s = 1; s <= 5; s++) {
                set_memory(h, 1, 250 - 30 * s, 0);
                (void)guard_tick(&h->rooms.binding, SEC(s));
        }
        assert_true(seen.n_widened > 0);
}
