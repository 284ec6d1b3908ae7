/* Workers that answer, that do not in time, and that end. In place of a worker that another process
 * blocks, the tests stop one with SIGSTOP. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "../../support/test.h"

#include "office.h"

OFFICE_TEST(facts_are_those_of_the_process) {
        _cleanup_process_ Process process = { 0 }, same = { 0 };
        char policy[256];

        assert_int_equal(process_read_args(&o->handles[0], &same), 0);
        assert_int_equal(IN_THE_END(o, worker_read_args(o->workers, &o->handles[0], &process)), 0);
        assert_string_equal(process.args, same.args);
        assert_int_equal(IN_THE_END(o, worker_check_mounts(o->workers, &o->sysroot, &o->handles[0],
                                                           &process)),
                         0);
        assert_int_equal(process.foreign, FOREIGN_NONE);
        assert_int_equal(IN_THE_END(o, worker_probe(o->workers, &o->handles[0], 0)), 0);
        assert_int_equal(IN_THE_END(o, worker_read_memory_policy(o->workers, &o->handles[0], 0,
                                                                 policy, sizeof(policy))),
                         0);
        assert_string_equal(policy, "default");
}

OFFICE_TEST(where_a_directory_is) {
        _cleanup_storage_devices_ StorageDevices here = { 0 }, there = { 0 };
        _cleanup_free_ char *data_dir = NULL;
        const CpuSet any = { 0 };

        const Member member = { .handle = &o->handles[0] };
        const Members members = { .sysroot = &o->sysroot, .list = &member, .n = 1 };
        const int r = members_read_storage(&members, "/", &here);

        assert_int_equal(IN_THE_END(o, worker_read_storage(o->workers, &members, "/", &there)), r);
        assert_true(r < 0 || strcmp(here.chain, there.chain) == 0);
        assert_true(id_set_equal(&here.nodes, &there.nodes));
        assert_int_equal(IN_THE_END(o, worker_read_data_dir(o->workers, &members, &any, &data_dir)),
                         -ENODATA);
}

TEST(ports) {
        _cleanup_office_ Office o;
        _cleanup_listen_ports_ ListenPorts ports = { 0 };
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in address = { .sin_family = AF_INET };
        socklen_t length = sizeof(address);

        assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
        office_init(&o); /* its processes have the socket as well */
        Member list[] = { { .handle = &o.handles[0] }, { .handle = &o.handles[1] } };
        const Members members = { .sysroot = &o.sysroot, .list = list, .n = 2 };

        assert_int_equal(IN_THE_END(&o, worker_read_ports(o.workers, &members, &ports)), 0);
        assert_int_equal(ports.n_ports, 1);
        assert_int_equal(ports.ports[0], ntohs(address.sin_port));
        listen_ports_done(&ports);
        end_child(&o, 0); /* the other one is asked nevertheless */
        assert_int_equal(IN_THE_END(&o, worker_read_ports(o.workers, &members, &ports)), 0);
        assert_int_equal(ports.n_ports, 1);
        listen_ports_done(&ports);
        (void)signal_workers(SIGSTOP);
        workers_begin_pass(o.workers, true);
        assert_int_equal(worker_read_ports(o.workers, &members, &ports), -EAGAIN);
        (void)signal_workers(SIGCONT);
        assert_int_equal(IN_THE_END(&o, worker_read_ports(o.workers, &members, &ports)), 0);
        assert_int_equal(ports.n_ports, 1);
        (void)close(fd);
}

/* A name service that does not answer is asked again: it is of no process. */
OFFICE_TEST(users) {
        uid_t uid = 1;

        assert_int_equal(worker_look_up_user(o->workers, &o->sysroot, "root", &uid), 0);
        assert_int_equal(uid, 0);
        assert_int_equal(worker_look_up_user(o->workers, &o->sysroot, "1234567", &uid), 0);
        assert_int_equal(uid, 1234567);
        assert_int_equal(signal_workers(0), 0); /* no worker was needed for these */
        workers_hurry(o->workers, 100);
        assert_int_equal(worker_look_up_user(o->workers, &o->sysroot, "no-such-user-here", &uid),
                         -ENOENT);
        (void)signal_workers(SIGSTOP);
        workers_begin_pass(o->workers, true);
        assert_int_equal(worker_look_up_user(o->workers, &o->sysroot, "no-such-user-here", &uid),
                         -ETIME);
        while (o->n_hung == 0)
                office_pass(o);
        assert_int_equal(o->hung_job, WORKER_USER);
        assert_int_equal(worker_look_up_user(o->workers, &o->sysroot, "no-such-user-here", &uid),
                         -ENOENT);
}

static void fill(int dir_fd, const char *name, const char *text) {
        int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        (void)close(fd);
}

/* A folder takes the place of a control group, in which a FIFO keeps the first one waiting: the
 * second one writes for the next process, at once. */
OFFICE_TEST(memory_nodes) {
        char folder[] = "/tmp/test-worker-XXXXXX", text[64];
        NodeSet nodes = { 0 };
        int fd, r = 0;

        assert_non_null(mkdtemp(folder));
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fill(fd, "cpuset.mems", "\n");
        fill(fd, "cpuset.mems.effective", "0\n");
        id_set_add(&nodes, 1);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[0], fd, &nodes, false), 0);
        assert_true(path_read(fd, text, sizeof(text), "cpuset.mems") > 0);
        assert_string_equal(text, "1");

        assert_int_equal(unlinkat(fd, "cpuset.mems", 0), 0);
        assert_int_equal(mkfifoat(fd, "cpuset.mems", 0600), 0);
        workers_prepare_guard(o->workers);
        workers_begin_pass(o->workers, true);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[0], fd, &nodes, true), -ETIME);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[0], fd, &nodes, true), -ETIME);
        assert_int_equal(unlinkat(fd, "cpuset.mems", 0), 0);
        fill(fd, "cpuset.mems", "0\n");
        workers_begin_pass(o->workers, true);
        /* The kernel's file does not change here. */
        assert_int_equal(worker_write_mems(o->workers, &o->handles[1], fd, &nodes, true), -ENODEV);
        /* Nor is the first process left to it: after a second another one takes over. */
        for (unsigned n = 0; n < 100 && (n == 0 || r == -ETIME); n++, (void)usleep(100000))
                r = worker_write_mems(o->workers, &o->handles[0], fd, &nodes, true);
        assert_int_equal(r, -ENODEV);
        end_child(o, 2);
        assert_int_equal(worker_write_mems(o->workers, &o->handles[2], fd, &nodes, true), -ESRCH);
        (void)unlinkat(fd, "cpuset.mems", 0);
        (void)unlinkat(fd, "cpuset.mems.effective", 0);
        (void)close(fd);
        (void)rmdir(folder);
}

/* A fact of the process is late. The guard widens it at once, with all the tries that it has. */
OFFICE_TEST(memory_nodes_beside_a_late_fact) {
        NodeSet nodes = { 0 };

        id_set_add(&nodes, 1);
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 1)), 0);
        (void)signal_workers(SIGSTOP);
        workers_begin_pass(o->workers, true);
        assert_int_equal(read_args(o, 0, 1), -EAGAIN);
        assert_int_equal(
                worker_write_mems(o->workers, &o->handles[0], o->handles[0].dir_fd, &nodes, false),
                -ETIME);
        workers_begin_pass(o->workers, true);
        assert_int_equal(
                worker_write_mems(o->workers, &o->handles[0], o->handles[0].dir_fd, &nodes, true),
                -ESRCH); /* no control group there, which the guard has found out */
}

/* A FIFO without a reader takes the place of a write that waits for a lock: it is not waited for,
 * and what another process needs is written meanwhile. */
OFFICE_TEST(control_groups) {
        char folder[] = "/tmp/test-worker-XXXXXX", text[64], huge[ID_SET_LIST_MAX + 1];
        int fd;

        assert_non_null(mkdtemp(folder));
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fill(fd, "cpuset.cpus", "\n");
        assert_int_equal(mkfifoat(fd, "cgroup.procs", 0600), 0);
        assert_int_equal(worker_write_group(o->workers, &o->handles[0], fd, "cgroup.procs", "1"),
                         -ETIME);
        assert_int_equal(worker_write_group(o->workers, &o->handles[0], fd, "cpuset.cpus", "0-3"),
                         -ETIME); /* the process is waited for */
        workers_begin_pass(o->workers, true);
        assert_int_equal(worker_write_group(o->workers, &o->handles[1], fd, "cpuset.cpus", "0-3"),
                         0);
        assert_true(path_read(fd, text, sizeof(text), "cpuset.cpus") > 0);
        assert_string_equal(text, "0-3");
        assert_int_equal(worker_write_group(o->workers, &o->handles[1], fd, "no.such.file", "0"),
                         -ENOENT);
        memset(huge, '0', sizeof(huge) - 1);
        huge[sizeof(huge) - 1] = '\0';
        assert_int_equal(worker_write_group(o->workers, &o->handles[1], fd, "cpuset.cpus", huge),
                         -ENAMETOOLONG);
        end_child(o, 2);
        assert_int_equal(worker_write_group(o->workers, &o->handles[2], fd, "cpuset.cpus", "0"),
                         -ESRCH);
        (void)unlinkat(fd, "cgroup.procs", 0);
        (void)unlinkat(fd, "cpuset.cpus", 0);
        (void)close(fd);
        (void)rmdir(folder);
}

/* The number may be another's by then. */
OFFICE_TEST(a_process_that_has_ended) {
        end_child(o, 0);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 0)), -ESRCH);
        o->handles[1].start_ticks++;
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 0)), -ESRCH);
        assert_int_equal(IN_THE_END(o, read_args(o, 2, 0)), 0);
}

OFFICE_TEST(a_worker_that_ends) {
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 0)), 0);
        (void)signal_workers(SIGKILL);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 0)), -ECHILD);
        assert_int_equal(IN_THE_END(o, read_args(o, 0, 0)), 0);
        assert_int_equal(o->n_hung, 0);
}

/* --- one at a time --- */

static int step(Office *o, unsigned i, uint64_t pass, MoverCounters *counters) {
        const WorkerMove move = { .pass = pass };
        const CpuSet any = { 0 };
        NodeSet nodes = { 0 };
        uint64_t bytes;

        id_set_add(&nodes, 0);
        return worker_move(o->workers, &o->handles[i], &move, &nodes, &any, counters, &bytes);
}

static int await_step(Office *o, unsigned i, uint64_t pass, MoverCounters *counters) {
        int r = -EAGAIN;

        for (unsigned n = 0; n < 1000 && (r = step(o, i, pass, counters)) == -EAGAIN; n++)
                assert_true(sd_event_run(o->event, 10000) >= 0);
        return r;
}

OFFICE_TEST(a_pass_of_the_mover_goes_on_from_step_to_step) {
        MoverCounters counters = { 0 };
        unsigned n = 0;
        int r;

        while ((r = await_step(o, 0, 1, &counters)) > 0)
                assert_true(++n < 10000);
        assert_int_equal(r, 0);
        assert_true(n > 1); /* the survey, and the walk */
        assert_true(o->n_answers > 0);
}

/* A node's memory takes its time: others go on, and it has a deadline all the same. */
OFFICE_TEST(a_node_moved_at_once) {
        assert_int_equal(worker_migrate(o->workers, &o->handles[0], 0, 0), -EAGAIN);
        while (o->n_answers == 0)
                office_pass(o);
        assert_int_equal(worker_migrate(o->workers, &o->handles[0], 0, 0), 0);
        (void)signal_workers(SIGSTOP);
        workers_hurry(o->workers, 3600); /* half a second */
        assert_int_equal(worker_migrate(o->workers, &o->handles[0], 0, 0), -EAGAIN);
        workers_hurry(o->workers, 1);
        assert_int_equal(worker_migrate(o->workers, &o->handles[1], 0, 0), -EAGAIN);
        assert_true(workers_are_busy(o->workers, WORKER_ONCE));
        assert_int_equal(IN_THE_END(o, read_args(o, 1, 0)), 0);
        while (o->n_hung == 0)
                office_pass(o);
        assert_int_equal(o->hung_job, WORKER_ONCE);
        assert_int_equal(worker_migrate(o->workers, &o->handles[0], 0, 0), -EHOSTDOWN);
        assert_int_equal(worker_migrate(o->workers, &o->handles[1], 0, 0), -EAGAIN);
}

/* An answer is of the one who asked; the other has to wait for its turn. */
OFFICE_TEST(two_that_ask_at_once) {
        MoverCounters counters = { 0 };

        assert_int_equal(step(o, 0, 1, &counters), -EAGAIN);
        assert_int_equal(step(o, 1, 1, &counters), -EAGAIN);
        while (o->n_answers == 0)
                assert_true(sd_event_run(o->event, 10000) >= 0);
        assert_int_equal(step(o, 1, 1, &counters), -EAGAIN);
        assert_true(step(o, 0, 1, &counters) >= 0);
        assert_true(await_step(o, 1, 1, &counters) >= 0);
}

OFFICE_TEST(a_sample) {
        Node node = { .id = 0 };
        const Topology topology = { .nodes = &node, .n_nodes = 1 };
        _cleanup_draws_ Draws draws = { 0 };
        uint64_t cpu_usec = 0;
        int r = -EAGAIN;

        for (unsigned n = 0; n < 1000 && r == -EAGAIN; n++) {
                r = worker_draw(o->workers, &topology, &o->handles[0], 256, 1, &draws, &cpu_usec);
                if (r == -EAGAIN)
                        assert_true(sd_event_run(o->event, 10000) >= 0);
        }
        assert_int_equal(r, 0);
        assert_true(draws.n_anon > 0);
        assert_int_equal(draws.by_node[0].n_anon, draws.n_anon);
        assert_true(cpu_usec > 0);
}

TEST_GROUP(NULL, NULL)
