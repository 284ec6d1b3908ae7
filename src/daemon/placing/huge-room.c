#include "tidbnumad/daemon/placing/huge-room.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/world/memory.h"

int huge_room_read(const Placing *placing, HugePools *ret) {
        const Host *host = placing->host;

        return host->sysroot.live ? huge_pools_load(&host->sysroot, &host->topology, ret) : 0;
}

static bool is_bound_within(const Instance *i, const NodeSet *nodes) {
        NodeSet mems = i->binding.observed.mems;

        id_set_union(&mems, &i->binding.guard.extra);
        return i->binding.placement.memory == MEMORY_BIND && i->binding.observed.cpuset &&
               !id_set_is_empty(&mems) && id_set_is_subset(&mems, nodes);
}

void huge_room_add_others(const Placing *placing, const Instance *self, const NodeSet *nodes,
                          HugeNeed *need) {
        ROSTER_FOREACH(other, placing->roster)
                if (other != self && is_bound_within(other, nodes))
                        huge_need_add_untouched(need, &other->sampling.huge.need);
}

static bool lacks(const Placing *placing, const Instance *i, const HugePools *pools,
                  const NodeSet *nodes, HugeShortage *ret) {
        HugeNeed need = i->sampling.huge.need;

        huge_room_add_others(placing, i, nodes, &need);
        return huge_pools_lack(pools, &placing->host->topology, &need, nodes, ret);
}

bool huge_room_lacks(const Placing *placing, Instance *i, const HugePools *pools,
                     const NodeSet *nodes, HugeShortage *ret) {
        sample_huge(placing->sampling, i, pools, false);
        /* It may be that it has touched its pages since they were read. */
        if (!lacks(placing, i, pools, nodes, ret))
                return false;
        sample_huge(placing->sampling, i, pools, true);
        return lacks(placing, i, pools, nodes, ret);
}

bool huge_room_lacks_for_start(const Placing *placing, Instance *i, const HugePools *pools,
                               const NodeSet *nodes, const HugeNeed *least) {
        HugeNeed need;

        sample_huge(placing->sampling, i, pools, true);
        need = huge_need_of_restart(&i->sampling.huge.need);
        if (least)
                huge_need_raise(&need, least);
        huge_room_add_others(placing, i, nodes, &need);
        return huge_pools_lack(pools, &placing->host->topology, &need, nodes, NULL);
}
