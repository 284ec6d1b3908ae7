/* Out of our directories of cgroup v1, on a tree that the test makes up: a host of cgroup v2 on
 * which the cpusets of v1 are mounted. What a real kernel does, test-backend-cgroup1 sees.
 */
#include <limits.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/cgroup1.h"
#include "tidbnumad/sys/cgroup.h"

#define OURS "cpuset/" CGROUP1_FOLDER "/tikv"

static struct {
        const FakeTree *tree;
        char said[128]; /* "pid>folder;" each */
} kernel;

/* Whoever is moved leaves our directory. */
int __wrap_cgroup_write(int fd, const char *name, const char *text);
int __wrap_cgroup_write(int fd, const char *name, const char *text) {
        char path[PATH_MAX] = "";

        assert_string_equal(name, "cgroup.procs");
        assert_true(readlink(fmt("/proc/self/fd/%d", fd), path, sizeof(path) - 1) > 0);
        (void)snprintf(kernel.said + strlen(kernel.said), sizeof(kernel.said) - strlen(kernel.said),
                       "%s>%s;", text, strrchr(path, '/') + 1);
        fake_write(kernel.tree, OURS "/cgroup.procs", "");
        return 0;
}

typedef struct Host {
        FakeTree tree;
        Backend backend;
        UndoRecord *record;
} Host;

static void in_cpuset(const Host *h, int pid, const char *path) {
        fake_process(&h->tree, pid, 1, "/srv/a", "/", "0-7");
        fake_write(&h->tree, fmt("proc/%d/cgroup", pid), fmt("1:cpuset:%s\n0::/a.service\n", path));
}

/* Process 50 is bound, and was in /batch before. */
static void host_init(Host *h) {
        const ProcessId id = { .pid = 50, .start_ticks = 1050 };
        UndoProcess *entry;

        *h = (Host){ 0 };
        fake_init(&h->tree);
        kernel.tree = &h->tree;
        kernel.said[0] = '\0';
        fake_write(&h->tree, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        fake_write(&h->tree, "proc/self/mountinfo",
                   "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
                   "40 20 0:36 / /cpuset rw - cgroup none rw,cpuset\n");
        fake_mkdir(&h->tree, "cpuset/batch");
        fake_write(&h->tree, OURS "/cgroup.procs", "50\n");
        in_cpuset(h, 50, "/tidbnumad/tikv");
        backend_init(&h->backend, &h->tree.sysroot, NULL);
        assert_int_equal(undo_record_new("tikv", NULL, &h->record), 0);
        assert_int_equal(undo_record_add(h->record, &id, &entry), 0);
        entry->cpuset = strdup("/batch");
}

static void host_done(Host *h) {
        undo_record_free(h->record);
        backend_done(&h->backend);
        fake_done(&h->tree);
}
#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static int put_back(Host *h) {
        UndoRestore restore;
        int r;

        undo_restore_begin(&restore, h->record);
        r = undo_restore_cpuset(&h->backend, &restore, NULL);
        undo_restore_done(&restore);
        return r;
}

HOST_TEST(on_a_host_of_v2) {
        assert_int_equal(cgroup_version(&h->tree.sysroot), CGROUP_V2);
        assert_int_equal(put_back(h), 1);
        assert_string_equal(kernel.said, "50>batch;");
}

HOST_TEST(without_that_hierarchy) {
        fake_write(&h->tree, "proc/self/mountinfo",
                   "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        assert_int_equal(put_back(h), 1);
        assert_string_equal(kernel.said, "");
}

/* It ended after the list was read, and its number is a container's process by now. */
HOST_TEST(a_number_given_to_another) {
        fake_write(&h->tree, OURS "/cgroup.procs", "70\n71\n50\n");
        in_cpuset(h, 70, "/docker/x");
        in_cpuset(h, 71, "/tidbnumad-2");
        assert_int_equal(put_back(h), 1);
        assert_string_equal(kernel.said, "50>batch;");
}
