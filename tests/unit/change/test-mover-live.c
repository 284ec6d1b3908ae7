/* The gentle mover on a real process of this machine. */

#include "../../support/child-process.h"
#include "../../support/exec-child.h"
#include "mover-kernel.h"

/* sleep(1), whose memory does not change. */
static pid_t start_sleeper(void) {
        pid_t pid = child_fork();

        if (pid == 0) {
                (void)execlp("sleep", "sleep", "1000", NULL);
                _exit(127);
        }
        return pid;
}

static uint64_t anonymous_bytes(const ProcHandle *handle) {
        char text[4096];
        const char *line;
        uint64_t kib;

        assert_true(path_read(handle->dir_fd, text, sizeof(text), "smaps_rollup") > 0);
        line = strstr(text, "\nAnonymous:");
        assert_non_null(line);
        assert_int_equal(sscanf(line, "\nAnonymous: %" SCNu64 " kB", &kib), 1);
        return kib * 1024;
}

static bool sleeps(const ProcHandle *handle) {
        char name[32], call[256];

        return path_read(handle->dir_fd, name, sizeof(name), "comm") >= 0 &&
               strcmp(name, "sleep") == 0 &&
               path_read(handle->dir_fd, call, sizeof(call), "wchan") >= 0 &&
               strstr(call, "nanosleep");
}

static void open_sleeper(const Sysroot *sysroot, pid_t pid, ProcHandle *handle) {
        int r;

        kernel = (Kernel){ 0 };
        do
                r = proc_open(sysroot, pid, handle);
        while (r == -EBUSY); /* in its exec */
        assert_int_equal(r, 0);
        for (int i = 0; i < 1000 && !sleeps(handle); i++)
                (void)usleep(2000);
}

TEST(real_process_in_its_place, .teardown_func = end_test) {
        Sysroot *sysroot = *state;
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        char nodes[ID_SET_LIST_MAX];
        Mover mover = MOVER_NONE;

        open_sleeper(sysroot, pid, &handle);
        assert_true(path_read(sysroot->sys_fd, nodes, sizeof(nodes),
                              "devices/system/node/has_memory") > 0);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(walk(&mover, nodes, 0), 0);
        assert_int_equal(mover.counters.found_bytes, 0);
        mover_end(&mover);
        child_end(pid);
}

/* No node is good enough: the whole of its anonymous memory is found, to the page. */
TEST(real_process_is_found_whole, .teardown_func = end_test) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        NodeSet none = node_set("");
        Mover mover = MOVER_NONE;
        uint64_t bytes;

        if (geteuid() != 0) {
                print_message("moving wants root\n");
                child_end(pid);
                skip();
        }
        open_sleeper(*state, pid, &handle);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(walk(&mover, "", 0), anonymous_bytes(&handle));
        assert_int_equal(mover.counters.found_bytes, anonymous_bytes(&handle));
        assert_true(mover.counters.found_bytes > 0);
        assert_int_equal(mover.counters.moved_bytes, 0);
        assert_int_equal(mover.counters.shared_moved_bytes, 0);
        assert_int_equal(mover.counters.failed_pages * page_size_bytes(),
                         mover.counters.found_bytes);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        scan(&mover, &none, NO_SUCH_NODE);
        assert_int_equal(mover_step(&mover, &none, NO_SUCH_NODE, UINT64_MAX, &bytes), -ENODEV);
        mover_end(&mover);
        child_end(pid);
}

TEST(real_process_that_ends, .teardown_func = end_test) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        NodeSet nodes = node_set("0");
        Mover mover = MOVER_NONE;
        uint64_t bytes = 7;
        int r = 1;

        open_sleeper(*state, pid, &handle);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(mover_step(&mover, &nodes, 0, 1, &bytes), 1);
        child_end(pid);
        for (unsigned i = 0; r > 0 && i < 1000; i++) {
                r = mover_step(&mover, &nodes, 0, 1, &bytes);
                assert_int_equal(bytes, 0);
        }
        assert_int_equal(r, -ESRCH);
        assert_int_equal(mover_begin(&mover, &handle), -ESRCH);
        assert_null(mover.process);
        mover_end(&mover);
}

/* Its memory is still shown by the folder that is held, but its number may be another's by now. */
TEST(number_may_be_anothers, .teardown_func = end_test) {
        Sysroot *sysroot = *state;
        _cleanup_proc_ ProcHandle ended = PROC_HANDLE_NONE, handle = PROC_HANDLE_NONE;
        pid_t pid = start_sleeper();
        NodeSet nodes = node_set("0");
        Mover mover = MOVER_NONE;
        uint64_t bytes;

        open_sleeper(sysroot, pid, &ended);
        child_end(pid);
        kernel_init(1);
        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        closep(&handle.pidfd);
        handle.pidfd = TAKE_FD(ended.pidfd);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(mover_step(&mover, &nodes, 0, UINT64_MAX, &bytes), -ESRCH);
        mover.phase = MOVER_REST;
        assert_int_equal(mover_step(&mover, &nodes, 0, UINT64_MAX, &bytes), -ESRCH);
        assert_int_equal(kernel.queries + kernel.calls, 0);
        mover_end(&mover);
}

/* It executes another program in the middle of the pass: what the mover holds is of a memory that
 * is gone, and the pass is to be begun again. */
TEST(exec_in_the_middle, .teardown_func = end_test) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        NodeSet nodes = node_set("0");
        Mover mover = MOVER_NONE;
        uint64_t bytes;
        ExecChild child;
        int r;

        kernel = (Kernel){ 0 };
        exec_child_start(&child);
        assert_int_equal(proc_open(*state, child.pid, &handle), 0);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        scan(&mover, &nodes, 0);
        exec_child_go(&child);
        for (int i = 0; i < 1000 && !sleeps(&handle); i++)
                (void)usleep(2000);
        do
                r = mover_step(&mover, &nodes, 0, 1, &bytes);
        while (r > 0);
        assert_int_equal(r, -ESTALE);
        assert_int_equal(mover_begin(&mover, &handle), 0);
        assert_int_equal(walk(&mover, "0", 0), 0);
        mover_end(&mover);
        exec_child_end(&child);
}

TEST_GROUP(setup, teardown)
