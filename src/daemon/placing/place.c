/* The plan in force: what it is made from, when it is made, and its effects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/daemon/undo/undoing.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/memory.h"

/* Time for which the CPU time that an instance has used is not read again. */
#define CPUS_USED_USEC (UINT64_C(10) * 1000 * 1000)

/* Whom an entry of the planner's input is for. */
typedef struct PlaceEntry {
        Instance *instance; /* or */
        PlannedUnit *unit;
} PlaceEntry;

static PlannedUnit *place_find_unit(const Placing *placing, const char *name) {
        for (size_t i = 0; i < placing->n_units; i++)
                if (strcmp(placing->units[i]->name, name) == 0)
                        return placing->units[i];
        return NULL;
}

/* --- what the kernel shows --- */

static void read_allowed(const Placing *placing, Instance *i) {
        const Members members = facts_members(&i->facts, &placing->host->sysroot);

        if (!i->planned.allowed_known)
                members_read_allowed(&members,
                                     bind_method_stays_in_group(i->binding.means.method, i->policy),
                                     i->allowed_by, &i->allowed_cpus, &i->allowed_nodes);
        i->planned.allowed_known = true;
}

static NodeSet adopt(const Placing *placing, const CpuSet *cpus, const CpuSet *allowed) {
        const NodeSet bound = placement_bound_nodes(&placing->host->topology, cpus, allowed);

        return placement_adopted_nodes(&bound, &placing->reserved);
}

/* --- instances and units --- */

/* Explicit nodes are not chosen among those that the admin has set on the unit, but reduced to
 * them. */
static bool is_explicit(const Instance *i) {
        return placement_is_explicit(i->policy, i->unit, i->ports, i->n_ports);
}

/* Does its cpuset overrule its own memory policy? A process outside of a service may get none.
 * Where what its start asks for is known, bind_refuses() decides, except on nodes that may be
 * others. */
static bool binds_memory(const Placing *placing, const Instance *i) {
        const PlannedUnit *unit = i->unit ? place_find_unit(placing, i->unit) : NULL;
        const BindMethod method = i->binding.means.method;

        if (unit && unit->start.source != START_NOTHING && (is_explicit(i) || !unit->start.unknown))
                return true;
        return bind_method_binds_memory(method, i->policy) &&
               instance_backend(i, &placing->host->backend) != BACKEND_AFFINITY &&
               (method != METHOD_NONE || instance_is_service(i));
}

void place_input_fill(const Placing *placing, Instance *i, PlacementInstance *ret) {
        const Members members = facts_members(&i->facts, &placing->host->sysroot);
        const UndoRecord *limit = undo_limit_of(i);
        const uint64_t now = clock_monotonic_usec();
        Assignment *p = &i->planned;
        const PlannedUnit *unit;
        CpuSet cpus;
        int r;

        read_allowed(placing, i);
        /* An average over its whole life changes slowly, and each start of any instance makes a
         * plan of all. */
        if (now >= p->cpus_used_due_usec || p->cpus_used_changes != i->n_member_changes) {
                i->cpus_used = members_read_cpus_used(&members);
                p->cpus_used_due_usec = now + CPUS_USED_USEC;
                p->cpus_used_changes = i->n_member_changes;
        }
        if (placing->pools.n > 0 && i->policy->memory == MEMORY_BIND)
                sample_huge(placing->sampling, i, &placing->pools, false);
        *ret = placement_instance_of(
                &i->facts, &placing->host->topology,
                undo_record_is_ours(limit, UNIT_LIMIT, UNIT_BYTES(&i->limit_bytes)));
        if (binds_memory(placing, i))
                ret->own_nodes = (NodeSet){ 0 };
        if (!is_explicit(i)) {
                undo_add_admin_limits(placing->undo, i, &ret->allowed_cpus, &ret->allowed_nodes);
                if (!id_set_equal(&ret->allowed_cpus, &i->allowed_cpus) ||
                    !id_set_equal(&ret->allowed_nodes, &i->allowed_nodes))
                        ret->allowed_by = i->unit;
        }
        if (p->again)
                return;
        if (p->known) {
                ret->in_force = p->placement.nodes;
                return;
        }
        unit = i->unit ? place_find_unit(placing, i->unit) : NULL;
        if (unit && unit->planned.known) {
                ret->in_force = unit->planned.placement.nodes;
                return;
        }
        /* Thread masks count for processes that ran before the daemon: the daemon has not bound a
         * process that has just started. */
        r = placing->host->ready ? members_read_unit_cpus(&members, &cpus)
                                 : members_read_cpus(&members, &cpus);
        if (r >= 0)
                ret->in_force = adopt(placing, &cpus, &i->allowed_cpus);
}

/* Two more reads of describe.c are made within it. */
#define FACTS_USEC (UINT64_C(3) * 1000 * 1000)

/* Is its place still to follow from a disk that is being looked for, or from its memory policy? For
 * seconds at most: on a busy host a process may not answer at once, and would be bound, and its
 * memory moved, twice. */
static bool place_awaits_facts(const Placing *placing, const Instance *i) {
        return ((i->policy->place.near == NEAR_STORAGE && !i->storage_known) ||
                i->memory_policy_awaited) &&
               !i->planned.known && !is_explicit(i) && placing->registry->describe_timer &&
               clock_monotonic_usec() < i->first_seen_usec + FACTS_USEC;
}

static bool place_input_fill_unit(const Placing *placing, PlannedUnit *u, PlacementInstance *ret) {
        const char *reason;
        const Policy *policy;
        CpuSet cpus;

        if (!u->known || !u->loaded || u->released || registry_has_unit(placing->registry, u->name))
                return false;
        policy = known_unit_policy(&placing->host->policies, u->name, u->uid_known, u->uid,
                                   u->container, &reason);
        if (!policy)
                return false;
        /* The place of a unit near its storage is known once the unit has run: the location of its
         * data is unknown before. */
        if (policy->place.near == NEAR_STORAGE && !u->planned.known &&
            id_set_is_empty(&u->now[UNIT_CPUS]) && id_set_is_empty(&policy->place.nodes) &&
            !match_instance(policy, u->name, NULL, 0))
                return false;
        u->facts.name = u->label;
        u->facts.unit = u->name;
        u->facts.policy = policy;
        *ret = placement_instance_of(&u->facts, &placing->host->topology, false);
        if (u->planned.again)
                return true;
        id_set_convert(&u->now[UNIT_CPUS], &cpus);
        if (id_set_is_empty(&cpus)) /* where its own start will put it */
                cpus = start_limits_cpus(&u->start, &placing->host->topology);
        ret->in_force = u->planned.known ? u->planned.placement.nodes
                                         : adopt(placing, &cpus, &u->facts.allowed_cpus);
        return true;
}

/* --- units --- */

int place_add_unit(Placing *placing, PlannedUnit *unit) {
        size_t i = 0;

        while (i < placing->n_units && strcmp(placing->units[i]->name, unit->name) < 0)
                i++;
        return ARRAY_INSERT(placing->units, placing->n_units, placing->units_allocated, i, &unit);
}

void place_remove_unit(Placing *placing, PlannedUnit *unit) {
        ARRAY_DROP(placing->units, placing->n_units, unit);
}

/* --- effects of a plan --- */

void place_end(Instance *i) {
        free(i->planned.refused);
        i->planned.refused = NULL;
}

static void assignment_note_refusal(Instance *i, const PlacementInstance *in,
                                    const PlacementChoice *c) {
        _cleanup_text_ Text text = { 0 };

        place_end(i);
        if (c->refusal == REFUSAL_NONE)
                return;
        placement_refusal_append(c->refusal, in, &text);
        i->planned.refused = text.error == 0 ? TAKE_PTR(text.data) : NULL;
}

/* True: the place has changed. */
static bool assignment_take(const Placing *placing, Assignment *p, const PlacementInstance *in,
                            const PlacementChoice *c) {
        const JournalFields fields = { .instance = in->name, .policy = in->policy->name };
        const Placement *before = &p->placement, *now = &c->placement;
        const bool changed = !p->known || !id_set_equal(&before->nodes, &now->nodes) ||
                             !id_set_equal(&before->cpus, &now->cpus) ||
                             before->memory != now->memory || before->reason != now->reason;
        const uint32_t new_warnings = c->warnings & ~(p->known ? p->warnings : 0);

        for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS; bit++) {
                const PlacementWarning w = (PlacementWarning)(1u << bit);
                const char *rule = placement_warning_to_rule(w);

                if (new_warnings & w)
                        journal_log(&placing->host->journal, LOG_NOTICE, &fields,
                                    "%s on node %s: %s%s%s%s", in->name, id_set_list(&now->nodes),
                                    placement_warning_to_string(w), *rule ? " (" : "", rule,
                                    *rule ? ")" : "");
        }
        p->placement = *now;
        /* "Kept" would hide why the instance was placed there. */
        if (c->basis != BASIS_KEPT || !p->known)
                p->basis = c->basis;
        p->refusal = c->refusal;
        p->warnings = c->warnings;
        if (!p->known)
                p->device_nodes = in->device_nodes;
        p->known = true;
        p->again = false;
        return changed;
}

/* `entries` has an entry for each instance of the input. */
static void plan_carry_out(Placing *placing, const PlacementInput *in, const PlaceEntry *entries,
                           const PlacementPlan *plan) {
        const Host *h = placing->host;
        /* Of each node, as the guard keeps it free. NULL: not known, or there is no memory. */
        _cleanup_free_ uint64_t *headrooms =
                h->high_watermark_bytes ? calloc(h->topology.n_nodes, sizeof(*headrooms)) : NULL;
        bool may_rise = true;

        for (size_t n = 0; headrooms && n < h->topology.n_nodes; n++)
                headrooms[n] = fit_headroom_bytes(h->topology.nodes[n].memory_bytes,
                                                  h->high_watermark_bytes[n]);
        /* An instance that awaits its facts is in no plan, and has its part of a node again in a
         * moment, as after a restart: nobody's limit rises meanwhile, for a server that starts then
         * would size itself by it. */
        REGISTRY_FOREACH(i, placing->registry)
        may_rise = may_rise && !place_awaits_facts(placing, i);
        for (size_t k = 0; k < in->n_instances; k++) {
                const PlaceEntry *e = &entries[k];
                Assignment *p = e->instance ? &e->instance->planned : &e->unit->planned;
                const uint64_t limit = limit_wanted_bytes(&h->topology, headrooms, in->instances,
                                                          plan->choices, in->n_instances, k);
                PlannedUnit *unit;
                bool changed = assignment_take(placing, p, &in->instances[k], &plan->choices[k]);

                if (may_rise || limit < p->limit_bytes || p->limit_bytes == 0) {
                        changed |= p->limit_bytes != limit;
                        p->limit_bytes = limit;
                }
                if (!e->instance) {
                        e->unit->replanned |= changed;
                        continue;
                }
                if (changed)
                        instance_queue(e->instance, WORK_PLACE);
                assignment_note_refusal(e->instance, &in->instances[k], &plan->choices[k]);
                /* The place of a unit's instance is also that of the unit's next start, and so is
                 * what it was made from. */
                unit = e->instance->unit ? place_find_unit(placing, e->instance->unit) : NULL;
                if (!unit)
                        continue;
                unit->planned = *p;
                unit->planned.refused = NULL;
                unit->replanned = false; /* the instance acts on it */
                unit->facts.storage_nodes = e->instance->storage_nodes;
                unit->facts.allowed_cpus = e->instance->allowed_cpus;
                unit->facts.allowed_nodes = e->instance->allowed_nodes;
                (void)strcpy(unit->facts.allowed_by, e->instance->allowed_by);
        }
}

/* The planner's input without the instances. */
static PlacementInput input_of(const Placing *placing, const PolicySet *policies) {
        PlacementInput input = placement_input_of(&placing->host->topology, &policies->host,
                                                  &placing->host->devices);

        input.free_bytes = placing->left_known ? placing->left_bytes : NULL;
        input.pools = &placing->pools;
        return input;
}

int place_refresh(Placing *placing) {
        const size_t n_max = placing->registry->n_instances + placing->n_units;
        _cleanup_free_ PlacementInstance *instances = NULL;
        _cleanup_free_ PlaceEntry *entries = NULL;
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        _cleanup_free_ NodeUse *uses = NULL;
        const Host *h = placing->host;
        PlacementInput input;
        size_t n = 0;
        int r;

        if (!(placing->host->queued & HOST_WORK_PLAN))
                return 0;
        REGISTRY_FOREACH(i, placing->registry)
        sample_observe(placing->sampling, i);
        huge_pools_done(&placing->pools);
        (void)huge_room_read(placing, &placing->pools);
        input = input_of(placing, &placing->host->policies);
        placing->reserved = placement_reserved(&input);
        placing->reserved_cpus = placement_reserved_cpus(&input);
        instances = calloc(n_max + 1, sizeof(*instances));
        entries = calloc(n_max + 1, sizeof(*entries));
        if (!instances || !entries)
                return -ENOMEM;
        /* Everything that is planned, but for instances that await their facts. */
        REGISTRY_FOREACH(instance, placing->registry) {
                if (place_awaits_facts(placing, instance))
                        continue;
                place_input_fill(placing, instance, &instances[n]);
                entries[n++].instance = instance;
        }
        for (size_t i = 0; i < placing->n_units; i++)
                if (place_input_fill_unit(placing, placing->units[i], &instances[n]))
                        entries[n++].unit = placing->units[i];
        placing->left_known =
                h->high_watermark_bytes &&
                node_use_load(&h->sysroot, &h->topology, h->high_watermark_bytes, &uses) >= 0;
        if (placing->left_known)
                placement_fill_free(&h->topology, uses, instances, n, placing->left_bytes);
        input.free_bytes = placing->left_known ? placing->left_bytes : NULL;
        input.instances = instances;
        input.n_instances = n;
        r = placement_plan_build(&input, &plan);
        if (r < 0)
                return r;
        (void)host_take(placing->host, HOST_WORK_PLAN);
        plan_carry_out(placing, &input, entries, &plan);
        host_queue(placing->host, HOST_WORK_OWNERS);
        host_queue(placing->host, HOST_WORK_PUBLISH);
        return 0;
}

int place_ensure(Placing *placing, Instance *i) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        PlacementInput input;
        PlacementInstance in;
        int r;

        if (i->planned.known && !i->planned.again && placing->host->ready)
                return 0; /* others come and go without moving it */
        if (place_awaits_facts(placing, i))
                return -EAGAIN;
        if (!i->planned.known)
                host_queue(placing->host, HOST_WORK_PLAN); /* the last plan may have left it out */
        if (placing->host->ready && is_explicit(i)) {
                input = input_of(placing, &placing->host->policies);
                place_input_fill(placing, i, &in);
                input.instances = &in;
                input.n_instances = 1;
                r = placement_plan_build(&input, &plan);
                if (r >= 0) {
                        if (assignment_take(placing, &i->planned, &in, &plan.choices[0]))
                                instance_queue(i, WORK_PLACE);
                        assignment_note_refusal(i, &in, &plan.choices[0]);
                }
                host_queue(placing->host, HOST_WORK_OWNERS);
        } else {
                r = place_refresh(placing);
        }
        return i->planned.known ? 0 : r < 0 ? r : -ESRCH;
}

bool place_start_cpus(const Placing *placing, const Policy *policy, CpuSet *ret) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        PlacementInput input = input_of(placing, &placing->host->policies);
        PlacementInstance in = { .name = policy->name, .policy = policy };

        input.instances = &in;
        input.n_instances = 1;
        if (policy->n_instances > 0 || !placement_is_explicit(policy, NULL, NULL, 0) ||
            placement_plan_build(&input, &plan) < 0 ||
            id_set_is_empty(&plan.choices[0].placement.nodes))
                return false;
        *ret = plan.choices[0].placement.cpus;
        return !id_set_is_empty(ret);
}

/* --- what it is made from --- */

/* True: `planned` is of a policy that changes so that its place is chosen again. */
static bool assignment_weighs_anew(const Policy *before, const PolicySet *fresh,
                                   const Assignment *planned, const NodeSet *newly_reserved) {
        return placement_weighs_again(before, before ? policy_set_find(fresh, before->name) : NULL,
                                      &planned->placement.nodes, newly_reserved);
}

void place_replan(Placing *placing, const WordList *globs) {
        REGISTRY_FOREACH(i, placing->registry)
        i->planned.again |= word_list_names(globs, i->name, i->unit);
        for (size_t i = 0; i < placing->n_units; i++) {
                PlannedUnit *u = placing->units[i];

                u->planned.again |= word_list_names(globs, u->label, u->name);
        }
        host_queue(placing->host, HOST_WORK_PLAN);
}

static void place_weigh_anew(Placing *placing, const PolicySet *fresh, const NodeSet *before) {
        const PlacementInput after = input_of(placing, fresh);
        NodeSet newly = placement_reserved(&after);

        id_set_subtract(&newly, before);
        REGISTRY_FOREACH(instance, placing->registry) {
                instance->planned.again |=
                        assignment_weighs_anew(instance->policy, fresh, &instance->planned, &newly);
        }
        for (size_t i = 0; i < placing->n_units; i++) {
                PlannedUnit *u = placing->units[i];
                const char *reason;

                u->planned.again |= assignment_weighs_anew(
                        known_unit_policy(&placing->host->policies, u->name, u->uid_known, u->uid,
                                          u->container, &reason),
                        fresh, &u->planned, &newly);
        }
        host_queue(placing->host, HOST_WORK_PLAN);
}

void place_note_policies(Placing *placing, const PolicySet *fresh) {
        const PlacementInput before = input_of(placing, &placing->host->policies);
        const NodeSet reserved = placement_reserved(&before);

        place_weigh_anew(placing, fresh, &reserved);
}

void place_note_cards(Placing *placing) {
        place_weigh_anew(placing, &placing->host->policies, &placing->reserved);
}

void place_look_for_room(Placing *placing) {
        REGISTRY_FOREACH(i, placing->registry) {
                const CpuSet cpus = i->allowed_cpus;
                const NodeSet nodes = i->allowed_nodes;

                if ((i->planned.refusal == REFUSAL_NONE &&
                     i->binding.step.code != REASON_SLICE_TOO_TIGHT &&
                     i->binding.failure_code != REASON_SLICE_TOO_TIGHT) ||
                    !i->planned.allowed_known)
                        continue;
                i->planned.allowed_known = false;
                read_allowed(placing, i);
                if (id_set_equal(&cpus, &i->allowed_cpus) &&
                    id_set_equal(&nodes, &i->allowed_nodes))
                        continue;
                i->planned.again = true;
                host_queue(placing->host, HOST_WORK_PLAN);
        }
}

/* What the groups above allow was read while other CPUs were there. Of a unit that does not run it
 * cannot be read again: what has come is allowed, unless its next start shows that it is not. */
void place_note_topology(Placing *placing) {
        REGISTRY_FOREACH(i, placing->registry)
        i->planned.allowed_known = false;
        for (size_t i = 0; i < placing->n_units; i++) {
                CpuSet *allowed = &placing->units[i]->facts.allowed_cpus;
                NodeSet *nodes = &placing->units[i]->facts.allowed_nodes;

                if (!id_set_is_empty(allowed))
                        id_set_union(allowed, &placing->host->hotplug.come);
                if (!id_set_is_empty(nodes))
                        id_set_union(nodes, &placing->host->hotplug.memory_come);
        }
}

void place_note_backend(const Placing *placing, Instance *i) {
        i->planned.allowed_known = false;
        host_queue(placing->host, HOST_WORK_PLAN);
}

void place_note_devices(const Placing *placing, Instance *i) {
        const NodeSet *nodes = &i->storage_nodes;
        Assignment *p = &i->planned;

        if (id_set_equal(&p->device_nodes, nodes))
                return;
        /* The instance was placed before its devices were known: it has just started, so it is
         * moved now and not later. An instance that was found bound stays. */
        if (p->known && id_set_is_empty(&p->device_nodes) && p->basis == BASIS_CHOSEN &&
            i->policy->place.near == NEAR_STORAGE)
                p->again = true;
        p->device_nodes = *nodes;
        host_queue(placing->host, HOST_WORK_PLAN);
}
