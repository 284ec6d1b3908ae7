/* The backend cgroup1 on this machine's own cpuset hierarchy, with children of this test in a
 * directory of a name that nobody else has. That a process has ended is played where a test says
 * so. */
#include <dirent.h>
#include <sched.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "set-before.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/cgroup1.h"
#include "tidbnumad/sys/cgroup.h"

/* After so many more questions it has ended; 0: never. */
static unsigned questions_left;

bool __real_proc_is_alive(const ProcHandle *handle);
bool __wrap_proc_is_alive(const ProcHandle *handle);

bool __wrap_proc_is_alive(const ProcHandle *handle) {
        if (questions_left > 0 && --questions_left == 0)
                return false;
        return __real_proc_is_alive(handle);
}

typedef struct Host {
        Sysroot sysroot;
        Backend backend;
        char name[64];
        ProcHandle handle;
        Member member;
        BackendTarget target;
        CpuSet all, one;
        NodeSet mems;
} Host;

static void host_done(Host *h) {
        questions_left = 0;
        child_end(h->handle.pid);
        backend_cgroup1_ops.tidy(&h->backend);
        proc_close(&h->handle);
        backend_done(&h->backend);
        sysroot_close(&h->sysroot);
}
#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static void host_init(Host *h) {
        ProcStatus status;

        *h = (Host){ .handle = PROC_HANDLE_NONE };
        assert_int_equal(sysroot_open(NULL, &h->sysroot), 0);
        backend_init(&h->backend, &h->sysroot, NULL);
        (void)backend_choose(&h->backend, BACKEND_CGROUP1);
        if (!h->backend.ops || geteuid() != 0) {
                print_message("needs root, and the cpuset hierarchy of cgroup v1\n");
                backend_done(&h->backend);
                sysroot_close(&h->sysroot);
                skip();
        }
        (void)snprintf(h->name, sizeof(h->name), "test-backend-cgroup1:%d", getpid());
        assert_int_equal(proc_open(&h->sysroot, child_start(), &h->handle), 0);
        h->target = (BackendTarget){ .instance = h->name, .members = &h->member, .n_members = 1 };
        h->member.handle = &h->handle;
        assert_int_equal(proc_status_read(&h->handle, 0, &status), 0);
        h->all = status.cpus_allowed;
        h->mems = status.mems_allowed;
        id_set_add(&h->one, (uint32_t)id_set_next(&h->all, 0));
}

static int set_cpus(Host *h, const CpuSet *cpus) {
        return backend_cgroup1_ops.set_cpus(&h->backend, &h->target, cpus, NULL);
}

static void assert_in(const Host *h, const char *expected) {
        _cleanup_free_ char *path = NULL;

        assert_int_equal(proc_cgroup_path_read(&h->handle, "cpuset", &path), 0);
        assert_string_equal(path, expected);
}

static void assert_cpus(const Host *h, const CpuSet *cpus) {
        ProcStatus status;

        assert_int_equal(proc_status_read(&h->handle, 0, &status), 0);
        assert_true(id_set_equal(&status.cpus_allowed, cpus));
}

HOST_TEST(binds) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        NodeSet mems;
        CpuSet cpus;

        assert_int_equal(backend_cgroup1_open(&h->backend, &h->target, &fd, &path), -ENOENT);
        assert_int_equal(set_cpus(h, &h->one), 1);
        assert_int_equal(backend_cgroup1_open(&h->backend, &h->target, &fd, &path), 0);
        assert_in(h, path);
        assert_cpus(h, &h->one);
        assert_int_equal(cgroup_effective_cpus_read(fd, &cpus), 0);
        assert_true(id_set_equal(&cpus, &h->one));
        assert_int_equal(cgroup_effective_mems_read(fd, &mems), 0);
        assert_true(id_set_equal(&mems, &h->mems));
        /* Others, in the same place; the memory nodes with them. */
        assert_int_equal(set_cpus(h, &h->all), 1);
        assert_cpus(h, &h->all);
        assert_int_equal(backend_cgroup1_ops.set_mems(&h->backend, &h->target, &h->mems, NULL), 1);
        /* In use it stays. */
        backend_cgroup1_ops.tidy(&h->backend);
        assert_in(h, path);
}

/* A mask of its own, as taskset gives it, is no reason to be left with it. */
HOST_TEST(narrow_before) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET((unsigned)id_set_next(&h->one, 0), &one);
        assert_int_equal(sched_setaffinity(h->handle.pid, sizeof(one), &one), 0);
        assert_int_equal(set_cpus(h, &h->all), 1);
        assert_cpus(h, &h->all);
        /* Once it was given them, its choice is its own. */
        h->member.cpus_applied = true;
        assert_int_equal(sched_setaffinity(h->handle.pid, sizeof(one), &one), 0);
        assert_int_equal(set_cpus(h, &h->all), 1);
        assert_cpus(h, &h->one);
}

/* From CPUs to others that its present directory does not allow, and to all. */
HOST_TEST(moves_to_other_cpus) {
        CpuSet other = h->all;

        id_set_subtract(&other, &h->one);
        if (id_set_is_empty(&other))
                skip();
        assert_int_equal(set_cpus(h, &h->one), 1);
        assert_int_equal(set_cpus(h, &other), 1);
        assert_cpus(h, &other);
        assert_int_equal(set_cpus(h, &h->all), 1);
        assert_cpus(h, &h->all);
}

HOST_TEST(gone) {
        child_end(h->handle.pid);
        h->handle.pid = 0;
        assert_int_equal(set_cpus(h, &h->one), -ESRCH);
        assert_int_equal(h->backend.n_pid_reuses, 0);
}

/* The number went to another while the write was on its way: that one goes where its parent is. */
HOST_TEST(stranger_is_put_back) {
        _cleanup_free_ char *path = NULL;
        _cleanup_proc_ ProcHandle self = PROC_HANDLE_NONE;

        assert_int_equal(proc_open(&h->sysroot, getpid(), &self), 0);
        assert_int_equal(proc_cgroup_path_read(&self, "cpuset", &path), 0);
        questions_left = 2; /* before the write, after it */
        assert_int_equal(set_cpus(h, &h->all), -ESRCH);
        assert_in(h, path);
        assert_int_equal(h->backend.n_pid_reuses, 1);
}

typedef struct Written {
        char files[256];
        const char *stuck; /* this file is not answered */
} Written;

static int write_group(const ProcHandle *process, int group_fd, const char *file, const char *text,
                       void *userdata) {
        Written *w = userdata;

        assert_true(process->pid > 0);
        (void)strncat(w->files, file, sizeof(w->files) - strlen(w->files) - 1);
        (void)strncat(w->files, " ", sizeof(w->files) - strlen(w->files) - 1);
        return w->stuck && strcmp(w->stuck, file) == 0 ? -ETIMEDOUT
                                                       : cgroup_write(group_fd, file, text);
}

/* A write for which the kernel may wait for another process is left to a worker. */
HOST_TEST(writes_are_handed_on) {
        Written w = { .stuck = "cpuset.cpus" };

        h->backend.write_group = write_group;
        h->backend.write_userdata = &w;
        assert_int_equal(set_cpus(h, &h->one), -ETIMEDOUT);
        w.stuck = "cgroup.procs";
        assert_int_equal(set_cpus(h, &h->one), -ETIMEDOUT);
        w.stuck = NULL;
        assert_int_equal(set_cpus(h, &h->one), 1);
        assert_cpus(h, &h->one);
        assert_string_equal(w.files, "cpuset.cpus cpuset.cpus cgroup.procs cpuset.cpus "
                                     "cgroup.procs ");
}

typedef struct Worker {
        unsigned n_asked;
        int answer;
} Worker;

static int join_group(const Member *member, const char *instance, _unused_ const CpuSet *cpus,
                      void *userdata) {
        Worker *w = userdata;

        assert_true(member->handle->pid > 0);
        assert_true(strncmp(instance, "test-", 5) == 0);
        w->n_asked++;
        return w->answer;
}

/* Its threads have the CPUs at once, a worker puts it into its group, and the kernel says when that
 * is done: not a former answer. */
HOST_TEST(group_is_joined_by_a_worker) {
        Worker w = { .answer = -EALREADY };
        Backend own; /* the worker's */

        h->backend.join_group = join_group;
        h->backend.write_userdata = &w;
        assert_int_equal(set_cpus(h, &h->one), -EALREADY);
        assert_cpus(h, &h->one);
        assert_int_equal(set_cpus(h, &h->one), -EALREADY);
        backend_init(&own, &h->sysroot, NULL);
        assert_int_equal(cgroup1_join(&own, h->name, &h->one, &h->handle), 0);
        assert_int_equal(w.n_asked, 2);
        assert_int_equal(set_cpus(h, &h->one), 1);
        assert_int_equal(w.n_asked, 2);
        /* Out of the group again, which still has the CPUs. */
        assert_int_equal(cgroup_write(h->backend.root_fd, CGROUP1_FOLDER "/cgroup.procs",
                                      fmt("%d", h->handle.pid)),
                         0);
        assert_int_equal(set_cpus(h, &h->one), -EALREADY);
        assert_int_equal(cgroup1_join(&own, h->name, &h->one, &h->handle), 0);
        assert_int_equal(set_cpus(h, &h->one), 1);
        /* Other CPUs are the group's to be given. */
        assert_int_equal(set_cpus(h, &h->all), -EALREADY);
        w.answer = -ETIMEDOUT;
        assert_int_equal(set_cpus(h, &h->all), -ETIMEDOUT);
        assert_int_equal(cgroup1_join(&own, h->name, &h->all, &h->handle), 0);
        assert_int_equal(set_cpus(h, &h->all), 1);
        assert_int_equal(w.n_asked, 5);
        backend_done(&own);
}

/* Another manager's directory, with one CPU. */
static void enter_foreign(Host *h, const char *dir) {
        char cpus[ID_SET_LIST_MAX], mems[ID_SET_LIST_MAX], pid[16];
        _cleanup_close_ int fd = -EBADF;

        if (h->backend.root_fd < 0)
                assert_int_equal(cgroup1_open(&h->sysroot, "cpuset", &h->backend.root_fd), 0);
        assert_int_equal(mkdirat(h->backend.root_fd, dir, 0755), 0);
        fd = openat(h->backend.root_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)id_set_render_list(&h->one, cpus, sizeof(cpus));
        (void)id_set_render_list(&h->mems, mems, sizeof(mems));
        (void)snprintf(pid, sizeof(pid), "%d", h->handle.pid);
        (void)cgroup_write(fd, "cpuset.cpus", cpus);
        (void)cgroup_write(fd, "cpuset.mems", mems);
        (void)cgroup_write(fd, "cgroup.procs", pid);
}

HOST_TEST(foreign_cpuset) {
        Placement placement = { .reason = "" };
        char dir[64], path[80];
        const char *more, *same;

        placement.cpus = h->all;
        placement.nodes = h->mems;
        assert_null(h->backend.ops->refuses(&h->backend, &h->target, &placement));
        (void)snprintf(dir, sizeof(dir), "test-foreign-%d", getpid());
        (void)snprintf(path, sizeof(path), "/%s", dir);
        enter_foreign(h, dir);
        more = h->backend.ops->refuses(&h->backend, &h->target, &placement);
        placement.cpus = h->one;
        same = h->backend.ops->refuses(&h->backend, &h->target, &placement);
        assert_in(h, path);
        child_end(h->handle.pid);
        h->handle.pid = 0;
        assert_int_equal(unlinkat(h->backend.root_fd, dir, AT_REMOVEDIR), 0);
        assert_null(same);
        if (id_set_count(&h->all) > 1)
                assert_non_null(strstr(more, "does not allow"));
}

static int note(Host *h, UndoRecord *record) {
        return backend_cgroup1_ops.note(&h->backend, &h->target, record, NULL);
}

static int put_back(Host *h, UndoRecord *record) {
        UndoRestore r;
        int result;

        undo_restore_begin(&r, record);
        result = backend_cgroup1_ops.restore(&h->backend, &r, NULL);
        if (result == 1)
                result = backend_affinity_ops.restore(&h->backend, &r, NULL);
        undo_restore_done(&r);
        return result;
}

/* With a child that is in no record: it goes where its parent goes. */
HOST_TEST(goes_back) {
        _cleanup_(undo_record_freep) UndoRecord *record = NULL;
        _cleanup_free_ char *home = NULL, *path = NULL;
        _cleanup_proc_ ProcHandle child = PROC_HANDLE_NONE;
        _cleanup_close_ int fd = -EBADF;
        ProcStatus status;

        h->member.process.id =
                (ProcessId){ .pid = h->handle.pid, .start_ticks = h->handle.start_ticks };
        assert_int_equal(proc_cgroup_path_read(&h->handle, "cpuset", &home), 0);
        assert_int_equal(undo_record_new(h->name, NULL, &record), 0);
        assert_int_equal(note(h, record), 1);
        assert_string_equal(record->processes[0].cpuset, home);
        set_given(record, &h->one);
        assert_int_equal(set_cpus(h, &h->one), 1);
        assert_int_equal(backend_cgroup1_open(&h->backend, &h->target, &fd, &path), 0);
        assert_int_equal(proc_open(&h->sysroot, child_start(), &child), 0);
        assert_int_equal(cgroup_write(fd, "cgroup.procs", fmt("%d", child.pid)), 0);

        assert_int_equal(put_back(h, record), 1);
        assert_in(h, home);
        assert_cpus(h, &h->all);
        free(path);
        assert_int_equal(proc_cgroup_path_read(&child, "cpuset", &path), 0);
        assert_string_equal(path, home);
        assert_int_equal(proc_status_read(&child, 0, &status), 0);
        assert_true(id_set_equal(&status.cpus_allowed, &h->all));
        child_end(child.pid);
        assert_int_equal(put_back(h, record), 1); /* and again, to the same end */
}

/* The kernel moves those up whose directory has lost its last CPU: they are ours all the same. */
HOST_TEST(fallen_out_of_its_directory) {
        const Placement placement = { .reason = "", .cpus = cpu_set("8191") };
        _cleanup_(undo_record_freep) UndoRecord *record = NULL;
        _cleanup_free_ char *home = NULL;

        h->member.process.id =
                (ProcessId){ .pid = h->handle.pid, .start_ticks = h->handle.start_ticks };
        assert_int_equal(proc_cgroup_path_read(&h->handle, "cpuset", &home), 0);
        assert_int_equal(undo_record_new(h->name, NULL, &record), 0);
        assert_int_equal(note(h, record), 1);
        set_given(record, &h->one);
        assert_int_equal(set_cpus(h, &h->one), 1);
        assert_int_equal(cgroup_write(h->backend.root_fd, CGROUP1_FOLDER "/cgroup.procs",
                                      fmt("%d", h->handle.pid)),
                         0);
        assert_in(h, "/" CGROUP1_FOLDER);
        /* Whatever is left there, it is to come out again. */
        assert_null(h->backend.ops->refuses(&h->backend, &h->target, &placement));
        assert_int_equal(put_back(h, record), 1);
        assert_in(h, home);
        assert_cpus(h, &h->all);
        assert_true(cgroup1_is_ours("/tidbnumad/a"));
        assert_false(cgroup1_is_ours("/tidbnumad-2"));
        assert_false(cgroup1_is_ours("/"));
}
