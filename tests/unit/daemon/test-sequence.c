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
static void each_call_then(void (*then)(Daemon *d)) {
        for (size_t u = 0; u < ELEMENTSOF(units); u++) {
                const unsigned n = run(u, 0, REFUSED, 0) / 4;

                for (unsigned at = 1; at <= n; at++)
                        for (Fault f = 0; f < N_FAULTS; f++) {
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
        each_call_then(release_behind_it);
}

TEST(started_anew_while_a_call_is_under_way) {
        each_call_then(start_behind_it);
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
