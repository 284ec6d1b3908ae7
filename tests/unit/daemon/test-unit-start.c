/* How a prepared start went: what is taken back, and what is not. The clock and the script are the
 * test's. */
#include "../../support/test.h"

#include <string.h>

#include "../../support/id-sets.h"
#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/units/units.h"

#define SECOND UINT64_C(1000000)

static uint64_t now_usec;
static int script_error;
static const char *script;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return now_usec;
}

int __wrap_worker_read_script(Workers *workers, const Sysroot *sysroot, const char *path, bool any,
                              char **ret);
int __wrap_worker_read_script(_unused_ Workers *workers, _unused_ const Sysroot *sysroot,
                              const char *path, bool any, char **ret) {
        assert_false(any);
        if (strcmp(path, "/run.sh") != 0)
                return -ENOEXEC;
        if (script_error < 0)
                return script_error;
        *ret = strdup(script);
        return 0;
}

static unsigned n_forgotten;

void __wrap_worker_forget_script(Workers *workers, const Sysroot *sysroot, const char *path);
void __wrap_worker_forget_script(_unused_ Workers *workers, _unused_ const Sysroot *sysroot,
                                 _unused_ const char *path) {
        n_forgotten++;
}

typedef struct Scene {
        Rooms rooms;
        Unit unit;
        BusUnit read;
        IdSet cpus;
        UndoRecord record, *records;
} Scene;

/* The unit has CPUs of ours, or none. */
static void set_ours(Scene *s, bool ours) {
        s->cpus = id_set("2");
        s->record = (UndoRecord){ .unit = s->unit.place.name,
                                  .cpus = { .noted = true,
                                            .ours = { .values = &s->cpus, .n = ours } } };
        s->records = &s->record;
        s->rooms.undo.records.records = &s->records;
        s->rooms.undo.records.n_records = 1;
}

static void scene_init(Scene *s) {
        now_usec = 1000 * SECOND;
        rooms_init(&s->rooms);
        s->unit = (Unit){ .units = &s->rooms.units, .place.name = (char *)"x.service" };
        s->unit.place.known = s->unit.place.loaded = true;
        set_ours(s, true);
        s->read = (BusUnit){ .active_state = "inactive", .fragment = "", .numa_policy = -1 };
        s->unit.begun_usec = s->read.begun_usec = 500 * SECOND;
}

static bool signals(Scene *s, const char *state) {
        return unit_start_note_state(&s->unit, state);
}

/* `changed`: it was started, or waits for a restart, since then. */
static bool reads(Scene *s, const char *state, bool changed) {
        s->read.active_state = state;
        if (changed)
                s->read.begun_usec = now_usec;
        return unit_start_note_read(&s->unit, &s->read);
}

TEST(fails_soon) {
        static const char *const ends[] = { "failed", "auto-restart" };

        for (size_t i = 0; i < ELEMENTSOF(ends); i++) {
                Scene s;

                scene_init(&s);
                assert_false(signals(&s, "active"));
                assert_true(unit_start_is_watched(&s.unit));
                now_usec += 59 * SECOND;
                assert_true(signals(&s, ends[i]));
                assert_false(reads(&s, ends[i], true)); /* told once */
        }
}

/* Nobody saw it start: one signal tells of both. */
TEST(fails_at_once) {
        static const char *const ends[] = { "failed", "auto-restart" };

        for (size_t i = 0; i < ELEMENTSOF(ends); i++) {
                Scene s;

                scene_init(&s);
                assert_false(signals(&s, ends[i]));
                assert_true(reads(&s, ends[i], true));
                assert_false(reads(&s, ends[i], false));
        }
}

/* It ran for long: its preparation is not what ended it. */
TEST(fails_late) {
        static const char *const ends[] = { "failed", "auto-restart" };

        for (size_t i = 0; i < ELEMENTSOF(ends); i++) {
                Scene s;

                scene_init(&s);
                assert_false(signals(&s, "active"));
                now_usec += 61 * SECOND;
                assert_false(unit_start_is_watched(&s.unit));
                assert_false(signals(&s, ends[i]));
                assert_false(reads(&s, ends[i], true));
                assert_false(signals(&s, ends[i])); /* a property has changed, not its state */
                assert_false(reads(&s, ends[i], false));
                assert_false(signals(&s, "active"));
                s.read.n_restarts = i; /* systemd counts the restart now */
                assert_false(reads(&s, "active", true));
        }
}

/* As systemd 252 tells it: each state with a signal of its own, and the unit is read in between. */
TEST(fails_late_and_restarts) {
        Scene s;

        scene_init(&s);
        assert_false(signals(&s, "active"));
        now_usec += 61 * SECOND;
        assert_false(signals(&s, "failed"));
        assert_false(reads(&s, "auto-restart", true));
        assert_false(signals(&s, "auto-restart"));
        assert_false(reads(&s, "auto-restart", false));
        now_usec += SECOND;
        assert_false(signals(&s, "inactive"));
        assert_false(signals(&s, "active"));
        s.read.n_restarts = 1;
        assert_false(reads(&s, "active", true));
        now_usec += SECOND;
        assert_true(signals(&s, "failed")); /* the next start fails */
}

/* With `RestartSec=0` no state in between is seen. */
TEST(restarts_unseen) {
        Scene s;

        scene_init(&s);
        assert_false(signals(&s, "active"));
        assert_false(reads(&s, "active", true));
        now_usec += SECOND;
        s.read.n_restarts = 1;
        assert_false(signals(&s, "active"));
        assert_true(reads(&s, "active", true));
        assert_false(reads(&s, "active", false));
}

/* What the daemon finds when it starts says nothing of what was prepared. */
TEST(found_so) {
        Scene s;

        scene_init(&s);
        s.unit.place.known = false;
        s.read.n_restarts = 3;
        assert_false(reads(&s, "failed", true));
        s.unit.place.known = true;
        assert_false(reads(&s, "failed", false));
        scene_init(&s);
        s.unit.place.known = false;
        s.read.active_usec = 10 * SECOND; /* it has run for long */
        assert_false(reads(&s, "active", true));
        s.unit.place.known = true;
        assert_false(signals(&s, "failed"));
}

TEST(stopped_or_not_ours) {
        Scene s;

        scene_init(&s);
        assert_false(signals(&s, "active"));
        assert_false(signals(&s, "inactive"));
        assert_false(reads(&s, "inactive", true));
        scene_init(&s);
        set_ours(&s, false);
        assert_false(signals(&s, "active"));
        assert_false(signals(&s, "failed"));
}

/* One that fails without values of ours as well does so by itself. */
TEST(fails_without_ours_too) {
        Scene s;

        scene_init(&s);
        s.unit.start_refused = "a test";
        s.unit.start_failed_again = true;
        set_ours(&s, false);
        assert_false(signals(&s, "active"));
        set_ours(&s, true); /* it was bound while it ran */
        now_usec += SECOND;
        assert_true(unit_start_is_watched(&s.unit));
        assert_false(signals(&s, "failed"));
        assert_null(s.unit.start_refused);
        assert_false(s.unit.start_failed_again);
        assert_false(reads(&s, "auto-restart", true));

        assert_false(signals(&s, "active")); /* with these values */
        now_usec += SECOND;
        assert_true(signals(&s, "failed"));
}

/* What was revoked once is watched still, for it is bound while it runs. */
TEST(fails_again) {
        Capture log;
        Scene s;

        scene_init(&s);
        s.rooms.host.journal.max_priority = LOG_WARNING;
        assert_false(signals(&s, "active"));
        assert_true(signals(&s, "failed"));
        CAPTURE_STDERR(&log, unit_start_revoke(&s.unit));
        assert_contains(log.text, "; see journalctl -u x.service; a change of the unit, ");
        assert_false(s.unit.start_failed_again);
        assert_false(signals(&s, "active"));
        assert_true(signals(&s, "failed"));
        unit_start_revoke(&s.unit);
        assert_true(s.unit.start_failed_again);
        unit_start_forgive(&s.unit);
        assert_null(s.unit.start_refused);
        assert_false(s.unit.start_failed_again);
        undo_release_done(&s.rooms.undo);
}

/* A revocation ends with a change of what starts the unit, and not because its script is silent for
 * a moment. */
TEST(script_that_changes) {
        const NodeSet mems = node_set("0");
        const CpuSet cpus = cpu_set("0-3");
        const Policy policy = { .name = (char *)"p" };
        Instance *i;
        bool alone;
        Scene s;

        scene_init(&s);
        s.read.exec[0] = "/bin/bash";
        s.read.exec[1] = "-c";
        s.read.exec[2] = "/run.sh";
        s.read.n_exec = 3;
        script = "#!/bin/sh\nexec numactl -m 1 x\n";
        script_error = -ETIME;
        unit_start_note(&s.unit, &s.read);
        assert_true(s.unit.start_unread);
        assert_non_null(unit_start_refuses(&s.unit, &cpus, &mems, &alone)); /* in doubt not */
        script_error = 0;
        i = rooms_add(&s.rooms, &policy,
                      &(Process){ .id = { 7, 1 },
                                  .exe = strdup("/x"),
                                  .unit = strdup(s.unit.place.name) },
                      NULL);
        i->work = 0;
        unit_start_note(&s.unit, &s.read);
        assert_false(s.unit.start_unread);
        assert_true(i->work & WORK_ADMIN); /* it was bound as by the doubt */
        assert_non_null(unit_start_refuses(&s.unit, &cpus, &mems, &alone));
        script = "#!/bin/sh\nexec x\n";
        unit_start_note(&s.unit, &s.read);
        assert_null(unit_start_refuses(&s.unit, &cpus, &mems, &alone));
        s.unit.start_refused = "a test";
        unit_start_note(&s.unit, &s.read);
        assert_string_equal(unit_start_refuses(&s.unit, &cpus, &mems, &alone), "a test");
        script_error = -ETIME;
        unit_start_note(&s.unit, &s.read);
        assert_string_equal(unit_start_refuses(&s.unit, &cpus, &mems, &alone), "a test");
        script_error = 0;
        script = "#!/bin/sh\nexec y\n";
        unit_start_note(&s.unit, &s.read);
        assert_null(unit_start_refuses(&s.unit, &cpus, &mems, &alone));
        rooms_free_instances(&s.rooms);
}
