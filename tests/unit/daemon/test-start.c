/* What a process was given at its exec, once it is known what becomes of it. */

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "rooms.h"
#include "tidbnumad/daemon/binding/bind.h"
#include "tidbnumad/enforce/start-cpus.h"
#include "tidbnumad/sys/affinity.h"

typedef struct TestHost {
        Args args;
        Rooms m;
        Policy policy;
        BackendOps ops;
        Instance *instance;
        pid_t pid;
        CpuSet all, one;
} TestHost;

static const char *why; /* the backend refuses */

static const char *refuses(Backend *backend, const BackendTarget *target, const Placement *p) {
        (void)backend;
        (void)target;
        (void)p;
        return why;
}

/* A real process with one CPU of the two or more that this test has, of an instance with a place.
 */
static void host_init(TestHost *h, BackendKind kind) {
        ProcHandle handle = PROC_HANDLE_NONE;
        Process p = { .exe = strdup("/srv/tidb-server") };

        *h = (TestHost){ .policy = { .name = (char *)"p" },
                         .ops = { .kind = kind, .refuses = refuses } };
        why = NULL;
        assert_int_equal(affinity_read_thread(0, &h->all), 0);
        if (id_set_count(&h->all) < 2)
                skip(); /* with one CPU to be bound changes nothing */
        id_set_add(&h->one, (uint32_t)id_set_next(&h->all, 0));
        assert_int_equal(sysroot_open(NULL, &h->m.host.sysroot), 0);
        h->m.host.args = &h->args;
        h->m.host.journal.max_priority = -1;
        rooms_wire(&h->m);
        backend_init(&h->m.host.backend, &h->m.host.sysroot, NULL);
        h->m.host.backend.ops = &h->ops;
        h->pid = child_start();
        assert_int_equal(proc_open(&h->m.host.sysroot, h->pid, &handle), 0);
        p.id = (ProcessId){ h->pid, handle.start_ticks };
        h->instance = rooms_add(&h->m, &h->policy, &p, &handle);
        id_set_add(&h->instance->binding.placement.nodes, 0);
        start_cpus_set(&h->m.host.sysroot, h->instance->members[0].handle, &h->one,
                       &h->m.host.backend.n_pid_reuses, &h->instance->members[0].start);
        assert_true(h->instance->members[0].start.set);
}

static void host_done(TestHost *h) {
        rooms_free_instances(&h->m);
        undo_done(&h->m.undo.records);
        h->m.host.backend.ops = NULL;
        backend_done(&h->m.host.backend);
        child_end(h->pid);
        sysroot_close(&h->m.host.sysroot);
}
#define _cleanup_host_ _cleanup_(host_done)

/* Once it was observed it has these CPUs, and none are left to be taken back unless it kept them.
 */
static void assert_after_check(TestHost *h, const CpuSet *expected) {
        CpuSet now;

        bind_check_start(&h->m.binding, h->instance);
        assert_int_equal(affinity_read_thread(h->pid, &now), 0);
        assert_true(id_set_equal(&now, expected));
        assert_int_equal(h->instance->members[0].start.set, id_set_equal(expected, &h->one));
}

/* Kept where the threads are bound themselves, and by an instance that is to be bound. */
TEST(kept_or_taken_back) {
        static const struct {
                BackendKind kind;
                const char *why;
                bool no_place, stopping, kept;
        } cases[] = {
                { BACKEND_AFFINITY, .kept = true },
                { BACKEND_CGROUP1, .kept = true },
                { BACKEND_SYSTEMD },
                /* The cpuset of a container does not allow its nodes: nothing is recorded. */
                { BACKEND_CGROUP1, .why = "no" },
                { BACKEND_CGROUP1, .no_place = true },
                { BACKEND_AFFINITY, .stopping = true },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_host_ TestHost h;

                host_init(&h, cases[i].kind);
                why = cases[i].why;
                if (cases[i].no_place)
                        h.instance->binding.placement.nodes = (NodeSet){ 0 };
                h.m.host.stopping = cases[i].stopping;
                assert_after_check(&h, cases[i].kept ? &h.one : &h.all);
        }
}
