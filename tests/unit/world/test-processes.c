/* Who the processes are, on a fake /proc that changes under the reader's hands. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/world/processes.h"

#define EXE "/srv/tikv/bin/tikv-server"
#define CGROUP "/system.slice/tikv-20160.service"

/* A filter that wants EXE, counts, and then does something to the tree. */
typedef struct Filter {
        const FakeTree *tree;
        unsigned asked;
        const char *remove;  /* this file */
        const char *replace; /* by this executable */
        bool churn;          /* by another executable each time, all of them wanted */
} Filter;

static bool wants(const char *exe, void *userdata) {
        Filter *f = userdata;

        f->asked++;
        if (f->remove)
                fake_remove(f->tree, f->remove);
        if (f->replace)
                fake_link(f->tree, "proc/50/exe", f->replace);
        if (f->churn)
                fake_link(f->tree, "proc/50/exe", f->asked % 2 ? "/bin/odd" : "/bin/even");
        return f->churn || strcmp(exe, EXE) == 0;
}

static int identify(const FakeTree *tree, Filter *filter, Process *process) {
        ProcHandle handle = { .pid = 7, .dir_fd = -7 };
        int r;

        filter->tree = tree;
        r = process_identify(&tree->sysroot, 50, NULL, wants, filter, &handle, process);
        if (r < 0) {
                assert_int_equal(handle.dir_fd, -7);
                return r;
        }
        assert_int_equal(handle.pid, 50);
        assert_true(handle.dir_fd >= 0);
        proc_close(&handle);
        return r;
}

/* With a pattern before, so that a half-written result shows. */
static int identify_failure(const FakeTree *tree, Filter filter) {
        Process process = { .exe = (char *)7 };
        int r = identify(tree, &filter, &process);

        assert_true(r < 0);
        assert_ptr_equal(process.exe, (char *)7);
        return r;
}

static void init(FakeTree *tree) {
        fake_init(tree);
        fake_process(tree, 50, 1, EXE, CGROUP, "0-1");
}

#define PROCESS_TEST(test) TEST_WITH(test, FakeTree, tree, init, fake_done)

PROCESS_TEST(identify) {
        _cleanup_process_ Process process = { 0 };
        Filter filter = { 0 };

        assert_int_equal(identify(tree, &filter, &process), 0);
        assert_int_equal(filter.asked, 1);
        assert_int_equal(process.id.pid, 50);
        assert_int_equal(process.id.start_ticks, 1050);
        assert_int_equal(process.uid, 997); /* effective */
        assert_string_equal(process.exe, EXE);
        assert_string_equal(process.cgroup, CGROUP);
        assert_string_equal(process.unit, "tikv-20160.service");
        assert_int_equal(process.foreign, FOREIGN_NONE);
}

/* Where it came from, only the daemon's records know. */
PROCESS_TEST(own_scope) {
        _cleanup_process_ Process process = { 0 };
        Filter filter = { 0 };

        fake_process(tree, 50, 1, EXE, "/user.slice/tidbnumad-a-1.scope", "0-1");
        assert_int_equal(identify(tree, &filter, &process), 0);
        assert_string_equal(process.scope, "tidbnumad-a-1.scope");
        assert_null(process.unit);
}

PROCESS_TEST(deleted_executable) {
        _cleanup_process_ Process process = { 0 };
        Filter filter = { 0 };

        fake_link(tree, "proc/50/exe", EXE " (deleted)");
        assert_int_equal(identify(tree, &filter, &process), 0);
        assert_string_equal(process.exe, EXE);
}

/* What it is not asked about is not read at all: here it could only give other errors. */
FAKE_TEST(filter_goes_first) {
        Filter filter = { 0 };

        fake_link(tree, "proc/50/exe", "/bin/other");
        fake_write(tree, "proc/50/stat", "rubbish");
        assert_int_equal(identify_failure(tree, filter), -ESRCH);
        fake_link(tree, "proc/50/exe", EXE);
        assert_int_equal(identify_failure(tree, filter), -EBADMSG);
}

/* What the caller has read is not read again, but what the handle shows must agree with it. */
PROCESS_TEST(executable_is_known) {
        ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_process_ Process process = { 0 }, other = { 0 };
        Filter filter = { .asked = 0 };

        filter.tree = tree;
        assert_int_equal(
                process_identify(&tree->sysroot, 50, EXE, wants, &filter, &handle, &process), 0);
        assert_string_equal(process.exe, EXE);
        assert_int_equal(filter.asked, 0);
        proc_close(&handle);
        assert_int_equal(
                process_identify(&tree->sysroot, 50, "/bin/old", wants, &filter, &handle, &other),
                0);
        assert_string_equal(other.exe, EXE);
        assert_int_equal(filter.asked, 1);
        proc_close(&handle);
}

PROCESS_TEST(no_unit) {
        _cleanup_process_ Process process = { 0 }, other = { 0 };
        Filter filter = { 0 };

        fake_write(tree, "proc/50/cgroup", "0::/docker/0123\n");
        assert_int_equal(identify(tree, &filter, &process), 0);
        assert_string_equal(process.cgroup, "/docker/0123");
        assert_null(process.unit);
        fake_write(tree, "proc/50/cgroup", "4:cpuset:/x\n");
        assert_int_equal(identify(tree, &filter, &other), 0);
        assert_null(other.cgroup);
        assert_null(other.unit);
}

TEST(vanished) {
        static const char *const files[] = {
                "proc/50", "proc/50/exe", "proc/50/stat", "proc/50/status", "proc/50/cgroup",
        };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_fake_ FakeTree tree;

                init(&tree);
                assert_int_equal(identify_failure(&tree, (Filter){ .remove = files[i] }), -ESRCH);
        }
        for (size_t i = 0; i < 2; i++) { /* before the first scan */
                _cleanup_fake_ FakeTree tree;

                init(&tree);
                fake_remove(&tree, files[i]);
                assert_int_equal(identify_failure(&tree, (Filter){ 0 }), -ESRCH);
        }
}

PROCESS_TEST(exec_in_the_middle) {
        assert_int_equal(identify_failure(tree, (Filter){ .churn = true }), -EAGAIN);
        fake_link(tree, "proc/50/exe", EXE); /* it is another program then, and is not wanted */
        assert_int_equal(identify_failure(tree, (Filter){ .replace = "/bin/other" }), -ESRCH);
}

PROCESS_TEST(not_a_process_that_runs) {
        fake_stat_file(tree, "proc/50", 50, 1, 'Z', 5, 0);
        assert_int_equal(identify_failure(tree, (Filter){ 0 }), -ESRCH);
        fake_stat_file(tree, "proc/50", 50, 1, 'X', 5, 0);
        assert_int_equal(identify_failure(tree, (Filter){ 0 }), -ESRCH);
        fake_write(tree, "proc/50/stat",
                   "50 (tikv-server) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0 0 0 0 0 0 "
                   "0 0 0 0 0 0 0 0 0 17 0 0 0 0 0\n"); /* PF_KTHREAD */
        assert_int_equal(identify_failure(tree, (Filter){ 0 }), -ESRCH);
}

FAKE_TEST(list_and_filter) {
        _cleanup_pid_list_ PidList list = { 0 };
        Filter filter = { 0 };
        size_t n = 0;

        filter.tree = tree;
        for (int pid = 200; pid > 0; pid -= 5) {
                /* Nothing but the link is there. */
                fake_link(tree, fmt("proc/%d/exe", pid), pid % 10 == 0 ? EXE : "/bin/other");
        }
        fake_mkdir(tree, "proc/2"); /* a kernel thread */
        fake_link(tree, "proc/self/exe", EXE);
        fake_link(tree, "proc/3x/exe", EXE);
        assert_int_equal(pid_list_read(&tree->sysroot, &list), 0);
        assert_int_equal(list.n_pids, 41);
        for (size_t i = 0; i < list.n_pids; i++) {
                int may = process_may_match(&tree->sysroot, list.pids[i], wants, &filter);

                assert_true(i == 0 || list.pids[i] > list.pids[i - 1]);
                assert_int_equal(may, list.pids[i] == 2 ? -ENOENT : list.pids[i] % 10 == 0);
                n += may > 0;
        }
        assert_int_equal(n, 20);
        assert_int_equal(filter.asked, 40);
        assert_int_equal(pid_list_read(&tree->sysroot, &list), 0); /* again, into the same */
        assert_int_equal(list.n_pids, 41);
}

FAKE_TEST(list_of_nothing) {
        _cleanup_pid_list_ PidList list = { .n_pids = 7 };

        assert_int_equal(pid_list_read(&tree->sysroot, &list), 0);
        assert_int_equal(list.n_pids, 0);
}
