/* What ends the waiting of pause, resume and release. */

#include "../../support/test.h"

#include "tidbnumad/ctl/await.h"

static const char *const all[] = { "*" };

/* The policies were loaded at 1 before, and again at 2. */
static bool is_done(Command command, bool undo, bool enforcing, const char *state) {
        const Args args = { .command = command, .undo = undo };
        const Await await = { .args = &args, .globs = all, .n_globs = 1, .loaded_before = 1 };
        StatusInstance instance = { .name = "tidb-4000", .state = state };
        const StatusFile status = {
                .enforcing = enforcing, .load_seconds = 2, .instances = &instance, .n_instances = 1
        };
        const StatusFile old = { .enforcing = enforcing, .load_seconds = 1 };

        assert_false(await_is_done(&await, &old));
        return await_is_done(&await, &status);
}

TEST(pause_and_resume) {
        assert_true(is_done(COMMAND_PAUSE, false, false, "paused"));
        assert_false(is_done(COMMAND_PAUSE, false, true, "bound"));
        assert_true(is_done(COMMAND_RESUME, false, true, "bound"));
        assert_false(is_done(COMMAND_RESUME, false, false, "paused"));
}

/* The files are refused, and the daemon has done it all the same. */
TEST(beside_broken_policies) {
        const Args args = { .command = COMMAND_PAUSE };
        const Await await = { .args = &args, .globs = all, .n_globs = 1, .loaded_before = 1 };
        StatusFile status = { .load_seconds = 2, .load_failed = true };

        assert_true(await_is_done(&await, &status));
        status.enforcing = true;
        assert_false(await_is_done(&await, &status));
}

TEST(release) {
        assert_true(is_done(COMMAND_RELEASE, false, true, "released"));
        assert_false(is_done(COMMAND_RELEASE, false, true, "bound"));
        /* Named, and still bound: nothing is given back before it goes on. */
        assert_false(is_done(COMMAND_RELEASE, false, false, "released"));
        assert_true(is_done(COMMAND_RELEASE, true, true, "bound"));
        assert_true(is_done(COMMAND_RELEASE, true, false, "paused"));
        assert_false(is_done(COMMAND_RELEASE, true, true, "released"));
}
