/* How processes are found that no event has reported: at which times /proc is scanned. The kernel's
 * process connector, time and the timers are the test's; /proc is a folder. */
#include <sys/socket.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "rooms.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/proc-connector.h"

#define MSEC UINT64_C(1000)
#define SECOND (1000 * MSEC)

typedef struct Timer {
        sd_event_source *source; /* never enabled; to name it */
        sd_event_time_handler_t callback;
        void *userdata;
        uint64_t due_usec; /* UINT64_MAX: it is off */
} Timer;

static struct {
        uint64_t now, tick_usec; /* so much later each time that it is read */
        Timer timers[8];
        size_t n_timers;
        int connector_error, peer; /* of the connector's socket */
        int event;                 /* what is read from it; or the pid of what is reported */
        ProcEventKind kind;
        pid_t parent;
        pid_t zombie; /* it has ended, and its files are there */
} world;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return world.now += world.tick_usec;
}

/* --- timers --- */

int __wrap_event_source_add_off(sd_event *event, sd_event_source **ret, uint64_t accuracy_usec,
                                sd_event_time_handler_t callback, void *userdata);
int __wrap_event_source_add_off(sd_event *event, sd_event_source **ret, uint64_t accuracy_usec,
                                sd_event_time_handler_t callback, void *userdata) {
        assert_true(world.n_timers < ELEMENTSOF(world.timers));
        assert_int_equal(sd_event_add_time(event, ret, CLOCK_MONOTONIC, UINT64_MAX, accuracy_usec,
                                           callback, userdata),
                         0);
        assert_int_equal(sd_event_source_set_enabled(*ret, SD_EVENT_OFF), 0);
        world.timers[world.n_timers++] = (Timer){ *ret, callback, userdata, UINT64_MAX };
        return 0;
}

int __wrap_event_source_arm(sd_event_source *source, uint64_t usec);
int __wrap_event_source_arm(sd_event_source *source, uint64_t usec) {
        for (size_t i = 0; i < world.n_timers; i++)
                if (world.timers[i].source == source) {
                        world.timers[i].due_usec = usec;
                        /* So that its owner sees that it is pending; this one never fires. */
                        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
                }
        fail_msg("this is no timer");
        return 0;
}

int __wrap_event_source_arm_after(sd_event_source *source, uint64_t usec);
int __wrap_event_source_arm_after(sd_event_source *source, uint64_t usec) {
        return __wrap_event_source_arm(source, world.now + usec);
}

int __wrap_event_source_add_after(sd_event *event, sd_event_source **ret, uint64_t usec,
                                  sd_event_time_handler_t callback, void *userdata);
int __wrap_event_source_add_after(sd_event *event, sd_event_source **ret, uint64_t usec,
                                  sd_event_time_handler_t callback, void *userdata) {
        assert_int_equal(__wrap_event_source_add_off(event, ret, 0, callback, userdata), 0);
        return __wrap_event_source_arm_after(*ret, usec);
}

/* --- the connector, and processes that are files --- */

int __wrap_proc_connector_open(size_t receive_buffer_bytes, int *ret_fd);
int __wrap_proc_connector_open(_unused_ size_t receive_buffer_bytes, int *ret_fd) {
        int fds[2];

        if (world.connector_error < 0)
                return world.connector_error;
        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds), 0);
        *ret_fd = fds[0];
        world.peer = fds[1];
        return 0;
}

int __wrap_proc_connector_read(int fd, ProcEventHandler handler, void *userdata);
int __wrap_proc_connector_read(int fd, ProcEventHandler handler, void *userdata) {
        char byte;

        assert_int_equal(recv(fd, &byte, 1, 0), 1);
        if (world.event < 0)
                return world.event;
        handler(&(ProcEvent){ .kind = world.kind, .pid = world.event, .parent = world.parent },
                userdata);
        return 1;
}

int __wrap_proc_connector_filter(int fd, const pid_t *parents, size_t n_parents);
int __wrap_proc_connector_filter(_unused_ int fd, _unused_ const pid_t *parents,
                                 _unused_ size_t n_parents) {
        return 0;
}

/* The numbers of the folder's processes are others' on this host. */
int __real_proc_open_stat(const Sysroot *sysroot, pid_t pid, ProcHandle *ret, ProcStat *ret_stat);
int __wrap_proc_open_stat(const Sysroot *sysroot, pid_t pid, ProcHandle *ret, ProcStat *ret_stat);
int __wrap_proc_open_stat(const Sysroot *sysroot, pid_t pid, ProcHandle *ret, ProcStat *ret_stat) {
        Sysroot folder = *sysroot;

        folder.live = false;
        return __real_proc_open_stat(&folder, pid, ret, ret_stat);
}

bool __wrap_proc_is_alive(const ProcHandle *handle);
bool __wrap_proc_is_alive(const ProcHandle *handle) {
        return handle->pid != world.zombie;
}

/* --- the host --- */

typedef struct TestHost {
        FakeTree tree;
        Args args;
        Policy policy;
        Rooms m;
} TestHost;

static void host_init(TestHost *h) {
        memset(&world, 0, sizeof(world));
        world.now = 1000 * SECOND;
        world.kind = PROC_KIND_EXEC;
        world.peer = -EBADF;
        *h = (TestHost){ .policy = { .name = (char *)"p",
                                     .match.exe = (char *)"/srv/a",
                                     .max_instances = 1000 } };
        fake_init(&h->tree);
        h->m = (Rooms){ .host.args = &h->args,
                        .host.sysroot = h->tree.sysroot,
                        .host.journal = { .max_priority = -1 },
                        .host.policies = { .policies = &h->policy, .n_policies = 1 },
                        .host.ready = true };
        rooms_wire(&h->m);
        h->m.host.sysroot.live = true;
        assert_int_equal(sd_event_new(&h->m.host.event), 0);
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->m);
        sd_event_unref(h->m.host.event);
        closep(&world.peer);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* Each in a service of its own. */
static void process(const TestHost *h, pid_t pid, const char *exe) {
        fake_process(&h->tree, pid, 1, exe, fmt("/system.slice/%d.service", pid), "0-3");
}

static void start(TestHost *h) {
        assert_int_equal(watch_start(&h->m.registry), 0);
}

/* Time passes, and timers fire. */
static void wait_for(uint64_t usec) {
        const uint64_t until = world.now + usec;

        for (;;) {
                Timer *next = NULL;

                for (size_t i = 0; i < world.n_timers; i++)
                        if (world.timers[i].due_usec <= until &&
                            (!next || world.timers[i].due_usec < next->due_usec))
                                next = &world.timers[i];
                if (!next)
                        break;
                if (next->due_usec > world.now)
                        world.now = next->due_usec;
                next->due_usec = UINT64_MAX;
                assert_int_equal(sd_event_source_set_enabled(next->source, SD_EVENT_OFF), 0);
                assert_true(next->callback(next->source, world.now, next->userdata) >= 0);
        }
        world.now = until;
}

/* The connector reports the exec of this process, or -ENOBUFS. */
static void report(TestHost *h, int event) {
        world.event = event;
        assert_int_equal(send(world.peer, "x", 1, 0), 1);
        while (sd_event_run(h->m.host.event, 0) > 0)
                ;
}

static void report_fork(TestHost *h, pid_t parent, pid_t pid) {
        world.kind = PROC_KIND_FORK;
        world.parent = parent;
        report(h, pid);
        world.kind = PROC_KIND_EXEC;
}

static bool is_found(const TestHost *h, pid_t pid) {
        size_t index;

        return registry_find_pid(&h->m.registry, pid, &index) != NULL;
}

/* --- when --- */

/* An exec that is reported is considered at once, and one that was there at the start as well. */
HOST_TEST(reported) {
        process(h, 10, "/srv/a");
        start(h);
        assert_true(is_found(h, 10));
        process(h, 11, "/srv/a");
        process(h, 12, "/srv/a");
        report(h, 11);
        assert_true(is_found(h, 11));
        assert_false(is_found(h, 12));
}

/* Whatever no event has reported is found by a scan, each 40 s; without the connector, each 2 s. */
TEST(not_reported) {
        static const struct {
                int error;
                uint64_t usec;
        } rows[] = { { 0, 40 * SECOND }, { -EPERM, 2 * SECOND } };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                world.connector_error = rows[k].error;
                process(&h, 10, "/srv/a");
                start(&h);
                for (pid_t pid = 11; pid < 15; pid++) {
                        process(&h, pid, "/srv/a");
                        wait_for(rows[k].usec - 1);
                        assert_false(is_found(&h, pid));
                        wait_for(1);
                        assert_true(is_found(&h, pid));
                }
        }
}

/* A scan of many is spread over its 40 s. */
HOST_TEST(no_moment_reads_them_all) {
        enum { MANY = 300 };
        unsigned n = 0, n_before = 0;

        start(h);
        for (pid_t pid = 1; pid <= MANY; pid++)
                process(h, pid, "/srv/a");
        wait_for(40 * SECOND);
        for (unsigned s = 0; s <= 40; s++) {
                n = (unsigned)h->m.registry.n_instances;
                assert_true(n - n_before <= 64);
                n_before = n;
                wait_for(SECOND);
        }
        assert_int_equal(n, MANY);
}

/* Where only some of them can be read at a time, it takes no longer. */
HOST_TEST(a_slow_host_is_scanned_as_often) {
        enum { MANY = 60 };

        start(h);
        for (pid_t pid = 1; pid <= MANY; pid++)
                process(h, pid, "/srv/a");
        world.tick_usec = 5 * MSEC;
        wait_for(81 * SECOND);
        assert_int_equal(h->m.registry.n_instances, MANY);
}

/* A loss of events is followed by a scan of all at once, but during a storm of events not more than
 * four in a second. */
HOST_TEST(lost_events) {
        start(h);
        wait_for(SECOND);
        for (pid_t pid = 11; pid < 15; pid++) {
                process(h, pid, "/srv/a");
                report(h, -ENOBUFS);
                assert_false(is_found(h, pid)); /* in the loop's next turn */
                wait_for(pid == 11 ? 0 : 250 * MSEC - 1);
                assert_int_equal(is_found(h, pid), pid == 11);
                report(h, -ENOBUFS);
                wait_for(pid == 11 ? 0 : 1);
                assert_true(is_found(h, pid));
        }
        wait_for(250 * MSEC); /* that of the last one */
        process(h, 20, "/srv/a");
        wait_for(SECOND);
        assert_false(is_found(h, 20)); /* nothing more was lost */
}

/* It ends before its exec is looked at. On a busy host some process always does. */
HOST_TEST(becomes_a_daemon) {
        start(h);
        process(h, 12, "/srv/a");
        report(h, 11);
        wait_for(SECOND);
        assert_true(is_found(h, 12));
        process(h, 14, "/srv/a");
        report(h, 13);
        wait_for(9 * SECOND);
        assert_false(is_found(h, 14));
        wait_for(SECOND);
        report(h, 15);
        wait_for(SECOND);
        assert_true(is_found(h, 14));
}

/* A process that is known, or was when it forked. */
HOST_TEST(is_left_by_a_child) {
        start(h);
        process(h, 10, "/srv/a");
        report(h, 10);
        for (pid_t pid = 12; pid < 20; pid += 2) {
                process(h, pid, "/srv/a");
                report_fork(h, 10, pid - 1); /* which has ended */
                assert_false(is_found(h, pid));
                wait_for(SECOND);
                assert_true(is_found(h, pid));
        }
        process(h, 20, "/srv/a");
        report_fork(h, 11, 20);
        assert_true(is_found(h, 20));
}

/* Process 10 is found to have ended. It has left process 11, which no event reports. */
static void leave_another(TestHost *h) {
        process(h, 11, "/srv/a");
        assert_int_equal(unlinkat(h->tree.fd, "proc/10/stat", 0), 0);
        assert_int_equal(unlinkat(h->tree.fd, "proc/10/exe", 0), 0);
        world.kind = PROC_KIND_UID;
        report(h, 10);
        assert_false(is_found(h, 10) || is_found(h, 11));
        wait_for(SECOND);
        assert_true(is_found(h, 11));
}

/* Its children were not read yet. */
HOST_TEST(is_left_by_one_that_was_found) {
        start(h);
        process(h, 10, "/srv/a");
        report(h, 10);
        wait_for(SECOND);
        leave_another(h);
}

/* They were somebody else's when they were read. */
HOST_TEST(is_left_by_one_that_ended_meanwhile) {
        start(h);
        process(h, 10, "/srv/a");
        report(h, 10);
        world.zombie = 10;
        fork_filter_update(&h->m.registry);
        leave_another(h);
}

/* A process of no policy that executes another program is reported. Where that event was lost
 * without a trace, a whole scan finds it: each eighth one. */
HOST_TEST(another_program_without_an_event) {
        unsigned n = 0;

        process(h, 10, "/bin/sh");
        start(h);
        wait_for(40 * SECOND);
        fake_link(&h->tree, "proc/10/exe", "/srv/a");
        while (!is_found(h, 10) && n < 20) {
                wait_for(40 * SECOND);
                n++;
        }
        assert_int_equal(n, 7);
}

/* --- its directory of data --- */

/* All in the service of the first. */
static void join(TestHost *h, pid_t pid) {
        fake_process(&h->tree, pid, 1, "/srv/a", "/system.slice/50.service", "0-3");
        fake_write(&h->tree, fmt("proc/%d/cmdline", pid), "a");
        fake_link(&h->tree, fmt("proc/%d/root", pid), "/");
        report(h, pid);
}

static void open_data(const TestHost *h) {
        fake_write(&h->tree, "proc/50/fdinfo/3", "flags:\t0100002\n");
        fake_link(&h->tree, "proc/50/fd/3", "/data/LOCK");
}

static bool data_is_known(const TestHost *h) {
        const Instance *i = registry_find_pid(&h->m.registry, 50, NULL);

        assert_non_null(i);
        return i->data_dir && strcmp(i->data_dir, "/data") == 0;
}

static void start_describing(TestHost *h) {
        start(h);
        assert_int_equal(describe_start(&h->m.registry), 0);
        join(h, 50);
}

/* Of one that starts processes all the time. */
TEST(a_read_is_not_put_off) {
        static const struct {
                uint64_t age_usec, delay_usec;
        } rows[] = { { 0, 200 * MSEC }, { 5 * SECOND, SECOND } };

        for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                start_describing(&h);
                wait_for(rows[k].age_usec);
                join(&h, 51);
                wait_for(rows[k].delay_usec / 2);
                open_data(&h);
                join(&h, 52);
                wait_for(rows[k].delay_usec / 2 - 1);
                assert_false(data_is_known(&h));
                wait_for(1);
                assert_true(data_is_known(&h));
        }
}

/* A server that has run for hours, whose times of reading are over, gets a policy that places it by
 * its disk: that is read at once, and again, as after its start. */
TEST(placed_by_its_disk_from_now_on) {
        for (unsigned late = 0; late < 2; late++) {
                _cleanup_host_ TestHost h;

                host_init(&h);
                start_describing(&h);
                wait_for(3600 * SECOND);
                if (!late)
                        open_data(&h);
                h.policy.place.near = NEAR_STORAGE;
                assert_int_equal(watch_rematch(&h.m.registry), 0);
                assert_int_equal(data_is_known(&h), !late);
                open_data(&h);
                wait_for(SECOND);
                assert_true(data_is_known(&h));
        }
}
