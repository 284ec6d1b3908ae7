/* Scopes of ours: how processes come into one. */
#include "scope-host.h"

HOST_TEST(note_comes_before) {
        h->record->cpus.noted = h->record->mems.noted = true; /* of another unit */
        assert_int_equal(note(h), 0);
        assert_string_equal(bus.read, "session-3.scope");
        assert_null(h->record->scope);
        bus.read_reply(-ENOENT, NULL, bus.read_userdata);
        assert_int_equal(h->replied, -ENOENT);
        note_all(h);
        assert_string_equal(h->record->scope, NAME);
        assert_string_equal(h->record->home, HOME);
        assert_string_equal(undo_record_unit(h->record), NAME);
        assert_true(h->record->stale);
        assert_false(h->record->cpus.noted);
        assert_int_equal(h->record->n_processes, 1);
        assert_int_equal(bus.n_starts, 0);
        assert_int_equal(kernel.n_writes, 0);
}

HOST_TEST(note_needs_the_bus) {
        bus.error = -ECONNREFUSED;
        assert_int_equal(note(h), -ECONNREFUSED);
        assert_null(h->record->scope);
}

/* A daemon that was killed after it had written the record asks for the same once more. */
HOST_TEST(name_stays) {
        assert_int_equal(undo_record_set_scope(h->record, "tidbnumad-a-1.scope", HOME), 0);
        note_all(h);
        assert_string_equal(h->record->scope, "tidbnumad-a-1.scope");
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
                h.record->former = (UndoFormer){ .known = true, .tasks_max = UINT64_MAX };
                r = note(&h);
                assert_int_equal(r, length + 21 <= 255 ? 1 : -ENAMETOOLONG);
                longest[length] = 'a';
        }
}

HOST_TEST(systemd_is_asked) {
        h->target.n_members = 2;
        note_all(h);
        assert_int_equal(start(h), 0);
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
        h->members[0].process.scope = (char *)NAME;
        bus.state.has_oom_policy = true;
        h->record->former.known = false;
        note_all(h);
        assert_int_equal(start(h), 0);
        assert_true(bus.scope.has_oom_policy);
        assert_int_equal(bus.scope.n_pids, 1);
        assert_int_equal(bus.pids[0], 51);
        bus.error = -ENOTCONN;
        assert_int_equal(start(h), -ENOTCONN);
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
                h.members[0].process.cgroup = (char *)slices[i][0];
                note_all(&h);
                assert_int_equal(start(&h), 0);
                assert_string_equal(bus.slice, slices[i][1]);
        }
}

/* The scope is there: the kernel is enough. */
HOST_TEST(one_that_comes_later_joins) {
        char text[256];

        write_procs(SCOPE, "51\n");
        h->target.n_members = 2;
        h->members[1].process.scope = (char *)NAME;
        note_all(h);
        assert_int_equal(start(h), 1);
        assert_int_equal(bus.n_starts, 0);
        assert_string_equal(read_procs(SCOPE, text), "51\n50");
        assert_string_equal(read_procs(HOME, text), "40");
        kernel.error = -EACCES;
        assert_int_equal(start(h), -EACCES);
}

/* Limits of a scope whose record was lost are the daemon's own, and are not restored. */
HOST_TEST(what_stands_in_a_scope_is_ours) {
        const BusUnit unit = { .group = HOME, .cpus = cpu_set("2"), .mems = node_set("1") };
        const BusUnit bare = { .group = HOME };

        fake_write(&h->tree, "sys/fs/cgroup" HOME "/cpuset.cpus", "2");
        fake_write(&h->tree, "sys/fs/cgroup" HOME "/cpuset.mems", "1");
        fake_write(&h->tree, "sys/fs/cgroup" HOME "/cpuset.cpus.effective", "2");
        fake_write(&h->tree, "sys/fs/cgroup" HOME "/cpuset.mems.effective", "1");
        assert_int_equal(undo_record_set_scope(h->record, NAME, SCOPE), 0);
        undo_note_unit(&h->tree.sysroot, h->record, &bare);
        assert_true(h->record->cpus.noted);
        assert_false(undo_record_has_unit(h->record));
        undo_note_unit(&h->tree.sysroot, h->record, &unit);
        assert_true(undo_values_have(&h->record->cpus.ours, ID_VIEW(&unit.cpus)));
        assert_true(undo_values_have(&h->record->mems.ours, ID_VIEW(&unit.mems)));
        assert_null(h->record->cpus.before);
        assert_null(h->record->mems.before);
        assert_null(h->record->cpus.file);
}
