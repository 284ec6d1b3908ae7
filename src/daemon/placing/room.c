/* The memory that nodes have left: for a unit before it starts, and for what is to be moved. */
#include <stdlib.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/daemon/placing/room.h"
#include "tidbnumad/enforce/mover.h"
#include "tidbnumad/world/memory.h"

uint64_t room_promised(const Placing *placing, const Instance *self, uint32_t node) {
        uint64_t bytes = 0;

        ROSTER_FOREACH(other, placing->roster)
                if (other != self && other->binding.moving &&
                    id_set_has(&other->binding.placement.nodes, node))
                        bytes += other->binding.outside_bytes /
                                 id_set_count(&other->binding.placement.nodes);
        return bytes;
}

/* An instance that was bound strictly before its nodes filled up may also count on half of the page
 * cache in use, as the guard does: it would have got that, had it not been widened, and cache that
 * spread while it was away would keep it out for ever. */
static int read_room(const Placing *placing, const Instance *self, const Node *node,
                     NodeRoom *ret) {
        const uint64_t watermark =
                placing->host->high_watermark_bytes[node - placing->host->topology.nodes];
        NodeUse use;
        int r = node_use_read(&placing->host->sysroot, node->id, watermark, &use);

        if (r < 0)
                return r;
        *ret = fit_room(node->id, &use);
        if (self && self->binding.guard.widened)
                ret->reclaimable_bytes += use.active_file_bytes / 2;
        ret->promised_bytes = room_promised(placing, self, node->id);
        return 0;
}

int room_on(const Placing *placing, const NodeSet *nodes, const Instance *self, NodeRoom **ret,
            size_t *ret_n) {
        const Topology *topology = &placing->host->topology;
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n = 0;

        rooms = calloc(topology->n_nodes, sizeof(*rooms));
        if (!rooms)
                return -ENOMEM;
        for (size_t i = 0; i < topology->n_nodes; i++) {
                int r;

                if (!id_set_has(nodes, topology->nodes[i].id))
                        continue;
                r = read_room(placing, self, &topology->nodes[i], &rooms[n]);
                if (r < 0 && r != -ENODEV)
                        return r;
                n += r == 0;
        }
        *ret = TAKE_PTR(rooms);
        *ret_n = n;
        return 0;
}

int room_of(const Placing *placing, const Instance *instance, NodeRoom **ret, size_t *ret_n) {
        return room_on(placing, &instance->binding.placement.nodes, instance, ret, ret_n);
}

int room_choose_node(const Placing *placing, const Instance *i, uint32_t *ret) {
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n_rooms;
        int r, best;

        r = room_of(placing, i, &rooms, &n_rooms);
        if (r < 0)
                return r;
        best = fit_best(rooms, n_rooms, MOVER_CHUNK_BYTES);
        if (best < 0)
                return -ENOSPC;
        *ret = rooms[best].node;
        return 0;
}
