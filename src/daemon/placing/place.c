/* The plan in force: when it is made, and its effects. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/placing/huge-room.h"
#include "tidbnumad/daemon/placing/place-input.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/sampling/sampling.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/world/memory.h"

/* --- units --- */

int place_add_unit(Placing *placing, PlannedUnit *unit) {
        size_t i = 0;

        while (i < placing->n_units && strcmp(placing->units[i]->name, unit->name) < 0)
                i++;
        return ARRAY_INSERT(placing->units, placing->n_units, placing->units_allocated, i, &unit);
}

void place_remove_unit(Placing *placing, PlannedUnit *unit) {
        for (size_t i = placing->n_units; i > 0; i--)
                if (placing->units[i - 1] == unit)
                        ARRAY_REMOVE(placing->units, placing->n_units, i - 1);
}

bool place_take_change(Assignment *planned) {
        const bool changed = planned->changed;

        planned->changed = false;
        return changed;
}

/* --- effects of a plan --- */

static void log_warnings(const Placing *placing, const char *name, const Policy *policy,
                         const PlacementChoice *c, uint32_t before) {
        const JournalFields fields = { .instance = name, .policy = policy->name };
        char nodes[ID_SET_LIST_MAX];

        (void)id_set_render_list(&c->placement.nodes, nodes, sizeof(nodes));
        for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS; bit++) {
                const PlacementWarning w = (PlacementWarning)(1u << bit);
                const char *rule = placement_warning_to_rule(w);

                if (c->warnings & ~before & w)
                        journal_log(&placing->host->journal, LOG_NOTICE, &fields,
                                    "%s on node %s: %s%s%s%s", name, nodes,
                                    placement_warning_to_string(w), *rule ? " (" : "", rule,
                                    *rule ? ")" : "");
        }
}

static bool is_same(const Placement *a, const Placement *b) {
        return id_set_equal(&a->nodes, &b->nodes) && id_set_equal(&a->cpus, &b->cpus) &&
               a->memory == b->memory && a->reason == b->reason;
}

static void note_refusal(const PlacementInstance *in, const PlacementChoice *c, Assignment *p) {
        const PlacementLimit limit = { in->allowed_by, in->allowed_cpus, in->allowed_nodes };
        _cleanup_text_ Text text = { 0 };

        placement_refusal_append(c->refusal, &limit, &text);
        (void)snprintf(p->refused, sizeof(p->refused), "%s",
                       text.error == 0 && text.data ? text.data : "");
}

/* True: the place has changed. */
static bool note(const Placing *placing, Assignment *p, const PlacementInstance *in,
                 const PlacementChoice *c) {
        const bool changed = !p->known || !is_same(&p->placement, &c->placement);

        log_warnings(placing, in->name, in->policy, c, p->known ? p->warnings : 0);
        p->placement = c->placement;
        /* "Kept" would hide why the instance was placed there. */
        if (c->basis != BASIS_KEPT || !p->known)
                p->basis = c->basis;
        p->refusal = c->refusal;
        note_refusal(in, c, p);
        p->warnings = c->warnings;
        p->known = true;
        p->again = false;
        return changed;
}

/* The place of a unit's instance is also that of the unit's next start. */
static void copy_to_unit(const Placing *placing, const Instance *i) {
        PlannedUnit *unit = i->unit ? place_find_unit(placing, i->unit) : NULL;

        if (!unit)
                return;
        unit->planned = i->planned;
        unit->planned.changed = false; /* the instance acts on it */
}

static void carry(Placing *placing, const PlaceInput *in, const PlacementPlan *plan) {
        for (size_t k = 0; k < in->n; k++) {
                const PlaceEntry *e = &in->entries[k];
                Assignment *p = e->instance ? &e->instance->planned : &e->unit->planned;

                p->changed |= note(placing, p, &in->instances[k], &plan->choices[k]);
                if (e->instance)
                        copy_to_unit(placing, e->instance);
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

static uint64_t held_on(const Placing *placing, size_t node) {
        uint64_t bytes = 0;

        ROSTER_FOREACH(i, placing->roster)
                if (i->sampling.memory_known)
                        bytes += node_memory_held(&i->sampling.by_node[node]);
        return bytes;
}

static void read_room(Placing *placing) {
        const Host *h = placing->host;
        _cleanup_free_ NodeUse *uses = NULL;

        huge_pools_done(&placing->pools);
        (void)huge_room_read(placing, &placing->pools);

        placing->left_known =
                h->high_watermark_bytes &&
                node_use_load(&h->sysroot, &h->topology, h->high_watermark_bytes, &uses) >= 0;
        for (size_t k = 0; placing->left_known && k < h->topology.n_nodes; k++)
                placing->left_bytes[k] = fit_left_bytes(&uses[k], held_on(placing, k));
}

static int refresh(Placing *placing) {
        _cleanup_place_input_ PlaceInput in = { 0 };
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        PlacementInput input;
        int r;

        if (!(placing->host->marks & HOST_MARK_PLAN))
                return 0;
        ROSTER_FOREACH(i, placing->roster)
                sample_observe(placing->sampling, i);
        read_room(placing);
        input = input_of(placing, &placing->host->policies);
        placing->reserved = placement_reserved(&input);
        placing->reserved_cpus = placement_reserved_cpus(&input);
        r = place_input_collect(placing, &in);
        if (r < 0)
                return r;
        input.instances = in.instances;
        input.n_instances = in.n;
        r = placement_plan_build(&input, &plan);
        if (r < 0)
                return r;
        (void)host_take_mark(placing->host, HOST_MARK_PLAN);
        carry(placing, &in, &plan);
        host_mark(placing->host, HOST_MARK_OWNERS);
        host_mark(placing->host, HOST_MARK_PUBLISH);
        return 0;
}

void place_refresh(Placing *placing) {
        (void)refresh(placing); /* it stays marked, and is tried with the next pass */
}

static int plan_alone(const Placing *placing, Instance *i) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        PlacementInput input = input_of(placing, &placing->host->policies);
        PlacementInstance in;
        int r;

        place_input_fill(placing, i, &in);
        input.instances = &in;
        input.n_instances = 1;
        r = placement_plan_build(&input, &plan);
        if (r >= 0)
                i->planned.changed |= note(placing, &i->planned, &in, &plan.choices[0]);
        host_mark(placing->host, HOST_MARK_OWNERS);
        return r;
}

int place_ensure(Placing *placing, Instance *i) {
        int r;

        if (i->planned.known && !i->planned.again && placing->host->ready)
                return 0; /* others come and go without moving it */
        if (place_awaits_storage(placing, i))
                return -EAGAIN;
        if (!i->planned.known)
                host_mark(placing->host, HOST_MARK_PLAN); /* the last plan may have left it out */
        if (placing->host->ready && placement_is_explicit(i->policy, i->unit, i->ports, i->n_ports))
                r = plan_alone(placing, i);
        else
                r = refresh(placing);
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
static bool weighs_anew(const Policy *before, const PolicySet *fresh, const Assignment *planned,
                        const NodeSet *newly_reserved) {
        return placement_weighs_again(before, before ? policy_set_find(fresh, before->name) : NULL,
                                      &planned->placement.nodes, newly_reserved);
}

size_t place_replan(Placing *placing, const WordList *globs) {
        size_t n = 0;

        ROSTER_FOREACH(i, placing->roster)
                if (word_list_names(globs, i->name, i->unit)) {
                        i->planned.again = true;
                        n++;
                }
        for (size_t i = 0; i < placing->n_units; i++) {
                PlannedUnit *u = placing->units[i];

                if (word_list_names(globs, u->label, u->name)) {
                        u->planned.again = true;
                        n++;
                }
        }
        if (n > 0)
                host_mark(placing->host, HOST_MARK_PLAN);
        return n;
}

void place_note_policies(Placing *placing, const PolicySet *fresh) {
        const PlacementInput before = input_of(placing, &placing->host->policies),
                             after = input_of(placing, fresh);
        const NodeSet reserved = placement_reserved(&before);
        NodeSet newly = placement_reserved(&after);

        id_set_subtract(&newly, &reserved);
        ROSTER_FOREACH(instance, placing->roster) {
                instance->planned.again |=
                        weighs_anew(instance->policy, fresh, &instance->planned, &newly);
        }
        for (size_t i = 0; i < placing->n_units; i++) {
                PlannedUnit *u = placing->units[i];
                const char *reason;

                u->planned.again |= weighs_anew(known_unit_policy(&placing->host->policies, u->name,
                                                                  u->uid_known, u->uid, &reason),
                                                fresh, &u->planned, &newly);
        }
        host_mark(placing->host, HOST_MARK_PLAN);
}

/* What the groups above allow was read while other CPUs were there. Of a unit that does not run it
 * cannot be read again: what has come is allowed, unless its next start shows that it is not. */
void place_note_topology(Placing *placing) {
        ROSTER_FOREACH(i, placing->roster)
                i->planned.allowed_known = false;
        for (size_t i = 0; i < placing->n_units; i++) {
                CpuSet *allowed = &placing->units[i]->planned.allowed_cpus;

                if (!id_set_is_empty(allowed))
                        id_set_union(allowed, &placing->host->hotplug.come);
        }
}

void place_note_backend(const Placing *placing, Instance *i) {
        i->planned.allowed_known = false;
        host_mark(placing->host, HOST_MARK_PLAN);
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
        host_mark(placing->host, HOST_MARK_PLAN);
}
