/* tidbnumactl check: which audit rules hold on this host, with remedies for the others. */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/plan/audit.h"
#include "tidbnumad/publish/audit-text.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/world/host-facts.h"
#include "tidbnumad/world/irq-load.h"
#include "tidbnumad/world/memory.h"

/* tidbnumactl(8), EXIT STATUS. */
enum { CHECK_EXIT_WARNING = 1, CHECK_EXIT_FAILURE = 2, CHECK_EXIT_NOT_JUDGED = 3 };

/* Seconds between the two reads of the CPUs' times. */
#define INTERVAL_SECONDS 1

/* Input of the audit besides the plan. Owned. */
typedef struct Check {
        HostFacts facts;
        IrqHost irqs;
        bool irqs_known;
        NodeTimes times;
        NodeCounters *before, *now;
        AuditUnit *units; /* NULL: no daemon knows any */
        size_t n_units;
} Check;

static void check_done(Check *check) {
        irq_host_done(&check->irqs);
        node_times_done(&check->times);
        free(check->before);
        free(check->now);
        free(check->units);
}

/* Only the kernel's empty folder is there. */
static bool cgroups_are_unmounted(const Sysroot *sysroot) {
        struct statfs fs;

        return sysroot->live && (sysroot->cgroup_fd < 0 || (fstatfs(sysroot->cgroup_fd, &fs) == 0 &&
                                                            fs.f_type == SYSFS_MAGIC));
}

static void read_machine(const Machine *machine, Check *check) {
        const struct timespec pause = { .tv_sec = INTERVAL_SECONDS };
        const Sysroot *sysroot = &machine->sysroot;
        const Topology *topology = &machine->topology;
        const CgroupVersion version = cgroup_version(sysroot);
        _cleanup_cgroup1_mount_ Cgroup1Mount mount = { 0 };
        HostFacts *facts = &check->facts;
        BackendKind kind;
        const char *weaker;

        check->before = must_have(calloc(topology->n_nodes + 1, sizeof(*check->before)));
        check->now = must_have(calloc(topology->n_nodes + 1, sizeof(*check->now)));
        must(node_load(sysroot, topology, &check->times, check->before));
        if (machine->live) {
                (void)nanosleep(&pause, NULL);
                must(node_load(sysroot, topology, &check->times, check->now));
        }
        /* For a dump, which does not change, takes the times since its boot. */
        for (size_t i = 0; i < topology->n_nodes && !machine->live; i++) {
                check->now[i] = check->before[i];
                memset(check->before[i].cpu_seconds, 0, sizeof(check->before[i].cpu_seconds));
        }
        host_facts_load(sysroot, topology, facts);
        /* Asks the daemon, or as the daemon does: whether the controller can be used shows in
         * trying. */
        kind = machine_backend(machine, BACKEND_AUTO, &weaker);
        /* A dump may lack the file that lists the hierarchies of cgroup v1. */
        if (sysroot->live || kind != BACKEND_AFFINITY || version == CGROUP_V2)
                facts->cpuset_known = kind != BACKEND_AUTO &&
                                      (machine->daemon_runs || !cgroups_are_unmounted(sysroot));
        else
                facts->cpuset_known = version == CGROUP_V1 &&
                                      faccessat(sysroot->proc_fd, "self/mountinfo", F_OK, 0) == 0;
        facts->cpuset = kind == BACKEND_SYSTEMD || kind == BACKEND_CGROUP1;
        if (kind == BACKEND_AFFINITY && weaker &&
            cgroup1_mount_read(sysroot, "cpuset", &mount) >= 0)
                (void)snprintf(facts->cpuset_closed, sizeof(facts->cpuset_closed), "%s",
                               mount.point);
        check->irqs_known = must(irq_host_load(sysroot, NULL, 0, &check->irqs)) >= 0;
}

/* What the audit looks at beside the sizes of its servers. */
static void load_instances(Situation *s) {
        for (size_t i = 0; i < s->report.n_instances; i++) {
                const HostInstance *o = &s->instances.instances[i];
                const Members members = facts_members(&o->facts, &s->machine->sysroot);
                const InstanceInfo *published = s->report.instances[i].published;
                ServerInstance *server = &s->servers[i];
                HugeMaps maps;

                if (!s->runs) {
                        server->device = NULL; /* what is imagined holds nothing there */
                        continue;
                }
                server->start_known = published && published->start_cpus_by;
                server->memory_source =
                        start_source_from_string(published ? published->start_memory_by : NULL);
                server->allowed_cpus = o->cpus;
                server->memory_policy = o->memory_policy;
                server->disks = &o->disks;
                server->n_read_threads = members_count_threads(&members, TIKV_READ_THREADS);
                /* Read again, now that it is known which pages are where they belong. */
                if (o->huge_known && members_read_huge_maps(&members, &server->nodes, &maps) >= 0)
                        server->huge = huge_maps_need(&maps, &s->pools);
        }
}

int command_check(const Args *args, Error *error) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args, .machine = &machine };
        _cleanup_audit_report_ AuditReport report = { 0 };
        _cleanup_(check_done) Check check = { 0 };
        const Snapshot *status = &machine.status;
        _cleanup_text_ Text text = { 0 };
        AuditInput input;
        int r = machine_open(args, &machine, error);

        if (r >= 0)
                r = situation_load(&s, error);
        if (r < 0)
                return CHECK_EXIT_NOT_JUDGED;
        if (machine.runs)
                read_machine(&machine, &check);
        if (machine.daemon_runs) {
                check.units = must_have(
                        calloc(status->n_instances + status->n_units + 1, sizeof(*check.units)));
                for (size_t i = 0; i < status->n_instances; i++) {
                        const InstanceInfo *one = &status->instances[i];

                        /* What runs is not bound through its unit then, so that it can be started
                         * again. */
                        if (one->unit && one->bound_by_reason &&
                            one->bound_by_code == REASON_START_LIMITS)
                                check.units[check.n_units++] =
                                        (AuditUnit){ one->unit, one->bound_by_reason,
                                                     REASON_START_LIMITS };
                }
                for (size_t i = 0; i < status->n_units; i++) {
                        const UnitInfo *u = &status->units[i];

                        if (u->code != REASON_NONE && !status_unit_runs(status, u))
                                check.units[check.n_units++] =
                                        (AuditUnit){ u->name, u->reason, u->code };
                }
        }
        for (size_t i = s.note_of_silent; i < s.first_note_of_policies; i++)
                output_line(stderr, "note: %s", s.report.notes.words[i]);
        situation_load_servers(&s);
        load_instances(&s);
        input = (AuditInput){ .topology = &machine.topology,
                              .devices = &machine.devices,
                              .facts = machine.runs ? &check.facts : NULL,
                              .irqs = check.irqs_known ? &check.irqs : NULL,
                              .nodes_before = check.before,
                              .nodes = check.now,
                              .pools = &s.pools,
                              .policies = &s.policies->set,
                              .instances = s.servers,
                              .n_instances = s.report.n_instances,
                              .units = check.units,
                              .n_units = check.n_units,
                              .nic_nodes = s.report.nic_nodes,
                              .reserved = s.report.reserved,
                              .reserved_cpus = s.report.reserved_cpus };
        must(audit_build(&input, &report));
        if (args->json) {
                audit_json(&(Json){ .text = &text }, &report);
                r = output_json(&text);
        } else {
                audit_render_text(&report, output_width(), output_colors(), &text);
                r = output_text(&text);
        }
        if (r < 0)
                return CHECK_EXIT_NOT_JUDGED;
        switch (audit_report_worst(&report)) {
        case AUDIT_FAILURE:
                return CHECK_EXIT_FAILURE;
        case AUDIT_WARNING:
                return CHECK_EXIT_WARNING;
        default:
                return EXIT_SUCCESS;
        }
}
