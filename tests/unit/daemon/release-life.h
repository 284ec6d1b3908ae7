/* Lives of a daemon in that world: what it binds and gives back, and what is left of it. */
#pragma once

#include "release-world.h"

typedef struct Life {
        Rooms m;
        Args args;
        Policy policy;
        PolicyCounters counters;
        Instance *instance;
        Reason failure_code; /* of the last failed attempt of bind() */
} Life;

static inline void life_begin(Life *l) {
        Process process = { .id = { .pid = world.pid }, .exe = strdup("/srv/a") };
        ProcHandle handle = PROC_HANDLE_NONE;

        *l = (Life){ .args = { .runtime_dir = "/test" }, .policy = { .name = (char *)"ours" } };
        l->m = (Rooms){ .host.args = &l->args,
                        .binding.policy_counters = &l->counters,
                        .host.policies_known = true,
                        .host.journal = { .max_priority = -1 },
                        .host.runtime_fd = world.folder.fd };
        rooms_wire(&l->m);
        assert_int_equal(sysroot_open(NULL, &l->m.host.sysroot), 0);
        backend_init(&l->m.host.backend, &l->m.host.sysroot, NULL);
        l->m.host.backend.all = ALL;
        l->m.host.backend.ops = world.ops;
        assert_int_equal(undo_start(&l->m.undo), 0);
        assert_int_equal(proc_open(&l->m.host.sysroot, world.pid, &handle), 0);
        process.id.start_ticks = handle.start_ticks;
        process.unit = world.ops->kind == BACKEND_SYSTEMD ? strdup("a.service") : NULL;
        l->instance = rooms_add(&l->m, &l->policy, &process, &handle);
        l->instance->binding.placement =
                (Placement){ .nodes = node_set("1"), .cpus = cpu_set("2"), .reason = "" };
        undo_adopt(&l->m.undo, l->instance);
        binding_adopt_record(l->instance);
}

static inline void life_end(Life *l) {
        rooms_free_instances(&l->m);
        undo_release_done(&l->m.undo);
        undo_done(&l->m.undo.records);
        requests_done(&l->m.host.requests);
        backend_done(&l->m.host.backend);
        sysroot_close(&l->m.host.sysroot);
}

/* As the reconcile does it: what differs from the plan is set, again and again. */
static inline void bind(Life *l, const char *cpus, const char *mems) {
        const Step set = { .kind = STEP_SET_CPUS, .reason = "" };
        const Step narrow = { .kind = STEP_NARROW, .mems = node_set(mems), .reason = "" };

        l->instance->binding.placement.cpus = cpu_set(cpus);
        binding_adopt_record(l->instance);
        for (unsigned i = 0; i < 8 && !world.dead; i++) {
                if (!is(ID_VIEW(&world.cpus), cpus))
                        (void)bind_carry_out(&l->m.binding, l->instance, &set, i);
                else if (world.ops->set_mems && !is(ID_VIEW(&world.mems), mems))
                        (void)bind_carry_out(&l->m.binding, l->instance, &narrow, i);
                if (l->instance->binding.failure)
                        l->failure_code = l->instance->binding.failure_code;
        }
        /* It keeps its place, of which no plan of this world knows. */
        l->instance->planned.placement.nodes = node_set("1");
        assert_nothing_unknown();
}

static inline void release(Life *l) {
        static const uint64_t later = UINT64_MAX / 4;

        for (unsigned i = 0; i < 40 && !world.dead && l->m.undo.records.n_records > 0; i++) {
                if (l->m.undo.releases.n == 0)
                        undo_release_begin(&l->m.undo, l->m.undo.records.records[0], "a test");
                undo_release_at_due(&l->m.undo, later + i * 1000000);
                if (l->instance && instance_take(l->instance, WORK_RECORD)) /* as the pass does */
                        (void)binding_enter(&l->m.binding, l->instance, EVENT_RECORD, 0);
                assert_nothing_unknown();
        }
}

static inline unsigned count_files(void) {
        _cleanup_closedir_ DIR *dir = NULL;
        const struct dirent *entry;
        unsigned n = 0;

        dir = fdopendir(openat(world.folder.fd, "undo", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        assert_non_null(dir);
        while ((entry = readdir(dir)))
                n += entry->d_name[0] != '.';
        return n;
}

static inline void assert_as_before(void) {
        assert_true(is(ID_VIEW(&world.cpus), BEFORE_CPUS));
        assert_true(is(ID_VIEW(&world.mems), BEFORE_MEMS));
        assert_int_equal(count_files(), 0);
}

static inline void world_begin(const BackendOps *ops, unsigned harm_at, Harm harm, int error) {
        world.ops = ops;
        world.cpus = cpu_set(BEFORE_CPUS);
        world.mems = node_set(BEFORE_MEMS);
        world.n_operations = 0;
        world.harm_at = harm_at;
        world.harm = harm;
        world.error = error;
        world.dead = false;
}

static inline int setup(void **state) {
        (void)state;
        world = (World){ 0 };
        world.pid = child_start();
        fake_init(&world.folder);
        return world.pid > 0 ? 0 : -1;
}

static inline int teardown(void **state) {
        (void)state;
        child_end(world.pid);
        fake_done(&world.folder);
        return 0;
}

/* Tests of one life, without harm: of a unit, and of the threads of a process. */
static inline void unit_life_begin(Life *l) {
        assert_int_equal(setup(NULL), 0);
        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(l);
}

static inline void threads_life_begin(Life *l) {
        assert_int_equal(setup(NULL), 0);
        world_begin(&affinity_ops, 0, FAIL_BEFORE, 0);
        life_begin(l);
}

static inline void last_life_end(Life *l) {
        life_end(l);
        (void)teardown(NULL);
}
#define UNIT_LIFE_TEST(test) TEST_WITH(test, Life, l, unit_life_begin, last_life_end)
#define THREADS_LIFE_TEST(test) TEST_WITH(test, Life, l, threads_life_begin, last_life_end)
