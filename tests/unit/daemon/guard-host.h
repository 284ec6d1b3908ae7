/* The daemon's own binding on a machine of four nodes, for tests of the full-node guard: services
 * are brought to their nodes by the reconciler, and then what is free there changes as the test
 * says. The kernel is the files of a folder, and shows at once what the backend asks for; what
 * processes hold, what the mover does and time are the test's. */
#pragma once

#include "../../support/test.h"

enum { NODES = 4, CPUS_A_NODE = 1, SERVICES = 8 };

#include "../change/set-before.h"
#include "capture.h"
#include "service-host.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/worker/worker.h"

#define ALL_NODES "0-3"

static struct {
        FakeTree tree;
        uint64_t now;
        unsigned n_widened, n_set;
        NodeSet forbidden; /* what no group of a service may have */
        int error;         /* of the next widenings */
        bool deaf;         /* what the backend asks for does not show */
        NodeSet admins;    /* what the admin has set on each unit */
        bool mover_works;  /* else the worker has not answered yet */
        unsigned n_moves;
        /* Instead, if it is set: a step of the mover, as worker_move(). */
        int (*on_move)(const ProcHandle *handle, const WorkerMove *move, MoverCounters *counters,
                       uint64_t *ret_bytes);
} kernel;

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return kernel.now;
}

/* --- the kernel, and the backend that asks it --- */

static inline void service_show(const char *unit, const char *file, IdView set) {
        char list[ID_SET_LIST_MAX];

        (void)id_view_render_list(set, list, sizeof(list));
        fake_write(&kernel.tree, fmt("sys/fs/cgroup/system.slice/%s/%s", unit, file),
                   fmt("%s\n", list));
}

static inline void kernel_show_mems(const char *unit, const NodeSet *mems) {
        service_show(unit, "cpuset.mems.effective", ID_VIEW(mems));
}

/* Megabytes of anonymous memory on each node. */
static inline void kernel_hold(const char *unit, const uint64_t mib[static NODES]) {
        fake_write(&kernel.tree, fmt("sys/fs/cgroup/system.slice/%s/memory.numa_stat", unit),
                   fmt("anon N0=%ju N1=%ju N2=%ju N3=%ju\nfile N0=0 N1=0 N2=0 N3=0\n",
                       (uintmax_t)MIB(mib[0]), (uintmax_t)MIB(mib[1]), (uintmax_t)MIB(mib[2]),
                       (uintmax_t)MIB(mib[3])));
}

static inline int fake_set_cpus(_unused_ Backend *backend, const BackendTarget *target,
                                const CpuSet *cpus, _unused_ BackendCall *call) {
        char list[ID_SET_LIST_MAX];

        service_show(target->unit, "cpuset.cpus.effective", ID_VIEW(cpus));
        (void)id_set_render_list(cpus, list, sizeof(list));
        for (size_t k = 0; k < target->n_members; k++) {
                const pid_t pid = target->members[k].process.id.pid;

                fake_status_file(&kernel.tree, fmt("proc/%d/task/%d", pid, pid), list);
        }
        return 1;
}

/* The kernel shows no node without memory. */
static inline int fake_set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                                _unused_ BackendCall *call) {
        const NodeSet shown = id_set_and(mems, &backend->all_nodes);

        kernel.n_set++;
        if (!kernel.deaf)
                kernel_show_mems(target->unit, &shown);
        return 1;
}

static inline int fake_note(_unused_ Backend *backend, _unused_ const BackendTarget *target,
                            UndoRecord *record, _unused_ BackendCall *call) {
        IdSet before;

        if (record->mems.noted)
                return 1;
        id_set_convert(&kernel.admins, &before);
        set_before(&record->cpus, id_set(""));
        set_before(&record->mems, before);
        record->cpus.noted = record->mems.noted = true;
        return 1;
}

/* -EINPROGRESS: the kernel shows it, and the writer has not come back. */
static inline int fake_widen(_unused_ Backend *backend, const BackendTarget *target,
                             const NodeSet *mems) {
        if (id_set_intersects(mems, &kernel.forbidden))
                return -ENODEV;
        if (kernel.error < 0 && kernel.error != -EINPROGRESS)
                return kernel.error;
        kernel.n_widened++;
        kernel_show_mems(target->unit, mems);
        return kernel.error;
}

static const BackendOps fake_systemd = {
        .name = "fake",
        .kind = BACKEND_SYSTEMD,
        .set_cpus = fake_set_cpus,
        .set_mems = fake_set_mems,
        .note = fake_note,
        .widen_mems = fake_widen,
};

/* The same without a cpuset. */
static const BackendOps fake_affinity = {
        .name = "fake", .kind = BACKEND_AFFINITY, .set_cpus = fake_set_cpus, .note = fake_note
};

static const BackendOps *const fake_backends[] = {
        [BACKEND_SYSTEMD] = &fake_systemd, [BACKEND_AFFINITY] = &fake_affinity
};

int __wrap_worker_move(Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                       const NodeSet *nodes, const CpuSet *cpus, MoverCounters *counters,
                       uint64_t *ret_bytes);
int __wrap_worker_move(_unused_ Workers *workers, const ProcHandle *handle, const WorkerMove *move,
                       const NodeSet *nodes, _unused_ const CpuSet *cpus, MoverCounters *counters,
                       uint64_t *ret_bytes) {
        uint64_t home[NODES] = { 0 };

        assert_true(id_set_has(nodes, move->target) || !kernel.on_move);
        kernel.n_moves++;
        *ret_bytes = 0;
        if (kernel.on_move)
                return kernel.on_move(handle, move, counters, ret_bytes);
        if (!kernel.mover_works)
                return -EAGAIN;
        home[id_set_next(nodes, 0)] = 1;
        kernel_hold(fmt("%d.service", handle->pid), home);
        counters->found_bytes += MIB(1);
        counters->moved_bytes += MIB(1);
        return 0;
}

/* All of them answer. */
int __wrap_worker_probe_members(Workers *workers, const Members *members);
int __wrap_worker_probe_members(_unused_ Workers *workers, _unused_ const Members *members) {
        return 0;
}

/* --- the daemon --- */

static inline void set_memory(unsigned node, unsigned free_mib, unsigned inactive_mib) {
        rooms_set_memory(&kernel.tree, node, free_mib, inactive_mib);
}

static inline void daemon_start(TestHost *h) {
        rooms_start(h, &kernel.tree);
        h->rooms.host.backend = (Backend){ .ops = &fake_systemd,
                                           .all = fake_backends,
                                           .all_nodes = node_set(ALL_NODES) };
}

static inline void host_init(TestHost *h) {
        memset(&kernel, 0, sizeof(kernel));
        kernel.now = SEC(1000);
        fake_init(&kernel.tree);
        fake_write(&kernel.tree, "sys/fs/cgroup/cgroup.controllers", "cpuset memory\n");
        machine_init(h, &kernel.tree);
        daemon_start(h);
}

static inline void host_done(TestHost *h) {
        rooms_stop(h);
        fake_done(&kernel.tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

static inline void reconcile_round(TestHost *h) {
        for (unsigned n = 0; n < 20; n++)
                reconcile_due(&h->rooms.binding, kernel.now);
}

/* The guard reads the nodes, a second later than before, and what it makes due is done. Returns
 * when it wants to read them again. */
static inline uint64_t second(TestHost *h) {
        uint64_t wait;

        kernel.now += SEC(1);
        wait = guard_tick(&h->rooms.binding, kernel.now);
        reconcile_round(h);
        return wait;
}

static inline void seconds(TestHost *h, unsigned n) {
        for (unsigned k = 0; k < n; k++)
                (void)second(h);
}

/* As a fresh reconcile of all instances observes it. */
static inline void observe(TestHost *h) {
        reconcile_all(&h->rooms.binding, kernel.now);
        reconcile_round(h);
}

/* The service runs, on these nodes and their CPUs. */
static inline void started(pid_t pid, const char *mems) {
        const char *unit = fmt("%d.service", pid);
        const NodeSet shown = node_set(mems);
        const CpuSet cpus = cpu_set(mems);

        fake_process(&kernel.tree, pid, 1, "/x", fmt("/system.slice/%s", unit), mems);
        fake_write(&kernel.tree, fmt("sys/fs/cgroup/system.slice/%s/cgroup.procs", unit),
                   fmt("%d\n", pid));
        service_show(unit, "cpuset.cpus.effective", ID_VIEW(&cpus));
        kernel_show_mems(unit, &shown);
        kernel_hold(unit, (uint64_t[NODES]){ 0 });
}

/* The daemon learns of a service that runs, whose policy gives it these nodes. */
static inline Instance *noticed(TestHost *h, pid_t pid, const char *nodes, MemoryMode memory) {
        const char *unit = fmt("%d.service", pid);
        Process process = { .id = { .pid = pid },
                            .exe = strdup("/x"),
                            .cgroup = strdup(fmt("/system.slice/%s", unit)),
                            .unit = strdup(unit) };

        h->rooms.host.backend.all_nodes = topology_memory_nodes(&h->rooms.host.topology);
        return rooms_notice(h, &process, nodes, memory, kernel.now);
}

/* And has done what it can. */
static inline Instance *seen(TestHost *h, pid_t pid, const char *nodes, MemoryMode memory) {
        Instance *i = noticed(h, pid, nodes, memory);

        for (unsigned n = 0; n < 5; n++) { /* the plan for its means is made within that time */
                reconcile_round(h);
                kernel.now += SEC(1) / 10;
        }
        return i;
}

/* A service that is bound to these nodes, where nothing is short so far. */
static inline Instance *serve(TestHost *h, pid_t pid, const char *nodes) {
        started(pid, ALL_NODES);
        return seen(h, pid, nodes, MEMORY_BIND);
}

/* --- what is there then --- */

static inline void assert_mems(const Instance *i, const char *expected) {
        char text[ID_SET_LIST_MAX];

        assert_true(path_read(kernel.tree.fd, text, sizeof(text),
                              "sys/fs/cgroup/system.slice/%s/cpuset.mems.effective", i->unit) >= 0);
        assert_string_equal(text, expected);
}

static inline InstanceInfo published(TestHost *h, const Instance *i) {
        return rooms_published(&h->rooms, &kernel.tree, i);
}

static inline Verdict reported(const TestHost *h, const Instance *i) {
        return reconcile_verdict(&h->rooms.binding, i);
}

static inline void assert_state(const TestHost *h, const Instance *i, InstanceState state,
                                Reason code) {
        const Verdict v = reported(h, i);

        if (v.state != state || v.code != code)
                fail_msg("%s, %s: %s", instance_state_to_string(v.state), reason_to_string(v.code),
                         v.reason);
}

/* By all policies. */
static inline unsigned n_counted(const TestHost *h) {
        unsigned n = 0;

        for (size_t k = 0; k < SERVICES; k++)
                n += (unsigned)h->counters[k].memory_widenings;
        return n;
}
