/* How much a memory limit is, and when it may be in force. */
#include "tidbnumad/plan/limit.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/model/product.h"

#define LIMIT_MIB (UINT64_C(1) << 20)

/* Weights are divided among the nodes of an instance, in these parts. */
#define WEIGHT_PARTS UINT64_C(4096)

uint64_t limit_node_weight(uint32_t weight, const NodeSet *nodes, uint32_t node) {
        return id_set_has(nodes, node) ? weight * WEIGHT_PARTS / id_set_count(nodes) : 0;
}

static uint64_t instance_weight(const PlacementInstance *in, const PlacementChoice *choice,
                                uint32_t node) {
        return limit_node_weight(match_weight(in->exe, in->policy, in->unit),
                                 &choice->placement.nodes, node);
}

uint64_t limit_wanted_bytes(const Topology *topology, const uint64_t *headroom_bytes,
                            const PlacementInstance *instances, const PlacementChoice *choices,
                            size_t n, size_t self) {
        const NodeSet *nodes = &choices[self].placement.nodes;
        const uint64_t asked = instances[self].policy->memory_limit;
        uint64_t mib = 0;

        if (asked == MEMORY_LIMIT_NONE || id_set_is_empty(nodes))
                return 0;
        if (asked != MEMORY_LIMIT_SHARE)
                return asked / LIMIT_MIB * LIMIT_MIB;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                const Node *node = &topology->nodes[i];
                const uint64_t headroom = headroom_bytes
                                                  ? headroom_bytes[i]
                                                  : fit_headroom_bytes(node->memory_bytes, 0);
                uint64_t all = 0;

                if (!id_set_has(nodes, node->id) || node->memory_bytes <= headroom)
                        continue;
                for (size_t k = 0; k < n; k++) {
                        const PlacementInstance *in = &instances[k];

                        if (id_set_has(&choices[k].placement.nodes, node->id) &&
                            (k == self ||
                             product_info(match_product(in->exe, &in->policy->match, in->unit))
                                     ->heavy))
                                all += instance_weight(in, &choices[k], node->id);
                }
                mib += memory_part((node->memory_bytes - headroom) / LIMIT_MIB,
                                   instance_weight(&instances[self], &choices[self], node->id),
                                   all);
        }
        return mib * LIMIT_MIB;
}

bool limit_is_of_before(const LimitMemory *m, uint64_t before_bytes) {
        return m->limit_bytes >= before_bytes || before_bytes - m->limit_bytes < LIMIT_MIB;
}

uint64_t limit_brake_bytes(uint64_t limit_bytes) {
        return memory_part(limit_bytes / LIMIT_MIB, 19, 20) * LIMIT_MIB;
}

uint64_t limit_held_bytes(const LimitMemory *m) {
        const uint64_t cache = m->inactive_file_bytes + m->active_file_bytes;
        const uint64_t clean = cache > m->unclean_bytes ? cache - m->unclean_bytes : 0;

        return m->current_bytes > clean ? m->current_bytes - clean : 0;
}

bool limit_has_room(const LimitMemory *m, uint64_t limit_bytes) {
        return limit_held_bytes(m) < memory_part(limit_bytes, 9, 10);
}

bool limit_is_near(uint64_t held_bytes, uint64_t held_before_bytes, uint64_t limit_bytes) {
        const uint64_t size = limit_brake_bytes(limit_bytes);
        const uint64_t room = size > held_bytes ? size - held_bytes : 0;

        return held_bytes > held_before_bytes && (held_bytes - held_before_bytes) >= room / 3;
}

GuardReading limit_reading(const LimitMemory *m, uint64_t limit_bytes, uint64_t now_usec) {
        const uint64_t size = limit_brake_bytes(limit_bytes);
        const uint64_t cache = m->inactive_file_bytes + m->active_file_bytes;
        const uint64_t over = m->current_bytes > size ? m->current_bytes - size : 0;

        /* All cache as inactive: at its limit, a group loses also that in use before a kill. */
        return (GuardReading){
                .usec = now_usec,
                .free_bytes = size > m->current_bytes ? size - m->current_bytes : 0,
                .inactive_file_bytes = cache > over ? cache - over : 0,
                .unclean_bytes = m->unclean_bytes,
        };
}

static LimitStep limit_step(LimitAction action, LimitState state) {
        return (LimitStep){ .action = action, .state = state };
}

LimitStep limit_next(const LimitInput *in) {
        const LimitMemory *m = in->memory;
        /* A smaller one of the admin's does as well. */
        const bool has_brake =
                m && (!m->has_brake || m->brake_bytes <= limit_brake_bytes(in->wanted_bytes));
        /* Neither ours nor what was there before: somebody else has decided, and that stays. */
        const bool by_others = m && in->before_known && !in->is_ours &&
                               m->limit_bytes != in->wanted_bytes &&
                               !limit_is_of_before(m, in->before_bytes);
        /* Also a lifted one: the property has it. */
        const LimitAction undo =
                in->recorded && in->may_change && !by_others ? LIMIT_TAKE_BACK : LIMIT_DO_NOTHING;
        /* Also while the daemon is paused: who has lifted the file must lift the property. */
        const LimitAction lift = in->recorded ? LIMIT_TAKE_BACK : LIMIT_DO_NOTHING;
        /* That of a limit which is not in force: it would hold up what has grown since. */
        const bool brake_alone = m && m->has_brake && in->recorded &&
                                 m->limit_bytes != in->wanted_bytes &&
                                 m->brake_bytes == limit_brake_bytes(in->wanted_bytes);
        uint64_t before = in->before_bytes;

        if (!in->wanted)
                return limit_step(undo, LIMIT_NONE);
        if (in->refused) /* nothing is missed of what has no place, as it is released */
                return limit_step(undo, in->wanted_bytes == 0 ? LIMIT_WAITING : LIMIT_NO_UNIT);
        if (!m || in->wanted_bytes == 0)
                return limit_step(LIMIT_DO_NOTHING, LIMIT_WAITING);
        /* v1 is reclaimed by the limit itself, before that is recorded. */
        if (!in->before_known && m->limit_bytes != in->wanted_bytes)
                before = m->limit_bytes;
        if (before <= in->wanted_bytes)
                return limit_step(undo, LIMIT_SMALLER);
        if (by_others)
                return limit_step(LIMIT_DO_NOTHING, LIMIT_SMALLER);
        if (in->lifted)
                return limit_step(lift, LIMIT_LIFTED);
        if (in->is_ours && m->limit_bytes == in->wanted_bytes &&
            in->ours_bytes == in->wanted_bytes) {
                const LimitState state = in->before_start ? LIMIT_SET : LIMIT_NEXT_START;

                return limit_step(has_brake || !in->may_change || !in->guarded ? LIMIT_DO_NOTHING
                                                                               : LIMIT_RECLAIM,
                                  state);
        }
        /* Under such a limit it would have to reclaim at once. */
        if (!(in->is_ours && m->limit_bytes < in->wanted_bytes) &&
            !limit_has_room(m, in->wanted_bytes))
                return limit_step(in->is_ours && !brake_alone ? LIMIT_DO_NOTHING : lift,
                                  in->ours_bytes == in->wanted_bytes ? LIMIT_LIFTED : LIMIT_HELD);
        if (!in->may_change || !in->guarded)
                return limit_step(brake_alone ? LIMIT_TAKE_BACK : LIMIT_DO_NOTHING, LIMIT_PLANNED);
        return limit_step(m->current_bytes > in->wanted_bytes || !has_brake ? LIMIT_RECLAIM
                                                                            : LIMIT_SET_PROPERTY,
                          LIMIT_PENDING);
}
