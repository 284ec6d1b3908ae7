/* The pools of reserved huge pages: a second kind of memory that a strict binding must have. The
 * first is in room.h. */
#pragma once

#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/model/memory.h"

/* The pools of this host, of a dump none. `ret` is empty. 0 or -ENOMEM. */
int huge_room_read(const Placing *placing, HugePools *ret);

/* Adds to `need` what other instances that are bound within these nodes may still touch. */
void huge_room_add_others(const Placing *placing, const Instance *self, const NodeSet *nodes,
                          HugeNeed *need);

/* Would the instance, bound to these nodes, be kept from pages that it has reserved? Reads its
 * mappings where they are not known or the pools have changed; where they cannot be read, all that
 * is reserved on the host may be its own. `ret` may be NULL. */
bool huge_room_lacks(const Placing *placing, Instance *instance, const HugePools *pools,
                     const NodeSet *nodes, HugeShortage *ret);

/* Would it, or its next start within these nodes, which are its place? `least` (may be NULL): what
 * it is expected to map at least. */
bool huge_room_lacks_for_start(const Placing *placing, Instance *instance, const HugePools *pools,
                               const NodeSet *nodes, const HugeNeed *least);
