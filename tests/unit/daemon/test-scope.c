/* Who is in a scope of ours: as it was found, as it moves, and what its record knows of it. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "rooms.h"
#include "tidbnumad/daemon/binding/binding.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/undo/undoing.h"

#define SLICE "/user.slice/user-7.slice"
#define HOME SLICE "/session-3.scope"
#define NAME "tidbnumad-tidb-server:50-1050.scope"
#define SCOPE SLICE "/" NAME

typedef struct TestHost {
        FakeTree tree;
        Args args;
        Rooms m;
        Policy policy;
        Instance *instance;
} TestHost;

static void add(TestHost *h, pid_t pid, const char *cgroup, const char *scope) {
        Process p = { .id = { .pid = pid, .start_ticks = 1000 + (uint64_t)pid },
                      .exe = strdup("/srv/tidb-server"),
                      .cgroup = strdup(cgroup),
                      .unit = strdup("session-3.scope"),
                      .scope = scope ? strdup(scope) : NULL };
        ProcHandle handle = PROC_HANDLE_NONE;

        fake_process(&h->tree, pid, 1, "/srv/tidb-server", cgroup, "0-7");
        assert_int_equal(proc_open(&h->tree.sysroot, pid, &handle), 0);
        if (!h->instance) {
                assert_int_equal(instance_new(&p, 0, &h->instance), 0);
                h->instance->name = strdup("tidb-server:50");
                h->instance->policy = &h->policy;
        }
        assert_int_equal(instance_add_process(h->instance, &p, &handle), 0);
        undo_adopt(&h->m.undo, h->instance);
}

static void host_init(TestHost *h) {
        *h = (TestHost){ .policy = { .name = (char *)"p" } };
        fake_init(&h->tree);
        h->m = (Rooms){ .host.args = &h->args,
                        .host.sysroot = h->tree.sysroot,
                        .host.journal = { .max_priority = -1 } };
        rooms_wire(&h->m);
        backend_init(&h->m.host.backend, &h->m.host.sysroot, NULL);
        h->m.host.backend.ops = &backend_systemd_ops;
        fake_write(&h->tree, "sys/fs/cgroup" HOME "/cgroup.procs", "40\n50\n");
}

static void host_done(TestHost *h) {
        rooms_free_instance(h->instance);
        undo_release_done(&h->m.undo);
        undo_done(&h->m.undo.records);
        backend_done(&h->m.host.backend);
        fake_done(&h->tree);
}
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

static UndoRecord *scoped_record(TestHost *h, pid_t pid) {
        const ProcessId id = { .pid = pid, .start_ticks = 1000 + (uint64_t)pid };
        UndoProcess *entry;
        UndoRecord *r;

        assert_int_equal(undo_get(&h->m.undo.records, "tidb-server:50", NULL, &id, &r), 0);
        assert_int_equal(undo_record_add(r, &id, &entry), 0);
        assert_int_equal(undo_record_set_scope(r, NAME, HOME), 0);
        return r;
}

/* Policies name the unit that it came from. */
HOST_TEST(found_in_a_scope_it_is_who_it_was) {
        _cleanup_process_ Process p = { .scope = strdup(NAME) }, lost = { .scope = strdup(NAME) },
                                  other = { .unit = strdup("a.service") };
        UndoRecord *r;

        scope_resolve(&h->m.registry, &lost); /* its original cgroup is unknown */
        assert_null(lost.unit);
        r = scoped_record(h, 50);
        scope_resolve(&h->m.registry, &p);
        assert_string_equal(p.unit, "session-3.scope");
        scope_resolve(&h->m.registry, &p);
        assert_string_equal(p.unit, "session-3.scope");
        scope_resolve(&h->m.registry, &other);
        assert_string_equal(other.unit, "a.service");
        free(r->home); /* taken over without a record */
        r->home = strdup(SCOPE);
        scope_resolve(&h->m.registry, &lost);
        assert_null(lost.unit);
}

static char *path_of(const TestHost *h) {
        const Members members = facts_members(&h->instance->facts, &h->m.host.sysroot);

        return members_group_path(&members);
}

HOST_TEST(a_move_shows) {
        char *path;

        add(h, 50, HOME, NULL);
        scope_follow(&h->m.registry, h->instance);
        assert_null(scope_of(h->instance));
        assert_false(facts_in_scope(&h->instance->facts));
        assert_string_equal(undo_target(h->instance).unit, "session-3.scope");
        fake_process(&h->tree, 50, 1, "/srv/tidb-server", SCOPE, "0-7");
        h->m.host.backend.ops = &backend_affinity_ops; /* which does not ask */
        scope_follow(&h->m.registry, h->instance);
        assert_null(scope_of(h->instance));
        h->m.host.backend.ops = &backend_systemd_ops;
        scope_follow(&h->m.registry, h->instance);
        assert_string_equal(scope_of(h->instance), NAME);
        assert_true(facts_in_scope(&h->instance->facts));
        assert_string_equal(h->instance->unit, "session-3.scope"); /* by which it is known */
        assert_string_equal(undo_target(h->instance).unit, NAME);
        path = path_of(h);
        assert_string_equal(path, SCOPE);
        free(path);
        fake_process(&h->tree, 50, 1, "/srv/tidb-server", HOME, "0-7");
        scope_follow(&h->m.registry, h->instance);
        assert_null(scope_of(h->instance));
        assert_string_equal(h->instance->members[0].process.cgroup, HOME);
}

/* A group below its scope is still in it; that of a service is the service's. */
HOST_TEST(the_path_of_its_unit) {
        char *path;

        add(h, 50, SCOPE "/inner", NAME);
        path = path_of(h);
        assert_string_equal(path, SCOPE);
        free(path);
        free(h->instance->members[0].process.scope);
        h->instance->members[0].process.scope = NULL;
        path = path_of(h); /* of no unit of its own */
        assert_string_equal(path, SCOPE "/inner");
        free(path);
        free(h->instance->unit);
        h->instance->unit = strdup("a.service");
        free(h->instance->members[0].process.cgroup);
        h->instance->members[0].process.cgroup = strdup("/system.slice/a.service/inner/most");
        path = path_of(h);
        assert_string_equal(path, "/system.slice/a.service");
        free(path);
}

/* What is born there belongs to the instance, and half of it there is not all of it. */
HOST_TEST(who_belongs_to_it) {
        _cleanup_process_ Process child = { .id = { .pid = 60 }, .scope = strdup(NAME) },
                                  stranger = { .id = { .pid = 61 },
                                               .scope = strdup("tidbnumad-b-2.scope") },
                                  neighbour = { .id = { .pid = 62 },
                                                .unit = strdup("session-3.scope") };
        UndoRecord *r = scoped_record(h, 50);

        add(h, 50, HOME, NULL);
        assert_ptr_equal(h->instance->undo.record, r); /* the record comes before the move */
        assert_false(facts_own(&h->instance->facts, &child));
        fake_process(&h->tree, 50, 1, "/srv/tidb-server", SCOPE, "0-7");
        scope_follow(&h->m.registry, h->instance);
        assert_true(facts_own(&h->instance->facts, &child));
        assert_false(facts_own(&h->instance->facts, &stranger));
        assert_false(facts_own(&h->instance->facts, &neighbour));
        add(h, 20, SCOPE, NAME); /* before it, and not in the record */
        assert_int_equal(h->instance->members[0].process.id.pid, 20);
        assert_ptr_equal(h->instance->undo.record, r);
        assert_true(facts_in_scope(&h->instance->facts));
        fake_process(&h->tree, 20, 1, "/srv/tidb-server", HOME, "0-7");
        scope_follow(&h->m.registry, h->instance);
        assert_string_equal(scope_of(h->instance), NAME);
        assert_false(facts_in_scope(&h->instance->facts));
}

HOST_TEST(why_not) {
        UndoRecord *r;
        Reason code;

        add(h, 50, HOME, NULL);
        assert_null(bind_refuses_scope(&h->m.binding, h->instance, &code));
        r = scoped_record(h, 50);
        undo_adopt(&h->m.undo, h->instance);
        assert_null(bind_refuses_scope(&h->m.binding, h->instance, &code));
        r->former = (UndoFormer){ .known = true, .delegated = true };
        assert_non_null(strstr(bind_refuses_scope(&h->m.binding, h->instance, &code), "delegated"));
        r->former.delegated = false;
        fake_write(&h->tree, "sys/fs/cgroup" HOME "/memory.max", "4096\n");
        assert_non_null(strstr(bind_refuses_scope(&h->m.binding, h->instance, &code), "limits"));
        assert_int_equal(code, REASON_UNIT_LIMITS);
}

/* Whatever ends first, what is in the scope is sent home. */
HOST_TEST(its_end) {
        const UndoRecord *r = scoped_record(h, 77); /* which has ended */

        add(h, 50, SCOPE, NAME);
        undo_release_note_left(&h->m.undo, h->instance);
        assert_false(r->releasing);
        instance_remove_process(h->instance, 0);
        undo_release_note_left(&h->m.undo, h->instance);
        assert_true(r->releasing);
}

/* --- the order of things --- */

static struct {
        int note, start; /* what they answer */
        unsigned n_starts;
} backend;

static int note_scope(Backend *b, const BackendTarget *target, UndoRecord *record,
                      BackendCall *call) {
        const ProcessId *id = &target->members[0].process.id;
        UndoProcess *entry;

        (void)b;
        (void)call;
        if (!undo_record_find(record, id))
                assert_int_equal(undo_record_add(record, id, &entry), 0);
        if (backend.note == 1 && !record->scope)
                assert_int_equal(undo_record_set_scope(record, NAME, HOME), 0);
        return backend.note;
}

/* By what another life of the daemon would read. */
static int start_scope(Backend *b, const BackendTarget *target, const UndoRecord *record,
                       BackendCall *call) {
        const TestHost *h = (const TestHost *)(const void *)((const char *)b -
                                                             offsetof(TestHost, m.host.backend));
        Undo undo;

        (void)target;
        (void)call;
        backend.n_starts++;
        assert_string_equal(record->scope, NAME);
        undo_init(&undo, &h->m.host.sysroot);
        assert_int_equal(undo_open(&undo, h->tree.fd), 0);
        assert_int_equal(undo_load(&undo, NULL, NULL), 0);
        assert_non_null(undo_find_scope(&undo, NAME));
        undo_done(&undo);
        return backend.start;
}

static const BackendOps ops = { .name = "systemd",
                                .kind = BACKEND_SYSTEMD,
                                .note_scope = note_scope,
                                .start_scope = start_scope };

static void assert_failure(const TestHost *h, const char *says) {
        assert_non_null(strstr(reconcile_verdict(&h->m.binding, h->instance).reason, says));
}

static bool carry_out(TestHost *h, int note, int start) {
        const Step step = { .kind = STEP_SCOPE, .reason = "" };

        backend.note = note;
        backend.start = start;
        return bind_carry_out(&h->m.binding, h->instance, &step, 1);
}

/* What cannot be written down is not done; what was is not written again. */
HOST_TEST(the_record_comes_first) {
        PolicyInfo counters = { 0 };

        memset(&backend, 0, sizeof(backend));
        h->m.host.backend.ops = &ops;
        h->m.host.policy_counters = &counters;
        add(h, 50, HOME, NULL);
        assert_false(carry_out(h, 1, 1)); /* there is no folder yet */
        assert_failure(h, "cannot be saved");
        assert_int_equal(undo_open(&h->m.undo.records, h->tree.fd), 0);
        assert_false(carry_out(h, -EIO, 1));
        assert_false(carry_out(h, 0, 1)); /* systemd is being asked */
        assert_int_equal(backend.n_starts, 0);
        assert_false(carry_out(h, 1, -ENOTCONN));
        assert_failure(h, "did not make a scope for it");
        assert_int_equal(backend.n_starts, 1);
        assert_false(carry_out(h, 1, 0)); /* it is being made */
        assert_true(carry_out(h, 1, 1));
        assert_int_equal(backend.n_starts, 3);
        assert_int_equal(h->m.undo.records.n_records, 1);
        h->m.undo.records.records[0]->releasing = true; /* it is on its way home */
        assert_false(carry_out(h, 1, 1));
        assert_int_equal(backend.n_starts, 3);
}

/* A scope that became empty has ended: what cannot be given back is said. */
HOST_TEST(what_a_release_leaves) {
        UndoRecord *r = scoped_record(h, 50);

        assert_int_equal(mkdirat(h->tree.fd, "undo", 0700), 0);
        h->m.undo.records.dir_fd = openat(h->tree.fd, "undo", O_RDONLY | O_DIRECTORY);
        h->m.host.sysroot.live = true;
        add(h, 50, SCOPE, NAME);
        assert_ptr_equal(h->instance->undo.record, r); /* it is still to be sent home */
        assert_non_null(strstr(undo_release_explain(&h->m.undo, h->instance), "restored,"));
        undo_forget(&h->m.undo.records, r);
        h->instance->undo.record = NULL;
        assert_non_null(strstr(undo_release_explain(&h->m.undo, h->instance), "it stays"));
        fake_process(&h->tree, 50, 1, "/srv/tidb-server", HOME, "0-7");
        scope_follow(&h->m.registry, h->instance);
        assert_non_null(strstr(undo_release_explain(&h->m.undo, h->instance), "restored,"));
}
