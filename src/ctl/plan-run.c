/* A plan made for a command. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/change/scope.h"
#include "tidbnumad/ctl/plan-run.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/plan/irq.h"
#include "tidbnumad/plan/limit.h"
#include "tidbnumad/plan/state.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/world/instances.h"
#include "tidbnumad/world/irq-load.h"
#include "tidbnumad/world/memory.h"

void plan_run_done(PlanRun *planned) {
        placement_plan_done(&planned->plan);
        for (size_t i = 0; i < planned->n_notes; i++)
                free(planned->notes[i]);
        free(planned->notes);
        free(planned->instances);
        free(planned->free_bytes);
        huge_pools_done(&planned->pools);
        free(planned->means);
        free(planned->rows);
        *planned = (PlanRun){ 0 };
}

int plan_run_add_note(PlanRun *planned, const char *format, ...) {
        char *note;
        va_list args;
        int n;

        if (ARRAY_RESERVE(planned->notes, planned->notes_allocated, planned->n_notes + 1) < 0)
                return -ENOMEM;
        va_start(args, format);
        n = vasprintf(&note, format, args);
        va_end(args);
        if (n < 0)
                return -ENOMEM;
        planned->notes[planned->n_notes++] = note;
        planned->report.notes = (const char *const *)planned->notes;
        planned->report.n_notes = planned->n_notes;
        return 0;
}

static const InstanceInfo *published_of(const PlanRunFrom *from, const char *name) {
        return from->status ? status_file_find(from->status, name) : NULL;
}

/* The daemon's method; without a daemon, the one that it would choose (binding/method.c), except
 * for limits that only systemd knows. */
static BindMeans means_of(const PlanRunFrom *from, const HostInstance *o) {
        const InstanceInfo *published = published_of(from, o->name);
        const BackendTarget target = { .instance = o->name,
                                       .unit = o->unit,
                                       .members = o->members,
                                       .n_members = o->n_members };
        const char *weaker;
        BackendKind host;
        BindMethodInput in;

        for (BindMethod method = METHOD_UNIT;
             published && published->bound_by && method <= METHOD_AFFINITY; method++)
                if (strcmp(published->bound_by, bind_method_to_string(method)) == 0)
                        return (BindMeans){ .method = method, .why = published->bound_by_reason };
        host = machine_backend(from->machine, from->policies->backend, from->status, &weaker);
        in = bind_method_input_of(&o->facts, !o->shared, host, weaker);
        if (bind_method_needs_scope(&in))
                in.no_scope = scope_refuses(&from->machine->sysroot, &target, &in.no_scope_code);
        return bind_means_choose(&in);
}

static NodeSet bound_nodes(const PlanRunFrom *from, const HostInstance *o) {
        return placement_bound_nodes(&from->machine->topology, &o->cpus, &o->allowed_cpus);
}

/* A limit that the daemon has set because of its place is not what it needs. */
static bool limit_is_ours(const PlanRunFrom *from, const HostInstance *o) {
        const InstanceInfo *published = o->n_members > 0 ? published_of(from, o->name) : NULL;

        return published && published->memory_limit_bytes == o->limit_bytes;
}

static PlacementInstance input_of(const PlanRunFrom *from, const BindMeans *means,
                                  HostInstance *o) {
        const Topology *topology = &from->machine->topology;
        const Members members = facts_members(&o->facts, &from->machine->sysroot);
        PlacementInstance input;

        if (o->n_members > 0 && from->machine->runs)
                members_read_allowed(&members, bind_method_stays_in_group(means->method, o->policy),
                                     o->allowed_by, &o->allowed_cpus, &o->allowed_nodes);
        input = placement_instance_of(&o->facts, topology, limit_is_ours(from, o));
        input.in_force = o->n_members > 0 ? bound_nodes(from, o) : o->in_force;
        return input;
}

/* NULL: the free memory of the machine is not known. */
static int read_free(const PlanRunFrom *from, PlanRun *p) {
        const Topology *topology = &from->machine->topology;
        _cleanup_free_ uint64_t *watermarks = NULL;
        _cleanup_free_ NodeUse *uses = NULL;
        int r;

        if (!from->machine->runs || from->whole_memory)
                return 0;
        r = node_watermarks_load(&from->machine->sysroot, topology, &watermarks);
        if (r >= 0)
                r = node_use_load(&from->machine->sysroot, topology, watermarks, &uses);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        p->free_bytes = calloc(topology->n_nodes + 1, sizeof(*p->free_bytes));
        if (!p->free_bytes)
                return -ENOMEM;
        placement_fill_free(topology, uses, p->instances, from->instances->n_instances,
                            p->free_bytes);
        return 0;
}

/* The instance whose place is the daemon's; NULL: it is computed. */
static const InstanceInfo *daemons_of(const PlanRunFrom *from, const PlacementInstance *in) {
        return from->daemons && !word_list_names(&from->replan, in->name, in->unit)
                       ? published_of(from, in->name)
                       : NULL;
}

/* The daemon's place in the place of a computed one. What it may have, and what speaks for it, was
 * computed for its place, unless that is none that would be kept. */
static void take_daemons(const InstanceInfo *published, const NodeSet *reserved,
                         PlacementChoice *c) {
        if (!id_set_equal(&c->placement.nodes, &published->nodes)) {
                c->grounds = (PlacementGrounds){ .outdone = true };
                c->n_alternatives = 0;
        }
        c->refusal = published->refusal;
        c->placement.nodes = published->nodes;
        c->placement.cpus = published->cpus;
        c->placement.memory = published->memory;
        c->basis = published->basis;
        c->warnings = published->warnings;
        c->reserved = id_set_and(&published->nodes, reserved);
}

static void fill_running(const PlanRunFrom *from, const HostInstance *r, const BindMeans *means,
                         const PlacementInstance *in, PlanReportInstance *row) {
        const InstanceInfo *daemons = daemons_of(from, in);

        row->published = published_of(from, r->name);
        row->pid = r->members[0].process.id.pid;
        row->bound_by = bind_method_to_string(means->method);
        row->bound_by_reason = means->why;
        /* The daemon's verdict, if there is one: with CPUs of one node only, or on a machine of one
         * node, the nodes of the threads do not show whether an instance is bound. */
        row->in_force = row->published && row->published->cpu_bound ? row->published->nodes
                                                                    : bound_nodes(from, r);
        if (r->memory_known && !id_set_is_empty(&row->choice->placement.nodes)) {
                row->cost_known = true;
                row->cost_bytes = residency_outside(&from->machine->topology, r->by_node,
                                                    &row->choice->placement.nodes)
                                          .anon_bytes;
        }
        row->memory_policy = r->memory_policy;
        row->bound =
                plan_report_places(row) &&
                (daemons ? daemons->cpu_bound
                         : row->choice->basis == BASIS_KEPT &&
                                   id_set_equal(&row->in_force, &row->choice->placement.nodes));
        if (daemons && !plan_report_places(row))
                row->unplaced =
                        *daemons->reason ? daemons->reason : "the daemon has not placed it yet";
}

static void fill_rows(const PlanRunFrom *from, PlanRun *p) {
        for (size_t i = 0; i < p->plan.n_choices; i++) {
                const HostInstance *o = &from->instances->instances[i];
                const PlacementInstance *input = &p->instances[i];
                PlanReportInstance *row = &p->rows[i];

                *row = (PlanReportInstance){ .in = input,
                                             .choice = &p->plan.choices[i],
                                             .storage = o->storage };
                if (o->n_members > 0)
                        fill_running(from, o, &p->means[i], input, row);
        }
}

static int note_disks(const HostInstances *list, PlanRun *p) {
        _cleanup_text_ Text text = { 0 };

        for (size_t i = 0; i < list->n_instances; i++)
                if (list->instances[i].in_turn)
                        text_appendf(&text, "%s %s on %s", text.length > 0 ? "," : "",
                                     list->instances[i].name, list->instances[i].storage);
        if (text.error < 0)
                return text.error;
        return text.length == 0 ? 0
                                : plan_run_add_note(
                                          p,
                                          "imagined instances near storage get the machine's disks "
                                          "in turn:%s; COUNT:POLICY@DISK chooses one",
                                          text.data);
}

/* Keeps the places of the former policies as far as the daemon would. */
static void keep_former(const PlanRunFrom *from, const NodeSet *reserved, PlanRun *p) {
        NodeSet newly = *reserved;

        id_set_subtract(&newly, &from->before->plan.reserved);
        for (size_t i = 0; i < from->instances->n_instances; i++) {
                PlacementInstance *in = &p->instances[i];
                const PlanReportInstance *row = plan_run_find(from->before, in->name);

                if (!row || !plan_report_places(row))
                        continue;
                in->in_force = row->choice->placement.nodes;
                in->unbound = false;
                if (placement_weighs_again(row->in->policy, in->policy, &in->in_force, &newly))
                        in->in_force = (NodeSet){ 0 };
        }
}

static int plan(const PlanRunFrom *from, PlanRun *p) {
        PlacementInput input = placement_input_of(&from->machine->topology, &from->policies->host,
                                                  &from->machine->devices);
        const NodeSet reserved = placement_reserved(&input);
        int r;

        input.free_bytes = p->free_bytes;
        input.pools = &p->pools;
        input.instances = p->instances;
        input.n_instances = from->instances->n_instances;
        input.explain = true;
        for (size_t i = 0; i < from->instances->n_instances; i++) {
                PlacementInstance *in = &p->instances[i];

                const InstanceInfo *daemons = daemons_of(from, in);

                in->in_force = placement_adopted_nodes(&in->in_force, &reserved);
                if (word_list_names(&from->replan, in->name, in->unit))
                        in->in_force = (NodeSet){ 0 };
                if (daemons) {
                        const Policy *policy = policy_set_find(from->policies, daemons->policy);

                        in->policy = policy ? policy : in->policy;
                        in->in_force = daemons->nodes;
                        in->unbound = !daemons->cpu_bound;
                }
        }
        if (from->before)
                keep_former(from, &reserved, p);
        r = placement_plan_build(&input, &p->plan);
        if (r < 0)
                return r;
        for (size_t i = 0; i < from->instances->n_instances; i++) {
                const InstanceInfo *daemons = daemons_of(from, &p->instances[i]);

                if (daemons)
                        take_daemons(daemons, &p->plan.reserved, &p->plan.choices[i]);
        }
        fill_rows(from, p);
        p->report = (PlanReport){ .source = from->machine->title,
                                  .topology = &from->machine->topology,
                                  .devices = &from->machine->devices,
                                  .free_bytes = p->free_bytes,
                                  .reserved = p->plan.reserved,
                                  .reserved_cpus = p->plan.reserved_cpus,
                                  .nic_nodes = input.nic_nodes,
                                  .instances = p->rows,
                                  .n_instances = p->plan.n_choices,
                                  .daemon_runs = from->status,
                                  .score = p->plan.score };
        return note_disks(from->instances, p);
}

int plan_run_build(const PlanRunFrom *from, PlanRun *ret) {
        const size_t n = from->instances->n_instances;
        int r;

        *ret = (PlanRun){ 0 };
        ret->instances = calloc(n + 1, sizeof(*ret->instances));
        ret->means = calloc(n + 1, sizeof(*ret->means));
        ret->rows = calloc(n + 1, sizeof(*ret->rows));
        r = ret->instances && ret->means && ret->rows ? 0 : -ENOMEM;
        if (r >= 0 && from->machine->runs && !from->whole_memory)
                r = huge_pools_load(&from->machine->sysroot, &from->machine->topology, &ret->pools);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                HostInstance *o = &from->instances->instances[i];

                if (o->n_members > 0)
                        ret->means[i] = means_of(from, o);
                ret->instances[i] = input_of(from, &ret->means[i], o);
        }
        if (r >= 0)
                r = read_free(from, ret);
        if (r >= 0)
                r = plan(from, ret);
        if (r < 0)
                plan_run_done(ret);
        return r;
}

bool plan_run_has_refusal(const PlanRun *planned) {
        for (size_t i = 0; i < planned->report.n_instances; i++)
                if (planned->rows[i].choice->refusal != REFUSAL_NONE &&
                    planned->rows[i].choice->refusal != REFUSAL_WATCH_ONLY)
                        return true;
        return false;
}

uint64_t plan_run_memory_limit(const PlanRun *planned, const Topology *topology,
                               const HostInstances *list, size_t i) {
        const InstanceInfo *published = planned->rows[i].published;

        if (list->instances[i].n_members == 0)
                return limit_wanted_bytes(topology, NULL, planned->instances, planned->plan.choices,
                                          planned->plan.n_choices, i);
        if (!published || published->memory_limit_state == LIMIT_NONE)
                return list->instances[i].limit_bytes;
        switch (published->memory_limit_state) {
        case LIMIT_SET:
        case LIMIT_LIFTED:
                return published->memory_limit_bytes;
        case LIMIT_NEXT_START: /* it has taken its sizes without */
                return 0;
        default:
                return list->instances[i].limit_bytes;
        }
}

const PlanReportInstance *plan_run_find(const PlanRun *planned, const char *name) {
        for (size_t i = 0; i < planned->report.n_instances; i++)
                if (strcmp(planned->rows[i].in->name, name) == 0)
                        return &planned->rows[i];
        return NULL;
}

static void append_means(const PlanReportInstance *row, Text *text) {
        if (id_set_is_empty(&row->choice->placement.nodes) || !row->bound_by || !*row->bound_by)
                return;
        text_appendf(text, "; by %s%s", row->bound_by, row->bound_by_reason ? ", because " : "");
        text_append_printable(text, row->bound_by_reason ? row->bound_by_reason : "");
}

void plan_run_append_now(const PlanRun *planned, const PlanReportInstance *row, Text *text) {
        const InstanceInfo *now = row->published;

        if (now) {
                text_appendf(text, "%s (CPUs %s, memory %s)", instance_state_to_string(now->state),
                             now->cpu_bound ? "bound" : "not bound",
                             verdict_memory_word(row->choice->placement.memory, now->memory_bound));
                text_append(text, *now->reason ? ": " : "");
                text_append_printable(text, now->reason);
                append_means(row, text);
        } else if (planned->report.daemon_runs)
                text_append(text, "the daemon does not list it");
        else {
                text_append(text, "no daemon runs");
                if (!id_set_is_empty(&row->in_force)) {
                        text_append(text, "; its threads may run on ");
                        plan_words_nodes(&row->in_force, text);
                        text_append(text, " only");
                }
        }
}

static void add_change(PlanChange *changes, size_t *n, const PlanChange *change) {
        if (!id_set_equal(&change->from, &change->to))
                changes[(*n)++] = *change;
}

int plan_run_compare(const PlanRun *before, const PlanRun *after, PlanChange **ret, size_t *ret_n) {
        const size_t n_before = before ? before->report.n_instances : 0;
        PlanChange *changes = calloc(n_before + after->report.n_instances + 1, sizeof(*changes));
        size_t n = 0;

        if (!changes)
                return -ENOMEM;
        for (size_t i = 0; i < after->report.n_instances; i++) {
                const PlanReportInstance *row = &after->rows[i];
                const PlanReportInstance *former =
                        before ? plan_run_find(before, row->in->name) : NULL;
                PlanChange change = { .name = row->in->name, .before = former, .after = row };

                change.to = row->choice->placement.nodes;
                if (former)
                        change.from = former->choice->placement.nodes;
                else if (!before)
                        change.from = row->in_force;
                add_change(changes, &n, &change);
        }
        for (size_t i = 0; i < n_before; i++) {
                const PlanReportInstance *row = &before->rows[i];
                PlanChange change = { .name = row->in->name, .before = row };

                change.from = row->choice->placement.nodes;
                if (!plan_run_find(after, row->in->name))
                        add_change(changes, &n, &change);
        }
        *ret = changes;
        *ret_n = n;
        return 0;
}

/* --- interrupts --- */

void plan_run_irq_done(PlanRunIrq *irq) {
        irq_plan_done(&irq->plan);
        irq_host_done(&irq->host);
        *irq = (PlanRunIrq){ 0 };
}

int plan_run_irq_build(const Machine *machine, const PolicySet *policies, const PlanRun *planned,
                       PlanRunIrq *ret) {
        _cleanup_free_ IrqOwner *owners = calloc(planned->report.n_instances + 1, sizeof(*owners));
        IrqPlanInput input = { .topology = &machine->topology,
                               .host = &ret->host,
                               .policies = policies->irqs,
                               .n_policies = policies->n_irqs,
                               .reserved = planned->report.reserved,
                               .reserved_cpus = planned->report.reserved_cpus,
                               .owners = owners };
        int r;

        *ret = (PlanRunIrq){ 0 };
        if (!owners)
                return -ENOMEM;
        if (policies->n_irqs == 0 || !machine->runs)
                return 0;
        /* An instance owns the CPUs of its planned place, not those on which it runs now. */
        for (size_t i = 0; i < planned->report.n_instances; i++) {
                const PlanReportInstance *row = &planned->rows[i];

                if (plan_report_places(row))
                        owners[input.n_owners++] =
                                (IrqOwner){ .name = row->in->name,
                                            .cpus = row->choice->placement.cpus,
                                            .shared =
                                                    row->in->policy->place.share == SHARE_SHARED };
        }
        r = irq_host_load(&machine->sysroot, policies->irqs, policies->n_irqs, &ret->host);
        if (r >= 0)
                r = irq_plan_build(&input, &ret->plan);
        if (r < 0)
                plan_run_irq_done(ret);
        ret->planned = r >= 0;
        return r;
}
