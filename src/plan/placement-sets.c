/* One after the other, the feasible sets of nodes of an item. */
#include "tidbnumad/plan/placement-search.h"

/* With more sets than the first, only some are tried; the second bounds the work for these. */
enum { SETS_MAX = 4096, SEED_WORK_MAX = 1 << 22 };

/* Where the sets of one group end: sockets, where a set has to stay within one. */
static size_t group_end(const PlanSets *sets, size_t begin) {
        const PlanNode *nodes = sets->problem->nodes;
        size_t end = begin;

        if (!sets->item->same_package)
                return sets->n_pool;
        while (end < sets->n_pool &&
               nodes[sets->pool[end]].package == nodes[sets->pool[begin]].package)
                end++;
        return end;
}

static void fill_pool(PlanSets *sets) {
        const PlanProblem *problem = sets->problem;
        const PlanItem *item = sets->item;
        NodeBits rest = id_set_minus(&item->feasible, &item->must);
        int must = id_set_next(&item->must, 0);

        for (uint32_t p = 0; p < (item->same_package ? problem->n_packages : 1); p++) {
                if (item->same_package && must >= 0 && problem->nodes[must].package != p)
                        continue;
                ID_SET_FOREACH(i, &rest)
                if (!item->same_package || problem->nodes[i].package == p)
                        sets->pool[sets->n_pool++] = (uint16_t)i;
        }
}

int placement_sets_init(PlanSets *sets, const PlanProblem *problem, const PlanItem *item) {
        size_t n_must = id_set_count(&item->must);

        *sets = (PlanSets){
                .problem = problem,
                .item = item,
                .n_chosen = item->count - n_must,
                .n_nodes = item->count,
                .pool = malloc((problem->n_nodes + 1) * sizeof(uint16_t)),
                .chosen = malloc((item->count + 1) * sizeof(size_t)),
                .nodes = malloc((item->count + 1) * sizeof(uint16_t)),
        };
        if (!sets->pool || !sets->chosen || !sets->nodes) {
                placement_sets_done(sets);
                return -ENOMEM;
        }
        fill_pool(sets);
        sets->seeds = placement_sets_count(sets) > SETS_MAX;
        placement_sets_rewind(sets);
        return 0;
}

void placement_sets_done(PlanSets *sets) {
        free(sets->pool);
        free(sets->chosen);
        free(sets->nodes);
        *sets = (PlanSets){ 0 };
}

/* n over k. */
static size_t count_subsets(size_t n, size_t k) {
        size_t all = 1;

        if (k > n)
                return 0;
        k = k < n - k ? k : n - k;
        for (size_t i = 1; i <= k; i++) {
                size_t product;

                if (__builtin_mul_overflow(all, n - k + i, &product))
                        return SIZE_MAX;
                all = product / i;
        }
        return all;
}

size_t placement_sets_count(const PlanSets *sets) {
        size_t all = 0;

        if (sets->n_chosen == 0)
                return 1;
        for (size_t begin = 0, end; begin < sets->n_pool; begin = end) {
                end = group_end(sets, begin);
                if (__builtin_add_overflow(all, count_subsets(end - begin, sets->n_chosen), &all))
                        return SIZE_MAX;
        }
        return all;
}

static void enter_group(PlanSets *sets, size_t begin) {
        sets->group = begin;
        sets->n_group = group_end(sets, begin) - begin;
        sets->seed = 0;
        for (size_t i = 0; i < sets->n_chosen; i++)
                sets->chosen[i] = i;
}

void placement_sets_rewind(PlanSets *sets) {
        sets->begun = false;
        enter_group(sets, 0);
}

/* The next subset of the group, in the order of the numbers. */
static bool next_subset(PlanSets *sets) {
        size_t n = sets->n_chosen, i = n;

        while (i > 0 && sets->chosen[i - 1] == sets->n_group - n + i - 1)
                i--;
        if (i == 0)
                return false;
        sets->chosen[i - 1]++;
        for (; i < n; i++)
                sets->chosen[i] = sets->chosen[i - 1] + 1;
        return true;
}

/* Nearest first; of equally near ones those that follow the seed, so that sets of several seeds do
 * not all have the lowest. */
static bool is_nearer(const PlanSets *sets, size_t a, size_t b) {
        const uint16_t *pool = &sets->pool[sets->group];
        const PlanProblem *problem = sets->problem;
        size_t n = sets->n_group, seed = sets->seed;
        uint32_t to_a = placement_problem_distance(problem, pool[seed], pool[a]);
        uint32_t to_b = placement_problem_distance(problem, pool[seed], pool[b]);

        return to_a != to_b ? to_a < to_b : (a + n - seed) % n < (b + n - seed) % n;
}

static void choose_around_seed(PlanSets *sets) {
        size_t n = 0, room = sets->n_chosen - 1;

        for (size_t i = 0; room > 0 && i < sets->n_group; i++) {
                size_t at;

                if (i == sets->seed || (n == room && !is_nearer(sets, i, sets->chosen[n])))
                        continue;
                n += n < room;
                for (at = n; at > 1 && is_nearer(sets, i, sets->chosen[at - 1]); at--)
                        sets->chosen[at] = sets->chosen[at - 1];
                sets->chosen[at] = i;
        }
        sets->chosen[0] = sets->seed;
}

static bool next_in_group(PlanSets *sets) {
        if (!sets->seeds)
                return next_subset(sets);
        sets->seed += 1 + sets->n_pool * sets->n_chosen * sets->n_chosen / SEED_WORK_MAX;
        return sets->seed < sets->n_group;
}

/* The first group from here on that has nodes enough. */
static bool find_group(PlanSets *sets) {
        while (sets->n_group < sets->n_chosen) {
                if (sets->group + sets->n_group >= sets->n_pool)
                        return false;
                enter_group(sets, sets->group + sets->n_group);
        }
        return true;
}

static bool advance(PlanSets *sets) {
        if (!sets->begun) {
                sets->begun = true;
                return find_group(sets);
        }
        if (sets->n_chosen == 0)
                return false;
        if (next_in_group(sets))
                return true;
        if (sets->group + sets->n_group >= sets->n_pool)
                return false;
        enter_group(sets, sets->group + sets->n_group);
        return find_group(sets);
}

static int compare_nodes(const void *a, const void *b) {
        return *(const uint16_t *)a - *(const uint16_t *)b;
}

void placement_sets_sort(uint16_t *nodes, size_t n) {
        if (n > 1)
                qsort(nodes, n, sizeof(nodes[0]), compare_nodes);
}

bool placement_sets_next(PlanSets *sets) {
        size_t n = 0;

        if (!advance(sets))
                return false;
        if (sets->seeds)
                choose_around_seed(sets);
        ID_SET_FOREACH(i, &sets->item->must)
        sets->nodes[n++] = (uint16_t)i;
        for (size_t i = 0; i < sets->n_chosen; i++)
                sets->nodes[n++] = sets->pool[sets->group + sets->chosen[i]];
        placement_sets_sort(sets->nodes, n);
        return true;
}
