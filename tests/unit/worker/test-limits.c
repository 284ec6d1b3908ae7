/* What processes that do not answer cost others. In place of a worker that another process blocks,
 * the tests stop one with SIGSTOP. */
#include "../../support/test.h"

#include "../../support/child-process.h"
#include "office.h"
#include "tidbnumad/worker/child.h"

/* A deadline of 10 s passes in this part of it. */
enum { HURRY = 40, DEADLINE_MSEC = 10000 / HURRY };

enum { STAND_IN = OFFICE_CHILDREN - 1 }; /* whom another user asks about */

static bool is_running;  /* a worker at its deadline waits for a CPU only */
static bool none_ends;   /* though it was killed */
static bool office_ends; /* but the test has */

bool __real_worker_child_is_running(const WorkerChild *child);
bool __wrap_worker_child_is_running(const WorkerChild *child);
/* On a busy host those that are not stopped may well wait for a CPU. */
bool __wrap_worker_child_is_running(const WorkerChild *child) {
        return is_running || __real_worker_child_is_running(child);
}

pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options) {
        return options == WNOHANG && none_ends && !office_ends
                       ? 0
                       : __real_waitpid(pid, status, options);
}

static void limits_init(Office *o) {
        is_running = none_ends = office_ends = false;
        office_init(o);
        workers_hurry(o->workers, HURRY);
}

static void limits_done(Office *o) {
        office_ends = true;
        office_done(o);
}
#define LIMITS_TEST(test) TEST_WITH(test, Office, o, limits_init, limits_done)

static void turns(Office *o, unsigned msec) {
        const uint64_t end = clock_monotonic_usec() + msec * UINT64_C(1000);

        while (clock_monotonic_usec() < end)
                office_pass(o);
}

/* Those that are there take no further job; the next job is sure to go to one of them first. */
static void stop_workers(Office *o) {
        assert_int_equal(IN_THE_END(o, read_args(o, STAND_IN, 99)), 0);
        assert_true(signal_workers(SIGSTOP) > 0);
        workers_begin_pass(o->workers, true);
}

/* The next is asked of another worker; and what comes late in the end is not asked for again. */
OFFICE_TEST(one_that_is_late) {
        stop_workers(o);
        assert_int_equal(read_args(o, 0, 1), -EAGAIN);
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 1)), 0);
        turns(o, 50);
        assert_int_equal(read_args(o, 0, 1), -EAGAIN);
        o->n_answers = 0;
        (void)signal_workers(SIGCONT);
        while (o->n_answers == 0)
                office_pass(o);
        assert_int_equal(o->answered[0], o->children[0]);
        while (signal_workers(0) > 1) /* one is enough again */
                office_pass(o);
        (void)signal_workers(SIGSTOP);
        assert_int_equal(read_args(o, 0, 1), 0); /* it was there */
        assert_int_equal(o->n_hung, 0);
}

/* It may have been the command line of the program before. */
static int on_other_event(_unused_ sd_event_source *source, _unused_ void *userdata) {
        return 0;
}

/* As after a pause of the whole host: the answer is there, and the loop comes to it behind another
 * event and after the deadline. */
OFFICE_TEST(a_loop_that_is_late) {
        workers_hurry(o->workers, 100);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 1)), 0);
        (void)signal_workers(SIGSTOP);
        workers_begin_pass(o->workers, true);
        assert_int_equal(read_args(o, 1, 1), -EAGAIN);
        (void)signal_workers(SIGCONT);
        (void)usleep(400000);
        assert_int_equal(sd_event_add_defer(o->event, NULL, on_other_event, NULL), 0);
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 1)), 0);
        assert_int_equal(o->n_hung, 0);
}

/* It was as paused as the loop, and has its answer only afterwards. */
OFFICE_TEST(a_loop_and_a_worker_that_are_late) {
        workers_hurry(o->workers, 100);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 1)), 0);
        (void)signal_workers(SIGSTOP);
        workers_begin_pass(o->workers, true);
        assert_int_equal(read_args(o, 1, 1), -EAGAIN);
        (void)usleep(1500000);
        assert_true(sd_event_run(o->event, 0) >= 0);
        (void)signal_workers(SIGCONT);
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 1)), 0);
        assert_int_equal(o->n_hung, 0);
}

OFFICE_TEST(one_that_is_late_for_another_program) {
        stop_workers(o);
        assert_int_equal(read_args(o, 0, 1), -EAGAIN);
        workers_forget(o->workers, o->children[0]);
        (void)signal_workers(SIGCONT);
        o->n_answers = 0;
        while (o->n_answers == 0)
                office_pass(o);
        (void)signal_workers(SIGSTOP);
        assert_int_equal(read_args(o, 0, 1), -EAGAIN);
}

/* One user's processes cost so much and no more, and others are asked nevertheless. */
OFFICE_TEST(many_that_are_late) {
        for (unsigned i = 0; i < WORKER_LATE_USER_MAX; i++) {
                stop_workers(o);
                assert_int_equal(read_args(o, i, 7), -EAGAIN);
                turns(o, 50);
        }
        assert_int_equal(read_args(o, 3, 7), -EAGAIN);
        turns(o, 100);
        assert_int_equal(read_args(o, 3, 7), -EAGAIN);
        assert_int_equal(IN_THE_END(o, read_args(o, 4, 8)), 0);
        assert_int_equal(read_args(o, 3, 7), -EAGAIN);
}

static bool users_take_turns(void) {
        static const unsigned order[] = { 4, 1, 5, 2, 3 };
        _cleanup_office_ Office o;
        bool as_ordered = true;

        office_init(&o);
        stop_workers(&o);
        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(read_args(&o, i, 7), -EAGAIN);
        assert_int_equal(read_args(&o, 4, 8), -EAGAIN);
        assert_int_equal(read_args(&o, 5, 8), -EAGAIN);
        o.n_answers = 0;
        while (o.n_answers < ELEMENTSOF(order))
                office_pass(&o);
        for (unsigned i = 0; i < ELEMENTSOF(order); i++)
                as_ordered &= o.answered[i] == o.children[order[i]];
        return as_ordered;
}

/* Whoever has asked for much waits for those who have asked for little. On a busy host the worker
 * that answers may be late itself, and the next one overtakes it. */
TEST(users_take_turns) {
        bool as_ordered = false;

        for (unsigned i = 0; i < 5 && !as_ordered; i++)
                as_ordered = users_take_turns();
        assert_true(as_ordered);
}

/* As many as may be asked for at once. */
OFFICE_TEST(a_queue_that_is_full) {
        WorkerRequest request = { .job = WORKER_STORAGE };
        WorkerReply reply;

        stop_workers(o);
        for (unsigned i = 0; i < WORKER_TICKETS_USER_MAX; i++) {
                (void)snprintf(request.path, sizeof(request.path), "/%u", i);
                assert_int_equal(
                        workers_ask(o->workers, &request, &o->handles[0], 7, false, &reply),
                        -EAGAIN);
        }
        (void)strcpy(request.path, "/more");
        assert_int_equal(workers_ask(o->workers, &request, &o->handles[0], 7, false, &reply),
                         -EBUSY);
        assert_int_equal(read_args(o, 1, 8), -EAGAIN);
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 8)), 0);
}

/* The loop waits so long in a turn for all processes together. */
OFFICE_TEST(a_turn_that_is_spent) {
        uint64_t begun_usec;

        stop_workers(o);
        begun_usec = clock_monotonic_usec();
        for (unsigned i = 0; i < 4; i++)
                assert_int_equal(read_args(o, i, 1 + i), -EAGAIN);
        assert_true(clock_monotonic_usec() - begun_usec >= WORKER_PASS_USEC);
        assert_true(clock_monotonic_usec() - begun_usec < 3 * WORKER_LATE_USEC);
}

/* --- given up --- */

/* Where all are taken, the first of them makes room after a while: it is given up and not asked
 * again. */
OFFICE_TEST(one_that_is_given_up) {
        const uint64_t begun_usec = clock_monotonic_usec();

        for (unsigned i = 0; i < 8; i++) {
                stop_workers(o);
                assert_int_equal(read_args(o, i, 100 + i), -EAGAIN);
                turns(o, 30);
        }
        assert_int_equal(o->n_hung, 0);
        assert_int_equal(IN_THE_END(o, read_args(o, 8, 200)), 0);
        assert_int_equal(o->n_hung, 1);
        assert_true(clock_monotonic_usec() - begun_usec <
                    worker_jobs[WORKER_ARGS].deadline_usec / 2);
        assert_int_equal(o->hung.pid, o->children[0]);
        assert_int_equal(o->hung_job, WORKER_ARGS);
        assert_int_equal(workers_count_timeouts(o->workers, WORKER_ARGS), 1);
        assert_true(workers_is_hung(o->workers, &o->hung, WORKER_WAIT_MEMORY));
        assert_false(workers_is_hung(o->workers, &o->hung, WORKER_WAIT_FILES));
        assert_int_equal(read_args(o, 0, 0), -EHOSTDOWN);
        workers_forget(o->workers, o->children[0]);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 0)), 0);
}

static void give_up(Office *o, unsigned i, uid_t uid) {
        const unsigned n = o->n_hung;

        stop_workers(o);
        assert_int_equal(read_args(o, i, uid), -EAGAIN);
        while (o->n_hung == n)
                office_pass(o);
        assert_int_equal(o->hung.pid, o->children[i]);
        assert_int_equal(read_args(o, i, uid), -EHOSTDOWN);
}

/* What waits for the same process is not tried after that. */
LIMITS_TEST(one_behind_one_that_is_given_up) {
        stop_workers(o);
        assert_int_equal(read_args(o, 0, 0), -EAGAIN);
        assert_int_equal(worker_probe(o->workers, &o->handles[0], 0), -EAGAIN);
        while (o->n_hung == 0)
                office_pass(o);
        (void)signal_workers(SIGSTOP);
        assert_int_equal(worker_probe(o->workers, &o->handles[0], 0), -EHOSTDOWN);
}

LIMITS_TEST(one_that_waits_for_a_cpu) {
        is_running = true;
        stop_workers(o);
        assert_int_equal(read_args(o, 0, 0), -EAGAIN);
        turns(o, DEADLINE_MSEC * WORKER_EXTENDED_MAX);
        assert_int_equal(o->n_hung, 0);
        is_running = false; /* it is stopped: this is no want of a CPU */
        turns(o, 2 * DEADLINE_MSEC);
        assert_int_equal(o->n_hung, 1);
}

/* The process may give it ever more to read. */
LIMITS_TEST(one_that_runs_for_ever) {
        is_running = true;
        stop_workers(o);
        assert_int_equal(read_args(o, 0, 0), -EAGAIN);
        turns(o, DEADLINE_MSEC * (WORKER_EXTENDED_MAX + 2));
        assert_int_equal(o->n_hung, 1);
}

/* It gets no more time, as the process may wait for what it does; but it is tried again. */
LIMITS_TEST(one_that_acts_and_runs) {
        is_running = true;
        for (unsigned n = 0; n <= WORKER_EXCUSED_MAX; n++) {
                const bool last = n == WORKER_EXCUSED_MAX;

                assert_true(IN_THE_END(o, worker_sweep(o->workers, &o->handles[1], 0, 0)) >= 0);
                (void)signal_workers(SIGSTOP);
                assert_int_equal(worker_sweep(o->workers, &o->handles[0], 0, 0), -EAGAIN);
                while (workers_are_busy(o->workers, WORKER_SWEEP))
                        office_pass(o);
                assert_int_equal(o->n_hung, last);
                assert_int_equal(
                        workers_is_hung(o->workers,
                                        &(ProcessId){ o->children[0], o->handles[0].start_ticks },
                                        WORKER_WAIT_MEMORY),
                        last);
        }
}

/* --- those that no signal ends --- */

/* Each is a task of the unit, which may have so many: one user's cost him the next, many cost all
 * but the guard. The directory given to the guard is no control group: one that runs returns
 * -ESRCH.
 */
LIMITS_TEST(workers_that_no_signal_ends) {
        NodeSet nodes = { 0 };

        id_set_add(&nodes, 0);
        none_ends = true;
        for (unsigned i = 0; i < WORKER_STUCK_MAX; i++) {
                const uid_t uid = 7 + i / WORKER_STUCK_USER_MAX;

                assert_int_equal(IN_THE_END(o, read_args(o, STAND_IN, 99)), 0);
                give_up(o, 0, uid);
                workers_forget(o->workers, o->children[0]);
                if (i % WORKER_STUCK_USER_MAX == WORKER_STUCK_USER_MAX - 1)
                        assert_int_equal(read_args(o, 1, uid), -EBUSY);
        }
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 6)), -ECHILD);
        assert_int_equal(
                worker_write_mems(o->workers, &o->handles[0], o->handles[0].dir_fd, &nodes, true),
                -ESRCH);
}

LIMITS_TEST(one_that_the_kernel_held_up) {
        none_ends = true;
        give_up(o, 0, 0);
        turns(o, 2100);
        assert_int_equal(read_args(o, 0, 0), -EHOSTDOWN); /* it is held up still */
        none_ends = false;
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 0)), 0);
        for (unsigned n = 0; n < 200 && read_args(o, 0, 0) == -EHOSTDOWN; n++)
                office_pass(o);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 0)), 0);
        give_up(o, 0, 0); /* again: this time nothing held it up */
        turns(o, 1500);
        assert_int_equal(read_args(o, 0, 0), -EHOSTDOWN);
}

/* --- writes --- */

/* A folder in which a FIFO without a reader takes the place of a write that waits for a lock. */
typedef struct Group {
        char path[32];
        int fd;
} Group;

static Group group_new(const char *fifo) {
        Group g = { .path = "/tmp/test-limits-XXXXXX" };

        assert_non_null(mkdtemp(g.path));
        g.fd = open(g.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(mkfifoat(g.fd, fifo, 0600), 0);
        return g;
}

static void group_end(Group *g, const char *fifo) {
        (void)unlinkat(g->fd, fifo, 0);
        (void)close(g->fd);
        (void)rmdir(g->path);
}

/* Writes to control groups are the daemon's own: those for some processes that are late do not keep
 * the next process from being bound, and none is asked twice. */
OFFICE_TEST(each_process_has_its_writes) {
        Group g = group_new("cpuset.cpus");

        workers_begin_pass(o->workers, true);
        for (unsigned i = 0; i < 5; i++)
                assert_int_equal(
                        worker_write_group(o->workers, &o->handles[i], g.fd, "cpuset.cpus", "1"),
                        -ETIME);
        assert_int_equal(worker_write_group(o->workers, &o->handles[0], g.fd, "cpuset.cpus", "1"),
                         -ETIME);
        assert_int_equal(worker_write_group(o->workers, &o->handles[5], g.fd, "cpuset.cpus", "1"),
                         -EBUSY);
        group_end(&g, "cpuset.cpus");
}

/* A write of a control group is known as long as it may still be done. */
OFFICE_TEST(write_that_is_late) {
        const ProcessId id = { o->children[0], o->handles[0].start_ticks };
        Group g = group_new("cpuset.cpus");
        int fd;

        workers_begin_pass(o->workers, true);
        assert_int_equal(worker_write_group(o->workers, &o->handles[0], g.fd, "cpuset.cpus", "1"),
                         -ETIME);
        assert_true(workers_write_group_of(o->workers, &id));
        assert_false(workers_write_group_of(o->workers, &(ProcessId){ o->children[1], 0 }));
        fd = openat(g.fd, "cpuset.cpus", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        while (workers_write_group_of(o->workers, &id))
                office_pass(o);
        (void)close(fd);
        group_end(&g, "cpuset.cpus");
}

/* Somebody else holds the kernel's lock of all control groups: who waits for it is not blamed, and
 * no further child is sent after it, also not when the first was given up and does not end. */
LIMITS_TEST(join_that_hangs) {
        const ProcessId id = { o->children[0], o->handles[0].start_ticks };
        Group g = group_new("cpuset.cpus");
        Member members[3];
        CpuSet cpus = { 0 };
        uint64_t reuses = 0;
        int fd, refused, r;

        workers_hurry(o->workers, 15); /* 4 s, beyond WORKER_JOIN_USEC */
        for (unsigned i = 0; i < ELEMENTSOF(members); i++)
                members[i] = (Member){
                        .process = { .id = { o->children[i], o->handles[i].start_ticks },
                                     .uid = 1 },
                        .handle = &o->handles[i],
                };
        id_set_add(&cpus, 0);
        fd = openat(g.fd, "cpuset.cpus", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        do { /* now there is a child for writes, which takes the next one */
                r = worker_write_group(o->workers, &o->handles[2], g.fd, "cpuset.cpus", "1");
                office_pass(o);
        } while (r == -ETIME);
        assert_int_equal(r, 0);
        assert_true(signal_workers(SIGSTOP) > 0);
        none_ends = true;
        assert_int_equal(worker_join_group(o->workers, &members[0], "x", &cpus), 0);
        assert_int_equal(worker_join_group(o->workers, &members[0], "x", &cpus), 0);
        assert_true(workers_write_group_of(o->workers, &id));
        turns(o, WORKER_OWN_USEC / 1000 + 10); /* it may take longer than what the loop waits for */
        assert_int_not_equal(worker_join_group(o->workers, &members[2], "x", &cpus), -ETIME);
        turns(o, WORKER_JOIN_USEC / 1000 + 10);
        assert_int_equal(worker_join_group(o->workers, &members[1], "x", &cpus), -ETIME);
        while (o->n_hung == 0)
                office_pass(o);
        assert_int_equal(o->hung_job, WORKER_MAKE_GROUP);
        assert_int_equal(worker_take_joined(o->workers, &id, &reuses, &refused), -EHOSTDOWN);
        assert_int_equal(refused, 0);
        assert_false(workers_is_hung(o->workers, &id, WORKER_WAIT_MEMORY));
        assert_true(workers_write_group_of(o->workers, &id));
        assert_int_equal(worker_join_group(o->workers, &members[1], "x", &cpus), -ETIME);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 1)), 0);
        (void)close(fd);
        group_end(&g, "cpuset.cpus");
}

/* The guard still tries to widen the binding of a process whose memory map does not answer. But if
 * the abandoned job was itself a write of memory nodes, each further one would leave another worker
 * behind that cannot be killed. */
LIMITS_TEST(widening_after_an_abandoned_job) {
        Group g = group_new("cpuset.mems");
        const int no_group = o->handles[0].dir_fd;
        NodeSet nodes = { 0 };

        id_set_add(&nodes, 0);
        give_up(o, 0, 0);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[0], no_group, &nodes, false),
                         -EHOSTDOWN);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[0], no_group, &nodes, true),
                         -ESRCH);
        workers_forget(o->workers, o->children[0]);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[0], g.fd, &nodes, false),
                         -ETIME);
        while (o->n_hung == 1)
                office_pass(o);
        assert_int_equal(o->hung_job, WORKER_MEMS);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[0], no_group, &nodes, true),
                         -EHOSTDOWN);
        group_end(&g, "cpuset.mems");
}

TEST_GROUP(NULL, NULL)
