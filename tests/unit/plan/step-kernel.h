/* The steps, carried out on a small model of the kernel until they come to an end: from every
 * situation in few steps, with nothing dangerous on the way, and bound where the kernel lets it.
 * The situations are generated, the same ones on every run. */
#pragma once

#include "../../support/test.h"

#include "tidbnumad/plan/step.h"

enum { NODES_MAX = 4, CPUS_A_NODE = 4, SITUATIONS = 1000 };

/* 3 moves to a scope; 3 writes of CPUs; 3 of memory nodes with a pull before each; after the last 5
 * passes, 2 sweeps with 4 settles before, between and after; the end. */
enum { STEPS_MAX = 3 + 3 + 3 * 2 + 5 + 2 + 3 * 4 + 1 };

typedef struct Kernel {
        unsigned n_nodes;
        Placement placement;
        Binding binding;
        NodeSet slice_mems; /* what a slice above allows */
        bool slice_cpus;    /* a slice above allows fewer CPUs */
        bool memory_controller;
        unsigned deaf_cpu_writes, deaf_mem_writes, deaf_scope_moves; /* so many have no effect */

        uint64_t pages[NODES_MAX];  /* in bytes; moved by passes */
        uint64_t marked[NODES_MAX]; /* moved by a sweep only */
        uint64_t pinned[NODES_MAX]; /* moved by nothing */
        uint64_t shown[NODES_MAX];  /* by memory.numa_stat */
        unsigned lag, reads_until_shown;
        unsigned moved_percent; /* of a pass; the third moves all */
        unsigned passes_on_the_way;
        uint64_t room;

        StepInput in;
} Kernel;

/* Numerical Recipes' generator: the same numbers everywhere. */
static inline uint32_t next_number(uint32_t *seed, uint32_t below) {
        *seed = *seed * 1664525u + 1013904223u;
        return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

static inline bool one_in(uint32_t *seed, uint32_t n) {
        return next_number(seed, n) == 0;
}

static inline NodeSet some_nodes(uint32_t *seed, unsigned n) {
        NodeSet nodes = { 0 };

        id_set_add(&nodes, next_number(seed, n));
        for (unsigned i = 0; i < n; i++)
                if (one_in(seed, 3))
                        id_set_add(&nodes, i);
        return nodes;
}

static inline NodeSet all_nodes(unsigned n) {
        NodeSet nodes = { 0 };

        for (unsigned i = 0; i < n; i++)
                id_set_add(&nodes, i);
        return nodes;
}

static inline CpuSet cpus_of(const NodeSet *nodes) {
        CpuSet cpus = { 0 };

        ID_SET_FOREACH(node, nodes)
        for (unsigned i = 0; i < CPUS_A_NODE; i++)
                id_set_add(&cpus, (uint32_t)node * CPUS_A_NODE + i);
        return cpus;
}

static inline uint64_t outside(const Kernel *k, const uint64_t *by_node) {
        uint64_t bytes = 0;

        for (unsigned i = 0; i < k->n_nodes; i++)
                if (!id_set_has(&k->placement.nodes, i))
                        bytes += by_node[i];
        return bytes;
}

/* What the mover can see. */
static inline uint64_t pages_outside(const Kernel *k) {
        return outside(k, k->pages) + outside(k, k->pinned);
}

static inline void show(Kernel *k) {
        for (unsigned i = 0; i < k->n_nodes; i++)
                k->shown[i] = k->pages[i] + k->marked[i] + k->pinned[i];
}

/* One that does what it is asked to, if not at once. */
static inline void init_cooperative(Kernel *k, uint32_t *seed, MemoryMode memory) {
        NodeSet all;

        *k = (Kernel){ .n_nodes = 2 + next_number(seed, NODES_MAX - 1),
                       .memory_controller = true,
                       .lag = next_number(seed, STEP_SETTLES_MAX),
                       .moved_percent = 40 + next_number(seed, 61),
                       .deaf_cpu_writes = next_number(seed, STEP_WRITES_MAX),
                       .deaf_mem_writes = next_number(seed, STEP_WRITES_MAX - 1),
                       .room = UINT64_MAX };
        all = all_nodes(k->n_nodes);
        k->slice_mems = all;
        k->placement = (Placement){ .nodes = some_nodes(seed, k->n_nodes),
                                    .memory = memory,
                                    .rate_bytes_per_sec = 100000,
                                    .reason = "" };
        k->placement.cpus = cpus_of(&k->placement.nodes);
        k->binding = (Binding){ .cpuset = one_in(seed, 2), .cpus = cpus_of(&all), .alone = true };
        k->binding.mems = all;
        k->in.we_narrowed = memory == MEMORY_BIND && one_in(seed, 2);
        if (k->in.we_narrowed || (memory == MEMORY_BIND && one_in(seed, 2)))
                k->binding.mems = some_nodes(seed, k->n_nodes);
        for (unsigned i = 0; i < k->n_nodes; i++) {
                k->pages[i] = one_in(seed, 3) ? 0 : 4096 * next_number(seed, 100000);
                k->marked[i] =
                        one_in(seed, 3) && memory == MEMORY_BIND ? 4096 * next_number(seed, 5) : 0;
        }
        show(k);
}

static inline void move(Kernel *k, uint64_t *by_node, unsigned percent, uint64_t *moved) {
        int to = id_set_next(&k->placement.nodes, 0);

        for (unsigned i = 0; i < k->n_nodes; i++) {
                uint64_t bytes = (by_node[i] * percent / 100 + 4095) / 4096 * 4096;

                if (id_set_has(&k->placement.nodes, i))
                        continue;
                if (bytes > k->room)
                        bytes = k->room / 4096 * 4096;
                by_node[i] -= bytes;
                k->pages[to] += bytes;
                if (k->room != UINT64_MAX)
                        k->room -= bytes;
                *moved += bytes;
        }
        if (*moved > 0)
                k->reads_until_shown = k->lag;
}

static inline void pass(Kernel *k) {
        k->in.passes++;
        k->in.pass_found_bytes = outside(k, k->pages) + outside(k, k->pinned);
        k->in.pass_moved_bytes = 0;
        move(k, k->pages,
             ++k->passes_on_the_way >= 3 && k->moved_percent > 1 ? 100 : k->moved_percent,
             &k->in.pass_moved_bytes);
        k->in.pass_whole = k->room >= 4096; /* otherwise it has ended early */
}

static inline void move_to_scope(Kernel *k) {
        k->in.scope_moves++;
        if (k->deaf_scope_moves > 0) {
                k->deaf_scope_moves--;
                return;
        }
        k->in.in_scope = true;
        k->in.outside_unit = false;
}

static inline void sweep(Kernel *k) {
        uint64_t moved = 0;

        move(k, k->marked, 100, &moved);
        move(k, k->pages, 100, &moved);
        k->in.sweeps++;
        k->in.settles = 0;
}

static inline void write_mems(Kernel *k, const Step *step) {
        k->in.mem_writes++;
        k->in.passes = k->in.sweeps = k->in.settles = 0;
        k->in.extra_pending = false;
        k->in.we_narrowed |= step->kind == STEP_NARROW;
        if (k->deaf_mem_writes > 0) {
                k->deaf_mem_writes--;
                return;
        }
        k->binding.mems = step->mems;
        id_set_intersect(&k->binding.mems, &k->slice_mems);
        if (id_set_is_empty(&k->binding.mems))
                k->binding.mems = k->slice_mems;
}

static inline void write_cpus(Kernel *k) {
        k->in.cpu_writes++;
        if (k->deaf_cpu_writes > 0) {
                k->deaf_cpu_writes--;
                return;
        }
        k->binding.cpuset = true;
        k->binding.cpus = k->placement.cpus;
        if (k->slice_cpus)
                k->binding.cpus.words[0] &= k->binding.cpus.words[0] - 1;
}

static inline void observe(Kernel *k) {
        if (k->reads_until_shown == 0)
                show(k);
        else
                k->reads_until_shown--;
        k->in.placement = &k->placement;
        k->in.binding = &k->binding;
        k->in.all_nodes = all_nodes(k->n_nodes);
        k->in.can_enforce = true;
        k->in.memory_known = k->memory_controller && k->binding.alone && !k->in.in_scope;
        k->in.pulled |= step_was_pulled(&k->in);
        k->in.outside_bytes = k->in.memory_known ? outside(k, k->shown) : 0;
        k->in.fits = k->in.memory_known && k->in.outside_bytes <= k->room;
        k->in.has_room = k->in.memory_known && k->room >= 4096;
}

/* What must never be asked for, whatever the kernel did so far. */
static inline void assert_harmless(const Kernel *k, const Step *step) {
        const NodeSet *nodes = &k->placement.nodes;
        bool cpus_stand = k->binding.cpuset && id_set_equal(&k->binding.cpus, &k->placement.cpus);

        switch (step->kind) {
        case STEP_SCOPE:
                assert_true(k->in.outside_unit || !k->binding.alone);
                assert_false(k->in.in_scope);
                assert_null(k->in.no_scope);
                return;
        case STEP_SET_CPUS:
                assert_false(cpus_stand);
                break;
        case STEP_WIDEN:
                assert_true(id_set_is_subset(nodes, &step->mems));
                assert_true(id_set_is_subset(&k->binding.mems, &step->mems));
                assert_true(k->in.extra_pending || !id_set_equal(&k->binding.mems, &step->mems));
                break;
        case STEP_NARROW:
                assert_true(k->in.in_scope ? k->in.pulled && pages_outside(k) == 0 : k->in.fits);
                assert_true(id_set_is_empty(&k->in.extra));
                assert_true(cpus_stand);
                assert_true(k->placement.memory == MEMORY_BIND);
                assert_true(id_set_equal(&step->mems, nodes));
                assert_false(id_set_equal(&k->binding.mems, nodes));
                assert_true(id_set_is_subset(nodes, &k->binding.mems));
                assert_true(k->in.outside_bytes == 0 || k->in.passes > 0 ||
                            k->placement.migrate == MIGRATE_NONE);
                break;
        case STEP_PULL:
                assert_true(k->in.memory_known ? k->in.fits || k->in.has_room : !k->in.pulled);
                assert_true(id_set_is_empty(&k->in.extra) || k->placement.memory != MEMORY_BIND);
                assert_true(cpus_stand);
                assert_true(id_set_is_subset(nodes, &k->binding.mems));
                assert_int_equal(k->placement.migrate, MIGRATE_GENTLE);
                assert_true(!k->in.memory_known || k->in.outside_bytes > 0);
                break;
        case STEP_SWEEP:
                assert_true(cpus_stand);
                assert_true(id_set_equal(&k->binding.mems, nodes));
                assert_true(k->in.outside_bytes <= k->placement.rate_bytes_per_sec);
                assert_int_equal(k->placement.migrate, MIGRATE_GENTLE);
                break;
        case STEP_DONE:
                assert_true(cpus_stand);
                assert_true(k->placement.memory != MEMORY_BIND ||
                            id_set_equal(&k->binding.mems, nodes));
                assert_true(k->placement.memory == MEMORY_NONE || k->in.outside_bytes == 0);
                assert_true(id_set_is_empty(&k->binding.unused_cpus));
                break;
        case STEP_WIDENED:
                assert_false(id_set_is_empty(&k->in.extra));
                assert_true(id_set_is_subset(nodes, &k->binding.mems));
                assert_true(id_set_is_subset(&k->in.extra, &k->binding.mems));
                break;
        case STEP_WATCH:
        case STEP_REFUSE:
        case STEP_SETTLE:
        case STEP_PARTLY:
                return;
        }
        assert_false(step_needs_scope(&k->in)); /* else others are bound with it */
}

/* False at an end. */
static inline bool carry_out(Kernel *k, const Step *step) {
        switch (step->kind) {
        case STEP_SCOPE:
                move_to_scope(k);
                return true;
        case STEP_SET_CPUS:
                write_cpus(k);
                return true;
        case STEP_WIDEN:
        case STEP_NARROW:
                write_mems(k, step);
                return true;
        case STEP_PULL:
                pass(k);
                return true;
        case STEP_SWEEP:
                sweep(k);
                return true;
        case STEP_SETTLE:
                k->in.settles++;
                return true;
        default:
                return false;
        }
}

static inline Step run(Kernel *k) {
        for (unsigned n = 0; n < STEPS_MAX; n++) {
                Step step;

                observe(k);
                step = step_next(&k->in);
                assert_harmless(k, &step);
                if (!carry_out(k, &step))
                        return step;
        }
        fail_msg("no end after %u steps", STEPS_MAX);
        return (Step){ 0 };
}
