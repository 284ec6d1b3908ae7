/* How many workers are waited for, and for how long. In place of a worker that another process
 * blocks, the tests stop one with SIGSTOP. */
#include "../../support/test.h"

#include "../../support/child-process.h"
#include "office.h"
#include "tidbnumad/base/array.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/child.h"

/* Starts the worker and stops it before its first job, so that it is sure to miss the deadline. */
static void stop_new_worker(Worker *worker) {
        worker_prepare(worker);
        while (!worker_is_ready(worker))
                assert_non_null(worker->child);
        stop_worker(worker);
}

/* On a busy host an answer may be late. */
static int read_args_in_the_end(Office *o, unsigned i, uid_t uid) {
        int r = read_args(o, i, uid);

        for (unsigned n = 0; n < 1000 && (r == -ETIME || r == -EBUSY); n++) {
                assert_true(sd_event_run(o->event, 10000) >= 0);
                r = read_args(o, i, uid);
        }
        return r;
}

/* The next is asked of another worker; and once it does answer, it is asked again. */
OFFICE_TEST(one_that_is_late) {
        pid_t pid;

        assert_int_equal(read_args_in_the_end(o, 0, 1), 0);
        stop_worker(&o->workers.facts);
        pid = o->workers.facts.child->pid;
        assert_int_equal(read_args(o, 0, 1), -ETIME);
        assert_null(o->workers.facts.child);
        assert_int_equal(read_args_in_the_end(o, 1, 1), 0);
        assert_int_equal(read_args(o, 0, 1), -ETIME);
        assert_non_null(o->workers.facts.child); /* it was not even tried */
        assert_int_equal(kill(pid, SIGCONT), 0);
        assert_int_equal(read_args_in_the_end(o, 0, 1), 0);
        assert_int_equal(o->n_hung, 0);
}

/* One user's processes cost so much and no more, and others are asked nevertheless. */
OFFICE_TEST(many_that_are_late) {
        for (unsigned i = 0; i < WORKER_LATE_USER_MAX; i++) {
                stop_new_worker(&o->workers.facts);
                assert_int_equal(read_args(o, i, 7), -ETIME);
        }
        assert_int_equal(read_args(o, 3, 7), -EBUSY);
        assert_int_equal(read_args_in_the_end(o, 3, 8), 0);
}

static int write_group(Office *o, unsigned i) {
        return worker_write_group(&o->workers, &o->handles[i], o->handles[i].dir_fd, "none", "1");
}

/* Writes to control groups are the daemon's own: those for some processes that are late do not keep
 * the next process from being bound, and none is asked twice. */
OFFICE_TEST(each_process_has_its_writes) {
        for (unsigned i = 0; i <= WORKER_LATE_USER_MAX; i++) {
                stop_new_worker(&o->workers.mems);
                assert_int_equal(write_group(o, i), -ETIME);
                assert_null(o->workers.mems.child); /* it was tried, and put aside */
        }
        for (unsigned i = 0; i <= WORKER_LATE_USER_MAX; i++)
                assert_int_equal(write_group(o, i), -ETIME);
        assert_null(o->workers.mems.child);
}

/* A write of a control group is known as long as it may still be done. */
OFFICE_TEST(write_that_is_late) {
        const ProcessId *id;
        pid_t pid;

        stop_new_worker(&o->workers.mems);
        pid = o->workers.mems.child->pid;
        assert_int_equal(
                worker_write_group(&o->workers, &o->handles[0], o->handles[0].dir_fd, "none", "1"),
                -ETIME);
        id = &(ProcessId){ o->children[0], o->handles[0].start_ticks };
        assert_true(workers_write_group_of(&o->workers, id));
        assert_false(workers_write_group_of(&o->workers, &(ProcessId){ o->children[1], 0 }));
        assert_int_equal(kill(pid, SIGCONT), 0);
        while (workers_write_group_of(&o->workers, id))
                assert_true(sd_event_run(o->event, 10000) >= 0);
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

/* Has a worker write node 0 to the group of the first process. The directory given to it is no
 * control group: a worker that runs returns -ESRCH. */
static int write_mems(Office *o, bool widen) {
        NodeSet nodes = { 0 };

        id_set_add(&nodes, 0);
        return worker_write_mems(&o->workers, &o->handles[0], o->handles[0].dir_fd, &nodes, widen);
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
OFFICE_TEST(workers_that_no_signal_ends) {
        for (unsigned i = 0; i < WORKER_STUCK_USER_MAX; i++)
                add_stuck(o, 7);
        assert_int_equal(read_args(o, 0, 7), -EBUSY);
        assert_int_equal(read_args_in_the_end(o, 0, 8), 0);
        assert_int_equal(draw(o), -EAGAIN);
        for (unsigned i = 0; i < WORKER_STUCK_USER_MAX; i++)
                add_stuck(o, getuid());
        while (worker_is_busy(&o->workers.sampler))
                assert_true(sd_event_run(o->event, UINT64_MAX) >= 0);
        assert_int_equal(draw(o), 0);
        assert_int_equal(draw(o), -EBUSY);
        while (o->workers.n_leaving < WORKER_STUCK_MAX)
                add_stuck(o, 9);
        assert_int_equal(read_args_in_the_end(o, 0, 8), 0); /* that worker is there */
        o->workers.facts.child = worker_child_free(o->workers.facts.child);
        assert_int_equal(read_args(o, 0, 8), -ECHILD);
        assert_int_equal(write_mems(o, true), -ESRCH); /* the guard's own worker has run it */
}

/* Those of a user; UINT32_MAX: all. */
static void be_late_since(Office *o, uint64_t usec, uid_t uid) {
        for (unsigned k = 0; k < WORKER_LATE_MAX; k++)
                if (uid == UINT32_MAX || o->workers.late[k]->uid == uid)
                        o->workers.late[k]->asked_usec = clock_monotonic_usec() - usec;
}

/* Where all places are taken, the first of them makes room after a while: it is given up and not
 * asked again. */
OFFICE_TEST(one_that_is_given_up) {
        for (unsigned i = 0; i <= WORKER_LATE_MAX; i++) {
                if (i == WORKER_LATE_MAX) {
                        be_late_since(o, 0, UINT32_MAX);
                        assert_int_equal(read_args(o, 1, 100 + i), -EBUSY);
                        be_late_since(o, 2000000, 100);
                }
                stop_new_worker(&o->workers.facts);
                assert_int_equal(read_args(o, i == 0 ? 0 : 1, 100 + i), -ETIME);
                for (unsigned k = 0; i > 0 && k < WORKER_LATE_MAX; k++)
                        if (o->workers.late[k] && o->workers.late[k]->uid == 100 + i)
                                o->workers.late[k]->process.pid = -(pid_t)i; /* another one */
        }
        assert_int_equal(o->n_hung, 1);
        assert_int_equal(o->hung.pid, o->children[0]);
        assert_int_equal(o->hung_job, WORKER_ARGS);
        assert_int_equal(o->workers.n_timeouts[WORKER_ARGS], 1);
        assert_true(workers_is_hung(&o->workers, &o->hung, WORKER_WAIT_MEMORY));
        assert_false(workers_is_hung(&o->workers, &o->hung, WORKER_WAIT_FILES));
        assert_int_equal(read_args(o, 0, 0), -EHOSTDOWN);
        workers_forget(&o->workers, o->children[0]);
        be_late_since(o, 2000000, UINT32_MAX);
        assert_int_equal(read_args_in_the_end(o, 0, 0), 0);
}

static WorkerChild *late_one(Office *o) {
        WorkerChild *late = NULL;

        for (size_t k = 0; !late && k < WORKER_LATE_MAX; k++)
                late = o->workers.late[k];
        assert_non_null(late);
        return late;
}

static void deadline_now(Office *o) {
        assert_int_equal(sd_event_source_set_time(late_one(o)->timer, clock_monotonic_usec()), 0);
        assert_true(sd_event_run(o->event, UINT64_MAX) > 0);
}

static pid_t start_spinner(void) {
        const pid_t pid = child_fork();

        while (pid == 0)
                ;
        return pid;
}

/* A worker is late, and its pid is replaced by that of a child that spins. */
static pid_t office_init_with_spinner(Office *o, pid_t *ret_worker) {
        pid_t spinner;

        office_init(o);
        stop_new_worker(&o->workers.facts);
        assert_int_equal(read_args(o, 0, 0), -ETIME);
        *ret_worker = late_one(o)->pid;
        spinner = start_spinner();
        late_one(o)->pid = spinner;
        return spinner;
}

TEST(one_that_waits_for_a_cpu) {
        _cleanup_office_ Office o;
        pid_t worker, spinner = office_init_with_spinner(&o, &worker);

        for (unsigned i = 0; i < WORKER_EXTENDED_MAX; i++) {
                deadline_now(&o);
                assert_int_equal(o.n_hung, 0);
                assert_int_equal(read_args(&o, 0, 0), -ETIME);
        }
        late_one(&o)->pid = worker; /* it is stopped: this is no want of a CPU */
        late_one(&o)->n_extended = 0;
        deadline_now(&o);
        assert_int_equal(o.n_hung, 1);
        assert_int_equal(o.hung.pid, o.children[0]);
        child_end(spinner);
}

/* The process may give it ever more to read. */
TEST(one_that_runs_for_ever) {
        _cleanup_office_ Office o;
        pid_t worker, spinner = office_init_with_spinner(&o, &worker);

        late_one(&o)->n_extended = WORKER_EXTENDED_MAX;
        deadline_now(&o);
        assert_int_equal(o.n_hung, 1);
        while (waitpid(spinner, NULL, 0) == spinner) /* killed in the worker's place */
                ;
        child_end(worker);
}

static void reap_all(Office *o) {
        while (o->workers.n_leaving > 0)
                worker_children_reap(&o->workers);
}

/* A process takes the place of a worker that the kernel holds up. */
static void hold_up(Office *o, unsigned child) {
        const WorkerLeaving leaving = { .pid = o->children[child],
                                        .stuck = true,
                                        .job = WORKER_ARGS,
                                        .process = o->hung,
                                        .since_usec = clock_monotonic_usec() };

        assert_int_equal(ARRAY_INSERT(o->workers.leaving, o->workers.n_leaving,
                                      o->workers.leaving_allocated, 0, &leaving),
                         0);
}

static void give_up(Office *o) {
        const unsigned n = o->n_hung;

        stop_new_worker(&o->workers.facts);
        assert_int_equal(read_args(o, 0, 0), -ETIME);
        while (o->n_hung == n) /* the timer of former ones may come first */
                deadline_now(o);
        reap_all(o);
        assert_int_equal(read_args(o, 0, 0), -EHOSTDOWN);
}

/* The guard still tries to widen the binding of a process whose memory map does not answer. But if
 * the abandoned job was itself a write of memory nodes, each further one would leave another worker
 * behind that cannot be killed. */
OFFICE_TEST(widening_after_an_abandoned_job) {
        give_up(o);
        assert_int_equal(write_mems(o, false), -EHOSTDOWN);
        assert_int_equal(write_mems(o, true), -ESRCH);
        workers_forget(&o->workers, o->children[0]);
        stop_new_worker(&o->workers.mems);
        assert_int_equal(write_mems(o, false), -ETIME);
        while (o->n_hung == 1)
                deadline_now(o);
        assert_int_equal(o->hung_job, WORKER_MEMS);
        assert_int_equal(write_mems(o, true), -EHOSTDOWN);
}

OFFICE_TEST(one_that_the_kernel_held_up) {
        give_up(o);
        hold_up(o, 1);
        worker_children_reap(&o->workers);
        assert_int_equal(read_args(o, 0, 0), -EHOSTDOWN); /* it is held up still */
        o->workers.leaving[0].since_usec -= WORKER_EXCUSE_USEC;
        (void)kill(o->children[1], SIGKILL);
        reap_all(o);
        o->children[1] = 0;
        assert_int_equal(read_args_in_the_end(o, 0, 0), 0);
        give_up(o); /* again: this time nothing held it up */
        o->workers.hung[0].n = WORKER_EXCUSED_MAX + 1;
        hold_up(o, 2);
        o->workers.leaving[0].since_usec -= WORKER_EXCUSE_USEC;
        (void)kill(o->children[2], SIGKILL);
        reap_all(o);
        o->children[2] = 0;
        assert_int_equal(read_args(o, 0, 0), -EHOSTDOWN); /* so often, and no more */
}

TEST_GROUP(NULL, NULL)

/* It gets no more time, as the process may wait for what it does; but it is tried again. */
OFFICE_TEST(one_that_acts_and_runs) {
        for (unsigned n = 0; n <= WORKER_EXCUSED_MAX; n++) {
                const bool last = n == WORKER_EXCUSED_MAX;
                WorkerChild *child;
                pid_t worker;

                stop_new_worker(&o->workers.mover);
                assert_int_equal(worker_sweep(&o->workers, &o->handles[0], 0, 0), -EAGAIN);
                child = o->workers.mover.child;
                worker = child->pid;
                child->pid = start_spinner();
                assert_int_equal(sd_event_source_set_time(child->timer, 0), 0);
                while (o->n_idle == n)
                        assert_true(sd_event_run(o->event, UINT64_MAX) >= 0);
                assert_null(o->workers.mover.child);
                assert_int_equal(o->n_hung, last);
                assert_int_equal(worker_probe(&o->workers, &o->handles[0], 0) == -EHOSTDOWN, last);
                child_end(worker);
        }
}

/* The loop waits so long in a turn for all processes together, and goes on in the next. */
OFFICE_TEST(a_turn_that_is_spent) {
        uint64_t begun_usec;

        assert_int_equal(read_args_in_the_end(o, 0, 1), 0);
        workers_begin_turn(&o->workers);
        stop_worker(&o->workers.facts);
        begun_usec = clock_monotonic_usec();
        assert_int_equal(read_args(o, 0, 1), -ETIME);
        assert_true(workers_turn_is_spent(&o->workers));
        for (unsigned i = 1; i < 4; i++)
                assert_int_equal(read_args(o, i, 1 + i), -EBUSY);
        assert_true(clock_monotonic_usec() - begun_usec >= WORKER_TURN_USEC - 4000);
        assert_null(o->workers.facts.child); /* they were not asked */
        workers_begin_turn(&o->workers);
        assert_false(workers_turn_is_spent(&o->workers));
        for (int r = -EBUSY; r != 0; workers_begin_turn(&o->workers)) {
                r = read_args(o, 1, 2);
                assert_true(r == 0 || r == -ETIME || r == -EBUSY);
                assert_true(sd_event_run(o->event, 1000) >= 0);
        }
}

/* What came too late is not asked for again, where the process still runs the same program. */
OFFICE_TEST(an_answer_that_is_late) {
        pid_t pid;

        assert_int_equal(read_args_in_the_end(o, 0, 1), 0);
        stop_worker(&o->workers.facts);
        pid = o->workers.facts.child->pid;
        assert_int_equal(read_args(o, 0, 1), -ETIME);
        assert_int_equal(kill(pid, SIGCONT), 0);
        while (read_args(o, 0, 1) == -ETIME)
                assert_true(sd_event_run(o->event, UINT64_MAX) >= 0);
        assert_null(o->workers.facts.child);
}

static bool is_hurried(const Office *o, uid_t uid) {
        return limits_patience_usec(&o->workers, uid) < WORKER_TURN_USEC / 2;
}

/* Slow answers count as well: in the long run one part in so many of the loop's time. */
OFFICE_TEST(a_user_who_is_waited_for) {
        (void)read_args_in_the_end(o, 0, 1);
        workers_begin_turn(&o->workers);
        limits_charge_user(&o->workers, 7, WORKER_USER_USEC / 2);
        assert_false(is_hurried(o, 7));
        limits_charge_user(&o->workers, 7, WORKER_USER_USEC);
        assert_true(is_hurried(o, 7));
        assert_false(is_hurried(o, 8));
        assert_false(is_hurried(o, NO_USER));
        assert_false(limits_refuse_user(&o->workers, 7)); /* what is there at once it gets */
        for (uid_t uid = 100; uid < 100 + 2 * WORKER_PAYERS_MAX; uid++)
                limits_charge_user(&o->workers, uid, 1000);
        assert_true(is_hurried(o, 7)); /* many who owe little do not hide one */
        while (is_hurried(o, 7))       /* it is paid back with time */
                (void)usleep(10000);
}
