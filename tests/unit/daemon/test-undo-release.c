/* Binding and giving back over operations that fail: each one in turn, with each errno that it may
 * have, before it did something or after; and a daemon that is killed at each of them. */
#include "release-life.h"

/* The first one is answered at once, the second later: see answer(). */
static const int ERRORS[] = { EPERM,  ENOMEM, ENOSPC, EROFS,  EIO,       ESRCH,
                              EINVAL, EBUSY,  EMFILE, ENOENT, ETIMEDOUT, ECONNREFUSED };

/* As the guard does it to one that is narrow by our doing. */
static void widen(Life *l) {
        const NodeSet wide = node_set(WIDENED_MEMS);

        if (!world.ops->widen_mems || world.dead || !is(ID_VIEW(&world.mems), "1"))
                return;
        (void)bind_widen_now(&l->m.binding, l->instance, &wide, 0);
        assert_nothing_unknown();
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
                        assert_true(is(ID_VIEW(&world.cpus), "3"));
                        assert_true(!world.ops->set_mems || is(ID_VIEW(&world.mems), "0"));
                        assert_int_equal(count_files(), 1);
                }
                release(&l);
                life_end(&l);
                if (!world.dead)
                        break;
        }
        assert_as_before();
}

/* --- failures are logged --- */

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

/* Whatever fails: once under its reason, and the sentence is there until it succeeds. */
static void assert_reported(const BackendOps *ops, unsigned at, int error, Reason reason) {
        Life l;

        world_begin(ops, at, FAIL_BEFORE, error);
        life_begin(&l);
        bind(&l, "2", "1");
        assert_int_equal(counted_in_all(&l), 1);
        assert_int_equal(counted(&l, reason) + counted(&l, REASON_RECORD_UNWRITABLE), 1);
        assert_int_equal(counted(&l, l.failure_code), 1);
        assert_null(l.instance->binding.failure); /* tried again with success: it is over */
        release(&l);
        life_end(&l);
}

TEST(failures_are_told, .setup_func = setup, .teardown_func = teardown) {
        static const struct {
                int error;
                Reason reason;
        } rows[] = { { EPERM, REASON_PERMISSION },    { ERFKILL, REASON_UNIT_MASKED },
                     { ENODEV, REASON_NODE_OFFLINE }, { ENOTCONN, REASON_BUS_GONE },
                     { ENOENT, REASON_UNIT_GONE },    { EIO, REASON_OTHER } };
        const unsigned n = n_operations_of_a_bind(&systemd_ops);

        assert_true(n >= 5);
        for (unsigned at = 1; at <= n; at++)
                for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                        assert_reported(&systemd_ops, at, rows[i].error, rows[i].reason);
}

/* A killed daemon hears of none, and of what was done only whether it answers at once counts. */
static size_t n_errors(Harm harm) {
        return harm == FAIL_BEFORE ? ELEMENTSOF(ERRORS) : harm == FAIL_AFTER ? 2 : 1;
}

TEST(each_operation_fails, .setup_func = setup, .teardown_func = teardown) {
        static const BackendKind kinds[] = { BACKEND_SYSTEMD, BACKEND_CGROUP1, BACKEND_AFFINITY };

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
TEST(killed_and_not_wanted_any_more, .setup_func = setup, .teardown_func = teardown) {
        static const BackendKind kinds[] = { BACKEND_SYSTEMD, BACKEND_CGROUP1, BACKEND_AFFINITY };

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

TEST(a_new_life_knows_what_it_did, .setup_func = setup, .teardown_func = teardown) {
        unsigned n;
        Life l;

        world_begin(&affinity_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        assert_true(l.instance->members[0].cpus_applied);
        life_end(&l);
        n = world.n_operations;
        life_begin(&l); /* which is to be on CPU 2 */
        assert_true(l.instance->members[0].cpus_applied);
        bind(&l, "2", "1");
        assert_int_equal(world.n_operations, n); /* nothing is done twice */
        bind(&l, "3", "1");
        life_end(&l);
        life_begin(&l);
        assert_false(l.instance->members[0].cpus_applied); /* of CPU 2 */
        release(&l);
        assert_false(l.instance->members[0].cpus_applied);
        life_end(&l);
        assert_as_before();

        world_begin(&systemd_ops, 0, FAIL_BEFORE, 0);
        life_begin(&l);
        bind(&l, "2", "1");
        life_end(&l);
        life_begin(&l);
        assert_true(l.instance->binding.we_narrowed);
        bind(&l, "3", "1");
        /* Once the new value shows, another program must have set the former one. */
        assert_int_equal(l.m.undo.records.records[0]->cpus.ours.n, 1);
        release(&l);
        assert_false(l.instance->binding.we_narrowed);
        life_end(&l);
        assert_as_before();
}

UNIT_LIFE_TEST(own_properties) {
        Placement p = { .nodes = node_set("0-1"), .cpus = cpu_set("2-5"), .memory = MEMORY_BIND };
        Node machine[4] = { { .id = 0, .memory_bytes = 1 },
                            { .id = 1, .memory_bytes = 1 },
                            { .id = 2, .memory_bytes = 1 },
                            { .id = 3 } };
        CpuSet cpus = { 0 };
        NodeSet nodes = node_set("0-5");

        l->m.host.topology = (Topology){ .nodes = machine, .n_nodes = 4 };
        assert_null(undo_apply_admin_limits(&l->m.undo, l->instance, &p)); /* it was not read yet */
        assert_ids(p.cpus, "2-5");
        assert_ids(undo_open_nodes(&l->m.undo, l->instance), "0-2");
        bind(l, "2", "1");
        assert_null(undo_apply_admin_limits(&l->m.undo, l->instance, &p));
        assert_ids(p.cpus, "2-3");
        assert_ids(p.nodes, "0-1");
        p.nodes = node_set("1-4");
        assert_null(undo_apply_admin_limits(&l->m.undo, l->instance, &p));
        assert_ids(p.nodes, "1");
        p.nodes = node_set("4");
        assert_non_null(strstr(undo_apply_admin_limits(&l->m.undo, l->instance, &p),
                               "AllowedMemoryNodes="));
        assert_ids(p.nodes, "4");
        assert_true(undo_admin_limits_plan(&l->m.undo, l->instance)); /* it is placed among these */
        p.memory = MEMORY_PREFERRED;                                  /* holds no memory anywhere */
        assert_null(undo_apply_admin_limits(&l->m.undo, l->instance, &p));
        p.cpus = cpu_set("7");
        assert_non_null(undo_apply_admin_limits(&l->m.undo, l->instance, &p));
        p.nodes = (NodeSet){ 0 };
        assert_null(undo_apply_admin_limits(&l->m.undo, l->instance, &p));
        undo_add_admin_limits(&l->m.undo, l->instance, &cpus, &nodes);
        assert_ids(undo_open_nodes(&l->m.undo, l->instance), "0-1");
        assert_ids(cpus, "0-3");
        assert_ids(nodes, "0-1");
        release(l);
}
