/* The best plan of a small problem, proved, layer by layer. */
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/plan/placement-exact.h"

typedef struct State {
        ExactKey key;
        ExactScore score;
        uint32_t from; /* in the layer before */
        uint16_t set;  /* by which it came from there */
} State;

/* How a state of a layer was come to: all that is kept of the layers before the present one. */
typedef struct Trail {
        uint32_t from;
        uint16_t set;
} Trail;

typedef struct Layers {
        State *now, *next; /* owned */
        size_t n_now, n_next, now_allocated, next_allocated;
        uint32_t *table;                    /* hashes to states of `next`, + 1; owned */
        Trail *trails[EXACT_ITEMS_MAX + 1]; /* owned */
        size_t steps;
        bool too_many;
} Layers;

enum { TABLE_SIZE = 1 << 18 }; /* twice EXACT_STATES_MAX */

static void layers_done(Layers *layers) {
        free(layers->now);
        free(layers->next);
        free(layers->table);
        for (size_t i = 0; i <= EXACT_ITEMS_MAX; i++)
                free(layers->trails[i]);
        *layers = (Layers){ 0 };
}
#define _cleanup_layers_ _cleanup_(layers_done)

static size_t hash(const ExactKey *key) {
        uint64_t words[sizeof(*key) / sizeof(uint64_t)], h = 0;

        _Static_assert(sizeof(*key) % sizeof(uint64_t) == 0, "a key is whole words");
        memcpy(words, key, sizeof(words));
        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
                h ^= h >> 32;
        }
        return (size_t)h % TABLE_SIZE;
}

/* Of states with the same key the best one stays, of equal ones the first. */
static int keep(Layers *layers, const State *state) {
        size_t at = hash(&state->key);

        for (; layers->table[at] != 0; at = (at + 1) % TABLE_SIZE) {
                State *other = &layers->next[layers->table[at] - 1];

                if (memcmp(&other->key, &state->key, sizeof(state->key)) != 0)
                        continue;
                if (placement_exact_score_compare(&state->score, &other->score) < 0)
                        *other = *state;
                return 0;
        }
        if (layers->n_next == EXACT_STATES_MAX) {
                layers->too_many = true;
                return 0;
        }
        if (ARRAY_RESERVE(layers->next, layers->next_allocated, layers->n_next + 1) < 0)
                return -ENOMEM;
        layers->next[layers->n_next++] = *state;
        layers->table[at] = (uint32_t)layers->n_next;
        return 0;
}

static bool is_hopeless(const Exact *exact, size_t layer, const State *state) {
        ExactScore bound = placement_exact_bound(exact, layer, &state->key, &state->score);

        return placement_exact_score_compare(&bound, &exact->known) >= 0;
}

static int expand(const Exact *exact, size_t layer, size_t from, Layers *layers) {
        const ExactItem *item = &exact->items[layer];

        for (size_t i = 0; i < item->n_sets; i++) {
                State state = layers->now[from];

                placement_exact_step(exact, layer, &item->sets[i], &state.key, &state.score);
                if (placement_exact_score_compare(&state.score, &exact->known) >= 0)
                        continue;
                state.from = (uint32_t)from;
                state.set = (uint16_t)i;
                if (keep(layers, &state) < 0)
                        return -ENOMEM;
        }
        layers->steps += item->n_sets;
        return 0;
}

static int leave_trail(Layers *layers, size_t layer) {
        Trail *trail = malloc((layers->n_next + 1) * sizeof(trail[0]));
        State *now = layers->now;
        size_t allocated = layers->now_allocated;

        if (!trail)
                return -ENOMEM;
        for (size_t i = 0; i < layers->n_next; i++)
                trail[i] = (Trail){ layers->next[i].from, layers->next[i].set };
        layers->trails[layer + 1] = trail;
        layers->now = layers->next;
        layers->now_allocated = layers->next_allocated;
        layers->n_now = layers->n_next;
        layers->next = now;
        layers->next_allocated = allocated;
        return 0;
}

static size_t steps_max(const Exact *exact) {
        return exact->n_nodes > EXACT_SMALL || exact->n_items > EXACT_SMALL ? EXACT_STEPS_LARGE_MAX
                                                                            : EXACT_STEPS_MAX;
}

static int advance(const Exact *exact, size_t layer, Layers *layers) {
        memset(layers->table, 0, TABLE_SIZE * sizeof(layers->table[0]));
        layers->n_next = 0;
        for (size_t i = 0; i < layers->n_now; i++) {
                if (is_hopeless(exact, layer, &layers->now[i]))
                        continue;
                if (layers->steps > steps_max(exact)) {
                        layers->too_many = true;
                        break;
                }
                if (expand(exact, layer, i, layers) < 0)
                        return -ENOMEM;
        }
        return leave_trail(layers, layer);
}

static int init(const Exact *exact, Layers *layers) {
        layers->table = malloc(TABLE_SIZE * sizeof(layers->table[0]));
        if (!layers->table || ARRAY_RESERVE(layers->now, layers->now_allocated, 1) < 0)
                return -ENOMEM;
        layers->now[0] = (State){ .key = placement_exact_root(exact) };
        layers->n_now = 1;
        return 0;
}

/* The way back from the best state of the last layer. */
static void adopt(const Exact *exact, const Layers *layers) {
        size_t at = 0;

        for (size_t i = 1; i < layers->n_now; i++)
                if (placement_exact_score_compare(&layers->now[i].score, &layers->now[at].score) <
                    0)
                        at = i;
        for (size_t i = exact->n_items; i > 0; i--) {
                const Trail *trail = &layers->trails[i][at];
                const ExactItem *e = &exact->items[i - 1];
                uint16_t bits = e->sets[trail->set].nodes;

                e->item->n_nodes = 0;
                for (size_t k = 0; k < exact->n_nodes; k++)
                        if (bits >> k & 1)
                                e->item->nodes[e->item->n_nodes++] = exact->of_node[k];
                at = trail->from;
        }
}

static int improve(const Exact *exact) {
        _cleanup_layers_ Layers layers = { 0 };
        int r;

        if (is_hopeless(exact, 0, &(State){ .key = placement_exact_root(exact) }))
                return 0;
        r = init(exact, &layers);
        for (size_t i = 0; r >= 0 && i < exact->n_items && layers.n_now > 0; i++)
                r = advance(exact, i, &layers);
        if (r >= 0 && layers.n_now > 0)
                adopt(exact, &layers);
        return r;
}

int placement_exact_run(PlanSearch *search) {
        _cleanup_placement_exact_ Exact exact = { 0 };
        int r;

        if (search->n_movable == 0)
                return 0;
        for (size_t i = 0; i < search->n_movable; i++)
                placement_search_take(search, search->movable[i]);
        r = placement_exact_build(search, &exact);
        if (r >= 0)
                r = improve(&exact);
        for (size_t i = 0; i < search->n_movable; i++)
                placement_search_put(search, search->movable[i], search->movable[i]->nodes);
        return r == -E2BIG ? 0 : r;
}
