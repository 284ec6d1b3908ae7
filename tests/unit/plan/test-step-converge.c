/* Step after step on kernels that apply each change: it ends, and all is in its place. */

#include "step-kernel.h"

static uint64_t really_outside(const Kernel *k) {
        return outside(k, k->pages) + outside(k, k->marked) + outside(k, k->pinned);
}

/* As the daemon does when the instance changes. */
static void forget_progress(Kernel *k) {
        bool we_narrowed = k->in.we_narrowed;

        k->in = (StepInput){ .we_narrowed = we_narrowed };
        k->passes_on_the_way = 0;
}

static void assert_ends_done(Kernel *k) {
        Step step = run(k);

        if (step.kind != STEP_DONE)
                fail_msg("ends as %d: %s", (int)step.kind, step.reason);
        if (k->placement.memory != MEMORY_NONE)
                assert_int_equal(really_outside(k), 0);
}

static void unmark(Kernel *k) {
        for (unsigned i = 0; i < k->n_nodes; i++) {
                k->pages[i] += k->marked[i];
                k->marked[i] = 0;
        }
}

static void run_cooperative(MemoryMode memory) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2654435761u + 1;
                Kernel k;

                init_cooperative(&k, &seed, memory);
                assert_ends_done(&k);
        }
}

TEST(bind_ends_bound) {
        run_cooperative(MEMORY_BIND);
}

TEST(preferred_ends_with_all_pulled) {
        run_cooperative(MEMORY_PREFERRED);
}

TEST(none_ends_with_cpus) {
        run_cooperative(MEMORY_NONE);
}

/* A policy that changes takes the instance from any bound state to the next. */
TEST(bound_elsewhere_afterwards) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2246822519u + 7;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                assert_ends_done(&k);
                k.in.we_narrowed = true; /* also where it was so already */
                k.placement.nodes = some_nodes(&seed, k.n_nodes);
                k.placement.cpus = cpus_of(&k.placement.nodes);
                k.placement.memory = (MemoryMode)(i % 3);
                if (k.placement.memory == MEMORY_PREFERRED)
                        unmark(&k); /* it never sweeps */
                forget_progress(&k);
                assert_ends_done(&k);
                if (k.placement.memory != MEMORY_BIND)
                        assert_true(id_set_equal(&k.binding.mems, &k.in.all_nodes));
        }
}

/* Too little room, then enough: not bound while there is none, bound afterwards. */
TEST(bound_as_room_appears) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 3266489917u + 3;
                NodeSet before;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                k.room = really_outside(&k) / 2;
                before = k.binding.mems;
                if (really_outside(&k) > 0 && !id_set_equal(&k.binding.mems, &k.placement.nodes)) {
                        assert_int_equal(run(&k).kind, STEP_PARTLY);
                        assert_true(id_set_is_subset(&before, &k.binding.mems));
                }
                k.room = UINT64_MAX;
                forget_progress(&k);
                assert_ends_done(&k);
        }
}

/* Bound, widened because its nodes are full, and bound again when there is room. */
TEST(widened_and_back) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 374761393u + 11;
                NodeSet wide;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                assert_ends_done(&k);
                forget_progress(&k);
                k.in.extra = some_nodes(&seed, k.n_nodes);
                id_set_subtract(&k.in.extra, &k.placement.nodes);
                k.in.extra_pending = one_in(&seed, 2);
                if (id_set_is_empty(&k.in.extra))
                        continue; /* it has all nodes already */
                wide = k.placement.nodes;
                id_set_union(&wide, &k.in.extra);
                if (one_in(&seed, 2)) /* by the guard itself; else by the step */
                        k.binding.mems = wide;
                k.room = 0;
                assert_int_equal(run(&k).kind, STEP_WIDENED);
                assert_true(id_set_equal(&k.binding.mems, &wide));
                k.pages[id_set_next(&k.in.extra, 0)] += 4096 * next_number(&seed, 100000);
                k.reads_until_shown = 0;
                assert_int_equal(run(&k).kind, STEP_WIDENED);
                k.room = UINT64_MAX;
                forget_progress(&k);
                assert_ends_done(&k);
                assert_true(id_set_equal(&k.binding.mems, &k.placement.nodes));
        }
}

/* From a session of others to a scope of its own, whose memory is counted nowhere. */
TEST(scope_ends_bound) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2654435789u + 13;
                Kernel k;

                init_cooperative(&k, &seed, (MemoryMode)(i % 3));
                k.binding.mems = all_nodes(k.n_nodes);
                k.in.we_narrowed = false;
                k.deaf_scope_moves = next_number(&seed, STEP_WRITES_MAX);
                k.in.outside_unit = true;
                unmark(&k); /* a pass did not see it, so it is unknown */
                assert_ends_done(&k);
                assert_true(k.in.in_scope);
        }
}

/* No room for all of it: it is not narrowed. */
TEST(scope_without_room) {
        for (uint32_t i = 0; i < SITUATIONS; i++) {
                uint32_t seed = i * 2654435789u + 17;
                Kernel k;

                init_cooperative(&k, &seed, MEMORY_BIND);
                k.binding.mems = all_nodes(k.n_nodes);
                k.in.we_narrowed = false;
                k.in.outside_unit = true;
                unmark(&k);
                k.room = really_outside(&k) / 2;
                if (k.room == 0)
                        continue;
                assert_int_equal(run(&k).kind, STEP_PARTLY);
                assert_true(id_set_equal(&k.binding.mems, &k.in.all_nodes));
        }
}

/* --- Step after step on kernels that do not apply each change: it ends all the same --- */

/* And one that does not, in one way or several. */
static void make_stubborn(Kernel *k, uint32_t *seed) {
        if (one_in(seed, 8))
                k->memory_controller = false;
        if (one_in(seed, 4))
                k->binding.alone = false;
        if (one_in(seed, 2))
                k->in.no_scope = "no";
        k->deaf_scope_moves = one_in(seed, 4) ? 100 : 0;
        if (one_in(seed, 8))
                id_set_add(&k->binding.unused_cpus, 0);
        if (one_in(seed, 4))
                k->slice_cpus = true;
        if (one_in(seed, 4))
                k->slice_mems = some_nodes(seed, k->n_nodes);
        if (one_in(seed, 4))
                k->deaf_mem_writes = 100;
        if (one_in(seed, 4))
                k->moved_percent = next_number(seed, 2);
        if (one_in(seed, 3))
                k->room = next_number(seed, 1000000000);
        if (one_in(seed, 4))
                k->lag = 1000;
        if (one_in(seed, 4))
                k->placement.migrate = MIGRATE_NONE;
        for (unsigned i = 0; i < k->n_nodes; i++)
                if (one_in(seed, 4))
                        k->pinned[i] = 4096 * next_number(seed, 100);
        id_set_intersect(&k->binding.mems, &k->slice_mems);
        if (id_set_is_empty(&k->binding.mems))
                k->binding.mems = k->slice_mems;
        show(k);
}

/* Whatever it meets, it comes to an end and does nothing dangerous on the way. */
TEST(stubborn_kernels) {
        unsigned ends[STEP_PARTLY + 1] = { 0 };

        for (uint32_t i = 0; i < 3 * SITUATIONS; i++) {
                uint32_t seed = i * 668265263u + 5;
                MemoryMode memory = (MemoryMode)(i % 3);
                Kernel k;

                init_cooperative(&k, &seed, memory);
                make_stubborn(&k, &seed);
                ends[run(&k).kind]++;
        }
        /* The generator makes what this is about. */
        assert_true(ends[STEP_DONE] > 100 && ends[STEP_REFUSE] > 100 && ends[STEP_PARTLY] > 100);
}
