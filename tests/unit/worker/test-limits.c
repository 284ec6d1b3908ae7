/* How many workers are waited for, and for how long. One that is stopped stands for one that waits
 * for somebody else. */
#include <errno.h>
#include <string.h>

#include "../../support/test.h"

#include "office.h"
#include "tidbnumad/base/array.h"
#include "tidbnumad/sys/clock.h"

/* The next is asked of another worker; and once it does answer, it is asked again. */
TEST(one_that_is_late) {
        _cleanup_office_ Office o;
        pid_t pid;

        office_init(&o);
        assert_int_equal(read_args(&o, 0, 1), 0);
        stop_worker(&o.workers.facts);
        pid = o.workers.facts.child->pid;
        assert_int_equal(read_args(&o, 0, 1), -ETIME);
        assert_null(o.workers.facts.child);
        assert_int_equal(read_args(&o, 1, 1), 0);
        assert_int_equal(read_args(&o, 0, 1), -ETIME);
        assert_non_null(o.workers.facts.child); /* it was not even tried */
        assert_int_equal(kill(pid, SIGCONT), 0);
        for (unsigned n = 0; n < 1000 && read_args(&o, 0, 1) == -ETIME; n++)
                assert_true(sd_event_run(o.event, 10000) >= 0);
        assert_int_equal(read_args(&o, 0, 1), 0);
        assert_int_equal(o.n_hung, 0);
}

/* One user's processes cost so much and no more, and others are asked nevertheless. */
TEST(many_that_are_late) {
        _cleanup_office_ Office o;

        office_init(&o);
        for (unsigned i = 0; i < WORKER_LATE_USER_MAX; i++) {
                assert_int_equal(worker_probe(&o.workers, &o.handles[3], 7), 0);
                stop_worker(&o.workers.facts);
                assert_int_equal(read_args(&o, i, 7), -ETIME);
        }
        assert_int_equal(read_args(&o, 3, 7), -EBUSY);
        assert_int_equal(read_args(&o, 3, 8), 0);
}

/* Those that no signal ends, as far as anybody can see. */
static void add_stuck(Office *o, uid_t uid) {
        const WorkerLeaving stuck = {
                .pid = o->children[3], .stuck = true, .uid = uid, .job = WORKER_DRAW
        };

        assert_int_equal(ARRAY_INSERT(o->workers.leaving, o->workers.n_leaving,
                                      o->workers.leaving_allocated, 0, &stuck),
                         0);
}

static int draw(Office *o) {
        Node node = { .id = 0 };
        const Topology topology = { .nodes = &node, .n_nodes = 1 };
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t cpu_usec;

        return worker_draw(&o->workers, &topology, &o->handles[0], 16, 1, &draws, &cpu_usec);
}

/* Each is a task of the unit, which may have so many: one user's cost him the next, many cost all
 * but the guard. */
TEST(workers_that_no_signal_ends) {
        _cleanup_office_ Office o;
        NodeSet nodes = { 0 };

        office_init(&o);
        for (unsigned i = 0; i < WORKER_STUCK_USER_MAX; i++)
                add_stuck(&o, 7);
        assert_int_equal(read_args(&o, 0, 7), -EBUSY);
        assert_int_equal(read_args(&o, 0, 8), 0);
        assert_int_equal(draw(&o), -EAGAIN);
        for (unsigned i = 0; i < WORKER_STUCK_USER_MAX; i++)
                add_stuck(&o, getuid());
        while (worker_is_busy(&o.workers.sampler))
                assert_true(sd_event_run(o.event, UINT64_MAX) >= 0);
        assert_int_equal(draw(&o), 0);
        assert_int_equal(draw(&o), -EBUSY);
        while (o.workers.n_leaving < WORKER_STUCK_MAX)
                add_stuck(&o, 9);
        assert_int_equal(read_args(&o, 0, 8), 0); /* that worker is there */
        o.workers.facts.child = worker_child_free(o.workers.facts.child);
        assert_int_equal(read_args(&o, 0, 8), -ECHILD);
        id_set_add(&nodes, 0);
        assert_int_equal(
                worker_write_mems(&o.workers, &o.handles[0], o.handles[0].dir_fd, &nodes, true),
                -ESRCH); /* by the guard, who finds no control group there */
}

/* Those of a user; UINT32_MAX: all. */
static void be_late_since(Office *o, uint64_t usec, uid_t uid) {
        for (unsigned k = 0; k < WORKER_LATE_MAX; k++)
                if (uid == UINT32_MAX || o->workers.late[k]->uid == uid)
                        o->workers.late[k]->deadline_usec = clock_monotonic_usec() - usec +
                                                            worker_job_deadline_usec(WORKER_ARGS);
}

/* Where all places are taken, the first of them makes room after a while: it is given up and not
 * asked again. */
TEST(one_that_is_given_up) {
        _cleanup_office_ Office o;

        office_init(&o);
        for (unsigned i = 0; i <= WORKER_LATE_MAX; i++) {
                if (i == WORKER_LATE_MAX) {
                        be_late_since(&o, 0, UINT32_MAX);
                        assert_int_equal(read_args(&o, 1, 100 + i), -EBUSY);
                        be_late_since(&o, 2000000, 100);
                }
                assert_int_equal(worker_probe(&o.workers, &o.handles[3], 100 + i), 0);
                stop_worker(&o.workers.facts);
                assert_int_equal(read_args(&o, i == 0 ? 0 : 1, 100 + i), -ETIME);
                for (unsigned k = 0; i > 0 && k < WORKER_LATE_MAX; k++)
                        if (o.workers.late[k] && o.workers.late[k]->uid == 100 + i)
                                o.workers.late[k]->process.pid = -(pid_t)i; /* another one */
        }
        assert_int_equal(o.n_hung, 1);
        assert_int_equal(o.hung.pid, o.children[0]);
        assert_int_equal(o.hung_job, WORKER_ARGS);
        assert_int_equal(o.workers.n_timeouts[WORKER_ARGS], 1);
        assert_true(workers_is_hung(&o.workers, &o.hung, WORKER_WAIT_MEMORY));
        assert_false(workers_is_hung(&o.workers, &o.hung, WORKER_WAIT_FILES));
        assert_int_equal(read_args(&o, 0, 0), -EHOSTDOWN);
        workers_forget(&o.workers, o.children[0]);
        be_late_since(&o, 2000000, UINT32_MAX);
        assert_int_equal(read_args(&o, 0, 0), 0);
}

TEST_GROUP(NULL, NULL)
