/* The one sequence, by the daemon's own modules: record, flush, write, verify, and back. Each call
 * in turn fails, is answered late, or is not answered at all. In the end all is bound, and then as
 * it was. */
#include "sequence-host.h"

static void bind_and_release(Daemon *d) {
        request(d, false);
        wait_for(d, INSTANCE_BOUND);
        assert_bound(d);
        request(d, true);
        wait_for(d, INSTANCE_RELEASED);
        assert_as_before(d);
}

/* Returns the number of calls. What has failed is tried again soon, not in the next round of a
 * minute, unless its process seems to have ended. */
static unsigned run(size_t unit, unsigned fault_at, Fault fault, int error) {
        Daemon d;

        begin(&d, unit, fault_at, fault, error);
        bind_and_release(&d);
        bind_and_release(&d);
        /* What takes effect late, or not at all, was not changed by others. */
        assert_int_equal(d.counters[0].drift_repairs[DRIFT_CPUS] +
                                 d.counters[0].drift_repairs[DRIFT_MEMS],
                         0);
        assert_true(fault > FAILED || error == ESRCH || d.n_passes < ROUND_PASSES);
        end(&d);
        return world.n_calls;
}

TEST(each_call_may_fail) {
        static const int errors[] = { ENOMEM, EIO, ESRCH, EBUSY };

        for (size_t u = 0; u < ELEMENTSOF(units); u++) {
                const unsigned n = run(u, 0, REFUSED, 0);

                assert_true(n >= 20); /* else it is not the sequence any more */
                for (unsigned at = 1; at <= n; at++)
                        for (Fault f = 0; f < N_FAULTS; f++)
                                for (size_t e = 0; e < (f <= FAILED ? ELEMENTSOF(errors) : 1); e++)
                                        (void)run(u, at, f, errors[e]);
        }
}

static void threads_init(Daemon *d, unsigned fault_at, Fault fault, int error) {
        world_init(SERVICE, "", "", "4-7");
        world.wanted = world.effective; /* of its group, which stays as it is */
        world.by_affinity = true;
        world.fault_at = fault_at;
        world.fault = fault;
        world.error = error;
        daemon_init(d);
}

static void threads_bind_and_release(Daemon *d) {
        request(d, false);
        wait_for(d, INSTANCE_BOUND);
        assert_ids(world.thread, "4-7");
        request(d, true);
        wait_for(d, INSTANCE_RELEASED);
        assert_ids(world.thread, "0-7");
        assert_as_before(d);
}

/* With `anew` the daemon is killed once the call was made. */
static unsigned run_threads(unsigned fault_at, Fault fault, int error, bool anew) {
        Daemon d;

        threads_init(&d, fault_at, fault, error);
        if (anew) {
                while (world.n_calls < fault_at)
                        daemon_pass(&d);
                daemon_done(&d);
                daemon_init(&d);
        }
        threads_bind_and_release(&d);
        threads_bind_and_release(&d);
        end(&d);
        return world.n_calls;
}

TEST(each_call_for_threads_may_fail) {
        static const int errors[] = { ENOMEM, EIO, ESRCH, EBUSY };
        const unsigned n = run_threads(0, REFUSED, 0, false);

        assert_true(n >= 12);
        for (unsigned at = 1; at <= n; at++)
                for (size_t e = 0; e < ELEMENTSOF(errors); e++)
                        (void)run_threads(at, REFUSED, errors[e], false);
        for (unsigned at = 1; at <= n / 4; at++)
                (void)run_threads(at, REFUSED, EIO, true);
}

/* Until the call was made, or nothing is left to do. */
static void run_until_call(Daemon *d) {
        request(d, false);
        do
                daemon_pass(d);
        while (world.n_calls < world.fault_at && !reconcile_is_settled(&d->rooms.binding));
}

/* Whatever comes of the call comes before what is asked for now. */
static void release_behind_it(Daemon *d) {
        request(d, true);
        wait_for(d, INSTANCE_RELEASED);
        assert_as_before(d);
}

/* The daemon is killed, and the next one does not know of the call. */
static void start_behind_it(Daemon *d) {
        daemon_done(d);
        daemon_init(d);
}

/* Each call of the first binding. */
static void each_call_then(void (*then)(Daemon *d), unsigned nth_fault) {
        for (size_t u = 0; u < ELEMENTSOF(units); u++) {
                const unsigned n = run(u, 0, REFUSED, 0) / 4;

                for (unsigned at = 1; at <= n; at++)
                        for (Fault f = 0; f < N_FAULTS; f += nth_fault) {
                                Daemon d;

                                begin(&d, u, at, f, EIO);
                                run_until_call(&d);
                                then(&d);
                                bind_and_release(&d);
                                end(&d);
                        }
        }
}

TEST(released_while_a_call_is_under_way) {
        each_call_then(release_behind_it, 1);
}

TEST(started_anew_while_a_call_is_under_way) {
        each_call_then(start_behind_it, 1);
}

/* The policies are refused when it comes back, but for the last ones, which only watch. */
static void start_without_a_policy(Daemon *d) {
        start_behind_it(d);
        d->policy.built_in = true;
        d->policy.place.nodes = node_set("");
        request(d, false);
        do
                daemon_pass(d);
        while (d->rooms.undo.records.n_records > 0 || d->n_passes < 2 * ROUND_PASSES);
        assert_as_before(d);
        start_behind_it(d);
}

TEST(given_back_without_a_policy) {
        each_call_then(start_without_a_policy, 3);
}

/* Nothing is done twice. */
TEST(started_anew_when_it_is_bound) {
        for (size_t u = 0; u <= ELEMENTSOF(units); u++) {
                const bool threads = u == ELEMENTSOF(units);
                unsigned n;
                Daemon d;

                if (threads)
                        threads_init(&d, 0, REFUSED, 0);
                else
                        begin(&d, u, 0, REFUSED, 0);
                wait_for(&d, INSTANCE_BOUND);
                n = world.n_writes + world.n_masks;
                fake_remove(&world.tree, "sys/fs/cgroup" SERVICE "/memory.numa_stat");
                start_behind_it(&d);
                wait_for(&d, INSTANCE_BOUND); /* who narrowed it is known */
                assert_int_equal(world.n_writes + world.n_masks, n);
                group_write("memory.numa_stat", "anon N0=0 N1=4096\nfile N0=0 N1=0");
                (threads ? threads_bind_and_release : bind_and_release)(&d);
                end(&d);
        }
}

/* What the former daemon gave counts where it is still wanted, and not where it lies within what
 * is. */
TEST(started_anew_for_another_place) {
        Daemon d;

        threads_init(&d, 0, REFUSED, 0);
        wait_for(&d, INSTANCE_BOUND);
        start_behind_it(&d);
        d.policy.place.nodes = node_set("0-1");
        wait_for(&d, INSTANCE_BOUND);
        assert_ids(world.thread, "0-7");
        end(&d);
}

/* Whatever fails is counted once, under its reason, and tried again with success. */
TEST(failures_are_told) {
        static const struct {
                int error;
                Reason reason;
        } rows[] = { { EPERM, REASON_PERMISSION },    { ERFKILL, REASON_UNIT_MASKED },
                     { ENODEV, REASON_NODE_OFFLINE }, { ENOTCONN, REASON_BUS_GONE },
                     { ENOENT, REASON_UNIT_GONE },    { EIO, REASON_OTHER } };
        const unsigned n = run(0, 0, REFUSED, 0) / 4;
        unsigned n_told = 0;

        for (unsigned at = 1; at <= n; at++)
                for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                        uint64_t sum = 0;
                        Daemon d;

                        begin(&d, 0, at, FAILED, rows[k].error);
                        wait_for(&d, INSTANCE_BOUND);
                        for (Reason r = 0; r < N_REASONS; r++)
                                sum += d.counters[0].bind_failures[r];
                        assert_true(sum <= 1); /* some calls are not the binding's */
                        assert_int_equal(
                                d.counters[0].bind_failures[rows[k].reason] +
                                        d.counters[0].bind_failures[REASON_RECORD_UNWRITABLE],
                                sum);
                        n_told += (unsigned)sum;
                        end(&d);
                }
        assert_true(n_told >= 3 * ELEMENTSOF(rows));
}

TEST(masked_unit_has_its_name_in_the_sentence) {
        unsigned n_told = 0;

        for (unsigned at = 1; at <= run(0, 0, REFUSED, 0) / 4; at++) {
                Daemon d;

                begin(&d, 0, at, FAILED, ERFKILL);
                for (unsigned n = 0; n < 60; n++) { /* longer than until the next attempt */
                        daemon_pass(&d);
                        if (d.instance->binding.failure_code != REASON_UNIT_MASKED)
                                continue;
                        assert_non_null(strstr(d.instance->binding.failure,
                                               "; run systemctl unmask sequence-test.service; "));
                        n_told++;
                }
                end(&d);
        }
        assert_true(n_told > 0);
}

static void policy_set_backend(Daemon *d, PolicyBackend backend) {
        d->policy.backend = backend;
        instance_queue(d->instance, WORK_POLICY);
}

TEST(a_policy_gets_and_loses_its_backend) {
        for (size_t u = 0; u < ELEMENTSOF(units); u++) {
                Daemon d;

                begin(&d, u, 0, REFUSED, 0);
                wait_for(&d, INSTANCE_BOUND);
                policy_set_backend(&d, POLICY_BACKEND_AFFINITY);
                wait_for(&d, INSTANCE_PARTLY);
                assert_true(sets_equal(&world.properties, &world.before));
                policy_set_backend(&d, POLICY_BACKEND_AUTO);
                wait_for(&d, INSTANCE_BOUND);
                assert_bound(&d);
                request(&d, true);
                wait_for(&d, INSTANCE_RELEASED);
                assert_as_before(&d);
                end(&d);
        }
}
