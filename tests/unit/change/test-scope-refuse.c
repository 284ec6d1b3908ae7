/* Whether a process may be moved to a scope of ours. */
#include "scope-host.h"

static void assert_refused(Host *h, const char *cgroup, const char *in_reason) {
        const char *reason;
        Reason code;

        h->members[0].process.cgroup = (char *)cgroup;
        reason = scope_refuses(&h->tree.sysroot, &h->target, &code);
        assert_int_equal(code, !in_reason ? REASON_NONE
                               : strstr(in_reason, "does not run in a systemd unit") ||
                                               strstr(in_reason, "a user's own manager")
                                       ? REASON_NO_UNIT
                               : strstr(in_reason, "limits") ? REASON_UNIT_LIMITS
                                                             : REASON_SHARED_UNIT);
        if (!in_reason)
                assert_null(reason);
        else if (!reason || !strstr(reason, in_reason))
                fail_msg("%s: '%s' does not say '%s'", cgroup ? cgroup : "none",
                         reason ? reason : "nothing", in_reason);
}

HOST_TEST(where_it_may_run) {
        assert_refused(h, HOME, NULL);
        assert_refused(h, "/a.scope", NULL);
        assert_refused(h, "/system.slice/run-r1.scope", NULL);
        assert_refused(h, NULL, "does not run in a systemd unit");
        assert_refused(h, "/", "does not run in a systemd unit");
        assert_refused(h, "/init.scope", "does not run in a systemd unit");
        assert_refused(h, "/system.slice", "does not run in a systemd unit");
        assert_refused(h, "/user.slice/user-7.slice/user@7.service/app.slice/a.scope",
                       "a user's own manager");
        assert_refused(h, "/system.slice/a.service", "share its unit");
        assert_refused(h, "/system.slice/a.service/b.scope", "below its unit");
        assert_refused(h, "/machine.slice/libpod-1.scope/container", "below its unit");
        assert_refused(h, "/lxc/1", "below its unit");
        h->members[0].process.foreign = FOREIGN_PID;
        assert_refused(h, HOME, "in a container");
}

HOST_TEST(all_in_one_place) {
        h->target.n_members = 2;
        assert_refused(h, HOME, NULL);
        assert_refused(h, "/b.scope", "in several cgroups");
        h->members[1].process.scope =
                (char *)NAME; /* it is there already: nothing is asked of it */
        assert_refused(h, "/b.scope", NULL);
        h->members[0].process.scope = (char *)NAME;
        assert_refused(h, "/system.slice/a.service", NULL);
}

static void write_home(Host *h, const char *file, const char *text) {
        fake_write(&h->tree, fmt("sys/fs/cgroup" HOME "/%s", file), text);
}

/* What the kernel shows where nothing is set. */
static void write_unset(Host *h) {
        static const char *const files[][2] = {
                { "cgroup.max.depth", "max\n" },
                { "cgroup.max.descendants", "max\n" },
                { "cgroup.pressure", "1\n" },
                { "cgroup.subtree_control", "\n" },
                { "cgroup.type", "domain\n" },
                { "cpu.idle", "0\n" },
                { "cpu.max", "max 100000\n" },
                { "cpu.max.burst", "0\n" },
                { "cpu.pressure", "some avg10=1.00 avg60=0.00 avg300=0.00 total=7\n" },
                { "cpu.uclamp.max", "max\n" },
                { "cpu.uclamp.min", "0.00\n" },
                { "cpu.weight", "100\n" },
                { "cpu.weight.nice", "0\n" },
                { "cpuset.cpus", "\n" },
                { "cpuset.cpus.exclusive", "\n" },
                { "cpuset.cpus.partition", "member\n" },
                { "cpuset.mems", "\n" },
                { "hugetlb.2MB.max", "max\n" },
                { "hugetlb.2MB.rsvd.max", "max\n" },
                { "io.latency", "" },
                { "io.max", "" },
                { "io.prio.class", "no-change\n" },
                { "io.weight", "default 100\n" },
                { "memory.high", "max\n" },
                { "memory.low", "0\n" },
                { "memory.max", "max\n" },
                { "memory.min", "0\n" },
                { "memory.oom.group", "0\n" },
                { "memory.peak", "4096\n" },
                { "memory.swap.high", "max\n" },
                { "memory.swap.max", "max\n" },
                { "memory.swap.peak", "4096\n" },
                { "memory.zswap.max", "max\n" },
                { "memory.zswap.writeback", "1\n" },
                { "misc.max", "sev max\nsev_es max\n" },
                { "pids.max", "4915\n" },
                { "rdma.max", "mlx5_0 hca_handle=max hca_object=max\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                write_home(h, files[i][0], files[i][1]);
}

TEST(limits_stay) {
        static const char *const held[][2] = {
                { "memory.max", "1073741824\n" },
                { "memory.max", "0\n" },
                { "memory.high", "1048576\n" },
                { "memory.low", "4096\n" },
                { "memory.min", "4096\n" },
                { "memory.swap.max", "0\n" },
                { "memory.zswap.max", "0\n" },
                { "memory.zswap.writeback", "0\n" },
                { "memory.oom.group", "1\n" },
                { "cpu.max", "50000 100000\n" },
                { "cpu.weight", "50\n" },
                { "cpu.idle", "1\n" },
                { "cpu.uclamp.max", "30.00\n" },
                { "cpu.uclamp.min", "10.00\n" },
                { "io.max", "8:0 rbps=1 wbps=max\n" },
                { "io.weight", "default 10\n" },
                { "io.latency", "8:0 target=5\n" },
                { "io.prio.class", "idle\n" },
                { "cpuset.cpus", "0-3\n" },
                { "cpuset.mems", "1\n" },
                { "cpuset.cpus.partition", "isolated\n" },
                { "hugetlb.2MB.max", "2097152\n" },
                { "hugetlb.1GB.max", "0\n" },
                { "hugetlb.2MB.rsvd.max", "0\n" },
                { "misc.max", "sev max\nsev_es 5\n" },
                { "rdma.max", "mlx5_0 hca_handle=2 hca_object=max\n" },
                { "cgroup.max.descendants", "3\n" },
                { "of_a_later_kernel.max", "7\n" },
                { "of_a_later_kernel.filter", "on\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(held); i++) {
                _cleanup_host_ Host h;

                host_init(&h);
                write_unset(&h);
                assert_refused(&h, HOME, NULL);
                write_home(&h, held[i][0], held[i][1]);
                assert_refused(&h, HOME, "its scope has limits");
        }
}

static const char *refuses_by(Host *h, Reason *ret_code) {
        return scope_refuses_by(&h->tree.sysroot, h->record, &h->target, ret_code);
}

/* Filters are no files of the cgroup. */
TEST(limits_that_only_systemd_knows) {
        static const char *const properties[] = { "IPAddressDeny", "DevicePolicy", "BPFProgram",
                                                  "OfALaterVersion" };

        for (size_t i = 0; i < ELEMENTSOF(properties); i++) {
                _cleanup_host_ Host h;
                const char *why;
                Reason code;

                host_init(&h);
                bus.state.limit = properties[i];
                note_all(&h);
                why = refuses_by(&h, &code);
                assert_non_null(why);
                assert_non_null(strstr(why, "its scope has limits"));
                assert_int_equal(strstr(why, properties[i]) != NULL,
                                 i + 1 < ELEMENTSOF(properties));
                assert_int_equal(code, REASON_UNIT_LIMITS);
        }
}

/* A process that leaves its group for another with the same limit has made room for one more. */
TEST(limit_of_tasks) {
        static const struct {
                uint64_t tasks_max, default_tasks_max;
                const char *pids_max;
                bool refused;
        } cases[] = {
                { UINT64_MAX, 0, "max\n", false }, { UINT64_MAX, 0, NULL, false },
                { 4915, 4915, "4915\n", false },   { 4915, 4915, NULL, false },
                { 5, 4915, "5\n", true },          { 5000, 4915, "5000\n", true },
                { 4915, 4915, "5\n", true },       { UINT64_MAX, 0, "5\n", true },
                { 4915, UINT64_MAX, NULL, true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ Host h;
                const char *why;
                Reason code;

                host_init(&h);
                if (cases[i].pids_max)
                        write_home(&h, "pids.max", cases[i].pids_max);
                bus.state.tasks_max = cases[i].tasks_max;
                assert_int_equal(note(&h), 0);
                bus.read_reply(0, &bus.state, bus.read_userdata);
                if (cases[i].default_tasks_max > 0) {
                        assert_int_equal(note(&h), 0);
                        bus.tasks_reply(0, cases[i].default_tasks_max, bus.read_userdata);
                        assert_int_equal(h.replied, 0);
                }
                why = refuses_by(&h, &code);
                assert_int_equal(why != NULL, cases[i].refused);
                assert_int_equal(code, cases[i].refused ? REASON_UNIT_LIMITS : REASON_NONE);
                if (why) {
                        assert_non_null(strstr(why, "TasksMax="));
                        continue;
                }
                assert_int_equal(note(&h), 1);
                assert_int_equal(start(&h), 0);
                assert_true(bus.scope.tasks_max == cases[i].tasks_max);
        }
}

HOST_TEST(by_its_record) {
        Reason code;

        assert_null(refuses_by(h, &code));
        h->record->former = (UndoFormer){ .known = true, .delegated = true };
        assert_non_null(strstr(refuses_by(h, &code), "delegated"));
        assert_int_equal(code, REASON_SHARED_UNIT);
        h->record->former.delegated = false;
        assert_int_equal(undo_record_set_scope(h->record, NAME, HOME), 0);
        assert_null(refuses_by(h, &code));
        h->members[0].process.cgroup = (char *)"/b.scope";
        assert_non_null(strstr(refuses_by(h, &code), "something else"));
        assert_int_equal(code, REASON_CONTESTED);
        h->members[0].process.scope = (char *)NAME;
        assert_null(refuses_by(h, &code));
}
