/* Rules on single instances. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/plan/advice.h"
#include "tidbnumad/plan/audit-rules.h"

static void node_exceeded(const AuditInput *input, const AuditInstance *i, AuditReport *report) {
        const uint64_t bytes = topology_memory_bytes(input->topology, &i->nodes);

        if (i->policy->memory != MEMORY_BIND || i->need_bytes == 0 || bytes == 0)
                return;
        audit_report_hold(report, AUDIT_NODE_EXCEEDED);
        if (i->need_bytes <= bytes)
                return;
        audit_find(report, AUDIT_NODE_EXCEEDED, AUDIT_FAILURE,
                   text_new("policy %s", i->policy->name),
                   text_new("memory: preferred in policy %s, or place.count: 2", i->policy->name),
                   "%s needs %" PRIu64 " MiB, its nodes have %" PRIu64
                   " MiB, and its policy binds memory strictly",
                   i->name, i->need_bytes >> 20, bytes >> 20);
}

/* For its next start as well, and with what others that are bound within the same nodes may still
 * touch there. */
static HugeNeed wanted_within(const AuditInput *input, const AuditInstance *self) {
        HugeNeed need = huge_need_of_restart(self->huge);

        for (size_t k = 0; k < input->n_instances; k++) {
                const AuditInstance *other = &input->instances[k];

                if (other != self && other->placed && other->huge &&
                    other->policy->memory == MEMORY_BIND &&
                    id_set_is_subset(&other->nodes, &self->nodes))
                        huge_need_add_untouched(&need, other->huge);
        }
        return need;
}

static uint64_t pages_of(const AuditInput *input, uint64_t page_bytes, uint32_t node) {
        const HugePool *pool = huge_pools_find(input->pools, page_bytes);

        for (size_t k = 0; pool && k < input->topology->n_nodes; k++)
                if (input->topology->nodes[k].id == node)
                        return pool->n_pages[k];
        return 0;
}

static void huge_pool(const AuditInput *input, const AuditInstance *i, AuditReport *report) {
        const uint32_t node = (uint32_t)id_set_next(&i->nodes, 0);
        char nodes[ID_SET_LIST_MAX], path[128];
        HugeShortage s;
        HugeNeed need;

        if (!input->pools || !i->huge || i->huge->n == 0 || i->policy->memory != MEMORY_BIND)
                return;
        audit_report_hold(report, AUDIT_HUGE_POOL);
        need = wanted_within(input, i);
        if (!huge_pools_lack(input->pools, input->topology, &need, &i->nodes, &s))
                return;
        (void)id_set_render_list(&i->nodes, nodes, sizeof(nodes));
        (void)snprintf(path, sizeof(path),
                       "/sys/devices/system/node/node%" PRIu32 "/hugepages/hugepages-%" PRIu64 "kB",
                       node, s.page_bytes >> 10);
        audit_find(report, AUDIT_HUGE_POOL, AUDIT_WARNING, text_new("%s/free_hugepages", path),
                   text_new("echo %" PRIu64 " >%s/nr_hugepages, or place.count: 2 in policy %s",
                            pages_of(input, s.page_bytes, node) + s.n_wanted - s.n_free, path,
                            i->policy->name),
                   "%s has reserved huge pages of %" PRIu64 " KiB and needs %" PRIu64
                   " more of them on its nodes, for those that it has not touched there: node %s "
                   "has %" PRIu64 " free, others %" PRIu64 ", so its memory is not bound",
                   i->name, s.page_bytes >> 10, s.n_wanted, nodes, s.n_free, s.n_elsewhere);
}

/* Not /sys/block/NAME/device/numa_node: of NVMe that is the controller's class device, whose number
 * is not the firmware's. */
static char *text_of_disk_node(const AuditInput *input, const char *disk) {
        const Device *d = device_list_find(input->devices, DEVICE_DISK, disk);

        return d && d->pci ? text_new("/sys/bus/pci/devices/%s/numa_node", d->pci)
                           : text_new("/sys/block/%s", disk);
}

static void storage_node(const AuditInput *input, const AuditInstance *i, AuditReport *report) {
        char nodes[ID_SET_LIST_MAX];

        if (!i->disk || id_set_is_empty(&i->disk_nodes) || input->topology->n_nodes < 2 ||
            advice_product_of(i->exe) != PRODUCT_TIKV)
                return;
        audit_report_hold(report, AUDIT_STORAGE_NODE);
        if (id_set_intersects(&i->nodes, &i->disk_nodes))
                return;
        (void)id_set_render_list(&i->disk_nodes, nodes, sizeof(nodes));
        audit_find(report, AUDIT_STORAGE_NODE, AUDIT_WARNING, text_of_disk_node(input, i->disk),
                   text_new("place: {near: storage} in policy %s", i->policy->name),
                   "%s is away from its disk %s, which is at node %s", i->name, i->disk, nodes);
}

/* TiKV and PD write the log of each change: two of them wait for each other's disk. */
static bool writes_much(const AuditInstance *i) {
        const AdviceProduct product = advice_product_of(i->exe);

        return i->disk && (product == PRODUCT_TIKV || product == PRODUCT_PD);
}

static void shared_disk(const AuditInput *input, const AuditInstance *i, AuditReport *report) {
        if (!writes_much(i))
                return;
        audit_report_hold(report, AUDIT_SHARED_DISK);
        for (const AuditInstance *o = input->instances; o < i; o++)
                if (writes_much(o) && strcmp(o->disk, i->disk) == 0) {
                        audit_find(report, AUDIT_SHARED_DISK, AUDIT_WARNING,
                                   text_new("/proc/self/mountinfo"),
                                   text_new("a disk for each, or end the one that the cluster "
                                            "has forgotten; else limit the rates: tidbnumactl "
                                            "advise"),
                                   "%s and %s have their data on one disk, %s", o->name, i->name,
                                   i->disk);
                        return;
                }
}

/* What has restricted it, as a part of a sentence. */
static const char *hand_of(const AuditInstance *i, StartSource start) {
        static const char *const texts[N_START_SOURCES] = {
                [START_AFFINITY] = "CPUAffinity= of its unit",
                [START_NUMA] = "NUMAPolicy= and NUMAMask= of its unit",
                [START_NUMACTL] = "numactl in its start",
                [START_TASKSET] = "taskset in its start",
        };

        if (texts[start])
                return texts[start];
        return i->unit && !i->start_known
                       ? "its unit (CPUAffinity=), by numactl or taskset, or by itself (a daemon "
                         "that enforces knows which)"
                       : "taskset, or by itself";
}

static char *hand_remedy(const AuditInstance *i, StartSource start) {
        const char *unit = i->unit ? i->unit : i->name; /* by the unit's start: it has one */

        switch (start) {
        case START_AFFINITY:
                return text_new("remove CPUAffinity= from the unit (systemctl cat %s shows where "
                                "it is), run systemctl daemon-reload, and restart it",
                                unit);
        case START_NUMA:
                return text_new("remove NUMAPolicy= and NUMAMask= from the unit (systemctl cat %s "
                                "shows where they are), run systemctl daemon-reload, and restart "
                                "it",
                                unit);
        case START_NUMACTL:
        case START_TASKSET:
                return text_new("take %s out of its run script, unit or TiUP topology (numa_node, "
                                "numa_cores), and restart it",
                                start_source_to_string(start));
        default:
                return i->unit && !i->start_known
                               ? text_new("take CPUAffinity=, numactl, taskset, numa_node and "
                                          "numa_cores out of its unit, run script or TiUP "
                                          "topology, and restart it")
                               : text_new("restart it without taskset; or end its own setting "
                                          "(HAProxy: cpu-map, TiDB: --affinity-cpus), if that is "
                                          "not intended");
        }
}

static void memory_by_hand(const AuditInstance *i, AuditReport *report) {
        const StartSource start = i->memory_source;

        audit_find(report, AUDIT_BOUND_BY_HAND, AUDIT_WARNING,
                   text_new("/proc/%d/numa_maps", i->pid),
                   start == START_NOTHING
                           ? text_new("take numactl, NUMAPolicy= and numa_node out of its run "
                                      "script, unit or TiUP topology, and restart it")
                           : hand_remedy(i, start),
                   "%s has the memory policy %s of its own%s%s", i->name, i->memory_policy,
                   start == START_NOTHING ? "" : ", by ",
                   start == START_NOTHING ? "" : hand_of(i, start));
}

static void append_set(const char *what, IdView set, Text *text) {
        char list[ID_SET_LIST_MAX] = "";

        if (id_view_next(set, 0) < 0)
                return;
        (void)id_view_render_list(set, list, sizeof(list));
        text_appendf(text, "%s%s %s", text->length > 0 ? " and " : "", what, list);
}

static void cpuset_by_hand(const AuditInstance *i, AuditReport *report) {
        _cleanup_text_ Text sets = { 0 };

        append_set("CPUs", ID_VIEW(&i->by_hand.cpuset_cpus), &sets);
        append_set("memory nodes", ID_VIEW(&i->by_hand.cpuset_nodes), &sets);
        if (sets.error < 0)
                report->error = sets.error;
        if (sets.error < 0 || sets.length == 0)
                return;
        audit_find(report, AUDIT_BOUND_BY_HAND, AUDIT_WARNING, text_new("/proc/%d/status", i->pid),
                   i->unit ? text_new("remove AllowedCPUs= and AllowedMemoryNodes= from the unit "
                                      "(systemctl cat %s shows where they are), or name these "
                                      "nodes in policy %s",
                                      i->unit, i->policy->name)
                           : text_new("take it out of that cgroup, or name these nodes in "
                                      "policy %s",
                                      i->policy->name),
                   "%s is bound to %s by %s, not by tidbnumad", i->name, sets.data,
                   i->unit ? "AllowedCPUs= or AllowedMemoryNodes= of its unit"
                           : "the cpuset of its cgroup");
}

static void threads_by_hand(const AuditInstance *i, AuditReport *report) {
        const StartSource start = i->by_hand.start;
        char cpus[ID_SET_LIST_MAX] = "";

        if (id_set_is_empty(&i->by_hand.thread_cpus))
                return;
        (void)id_set_render_list(&i->by_hand.thread_cpus, cpus, sizeof(cpus));
        audit_find(report, AUDIT_BOUND_BY_HAND, AUDIT_WARNING, text_new("/proc/%d/status", i->pid),
                   hand_remedy(i, start), "%s is bound to CPUs %s by %s, not by tidbnumad", i->name,
                   cpus, hand_of(i, start));
}

/* The daemon cannot change a memory policy that a process has set itself, and the kernel (6.2 and
 * later) keeps the CPUs that a thread has chosen. */
static void bound_by_hand(const AuditInstance *i, AuditReport *report) {
        if (i->pid == 0)
                return;
        audit_report_hold(report, AUDIT_BOUND_BY_HAND);
        cpuset_by_hand(i, report);
        threads_by_hand(i, report);
        if (i->memory_policy)
                memory_by_hand(i, report);
}

static void reserved_cpus(const AuditInput *input, const AuditInstance *i, AuditReport *report) {
        const bool listed = id_set_intersects(&i->cpus, &input->reserved_cpus);
        CpuSet taken = i->allowed_cpus;
        char cpus[ID_SET_LIST_MAX] = "";

        id_set_intersect(&taken, &input->reserved_cpus);
        if (i->pid == 0 || id_set_is_empty(&input->reserved_cpus))
                return;
        audit_report_hold(report, AUDIT_RESERVED_CPUS);
        if (id_set_is_empty(&taken))
                return;
        (void)id_set_render_list(&taken, cpus, sizeof(cpus));
        audit_find(report, AUDIT_RESERVED_CPUS, AUDIT_WARNING, text_new("/proc/%d/status", i->pid),
                   listed ? text_new("take these CPUs out of `cpus` in policy %s", i->policy->name)
                          : text_new("let the daemon bind it: enforcement: {mode: enforce} "
                                     "in a policy file; else see tidbnumactl explain %s",
                                     i->name),
                   "%s may run on CPUs %s, which host.reserve.cpus keeps for interrupts", i->name,
                   cpus);
}

static void gomaxprocs(const AuditInstance *i, AuditReport *report) {
        const CpuSet left = by_hand_left(&i->by_hand, &i->cpus);
        const uint32_t n = id_set_count(&left);
        char *remedy;

        if (n == 0 || (i->gomaxprocs == 0 && i->go == GO_UNKNOWN))
                return;
        audit_report_hold(report, AUDIT_GOMAXPROCS);
        if (i->gomaxprocs > 0 ? i->gomaxprocs == n : i->go != GO_ONCE || !i->bound_after_start)
                return;
        remedy = text_new("GOMAXPROCS=%" PRIu32 " in its environment, and a restart", n);
        if (i->gomaxprocs > 0)
                audit_find(report, AUDIT_GOMAXPROCS, AUDIT_WARNING,
                           i->gomaxprocs_reported ? text_new("its metrics")
                                                  : text_new("/proc/%d/environ", i->pid),
                           remedy, "%s runs with GOMAXPROCS=%" PRIu32 " and has %" PRIu32 " CPUs",
                           i->name, i->gomaxprocs, n);
        else
                audit_find(report, AUDIT_GOMAXPROCS, AUDIT_WARNING,
                           text_new("/proc/%d/exe", i->pid), remedy,
                           "%s was built with Go 1.24 or earlier and started before it was bound: "
                           "it still counts on the CPUs that it had then",
                           i->name);
}

static void lost_cpus(const AuditInput *input, const AuditInstance *i, AuditReport *report) {
        CpuSet lost = topology_withheld_cpus(input->topology);
        char cpus[ID_SET_LIST_MAX] = "";

        id_set_subtract(&lost, &input->topology->taken_cpus);
        id_set_intersect(&lost, &i->cpus);
        audit_report_hold(report, AUDIT_LOST_CPUS);
        if (id_set_is_empty(&lost))
                return;
        (void)id_set_render_list(&lost, cpus, sizeof(cpus));
        audit_find(report, AUDIT_LOST_CPUS, AUDIT_WARNING,
                   text_new("/sys/devices/system/cpu/isolated"),
                   text_new("boot without isolcpus= and nohz_full= for them, or leave them "
                            "out by `cpus` in policy %s",
                            i->policy->name),
                   "CPUs %s of %s are isolated: the kernel does not balance threads over "
                   "them",
                   cpus, i->name);
}

static void judge(const AuditInput *input, const AuditInstance *i, AuditReport *report) {
        node_exceeded(input, i, report);
        huge_pool(input, i, report);
        storage_node(input, i, report);
        bound_by_hand(i, report);
        reserved_cpus(input, i, report);
        gomaxprocs(i, report);
        lost_cpus(input, i, report);
}

/* A node that cannot be read, or whose CPUs are another node's, leaves CPUs without a node; these
 * count as offline in the topology. */
static bool has_untrusted_node(const Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (topology->nodes[i].overlaps)
                        return true;
        return !id_set_is_empty(&topology->lost_nodes);
}

static void offline_cpus(const AuditInput *input, AuditReport *report) {
        char cpus[ID_SET_LIST_MAX] = "";

        if (id_set_is_empty(&input->topology->offline_cpus))
                return;
        (void)id_set_render_list(&input->topology->offline_cpus, cpus, sizeof(cpus));
        audit_find(report, AUDIT_LOST_CPUS, AUDIT_WARNING,
                   text_new("/sys/devices/system/cpu/offline"),
                   text_new("echo 1 >/sys/devices/system/cpu/cpu%d/online, and so on; leave them "
                            "if they are off on purpose (SMT)",
                            id_set_next(&input->topology->offline_cpus, 0)),
                   "CPUs %s are offline%s", cpus,
                   has_untrusted_node(input->topology) ? ", or no node lists them" : "");
}

static void taken_cpus(const AuditInput *input, AuditReport *report) {
        const Topology *t = input->topology;
        char cpus[ID_SET_LIST_MAX] = "";

        if (id_set_is_empty(&t->taken_cpus))
                return;
        (void)id_set_render_list(&t->taken_cpus, cpus, sizeof(cpus));
        audit_find(report, AUDIT_LOST_CPUS, AUDIT_WARNING,
                   text_new("/sys/fs/cgroup%s/cpuset.cpus.partition", t->taken_by),
                   text_new("echo member >/sys/fs/cgroup%s/cpuset.cpus.partition, if nothing needs "
                            "it; else leave these CPUs out of the policies",
                            *t->taken_by ? t->taken_by : "/GROUP"),
                   "CPUs %s are taken by a cpuset partition%s%s: nothing else runs on them", cpus,
                   *t->taken_by ? ", " : "", t->taken_by);
}

static void starts(const AuditInput *input, AuditReport *report) {
        if (input->units)
                audit_report_hold(report, AUDIT_START);
        for (size_t i = 0; i < input->n_units; i++)
                audit_find(report, AUDIT_START, AUDIT_WARNING, text_new("%s", input->units[i].name),
                           text_new("%s", input->units[i].remedy), "%s does not start bound: %s",
                           input->units[i].name, input->units[i].reason);
}

void audit_instances(const AuditInput *input, AuditReport *report) {
        offline_cpus(input, report);
        taken_cpus(input, report);
        starts(input, report);
        for (size_t i = 0; i < input->n_instances; i++) {
                if (input->instances[i].placed)
                        judge(input, &input->instances[i], report);
                shared_disk(input, &input->instances[i], report);
        }
}
