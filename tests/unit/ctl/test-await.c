/* What ends the waiting of pause, resume and release. */

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/ctl/await.h"

static WordList list_of(const char **word) {
        return (WordList){ .words = (char **)word, .n_words = 1 };
}

/* The policies were loaded at 1 before, and again at 2. */
TEST(each_command) {
        static const struct {
                Command command;
                bool undo, enforcing, load_failed;
                const char *state;
                bool done;
        } rows[] = {
                { COMMAND_PAUSE, .state = "paused", .done = true },
                { COMMAND_PAUSE, .enforcing = true, .state = "bound" },
                /* The files are refused, and the daemon has paused all the same. */
                { COMMAND_PAUSE, .load_failed = true, .state = "paused", .done = true },
                { COMMAND_PAUSE, .load_failed = true, .enforcing = true, .state = "bound" },
                { COMMAND_RESUME, .enforcing = true, .state = "bound", .done = true },
                { COMMAND_RESUME, .state = "paused" },
                { COMMAND_RELEASE, .enforcing = true, .state = "released", .done = true },
                { COMMAND_RELEASE, .enforcing = true, .state = "bound" },
                /* Paused: an explicit request acts. */
                { COMMAND_RELEASE, .state = "released", .done = true },
                { COMMAND_RELEASE, .state = "bound" },
                { COMMAND_RELEASE, .undo = true, .enforcing = true, .state = "bound",
                  .done = true },
                { COMMAND_RELEASE, .undo = true, .state = "paused", .done = true },
                { COMMAND_RELEASE, .undo = true, .enforcing = true, .state = "released" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *all = "*";
                const Args args = { .command = rows[i].command, .undo = rows[i].undo };
                const Await await = { .args = &args, .globs = list_of(&all), .loaded_before = 1 };
                StatusInstance instance = { .name = "tidb-4000", .state = rows[i].state };
                StatusFile status = { .enforcing = rows[i].enforcing,
                                      .load_failed = rows[i].load_failed,
                                      .load_seconds = 1,
                                      .instances = &instance,
                                      .n_instances = 1 };

                assert_false(await_is_done(&await, &status)); /* it has not read them yet */
                status.load_seconds = 2;
                assert_int_equal(await_is_done(&await, &status), rows[i].done);
        }
}

/* Only what the globs name counts, by name or unit. */
TEST(release_of_some) {
        const char *glob = "a-1.serv*", *other = "a-*";
        const WordList stays = list_of(&other);
        Args args = { .command = COMMAND_RELEASE };
        Await a = { .args = &args, .globs = list_of(&glob) };
        StatusInstance instances[] = {
                { .name = "a-1", .unit = "a-1.service", .state = "bound" },
                { .name = "b-1", .state = "partly" },
        };
        StatusDevice devices[] = { { .name = "eth0", .vectors = { [IRQ_STATE_STEERED] = 9 } },
                                   { .name = "eth1", .vectors = { [IRQ_STATE_STEERED] = 9 } } };
        StatusRelease release = { .name = "b-1", .unit = "b-1.service" };
        StatusFile s = {
                .enforcing = true, .load_seconds = 2, .instances = instances, .n_instances = 2
        };

        assert_false(await_is_done(&a, &s));
        instances[0].state = "released";
        assert_true(await_is_done(&a, &s)); /* whatever the others are */
        s.releases = &release;
        s.n_releases = 1;
        assert_true(await_is_done(&a, &s));
        release.unit = "a-1.service";
        assert_false(await_is_done(&a, &s));
        s.n_releases = 0;
        s.devices = devices;
        s.n_devices = 2;
        assert_true(await_is_done(&a, &s)); /* no device of that name */
        devices[1].name = "a-1.serv";
        assert_false(await_is_done(&a, &s));
        devices[1].vectors[IRQ_STATE_STEERED] = 0;
        assert_true(await_is_done(&a, &s));
        args.undo = true;
        devices[1].vectors[IRQ_STATE_STEERED] = 9; /* it is not waited for */
        assert_false(await_is_done(&a, &s));
        instances[0].state = "bound";
        assert_true(await_is_done(&a, &s));
        instances[0].state = "released";
        a.stays = &stays; /* another glob has it released all the same */
        assert_true(await_is_done(&a, &s));
        a.stays = NULL;
        instances[0].state = "binding";
        assert_true(await_is_done(&a, &s));
}
