/* The plan in force: when it is made, and what follows from it. */
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/daemon/placing/place-input.h"
#include "tidbnumad/daemon/placing/place.h"
#include "tidbnumad/daemon/sampling/sample.h"
#include "tidbnumad/observe/node-use.h"
#include "tidbnumad/plan/fit.h"
#include "tidbnumad/sys/clock.h"

void place_decide_units(Manager *m) {
        for (size_t i = 0; i < m->units.n_units; i++) {
                Unit *u = m->units.units[i];

                if (u->planned.changed)
                        unit_decide(u);
                u->planned.changed = false;
        }
}

/* --- what a plan brings --- */

static void say_warnings(const Manager *m, const char *name, const Policy *policy,
                         const PlacementChoice *c, uint32_t before) {
        const JournalFields fields = { .instance = name, .policy = policy->name };
        char nodes[ID_SET_LIST_MAX];

        (void)id_set_render_list(&c->placement.nodes, nodes, sizeof(nodes));
        for (unsigned bit = 0; bit < N_PLACEMENT_WARNINGS; bit++) {
                const PlacementWarning w = (PlacementWarning)(1u << bit);
                const char *rule = placement_warning_to_rule(w);

                if (c->warnings & ~before & w)
                        journal_log(&m->host.journal, LOG_NOTICE, &fields,
                                    "%s on node %s: %s%s%s%s", name, nodes,
                                    placement_warning_to_string(w), *rule ? " (" : "", rule,
                                    *rule ? ")" : "");
        }
}

static bool is_same(const Placement *a, const Placement *b) {
        return id_set_equal(&a->nodes, &b->nodes) && id_set_equal(&a->cpus, &b->cpus) &&
               a->memory == b->memory && a->reason == b->reason;
}

/* True: it is another place. */
static bool note(const Manager *m, Planned *p, const PlacementInstance *in,
                 const PlacementChoice *c) {
        const bool changed = !p->known || !is_same(&p->placement, &c->placement);

        say_warnings(m, in->name, in->policy, c, p->known ? p->warnings : 0);
        p->placement = c->placement;
        /* That it was kept says nothing about why it came there. */
        if (c->basis != BASIS_KEPT || !p->known)
                p->basis = c->basis;
        p->refusal = c->refusal;
        p->warnings = c->warnings;
        p->known = true;
        p->again = false;
        return changed;
}

/* What a unit's instance has learned holds for its next start. */
static void teach_unit(const Manager *m, const Instance *i) {
        for (size_t k = 0; i->unit && k < m->units.n_units; k++)
                if (strcmp(m->units.units[k]->name, i->unit) == 0)
                        m->units.units[k]->planned = i->planned;
}

static void carry(Manager *m, const PlaceInput *in, const PlacementPlan *plan) {
        const uint64_t now = clock_monotonic_usec();

        for (size_t k = 0; k < in->n; k++) {
                const PlaceEntry *e = &in->entries[k];
                Planned *p = e->instance ? &e->instance->planned : &e->unit->planned;
                const bool changed = note(m, p, &in->instances[k], &plan->choices[k]);

                if (e->unit) {
                        p->changed |= changed;
                        continue;
                }
                teach_unit(m, e->instance);
                if (changed && now < e->instance->binding.due_usec && !e->instance->binding.call)
                        e->instance->binding.due_usec = now;
        }
}

/* All but the instances. */
static PlacementInput input_of(const Manager *m, const PolicySet *policies) {
        const WordList *cards = &policies->host.reserve.devices;

        return (PlacementInput){
                .topology = &m->host.topology,
                .host = &policies->host,
                .nic_nodes = device_nic_nodes(&m->host.devices, (const char *const *)cards->words,
                                              cards->n_words),
                .free_bytes = m->placing.left_known ? m->placing.left_bytes : NULL,
        };
}

static uint64_t held_on(const Manager *m, size_t node) {
        uint64_t bytes = 0;

        for (size_t i = 0; i < m->roster.n_instances; i++)
                if (m->roster.instances[i]->sampling.memory_known)
                        bytes += node_memory_held(&m->roster.instances[i]->sampling.by_node[node]);
        return bytes;
}

static void read_room(Manager *m) {
        const Host *h = &m->host;
        _cleanup_free_ NodeUse *uses = NULL;

        m->placing.left_known =
                h->high_watermark_bytes &&
                node_use_load(&h->sysroot, &h->topology, h->high_watermark_bytes, &uses) >= 0;
        for (size_t k = 0; m->placing.left_known && k < h->topology.n_nodes; k++)
                m->placing.left_bytes[k] = fit_left_bytes(&uses[k], held_on(m, k));
}

void place_refresh(Manager *m) {
        _cleanup_place_input_ PlaceInput in = { 0 };
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        PlacementInput input;

        if (!(m->host.marks & HOST_MARK_PLAN))
                return;
        for (size_t i = 0; i < m->roster.n_instances; i++)
                sample_observe(&m->sampling, m->roster.instances[i]);
        read_room(m);
        input = input_of(m, &m->host.policies);
        m->placing.reserved = placement_reserved(&input);
        if (place_input_collect(m, &in) < 0)
                return;
        input.instances = in.instances;
        input.n_instances = in.n;
        if (placement_plan_build(&input, &plan) < 0)
                return;
        (void)host_take_mark(&m->host, HOST_MARK_PLAN);
        carry(m, &in, &plan);
        host_mark(&m->host, HOST_MARK_OWNERS);
        host_mark(&m->host, HOST_MARK_PUBLISH);
}

static void plan_alone(Instance *i) {
        _cleanup_placement_plan_ PlacementPlan plan = { 0 };
        PlacementInput input = input_of(i->manager, &i->manager->host.policies);
        PlacementInstance in;

        place_input_fill(i, &in);
        input.instances = &in;
        input.n_instances = 1;
        if (placement_plan_build(&input, &plan) >= 0)
                (void)note(i->manager, &i->planned, &in, &plan.choices[0]);
        host_mark(&i->manager->host, HOST_MARK_OWNERS);
}

void place_ensure(Instance *i) {
        const Manager *m = i->manager;

        if (i->planned.known && !i->planned.again && m->host.ready)
                return; /* others come and go without moving it */
        if (m->host.ready && placement_is_explicit(i->policy, i->unit, i->ports, i->n_ports))
                plan_alone(i);
        else
                place_refresh(i->manager);
}

/* --- what it is made from --- */

static const Policy *find_policy(const PolicySet *set, const char *name) {
        for (size_t i = 0; i < set->n_policies; i++)
                if (strcmp(set->policies[i].name, name) == 0)
                        return &set->policies[i];
        return NULL;
}

/* True: `planned` is of a policy that changes so that its place is weighed anew. */
static bool weighs_anew(const Policy *before, const PolicySet *fresh, const Planned *planned,
                        const NodeSet *newly_reserved) {
        return placement_weighs_anew(before, before ? find_policy(fresh, before->name) : NULL,
                                     &planned->placement.nodes, newly_reserved);
}

void place_note_policies(Manager *m, const PolicySet *fresh) {
        const PlacementInput before = input_of(m, &m->host.policies), after = input_of(m, fresh);
        const NodeSet reserved = placement_reserved(&before);
        NodeSet newly = placement_reserved(&after);

        id_set_subtract(&newly, &reserved);
        for (size_t i = 0; i < m->roster.n_instances; i++) {
                Instance *instance = m->roster.instances[i];

                instance->planned.again |=
                        weighs_anew(instance->policy, fresh, &instance->planned, &newly);
        }
        for (size_t i = 0; i < m->units.n_units; i++) {
                Unit *u = m->units.units[i];
                const char *reason;

                u->planned.again |= weighs_anew(known_unit_policy(&m->host.policies, u->name,
                                                                  u->uid_known, u->uid, &reason),
                                                fresh, &u->planned, &newly);
        }
        host_mark(&m->host, HOST_MARK_PLAN);
}

/* What the groups above allow was read while other CPUs were there. Of a unit that does not run it
 * cannot be read again: what has come is allowed, unless its next start shows that it is not. */
void place_note_topology(Manager *m) {
        for (size_t i = 0; i < m->roster.n_instances; i++)
                m->roster.instances[i]->planned.allowed_known = false;
        for (size_t i = 0; i < m->units.n_units; i++) {
                CpuSet *allowed = &m->units.units[i]->planned.allowed_cpus;

                if (!id_set_is_empty(allowed))
                        id_set_union(allowed, &m->host.hotplug.come);
        }
}

void place_note_devices(Instance *i, const NodeSet *nodes) {
        Planned *p = &i->planned;

        if (id_set_equal(&p->device_nodes, nodes))
                return;
        /* It was placed while nobody knew: it is young, and moves now rather than later. Where it
         * was found bound, it stays. */
        if (p->known && id_set_is_empty(&p->device_nodes) && p->basis == BASIS_CHOSEN &&
            i->policy->place.near == NEAR_STORAGE)
                p->again = true;
        p->device_nodes = *nodes;
        host_mark(&i->manager->host, HOST_MARK_PLAN);
}
