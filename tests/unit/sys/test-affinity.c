/* CPUs of real threads, and what happens to another process that has got a thread's number. */
#include <sched.h>
#include <sys/syscall.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/id-sets.h"
#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/affinity.h"

/* After it was checked so many more times the thread is gone; 0: never. */
static unsigned looks_left;

int __real_faccessat(int fd, const char *path, int mode, int flags);
int __wrap_faccessat(int fd, const char *path, int mode, int flags);

int __wrap_faccessat(int fd, const char *path, int mode, int flags) {
        if (looks_left > 0 && --looks_left == 0) {
                errno = ENOENT;
                return -1;
        }
        return __real_faccessat(fd, path, mode, flags);
}

/* The same of its link to a program. */
static unsigned links_left;

ssize_t __real_readlinkat(int fd, const char *path, char *buffer, size_t size);
ssize_t __wrap_readlinkat(int fd, const char *path, char *buffer, size_t size);

ssize_t __wrap_readlinkat(int fd, const char *path, char *buffer, size_t size) {
        if (links_left > 0 && --links_left == 0) {
                errno = ENOENT;
                return -1;
        }
        return __real_readlinkat(fd, path, buffer, size);
}

/* The CPUs cannot be read by the read after so many more; 0: they always can. */
static unsigned reads_left;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...) {
        va_list args;
        pid_t tid;
        size_t size;
        void *mask;

        va_start(args, number); /* both calls of affinity.c take these three */
        tid = va_arg(args, pid_t);
        size = va_arg(args, size_t);
        mask = va_arg(args, void *);
        va_end(args);
        if (number == SYS_sched_getaffinity && reads_left > 0 && --reads_left == 0) {
                errno = EPERM;
                return -1;
        }
        return __real_syscall(number, tid, size, mask);
}

typedef struct Child {
        Sysroot sysroot;
        pid_t pid;
        ProcHandle handle;
        CpuSet all, one, other; /* what this test may use; one CPU and another of them */
        uint64_t n_strangers;
} Child;

static CpuSet mask_of(pid_t pid) {
        cpu_set_t mask;
        CpuSet set = { 0 };

        assert_int_equal(sched_getaffinity(pid, sizeof(mask), &mask), 0);
        for (uint32_t i = 0; i < CPU_SETSIZE; i++)
                if (CPU_ISSET(i, &mask))
                        id_set_add(&set, i);
        return set;
}

static void child_done(Child *c) {
        looks_left = links_left = reads_left = 0;
        child_end(c->pid);
        proc_close(&c->handle);
        sysroot_close(&c->sysroot);
}
#define _cleanup_child_ _cleanup_(child_done)

static void child_init(Child *c) {
        *c = (Child){ .all = mask_of(0) };
        if (id_set_count(&c->all) < 2)
                skip();
        assert_int_equal(sysroot_open(NULL, &c->sysroot), 0);
        id_set_add(&c->one, (uint32_t)id_set_next(&c->all, 0));
        id_set_add(&c->other,
                   (uint32_t)id_set_next(&c->all, (uint32_t)id_set_next(&c->one, 0) + 1));
        c->pid = child_start();
        assert_int_equal(proc_open(&c->sysroot, c->pid, &c->handle), 0);
}

#define CHILD_TEST(test) TEST_WITH(test, Child, c, child_init, child_done)

static int set(Child *c, const CpuSet *cpus, bool exactly) {
        return affinity_set_thread(&c->sysroot, &c->handle, c->pid, cpus, exactly, &c->n_strangers);
}

static void assert_mask(const Child *c, const CpuSet *expected) {
        CpuSet now = mask_of(c->pid);

        assert_true(id_set_equal(&now, expected));
}

CHILD_TEST(sets) {
        assert_int_equal(set(c, &c->all, true), 0);
        assert_int_equal(set(c, &c->one, false), 1); /* wider is outside */
        assert_mask(c, &c->one);
        assert_int_equal(set(c, &c->one, true), 0);
        assert_int_equal(set(c, &c->all, false), 0); /* narrower is within */
        assert_mask(c, &c->one);
        assert_int_equal(set(c, &c->all, true), 1);
        assert_mask(c, &c->all);
        assert_int_equal(c->n_strangers, 0);
}

CHILD_TEST(cpus_that_are_not_there) {
        CpuSet absent = { 0 };

        id_set_add(&absent, CPU_SET_MAX - 1);
        assert_int_equal(set(c, &absent, true), -EINVAL);
        assert_mask(c, &c->all);
        /* What the kernel cuts down to what was there before is no change: passes must end. */
        assert_int_equal(set(c, &c->one, true), 1);
        id_set_union(&absent, &c->one);
        assert_int_equal(set(c, &absent, true), 0);
}

CHILD_TEST(gone) {
        looks_left = 1; /* before the call: the other process is not touched at all */
        assert_int_equal(set(c, &c->one, true), -ESRCH);
        assert_mask(c, &c->all);
        child_end(c->pid);
        c->pid = 0;
        assert_int_equal(set(c, &c->one, true), -ESRCH);
        assert_int_equal(c->n_strangers, 0);
}

/* The number went to another while the call was on its way: it gets what its parent has. */
CHILD_TEST(stranger_gets_its_own_back) {
        assert_int_equal(set(c, &c->other, true), 1);
        looks_left = 2;
        assert_int_equal(set(c, &c->one, true), -ESRCH);
        assert_mask(c, &c->all);
        assert_int_equal(c->n_strangers, 1);
}

/* A child of a process that is bound itself has the CPUs rightly. */
CHILD_TEST(child_of_a_bound_one_keeps_them) {
        cpu_set_t was, one;

        assert_int_equal(sched_getaffinity(0, sizeof(was), &was), 0);
        CPU_ZERO(&one);
        CPU_SET((unsigned)id_set_next(&c->one, 0), &one);
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        looks_left = 2;
        assert_int_equal(set(c, &c->one, true), -ESRCH);
        assert_int_equal(sched_setaffinity(0, sizeof(was), &was), 0);
        assert_mask(c, &c->one);
        assert_int_equal(c->n_strangers, 0);
}

CHILD_TEST(first_thread) {
        CpuSet before, after;

        assert_int_equal(affinity_set_first_thread(&c->sysroot, &c->handle, &c->all,
                                                   &c->n_strangers, &before, &after),
                         0);
        assert_int_equal(affinity_set_first_thread(&c->sysroot, &c->handle, &c->one,
                                                   &c->n_strangers, &before, &after),
                         1);
        assert_mask(c, &c->one);
        assert_true(id_set_equal(&before, &c->all));
        assert_true(id_set_equal(&after, &c->one));
        assert_int_equal(c->n_strangers, 0);
}

/* The handle is of a process that has ended since the caller saw its program, and the number is
 * another's by now: it gets back what it had. */
/* What cannot be read back would not be known later: not what it had, and not what it was given. */
CHILD_TEST(given_back_where_they_cannot_be_read) {
        CpuSet before, after;

        assert_int_equal(set(c, &c->other, true), 1);
        reads_left = 2;
        assert_int_equal(affinity_set_first_thread(&c->sysroot, &c->handle, &c->one,
                                                   &c->n_strangers, &before, &after),
                         -EPERM);
        after = mask_of(c->pid);
        assert_true(id_set_equal(&after, &c->other));
        reads_left = 2;
        assert_int_equal(set(c, &c->one, true), -EPERM);
        after = mask_of(c->pid);
        assert_true(id_set_equal(&after, &c->other));
}

TEST(first_thread_of_one_that_is_gone) {
        _cleanup_child_ Child c, other;
        CpuSet before, after;

        child_init(&c);
        child_init(&other);
        child_end(other.pid);
        other.pid = 0;
        other.handle.pid = c.pid;
        assert_int_equal(affinity_set_first_thread(&c.sysroot, &other.handle, &c.one,
                                                   &c.n_strangers, &before, &after),
                         -ESRCH);
        assert_mask(&c, &c.all);
        assert_int_equal(c.n_strangers, 1);
        other.handle.pid = other.pid;
}

/* It ends while the call is on its way. */
CHILD_TEST(first_thread_of_one_that_ends) {
        CpuSet before, after;

        assert_int_equal(set(c, &c->other, true), 1);
        links_left = 1;
        assert_int_equal(affinity_set_first_thread(&c->sysroot, &c->handle, &c->one,
                                                   &c->n_strangers, &before, &after),
                         -ESRCH);
        assert_mask(c, &c->all);
        assert_int_equal(c->n_strangers, 1);
}

TEST(loan) {
        CpuSet before, now, one = { 0 }, none = { 0 };
        AffinityLoan loan;

        assert_int_equal(affinity_read_thread(0, &before), 0);
        id_set_add(&one, (size_t)id_set_next(&before, 0));
        affinity_borrow(&one, &loan);
        assert_int_equal(affinity_read_thread(0, &now), 0);
        assert_true(id_set_equal(&now, &one));
        affinity_return(&loan);
        affinity_return(&loan);
        assert_int_equal(affinity_read_thread(0, &now), 0);
        assert_true(id_set_equal(&now, &before));
        affinity_borrow(&none, &loan);
        assert_false(loan.taken);
        id_set_add(&none, CPU_SET_MAX - 1); /* the kernel refuses */
        affinity_borrow(&none, &loan);
        assert_false(loan.taken);
        assert_int_equal(affinity_read_thread(0, &now), 0);
        assert_true(id_set_equal(&now, &before));
}
