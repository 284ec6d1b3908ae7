/* CPU affinity of threads, guarded against numbers that were given to another thread. */
#include <string.h>
#include <sys/syscall.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/affinity.h"

_Static_assert(sizeof(unsigned long) == sizeof(uint64_t), "the kernel's masks are made of longs");

int affinity_read_thread(pid_t tid, CpuSet *ret) {
        CpuSet mask = { 0 };

        if (syscall(SYS_sched_getaffinity, tid, sizeof(mask), &mask) < 0)
                return -errno;
        *ret = mask;
        return 0;
}

static int affinity_write(pid_t tid, const CpuSet *mask) {
        return syscall(SYS_sched_setaffinity, tid, sizeof(*mask), mask) < 0 ? -errno : 0;
}

/* What the call is given a number for. */
typedef struct Subject {
        const Sysroot *sysroot;
        const ProcHandle *handle;
        pid_t tid;
        bool first; /* of its process: the number stays while that has a program */
        uint64_t *n_pid_reuses;
} Subject;

/* The thread exists: its id is checked again after the CPUs are set. If they cannot be read back,
 * it gets those that it had: what is not known could not be taken back later. */
static int set_and_check(const Subject *s, const CpuSet *before, const CpuSet *cpus,
                         CpuSet *ret_after) {
        int r = affinity_write(s->tid, cpus);
        char text[16384];
        uint64_t group, parent;
        CpuSet now, was;
        pid_t maker = 0; /* not known */

        if (r < 0)
                return r;
        r = affinity_read_thread(s->tid, ret_after);
        /* Is the number still the thread's? */
        if (s->first ? proc_has_program(s->handle) : proc_has_thread(s->handle, s->tid)) {
                if (r < 0)
                        (void)affinity_write(s->tid, before);
                return r;
        }
        /* Our thread was gone when the call returned. Usually no thread has its number; in the
         * worst case the numbers have wrapped meanwhile and the number is another thread's, so
         * young that it has what it inherited. What our own thread had before is of no use: the two
         * have nothing in common. A parent that has the CPUs itself is one that we have bound, and
         * its child rightly has them too. */
        if (r < 0 || affinity_read_thread(s->tid, &now) < 0 || !id_set_equal(&now, ret_after))
                return -ESRCH;
        /* A thread inherits the mask of the thread that created it; which one of a process's
         * threads that was, the kernel does not show. */
        if (path_read(s->sysroot->proc_fd, text, sizeof(text), "%d/status", s->tid) >= 0 &&
            parse_field(text, "\nTgid:", &group) >= 0 && parse_field(text, "\nPPid:", &parent) >= 0)
                maker = (pid_t)group != s->tid ? (pid_t)group : (pid_t)parent;
        if (maker <= 0 || affinity_read_thread(maker, &was) < 0)
                memset(&was, 0xff, sizeof(was)); /* the kernel cuts it down to what is allowed */
        if (!id_set_equal(&was, ret_after) && affinity_write(s->tid, &was) == 0)
                (*s->n_pid_reuses)++;
        return -ESRCH;
}

int affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                        const CpuSet *cpus, bool exactly, uint64_t *n_pid_reuses) {
        const Subject thread = { sysroot, handle, tid, false, n_pid_reuses };
        CpuSet before, after;
        int r;

        r = affinity_read_thread(tid, &before);
        if (r < 0)
                return r;
        if (exactly ? id_set_equal(&before, cpus) : id_set_is_subset(&before, cpus))
                return 0; /* another thread's mask at worst: then the thread is gone, and nothing is
                             left to do */
        if (!proc_has_thread(handle, tid))
                return -ESRCH;
        r = set_and_check(&thread, &before, cpus, &after);
        return r < 0 ? r : !id_set_equal(&before, &after);
}

int affinity_set_first_thread(const Sysroot *sysroot, const ProcHandle *handle, const CpuSet *cpus,
                              uint64_t *n_pid_reuses, CpuSet *ret_before, CpuSet *ret_after) {
        const Subject thread = { sysroot, handle, handle->pid, true, n_pid_reuses };
        int r;

        r = affinity_read_thread(handle->pid, ret_before);
        if (r < 0)
                return r;
        if (id_set_equal(ret_before, cpus))
                return 0;
        r = set_and_check(&thread, ret_before, cpus, ret_after);
        return r < 0 ? r : !id_set_equal(ret_before, ret_after);
}

void affinity_borrow(const CpuSet *cpus, AffinityLoan *ret) {
        *ret = (AffinityLoan){ 0 };
        if (!id_set_is_empty(cpus) && affinity_read_thread(0, &ret->before) == 0)
                ret->taken = affinity_write(0, cpus) == 0;
}

void affinity_return(AffinityLoan *loan) {
        if (loan->taken)
                (void)affinity_write(0, &loan->before);
        loan->taken = false;
}
