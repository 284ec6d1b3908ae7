/* A daemon that binds one instance by its own modules, on a host of the test: the kernel is the
 * files of a folder, systemd a queue of requests, and time the test's. Each call can be harmed.
 *
 * After each call and each pass, the folder of records must have what was there before, and what is
 * ours since; and what is reported as bound, the kernel must show. */
#pragma once

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "published.h"
#include "tidbnumad/daemon/registry/registry.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/sys/affinity.h"
#include "tidbnumad/sys/atomic-file.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/worker/worker.h"

#define SERVICE "/system.slice/sequence-test.service"
#define SESSION "/user.slice/user-7.slice/session-3.scope"
#define SCOPE "/user.slice/user-7.slice/tidbnumad-a-1.scope" /* of ours */
#define SEC(n) ((uint64_t)(n)*1000000)

enum {
        CALLS_MAX = 512,
        PASS_USEC = 1000000,
        PASSES_MAX = 600, /* ten minutes: long enough for every retry */
        ROUND_PASSES = 60,
};

/* What sd-bus does with a call that nobody answers (sd_bus_get_method_call_timeout(3)). */
#define BUS_TIMEOUT_USEC SEC(25)

typedef enum Fault {
        REFUSED,     /* it cannot be sent, or written */
        FAILED,      /* the answer is an error, and nothing was done */
        LATE,        /* it is done, and answered, after seconds */
        UNANSWERED,  /* it is done at once, and the answer is lost */
        OVERDUE,     /* it is done when nobody waits for the answer any more */
        LOST,        /* systemd never hears of it */
        SLOW_EFFECT, /* it is answered at once, and the kernel's files follow */
        NO_EFFECT,   /* it is answered, and the kernel's files do not follow */
        N_FAULTS,
} Fault;

static const char *const FAULTS[] = { "refused", "failed", "late",        "unanswered",
                                      "overdue", "lost",   "slow effect", "no effect" };

typedef struct Sets {
        IdSet cpus, mems;
} Sets;

typedef struct Call {
        bool sets_cpus, sets_mems;
        Sets values;
        BusUnitsReply on_written;
        BusUnitReply on_read; /* one of the two */
        void *userdata;
        sd_bus_slot *slot; /* the daemon's */
        bool dropped, answered, done;
        uint64_t sent_usec, done_usec, answer_usec;
        int error;
        bool deaf; /* the kernel does not follow */
} Call;

static pid_t pid; /* of the process that is bound */

static struct {
        FakeTree tree;
        uint64_t now;
        const char *group; /* of the process */
        sd_bus *bus;       /* only for the slots of requests */
        Sets before, wanted;
        Sets properties, effective;
        CpuSet thread;
        bool by_affinity; /* the policy binds threads alone */
        bool by_others;   /* what the kernel shows is neither systemd's nor ours */
        Call requests[CALLS_MAX];
        size_t n_requests;
        unsigned n_calls, n_writes, n_masks, fault_at; /* the call that is harmed; 0: none */
        const char *load_state;                        /* of its unit; NULL: it is loaded */
        Fault fault;
        int error;
} world;

static inline const char *unit_name(void) {
        return strrchr(world.group, '/') + 1;
}

static inline void group_write(const char *file, const char *text) {
        fake_write(&world.tree, fmt("sys/fs/cgroup%s/%s", world.group, file), fmt("%s\n", text));
}

static inline bool sets_equal(const Sets *a, const Sets *b) {
        return id_set_equal(&a->cpus, &b->cpus) && id_set_equal(&a->mems, &b->mems);
}

static inline int start_process(void **state) {
        (void)state;
        pid = child_start();
        return 0;
}

static inline int end_process(void **state) {
        (void)state;
        child_end(pid);
        return 0;
}
TEST_GROUP(start_process, end_process)

/* --- the kernel --- */

static inline Sets shown(const Sets *properties) {
        Sets s = { id_set("0-7"), id_set("0-1") };

        if (!id_set_is_empty(&properties->cpus))
                s.cpus = properties->cpus;
        if (!id_set_is_empty(&properties->mems))
                s.mems = properties->mems;
        return s;
}

/* Its only one. */
static inline void thread_show(const char *cpus) {
        fake_status_file(&world.tree, fmt("proc/%d", pid), cpus);
        fake_status_file(&world.tree, fmt("proc/%d/task/%d", pid, pid), cpus);
        world.thread = cpu_set(cpus);
}

static inline void kernel_show(const Sets *sets) {
        char cpus[ID_SET_LIST_MAX], mems[ID_SET_LIST_MAX];

        world.effective = *sets;
        world.by_others = false;
        (void)id_set_render_list(&sets->cpus, cpus, sizeof(cpus));
        (void)id_set_render_list(&sets->mems, mems, sizeof(mems));
        group_write("cpuset.cpus.effective", cpus);
        group_write("cpuset.mems.effective", mems);
        thread_show(cpus);
}

/* --- what a daemon that starts now would know --- */

/* Past systemd, as an operator does it. */
static inline void kernel_change(const char *cpus, const char *mems) {
        kernel_show(&(Sets){ id_set(cpus), id_set(mems) });
        world.by_others = true;
}

/* By a write, which the kernel reports. */
static inline void write_by_others(const char *cpus, const char *mems) {
        group_write("cpuset.cpus", cpus);
        group_write("cpuset.mems", mems);
        kernel_change(cpus, mems);
}

static inline void on_bad_file(const char *name, int error, void *userdata) {
        (void)userdata;
        fail_msg("%s: %d", name, error);
}

/* A release opens the full set even if that cannot be recorded: it takes nothing away. */
static inline bool is_described(const UndoProperty *p, const IdSet *before, const IdSet *full,
                                const IdSet *now) {
        return p->noted && id_view_equal(undo_property_before(p), ID_VIEW(before)) &&
               (id_set_equal(now, before) || undo_values_have(&p->ours, ID_VIEW(now)) ||
                (world.fault_at > 0 && id_set_equal(now, full)));
}

/* Of these properties, or of what the kernel shows of them. */
static inline void assert_described(const Undo *undo, const Sets *sets, const Sets *original) {
        const Sets full = shown(&world.before);
        const UndoRecord *r;

        if (sets_equal(sets, original))
                return;
        assert_int_equal(undo->n_records, 1);
        r = undo->records[0];
        assert_true(id_set_equal(&sets->cpus, &original->cpus) ||
                    is_described(&r->cpus, &world.before.cpus, &full.cpus, &sets->cpus));
        assert_true(id_set_equal(&sets->mems, &original->mems) ||
                    is_described(&r->mems, &world.before.mems, &full.mems, &sets->mems));
}

static inline void assert_thread_described(const Undo *undo) {
        const CpuSet full = cpu_set("0-7");
        const UndoRecord *r;

        if (!world.by_affinity || id_set_equal(&world.thread, &full))
                return;
        assert_int_equal(undo->n_records, 1);
        r = undo->records[0];
        assert_int_equal(r->n_processes, 1);
        assert_true(undo_values_have(&r->given, ID_VIEW(&world.thread)));
}

/* What there is, and what was sent and may be done at any time. */
static inline void assert_recorded(void) {
        const Sets original = shown(&world.before);
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        Undo undo;

        assert_int_equal(sysroot_open(world.tree.path, &sysroot), 0);
        undo_init(&undo, &sysroot);
        assert_int_equal(undo_open(&undo, world.tree.fd), 0);
        assert_int_equal(undo_load(&undo, on_bad_file, NULL), 0);
        assert_described(&undo, &world.properties, &world.before);
        assert_thread_described(&undo);
        if (!world.by_others)
                assert_described(&undo, &world.effective, &original);
        for (size_t k = 0; k < world.n_requests; k++) {
                const Call *q = &world.requests[k];
                const Sets sets = { q->sets_cpus ? q->values.cpus : world.before.cpus,
                                    q->sets_mems ? q->values.mems : world.before.mems };

                if (!q->done)
                        assert_described(&undo, &sets, &world.before);
        }
        undo_done(&undo);
}

/* --- systemd --- */

static inline int on_nothing(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)message;
        (void)userdata;
        (void)error;
        return 0;
}

static inline void on_slot_dropped(void *userdata) {
        Call *q = userdata;

        q->dropped = true;
}

static inline bool is_harmed(void) {
        return ++world.n_calls == world.fault_at;
}

static inline int send(const Call *request, sd_bus_slot **ret_slot) {
        const bool harmed = is_harmed();
        Call *q = &world.requests[world.n_requests];

        if (harmed && world.fault == REFUSED)
                return -world.error;
        assert_true(world.n_requests < CALLS_MAX);
        world.n_requests++;
        *q = *request;
        q->sent_usec = q->done_usec = q->answer_usec = world.now;
        if (harmed)
                switch (world.fault) {
                case FAILED:
                        q->error = -world.error;
                        break;
                case LATE:
                        q->done_usec = q->answer_usec = world.now + SEC(7);
                        break;
                case UNANSWERED:
                        q->answer_usec = UINT64_MAX;
                        break;
                case OVERDUE:
                        q->done_usec = world.now + BUS_TIMEOUT_USEC + SEC(8);
                        q->answer_usec = UINT64_MAX;
                        break;
                case LOST:
                        q->error = -ETIMEDOUT;
                        q->answer_usec = UINT64_MAX;
                        break;
                case SLOW_EFFECT:
                        q->done_usec = world.now + SEC(2);
                        break;
                case NO_EFFECT:
                        q->deaf = true;
                        break;
                default:
                        break;
                }
        assert_int_equal(sd_bus_add_filter(world.bus, &q->slot, on_nothing, q), 0);
        assert_int_equal(sd_bus_slot_set_destroy_callback(q->slot, on_slot_dropped), 0);
        *ret_slot = q->slot;
        assert_recorded();
        return 0;
}

int __wrap_backend_systemd_ensure_bus(Backend *backend);
int __wrap_backend_systemd_ensure_bus(Backend *backend) {
        (void)backend;
        return 0;
}

int __wrap_bus_manager_read_unit(sd_bus *bus, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot);
int __wrap_bus_manager_read_unit(sd_bus *bus, const char *unit, BusUnitReply reply, void *userdata,
                                 sd_bus_slot **ret_slot) {
        (void)bus;
        assert_string_equal(unit, unit_name());
        return send(&(Call){ .on_read = reply, .userdata = userdata }, ret_slot);
}

int __wrap_bus_units_set_all(sd_bus *bus, const char *unit, const BusUnitsProperty *properties,
                             size_t n, BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot);
int __wrap_bus_units_set_all(sd_bus *bus, const char *unit, const BusUnitsProperty *properties,
                             size_t n, BusUnitsReply reply, void *userdata,
                             sd_bus_slot **ret_slot) {
        Call q = { .on_written = reply, .userdata = userdata };

        (void)bus;
        assert_string_equal(unit, unit_name());
        world.n_writes++;
        for (size_t k = 0; k < n; k++)
                if (strcmp(properties[k].name, "AllowedCPUs") == 0) {
                        q.sets_cpus = true;
                        id_view_convert(properties[k].value, ID_TARGET(&q.values.cpus));
                } else {
                        assert_string_equal(properties[k].name, "AllowedMemoryNodes");
                        q.sets_mems = true;
                        id_view_convert(properties[k].value, ID_TARGET(&q.values.mems));
                }
        return send(&q, ret_slot);
}

/* An empty set is a property that is not set; the kernel empties no set of a group that has
 * processes, so that what it shows stays (systemd issue 43846). */
static inline void request_do(Call *q) {
        Sets effective = world.effective;

        q->done = true;
        if (q->error < 0)
                return;
        if (q->sets_cpus)
                world.properties.cpus = q->values.cpus;
        if (q->sets_mems)
                world.properties.mems = q->values.mems;
        if (q->sets_cpus && !id_set_is_empty(&q->values.cpus))
                effective.cpus = q->values.cpus;
        if (q->sets_mems && !id_set_is_empty(&q->values.mems))
                effective.mems = q->values.mems;
        if (!q->deaf)
                kernel_show(&effective);
}

static inline void request_answer(Call *q, int error) {
        BusUnit unit = { .id = unit_name(),
                         .load_state = world.load_state ?: "loaded",
                         .active_state = "active",
                         .group = world.group,
                         .fragment = "",
                         .memory_max = UINT64_MAX };

        id_set_convert(&world.properties.cpus, &unit.cpus);
        id_set_convert(&world.properties.mems, &unit.mems);
        q->answered = true;
        if (q->dropped)
                return;
        if (q->on_written)
                q->on_written(&(Error){ .code = error }, q->userdata);
        else
                q->on_read(error, error < 0 ? NULL : &unit, q->userdata);
}

/* It does one request after the other. */
static inline void systemd_run(void) {
        bool waits = false;

        for (size_t k = 0; k < world.n_requests; k++) {
                Call *q = &world.requests[k];

                if (!q->answered && world.now >= q->sent_usec + BUS_TIMEOUT_USEC)
                        request_answer(q, -ETIMEDOUT);
                if (!q->answered && !waits && world.now >= q->answer_usec &&
                    q->answer_usec < q->done_usec)
                        request_answer(q, q->error);
                if (!q->done && !waits && world.now >= q->done_usec) {
                        request_do(q);
                        if (!q->answered && world.now >= q->answer_usec)
                                request_answer(q, q->error);
                }
                waits |= !q->done;
        }
}

/* --- the rest of the system --- */

int __real_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode);
int __wrap_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode);
int __wrap_atomic_file_write(int dir_fd, const char *name, const char *data, size_t size,
                             mode_t mode) {
        const bool harmed = is_harmed();

        if (harmed && (world.fault == REFUSED || world.fault == FAILED))
                return -world.error;
        assert_int_equal(__real_atomic_file_write(dir_fd, name, data, size, mode), 0);
        return harmed ? -EIO : 0; /* it is there, and could not be flushed */
}

/* Do its processes answer? Else the kernel would wait for them in a write of memory nodes. */
int __wrap_worker_probe_members(Workers *workers, const Members *members);
int __wrap_worker_probe_members(Workers *workers, const Members *members) {
        (void)workers;
        (void)members;
        if (!is_harmed())
                return 0;
        return world.fault == LOST || world.fault == UNANSWERED ? -EHOSTDOWN : -EBUSY;
}

int __wrap_affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                               const CpuSet *cpus, bool exactly, uint64_t *n_pid_reuses);
int __wrap_affinity_set_thread(const Sysroot *sysroot, const ProcHandle *handle, pid_t tid,
                               const CpuSet *cpus, bool exactly, uint64_t *n_pid_reuses) {
        IdSet now;
        char list[ID_SET_LIST_MAX];

        (void)sysroot;
        (void)handle;
        (void)exactly;
        (void)n_pid_reuses;
        id_set_convert(cpus, &now);
        id_set_intersect(&now, &world.effective.cpus);
        (void)id_set_render_list(&now, list, sizeof(list));
        assert_int_equal(tid, pid);
        world.n_masks++;
        if (is_harmed() && world.fault <= FAILED)
                return -world.error;
        thread_show(list);
        assert_recorded();
        return 1;
}

int __wrap_affinity_read_thread(pid_t tid, CpuSet *ret);
int __wrap_affinity_read_thread(pid_t tid, CpuSet *ret) {
        if (tid != pid)
                return -ESRCH;
        *ret = world.thread;
        return 0;
}

uint64_t __wrap_clock_monotonic_usec(void);
uint64_t __wrap_clock_monotonic_usec(void) {
        return world.now;
}

/* --- the daemon --- */

typedef struct Daemon {
        Args args;
        Node nodes[2];
        uint64_t watermarks[2], left[2];
        Policy policy;
        PolicyInfo counters[2];
        Rooms rooms;
        Instance *instance;
        unsigned n_passes;
} Daemon;

static inline void world_init(const char *group, const char *cpus, const char *mems,
                              const char *wanted_cpus) {
        memset(&world, 0, sizeof(world));
        world.group = group;
        world.now = SEC(1000);
        fake_init(&world.tree);
        fake_write(&world.tree, "sys/fs/cgroup/cgroup.controllers", "cpuset memory\n");
        fake_process(&world.tree, pid, 1, "/srv/a", group, "0-7");
        fake_stat_file(&world.tree, fmt("proc/%d/task/%d", pid, pid), pid, 1, 'S',
                       1000 + (unsigned)pid, 0); /* it has started when its first thread has */
        group_write("cgroup.procs", fmt("%d", pid));
        group_write("memory.numa_stat", "anon N0=0 N1=4096\nfile N0=0 N1=0");
        group_write("cpuset.cpus", "");
        group_write("cpuset.mems", "");
        world.before = (Sets){ id_set(cpus), id_set(mems) };
        world.wanted = (Sets){ id_set(wanted_cpus), id_set("1") };
        world.properties = world.before;
        world.effective = shown(&world.before);
        kernel_show(&world.effective);
        assert_int_equal(sd_bus_new(&world.bus), 0);
}

static inline void world_done(void) {
        sd_bus_unref(world.bus);
        fake_done(&world.tree);
}

/* A process in a scope of ours is known by the unit that it came from. */
static inline void daemon_init(Daemon *d) {
        const bool in_scope = strcmp(world.group, SCOPE) == 0;
        Process process = { .id = { .pid = pid },
                            .exe = strdup("/srv/a"),
                            .cgroup = strdup(world.group),
                            .unit = strdup(in_scope ? "session-3.scope" : unit_name()),
                            .scope = in_scope ? strdup(unit_name()) : NULL };
        ProcHandle handle = PROC_HANDLE_NONE;
        Rooms *m = &d->rooms;

        *d = (Daemon){ .args = { .runtime_dir = "/test" },
                       .nodes = { { .id = 0, .cpus = cpu_set("0-3"), .memory_bytes = 1 << 30 },
                                  { .id = 1,
                                    .package = 1,
                                    .cpus = cpu_set("4-7"),
                                    .memory_bytes = 1 << 30 } },
                       .policy = { .name = (char *)"ours",
                                   .file = (char *)"p.yaml",
                                   .match.exe = (char *)"a",
                                   .max_instances = 1,
                                   .place = { .count = 1, .nodes = node_set("1") },
                                   .rate_bytes_per_sec = 1 << 20,
                                   .backend = world.by_affinity ? POLICY_BACKEND_AFFINITY
                                                                : POLICY_BACKEND_AUTO,
                                   .memory = in_scope || world.by_affinity ? MEMORY_NONE
                                                                           : MEMORY_BIND } };
        rooms_set_memory(&world.tree, 0, 800, 0);
        rooms_set_memory(&world.tree, 1, 800, 0);
        *m = (Rooms){ .host.args = &d->args,
                      .host.topology = { .nodes = d->nodes, .n_nodes = 2 },
                      .host.high_watermark_bytes = d->watermarks,
                      .host.policies = { .mode = ENFORCEMENT_ENFORCE,
                                         .policies = &d->policy,
                                         .n_policies = 1 },
                      .host.policies_known = true,
                      .host.ready = true,
                      .host.journal = { .max_priority = -1 },
                      .host.runtime_fd = world.tree.fd,
                      .placing.left_bytes = d->left,
                      .host.policy_counters = d->counters };
        rooms_wire(m);
        assert_int_equal(sd_event_new(&m->host.event), 0);
        drift_start(&m->binding);
        assert_int_equal(sysroot_open(world.tree.path, &m->host.sysroot), 0);
        assert_int_equal(proc_open(&m->host.sysroot, pid, &handle), 0);
        m->host.sysroot.live = true; /* it may be changed */
        backend_init(&m->host.backend, &m->host.sysroot, NULL);
        m->host.backend.ops = &backend_systemd_ops;
        m->host.backend.all_cpus = cpu_set("0-7");
        m->host.backend.all_nodes = node_set("0-1");
        assert_int_equal(undo_start(&m->undo), 0);
        process.id.start_ticks = handle.start_ticks;
        d->instance = rooms_add(m, &d->policy, &process, &handle);
        instance_queue(d->instance, WORK_JOINED);
}

static inline void daemon_done(Daemon *d) {
        rooms_free_instances(&d->rooms);
        sampling_done(&d->rooms.sampling);
        drift_stop(&d->rooms.binding);
        sd_event_unref(d->rooms.host.event);
        undo_release_done(&d->rooms.undo);
        undo_admin_end(&d->rooms.undo);
        undo_done(&d->rooms.undo.records);
        requests_done(&d->rooms.host.requests);
        backend_done(&d->rooms.host.backend);
        sysroot_close(&d->rooms.host.sysroot);
}

/* One pass of the loop, and the round of a minute. */
static inline void daemon_pass(Daemon *d) {
        Rooms *m = &d->rooms;
        uint32_t work;
        Verdict v;

        world.now += PASS_USEC;
        systemd_run();
        while (sd_event_run(m->host.event, 0) > 0)
                ;
        if (++d->n_passes % ROUND_PASSES == 0) {
                undo_release_check_all(&m->undo);
                reconcile_all(&m->binding, world.now);
        }
        work = d->instance ? instance_take(d->instance, WORK_DISPATCHED) : 0;
        if (work & WORK_JOINED)
                undo_adopt(&m->undo, d->instance);
        if (d->instance)
                binding_work(&m->binding, d->instance, work, world.now);
        reconcile_due(&m->binding, world.now);
        undo_release_at_due(&m->undo, world.now);
        assert_recorded();
        if (!d->instance)
                return;
        v = reconcile_verdict(&m->binding, d->instance);
        if (v.state == INSTANCE_BOUND && !v.undone && !world.by_others)
                assert_true(sets_equal(&world.effective, &world.wanted));
}

static inline void request(Daemon *d, bool released) {
        Rooms *m = &d->rooms;

        assert_int_equal(requests_add(&m->host.requests, unit_name(), released), 0);
        instance_queue(d->instance, WORK_REQUEST);
        undo_release_check_all(&m->undo);
}

static inline void wait_for(Daemon *d, InstanceState state) {
        const unsigned first = d->n_passes;

        do
                daemon_pass(d);
        while (d->n_passes < first + PASSES_MAX &&
               (reconcile_verdict(&d->rooms.binding, d->instance).state != state ||
                !reconcile_is_settled(&d->rooms.binding)));
        if (d->n_passes >= first + PASSES_MAX)
                fail_msg("call %u %s with %s: %s is not reached: %s", world.fault_at,
                         FAULTS[world.fault], strerror(world.error),
                         instance_state_to_string(state),
                         reconcile_verdict(&d->rooms.binding, d->instance).reason);
}

static inline void assert_as_before(const Daemon *d) {
        const Sets original = shown(&world.before);

        assert_true(sets_equal(&world.properties, &world.before));
        assert_true(sets_equal(&world.effective, &original));
        assert_int_equal(d->rooms.undo.records.n_records, 0);
}

static inline void assert_bound(const Daemon *d) {
        assert_true(sets_equal(&world.properties, &world.wanted));
        assert_true(sets_equal(&world.effective, &world.wanted));
        assert_int_equal(d->rooms.undo.records.n_records, 1);
}

/* A unit with nothing set, and one with settings of its admin. */
static const struct {
        const char *cpus, *mems, *wanted_cpus;
} units[] = { { "", "", "4-7" }, { "0-5", "0-1", "4-5" } };

static inline void begin(Daemon *d, size_t unit, unsigned fault_at, Fault fault, int error) {
        world_init(SERVICE, units[unit].cpus, units[unit].mems, units[unit].wanted_cpus);
        world.fault_at = fault_at;
        world.fault = fault;
        world.error = error;
        daemon_init(d);
}

static inline void end(Daemon *d) {
        daemon_done(d);
        world_done();
}
