#include "tidbnumad/daemon/units/unit-desired.h"
#include "tidbnumad/daemon/placing/huge-room.h"
#include "tidbnumad/daemon/placing/room.h"
#include "tidbnumad/daemon/undo/undo-release.h"
#include "tidbnumad/daemon/units/unit-start.h"

/* Without free memory the nodes are not set: the kernel would kill a process on a full node while
 * others are empty. */
static bool has_room(const Unit *u, const Placement *p) {
        const Units *units = u->units;
        _cleanup_free_ NodeRoom *rooms = NULL;
        size_t n_rooms;
        NodeSet mems;
        bool narrow;

        id_set_convert(&u->mems.value, &mems);
        narrow = u->mems.ours && id_set_equal(&mems, &p->nodes);
        return room_on(units->placing, &p->nodes, NULL, &rooms, &n_rooms) == 0 &&
               fit_check(rooms, n_rooms,
                         known_unit_room_bytes(&units->host->topology, &p->nodes, narrow), NULL);
}

static const char huge_unknown[] =
        "other nodes have reserved huge pages, and whether it maps some is not known before it has "
        "run: only its CPUs until then";
static const char huge_short[] =
        "its nodes have fewer free huge pages than it had reserved when it last ran, so its start "
        "would fail there: only its CPUs";

/* Inside nodes with too few of them a start that reserves huge pages fails (ENOMEM). NULL: it does
 * not. */
static const char *lacks_huge_pages(const Unit *u, const Placement *p, Reason *ret_code) {
        const Topology *topology = &u->units->host->topology;
        _cleanup_huge_pools_ HugePools pools = { 0 };
        HugeNeed need = u->place.huge;

        *ret_code = REASON_NONE;
        if (huge_room_read(u->units->placing, &pools) < 0)
                return huge_unknown;
        if (!u->place.huge_known)
                return huge_pools_have_elsewhere(&pools, topology, &p->nodes) ? huge_unknown : NULL;
        huge_room_add_others(u->units->placing, NULL, &p->nodes, &need);
        if (!huge_pools_lack(&pools, topology, &need, &p->nodes, NULL))
                return NULL;
        *ret_code = REASON_HUGE_POOL;
        return huge_short;
}

/* True if the unit's own files set the property: systemd writes a request into the drop-in
 * 50-AllowedCPUs.conf and merges the sets of all files of a unit. When it loads the unit again, as
 * it does for a unit without references, a later file such as the override.conf of `systemctl edit`
 * adds its own values. */
static bool sets_its_own(const Unit *u) {
        return !id_set_is_empty(known_property_own(&u->place.cpus)) ||
               !id_set_is_empty(known_property_own(&u->mems));
}

/* Inside other CPUs or nodes than its start asks for, numactl, CPUAffinity= and the like fail, and
 * the service with them. */
static void take_what_starts(const Unit *u, UnitDesired *w) {
        bool cpus_alone;
        CpuSet cpus;
        const char *why;

        id_set_convert(&w->cpus, &cpus);
        why = unit_start_refuses(u, &cpus, &w->mems, &cpus_alone);
        if (!why)
                return;
        w->reason = why;
        w->code = u->start_refused ? REASON_START_FAILED : REASON_START_LIMITS;
        w->mems = (NodeSet){ 0 };
        if (!cpus_alone)
                w->cpus = (CpuSet){ 0 };
}

UnitDesired unit_desired_make(const Unit *u) {
        Units *units = u->units;
        UnitDesired w = { 0 };
        Placement p;

        if (undo_release_is_asked(units->host, u->place.label, u->place.name)) {
                w.reason = "its release was requested";
                return w;
        }
        w.policy = known_unit_policy(&units->host->policies, u->place.name, u->place.uid_known,
                                     u->place.uid, &w.reason);
        if (!w.policy)
                return w;
        if (w.policy->backend == POLICY_BACKEND_AFFINITY || u->shared) {
                w.reason = u->shared ? "unrelated processes shared it when it last ran: its "
                                       "instance is bound by affinity when it runs"
                                     : "its policy sets `backend: affinity`: it is bound when it "
                                       "runs";
                return w;
        }
        if (!u->place.planned.known || u->place.planned.again)
                place_refresh(units->placing);
        if (!u->place.planned.known) {
                w.reason = "its policy places it near its data directory, which is known after it "
                           "has run once";
                return w;
        }
        p = u->place.planned.placement;
        w.reason = p.reason;
        if (id_set_is_empty(&p.nodes))
                return w;
        if (sets_its_own(u)) {
                w.reason = "it sets AllowedCPUs= or AllowedMemoryNodes= itself: it is bound within "
                           "these when it runs";
                return w;
        }
        w.cpus = p.cpus;
        if (p.memory != MEMORY_BIND) {
                take_what_starts(u, &w);
                return w;
        }
        w.reason = lacks_huge_pages(u, &p, &w.code);
        if (w.reason) {
                take_what_starts(u, &w);
                return w;
        }
        w.reason = p.reason;
        if (has_room(u, &p)) {
                w.mems = topology_memory_nodes(&units->host->topology);
                id_set_intersect(&w.mems, &p.nodes);
        } else {
                w.reason = "its nodes have too little room for a strict binding before it starts: "
                           "only its CPUs, until it runs and its memory is seen to fit";
        }
        take_what_starts(u, &w);
        return w;
}
