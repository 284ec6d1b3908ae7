/* The planner's input: the instances, where each is now, and what it is allowed. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/placing/place-input.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/instances.h"

/* Time for which the CPU time that an instance has used is not read again. */
#define CPUS_USED_USEC (UINT64_C(10) * 1000 * 1000)

void place_input_done(PlaceInput *input) {
        free(input->instances);
        free(input->entries);
        *input = (PlaceInput){ 0 };
}

PlannedUnit *place_find_unit(const Placing *placing, const char *name) {
        for (size_t i = 0; i < placing->n_units; i++)
                if (strcmp(placing->units[i]->name, name) == 0)
                        return placing->units[i];
        return NULL;
}

/* --- what the kernel shows --- */

static void read_allowed(const Placing *placing, Instance *i) {
        const Members members = instance_members(i, &placing->host->sysroot);
        /* Bound by affinity, it can have no more than its own group has. */
        const bool stays_in_its_group = i->policy->backend == POLICY_BACKEND_AFFINITY ||
                                        i->binding.ladder.rung == RUNG_AFFINITY;

        if (!i->planned.allowed_known)
                members_read_allowed(&members, stays_in_its_group, i->planned.allowed_by,
                                     &i->planned.allowed_cpus, &i->planned.allowed_nodes);
        i->planned.allowed_known = true;
}

static NodeSet adopt(const Placing *placing, const CpuSet *cpus, const CpuSet *allowed) {
        const NodeSet bound = placement_bound_nodes(&placing->host->topology, cpus, allowed);

        return placement_adopted_nodes(&bound, &placing->reserved);
}

/* Thread masks count for processes that ran before the daemon: the daemon has not bound a process
 * that has just started. */
static int read_cpus(const Placing *placing, const Instance *i, CpuSet *ret) {
        const Members members = instance_members(i, &placing->host->sysroot);

        return placing->host->ready ? members_read_unit_cpus(&members, ret)
                                    : members_read_cpus(&members, ret);
}

static NodeSet adopt_running(const Placing *placing, Instance *i) {
        const PlannedUnit *unit = i->unit ? place_find_unit(placing, i->unit) : NULL;
        CpuSet cpus;

        if (unit && unit->planned.known)
                return unit->planned.placement.nodes;
        return read_cpus(placing, i, &cpus) < 0 ? (NodeSet){ 0 }
                                                : adopt(placing, &cpus, &i->planned.allowed_cpus);
}

/* --- instances and units --- */

static uint64_t need_bytes(const Placing *placing, const Instance *i) {
        const InstanceSampling *s = &i->sampling;

        return fit_need_bytes(s->memory_known ? s->by_node : NULL, placing->host->topology.n_nodes,
                              s->limit_bytes);
}

/* Of others nothing depends on it: their memory nodes stay wide. */
static const HugeNeed *huge_need(const Placing *placing, Instance *i) {
        if (placing->pools.n == 0 || i->policy->memory != MEMORY_BIND)
                return NULL;
        sample_huge(placing->sampling, i, &placing->pools, false);
        return i->sampling.huge.known ? &i->sampling.huge.need : NULL;
}

/* Explicit nodes are not chosen among those that the admin has set on the unit, but reduced to
 * them. */
static bool is_explicit(const Instance *i) {
        const Place *place = &i->policy->place;

        return (!place->count_is_set && !id_set_is_empty(&place->nodes)) ||
               match_instance(i->policy, i->unit, i->ports, i->n_ports);
}

/* An average over its whole life changes slowly, and each start of any instance makes a plan of
 * all.
 */
static uint32_t cpus_used_by(const Placing *placing, Instance *i) {
        const Members members = instance_members(i, &placing->host->sysroot);
        const uint64_t now = clock_monotonic_usec();
        Assignment *p = &i->planned;

        if (now >= p->cpus_used_due_usec || p->cpus_used_changes != i->n_member_changes) {
                p->cpus_used = members_read_cpus_used(&members);
                p->cpus_used_due_usec = now + CPUS_USED_USEC;
                p->cpus_used_changes = i->n_member_changes;
        }
        return p->cpus_used;
}

void place_input_fill(const Placing *placing, Instance *i, PlacementInstance *ret) {
        Assignment *p = &i->planned;

        read_allowed(placing, i);
        *ret = (PlacementInstance){
                .name = i->name,
                .policy = i->policy,
                .unit = i->unit,
                .ports = i->ports,
                .n_ports = i->n_ports,
                .allowed_nodes = p->allowed_nodes,
                .allowed_cpus = p->allowed_cpus,
                .allowed_by = p->allowed_by,
                .device_nodes = p->device_nodes,
                .by_node = i->sampling.memory_known ? i->sampling.by_node : NULL,
                .need_bytes = need_bytes(placing, i),
                .exe = i->n_members > 0 ? i->members[0].process.exe : NULL,
                .huge = huge_need(placing, i),
                .cpus_used = cpus_used_by(placing, i),
        };
        if (!is_explicit(i)) {
                undo_add_admin_limits(placing->undo, i, &ret->allowed_cpus, &ret->allowed_nodes);
                if (!id_set_equal(&ret->allowed_cpus, &p->allowed_cpus) ||
                    !id_set_equal(&ret->allowed_nodes, &p->allowed_nodes))
                        ret->allowed_by = i->unit;
        }
        if (!p->again)
                ret->in_force = p->known ? p->placement.nodes : adopt_running(placing, i);
}

/* Two more reads of describe.c are made within it. */
#define STORAGE_USEC (UINT64_C(3) * 1000 * 1000)

bool place_awaits_storage(const Placing *placing, const Instance *i) {
        return i->policy->place.near == NEAR_STORAGE && !i->storage_known && !i->planned.known &&
               !is_explicit(i) && placing->roster->describe_timer &&
               clock_monotonic_usec() < i->first_seen_usec + STORAGE_USEC;
}

/* The place of a unit near its storage is known once the unit has run: the location of its data is
 * unknown before. */
static bool must_run_first(const Policy *policy, const PlannedUnit *u) {
        return policy->place.near == NEAR_STORAGE && !u->planned.known &&
               id_set_is_empty(&u->cpus.value) && id_set_is_empty(&policy->place.nodes) &&
               !match_instance(policy, u->name, NULL, 0);
}

static bool fill_unit(const Placing *placing, const PlannedUnit *u, PlacementInstance *ret) {
        const char *reason;
        const Policy *policy;
        CpuSet cpus;

        if (!u->known || !u->loaded || u->released || roster_has_unit(placing->roster, u->name))
                return false;
        policy =
                known_unit_policy(&placing->host->policies, u->name, u->uid_known, u->uid, &reason);
        if (!policy || must_run_first(policy, u))
                return false;
        *ret = (PlacementInstance){ .name = u->label,
                                    .policy = policy,
                                    .unit = u->name,
                                    .device_nodes = u->planned.device_nodes,
                                    .huge = u->huge_known ? &u->huge : NULL,
                                    .allowed_nodes = u->planned.allowed_nodes,
                                    .allowed_cpus = u->planned.allowed_cpus,
                                    .allowed_by = u->planned.allowed_by };
        if (u->planned.again)
                return true;
        if (u->planned.known)
                ret->in_force = u->planned.placement.nodes;
        else if (!id_set_is_empty(&u->cpus.value)) {
                id_set_convert(&u->cpus.value, &cpus);
                ret->in_force = adopt(placing, &cpus, &u->planned.allowed_cpus);
        } else { /* where its own start will put it */
                cpus = start_limits_cpus(&u->start, &placing->host->topology);
                ret->in_force = adopt(placing, &cpus, &u->planned.allowed_cpus);
        }
        return true;
}

int place_input_collect(Placing *placing, PlaceInput *ret) {
        const size_t n_max = placing->roster->n_instances + placing->n_units;
        PlaceInput in = { 0 };

        in.instances = calloc(n_max + 1, sizeof(*in.instances));
        in.entries = calloc(n_max + 1, sizeof(*in.entries));
        if (!in.instances || !in.entries) {
                place_input_done(&in);
                return -ENOMEM;
        }
        ROSTER_FOREACH(instance, placing->roster) {
                if (place_awaits_storage(placing, instance))
                        continue;
                place_input_fill(placing, instance, &in.instances[in.n]);
                in.entries[in.n++].instance = instance;
        }
        for (size_t i = 0; i < placing->n_units; i++)
                if (fill_unit(placing, placing->units[i], &in.instances[in.n]))
                        in.entries[in.n++].unit = placing->units[i];
        *ret = in;
        return 0;
}
