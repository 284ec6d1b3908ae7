/* Passes over the threads of a process, with answers for each thread that the test makes up. What a
 * single thread gets is sys/affinity's. */

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/backend.h"
#include "tidbnumad/sys/affinity.h"

static unsigned n_calls, n_changes; /* so many of the calls change something, the first ones */
static int answer;                  /* of a call that changes nothing */
static bool was_exact;

int __wrap_affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                               const CpuSet *cpus, bool exactly, uint64_t *n_pid_reuses);

int __wrap_affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                               const CpuSet *cpus, bool exactly, uint64_t *n_pid_reuses) {
        (void)sysroot;
        (void)handle;
        (void)tid;
        (void)cpus;
        (void)n_pid_reuses;
        was_exact = exactly;
        return ++n_calls <= n_changes ? 1 : answer;
}

typedef struct Host {
        FakeTree tree;
        Backend backend;
        ProcHandle handle;
        Member member;
} Host;

/* A process of one thread. */
static void host_init(Host *h, unsigned changes) {
        *h = (Host){ .handle = PROC_HANDLE_NONE };
        fake_init(&h->tree);
        fake_process(&h->tree, 50, 1, "/srv/a", "/", "0-7");
        assert_int_equal(proc_open(&h->tree.sysroot, 50, &h->handle), 0);
        h->member.handle = &h->handle;
        backend_init(&h->backend, &h->tree.sysroot, NULL);
        n_calls = 0;
        n_changes = changes;
        answer = 0;
}

static void host_done(Host *h) {
        backend_done(&h->backend);
        proc_close(&h->handle);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)

static int set_cpus(Host *h) {
        const BackendTarget target = { .members = &h->member, .n_members = 1 };
        const CpuSet cpus = cpu_set("4-7");

        return backend_affinity_ops.set_cpus(&h->backend, &target, &cpus, NULL);
}

/* One pass more than those that changed something: a thread may have been made meanwhile. */
TEST(until_nothing_changes) {
        for (unsigned changes = 0; changes < 5; changes++) {
                _cleanup_host_ Host h;

                host_init(&h, changes);
                assert_int_equal(set_cpus(&h), 1);
                assert_int_equal(n_calls, changes + 1);
        }
}

TEST(ends_at_last) {
        _cleanup_host_ Host h;

        host_init(&h, 1000);
        assert_int_equal(set_cpus(&h), 1);
        assert_int_equal(n_calls, 10);
}

TEST(exactly_once) {
        _cleanup_host_ Host h;

        host_init(&h, 0);
        assert_int_equal(set_cpus(&h), 1);
        assert_true(was_exact);
        h.member.cpus_applied = true;
        assert_int_equal(set_cpus(&h), 1);
        assert_false(was_exact);
}

TEST(failures) {
        _cleanup_host_ Host h;

        host_init(&h, 0);
        answer = -ESRCH; /* a thread that has ended is none */
        assert_int_equal(set_cpus(&h), 1);
        answer = -EINVAL;
        assert_int_equal(set_cpus(&h), -EINVAL);
        answer = 0;
        fake_remove(&h.tree, "proc/50");
        assert_int_equal(set_cpus(&h), -ESRCH);
}
