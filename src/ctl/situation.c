/* Policies, instances and plan of a command. What the daemon has in force comes from what it
 * publishes; all else is computed as the daemon does it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "tidbnumad/base/text.h"
#include "tidbnumad/change/scope.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/plan/guard.h"
#include "tidbnumad/plan/irq.h"
#include "tidbnumad/plan/limit.h"
#include "tidbnumad/plan/start-limits.h"
#include "tidbnumad/plan/state.h"
#include "tidbnumad/publish/plan-text.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/world/irq-load.h"

void situation_done(Situation *s) {
        for (size_t i = 0; s->servers && i < s->report.n_instances; i++) {
                server_report_done(&s->servers[i].said);
                server_report_done(&s->servers[i].given);
        }
        free(s->servers);
        irq_plan_done(&s->irq_plan);
        irq_host_done(&s->irqs);
        word_list_done(&s->report.notes);
        free(s->report.instances);
        huge_pools_done(&s->pools);
        free(s->free_bytes);
        placement_plan_done(&s->plan);
        free(s->inputs);
        host_instances_done(&s->ignored);
        host_instances_done(&s->instances);
        policies_done(&s->loaded);
        *s = (Situation){ 0 };
}

void situation_note(Situation *s, const char *format, ...) {
        _cleanup_text_ Text note = { 0 };
        va_list args;

        va_start(args, format);
        text_appendv(&note, format, args);
        va_end(args);
        must(word_list_add(&s->report.notes, must_text(&note)));
}

/* --- policies and instances --- */

/* Uses the default policies where none exist: for another machine this host's folders are ignored,
 * and a user who imagines instances on a host without policies wants to see their effect. */
static int load_policies(Situation *s, Error *error) {
        const bool named = s->policy_path || s->args->policy_is_set;
        Policies *p = &s->loaded;
        int r;

        s->policies = p;
        if (!named && !s->machine->live)
                return policies_load_defaults(s->machine, NULL, p);
        r = s->policy_path    ? policies_load_path(s->policy_path, s->machine, p)
            : s->daemons_plan ? policies_load_in_force(s->args, s->machine, p)
                              : policies_load(s->args, s->machine, p);
        if (r == -EINVAL)
                return policies_refuse(p, NULL, error);
        if (r < 0 || named || !s->args->instances || !policies_are_built_in(p))
                return r;
        policies_done(p);
        return policies_load_defaults(s->machine, NULL, p);
}

/* --- the plan --- */

static const InstanceInfo *published_of(const Situation *s, const char *name) {
        const Snapshot *status = machine_daemon(s->machine);

        return status ? status_file_find(status, name) : NULL;
}

/* The instance whose place is the daemon's; NULL: it is computed. */
static const InstanceInfo *daemons_of(const Situation *s, const PlacementInstance *in) {
        return s->daemons_plan && !word_list_names(&s->replan, in->name, in->unit)
                       ? published_of(s, in->name)
                       : NULL;
}

/* The daemon's method; without a daemon, the one that it would choose (binding/reconcile.c), except
 * for limits that only systemd knows. */
static BindMeans bind_means_of(const Situation *s, const HostInstance *o,
                               const InstanceInfo *published) {
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
        host = machine_backend(s->machine, s->policies->set.backend, &weaker);
        in = bind_method_input_of(&o->facts, !o->shared, host, weaker);
        if (bind_method_needs_scope(&in))
                in.no_scope = scope_refuses(&s->machine->sysroot, &target, &in.no_scope_code);
        return bind_means_choose(&in);
}

/* What is known of an instance that runs, and the planner's input. */
static PlacementInstance observe_instance(const Situation *s, HostInstance *o,
                                          PlanReportInstance *row) {
        const Topology *topology = &s->machine->topology;
        const Members members = facts_members(&o->facts, &s->machine->sysroot);
        PlacementInstance input;
        BindMeans means;

        row->storage = o->storage;
        if (o->n_members == 0) {
                input = placement_instance_of(&o->facts, topology, false);
                input.in_force = o->in_force;
                input.pinned = !id_set_is_empty(&o->in_force);
                return input;
        }
        row->published = published_of(s, o->name);
        means = bind_means_of(s, o, row->published);
        row->bound_by = bind_method_to_string(means.method);
        row->bound_by_reason = means.why;
        row->memory_policy = o->memory_policy;
        row->pid = o->members[0].process.id.pid;
        if (s->machine->runs)
                members_read_allowed(&members, bind_method_stays_in_group(means.method, o->policy),
                                     o->allowed_by, &o->allowed_cpus, &o->allowed_nodes);
        /* A limit that the daemon has set because of its place is not what it needs. */
        input = placement_instance_of(&o->facts, topology,
                                      row->published &&
                                              row->published->memory_limit_bytes == o->limit_bytes);
        if (bind_method_binds_memory(means.method, o->policy))
                input.own_nodes = (NodeSet){ 0 };
        input.in_force = placement_bound_nodes(topology, &o->cpus, &o->allowed_cpus);
        /* The daemon's verdict, if there is one: with CPUs of one node only, or on a machine of one
         * node, the nodes of the threads do not show whether an instance is bound. */
        row->in_force = row->published && row->published->cpu_bound ? row->published->nodes
                                                                    : input.in_force;
        return input;
}

static void read_free_memory(Situation *s) {
        const Sysroot *sysroot = &s->machine->sysroot;
        const Topology *topology = &s->machine->topology;
        _cleanup_free_ uint64_t *watermarks = NULL;
        _cleanup_free_ NodeUse *uses = NULL;

        must(huge_pools_load(sysroot, topology, &s->pools));
        must(node_watermarks_load(sysroot, topology, &watermarks));
        if (must(node_use_load(sysroot, topology, watermarks, &uses)) < 0)
                return;
        s->free_bytes = must_have(calloc(topology->n_nodes + 1, sizeof(*s->free_bytes)));
        placement_fill_free(topology, uses, s->inputs, s->instances.n_instances, s->free_bytes);
}

/* What is in force for the planner: what the instance is bound to. With the daemon's plan, its
 * place there; with former policies, its place by these, if the daemon would keep it; nothing, if a
 * new place is asked for. */
static void set_in_force(const Situation *s, const NodeSet *reserved, PlacementInstance *in) {
        const InstanceInfo *daemons = daemons_of(s, in);
        const PlanReportInstance *former = s->before ? situation_find(s->before, in->name) : NULL;
        NodeSet newly;

        if (!in->pinned)
                in->in_force = placement_adopted_nodes(&in->in_force, reserved);
        if (word_list_names(&s->replan, in->name, in->unit))
                in->in_force = (NodeSet){ 0 };
        if (daemons) {
                const Policy *policy = policy_set_find(&s->policies->set, daemons->policy);

                in->policy = policy ? policy : in->policy;
                in->in_force = daemons->nodes;
                in->unbound = !daemons->cpu_bound;
        }
        if (!former || !plan_report_places(former))
                return;
        in->in_force = former->choice->placement.nodes;
        in->unbound = false;
        newly = id_set_minus(reserved, &s->before->plan.reserved);
        if (placement_weighs_again(former->in->policy, in->policy, &in->in_force, &newly))
                in->in_force = (NodeSet){ 0 };
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
        c->placement.reason = placement_refusal_to_string(published->refusal);
        c->placement.nodes = published->nodes;
        c->placement.cpus = published->cpus;
        c->placement.memory = published->memory;
        c->basis = published->basis;
        c->warnings = published->warnings;
        c->reserved = id_set_and(&published->nodes, reserved);
}

void situation_plan(Situation *s) {
        const size_t n = s->instances.n_instances;
        _cleanup_text_ Text disks = { 0 };
        PlacementInput input;
        NodeSet reserved;

        s->inputs = must_have(calloc(n + 1, sizeof(*s->inputs)));
        s->report.instances = must_have(calloc(n + 1, sizeof(*s->report.instances)));
        for (size_t i = 0; i < n; i++) {
                HostInstance *o = &s->instances.instances[i];

                s->inputs[i] = observe_instance(s, o, &s->report.instances[i]);
                if (o->in_turn)
                        text_appendf(&disks, "%s %s on %s", disks.length > 0 ? "," : "", o->name,
                                     o->storage);
        }
        if (s->machine->runs && !s->whole_memory)
                read_free_memory(s);
        input = placement_input_of(&s->machine->topology, &s->policies->set.host,
                                   &s->machine->devices);
        reserved = placement_reserved(&input);
        for (size_t i = 0; i < n; i++)
                set_in_force(s, &reserved, &s->inputs[i]);
        input.free_bytes = s->free_bytes;
        input.pools = &s->pools;
        input.instances = s->inputs;
        input.n_instances = n;
        input.explain = true;
        must(placement_plan_build(&input, &s->plan));
        for (size_t i = 0; i < n; i++) {
                const InstanceInfo *daemons = daemons_of(s, &s->inputs[i]);
                const HostInstance *o = &s->instances.instances[i];
                const NodeSet *nodes = &s->plan.choices[i].placement.nodes;
                PlanReportInstance *row = &s->report.instances[i];
                bool places;

                if (daemons)
                        take_daemons(daemons, &s->plan.reserved, &s->plan.choices[i]);
                row->in = &s->inputs[i];
                row->choice = &s->plan.choices[i];
                if (row->pid == 0)
                        continue;
                places = plan_report_places(row);
                row->cost_known = places && o->memory_known;
                if (row->cost_known)
                        row->cost_bytes =
                                residency_outside(&s->machine->topology, o->by_node, nodes)
                                        .anon_bytes;
                row->bound = places && (daemons ? daemons->cpu_bound
                                                : row->choice->basis == BASIS_KEPT &&
                                                          id_set_equal(&row->in_force, nodes));
                if (daemons && !places)
                        row->unplaced = *daemons->reason ? daemons->reason
                                                         : "the daemon has not placed it yet";
        }
        s->report.source = s->machine->title;
        s->report.topology = &s->machine->topology;
        s->report.devices = &s->machine->devices;
        s->report.free_bytes = s->free_bytes;
        s->report.reserved = s->plan.reserved;
        s->report.reserved_cpus = s->plan.reserved_cpus;
        s->report.nic_nodes = input.nic_nodes;
        s->report.n_instances = n;
        s->report.score = s->plan.score;
        s->report.daemon_runs = machine_daemon(s->machine);
        if (disks.length > 0)
                situation_note(
                        s,
                        "imagined instances near storage get the machine's disks in turn:%s; "
                        "COUNT:POLICY@DISK chooses one",
                        must_text(&disks));
}

int situation_plan_irqs(Situation *s) {
        const PolicySet *set = &s->policies->set;
        _cleanup_free_ IrqOwner *owners =
                must_have(calloc(s->report.n_instances + 1, sizeof(*owners)));
        IrqPlanInput input = { .topology = &s->machine->topology,
                               .host = &s->irqs,
                               .policies = set->irqs,
                               .n_policies = set->n_irqs,
                               .reserved = s->report.reserved,
                               .reserved_cpus = s->report.reserved_cpus,
                               .owners = owners };
        int r;

        if (set->n_irqs == 0 || !s->machine->runs)
                return 0;
        /* An instance owns the CPUs of its planned place, not those on which it runs now. */
        for (size_t i = 0; i < s->report.n_instances; i++) {
                const PlanReportInstance *row = &s->report.instances[i];

                if (plan_report_places(row))
                        owners[input.n_owners++] =
                                (IrqOwner){ .name = row->in->name,
                                            .cpus = row->choice->placement.cpus,
                                            .shared =
                                                    row->in->policy->place.share == SHARE_SHARED };
        }
        r = irq_host_load(&s->machine->sysroot, set->irqs, set->n_irqs, &s->irqs);
        if (r >= 0)
                r = irq_plan_build(&input, &s->irq_plan);
        s->irqs_planned = r >= 0;
        return r;
}

/* --- notes --- */

/* The daemon's plan is by the files as they were when it read them. A file that came, left or was
 * written since then has changed its own time of change (ctime), or that of its folder. */
static void note_changed(Situation *s) {
        const Args *args = s->args;
        const char *changed = NULL;
        struct stat st;

        for (size_t i = 0; i < args->n_policy_dirs + s->policies->files.n_files; i++) {
                const char *path = i < args->n_policy_dirs
                                           ? args->policy_dirs[i]
                                           : s->policies->files.files[i - args->n_policy_dirs].path;

                if (stat(path, &st) >= 0 &&
                    (double)st.st_ctim.tv_sec + (double)st.st_ctim.tv_nsec / 1e9 >
                            s->machine->status.policy_load_seconds)
                        changed = path;
        }
        if (changed)
                situation_note(s,
                               "%s has changed since the daemon read it, and this plan is by what "
                               "it read; tidbnumactl reload applies the change",
                               changed);
        else if (!s->machine->status.policy_load_success)
                situation_note(s, "the policy files are refused, and this plan is by the policies "
                                  "in force; tidbnumactl validate shows the errors");
}

static void note_instances(Situation *s) {
        const size_t denied = s->instances.n_denied, reported = s->instances.n_reported,
                     ignored = s->ignored.n_instances;
        const Snapshot *status = machine_daemon(s->machine);
        const double now = clock_realtime_seconds();
        const PolicySet *set = &s->policies->set;
        _cleanup_text_ Text unknown = { 0 }, idle = { 0 }, of = { 0 };
        size_t n_idle = 0;

        /* Imagined instances have no user; the daemon counts those of each user. */
        for (size_t i = 0; i < set->n_policies && !s->runs; i++) {
                const Policy *policy = &set->policies[i];
                const size_t n = host_instances_count(&s->instances, policy);

                if (n > policy->max_instances)
                        situation_note(s,
                                       "policy %s has %zu imagined instances; the daemon places at "
                                       "most %" PRIu32 " of one user (policies[].max_instances)",
                                       policy->name, n, policy->max_instances);
        }
        if (ignored > 0)
                situation_note(s,
                               "%zu instance%s ignored: the policy has max_instances of the "
                               "same user already; tidbnumactl explain PID names the policy, "
                               "policies[].max_instances raises the limit",
                               ignored, ignored == 1 ? " is" : "s are");
        /* An ordinary user may not follow the path of a data directory, so that near: storage does
         * not count for its instance. */
        if (s->runs && s->machine->live && geteuid() != 0)
                for (size_t i = 0; i < s->instances.n_instances; i++) {
                        const HostInstance *o = &s->instances.instances[i];

                        if (o->policy->place.near == NEAR_STORAGE && !o->storage)
                                text_appendf(&unknown, "%s%s", unknown.length > 0 ? ", " : "",
                                             o->name);
                }
        if (unknown.length > 0)
                situation_note(s,
                               "the disks of %s cannot be looked up, which needs root: the plan of "
                               "root may be another one",
                               must_text(&unknown));
        if (status && !status_file_is_fresh(status, now))
                situation_note(s,
                               "the daemon has published nothing for %.0f s; tidbnumactl status "
                               "shows why",
                               now - status->time_seconds);
        if (reported > 0 && reported < denied)
                text_appendf(&of, "%zu of ", reported);
        if (denied > 0)
                situation_note(s, "%zu process%s could not be read%s%s%s%s", denied,
                               denied == 1 ? "" : "es", geteuid() == 0 ? "" : ", which needs root",
                               reported > 0 ? "; the daemon's report was used for " : "",
                               must_text(&of),
                               reported == 0 ? ""
                               : denied == 1 ? "it"
                                             : "them");
        if (s->report.n_instances == 0)
                situation_note(s, s->machine->runs
                                          ? "no running process matches a policy; tidbnumactl "
                                            "explain PID shows why, and --instances 1:POLICY "
                                            "imagines one"
                                          : "nothing to place; use --instances 4:tidb,4:tikv "
                                            "for imagined instances");
        /* A policy with a wrong unit or user matches nothing, and the operator finds out here.
         * Without access to all processes, nothing is known. */
        if (s->report.n_instances == 0 || !s->runs || s->policies->defaults ||
            (denied > 0 && geteuid() != 0))
                return;
        for (size_t i = 0; i < set->n_policies; i++)
                if (!set->policies[i].built_in &&
                    host_instances_count(&s->instances, &set->policies[i]) == 0)
                        text_appendf(&idle, "%s%s", n_idle++ > 0 ? ", " : "",
                                     set->policies[i].name);
        if (n_idle > 0)
                situation_note(s,
                               "no running process matches the polic%s %s; tidbnumactl explain "
                               "PID shows why",
                               n_idle == 1 ? "y" : "ies", must_text(&idle));
}

/* In a chroot, say: what the kernel shows there is nothing. */
static int refuse_unmounted(const Machine *machine, Error *error) {
        const char *missing =
                faccessat(machine->sysroot.proc_fd, "self", F_OK, 0) < 0 &&
                                faccessat(machine->sysroot.proc_fd, "stat", F_OK, 0) < 0
                        ? "/proc"
                : faccessat(machine->sysroot.sys_fd, "devices", F_OK, 0) < 0 ? "/sys"
                                                                             : NULL;

        return missing && machine->live
                       ? error_set(error, -ENOENT,
                                   "%s is not mounted here (is this a chroot?), so nothing of "
                                   "the host can be seen: run it on the host itself",
                                   missing)
                       : 0;
}

int situation_load(Situation *s, Error *error) {
        const Topology *topology = &s->machine->topology;
        const Snapshot *status = machine_daemon(s->machine);
        const bool imagines = s->args->instances;
        const PolicySet *set;
        NodeSet used = { 0 };
        size_t n_warnings;
        int r;

        s->runs = !imagines && s->machine->runs;
        s->daemons_plan = status && !imagines && !s->policy_path && !s->args->policy_is_set;
        r = refuse_unmounted(s->machine, error);
        if (r >= 0)
                r = load_policies(s, error);
        set = &s->policies->set;
        if (r >= 0 && s->runs) {
                r = instances_find(&s->machine->sysroot, set, status, &s->instances);
                if (r < 0)
                        return error_prefix(error, r, "the processes cannot be read: ");
                instances_limit(set, status, &s->instances, &s->ignored);
                must(host_instances_describe(&s->machine->sysroot, topology, &s->instances));
                if (status)
                        instances_take_storage(status, &s->instances);
        } else if (r >= 0 && imagines) {
                r = imagine_instances(s->args->instances, set, &s->machine->devices, &s->instances,
                                      error);
                if (r < 0)
                        return error_prefix(error, r, "--instances: ");
        }
        if (r < 0)
                return r;
        situation_plan(s);

        for (size_t i = 0; i < s->plan.n_choices; i++)
                id_set_union(&used, &s->plan.choices[i].placement.nodes);
        for (unsigned i = 0; i <= TOPOLOGY_NOTES; i++) {
                _cleanup_text_ Text note = { 0 };

                if (i < TOPOLOGY_NOTES)
                        topology_append_note(topology, i, &note);
                else
                        topology_append_unused(topology, &used, &note);
                if (note.length > 0)
                        situation_note(s, "%s", must_text(&note));
        }
        /* The source of the policies, if they were not written by the operator. */
        s->first_note_of_source = s->report.notes.n_words;
        if (policies_are_built_in(s->policies))
                situation_note(
                        s, "no policies, so nothing is placed; write one in " TIDBNUMAD_SYSCONFDIR
                           "/tidbnumad.d, or plan with --policy FILE");
        else if (s->policies->defaults)
                situation_note(s, "no policies given: planned with tidb (exclusive), tikv "
                                  "and tiflash (exclusive, near storage), jvm (exclusive), "
                                  "pd, haproxy and the others (shared), and the network "
                                  "card's node reserved, if it is known");
        if (s->daemons_plan && s->runs)
                note_changed(s);
        s->note_of_silent = s->report.notes.n_words;
        for (size_t i = 0; i < s->instances.silent.n_pids; i++)
                situation_note(s,
                               "process %d does not answer, so what its memory map or data "
                               "directory would show is not known: %s",
                               s->instances.silent.pids[i], reason_to_remedy(REASON_MEMORY_SILENT));
        s->first_note_of_policies = s->report.notes.n_words;
        n_warnings = s->policies->warnings.n_messages;
        if (n_warnings > 0)
                situation_note(
                        s, "there %s %zu warning%s about the policies; run tidbnumactl validate",
                        n_warnings == 1 ? "is" : "are", n_warnings, n_warnings == 1 ? "" : "s");
        if (set->host.reserve.kind == RESERVE_NIC && id_set_is_empty(&s->report.nic_nodes))
                situation_note(s, "nothing is reserved for the network card: the card with the "
                                  "default route, or its node, is unknown; set "
                                  "host.reserve.devices or host.reserve.nodes");
        s->first_note_of_instances = s->report.notes.n_words;
        note_instances(s);
        return 0;
}

/* --- questions --- */

bool situation_has_refusal(const Situation *s) {
        for (size_t i = 0; i < s->report.n_instances; i++) {
                const PlacementRefusal refusal = s->report.instances[i].choice->refusal;

                if (refusal != REFUSAL_NONE && refusal != REFUSAL_WATCH_ONLY)
                        return true;
        }
        return false;
}

const PlanReportInstance *situation_find(const Situation *s, const char *name) {
        for (size_t i = 0; i < s->report.n_instances; i++)
                if (strcmp(s->report.instances[i].in->name, name) == 0)
                        return &s->report.instances[i];
        return NULL;
}

void situation_append_now(const Situation *s, const PlanReportInstance *row, Text *text) {
        const InstanceInfo *now = row->published;

        if (now) {
                text_appendf(text, "%s (CPUs %s, memory %s)", instance_state_to_string(now->state),
                             now->cpu_bound ? "bound" : "not bound",
                             verdict_memory_word(row->choice->placement.memory, now->memory_bound));
                text_append(text, *now->reason ? ": " : "");
                text_append_printable(text, now->reason);
                if (!plan_report_places(row) || !*row->bound_by ||
                    !instance_state_binds(now->state))
                        return;
                text_appendf(text, "; by %s%s", row->bound_by,
                             row->bound_by_reason ? ", because " : "");
                text_append_printable(text, row->bound_by_reason ? row->bound_by_reason : "");
        } else if (s->report.daemon_runs)
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

PlanChange *situation_compare(const Situation *before, const Situation *after, size_t *ret_n) {
        const size_t n_before = before ? before->report.n_instances : 0;
        PlanChange *changes =
                must_have(calloc(n_before + after->report.n_instances + 1, sizeof(*changes)));
        size_t n = 0;

        for (size_t i = 0; i < after->report.n_instances; i++) {
                const PlanReportInstance *row = &after->report.instances[i];
                PlanChange change = { .name = row->in->name,
                                      .before =
                                              before ? situation_find(before, row->in->name) : NULL,
                                      .after = row,
                                      .to = row->choice->placement.nodes };

                if (change.before)
                        change.from = change.before->choice->placement.nodes;
                else if (!before && !(row->published && row->published->state == INSTANCE_WATCHED))
                        change.from = row->in_force; /* else others have bound it */
                if (!id_set_equal(&change.from, &change.to))
                        changes[n++] = change;
        }
        for (size_t i = 0; i < n_before; i++) {
                const PlanReportInstance *row = &before->report.instances[i];

                if (plan_report_places(row) && !situation_find(after, row->in->name))
                        changes[n++] = (PlanChange){ .name = row->in->name,
                                                     .before = row,
                                                     .from = row->choice->placement.nodes };
        }
        *ret_n = n;
        return changes;
}

void situation_load_servers(Situation *s) {
        const size_t n = s->report.n_instances;

        s->servers = must_have(calloc(n + 1, sizeof(*s->servers)));
        for (size_t i = 0; i < n; i++) {
                HostInstance *o = &s->instances.instances[i];
                const PlanReportInstance *row = &s->report.instances[i];
                const InstanceInfo *published = row->published;
                const LimitState state = published ? published->memory_limit_state : LIMIT_NONE;
                const InstanceInfo *last = /* also of a daemon that has ended */
                        s->machine->live ? status_file_find(&s->machine->status, row->in->name)
                                         : NULL;
                const uint64_t asked_limit_bytes =
                        limit_wanted_bytes(&s->machine->topology, NULL, s->inputs, s->plan.choices,
                                           s->plan.n_choices, i);
                ServerInstance *server = &s->servers[i];
                uint64_t limit_bytes;

                /* The limit of its control group by which the instance has taken its sizes, and of
                 * one that does not run, that which its policy sets. 0: none. */
                if (o->n_members == 0)
                        limit_bytes = asked_limit_bytes;
                else if (state == LIMIT_SET || state == LIMIT_LIFTED)
                        limit_bytes = published->memory_limit_bytes;
                else if (state == LIMIT_NEXT_START) /* it has taken its sizes without */
                        limit_bytes = 0;
                else
                        limit_bytes = o->limit_bytes;

                *server = (ServerInstance){
                        .identity = o->identity,
                        .place = row->choice->placement,
                        .policy = o->policy,
                        .device = o->disks.n_devices > 0 ? o->disks.devices[0].name : NULL,
                        .disk_bytes = o->disks.n_devices > 0 ? o->disks.devices[0].size_bytes : 0,
                        .need_bytes = row->in->need_bytes,
                        .limit_bytes = limit_bytes,
                        .cpu_quota = o->cpu_quota,
                        .asked_limit_bytes = asked_limit_bytes,
                };
                if (!s->runs)
                        continue;
                ask_server(&s->machine->sysroot, o, s->args->ask, server);
                server->by_hand = by_hand_find(&(ByHandInput){
                        .topology = &s->machine->topology,
                        .thread_cpus = &o->thread_cpus,
                        .unit_cpus = &o->unit_cpus,
                        .mems = &o->mems,
                        .above_cpus = &o->allowed_cpus,
                        .above_nodes = &o->allowed_nodes,
                        .place_cpus = &row->choice->placement.cpus,
                        .place_nodes = &row->choice->placement.nodes,
                        .bound_by_daemon =
                                last && last->pid == row->pid && (last->cpu_bound || last->changed),
                        .cpu_source = start_source_from_string(published ? published->start_cpus_by
                                                                         : NULL),
                });
                server->pid = row->pid;
                server->bound_after_start = published && published->bound_after_start;
        }
}
