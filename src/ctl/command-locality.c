/* tidbnumactl locality: where the memory of any process is located, bound or not. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/commands.h"
#include "tidbnumad/ctl/output.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/publish/locality.h"
#include "tidbnumad/sys/clock.h"
#include "tidbnumad/sys/maps.h"
#include "tidbnumad/world/sampling.h"
#include "tidbnumad/world/topology-load.h"

/* The report on the selected processes, and the data that the report borrows. */
typedef struct Subject {
        LocalityReport report;
        LocalityNode *by_node; /* owned */
        pid_t *pids;           /* owned */
} Subject;

static void subject_done(Subject *subject) {
        free(subject->by_node);
        free(subject->pids);
}

static void add_mapping(uint32_t node, NumaMapsKind kind, uint64_t bytes, void *userdata) {
        Subject *s = userdata;
        const Node *of = topology_find(s->report.topology, node);
        LocalityNode *at = of ? &s->by_node[of - s->report.topology->nodes] : NULL;

        if (!at)
                return;
        switch (kind) {
        case NUMA_MAPS_ANON:
                at->anon_bytes += bytes;
                break;
        case NUMA_MAPS_FILE:
                at->file_bytes += bytes;
                break;
        case NUMA_MAPS_SHMEM:
                at->shmem_bytes += bytes;
                break;
        case NUMA_MAPS_HUGE:
        case N_NUMA_MAPS_KINDS:
                at->huge_bytes += bytes;
                break;
        }
}

/* For several processes, the largest half-width is a bound for the result. */
static void halfwidth_widen(double *halfwidth, Estimate estimate) {
        const double other = estimate_halfwidth(&estimate);

        if (!isnan(other) && (isnan(*halfwidth) || other > *halfwidth))
                *halfwidth = other;
}

static void ask_policy(void *userdata) {
        char policy[256];

        (void)memory_policy_read(userdata, policy, sizeof(policy));
}

static int draw_pages(Subject *s, const ProcHandle *process) {
        LocalityReport *report = &s->report;
        const Topology *topology = report->topology;
        _cleanup_free_ NodeMemory *by_node =
                must_have(calloc(topology->n_nodes + 1, sizeof(*by_node)));
        _cleanup_draws_ Draws draws = { 0 };
        ProcMemory memory;
        int r;

        r = sampler_draw(topology, process, SAMPLER_PAGES, clock_monotonic_usec(), &draws);
        if (r >= 0)
                r = proc_memory_read(process, &memory);
        if (r < 0)
                return r;
        sampler_add_bytes(topology, &draws, &memory, by_node);
        for (size_t i = 0; i < topology->n_nodes; i++) {
                s->by_node[i].anon_bytes += by_node[i].anon_bytes;
                s->by_node[i].file_bytes += by_node[i].file_bytes;
                s->by_node[i].shmem_bytes += by_node[i].shmem_bytes;
                halfwidth_widen(&report->halfwidth,
                                estimate_share(draws.by_node[i].n_anon, draws.n_anon,
                                               draws.n_hidden, draws.whole));
                halfwidth_widen(&report->file_halfwidth, sampler_file_on(&draws, i));
                halfwidth_widen(&report->shmem_halfwidth, sampler_shmem_on(&draws, i));
        }
        report->n_pages += draws.n_anon;
        return 0;
}

/* Prints the report. -EPERM and -EACCES: only the owner and root may read this. */
static int report_on(const Args *args, const Topology *topology, const char *name,
                     const Member *members, size_t n, Error *error) {
        _cleanup_(subject_done) Subject s = {
                .report = { .name = name, .exact = args->exact, .topology = topology }
        };
        LocalityReport *report = &s.report;
        _cleanup_text_ Text text = { 0 };

        report->by_node = s.by_node = must_have(calloc(topology->n_nodes + 1, sizeof(*s.by_node)));
        report->pids = s.pids = must_have(calloc(n + 1, sizeof(*s.pids)));
        report->halfwidth = report->file_halfwidth = report->shmem_halfwidth =
                args->exact ? 0 : (double)NAN;
        for (size_t i = 0; i < n; i++) {
                ProcHandle *process = members[i].handle;
                const int r = !process_answers(process, ask_policy, process) ? -EHOSTDOWN
                              : args->exact ? numa_maps_read(process, add_mapping, &s)
                                            : draw_pages(&s, process);

                if (r == -EHOSTDOWN)
                        return error_set(error, r,
                                         "the memory map of process %d does not answer: %s",
                                         process->pid, reason_to_remedy(REASON_MEMORY_SILENT));
                if (r == -EPERM || r == -EACCES)
                        return error_set(error, r, "process %d belongs to another user; %s",
                                         process->pid, output_may_read());
                if (r == -ESRCH || r == -ESTALE)
                        return error_set(error, r, "process %d has ended", process->pid);
                if (r < 0)
                        return error_prefix(error, r, "the memory of process %d cannot be read: ",
                                            process->pid);
                s.pids[report->n_pids++] = process->pid;
        }
        if (args->json) {
                locality_json(&(Json){ .text = &text }, report);
                return output_json(&text);
        }
        locality_render(report, &text);
        return output_text(&text);
}

static int refuse_subject(const char *subject, Error *error) {
        return error_set(error, -ESRCH,
                         "no process or instance '%s'; tidbnumactl status lists the instances",
                         subject);
}

int command_locality(const Args *args, Error *error) {
        _cleanup_machine_ Machine machine = MACHINE_NONE;
        _cleanup_situation_ Situation s = { .args = args, .machine = &machine };
        _cleanup_sysroot_ Sysroot sysroot = SYSROOT_NONE;
        _cleanup_topology_ Topology topology = { 0 };
        _cleanup_proc_ ProcHandle handle = PROC_HANDLE_NONE;
        const Member member = { .handle = &handle };
        const HostInstance *running;
        char exe[PATH_MAX], *slash;
        ProcStat stat;
        uint64_t pid;
        int r;

        /* Works for any process, without policies and without a daemon. */
        if (parse_u64(args->subject, &pid) == 0) {
                r = sysroot_open(NULL, &sysroot);
                if (r >= 0)
                        r = topology_load(&sysroot, &topology);
                if (r < 0)
                        return error_prefix(error, r, "the topology cannot be read: ");
                if (pid == 0 || pid > INT32_MAX ||
                    proc_open_stat(&sysroot, (pid_t)pid, &handle, &stat) < 0)
                        return refuse_subject(args->subject, error);
                /* It has no memory of its own, and its files are as empty as those of a process
                 * that ends. */
                if (stat.kernel_thread)
                        return error_set(error, -ENODATA,
                                         "%s is a kernel thread, which has no memory of its own",
                                         args->subject);
                r = proc_exe_read(&sysroot, (pid_t)pid, exe, sizeof(exe));
                slash = r < 0 ? NULL : strrchr(exe, '/');
                return report_on(args, &topology, slash ? slash + 1 : args->subject, &member, 1,
                                 error);
        }
        r = machine_open(args, &machine, error);
        if (r >= 0)
                r = situation_load(&s, error);
        if (r < 0)
                return r;
        running = host_instances_find_subject(&s.instances, args->subject);
        if (!running && s.instances.n_denied > 0 && geteuid() != 0)
                return error_set(error, -EACCES,
                                 "no process or instance '%s' that you may see; run it as root",
                                 args->subject);
        if (!running)
                return refuse_subject(args->subject, error);
        return report_on(args, &machine.topology, running->name, running->members,
                         running->n_members, error);
}
