/* What is noted of threads before they are bound, and what they get back: with threads whose CPUs
 * the test makes up. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "set-before.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/sys/affinity.h"

enum { THREADS_MAX = 16 };

/* The kernel: a thread has what it asked for, as far as the cpuset lets it. */
static struct {
        pid_t tid;
        CpuSet mask;
} threads[THREADS_MAX];
static size_t n_threads;
static CpuSet allowed;
static unsigned n_sets;
static int set_error;
static int read_error; /* once */

static CpuSet *mask_of(pid_t tid) {
        for (size_t i = 0; i < n_threads; i++)
                if (threads[i].tid == tid)
                        return &threads[i].mask;
        return NULL;
}

int __wrap_affinity_read_thread(pid_t tid, CpuSet *ret);
int __wrap_affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                               const CpuSet *cpus, bool exactly, uint64_t *n_strangers);

int __wrap_affinity_read_thread(pid_t tid, CpuSet *ret) {
        const CpuSet *mask = mask_of(tid);
        const int error = read_error;

        read_error = 0;
        if (error || !mask)
                return error ? error : -ESRCH;
        *ret = *mask;
        return 0;
}

int __wrap_affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                               const CpuSet *cpus, bool exactly, uint64_t *n_strangers) {
        CpuSet *mask = mask_of(tid), next = *cpus, before;

        (void)sysroot;
        (void)handle;
        (void)n_strangers;
        assert_true(exactly);
        n_sets++;
        if (set_error)
                return set_error;
        id_set_intersect(&next, &allowed);
        if (!mask)
                return -ESRCH;
        if (id_set_is_empty(&next))
                return -EINVAL;
        before = *mask;
        *mask = next;
        return !id_set_equal(&before, &next);
}

typedef struct Host {
        FakeTree tree;
        Backend backend;
        ProcHandle handles[2];
        Member members[2];
        BackendTarget target;
        UndoRecord *record;
} Host;

static void thread(Host *h, pid_t pid, pid_t tid, const char *cpus) {
        CpuSet *known = mask_of(tid);

        fake_thread(&h->tree, pid, tid, cpus, 0);
        if (!known)
                known = &threads[n_threads].mask, threads[n_threads++].tid = tid;
        *known = cpu_set(cpus);
}

static void process(Host *h, size_t i, pid_t pid, pid_t parent, const char *cpus) {
        fake_process(&h->tree, pid, parent, "/srv/a", "/a/b", cpus);
        thread(h, pid, pid, cpus);
        assert_int_equal(proc_open(&h->tree.sysroot, pid, &h->handles[i]), 0);
        h->members[i] = (Member){
                .process = { .id = { .pid = pid, .start_ticks = h->handles[i].start_ticks },
                             .cgroup = (char *)"/a/b" },
                .handle = &h->handles[i],
        };
        h->target.n_members = i + 1;
}

static void cpuset(Host *h, const char *cpus) {
        fake_write(&h->tree, "sys/fs/cgroup/a/cpuset.cpus.effective", cpus);
        allowed = cpu_set(cpus);
}

/* A process 50 on cgroup v2; the controller is enabled for the group above its own. */
static void host_init(Host *h) {
        *h = (Host){ .handles = { PROC_HANDLE_NONE, PROC_HANDLE_NONE } };
        n_threads = n_sets = 0;
        set_error = read_error = 0;
        fake_init(&h->tree);
        fake_write(&h->tree, "sys/fs/cgroup/cgroup.controllers", "cpuset");
        fake_write(&h->tree, "sys/fs/cgroup/a/b/cgroup.procs", "50");
        fake_write(&h->tree, "sys/fs/cgroup/cpuset.cpus.effective", "0-15");
        cpuset(h, "0-7");
        backend_init(&h->backend, &h->tree.sysroot, NULL);
        assert_int_equal(undo_record_new("a", NULL, &h->record), 0);
        h->target = (BackendTarget){ .instance = "a", .members = h->members };
        process(h, 0, 50, 1, "0-7");
}

static void host_done(Host *h) {
        for (size_t i = 0; i < 2; i++)
                proc_close(&h->handles[i]);
        undo_record_free(h->record);
        backend_done(&h->backend);
        fake_done(&h->tree);
}
#define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)

static void note(Host *h, unsigned what) {
        assert_int_equal(undo_note_processes(&h->backend, &h->target, h->record, what), 0);
}

/* All threads of a process on these CPUs, as the backends do it. */
static void give(Host *h, const char *cpus) {
        const CpuSet set = cpu_set(cpus);

        set_given(h->record, &set);
        for (size_t i = 0; i < n_threads; i++)
                threads[i].mask = set;
}

static int restore(Host *h, size_t i) {
        return undo_restore_threads(&h->backend, h->record,
                                    undo_record_find(h->record, &h->members[i].process.id),
                                    &h->handles[i]);
}

static void assert_mask(pid_t tid, const char *expected) {
        assert_ids(*mask_of(tid), expected);
}

HOST_TEST(notes_and_restores) {
        thread(h, 50, 51, "3");
        thread(h, 50, 52, "0-7");
        thread(h, 50, 53, "4-5");
        note(h, NOTE_MASKS);
        assert_int_equal(h->record->n_processes, 1);
        assert_int_equal(h->record->processes[0].n_masks, 2); /* the rest follows its cpuset */
        assert_true(h->record->processes[0].masks_set);
        give(h, "2");
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-7");
        assert_mask(51, "3");
        assert_mask(52, "0-7");
        assert_mask(53, "4-5");
}

/* The value that was recorded first stays, whatever is read later. */
HOST_TEST(noted_once) {
        note(h, NOTE_MASKS);
        give(h, "2");
        h->record->stale = false;
        note(h, NOTE_MASKS);
        assert_false(h->record->stale);
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-7");
}

HOST_TEST(wider_than_it_was) {
        note(h, NOTE_MASKS);
        give(h, "2");
        cpuset(h, "0-11"); /* its cpuset has grown: it followed it */
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-11");
}

HOST_TEST(own_choice_since) {
        thread(h, 50, 51, "0-7");
        note(h, NOTE_MASKS);
        give(h, "2-3");
        *mask_of(51) = cpu_set("3");
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-7");
        assert_mask(51, "3");
}

HOST_TEST(cpu_that_went_offline) {
        thread(h, 50, 51, "6");
        note(h, NOTE_MASKS);
        give(h, "2-3");
        cpuset(h, "0-2,4-5,7"); /* 3 and 6 are gone */
        *mask_of(50) = *mask_of(51) = cpu_set("2");
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-2,4-5,7");
        assert_mask(51, "0-2,4-5,7"); /* the next best: all that there are */
}

/* Born with our CPUs: it would have had what its maker had. */
HOST_TEST(born_bound) {
        *mask_of(50) = cpu_set("1,4");
        note(h, NOTE_MASKS);
        give(h, "2");
        process(h, 1, 60, 50, "2");
        note(h, NOTE_MASKS);
        assert_int_equal(h->record->n_processes, 2);
        assert_int_equal(restore(h, 1), 0);
        assert_mask(60, "1,4");
        /* One that chose others was not born so. */
        undo_record_remove(h->record, 1);
        *mask_of(60) = cpu_set("3");
        note(h, NOTE_MASKS);
        give(h, "2");
        assert_int_equal(restore(h, 1), 0);
        assert_mask(60, "3");
}

/* A backend with a cpuset has not touched the masks: kernels before 6.2 did, and those that chose
 * CPUs get them again. */
HOST_TEST(only_choices_where_the_cpuset_did_it) {
        thread(h, 50, 51, "3");
        thread(h, 50, 52, "5");
        note(h, 0);
        assert_false(h->record->processes[0].masks_set);
        *mask_of(51) = cpu_set("0-7"); /* as the kernel leaves it after the widening */
        *mask_of(52) = cpu_set("6");   /* chosen since */
        assert_int_equal(restore(h, 0), 0);
        assert_mask(51, "3");
        assert_mask(52, "6");
        assert_int_equal(n_sets, 1);
}

HOST_TEST(refused) {
        note(h, NOTE_MASKS);
        give(h, "2");
        set_error = -EPERM;
        assert_int_equal(restore(h, 0), -EPERM);
        set_error = -ESRCH;
        assert_int_equal(restore(h, 0), 0);
        fake_remove(&h->tree, "proc/50");
        assert_int_equal(restore(h, 0), -ESRCH);
}

/* One answer that a thread has ended is not enough to leave it bound. */
HOST_TEST(not_read_once) {
        note(h, NOTE_MASKS);
        give(h, "2");
        read_error = -ESRCH;
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-7");
        give(h, "2");
        read_error = -ENOMEM;
        assert_int_equal(restore(h, 0), -ENOMEM);
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-7");
}

HOST_TEST(whole_record) {
        UndoRestore r;

        process(h, 1, 60, 1, "0-7");
        note(h, NOTE_MASKS);
        give(h, "2");
        fake_remove(&h->tree, "proc/60");
        fake_process(&h->tree, 60, 1, "/srv/other", "/a/b", "2");
        fake_stat_file(&h->tree, "proc/60", 60, 1, 'S', 7, 0); /* the number is another's now */
        undo_restore_begin(&r, h->record);
        assert_int_equal(undo_restore_masks(&h->backend, &r, NULL), 1);
        assert_mask(50, "0-7");
        assert_mask(60, "2");
}

HOST_TEST(cpuset_unknown) {
        fake_remove(&h->tree, "sys/fs/cgroup/a");
        note(h, NOTE_MASKS);
        assert_int_equal(h->record->processes[0].n_masks, 1); /* to the letter, then */
        give(h, "2");
        assert_int_equal(restore(h, 0), 0);
        assert_mask(50, "0-7");
}

/* --- v1 --- */

static void host_v1(Host *h) {
        fake_remove(&h->tree, "sys/fs/cgroup/cgroup.controllers");
        fake_write(&h->tree, "proc/self/mountinfo",
                   "36 31 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
        fake_write(&h->tree, "proc/50/cgroup", "3:cpuset:/home\n0::/a/b\n");
        fake_write(&h->tree, "sys/fs/cgroup/cpuset/home/cpuset.effective_cpus", "0-7");
}

HOST_TEST(home_in_v1) {
        host_v1(h);
        note(h, NOTE_MASKS);
        assert_int_equal(h->record->processes[0].n_masks, 0);
        assert_null(h->record->processes[0].cpuset);
        h->record->stale = false;
        note(h, NOTE_MASKS | NOTE_CPUSET); /* another backend now */
        assert_true(h->record->stale);
        assert_string_equal(h->record->processes[0].cpuset, "/home");
        /* A child is born in our directory. */
        process(h, 1, 60, 50, "2");
        fake_write(&h->tree, "proc/60/cgroup", "3:cpuset:/tidbnumad/a\n0::/a/b\n");
        fake_write(&h->tree, "sys/fs/cgroup/cpuset/tidbnumad/a/cpuset.effective_cpus", "2");
        note(h, NOTE_MASKS | NOTE_CPUSET);
        assert_string_equal(h->record->processes[1].cpuset, "/home");
}

/* Found in our directory, and no record says where it was. */
HOST_TEST(home_that_nobody_knows) {
        host_v1(h);
        fake_write(&h->tree, "proc/50/cgroup", "3:cpuset:/tidbnumad/a\n0::/a/b\n");
        note(h, NOTE_CPUSET);
        assert_string_equal(h->record->processes[0].cpuset, "/");
}

HOST_TEST(half_a_note_is_none) {
        host_v1(h);
        fake_remove(&h->tree, "proc/50/cgroup");
        assert_int_equal(undo_note_processes(&h->backend, &h->target, h->record, NOTE_CPUSET),
                         -ESRCH);
        assert_int_equal(h->record->n_processes, 0);
}

/* That its files are gone is believed once its pidfd says the same. */
HOST_TEST(one_that_has_ended_is_left_out) {
        int ended[2];

        host_v1(h);
        fake_remove(&h->tree, "proc/50/cgroup");
        assert_int_equal(pipe(ended), 0);
        (void)close(ended[1]); /* a hang-up, as a pidfd shows */
        h->handles[0].pidfd = ended[0];
        note(h, NOTE_CPUSET);
        assert_int_equal(h->record->n_processes, 0);
}
