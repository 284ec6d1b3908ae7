/* Scopes of ours: whether there may be one, and how processes come into it. */
#include "scope-host.h"

static int start(Host *h) {
        sd_bus_slot *slot = NULL;

        return scope_start(&h->backend, &h->target, h->record, on_reply, h, &slot);
}

static void note_all(Host *h) {
        assert_int_equal(note(h), 0);
        bus.read_reply(0, &bus.unit, bus.read_userdata);
        assert_int_equal(h->replied, 0);
        assert_int_equal(note(h), 1);
}

/* --- whether --- */

static void assert_refused(Host *h, const char *cgroup, const char *in_reason) {
        const char *reason;
        Reason code;

        h->processes[0].cgroup = (char *)cgroup;
        reason = scope_refuses(&h->tree.sysroot, &h->target, &code);
        assert_int_equal(code, !in_reason ? REASON_NONE
                               : strstr(in_reason, "does not run in a unit") ||
                                               strstr(in_reason, "a user's own manager")
                                       ? REASON_NO_UNIT
                                       : REASON_SHARED_UNIT);
        if (!in_reason)
                assert_null(reason);
        else if (!reason || !strstr(reason, in_reason))
                fail_msg("%s: '%s' does not say '%s'", cgroup ? cgroup : "none",
                         reason ? reason : "nothing", in_reason);
}

TEST(where_it_may_run) {
        _cleanup_host_ Host h;

        host_init(&h);
        assert_refused(&h, HOME, NULL);
        assert_refused(&h, "/a.scope", NULL);
        assert_refused(&h, "/system.slice/run-r1.scope", NULL);
        assert_refused(&h, NULL, "does not run in a unit");
        assert_refused(&h, "/", "does not run in a unit");
        assert_refused(&h, "/init.scope", "does not run in a unit");
        assert_refused(&h, "/system.slice", "does not run in a unit");
        assert_refused(&h, "/user.slice/user-7.slice/user@7.service/app.slice/a.scope",
                       "a user's own manager");
        assert_refused(&h, "/system.slice/a.service", "share its unit");
        assert_refused(&h, "/system.slice/a.service/b.scope", "below its unit");
        assert_refused(&h, "/machine.slice/libpod-1.scope/container", "below its unit");
        assert_refused(&h, "/lxc/1", "below its unit");
        h.processes[0].foreign = FOREIGN_PID;
        assert_refused(&h, HOME, "in a container");
}

TEST(all_in_one_place) {
        _cleanup_host_ Host h;

        host_init(&h);
        h.target.n_processes = 2;
        assert_refused(&h, HOME, NULL);
        assert_refused(&h, "/b.scope", "in several cgroups");
        h.processes[1].scope = (char *)NAME; /* it is there already: nothing is asked of it */
        assert_refused(&h, "/b.scope", NULL);
        h.processes[0].scope = (char *)NAME;
        assert_refused(&h, "/system.slice/a.service", NULL);
}

TEST(limits_stay) {
        static const char *const free[][2] = {
                { "memory.max", "max\n" }, { "memory.low", "0\n" }, { "cpu.max", "max 100000\n" },
                { "cpu.weight", "100\n" }, { "cpuset.cpus", "\n" }, { "io.max", "" },
        };
        static const char *const held[][2] = {
                { "memory.max", "1073741824\n" }, { "memory.high", "1048576\n" },
                { "memory.low", "4096\n" },       { "memory.min", "4096\n" },
                { "memory.swap.max", "0\n" },     { "cpu.max", "50000 100000\n" },
                { "cpu.weight", "50\n" },         { "io.max", "8:0 rbps=1 wbps=max\n" },
                { "cpuset.cpus", "0-3\n" },       { "cpuset.mems", "1\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(held); i++) {
                _cleanup_host_ Host h;
                char path[256];

                host_init(&h);
                for (size_t k = 0; k < ELEMENTSOF(free); k++) {
                        (void)snprintf(path, sizeof(path), "sys/fs/cgroup" HOME "/%s", free[k][0]);
                        fake_write(&h.tree, path, free[k][1]);
                }
                assert_refused(&h, HOME, NULL);
                (void)snprintf(path, sizeof(path), "sys/fs/cgroup" HOME "/%s", held[i][0]);
                fake_write(&h.tree, path, held[i][1]);
                assert_refused(&h, HOME, "limits of its own");
        }
}

TEST(by_its_record) {
        _cleanup_host_ Host h;
        Reason code;

        host_init(&h);
        assert_null(scope_refuses_by(h.record, &h.target, &code));
        h.record->former = (UndoFormer){ .known = true, .delegated = true };
        assert_non_null(strstr(scope_refuses_by(h.record, &h.target, &code), "delegated"));
        assert_int_equal(code, REASON_SHARED_UNIT);
        h.record->former.delegated = false;
        assert_int_equal(undo_record_set_scope(h.record, NAME, HOME), 0);
        assert_null(scope_refuses_by(h.record, &h.target, &code));
        h.processes[0].cgroup = (char *)"/b.scope";
        assert_non_null(strstr(scope_refuses_by(h.record, &h.target, &code), "something else"));
        assert_int_equal(code, REASON_CONTESTED);
        h.processes[0].scope = (char *)NAME;
        assert_null(scope_refuses_by(h.record, &h.target, &code));
}

/* --- there --- */

TEST(note_comes_before) {
        _cleanup_host_ Host h;

        host_init(&h);
        h.record->unit_noted = true; /* of another unit */
        assert_int_equal(note(&h), 0);
        assert_string_equal(bus.read, "session-3.scope");
        assert_null(h.record->scope);
        bus.read_reply(-ENOENT, NULL, bus.read_userdata);
        assert_int_equal(h.replied, -ENOENT);
        note_all(&h);
        assert_string_equal(h.record->scope, NAME);
        assert_string_equal(h.record->home, HOME);
        assert_string_equal(undo_record_unit(h.record), NAME);
        assert_true(h.record->stale);
        assert_false(h.record->unit_noted);
        assert_int_equal(h.record->n_processes, 1);
        assert_int_equal(bus.n_starts, 0);
        assert_int_equal(kernel.n_writes, 0);
}

TEST(note_needs_the_bus) {
        _cleanup_host_ Host h;

        host_init(&h);
        bus.error = -ECONNREFUSED;
        assert_int_equal(note(&h), -ECONNREFUSED);
        assert_null(h.record->scope);
}

/* A daemon that was killed after it had written the record asks for the same once more. */
TEST(name_stays) {
        _cleanup_host_ Host h;

        host_init(&h);
        assert_int_equal(undo_record_set_scope(h.record, "tidbnumad-a-1.scope", HOME), 0);
        note_all(&h);
        assert_string_equal(h.record->scope, "tidbnumad-a-1.scope");
}

TEST(names) {
        static const char *const names[][2] = {
                { "haproxy:80", "tidbnumad-haproxy:80-1050.scope" },
                { "a b@c/d", "tidbnumad-a\\x20b\\x40c\\x2fd-1050.scope" },
                { "a\\x20b", "tidbnumad-a\\x5cx20b-1050.scope" },
                { "\xc3\xa4.b_c", "tidbnumad-\\xc3\\xa4.b_c-1050.scope" },
        };
        char longest[300];

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                h.target.instance = names[i][0];
                note_all(&h);
                assert_string_equal(h.record->scope, names[i][1]);
                assert_true(unit_is_own_scope(h.record->scope));
        }
        memset(longest, 'a', sizeof(longest) - 1);
        for (size_t length = 230; length < sizeof(longest); length++) {
                _cleanup_host_ Host h;
                int r;

                host_init(&h);
                longest[length] = '\0';
                h.target.instance = longest;
                h.record->former.known = true;
                r = note(&h);
                assert_int_equal(r, length + 21 <= 255 ? 1 : -ENAMETOOLONG);
                longest[length] = 'a';
        }
}

TEST(systemd_is_asked) {
        _cleanup_host_ Host h;

        host_init(&h);
        h.target.n_processes = 2;
        note_all(&h);
        assert_int_equal(start(&h), 0);
        assert_int_equal(bus.n_starts, 1);
        assert_string_equal(bus.name, NAME);
        assert_string_equal(bus.slice, "user-7.slice");
        assert_string_equal(bus.part_of, "session-3.scope");
        assert_true(bus.scope.send_sighup);
        assert_false(bus.scope.has_oom_policy);
        assert_int_equal(bus.scope.stop_timeout_usec, 77);
        assert_int_equal(bus.scope.n_pids, 2);
        assert_int_equal(bus.pids[0], 50);
        assert_int_equal(bus.pids[1], 51);
        h.processes[0].scope = (char *)NAME;
        bus.unit.oom_policy = "stop";
        h.record->former.known = false;
        note_all(&h);
        assert_int_equal(start(&h), 0);
        assert_true(bus.scope.has_oom_policy);
        assert_int_equal(bus.scope.n_pids, 1);
        assert_int_equal(bus.pids[0], 51);
        bus.error = -ENOTCONN;
        assert_int_equal(start(&h), -ENOTCONN);
}

TEST(slices) {
        static const char *const slices[][2] = {
                { "/a.scope", "-.slice" },
                { "/system.slice/a.scope", "system.slice" },
                { "/a.slice/a-b.slice/a-b-c.slice/d.scope", "a-b-c.slice" },
        };

        for (size_t i = 0; i < ELEMENTSOF(slices); i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                h.processes[0].cgroup = (char *)slices[i][0];
                note_all(&h);
                assert_int_equal(start(&h), 0);
                assert_string_equal(bus.slice, slices[i][1]);
        }
}

/* The scope is there: the kernel is enough. */
TEST(one_that_comes_later_joins) {
        _cleanup_host_ Host h;
        char text[256];

        host_init(&h);
        write_procs(SCOPE, "51\n");
        h.target.n_processes = 2;
        h.processes[1].scope = (char *)NAME;
        note_all(&h);
        assert_int_equal(start(&h), 1);
        assert_int_equal(bus.n_starts, 0);
        assert_string_equal(read_procs(SCOPE, text), "51\n50");
        assert_string_equal(read_procs(HOME, text), "40");
        kernel.error = -EACCES;
        assert_int_equal(start(&h), -EACCES);
}

/* What stands in a scope whose record was lost is ours, and nothing of it is to come back. */
TEST(what_stands_in_a_scope_is_ours) {
        const BusUnit unit = { .group = HOME, .cpus = ids("2"), .mems = ids("1") };
        const BusUnit bare = { .group = HOME };
        const IdSet cpus = ids("2"), mems = ids("1");
        _cleanup_host_ Host h;

        host_init(&h);
        fake_write(&h.tree, "sys/fs/cgroup" HOME "/cpuset.cpus", "2");
        fake_write(&h.tree, "sys/fs/cgroup" HOME "/cpuset.mems", "1");
        fake_write(&h.tree, "sys/fs/cgroup" HOME "/cpuset.cpus.effective", "2");
        fake_write(&h.tree, "sys/fs/cgroup" HOME "/cpuset.mems.effective", "1");
        assert_int_equal(undo_record_set_scope(h.record, NAME, SCOPE), 0);
        undo_note_unit(&h.tree.sysroot, h.record, &bare);
        assert_true(h.record->unit_noted);
        assert_false(undo_record_has_unit(h.record));
        undo_note_unit(&h.tree.sysroot, h.record, &unit);
        assert_true(undo_values_have(&h.record->cpus.ours, &cpus));
        assert_true(undo_values_have(&h.record->mems.ours, &mems));
        assert_ids(h.record->cpus.before, "");
        assert_ids(h.record->mems.before, "");
        assert_false(h.record->files.known);
}
