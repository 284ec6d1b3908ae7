/* Binding and giving back over operations that fail: each one in turn, with each errno that it may
 * have, before it did something or after; and a daemon that is killed at each of them.
 *
 * The host here is two sets, the CPUs and the memory nodes of one process in one unit. After every
 * operation it is asked what a new life of the daemon would know, by the files alone: nothing may
 * stand that no record speaks of. In the end all must be as it was, and no record left. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../support/fake-tree.h"
#include "tidbnumad/daemon/bind.h"
#include "tidbnumad/daemon/record.h"
#include "tidbnumad/daemon/release.h"
#include "tidbnumad/daemon/roster.h"
#include "tidbnumad/sys/atomic-file.h"

typedef enum Harm {
        FAIL_BEFORE, /* nothing was done */
        FAIL_AFTER,  /* it was done, and the answer was lost */
        KILL_BEFORE, /* the daemon is killed */
        KILL_AFTER,
        N_HARMS,
} Harm;

/* The first one is answered at once, the second later: see answer(). */
static const int ERRORS[] = { EPERM,  ENOMEM, ENOSPC, EROFS,  EIO,       ESRCH,
                              EINVAL, EBUSY,  EMFILE, ENOENT, ETIMEDOUT, ECONNREFUSED };

/* The kernel and systemd, which outlive the daemon. */
typedef struct World {
        FakeTree folder;
        pid_t pid;
        CpuSet cpus;
        NodeSet mems;
        const BackendOps *ops; /* of the backend in use */

        unsigned n_operations, harm_at; /* the operation that is harmed; 0: none */
        Harm harm;
        int error;
        bool dead; /* the daemon was killed: nothing that it does has any effect */
} World;

static World world;

static const char *const BEFORE_CPUS = "0-3", *const BEFORE_MEMS = "0-1",
                         *const WIDENED_MEMS = "1-2";

static bool is(const IdSet *set, const char *list) {
        const IdSet other = ids(list);

        return id_set_equal(set, &other);
}

/* --- what a new life would know --- */

static void on_bad_file(const char *name, int error, void *userdata) {
        (void)userdata;
        fail_msg("%s: %d", name, error);
}

static void assert_nothing_unknown(void) {
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        const UndoRecord *r;
        Undo undo;

        if (is(&world.cpus, BEFORE_CPUS) && is(&world.mems, BEFORE_MEMS))
                return;
        assert_int_equal(sysroot_open(NULL, &sysroot), 0);
        undo_init(&undo, &sysroot);
        assert_int_equal(undo_open(&undo, world.folder.fd), 0);
        assert_int_equal(undo_load(&undo, on_bad_file, NULL), 0);
        assert_int_equal(undo.n_records, 1);
        r = undo.records[0];
        if (world.ops->kind == BACKEND_SYSTEMD) {
                assert_true(r->unit_noted);
                assert_true(is(&r->cpus.before, BEFORE_CPUS) && is(&r->mems.before, BEFORE_MEMS));
                assert_true(is(&world.cpus, BEFORE_CPUS) ||
                            undo_values_have(&r->cpus.ours, &world.cpus));
                /* What the guard opens in haste is told in the record afterwards: it opens nothing
                 * of which there is no record. */
                assert_true(is(&world.mems, BEFORE_MEMS) || is(&world.mems, WIDENED_MEMS) ||
                            undo_values_have(&r->mems.ours, &world.mems));
        } else {
                assert_int_equal(r->n_processes, 1);
                assert_true(is(undo_process_mask(&r->processes[0], world.pid, 0), BEFORE_CPUS));
                assert_true(undo_values_have(&r->given, &world.cpus));
        }
        undo_done(&undo);
}

/* --- operations that fail --- */

/* 0: it goes on; negative: it failed, after `effect` or without. */
static int operate(void (*effect)(const void *), const void *argument) {
        const bool harmed = ++world.n_operations == world.harm_at && !world.dead;

        if (world.dead)
                return -EIO;
        if (effect && (!harmed || world.harm == FAIL_AFTER || world.harm == KILL_AFTER))
                effect(argument);
        world.dead = harmed && world.harm >= KILL_BEFORE;
        assert_nothing_unknown();
        return world.dead ? -EIO : harmed ? -world.error : 0;
}

int __wrap_private_file_write(int dir_fd, const char *name, const char *data, size_t size);

typedef struct Write {
        int dir_fd;
        const char *name, *data;
        size_t size;
} Write;

static void do_write(const void *argument) {
        const Write *w = argument;

        /* Not flushed: there are thousands. */
        assert_int_equal(atomic_file_write(w->dir_fd, w->name, w->data, w->size, 0600), 0);
}

int __wrap_private_file_write(int dir_fd, const char *name, const char *data, size_t size) {
        const Write w = { dir_fd, name, data, size };

        return operate(do_write, &w);
}

static void do_cpus(const void *argument) {
        world.cpus = *(const CpuSet *)argument;
}

static void do_mems(const void *argument) {
        world.mems = *(const NodeSet *)argument;
}

/* Like systemd, it answers later; like the others, at once. */
static int answer(int r, BackendReply reply, void *userdata) {
        if (world.ops->kind != BACKEND_SYSTEMD || (r < 0 && world.error % 2))
                return r < 0 ? r : 1;
        reply(r, "", userdata);
        return 0;
}

static int set_cpus(Backend *backend, const BackendTarget *target, const CpuSet *cpus,
                    BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        (void)backend;
        (void)target;
        (void)ret_slot;
        return answer(operate(do_cpus, cpus), reply, userdata);
}

static int set_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems,
                    BackendReply reply, void *userdata, sd_bus_slot **ret_slot) {
        (void)backend;
        (void)target;
        (void)ret_slot;
        return answer(operate(do_mems, mems), reply, userdata);
}

static int widen_mems(Backend *backend, const BackendTarget *target, const NodeSet *mems) {
        (void)backend;
        (void)target;
        return operate(do_mems, mems);
}

static void note_unit(UndoRecord *r) {
        assert_true(is(&world.cpus, BEFORE_CPUS) && is(&world.mems, BEFORE_MEMS));
        r->cpus.before = world.cpus;
        r->mems.before = world.mems;
        r->unit_noted = r->stale = true;
}

static int note_process(const BackendTarget *target, UndoRecord *r) {
        UndoProcess *p = undo_record_find(r, &target->processes[0].id);

        if (p)
                return 0;
        assert_true(is(&world.cpus, BEFORE_CPUS)); /* what is ours is never taken for what was */
        assert_int_equal(undo_record_add(r, &target->processes[0].id, &p), 0);
        p->noted_ticks = UINT32_MAX;
        return undo_process_add_thread(p, world.pid, &world.cpus);
}

static int note(Backend *backend, const BackendTarget *target, BackendNote *n, BackendReply reply,
                void *userdata, sd_bus_slot **ret_slot) {
        int r = operate(NULL, NULL);

        (void)backend;
        (void)ret_slot;
        if (world.ops->kind != BACKEND_SYSTEMD)
                return r < 0 ? r : note_process(target, n->record) < 0 ? -ENOMEM : 1;
        if (n->record->unit_noted)
                return r < 0 ? r : 1;
        if (r >= 0)
                note_unit(n->record);
        return answer(r, reply, userdata);
}

static int restore_systemd(Backend *backend, Restore *restore, BackendReply reply, void *userdata,
                           sd_bus_slot **ret_slot) {
        UndoRecord *r = restore->record;

        (void)backend;
        (void)ret_slot;
        switch (restore->stage) {
        case RESTORE_READ:
                if (!undo_record_has_unit(r))
                        return 1;
                restore->stage = RESTORE_WIDEN;
                return answer(operate(NULL, NULL), reply, userdata);
        case RESTORE_WIDEN:
                restore->stage = RESTORE_WIDENING;
                return answer(operate(do_mems, &r->mems.before), reply, userdata);
        case RESTORE_WIDENING:
                restore->stage = RESTORE_CLEAR;
                return -EAGAIN;
        default:
                restore->stage = RESTORE_CHECK;
                if (is(&world.cpus, BEFORE_CPUS))
                        return 1;
                return answer(operate(do_cpus, &r->cpus.before), reply, userdata);
        }
}

static int restore_others(Backend *backend, Restore *restore, BackendReply reply, void *userdata,
                          sd_bus_slot **ret_slot) {
        const UndoRecord *r = restore->record;
        int result = 0;

        (void)backend;
        (void)reply;
        (void)userdata;
        (void)ret_slot;
        if (r->n_processes > 0)
                result = operate(do_cpus, undo_process_mask(&r->processes[0], world.pid, 0));
        return result < 0 ? result : 1;
}

static const char *refuses(Backend *backend, const BackendTarget *target,
                           const Placement *placement) {
        (void)backend;
        (void)target;
        (void)placement;
        return NULL;
}

static const BackendOps systemd_ops = {
        .name = "systemd",
        .kind = BACKEND_SYSTEMD,
        .set_cpus = set_cpus,
        .set_mems = set_mems,
        .note = note,
        .restore = restore_systemd,
        .widen_mems = widen_mems,
        .refuses = refuses,
};
static const BackendOps cgroup1_ops = {
        .name = "cgroup1",
        .kind = BACKEND_CGROUP1,
        .set_cpus = set_cpus,
        .note = note,
        .restore = restore_others,
        .refuses = refuses,
};
static const BackendOps affinity_ops = {
        .name = "affinity",
        .kind = BACKEND_AFFINITY,
        .set_cpus = set_cpus,
        .note = note,
        .restore = restore_others,
        .refuses = refuses,
};
static const BackendOps *const ALL[] = {
        [BACKEND_SYSTEMD] = &systemd_ops,
        [BACKEND_CGROUP1] = &cgroup1_ops,
        [BACKEND_AFFINITY] = &affinity_ops,
};

/* --- a life of the daemon --- */

typedef struct Life {
        Manager m;
        Args args;
        Policy policy;
        PolicyCounters counters;
        Instance *instance;
} Life;

static void life_begin(Life *l) {
        Process process = { .id = { .pid = world.pid }, .exe = strdup("/srv/a") };
        ProcHandle handle = PROC_HANDLE_NONE;

        *l = (Life){ .args = { .runtime_dir = "/test" }, .policy = { .name = (char *)"ours" } };
        l->m = (Manager){ .args = &l->args,
                          .policy_counters = &l->counters,
                          .policy_load_success = true,
                          .journal = { .max_priority = -1 },
                          .connector_fd = -EBADF,
                          .drift_fd = -EBADF,
                          .runtime_fd = world.folder.fd };
        assert_int_equal(sysroot_open(NULL, &l->m.sysroot), 0);
        backend_init(&l->m.backend, &l->m.sysroot, NULL);
        l->m.backend.all = ALL;
        l->m.backend.ops = world.ops;
        undo_init(&l->m.undo, &l->m.sysroot);
        assert_int_equal(record_start(&l->m), 0);
        assert_int_equal(proc_open(&l->m.sysroot, world.pid, &handle), 0);
        process.id.start_ticks = handle.start_ticks;
        process.unit = world.ops->kind == BACKEND_SYSTEMD ? strdup("a.service") : NULL;
        assert_int_equal(instance_new(&l->m, &process, 1, 0, &l->instance), 0);
        l->instance->policy = &l->policy;
        l->instance->placement = (Placement){ .nodes = ids("1"), .cpus = ids("2"), .reason = "" };
        assert_int_equal(instance_add_process(l->instance, &process, &handle), 0);
        assert_int_equal(roster_add(&l->m, l->instance), 0);
}

static void life_end(Life *l) {
        for (size_t i = 0; i < l->m.n_instances; i++)
                instance_free(l->m.instances[i]);
        free(l->m.instances);
        release_done(&l->m);
        undo_done(&l->m.undo);
        text_done(&l->m.metrics);
        backend_done(&l->m.backend);
        sysroot_close(&l->m.sysroot);
}

/* As looks do it: what is not as it is to be is set, again and again. */
static void bind(Life *l, const char *cpus, const char *mems) {
        const Step set = { .kind = STEP_SET_CPUS, .reason = "" };
        const Step narrow = { .kind = STEP_NARROW, .mems = ids(mems), .reason = "" };

        l->instance->placement.cpus = ids(cpus);
        record_adopt(l->instance);
        for (unsigned i = 0; i < 8 && !world.dead; i++)
                if (!is(&world.cpus, cpus))
                        (void)bind_carry_out(l->instance, &set, i);
                else if (world.ops->set_mems && !is(&world.mems, mems))
                        (void)bind_carry_out(l->instance, &narrow, i);
        assert_nothing_unknown();
}

/* As the guard does it to one that is narrow by our doing. */
static void widen(Life *l) {
        const NodeSet wide = ids(WIDENED_MEMS);

        if (!world.ops->widen_mems || world.dead || !is(&world.mems, "1"))
                return;
        (void)bind_widen_now(l->instance, &wide, 0);
        assert_nothing_unknown();
}

static void release(Life *l) {
        static const uint64_t later = UINT64_MAX / 4;

        for (unsigned i = 0; i < 40 && !world.dead && l->m.undo.n_records > 0; i++) {
                if (l->m.releases.n == 0)
                        release_begin(&l->m, l->m.undo.records[0], "a test");
                release_at_due(&l->m, later + i * 1000000);
                assert_nothing_unknown();
        }
}

static unsigned count_files(void) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        unsigned n = 0;

        dir = fdopendir(openat(world.folder.fd, "undo", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        assert_non_null(dir);
        while ((entry = readdir(dir)))
                n += entry->d_name[0] != '.';
        return n;
}

static void assert_as_before(void) {
        assert_true(is(&world.cpus, BEFORE_CPUS));
        assert_true(is(&world.mems, BEFORE_MEMS));
        assert_int_equal(count_files(), 0);
}

static void world_begin(const BackendOps *ops, unsigned harm_at, Harm harm, int error) {
        world.ops = ops;
        world.cpus = ids(BEFORE_CPUS);
        world.mems = ids(BEFORE_MEMS);
        world.n_operations = 0;
        world.harm_at = harm_at;
        world.harm = harm;
        world.error = error;
        world.dead = false;
}

/* Bound, bound to others, given back; after a kill the next life does the rest. */
static void run(void) {
        Life l;

        for (unsigned lives = 0; lives < 2; lives++) {
                world.dead = false;
                life_begin(&l);
                bind(&l, "2", "1");
                widen(&l);
                bind(&l, "3", "0");
                if (!world.dead) {
                        assert_true(is(&world.cpus, "3"));
                        assert_true(!world.ops->set_mems || is(&world.mems, "0"));
                        assert_int_equal(count_files(), 1);
                }
                release(&l);
                life_end(&l);
                if (!world.dead)
                        break;
        }
        assert_as_before();
}

/* --- failures are told --- */

static uint64_t counted(const Life *l, Reason reason) {
        return l->counters.bind_failures[reason];
}

static uint64_t counted_in_all(const Life *l) {
        uint64_t sum = 0;

        for (Reason r = 0; r < N_REASONS; r++)
                sum += counted(l, r);
        return sum;
}

static unsigned n_operations_of_a_bind(const BackendOps *ops) {
        unsigned n;
        Life l;

        world_begin(ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        assert_int_equal(counted_in_all(&l), 0);
        n = world.n_operations;
        release(&l);
        life_end(&l);
        return n;
}

/* Whatever fails: once under its reason, and the sentence is there. */
static void assert_told(const BackendOps *ops, unsigned at, int error, Reason reason) {
        Life l;

        world_begin(ops, at, FAIL_BEFORE, error);
        life_begin(&l);
        bind(&l, "2", "1");
        assert_int_equal(counted_in_all(&l), 1);
        assert_int_equal(counted(&l, reason) + counted(&l, REASON_RECORD_UNWRITABLE), 1);
        assert_int_equal(counted(&l, l.instance->failure_code), 1);
        assert_non_null(l.instance->failure);
        release(&l);
        life_end(&l);
}

static void test_failures_are_told(void **state) {
        static const struct {
                int error;
                Reason reason;
        } rows[] = { { EPERM, REASON_PERMISSION },    { ERFKILL, REASON_UNIT_MASKED },
                     { ENODEV, REASON_NODE_OFFLINE }, { ENOTCONN, REASON_BUS_GONE },
                     { ENOENT, REASON_UNIT_GONE },    { EIO, REASON_OTHER } };
        const unsigned n = n_operations_of_a_bind(&systemd_ops);

        (void)state;
        assert_true(n >= 5);
        for (unsigned at = 1; at <= n; at++)
                for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                        assert_told(&systemd_ops, at, rows[i].error, rows[i].reason);
}

/* A killed daemon hears of none, and of what was done only whether it answers at once counts. */
static size_t n_errors(Harm harm) {
        return harm == FAIL_BEFORE ? ELEMENTSOF(ERRORS) : harm == FAIL_AFTER ? 2 : 1;
}

static void test_each_operation_fails(void **state) {
        static const BackendKind kinds[] = { BACKEND_SYSTEMD, BACKEND_CGROUP1, BACKEND_AFFINITY };

        (void)state;
        for (size_t k = 0; k < ELEMENTSOF(kinds); k++) {
                unsigned n;

                world_begin(ALL[kinds[k]], 0, FAIL_BEFORE, 0);
                run();
                n = world.n_operations;
                assert_true(n >= 8); /* or the host here has lost its meaning */
                for (unsigned at = 1; at <= n; at++)
                        for (Harm harm = 0; harm < N_HARMS; harm++)
                                for (size_t e = 0; e < n_errors(harm); e++) {
                                        world_begin(ALL[kinds[k]], at, harm, ERRORS[e]);
                                        run();
                                }
        }
}

/* Killed, and the policy is gone when it comes back: all is given back without binding first. */
static void test_killed_and_not_wanted_any_more(void **state) {
        static const BackendKind kinds[] = { BACKEND_SYSTEMD, BACKEND_CGROUP1, BACKEND_AFFINITY };

        (void)state;
        for (size_t k = 0; k < ELEMENTSOF(kinds); k++)
                for (unsigned at = 1; at <= 8; at++)
                        for (Harm harm = KILL_BEFORE; harm <= KILL_AFTER; harm++) {
                                Life l;

                                world_begin(ALL[kinds[k]], at, harm, EIO);
                                life_begin(&l);
                                bind(&l, "2", "1");
                                bind(&l, "3", "0");
                                life_end(&l);
                                world.dead = false;
                                life_begin(&l);
                                release(&l);
                                life_end(&l);
                                assert_as_before();
                        }
}

static void test_a_new_life_knows_what_it_did(void **state) {
        unsigned n;
        Life l;

        (void)state;
        world_begin(&affinity_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        assert_true(l.instance->processes[0].cpus_given);
        life_end(&l);
        n = world.n_operations;
        life_begin(&l); /* which is to be on CPU 2 */
        assert_true(l.instance->processes[0].cpus_given);
        bind(&l, "2", "1");
        assert_int_equal(world.n_operations, n); /* nothing is done twice */
        bind(&l, "3", "1");
        life_end(&l);
        life_begin(&l);
        assert_false(l.instance->processes[0].cpus_given); /* of CPU 2 */
        release(&l);
        assert_false(l.instance->processes[0].cpus_given);
        life_end(&l);
        assert_as_before();

        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        life_end(&l);
        life_begin(&l);
        assert_true(l.instance->we_narrowed);
        bind(&l, "3", "1");
        /* Once it stands, who sets the former one is somebody else. */
        assert_int_equal(l.m.undo.records[0]->cpus.ours.n, 1);
        release(&l);
        assert_false(l.instance->we_narrowed);
        life_end(&l);
        assert_as_before();
}

static void test_own_properties(void **state) {
        Placement p = { .nodes = ids("0-1"), .cpus = ids("2-5"), .memory = MEMORY_BIND };
        Node machine[4] = { { .id = 0, .memory_bytes = 1 },
                            { .id = 1, .memory_bytes = 1 },
                            { .id = 2, .memory_bytes = 1 },
                            { .id = 3 } };
        CpuSet cpus = { 0 };
        NodeSet nodes = ids("0-5");
        Life l;

        (void)state;
        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        l.m.topology = (Topology){ .nodes = machine, .n_nodes = 4 };
        assert_null(record_keep_own(l.instance, &p)); /* nobody has looked yet */
        assert_ids(p.cpus, "2-5");
        assert_ids(record_open_nodes(l.instance), "0-2");
        bind(&l, "2", "1");
        assert_null(record_keep_own(l.instance, &p));
        assert_ids(p.cpus, "2-3");
        assert_ids(p.nodes, "0-1");
        p.nodes = ids("1-4");
        assert_null(record_keep_own(l.instance, &p));
        assert_ids(p.nodes, "1");
        p.nodes = ids("4");
        assert_non_null(strstr(record_keep_own(l.instance, &p), "AllowedMemoryNodes="));
        assert_ids(p.nodes, "4");
        p.memory = MEMORY_PREFERRED; /* holds no memory anywhere */
        assert_null(record_keep_own(l.instance, &p));
        p.cpus = ids("7");
        assert_non_null(record_keep_own(l.instance, &p));
        p.nodes = (NodeSet){ 0 };
        assert_null(record_keep_own(l.instance, &p));
        record_add_own(l.instance, &cpus, &nodes);
        assert_ids(record_open_nodes(l.instance), "0-1");
        assert_ids(cpus, "0-3");
        assert_ids(nodes, "0-1");
        release(&l);
        life_end(&l);
}

/* --- what is wanted --- */

static void set_release(Life *l, char **globs, size_t n) {
        l->m.policies.release = (WordList){ .words = globs, .n_words = n };
}

static void test_wanted(void **state) {
        unsigned n;
        char *globs[] = { (char *)"nobody", (char *)"a.serv*" };
        char *name[] = { (char *)"a" };
        Life l;

        (void)state;
        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        release_unwanted(&l.m);
        release_stray(&l.m);
        assert_int_equal(l.m.releases.n, 0); /* it has an instance */
        set_release(&l, globs, 1);
        release_unwanted(&l.m);
        assert_int_equal(l.m.releases.n, 0);
        set_release(&l, globs, 2);
        l.m.policies.mode = ENFORCEMENT_OBSERVE;
        release_unwanted(&l.m);
        assert_int_equal(l.m.releases.n, 0); /* paused */
        l.m.policies.mode = ENFORCEMENT_ENFORCE;
        l.m.policy_load_success = false;
        release_unwanted(&l.m);
        assert_int_equal(l.m.releases.n, 0); /* nobody knows what is wanted */
        l.m.policy_load_success = true;
        release_unwanted(&l.m);
        assert_int_equal(l.m.releases.n, 1);
        release_unwanted(&l.m);
        assert_int_equal(l.m.releases.n, 1);
        l.m.policies.mode = ENFORCEMENT_OBSERVE; /* in the middle */
        n = world.n_operations;
        release_at_due(&l.m, UINT64_MAX / 4);
        assert_int_equal(world.n_operations, n);
        l.m.policies.mode = ENFORCEMENT_ENFORCE;
        release(&l);
        assert_as_before();
        bind(&l, "2", "1");
        set_release(&l, name, 1);
        release_unwanted(&l.m);
        release(&l);
        assert_as_before();
        life_end(&l);
}

static void test_watched_only(void **state) {
        Life l;

        (void)state;
        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        l.policy.built_in = true; /* the last file of policies is gone */
        release_unwanted(&l.m);
        assert_int_equal(l.m.releases.n, 1);
        release(&l);
        assert_as_before();
        life_end(&l);
}

/* Its process lives, and is no policy's any more. */
static void test_without_an_instance(void **state) {
        Life l;

        (void)state;
        world_begin(&affinity_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        roster_remove_process(&l.m, l.instance, 0);
        assert_int_equal(count_files(), 1);
        release_stray(&l.m);
        assert_int_equal(l.m.releases.n, 1);
        release(&l);
        assert_as_before();
        life_end(&l);
}

static void test_not_bound_again_on_its_way_back(void **state) {
        const Step set = { .kind = STEP_SET_CPUS, .reason = "" };
        Life l;

        (void)state;
        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        release_begin(&l.m, l.m.undo.records[0], "a test");
        l.instance->placement.cpus = ids("3");
        assert_false(bind_carry_out(l.instance, &set, 0));
        assert_true(is(&world.cpus, "2"));
        release(&l);
        assert_as_before();
        life_end(&l);
}

static void test_stop(void **state) {
        Life l;

        (void)state;
        world_begin(&affinity_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        assert_false(release_before_stop(&l.m)); /* keep */
        l.m.policies.on_stop = ON_STOP_RESTORE;
        assert_false(release_before_stop(&l.m)); /* nothing to restore */
        bind(&l, "2", "1");
        l.m.policies.mode = ENFORCEMENT_OBSERVE;
        assert_false(release_before_stop(&l.m)); /* paused */
        l.m.policies.mode = ENFORCEMENT_ENFORCE;
        assert_true(release_before_stop(&l.m));
        assert_int_equal(l.m.releases.n, 1);
        assert_false(manager_enforces(&l.m)); /* nothing is bound from now on */
        release(&l);
        assert_as_before();
        life_end(&l);
}

static int setup(void **state) {
        (void)state;
        world = (World){ 0 };
        world.pid = fork();
        if (world.pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void)pause();
        }
        fake_init(&world.folder);
        return world.pid > 0 ? 0 : -1;
}

static int teardown(void **state) {
        (void)state;
        (void)kill(world.pid, SIGKILL);
        (void)waitpid(world.pid, NULL, 0);
        fake_done(&world.folder);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_each_operation_fails, setup, teardown),
                cmocka_unit_test_setup_teardown(test_failures_are_told, setup, teardown),
                cmocka_unit_test_setup_teardown(test_killed_and_not_wanted_any_more, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_a_new_life_knows_what_it_did, setup, teardown),
                cmocka_unit_test_setup_teardown(test_own_properties, setup, teardown),
                cmocka_unit_test_setup_teardown(test_wanted, setup, teardown),
                cmocka_unit_test_setup_teardown(test_watched_only, setup, teardown),
                cmocka_unit_test_setup_teardown(test_without_an_instance, setup, teardown),
                cmocka_unit_test_setup_teardown(test_not_bound_again_on_its_way_back, setup,
                                                teardown),
                cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
