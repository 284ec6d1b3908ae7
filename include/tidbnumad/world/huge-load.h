/* Reserved huge pages: what the nodes have, and what processes have mapped. */
#pragma once

#include "tidbnumad/base/limits-of-others.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/sys/sysroot.h"
#include "tidbnumad/world/members.h"

/* The pools of the host; one without pages is left out, so that most hosts have none. `ret` is
 * empty or done before. 0 or -ENOMEM. */
int huge_pools_load(const Sysroot *sysroot, const Topology *topology, HugePools *ret);

/* A file that is mapped shared, or, with 0 for device and inode, all private mappings of one page
 * size together. */
typedef struct HugeMapping {
        uint64_t device, inode;
        uint64_t page_bytes, n_mapped;
        uint64_t n_touched; /* by this process; of a shared file others may have touched more */
        uint64_t n_inside;  /* of n_touched, on the requested nodes */
} HugeMapping;

/* What a process has mapped, or an instance. */
typedef struct HugeMaps {
        HugeMapping list[HUGE_MAPPINGS_MAX];
        size_t n;
        bool partial; /* there is more, which is not known */
} HugeMaps;

/* Reads the maps of a process, and asks where pages of these mappings are, of no others: how many
 * are on `nodes`. -ESRCH: gone. */
int huge_maps_read(const Sysroot *sysroot, const ProcHandle *handle, const NodeSet *nodes,
                   HugeMaps *ret);

/* Private mappings of several processes add up, a shared file is the same for all. */
void huge_maps_merge(HugeMaps *all, const HugeMaps *more);

/* No more can be touched of a shared file than is reserved on the host, and no less is to be
 * expected than that of what is not known. */
HugeNeed huge_maps_need(const HugeMaps *maps, const HugePools *pools);

/* All processes of the instance that are read (MEMBERS_ASKED_MAX), each by `read`; what cannot be
 * read makes it partial. 0; -ESRCH: all of them are gone; -ENOMEM, -ETIME, -EBUSY of `read`: ask
 * again later. */
typedef int (*HugeMapsRead)(const Member *member, const NodeSet *nodes, void *userdata,
                            HugeMaps *ret);
int members_collect_huge_maps(const Members *members, const NodeSet *nodes, HugeMapsRead read,
                              void *userdata, HugeMaps *ret);

/* The same in this process. */
int members_read_huge_maps(const Members *members, const NodeSet *nodes, HugeMaps *ret);
