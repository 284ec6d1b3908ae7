/* An instance from one means of being bound to another, as it shares its group with others or not,
 * and as it was bound before. */
#include "sequence-host.h"

#include "capture.h"

static bool is_reading;       /* of its unit, for the first time */
static const char *start_why; /* why its start allows no preparation; NULL: it does */

bool __wrap_units_is_reading(const Units *its, const char *unit);
bool __wrap_units_is_reading(_unused_ const Units *its, _unused_ const char *unit) {
        return is_reading;
}

const char *__wrap_units_start_refuses(const Units *its, const char *unit, const Placement *place,
                                       bool *ret_conflict);
const char *__wrap_units_start_refuses(_unused_ const Units *its, _unused_ const char *unit,
                                       _unused_ const Placement *place, bool *ret_conflict) {
        if (ret_conflict)
                *ret_conflict = false;
        return start_why;
}

/* All of its memory is at home, and of a shared group only the mover can find that. */
int __wrap_worker_move(Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                       const NodeSet *nodes, const CpuSet *cpus, MoverCounters *counters,
                       uint64_t *ret_bytes);
int __wrap_worker_move(_unused_ Workers *workers, _unused_ const ProcHandle *handle,
                       _unused_ const WorkerMove *move, _unused_ const NodeSet *nodes,
                       _unused_ const CpuSet *cpus, _unused_ MoverCounters *counters,
                       uint64_t *ret_bytes) {
        *ret_bytes = 0;
        return 0;
}

static void method_begin(Daemon *d) {
        is_reading = false;
        start_why = NULL;
        begin(d, 0, 0, REFUSED, 0);
}
#define METHOD_TEST(test) TEST_WITH(test, Daemon, d, method_begin, end)

/* It is reconciled in each of them. */
static void seconds(Daemon *d, unsigned n) {
        for (unsigned k = 0; k < n; k++) {
                instance_queue(d->instance, WORK_PLACE);
                daemon_pass(d);
        }
}

static void is_shared(bool shared) {
        group_write("cgroup.procs", fmt(shared ? "%d\n%d" : "%d", pid, pid + 1));
        fake_process(&world.tree, pid + 1, 1, "/srv/b", world.group, "0-7");
}

static void assert_by_unit(bool by_unit) {
        assert_true(sets_equal(&world.properties, by_unit ? &world.wanted : &world.before));
}

static void assert_threads(const char *cpus) {
        ProcStatus status;
        ProcHandle handle = PROC_HANDLE_NONE;

        assert_int_equal(proc_open(&world.tree.sysroot, pid, &handle), 0);
        assert_int_equal(proc_status_read(&handle, pid, &status), 0);
        assert_ids(status.cpus_allowed, cpus);
        proc_close(&handle);
}

static InstanceInfo published(Daemon *d) {
        return rooms_published(&d->rooms, &world.tree, d->instance);
}

/* One that shares it for a moment (ExecReload=) does not count; one that is alone only for a moment
 * neither. */
METHOD_TEST(a_service_that_becomes_shared_and_alone_again) {
        wait_for(d, INSTANCE_BOUND);
        is_shared(true);
        seconds(d, 9);
        is_shared(false);
        seconds(d, 1);
        is_shared(true);
        seconds(d, 9);
        assert_by_unit(true);
        seconds(d, 6);
        assert_by_unit(false);
        wait_for(d, INSTANCE_PARTLY);
        assert_threads("4-7");
        assert_int_equal(published(d).bound_by_code, REASON_SHARED_UNIT);
        is_shared(false);
        seconds(d, 58);
        assert_by_unit(false);
        seconds(d, 5);
        wait_for(d, INSTANCE_BOUND);
        assert_bound(d);
        assert_int_equal(published(d).bound_by_code, REASON_NONE);
}

/* However long the next sample takes. */
METHOD_TEST(a_shared_service_waits_for_no_sample) {
        wait_for(d, INSTANCE_BOUND);
        is_shared(true);
        seconds(d, 1);
        assert_true(d->n_passes % ROUND_PASSES + 15 < ROUND_PASSES);
        for (unsigned k = 0; k < 15; k++)
                daemon_pass(d);
        assert_by_unit(false);
}

METHOD_TEST(shared_from_the_start) {
        is_shared(true);
        wait_for(d, INSTANCE_PARTLY);
        assert_int_equal(world.n_writes, 0);
        assert_threads("4-7");
        assert_int_equal(published(d).bound_by_code, REASON_SHARED_UNIT);
}

METHOD_TEST(a_daemon_that_changes_nothing_releases_nothing) {
        _cleanup_status_ Snapshot s = { 0 };

        wait_for(d, INSTANCE_BOUND);
        world.n_writes = 0;
        d->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        d->policy.backend = POLICY_BACKEND_AFFINITY;
        instance_queue(d->instance, WORK_POLICY);
        seconds(d, 30);
        assert_int_equal(world.n_writes, 0);
        assert_bound(d);
        rooms_publish(&d->rooms, &world.tree, &s);
        assert_int_equal(s.n_releases, 0);
}

/* Behind the daemon's own calls at its start the answer takes some seconds; then what its start
 * asks for is known. One that never comes is not awaited for ever. */
METHOD_TEST(a_unit_is_awaited_until_it_is_read) {
        is_reading = true;
        d->instance->first_seen_usec = world.now;
        seconds(d, 29);
        assert_int_equal(world.n_calls, 0);
        seconds(d, 5);
        assert_by_unit(true);
}

/* Nor is it said meanwhile that it has none whose limit could be set. */
METHOD_TEST(a_limit_awaits_the_means) {
        is_reading = true;
        d->instance->first_seen_usec = world.now;
        d->policy.memory_limit = d->instance->planned.limit_bytes = UINT64_C(1) << 30;
        seconds(d, 9);
        assert_int_equal(d->instance->binding.limit.state, LIMIT_WAITING);
        d->rooms.host.backend.ops = NULL; /* it would be awaited for ever */
        seconds(d, 1);
        assert_int_equal(d->instance->binding.limit.state, LIMIT_NO_UNIT);
}

METHOD_TEST(what_has_moved_moves_no_more) {
        wait_for(d, INSTANCE_BOUND);
        d->instance->planned.warnings = WARN_MOVED | WARN_FAR_DEVICE;
        assert_int_equal(published(d).warnings, WARN_FAR_DEVICE);
}

/* On a busy host its script is read after it was bound as if that asked for anything. */
METHOD_TEST(a_start_that_is_known_late_counts_at_once) {
        start_why = "its start script cannot be read: prepared, it might not start";
        wait_for(d, INSTANCE_PARTLY);
        assert_by_unit(false);
        assert_threads("4-7");
        assert_int_equal(published(d).bound_by_code, REASON_START_LIMITS);
        start_why = NULL;
        seconds(d, 20);
        assert_by_unit(true);
        assert_int_equal(published(d).bound_by_code, REASON_NONE);
}

/* The script says nothing of where, the kernel does: on its CPUs all of its memory would be remote.
 */
METHOD_TEST(a_start_that_is_not_understood_is_not_bound_away_from_its_memory) {
        start_why = "numactl in its start is not understood: prepared, it might not start";
        d->instance->memory_policy = strdup("bind:0");
        wait_for(d, INSTANCE_REFUSED);
        assert_threads("0-7");
        assert_int_equal(reconcile_verdict(&d->rooms.binding, d->instance).code,
                         REASON_START_LIMITS);
        (void)strcpy(d->instance->memory_policy, "bind:1");
        seconds(d, 1);
        assert_threads("4-7");
}

static void session_begin(Daemon *d, const char *cpus) {
        is_reading = false;
        start_why = NULL;
        world_init(SESSION, cpus, "", "4-7");
        daemon_init(d);
}
#define SESSION_TEST(test, cpus) TEST_AFTER(test, Daemon, d, session_begin(d, cpus), end)

/* It would stay in its group then, and its place is within what that allows. The plan is not made
 * at once: others may follow. */
SESSION_TEST(a_scope_with_limits_is_not_left_but_bound_by_affinity, "4-5") {
        d->rooms.host.policies.mode = ENFORCEMENT_OBSERVE;
        wait_for(d, INSTANCE_PLANNED);
        assert_ids(published(d).cpus, "4-7");
        assert_contains(reconcile_verdict(&d->rooms.binding, d->instance).reason, "its own scope");
        group_write("memory.max", "4096");
        seconds(d, 1);
        assert_true(d->rooms.host.queued & HOST_WORK_PLAN);
        assert_int_equal(published(d).bound_by_code, REASON_UNIT_LIMITS);
        place_refresh(&d->rooms.placing);
        seconds(d, 2);
        assert_ids(published(d).cpus, "4-5");
}

/* The limits of a scope are known in full only when it is about to be left: what is bound stays. */
SESSION_TEST(without_a_service_it_keeps_affinity, "") {
        d->policy.backend = POLICY_BACKEND_AFFINITY;
        wait_for(d, INSTANCE_PARTLY);
        assert_threads("4-7");
        daemon_done(d);
        daemon_init(d);
        wait_for(d, INSTANCE_PARTLY);
        seconds(d, 100);
        assert_int_equal(world.n_requests, 0);
        assert_threads("4-7");
        assert_int_equal(d->rooms.undo.records.n_records, 1);
}
