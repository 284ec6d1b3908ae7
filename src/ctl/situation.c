#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "tidbnumad/ctl/daemon-process.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/sys/clock.h"

void situation_close(Situation *situation) {
        machine_close(&situation->machine);
        status_done(&situation->status);
        imagine_list_done(&situation->wanted);
}

void case_close(Case *c) {
        plan_run_done(&c->planned);
        host_instances_done(&c->instances);
        host_instances_done(&c->ignored);
        policies_done(&c->policies);
}

static int report_imagine(int error, const char *message) {
        if (error == -EINVAL)
                output_line(stderr, "tidbnumactl: --instances: %s", message);
        return error;
}

/* Without a readable status, the processes themselves are observed. */
static int read_status(Situation *s) {
        int r = s->machine.live ? status_file_read(s->args->runtime_dir, &s->status) : -ENOENT;

        s->daemon_runs = r >= 0 && daemon_process_find(s->args->runtime_dir, &s->status) > 0;
        return r == -ENOMEM ? r : 0;
}

int situation_open(const Args *args, Situation *ret) {
        _cleanup_free_ char *message = NULL;
        int r;

        *ret = (Situation){ .args = args, .machine = MACHINE_NONE };
        if (args->command == COMMAND_REPLAN)
                ret->replan = (WordList){ .words = (char **)args->names, .n_words = args->n_names };
        if (args->instances) {
                r = imagine_parse(args->instances, &ret->wanted, &message);
                if (r < 0)
                        return report_imagine(r, message);
        }
        r = machine_open(args, &ret->machine);
        return r < 0 ? r : read_status(ret);
}

static int report_policies(const Policies *policies, int error) {
        int r = error == -EINVAL ? policies_print(&policies->errors, "") : 0;

        if (error == -EINVAL)
                output_line(stderr, "tidbnumactl: the policies are refused");
        return error < 0 ? error : r;
}

/* Uses the default policies where none exist: for another machine this host's folders are ignored,
 * and a user who imagines instances on a host without policies wants to see their effect. */
static int load_policies(const Situation *s, const char *path, Policies *ret) {
        const Args *args = s->args;
        int r;

        if (!path && !args->policy_is_set && !s->machine.live)
                return policies_load_defaults(&s->machine, NULL, ret);
        r = path ? policies_load_path(path, &s->machine, ret)
                 : policies_load(args, &s->machine, ret);
        r = report_policies(ret, r);
        if (r < 0 || !policies_are_built_in(ret) || path || args->policy_is_set || !args->instances)
                return r;
        policies_done(ret);
        return policies_load_defaults(&s->machine, NULL, ret);
}

static int find_running(const Situation *s, Case *c) {
        const Snapshot *status = s->daemon_runs ? &s->status : NULL;
        int r = instances_find(&s->machine.sysroot, &c->policies.set, status, &c->instances);

        if (r >= 0)
                r = instances_limit(&c->policies.set, status, &c->instances, &c->ignored);
        if (r >= 0)
                r = host_instances_describe(&s->machine.sysroot, &s->machine.topology,
                                            &c->instances);
        if (r >= 0 && status)
                r = instances_take_storage(status, &c->instances);
        if (r < 0 && r != -ENOMEM)
                output_line(stderr, "tidbnumactl: the processes cannot be read: %s", strerror(-r));
        return r;
}

static int imagine(const Situation *s, Case *c) {
        _cleanup_free_ char *message = NULL;
        int r = imagine_instances(&s->wanted, &c->policies.set, &s->machine.devices, &c->instances,
                                  &message);

        return report_imagine(r, message);
}

static int note_policies(const Case *c, PlanRun *p) {
        const size_t warnings = c->policies.warnings.n_messages;
        int r = 0;

        if (warnings > 0)
                r = plan_run_add_note(
                        p, "there %s %zu warning%s about the policies; run tidbnumactl validate",
                        warnings == 1 ? "is" : "are", warnings, warnings == 1 ? "" : "s");
        if (r >= 0 && c->policies.set.host.reserve.kind == RESERVE_NIC &&
            id_set_is_empty(&p->report.nic_nodes))
                r = plan_run_add_note(p, "nothing is reserved for the network card: the card with "
                                         "the default route, or its node, is unknown; set "
                                         "host.reserve.devices or host.reserve.nodes");
        return r;
}

/* The source of the policies, if they were not written by the operator. */
static int note_source(const Case *c, PlanRun *p) {
        if (policies_are_built_in(&c->policies))
                return plan_run_add_note(
                        p, "no policies, so nothing is placed; write one in " TIDBNUMAD_SYSCONFDIR
                           "/tidbnumad.d, or plan with --policy FILE");
        if (c->policies.defaults)
                return plan_run_add_note(p,
                                         "no policies given: planned with tidb (exclusive), tikv "
                                         "and tiflash (exclusive, near storage), jvm (exclusive), "
                                         "pd, haproxy and the others (shared), and the network "
                                         "card's node reserved, if it is known");
        return 0;
}

/* The daemon's plan is by the files as they were when it read them. A file that came, left or was
 * written since then has changed its own time of change (ctime), or that of its folder. */
static int note_changed(const Situation *s, const Case *c, PlanRun *p) {
        const Args *args = s->args;
        const char *changed = NULL;
        struct stat st;

        for (size_t i = 0; i < args->n_policy_dirs + c->policies.files.n_files; i++) {
                const char *path = i < args->n_policy_dirs
                                           ? args->policy_dirs[i]
                                           : c->policies.files.files[i - args->n_policy_dirs].path;

                if (stat(path, &st) >= 0 &&
                    (double)st.st_ctim.tv_sec + (double)st.st_ctim.tv_nsec / 1e9 >
                            s->status.policy_load_seconds)
                        changed = path;
        }
        return changed ? plan_run_add_note(p,
                                           "%s has changed since the daemon read it, and this plan "
                                           "is by what it read; tidbnumactl reload applies the "
                                           "change",
                                           changed)
                       : 0;
}

static int note_unused(const Machine *machine, PlanRun *p) {
        _cleanup_text_ Text note = { 0 };
        NodeSet used = { 0 };

        for (size_t i = 0; i < p->plan.n_choices; i++)
                id_set_union(&used, &p->plan.choices[i].placement.nodes);
        topology_append_unused(&machine->topology, &used, &note);
        if (note.error < 0 || note.length == 0)
                return note.error;
        return plan_run_add_note(p, "%s", note.data);
}

static int note_machine(const Machine *machine, PlanRun *p) {
        int r = 0;

        for (unsigned i = 0; i < TOPOLOGY_NOTES && r >= 0; i++) {
                _cleanup_text_ Text note = { 0 };

                topology_append_note(&machine->topology, i, &note);
                if (note.error < 0)
                        r = note.error;
                else if (note.length > 0)
                        r = plan_run_add_note(p, "%s", note.data);
        }
        return r < 0 ? r : note_unused(machine, p);
}

static bool is_idle(const Case *c, const Policy *policy) {
        for (size_t i = 0; i < c->instances.n_instances; i++)
                if (c->instances.instances[i].policy == policy)
                        return false;
        return !policy->built_in;
}

/* A policy with a wrong unit or user matches nothing, and the operator finds out here. Without
 * access to all processes, nothing is known. */
static int note_idle(const Case *c, PlanRun *p) {
        const PolicySet *set = &c->policies.set;
        _cleanup_text_ Text names = { 0 };
        size_t n = 0;

        if (c->policies.defaults || (c->instances.n_denied > 0 && geteuid() != 0))
                return 0;
        for (size_t i = 0; i < set->n_policies; i++)
                if (is_idle(c, &set->policies[i]))
                        text_appendf(&names, "%s%s", n++ > 0 ? ", " : "", set->policies[i].name);
        if (n == 0 || names.error < 0)
                return names.error;
        return plan_run_add_note(p,
                                 "no running process matches the polic%s %s; tidbnumactl explain "
                                 "PID shows why",
                                 n == 1 ? "y" : "ies", names.data);
}

/* Imagined instances have no user; the daemon counts those of each user. */
static int note_limits(const Case *c, PlanRun *p) {
        int r = 0;

        for (size_t i = 0; i < c->policies.set.n_policies && r >= 0; i++) {
                const Policy *policy = &c->policies.set.policies[i];
                size_t n = 0;

                for (size_t k = 0; k < c->instances.n_instances; k++)
                        n += c->instances.instances[k].policy == policy;
                if (n > policy->max_instances)
                        r = plan_run_add_note(p,
                                              "policy %s has %zu imagined instances; the daemon "
                                              "places at most %" PRIu32 " of one user "
                                              "(policies[].max_instances)",
                                              policy->name, n, policy->max_instances);
        }
        return r;
}

/* An ordinary user may not follow the path of a data directory, so that near: storage does not
 * count for its instance. */
static int note_storage(const Situation *s, const Case *c, PlanRun *p) {
        _cleanup_text_ Text names = { 0 };

        if (!s->machine.live || geteuid() == 0)
                return 0;
        for (size_t i = 0; i < c->instances.n_instances; i++) {
                const HostInstance *o = &c->instances.instances[i];

                if (o->policy->place.near == NEAR_STORAGE && !o->storage)
                        text_appendf(&names, "%s%s", names.length > 0 ? ", " : "", o->name);
        }
        if (names.error < 0 || names.length == 0)
                return names.error;
        return plan_run_add_note(p,
                                 "the disks of %s cannot be looked up, which needs root: the plan "
                                 "of root may be another one",
                                 names.data);
}

static int note_instances(const Situation *s, const Case *c, PlanRun *p) {
        const size_t denied = c->instances.n_denied, ignored = c->ignored.n_instances;
        int r = c->runs ? 0 : note_limits(c, p);

        if (r >= 0 && ignored > 0)
                r = plan_run_add_note(
                        p,
                        "%zu instance%s ignored: the policy has max_instances of the "
                        "same user already; tidbnumactl explain PID names the policy, "
                        "policies[].max_instances raises the limit",
                        ignored, ignored == 1 ? " is" : "s are");
        if (r >= 0)
                r = c->runs ? note_storage(s, c, p) : 0;
        if (r >= 0 && s->daemon_runs && !status_file_is_fresh(&s->status, clock_realtime_seconds()))
                r = plan_run_add_note(p,
                                      "the daemon has published nothing for %.0f s; tidbnumactl "
                                      "status tells why",
                                      clock_realtime_seconds() - s->status.time_seconds);
        if (r >= 0 && denied > 0)
                r = plan_run_add_note(
                        p, "%zu process%s could not be read%s%s", denied, denied == 1 ? "" : "es",
                        geteuid() == 0 ? "" : ", which needs root",
                        s->daemon_runs ? "; the daemon's report was used for them" : "");
        if (r >= 0 && p->report.n_instances == 0)
                r = plan_run_add_note(
                        p, s->machine.runs ? "no running process matches a policy; tidbnumactl "
                                             "explain PID shows why, and --instances 1:POLICY "
                                             "imagines one"
                                           : "nothing to place; use --instances 4:tidb,4:tikv "
                                             "for imagined instances");
        else if (r >= 0 && s->machine.runs && !s->args->instances)
                r = note_idle(c, p);
        return r;
}

/* What restricts it beside the daemon. */
static ByHand case_by_hand(const Situation *s, const Case *c, size_t i) {
        const PlanReportInstance *row = &c->planned.rows[i];
        const HostInstance *o = &c->instances.instances[i];
        const InstanceInfo *published = row->published;
        const ByHandInput input = {
                .topology = &s->machine.topology,
                .thread_cpus = &o->thread_cpus,
                .unit_cpus = &o->unit_cpus,
                .mems = &o->mems,
                .above_cpus = &o->allowed_cpus,
                .above_nodes = &o->allowed_nodes,
                .place_cpus = &row->choice->placement.cpus,
                .place_nodes = &row->choice->placement.nodes,
                .bound_by_daemon = published && published->cpu_bound,
                .cpu_source = start_source_from_string(published ? published->start_cpus_by : NULL),
        };

        return by_hand_find(&input);
}

ServerInstance case_server(const Situation *s, const Case *c, size_t i, const Asked *asked) {
        const HostInstance *o = &c->instances.instances[i];
        const PlanReportInstance *row = &c->planned.rows[i];
        ServerInstance new = {
                .name = row->in->name,
                .policy = row->in->policy,
                .exe = o->exe,
                .unit = o->unit,
                .ports = o->ports,
                .n_ports = o->n_ports,
                .device = o->disks.n_devices > 0 ? o->disks.devices[0].name : NULL,
                .need_bytes = row->in->need_bytes,
                .limit_bytes =
                        plan_run_memory_limit(&c->planned, &s->machine.topology, &c->instances, i),
        };

        if (!c->runs)
                return new;
        new.pid = row->pid;
        new.by_hand = case_by_hand(s, c, i);
        new.gomaxprocs = asked->gomaxprocs;
        new.gomaxprocs_reported = asked->gomaxprocs_reported;
        new.go = asked->go;
        new.said = &asked->said;
        new.bound_after_start = row->published && row->published->bound_after_start;
        return new;
}

int case_open(const Situation *s, const char *path, const Case *before, Case *ret) {
        const bool imagines = s->args->instances;
        PlanRunFrom from = { .machine = &s->machine,
                             .policies = &ret->policies.set,
                             .instances = &ret->instances,
                             .status = s->daemon_runs ? &s->status : NULL,
                             .daemons = s->daemon_runs && !imagines && !path &&
                                        !s->args->policy_is_set,
                             .before = before ? &before->planned : NULL,
                             .replan = s->replan };
        int r;

        *ret = (Case){ .runs = !imagines && s->machine.runs };
        r = load_policies(s, path, &ret->policies);
        if (r >= 0 && ret->runs)
                r = find_running(s, ret);
        if (r >= 0 && imagines)
                r = imagine(s, ret);
        if (r >= 0)
                r = plan_run_build(&from, &ret->planned);
        if (r >= 0)
                r = note_machine(&s->machine, &ret->planned);
        ret->first_note_of_source = ret->planned.n_notes;
        if (r >= 0)
                r = note_source(ret, &ret->planned);
        if (r >= 0 && from.daemons && ret->runs)
                r = note_changed(s, ret, &ret->planned);
        ret->first_note_of_policies = ret->planned.n_notes;
        if (r >= 0)
                r = note_policies(ret, &ret->planned);
        ret->first_note_of_instances = ret->planned.n_notes;
        return r < 0 ? r : note_instances(s, ret, &ret->planned);
}
