/* Into a scope and home again, with a systemd and a cgroup tree that the test makes up. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/enforce/scope.h"
#include "tidbnumad/enforce/undo-note.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-scope.h"
#include "tidbnumad/sys/cgroup.h"

#define SLICE "/user.slice/user-7.slice"
#define HOME SLICE "/session-3.scope"
#define NAME "tidbnumad-tidb-server:50-1050.scope"
#define SCOPE SLICE "/" NAME

/* systemd, and what was asked of it. */
static struct {
        int error; /* of the next call */
        BusUnit unit;
        char read[64]; /* the unit that was read */
        BusUnitReply read_reply;
        void *read_userdata;
        unsigned n_starts;
        char name[128], slice[64], part_of[64];
        BusScope scope;
        pid_t pids[4];
} bus;

/* The kernel. */
static struct {
        const FakeTree *tree;
        int error;        /* of the next write */
        const char *born; /* appears in the scope while the first one leaves it; NULL: none */
        unsigned n_writes;
} kernel;

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_bus_manager_read_unit(sd_bus *b, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot);
int __wrap_bus_scope_start(sd_bus *b, const BusScope *scope, BusUnitsReply reply, void *userdata,
                           sd_bus_slot **ret_slot);
int __wrap_cgroup_write(int fd, const char *name, const char *text);

int __wrap_backend_systemd_ensure_bus(Backend *backend) {
        (void)backend;
        return bus.error;
}

int __wrap_bus_manager_read_unit(sd_bus *b, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot) {
        (void)b;
        (void)ret_slot;
        (void)snprintf(bus.read, sizeof(bus.read), "%s", unit);
        bus.read_reply = reply;
        bus.read_userdata = userdata;
        return 0;
}

int __wrap_bus_scope_start(sd_bus *b, const BusScope *scope, BusUnitsReply reply, void *userdata,
                           sd_bus_slot **ret_slot) {
        (void)b;
        (void)reply;
        (void)userdata;
        (void)ret_slot;
        bus.n_starts++;
        bus.scope = *scope;
        (void)snprintf(bus.name, sizeof(bus.name), "%s", scope->name);
        (void)snprintf(bus.slice, sizeof(bus.slice), "%s", scope->slice);
        (void)snprintf(bus.part_of, sizeof(bus.part_of), "%s", scope->part_of);
        assert_true(scope->n_pids <= ELEMENTSOF(bus.pids));
        memcpy(bus.pids, scope->pids, scope->n_pids * sizeof(pid_t));
        return 0;
}

static void write_procs(const char *group, const char *text) {
        char path[256];

        (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.procs", group);
        fake_write(kernel.tree, path, text);
}

static char *read_procs(const char *group, char buffer[static 256]) {
        char path[256];

        (void)snprintf(path, sizeof(path), "sys/fs/cgroup%s/cgroup.procs", group);
        if (read_file_at(kernel.tree->fd, path, buffer, 256) < 0)
                buffer[0] = '\0';
        return buffer;
}

/* Out of the scope's list, or into it. */
static void leave(const char *group, const char *pid) {
        char text[256], left[256] = "", *save = NULL;

        read_procs(group, text);
        for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
                if (strcmp(p, pid) != 0)
                        (void)snprintf(left + strlen(left), sizeof(left) - strlen(left), "%s\n", p);
        if (kernel.born && strcmp(group, SCOPE) == 0) {
                (void)snprintf(left + strlen(left), sizeof(left) - strlen(left), "%s\n",
                               kernel.born);
                kernel.born = NULL;
        }
        write_procs(group, left);
}

int __wrap_cgroup_write(int fd, const char *name, const char *pid) {
        char link[32], path[PATH_MAX] = "", text[256], more[300];
        bool to_home;

        assert_string_equal(name, "cgroup.procs");
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        to_home = readlink(link, path, sizeof(path) - 1) > 0 && strstr(path, HOME);
        kernel.n_writes++;
        if (kernel.error < 0)
                return kernel.error;
        leave(to_home ? SCOPE : HOME, pid);
        read_procs(to_home ? HOME : SCOPE, text);
        (void)snprintf(more, sizeof(more), "%s%s%s\n", text, *text ? "\n" : "", pid);
        write_procs(to_home ? HOME : SCOPE, more);
        return 0;
}

typedef struct Host {
        FakeTree tree;
        Backend backend;
        UndoRecord *record;
        BackendNote note;
        Process processes[2];
        ProcHandle handles[2];
        BackendTarget target;
        Restore restore;
        int replied; /* 1: not yet */
} Host;

static Process process(pid_t pid, const char *cgroup) {
        return (Process){ .id = { .pid = pid, .start_ticks = 1000 + (uint64_t)pid },
                          .exe = (char *)"/srv/tidb-server",
                          .cgroup = (char *)cgroup };
}

/* Process 50 in a session with the shell 40, which is nobody's. */
static void host_init(Host *h) {
        *h = (Host){ .replied = 1 };
        memset(&bus, 0, sizeof(bus));
        memset(&kernel, 0, sizeof(kernel));
        fake_init(&h->tree);
        kernel.tree = &h->tree;
        write_procs(HOME, "40\n50\n");
        for (int i = 0; i < 2; i++) {
                fake_process(&h->tree, 50 + i, 1, "/srv/tidb-server", HOME, "0-7");
                h->processes[i] = process(50 + i, HOME);
                assert_int_equal(proc_open(&h->tree.sysroot, 50 + i, &h->handles[i]), 0);
        }
        fake_process(&h->tree, 60, 50, "/bin/helper", SCOPE, "0-7");
        backend_init(&h->backend, &h->tree.sysroot, NULL);
        assert_int_equal(undo_record_new("tidb-server:50", NULL, &h->record), 0);
        h->target = (BackendTarget){ .instance = "tidb-server:50",
                                     .handles = h->handles,
                                     .processes = h->processes,
                                     .n_processes = 1 };
        h->note.record = h->record;
        bus.unit = (BusUnit){ .oom_policy = "", .send_sighup = true, .stop_timeout_usec = 77 };
}

static void host_done(Host *h) {
        restore_done(&h->restore);
        undo_record_free(h->record);
        for (int i = 0; i < 2; i++)
                proc_close(&h->handles[i]);
        backend_done(&h->backend);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

static void on_reply(int error, const char *message, void *userdata) {
        Host *h = userdata;

        (void)message;
        h->replied = error;
}

static int note(Host *h) {
        sd_bus_slot *slot = NULL;

        return scope_note(&h->backend, &h->target, &h->note, on_reply, h, &slot);
}

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

static int send_home(Host *h) {
        restore_begin(&h->restore, h->record);
        return scope_send_home(&h->backend, &h->restore);
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

static void test_where_it_may_run(void **state) {
        _cleanup_host_ Host h;

        (void)state;
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

static void test_all_in_one_place(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        h.target.n_processes = 2;
        assert_refused(&h, HOME, NULL);
        assert_refused(&h, "/b.scope", "in several cgroups");
        h.processes[1].scope = (char *)NAME; /* it is there already: nothing is asked of it */
        assert_refused(&h, "/b.scope", NULL);
        h.processes[0].scope = (char *)NAME;
        assert_refused(&h, "/system.slice/a.service", NULL);
}

static void test_limits_stay(void **state) {
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

        (void)state;
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

static void test_by_its_record(void **state) {
        _cleanup_host_ Host h;
        Reason code;

        (void)state;
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

static void test_note_comes_before(void **state) {
        _cleanup_host_ Host h;

        (void)state;
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

static void test_note_needs_the_bus(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        bus.error = -ECONNREFUSED;
        assert_int_equal(note(&h), -ECONNREFUSED);
        assert_null(h.record->scope);
}

/* A daemon that was killed after it had written the record asks for the same once more. */
static void test_name_stays(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        assert_int_equal(undo_record_set_scope(h.record, "tidbnumad-a-1.scope", HOME), 0);
        note_all(&h);
        assert_string_equal(h.record->scope, "tidbnumad-a-1.scope");
}

static void test_names(void **state) {
        static const char *const names[][2] = {
                { "haproxy:80", "tidbnumad-haproxy:80-1050.scope" },
                { "a b@c/d", "tidbnumad-a\\x20b\\x40c\\x2fd-1050.scope" },
                { "a\\x20b", "tidbnumad-a\\x5cx20b-1050.scope" },
                { "\xc3\xa4.b_c", "tidbnumad-\\xc3\\xa4.b_c-1050.scope" },
        };
        char longest[300];

        (void)state;
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

static void test_systemd_is_asked(void **state) {
        _cleanup_host_ Host h;

        (void)state;
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

static void test_slices(void **state) {
        static const char *const slices[][2] = {
                { "/a.scope", "-.slice" },
                { "/system.slice/a.scope", "system.slice" },
                { "/a.slice/a-b.slice/a-b-c.slice/d.scope", "a-b-c.slice" },
        };

        (void)state;
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
static void test_one_that_comes_later_joins(void **state) {
        _cleanup_host_ Host h;
        char text[256];

        (void)state;
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
static void test_what_stands_in_a_scope_is_ours(void **state) {
        const BusUnit unit = { .group = HOME, .cpus = ids("2"), .mems = ids("1") };
        const BusUnit bare = { .group = HOME };
        const IdSet cpus = ids("2"), mems = ids("1");
        _cleanup_host_ Host h;

        (void)state;
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

/* --- and home --- */

static void in_scope(Host *h) {
        write_procs(HOME, "40\n");
        write_procs(SCOPE, "50\n60\n");
        assert_int_equal(undo_record_set_scope(h->record, NAME, HOME), 0);
}

static void test_all_come_home(void **state) {
        _cleanup_host_ Host h;
        char text[256];

        (void)state;
        host_init(&h);
        in_scope(&h);
        fake_process(&h.tree, 61, 60, "/bin/helper", SCOPE, "0-7");
        kernel.born = "61";
        assert_int_equal(send_home(&h), 1);
        assert_string_equal(read_procs(SCOPE, text), "");
        assert_string_equal(read_procs(HOME, text), "40\n50\n60\n61");
        assert_null(h.restore.shortfall);
        assert_int_equal(send_home(&h), 1); /* once more: nothing is left to do */
        assert_int_equal(kernel.n_writes, 3);
}

static void test_nothing_to_send(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        assert_int_equal(undo_record_set_scope(h.record, NAME, HOME), 0);
        assert_int_equal(send_home(&h), 1); /* it was never made, or has ended */
        write_procs(SCOPE, "70\n");         /* which has ended meanwhile */
        assert_int_equal(send_home(&h), -EAGAIN);
        assert_int_equal(kernel.n_writes, 0);
}

static void test_home_is_gone(void **state) {
        static const int errors[] = { -EOPNOTSUPP, -ENOENT, -ENODEV };
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        in_scope(&h);
        for (size_t i = 0; i < ELEMENTSOF(errors); i++) {
                kernel.error = errors[i];
                assert_int_equal(send_home(&h), 0);
                assert_non_null(strstr(h.restore.shortfall, "stays in a scope"));
        }
        kernel.error = -EPERM;
        assert_int_equal(send_home(&h), -EPERM);
        assert_null(h.restore.shortfall);
        kernel.error = 0;
        fake_remove(&h.tree, "sys/fs/cgroup" HOME);
        assert_int_equal(send_home(&h), 0);
        assert_non_null(h.restore.shortfall);
}

/* A scope of which no record was left: nobody knows where its processes came from. */
static void test_home_is_not_known(void **state) {
        _cleanup_host_ Host h;

        (void)state;
        host_init(&h);
        write_procs(SCOPE, "50\n");
        assert_int_equal(undo_record_set_scope(h.record, NAME, SCOPE), 0);
        assert_int_equal(send_home(&h), 0);
        assert_non_null(h.restore.shortfall);
        assert_int_equal(kernel.n_writes, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_where_it_may_run),
                cmocka_unit_test(test_all_in_one_place),
                cmocka_unit_test(test_limits_stay),
                cmocka_unit_test(test_by_its_record),
                cmocka_unit_test(test_note_comes_before),
                cmocka_unit_test(test_note_needs_the_bus),
                cmocka_unit_test(test_name_stays),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_systemd_is_asked),
                cmocka_unit_test(test_slices),
                cmocka_unit_test(test_one_that_comes_later_joins),
                cmocka_unit_test(test_what_stands_in_a_scope_is_ours),
                cmocka_unit_test(test_all_come_home),
                cmocka_unit_test(test_nothing_to_send),
                cmocka_unit_test(test_home_is_gone),
                cmocka_unit_test(test_home_is_not_known),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
