/* The memory that nodes have left, and the huge pages: for a unit before it starts, and for what is
 * to be moved. */
#include <stdlib.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/change/mover.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/world/memory.h"

uint64_t room_promised(const Placing *placing, const Instance *self, uint32_t node) {
        uint64_t bytes = 0;

        REGISTRY_FOREACH(other, placing->registry)
        if (other != self && other->binding.state == INSTANCE_MOVING && other->binding.fits &&
            id_set_has(&other->binding.placement.nodes, node))
                bytes += other->binding.outside_bytes /
                         id_set_count(&other->binding.placement.nodes);
        return bytes;
}

int room_on(const Placing *placing, const NodeSet *nodes, const Instance *self, NodeRoom **ret,
            size_t *ret_n) {
        const Host *host = placing->host;
        _cleanup_free_ NodeRoom *rooms = calloc(host->topology.n_nodes, sizeof(*rooms));
        size_t n = 0;

        if (!rooms)
                return -ENOMEM;
        for (size_t i = 0; i < host->topology.n_nodes; i++) {
                const uint32_t node = host->topology.nodes[i].id;
                NodeUse use;
                int r;

                if (!id_set_has(nodes, node))
                        continue;
                r = node_use_read(&host->sysroot, node, host->high_watermark_bytes[i], &use);
                if (r == -ENODEV)
                        continue;
                if (r < 0)
                        return r;
                rooms[n] = fit_room(node, &use);
                /* An instance that was bound strictly before its nodes filled up may also count on
                 * half of the page cache in use, as the guard does: it would have got that, had it
                 * not been widened, and cache that spread while it was away would keep it out for
                 * ever. */
                if (self && self->binding.guard.widened)
                        rooms[n].reclaimable_bytes += use.active_file_bytes / 2;
                rooms[n++].promised_bytes = room_promised(placing, self, node);
        }
        *ret = TAKE_PTR(rooms);
        *ret_n = n;
        return 0;
}

int room_of(const Placing *placing, const Instance *instance, NodeRoom **ret, size_t *ret_n) {
        return room_on(placing, &instance->binding.placement.nodes, instance, ret, ret_n);
}

int room_best(const Instance *i, NodeRoom *rooms, size_t n_rooms, uint64_t bytes) {
        for (size_t n = 0; n < n_rooms && i->memory_known && !i->binding.fits; n++)
                rooms[n].headroom_bytes += rooms[n].promised_bytes;
        return fit_best(rooms, n_rooms, bytes);
}

int room_choose_node(const Placing *placing, const Instance *i, uint32_t *ret) {
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n_rooms;
        int r, best;

        r = room_of(placing, i, &rooms, &n_rooms);
        if (r < 0)
                return r;
        best = room_best(i, rooms, n_rooms, MOVER_CHUNK_BYTES);
        if (best < 0)
                return -ENOSPC;
        *ret = rooms[best].node;
        return 0;
}

int huge_room_read(const Placing *placing, HugePools *ret) {
        const Host *host = placing->host;

        return host->sysroot.live ? huge_pools_load(&host->sysroot, &host->topology, ret) : 0;
}

void huge_room_add_others(const Placing *placing, const Instance *self, const NodeSet *nodes,
                          HugeNeed *need) {
        REGISTRY_FOREACH(other, placing->registry) {
                const InstanceBinding *its = &other->binding;
                NodeSet mems = its->observed.mems;

                id_set_union(&mems, &its->guard.extra);
                if (other != self && its->placement.memory == MEMORY_BIND && its->observed.cpuset &&
                    !id_set_is_empty(&mems) && id_set_is_subset(&mems, nodes))
                        huge_need_add_untouched(need, &other->huge);
        }
}

static bool huge_room_lacks_now(const Placing *placing, const Instance *i, const HugePools *pools,
                                const NodeSet *nodes, HugeShortage *ret) {
        HugeNeed need = i->huge;

        huge_room_add_others(placing, i, nodes, &need);
        return huge_pools_lack(pools, &placing->host->topology, &need, nodes, ret);
}

bool huge_room_lacks(const Placing *placing, Instance *i, const HugePools *pools,
                     const NodeSet *nodes, HugeShortage *ret) {
        sample_huge(placing->sampling, i, pools, false);
        /* It may be that it has touched its pages since they were read. */
        if (!huge_room_lacks_now(placing, i, pools, nodes, ret))
                return false;
        sample_huge(placing->sampling, i, pools, true);
        return huge_room_lacks_now(placing, i, pools, nodes, ret);
}

bool huge_room_lacks_for_start(const Placing *placing, Instance *i, const HugePools *pools,
                               const NodeSet *nodes, const HugeNeed *least) {
        HugeNeed need;

        sample_huge(placing->sampling, i, pools, true);
        need = huge_need_of_restart(&i->huge);
        if (least)
                huge_need_raise(&need, least);
        huge_room_add_others(placing, i, nodes, &need);
        return huge_pools_lack(pools, &placing->host->topology, &need, nodes, NULL);
}
