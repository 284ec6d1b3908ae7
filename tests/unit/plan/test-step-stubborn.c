/* Step after step on kernels that do not apply each change: it ends all the same. */
#include "step-kernel.h"

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
                k->binding.n_threads_off_cpus = 1;
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
