/* What a process has open, out of a dump and of this process itself. */

#include "../../support/child-process.h"
#include "../../support/port-list.h"
#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/sys/proc.h"

typedef struct Seen {
        size_t n;
        int last;
        uint64_t sum;
        bool ascending;
        int answer; /* of the callback */
        char target[64];
} Seen;

static int note(int fd, const char *target, void *userdata) {
        Seen *seen = userdata;

        seen->ascending = seen->n == 0 || (seen->ascending && fd > seen->last);
        seen->n++;
        seen->last = fd;
        seen->sum += (uint64_t)fd;
        (void)snprintf(seen->target, sizeof(seen->target), "%s", target);
        return seen->answer;
}

FAKE_TEST(dump) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        char long_name[PATH_MAX];
        Seen seen = { 0 };

        fake_process(tree, 50, 1, "/x", "/", "0");
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ESRCH);
        fake_mkdir(tree, "proc/50/fd");
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.n, 0);
        fake_link(tree, "proc/50/fd/7", "/a (deleted)");
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.n, 1);
        assert_string_equal(seen.target, "/a (deleted)");
        /* Neither a number nor a link; the longest link that there can be. */
        fake_link(tree, "proc/50/fd/x", "/b");
        fake_write(tree, "proc/50/fd/9", "");
        memset(long_name, 'a', sizeof(long_name));
        long_name[PATH_MAX - 1] = '\0';
        fake_link(tree, "proc/50/fd/11", long_name);
        seen = (Seen){ 0 };
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.sum, 18);
        /* The callback ends it. */
        seen = (Seen){ .answer = -ENOTTY };
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ENOTTY);
        assert_int_equal(seen.n, 1);
}

LIVE_TEST(live) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Seen seen = { 0 };

        assert_int_equal(proc_open(sysroot, getpid(), &handle), 0);
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_true(seen.n >= 5 && seen.ascending);
}

/* A zombie has a folder still, and nothing in it. */
LIVE_TEST(gone) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        Seen seen = { 0 };
        pid_t pid = child_start();

        assert_int_equal(proc_open(sysroot, pid, &handle), 0);
        child_make_zombie(pid);
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ESRCH);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(open_files_foreach(&handle, note, &seen), -ESRCH);
        assert_int_equal(seen.n, 0);
}

/* More than the bound: so many are reported, and that there are more; so are the ports found until
 * then. */
FAKE_TEST(bound) {
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        _cleanup_close_ int folder = -EBADF;
        _cleanup_listen_ports_ ListenPorts ports = { 0 };
        Seen seen = { 0 };

        fake_process(tree, 50, 1, "/x", "/", "0");
        fake_mkdir(tree, "proc/50/fd");
        folder = openat(tree->fd, "proc/50/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (size_t fd = 0; fd < OPEN_FILES_MAX; fd++) {
                assert_int_equal(symlinkat("socket:[77]", folder, fmt("%zu", fd)), 0);
        }
        assert_int_equal(proc_open(&tree->sysroot, 50, &handle), 0);
        assert_int_equal(open_files_foreach(&handle, note, &seen), 0);
        assert_int_equal(seen.n, OPEN_FILES_MAX);
        fake_link(tree, "proc/50/fd/99999999", "/a");
        seen = (Seen){ 0 };
        assert_int_equal(open_files_foreach(&handle, note, &seen), 1);
        assert_int_equal(seen.n, OPEN_FILES_MAX);
        fake_write(tree, "proc/50/net/tcp",
                   "   0: 00000000:4EC0 00000000:0000 0A 0:0 0:0 0 997 0 77 1\n");
        assert_int_equal(read_port_list(&tree->sysroot, &handle, &ports), 1);
        assert_int_equal(ports.n_ports, 1);
}
