/* A unit that does not run: what it is given before its start, and what it gets back. systemd and
 * the clock are the test's. */
#include "../../support/test.h"

#include "rooms.h"

#define SECOND UINT64_C(1000000)

static struct {
        uint64_t now[N_UNIT_PROPERTIES]; /* the first word of each; UINT64_MAX: MemoryMax= is not
                                            set */
        unsigned n_writes;
        BusUnitsReply reply; /* of the write in flight */
        void *userdata;
        uint64_t clock_usec;
} systemd;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return systemd.clock_usec;
}

/* The answer comes when the test says so. */
int __wrap_bus_manager_read_unit(sd_bus *bus, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot);
int __wrap_bus_manager_read_unit(_unused_ sd_bus *bus, _unused_ const char *unit,
                                 _unused_ BusUnitReply reply, _unused_ void *userdata,
                                 _unused_ sd_bus_slot **ret_slot) {
        return 0;
}

int __wrap_unit_set_properties(sd_bus *bus, const char *unit,
                               const IdView values[N_UNIT_PROPERTIES], BusUnitsReply reply,
                               void *userdata, sd_bus_slot **ret_slot);
int __wrap_unit_set_properties(_unused_ sd_bus *bus, const char *unit,
                               const IdView values[N_UNIT_PROPERTIES], BusUnitsReply reply,
                               void *userdata, _unused_ sd_bus_slot **ret_slot) {
        assert_string_equal(unit, "tikv.service");
        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                if (values[i].n_words > 0)
                        systemd.now[i] = values[i].words[0];
        systemd.n_writes++;
        systemd.reply = reply;
        systemd.userdata = userdata;
        return 0;
}

typedef struct World {
        FakeTree tree;
        Args args;
        Rooms rooms;
        Policy policy;
        Unit *unit;
} World;

/* It is idle, and has what systemd has. */
static void read_it(World *w) {
        const uint64_t limit = systemd.now[UNIT_LIMIT] ? systemd.now[UNIT_LIMIT] : UINT64_MAX;

        for (size_t i = 0; i < N_UNIT_PROPERTIES; i++)
                id_view_convert(i == UNIT_LIMIT ? UNIT_BYTES(&limit)
                                                : (IdView){ &systemd.now[i], 1 },
                                ID_TARGET(&w->unit->place.now[i]));
        w->unit->place.known = w->unit->place.loaded = w->unit->idle = true;
        w->unit->place.uid_known = true;
}

static void place(World *w, const char *cpus, uint64_t limit_bytes) {
        w->unit->place.planned = (Assignment){ .known = true,
                                               .placement = { .nodes = node_set(*cpus ? "1" : ""),
                                                              .cpus = cpu_set(cpus),
                                                              .memory = MEMORY_NONE,
                                                              .reason = "" },
                                               .limit_bytes = limit_bytes };
}

static void init(World *w) {
        *w = (World){ .policy = { .match.unit = (char *)"tikv.service", .name = (char *)"p" } };
        memset(&systemd, 0, sizeof(systemd));
        systemd.clock_usec = 1000 * SECOND;
        fake_init(&w->tree);
        w->rooms = (Rooms){ .host.args = &w->args,
                            .host.sysroot = w->tree.sysroot,
                            .host.journal = { .max_priority = -1 },
                            .host.policies = { .mode = ENFORCEMENT_ENFORCE,
                                               .policies = &w->policy,
                                               .n_policies = 1 } };
        rooms_wire(&w->rooms);
        w->rooms.host.sysroot.live = true;
        assert_int_equal(undo_open(&w->rooms.undo.records, w->tree.fd), 0);
        assert_int_equal(unit_new(&w->rooms.units, "tikv.service", &w->unit), 0);
}

static void done(World *w) {
        rooms_free_instances(&w->rooms);
        unit_free(w->unit);
        free(w->rooms.placing.units);
        undo_release_done(&w->rooms.undo);
        undo_done(&w->rooms.undo.records);
        fake_done(&w->tree);
}
#define WORLD_TEST(test) TEST_WITH(test, World, w, init, done)

/* How many writes that takes. */
static unsigned decide(World *w) {
        const unsigned n = systemd.n_writes;

        unit_decide(w->unit);
        if (systemd.n_writes > n)
                systemd.reply(&(Error){ 0 }, systemd.userdata);
        return systemd.n_writes - n;
}

static const UndoRecord *record(const World *w) {
        return undo_of_unit(&w->rooms.undo, "tikv.service");
}

WORLD_TEST(prepared_and_given_back) {
        read_it(w);
        place(w, "2-3", 0);
        assert_int_equal(decide(w), 1);
        assert_int_equal(systemd.now[UNIT_CPUS], 0xc);
        assert_true(unit_is_prepared(w->unit));
        assert_int_equal(decide(w), 0);
        place(w, "0-1", 0);
        assert_int_equal(decide(w), 1);
        assert_int_equal(systemd.now[UNIT_CPUS], 0x3);
        assert_string_equal(w->unit->state, "prepared");
        assert_string_equal(w->unit->reason, ""); /* not that it sets AllowedCPUs= itself */
        read_it(w);                               /* what is ours is not taken for the admin's */
        assert_int_equal(decide(w), 0);
        assert_id_view(undo_property_before(&record(w)->cpus), "");
        place(w, "", 0);
        assert_int_equal(decide(w), 0);
        assert_true(record(w)->releasing); /* the release writes it */
        assert_string_equal(w->rooms.undo.releases.list[0]->why,
                            "its policy prepares nothing for its start");
}

/* A part that is not wanted any more is as it was, while the rest stays. */
WORLD_TEST(limit_and_back) {
        systemd.now[UNIT_LIMIT] = 9000;
        read_it(w);
        place(w, "2-3", 5000);
        assert_int_equal(decide(w), 1);
        assert_int_equal(systemd.now[UNIT_LIMIT], 5000);
        assert_int_equal(unit_limit_of_ours(w->unit), 5000);
        place(w, "2-3", 0);
        assert_int_equal(decide(w), 1);
        assert_int_equal(systemd.now[UNIT_LIMIT], 9000);
        assert_int_equal(unit_limit_of_ours(w->unit), 0);
        assert_true(unit_is_prepared(w->unit));
        assert_int_equal(decide(w), 0);
}

/* A smaller limit of its own stays, and so do CPUs that it sets itself. */
WORLD_TEST(what_the_admin_has_set) {
        systemd.now[UNIT_LIMIT] = 4000;
        read_it(w);
        place(w, "", 5000);
        assert_int_equal(decide(w), 0);
        systemd.now[UNIT_CPUS] = 0x8;
        read_it(w);
        place(w, "2-3", 5000);
        assert_int_equal(decide(w), 0);
        assert_false(unit_is_prepared(w->unit));
        assert_null(record(w));
}

/* By an earlier daemon, as its record says. */
WORLD_TEST(found_prepared) {
        read_it(w);
        place(w, "2-3", 0);
        assert_int_equal(decide(w), 1);
        unit_free(w->unit);
        assert_int_equal(unit_new(&w->rooms.units, "tikv.service", &w->unit), 0);
        assert_false(unit_is_prepared(w->unit)); /* not read yet */
        read_it(w);
        place(w, "2-3", 0);
        assert_int_equal(decide(w), 0);
        assert_true(unit_is_prepared(w->unit));
}

/* What could not be set may have been set all the same. */
WORLD_TEST(write_fails) {
        read_it(w);
        place(w, "2-3", 0);
        unit_decide(w->unit);
        systemd.reply(&(Error){ -ETIMEDOUT, "late" }, systemd.userdata);
        assert_string_equal(w->unit->state, "failed");
        read_it(w);
        assert_int_equal(decide(w), 0);
        assert_true(unit_is_prepared(w->unit));
        assert_string_equal(w->unit->state, "prepared");
}

/* Whoever could not be prepared for a start has nothing to prepare once it runs. */
WORLD_TEST(write_fails_and_it_runs) {
        read_it(w);
        place(w, "2-3", 0);
        unit_decide(w->unit);
        systemd.reply(&(Error){ -ETIMEDOUT, "late" }, systemd.userdata);
        assert_int_equal(w->unit->code, REASON_NO_ANSWER);
        unit_set_state(w->unit, "active");
        assert_string_equal(w->unit->state, "running");
        assert_string_equal(w->unit->reason, "");
        assert_int_equal(w->unit->code, REASON_NONE);
}

/* --- it runs, and is not what its policy is about --- */

static bool is_released_after(World *w, uint64_t usec) {
        systemd.clock_usec += usec;
        unit_scan(w->unit);
        return record(w) && record(w)->releasing;
}

static void start_prepared(World *w) {
        read_it(w);
        place(w, "2-3", 0);
        assert_int_equal(decide(w), 1);
        assert_false(is_released_after(w, 1000 * SECOND)); /* it does not run */
        unit_set_state(w->unit, "active");
}

/* It has a minute, in which a script may come before the program. */
WORLD_TEST(a_minute_without_a_process_of_its_policy) {
        start_prepared(w);
        assert_false(is_released_after(w, 40 * SECOND));
        unit_set_state(w->unit, "active"); /* a property has changed, not its state */
        assert_false(is_released_after(w, 20 * SECOND - 1));
        assert_true(is_released_after(w, 1));
        assert_int_equal(decide(w), 0); /* it is not prepared again */
}

WORLD_TEST(a_minute_in_one_piece) {
        start_prepared(w);
        assert_false(is_released_after(w, 59 * SECOND));
        unit_set_state(w->unit, "deactivating");
        assert_false(is_released_after(w, 59 * SECOND));
        unit_set_state(w->unit, "active");
        assert_false(is_released_after(w, 60 * SECOND - 1));
        assert_true(is_released_after(w, 1));
}

/* While what its policy names runs in it. */
WORLD_TEST(a_process_of_its_policy) {
        Process process = { .id = { 10, 100 },
                            .exe = strdup("/x"),
                            .unit = strdup("tikv.service") };
        Instance *i;

        start_prepared(w);
        i = rooms_add(&w->rooms, &w->policy, &process, NULL);
        assert_false(is_released_after(w, 1000 * SECOND));
        registry_remove_process(&w->rooms.registry, i, 0);
        assert_true(is_released_after(w, 0));
}

/* Nothing of it is ours. */
WORLD_TEST(what_was_not_prepared_is_not_released) {
        start_prepared(w);
        undo_reset(&w->rooms.undo, undo_of_unit(&w->rooms.undo, "tikv.service"));
        assert_false(is_released_after(w, 1000 * SECOND));
        assert_string_not_equal(w->unit->state, "released");
}
