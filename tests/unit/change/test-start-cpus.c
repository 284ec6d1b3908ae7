/* The CPUs of real processes at their start, what a record says of them, and the way back. */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "tidbnumad/change/threads.h"
#include "tidbnumad/change/undo.h"
#include "tidbnumad/sys/affinity.h"

typedef struct Child {
        Sysroot sysroot;
        ProcHandle handle;
        CpuSet all, one, other; /* what this test may use; one CPU and another of them */
        uint64_t n_reuses;
} Child;

static CpuSet mask_of(pid_t pid) {
        CpuSet mask;

        assert_int_equal(affinity_read_thread(pid, &mask), 0);
        return mask;
}

static void child_init(Child *c) {
        pid_t pid;

        *c = (Child){ .all = mask_of(0) };
        if (id_set_count(&c->all) < 2)
                skip(); /* with one CPU to be bound changes nothing */
        id_set_add(&c->one, (uint32_t)id_set_next(&c->all, 0));
        id_set_add(&c->other,
                   (uint32_t)id_set_next(&c->all, (uint32_t)id_set_next(&c->one, 0) + 1));
        assert_int_equal(sysroot_open(NULL, &c->sysroot), 0);
        pid = child_start();
        assert_int_equal(proc_open(&c->sysroot, pid, &c->handle), 0);
}

static void end_process(Child *c) {
        child_end(c->handle.pid);
        proc_close(&c->handle);
}

static void child_replace(Child *c, pid_t pid) {
        end_process(c);
        assert_int_equal(proc_open(&c->sysroot, pid, &c->handle), 0);
}

static void child_done(Child *c) {
        end_process(c);
        sysroot_close(&c->sysroot);
}
#define _cleanup_child_ _cleanup_(child_done)
#define CHILD_TEST(test) TEST_WITH(test, Child, c, child_init, child_done)

static void assert_mask(const Child *c, const CpuSet *expected) {
        const CpuSet now = mask_of(c->handle.pid);

        assert_true(id_set_equal(&now, expected));
}

static void choose(const Child *c, const CpuSet *cpus) {
        uint64_t n = 0;

        assert_true(affinity_set_thread(&c->sysroot, &c->handle, c->handle.pid, cpus, true, &n) >=
                    0);
}

CHILD_TEST(given_and_taken_back) {
        StartCpus start;

        choose(c, &c->other);
        start_cpus_set(&c->sysroot, &c->handle, &c->one, &c->n_reuses, &start);
        assert_true(start.set);
        assert_true(id_set_equal(&start.before, &c->other));
        assert_true(id_set_equal(&start.given, &c->one));
        assert_mask(c, &c->one);
        start_cpus_take_back(&c->sysroot, &c->handle, &c->n_reuses, &start);
        assert_false(start.set);
        assert_mask(c, &c->other);
        choose(c, &c->one);
        start_cpus_take_back(&c->sysroot, &c->handle, &c->n_reuses, &start); /* it is over */
        assert_mask(c, &c->one);
}

CHILD_TEST(has_them_already) {
        StartCpus start;

        choose(c, &c->one);
        start_cpus_set(&c->sysroot, &c->handle, &c->one, &c->n_reuses, &start);
        assert_false(start.set);
}

CHILD_TEST(what_it_chose_since_is_its_own) {
        StartCpus start;

        start_cpus_set(&c->sysroot, &c->handle, &c->one, &c->n_reuses, &start);
        choose(c, &c->other);
        start_cpus_take_back(&c->sysroot, &c->handle, &c->n_reuses, &start);
        assert_mask(c, &c->other);
}

/* --- threads that were made before the exec's event was read --- */

static CpuSet chosen; /* by one thread of the child, before it reports that it runs */

static void *run_thread(void *told) {
        const int *fds = told;
        const pid_t tid = (pid_t)syscall(SYS_gettid);

        if (fds[2])
                (void)sched_setaffinity(0, sizeof(chosen), (const cpu_set_t *)&chosen);
        if (write(fds[1], &tid, sizeof(tid)) != sizeof(tid))
                abort();
        child_wait();
        return NULL;
}

static pid_t make_thread(int fds[3], bool chooses) {
        pthread_t thread;
        pid_t tid;

        fds[2] = chooses;
        if (pthread_create(&thread, NULL, run_thread, fds) != 0 ||
            read(fds[0], &tid, sizeof(tid)) != sizeof(tid))
                abort();
        return tid;
}

/* A child with two threads: one that has what its maker has, and one that chose `other`. */
static void child_init_threads(Child *c, pid_t *ret_follower, pid_t *ret_chooser) {
        pid_t tids[2], pid;
        int told[2];

        child_init(c);
        chosen = c->other;
        assert_int_equal(pipe(told), 0);
        pid = child_fork();
        if (pid == 0) {
                int fds[3];

                if (pipe(fds) < 0)
                        abort();
                tids[0] = make_thread(fds, false);
                tids[1] = make_thread(fds, true);
                (void)!write(told[1], tids, sizeof(tids));
                child_wait();
        }
        assert_int_equal(read(told[0], tids, sizeof(tids)), sizeof(tids));
        (void)close(told[0]);
        (void)close(told[1]);
        child_replace(c, pid);
        *ret_follower = tids[0];
        *ret_chooser = tids[1];
}

static void assert_masks(const Child *c, pid_t follower, const CpuSet *own, pid_t chooser) {
        const CpuSet first = mask_of(c->handle.pid), second = mask_of(follower),
                     third = mask_of(chooser);

        assert_true(id_set_equal(&first, own));
        assert_true(id_set_equal(&second, own));
        assert_true(id_set_equal(&third, &c->other));
}

TEST(threads_come_along) {
        pid_t follower, chooser;
        _cleanup_child_ Child c;
        StartCpus start;

        child_init_threads(&c, &follower, &chooser);
        start_cpus_set(&c.sysroot, &c.handle, &c.one, &c.n_reuses, &start);
        assert_true(start.set);
        assert_masks(&c, follower, &c.one, chooser);
        start_cpus_take_back(&c.sysroot, &c.handle, &c.n_reuses, &start);
        assert_masks(&c, follower, &c.all, chooser);
}

/* What it had before is not what the kernel shows when the record is made. */
CHILD_TEST(the_record_has_what_was_before) {
        _cleanup_(undo_record_freep) UndoRecord *record = NULL;
        const UndoProcess *entry;
        const CpuSet *mask;
        Backend backend;
        StartCpus start;
        Member member;
        BackendTarget target = { .instance = "a", .members = &member, .n_members = 1 };

        member = (Member){ .process = { .id = { c->handle.pid, c->handle.start_ticks } },
                           .handle = &c->handle,
                           .start = &start };
        choose(c, &c->other);
        start_cpus_set(&c->sysroot, &c->handle, &c->one, &c->n_reuses, &start);
        backend_init(&backend, &c->sysroot, NULL);
        assert_int_equal(undo_record_new("a", NULL, &record), 0);
        assert_int_equal(undo_note_processes(&backend, &target, record, NOTE_MASKS), 0);
        backend_done(&backend);
        entry = undo_record_find(record, &member.process.id);
        assert_non_null(entry);
        mask = undo_process_mask(entry, c->handle.pid, 0);
        assert_non_null(mask);
        assert_true(id_set_equal(mask, &c->other));
}

/* --- a daemon that was killed before it wrote the record --- */

CHILD_TEST(recalled) {
        _cleanup_undo_starts_ UndoStarts former = { 0 };
        StartCpus start;

        choose(c, &c->one);
        start_cpus_recall(&former, &c->handle, &start);
        assert_false(start.set); /* that daemon set none */
        assert_int_equal(undo_starts_add(&former, &c->other), 0);
        start_cpus_recall(&former, &c->handle, &start);
        assert_false(start.set); /* but others than these */
        assert_int_equal(undo_starts_add(&former, &c->one), 0);
        start_cpus_recall(&former, &c->handle, &start);
        assert_true(start.set);
        assert_true(id_set_equal(&start.given, &c->one));
        assert_true(id_set_equal(&start.before, &c->all)); /* as this test, its parent */
        start_cpus_take_back(&c->sysroot, &c->handle, &c->n_reuses, &start);
        assert_mask(c, &c->all);
}

/* What its parent has itself, it was not given. */
CHILD_TEST(inherited_is_not_recalled) {
        _cleanup_undo_starts_ UndoStarts former = { 0 };
        StartCpus start;

        assert_int_equal(undo_starts_add(&former, &c->all), 0);
        start_cpus_recall(&former, &c->handle, &start);
        assert_false(start.set);
}

/* --- the list --- */

TREE_TEST(list_in_its_file) {
        _cleanup_undo_starts_ UndoStarts starts = { 0 }, again = { 0 };
        const CpuSet a = cpu_set("0-3,8"), b = cpu_set("1000");

        assert_int_equal(undo_starts_read(tree->fd, &again), -ENOENT);
        assert_int_equal(undo_starts_add(&starts, &a), 0);
        assert_int_equal(undo_starts_add(&starts, &b), 0);
        assert_int_equal(undo_starts_add(&starts, &a), 0);
        assert_int_equal(starts.n, 2);
        assert_int_equal(undo_starts_write(tree->fd, &starts), 0);
        assert_int_equal(undo_starts_read(tree->fd, &again), 0);
        assert_int_equal(again.n, 2);
        assert_true(id_set_equal(&again.cpus[0], &a));
        assert_true(id_set_equal(&again.cpus[1], &b));
        starts.n = 0;
        assert_int_equal(undo_starts_write(tree->fd, &starts), 0);
        assert_int_equal(faccessat(tree->fd, UNDO_STARTS_FILE, F_OK, 0), -1);
        assert_int_equal(undo_starts_write(tree->fd, &starts), 0); /* there is none */
        assert_int_equal(undo_starts_write(-EBADF, &starts), -EBADF);
}

TEST(list_of_others) {
        static const struct {
                const char *text;
                int error;
        } cases[] = {
                { "", -EBADMSG },
                { "{\"version\": 1}", -EBADMSG },
                { "{\"version\": 1, \"settings\": {}}", -EBADMSG },
                { "{\"version\": 1, \"settings\": [7]}", -EBADMSG },
                { "{\"version\": 1, \"settings\": [{\"kind\": \"cpus\", \"target\": null, "
                  "\"before\": null, \"ours\": [\"1\"]}]}",
                  -EBADMSG },
                { "{\"version\": 1, \"settings\": [{\"kind\": \"start\", \"target\": null, "
                  "\"before\": null, \"ours\": [\"\"]}]}",
                  -EBADMSG },
                { "{\"version\": 1, \"settings\": [{\"kind\": \"start\", \"target\": null, "
                  "\"before\": null, \"ours\": [\"x\"]}]}",
                  -EBADMSG },
                { "{\"version\": 1, \"settings\": [{\"kind\": \"start\", \"target\": null, "
                  "\"before\": null, \"ours\": \"1\"}]}",
                  -EBADMSG },
                { "{\"version\": 99, \"settings\": []}", -ENOTSUP },
                { "{\"version\": 1, \"settings\": []}", 0 },
                { "{\"version\": 1, \"settings\": [{\"kind\": \"start\", \"target\": null, "
                  "\"before\": null, \"ours\": [\"1,3\"]}]}",
                  0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_undo_starts_ UndoStarts starts = { 0 };

                assert_int_equal(undo_starts_parse(cases[i].text, strlen(cases[i].text), &starts),
                                 cases[i].error);
        }
}
