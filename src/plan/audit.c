/* The rules of the audit, by their subject. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/model/match.h"
#include "tidbnumad/plan/advice.h"
#include "tidbnumad/plan/audit.h"
#include "tidbnumad/plan/irq.h"
#include "tidbnumad/plan/placement.h"

typedef struct Audit {
        const AuditInput *in;
        AuditReport report;
        NodeSet nodes; /* of the instances that are placed, as `cpus` */
        CpuSet cpus;
        bool strict; /* a policy binds memory strictly */
        AdviceReport advice;
} Audit;

/* Adds a finding: a failure where memory that is to be bound strictly cannot be, else a warning.
 * Takes over `where` and `remedy`; NULL: no memory, which the report keeps. */
_printf_(5, 6) static void audit_find(Audit *a, AuditRule rule, char *where, char *remedy,
                                      const char *format, ...) {
        const bool fails = rule == AUDIT_NODE_EXCEEDED || (rule == AUDIT_CPUSET && a->strict);
        AuditFinding finding = { .rule = rule,
                                 .state = fails ? AUDIT_FAILURE : AUDIT_WARNING,
                                 .where = where,
                                 .remedy = remedy };
        va_list arguments;

        va_start(arguments, format);
        finding.found = text_newv(format, arguments);
        va_end(arguments);
        (void)audit_report_add(&a->report, &finding);
}

/* Is there a text to report? */
static bool audit_has(Audit *a, const Text *text) {
        if (text->error < 0)
                a->report.error = text->error;
        return text->error >= 0 && text->length > 0;
}

static void audit_hold(Audit *a, AuditRule rule) {
        audit_report_hold(&a->report, rule);
}

static bool is_placed(const ServerInstance *i) {
        return !id_set_is_empty(&i->nodes);
}

static Product audit_product(const ServerInstance *i) {
        return match_product(i->exe, &i->policy->match, i->unit);
}

enum { SIZE_SLACK_PERCENT = 10, SIZE_SLACK_MIB = 128 };

static void audit_hidden_nodes(Audit *a) {
        const uint32_t sockets = a->in->facts ? a->in->facts->n_packages : 0;
        const size_t nodes = a->in->topology->n_nodes;

        if (sockets == 0)
                return;
        audit_hold(a, AUDIT_HIDDEN_NODES);
        if (nodes >= sockets)
                return;
        audit_find(a, AUDIT_HIDDEN_NODES, text_new("/sys/devices/system/node/online"),
                   text_new("in the firmware enable NUMA (AMD: NPS4 or NPS2; Intel: no node "
                            "interleaving), and boot without numa=off"),
                   "the machine has %" PRIu32 " sockets and shows %zu node%s: remote memory is "
                   "there, and nothing can be bound to avoid it",
                   sockets, nodes, nodes == 1 ? "" : "s");
}

/* Can an instance be placed there that has no other memory? Without any policy: yes. */
static bool policies_bind_memory_to(const PolicySet *set, uint32_t node) {
        bool written = false;

        for (size_t i = 0; i < set->n_policies; i++) {
                const Policy *p = &set->policies[i];

                written |= !p->built_in;
                if (!p->built_in && p->memory == MEMORY_BIND &&
                    !id_set_has(&p->place.avoid, node) &&
                    (id_set_is_empty(&p->place.nodes) || id_set_has(&p->place.nodes, node)))
                        return true;
        }
        return !written;
}

static void audit_node_sizes(Audit *a) {
        const Node *large = NULL, *small = NULL;
        bool known = false;
        uint64_t slack_bytes;

        for (size_t i = 0; i < a->in->topology->n_nodes; i++) {
                const Node *node = &a->in->topology->nodes[i];

                if (!topology_is_home(node) || node->memory_unknown || node->memory_bytes == 0)
                        continue;
                known = true;
                if (!policies_bind_memory_to(a->in->policies, node->id))
                        continue;
                large = large && large->memory_bytes >= node->memory_bytes ? large : node;
                small = small && small->memory_bytes <= node->memory_bytes ? small : node;
        }
        if (!known || a->in->topology->n_nodes < 2)
                return;
        audit_hold(a, AUDIT_NODE_SIZES);
        if (!large)
                return;
        slack_bytes = large->memory_bytes / 100 * SIZE_SLACK_PERCENT;
        if (slack_bytes < (uint64_t)SIZE_SLACK_MIB << 20)
                slack_bytes = (uint64_t)SIZE_SLACK_MIB << 20;
        if (large->memory_bytes - small->memory_bytes <= slack_bytes)
                return;
        audit_find(a, AUDIT_NODE_SIZES,
                   text_new("/sys/devices/system/node/node%" PRIu32 "/meminfo", small->id),
                   text_new("equip the nodes equally; until then place.avoid: [%" PRIu32
                            "] or memory: preferred for what needs more",
                            small->id),
                   "node %" PRIu32 " has %" PRIu64 " MiB of memory, node %" PRIu32 " %" PRIu64
                   " MiB",
                   small->id, small->memory_bytes >> 20, large->id, large->memory_bytes >> 20);
}

/* Also nodes with CPUs and no memory at all. */
static void audit_nodes_without_memory(Audit *a) {
        _cleanup_text_ Text found = { 0 };

        topology_append_unused(a->in->topology, &a->nodes, &found);
        if (audit_has(a, &found))
                audit_find(a, AUDIT_NODE_SIZES, text_new("/sys/devices/system/node/node*/meminfo"),
                           text_new("put memory into the slots of each node"), "%s", found.data);
}

static void audit_trust(Audit *a) {
        audit_hold(a, AUDIT_TOPOLOGY);
        for (unsigned i = 0; i < TOPOLOGY_NOTES; i++) {
                _cleanup_text_ Text note = { 0 };

                topology_append_note(a->in->topology, i, &note);
                if (audit_has(a, &note))
                        audit_find(
                                a, AUDIT_TOPOLOGY, text_new("/sys/devices/system/node"),
                                text_new(
                                        "ask the vendor for a firmware that describes the machine"),
                                "%s", note.data);
        }
}

/* --- rules on settings of the host --- */

enum { SWAPPINESS_MAX = 10 };

/* Documentation/admin-guide/sysctl/kernel.rst: bits. */
enum { BALANCING_NORMAL = 1, BALANCING_TIERS = 2 };

static void audit_sysctls_at_most(Audit *a, const HostFacts *facts) {
        const struct {
                AuditRule rule;
                const char *key;
                int value, max;
        } rows[] = {
                { AUDIT_ZONE_RECLAIM, "vm.zone_reclaim_mode", facts->zone_reclaim_mode, 0 },
                { AUDIT_SWAP, "vm.swappiness", facts->swappiness, SWAPPINESS_MAX },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                if (rows[i].value == HOST_FACT_UNKNOWN)
                        continue;
                audit_hold(a, rows[i].rule);
                if (rows[i].value <= rows[i].max)
                        continue;
                audit_find(
                        a, rows[i].rule, text_new("/proc/sys/vm/%s", strchr(rows[i].key, '.') + 1),
                        text_new("sysctl -w %s=%d", rows[i].key, rows[i].max),
                        "%s is %d; expected at most %d", rows[i].key, rows[i].value, rows[i].max);
        }
}

enum { MIN_FREE_NODE_MIB = 1024, MIN_FREE_MOST_PART = 20, MIN_FREE_HOST_MIB = 16384 };

static void audit_min_free(Audit *a, const HostFacts *facts) {
        const Topology *topology = a->in->topology;
        uint64_t mib = 0, wanted_mib = 0;

        for (size_t i = 0; i < topology->n_nodes; i++) {
                mib += topology->nodes[i].memory_bytes >> 20;
                wanted_mib += topology_is_home(&topology->nodes[i]) ? MIN_FREE_NODE_MIB : 0;
        }
        if (wanted_mib > mib / MIN_FREE_MOST_PART)
                wanted_mib = mib / MIN_FREE_MOST_PART;
        if (facts->min_free_kib == HOST_FACT_UNKNOWN || mib == 0)
                return;
        audit_hold(a, AUDIT_MIN_FREE);
        if (mib < MIN_FREE_HOST_MIB || (uint64_t)facts->min_free_kib >= wanted_mib << 10)
                return;
        audit_find(a, AUDIT_MIN_FREE, text_new("/proc/sys/vm/min_free_kbytes"),
                   text_new("sysctl -w vm.min_free_kbytes=%" PRIu64, wanted_mib << 10),
                   "vm.min_free_kbytes is %d, which is divided among the nodes; expected at least "
                   "%" PRIu64 ": where a node is nearly full, allocations wait for reclaim",
                   facts->min_free_kib, wanted_mib << 10);
}

static void audit_numa_balancing(Audit *a, const HostFacts *facts) {
        const int value = facts->numa_balancing;

        if (value == HOST_FACT_UNKNOWN)
                return;
        audit_hold(a, AUDIT_NUMA_BALANCING);
        if (value & BALANCING_NORMAL)
                audit_find(
                        a, AUDIT_NUMA_BALANCING, text_new("/proc/sys/kernel/numa_balancing"),
                        text_new("sysctl -w kernel.numa_balancing=%d", value & ~BALANCING_NORMAL),
                        "the kernel's own NUMA balancing is on (kernel.numa_balancing is %d): it "
                        "moves pages that are already where they should be",
                        value);
        else if (value & BALANCING_TIERS)
                audit_find(a, AUDIT_NUMA_BALANCING, text_new("/proc/sys/kernel/numa_balancing"),
                           text_new("sysctl -w kernel.numa_balancing=0, unless slow memory (CXL, "
                                    "NVM) is there to be used"),
                           "the kernel moves pages between fast and slow memory "
                           "(kernel.numa_balancing is %d, memory tiering): it takes page faults "
                           "for that, and fills the fast nodes",
                           value);
}

/* Demotion does not look at cpusets before Linux 6.16 (vmscan.c, demote_folio_list()). */
static void audit_demotion(Audit *a, const HostFacts *facts) {
        const Topology *topology = a->in->topology;
        bool slow = false;

        for (size_t i = 0; i < topology->n_nodes; i++)
                slow |= id_set_is_empty(&topology->nodes[i].cpus) &&
                        topology_has_memory(&topology->nodes[i]);
        if (facts->demotion != 1 || !slow)
                return;
        audit_find(
                a, AUDIT_NUMA_BALANCING, text_new("/sys/kernel/mm/numa/demotion_enabled"),
                text_new("echo 0 >/sys/kernel/mm/numa/demotion_enabled"),
                "where memory is short, the kernel moves pages to slower nodes (demotion_enabled); "
                "before Linux 6.16 also those of instances that are bound strictly to others");
}

static void audit_swap(Audit *a, const HostFacts *facts) {
        if (facts->swap_known)
                audit_hold(a, AUDIT_SWAP);
        if (facts->swap_used_bytes == 0)
                return;
        audit_find(a, AUDIT_SWAP, text_new("/proc/meminfo"), text_new("swapoff -a"),
                   "%" PRIu64 " MiB of swap are in use", facts->swap_used_bytes >> 20);
}

static void audit_huge_pages(Audit *a, const HostFacts *facts) {
        const char *value = facts->huge_pages;

        if (!*value)
                return;
        audit_hold(a, AUDIT_HUGE_PAGES);
        if (strcmp(value, "never") == 0)
                return;
        audit_find(a, AUDIT_HUGE_PAGES, text_new("/sys/kernel/mm/transparent_hugepage/enabled"),
                   text_new("echo never >/sys/kernel/mm/transparent_hugepage/enabled"),
                   "transparent huge pages are '%s'; TiDB and TiKV want 'never'", value);
}

static void audit_governor(Audit *a, const HostFacts *facts) {
        if (!facts->governor_known)
                return;
        audit_hold(a, AUDIT_GOVERNOR);
        if (!*facts->governor)
                return;
        audit_find(a, AUDIT_GOVERNOR,
                   text_new("/sys/devices/system/cpu/cpu%" PRIu32 "/cpufreq/scaling_governor",
                            facts->governor_cpu),
                   text_new("cpupower frequency-set -g performance"),
                   "the frequency governor of CPU %" PRIu32 " is '%s'; expected 'performance'",
                   facts->governor_cpu, facts->governor);
}

static void audit_cpuset(Audit *a, const HostFacts *facts) {
        const char *closed = facts->cpuset_closed;

        if (!facts->cpuset_known)
                return;
        audit_hold(a, AUDIT_CPUSET);
        if (facts->cpuset)
                return;
        audit_find(a, AUDIT_CPUSET, text_new("%s", *closed ? closed : "/sys/fs/cgroup"),
                   *closed ? text_new("do not mount it there (TuneD, Slurm and others do), so that "
                                      "systemd has the controller; or let tidbnumad.service write "
                                      "to it: ReadWritePaths=%s",
                                      closed)
                           : text_new("boot a kernel with CONFIG_CPUSETS and without "
                                      "cgroup_disable=cpuset"),
                   "the cpuset controller is %s: CPUs are bound thread by thread, and memory is "
                   "only preferred%s",
                   *closed ? "in a hierarchy of cgroup v1 that tidbnumad cannot write to"
                           : "not available",
                   a->strict ? ", although a policy has memory: bind" : "");
}

static void audit_kernel(Audit *a, const HostFacts *facts) {
        if (facts->kernel_known)
                audit_hold(a, AUDIT_KERNEL);
        if (facts->kernel_known && !facts->pidfds)
                audit_find(a, AUDIT_KERNEL, text_new("pidfd_open(2)"),
                           text_new("boot Linux 5.3 or later; nothing else depends on it"),
                           "the kernel has no pidfd_open: the end of a process is noticed up to "
                           "0.5 s late");
        if (facts->numa_stat_known && !facts->numa_stat)
                audit_find(a, AUDIT_KERNEL,
                           text_new("/sys/fs/cgroup/system.slice/memory.numa_stat"),
                           text_new("boot Linux 5.10 or later, or use cgroup v1"),
                           "the kernel does not count the memory of control groups by node: where "
                           "it is located is sampled");
}

/* --- rules on network cards, disks and their interrupts --- */

enum { SOFTIRQ_PERCENT = 10, IRQBALANCE_WANTED_MBPS = 10000, IRQBALANCE_UNWANTED_MBPS = 100000 };

/* In a guest no device has a node: one finding for all, and only for those on which something
 * depends. */
static void audit_unknown_nodes(Audit *a) {
        const PolicySet *set = a->in->policies;
        const WordList *cards = &set->host.reserve.devices;
        /* Does something of the policies depend on where network cards are? */
        bool wants_cards = set->n_irqs > 0 || set->host.reserve.kind == RESERVE_NIC ||
                           set->host.reserve.cpus > 0;
        _cleanup_text_ Text names = { 0 };
        const Device *first = NULL;

        if (a->in->topology->n_nodes < 2 || a->in->devices->n_devices == 0)
                return;
        audit_hold(a, AUDIT_DEVICE_NODE);
        for (size_t i = 0; i < set->n_policies; i++)
                wants_cards |= set->policies[i].place.near == NEAR_NIC;
        for (size_t i = 0; i < a->in->devices->n_devices; i++) {
                const Device *d = &a->in->devices->devices[i];
                bool matters =
                        wants_cards && d->kind == DEVICE_NET &&
                        (set->n_irqs > 0 ||
                         device_is_nic(d, (const char *const *)cards->words, cards->n_words));

                /* A disk matters where an instance has its data on it. */
                for (size_t k = 0; d->kind == DEVICE_DISK && k < a->in->n_instances; k++)
                        matters |=
                                a->in->instances[k].disks &&
                                device_list_find(a->in->instances[k].disks, DEVICE_DISK, d->name);
                if (d->node != DEVICE_NODE_UNKNOWN || !d->pci || d->virtual_function || !matters)
                        continue;
                text_appendf(&names, "%s%s", first ? ", " : "", d->name);
                first = first ? first : d;
        }
        if (!audit_has(a, &names))
                return;
        audit_find(a, AUDIT_DEVICE_NODE, text_new("/sys/bus/pci/devices/%s/numa_node", first->pci),
                   text_new("update the firmware; until then name the node: host.reserve.nodes for "
                            "a network card, place.nodes for what uses a disk"),
                   "the firmware does not report the node of %s", names.data);
}

/* Instances on the node that serves the network's interrupts, although another node is free.
 * Where that node has CPUs for the interrupts, it is meant to be shared. */
static void audit_nic_node(Audit *a) {
        const char *remedy = id_set_intersects(&a->in->reserved, &a->in->nic_nodes)
                                     ? "its policy names that node: change place.nodes or instances"
                                     : "host: {reserve: {nodes: nic}} in a policy file";
        const CpuSet cpus = topology_cpus_of(a->in->topology, &a->in->nic_nodes);
        const NodeSet homes = topology_homes(a->in->topology);

        if (id_set_is_empty(&a->in->nic_nodes) || a->in->n_instances == 0)
                return;
        audit_hold(a, AUDIT_NIC_NODE);
        if (id_set_intersects(&cpus, &a->in->reserved_cpus) || id_set_is_subset(&homes, &a->nodes))
                return;
        for (size_t i = 0; i < a->in->n_instances; i++) {
                const ServerInstance *instance = &a->in->instances[i];

                if (!id_set_intersects(&instance->nodes, &a->in->nic_nodes))
                        continue;
                audit_find(a, AUDIT_NIC_NODE, text_new("/sys/class/net/*/device/numa_node"),
                           text_new("%s", remedy),
                           "%s is on the node of the network card, and another node is free",
                           instance->name);
        }
}

/* Soft interrupts' share of a node's CPU time between two readings, in percent. */
static void audit_softirq(Audit *a) {
        for (size_t i = 0; a->in->nodes && i < a->in->topology->n_nodes; i++) {
                const NodeCounters *before = &a->in->nodes_before[i], *now = &a->in->nodes[i];
                const Node *node = &a->in->topology->nodes[i];
                const CpuSet reserved = id_set_and(&node->cpus, &a->in->reserved_cpus);
                const double percent = 100 * node_softirq_ratio(before, now);

                if (isnan(percent) || percent < 0 || !id_set_has(&a->nodes, node->id))
                        continue;
                audit_hold(a, AUDIT_SOFTIRQ);
                if (percent <=
                    SOFTIRQ_PERCENT + 100.0 * id_set_count(&reserved) / id_set_count(&node->cpus))
                        continue;
                audit_find(a, AUDIT_SOFTIRQ, text_new("/proc/stat"),
                           text_new("host.reserve and an entry of irq in a policy file: the "
                                    "network gets CPUs of its own"),
                           "soft interrupts take %.0f %% of the CPU time of node %" PRIu32
                           ", where instances are",
                           percent, node->id);
        }
}

static void audit_interrupts(Audit *a) {
        const CpuSet cpus = id_set_minus(&a->cpus, &a->in->reserved_cpus);

        if (!a->in->irqs || a->in->n_instances == 0)
                return;
        audit_hold(a, AUDIT_IRQ);
        for (size_t i = 0; i < a->in->irqs->n_devices; i++) {
                const IrqDevice *d = &a->in->irqs->devices[i];
                uint32_t n = 0;

                for (size_t k = 0; d->kind == DEVICE_NET && k < d->n_vectors; k++)
                        n += d->vectors[k].effective_known &&
                             id_set_intersects(&d->vectors[k].effective, &cpus);
                /* A card of another network namespace is left alone. */
                if (n == 0 || d->in_other_netns ||
                    irq_policy_find(a->in->policies->irqs, a->in->policies->n_irqs, d))
                        continue;
                audit_find(
                        a, AUDIT_IRQ, text_new("/proc/irq/*/effective_affinity_list"),
                        text_new("an entry in a policy file: irq: [{match: {net: %s}}]", d->name),
                        "%" PRIu32 " interrupt%s of %s %s served by CPUs of instances, and no "
                        "policy steers %s",
                        n, n == 1 ? "" : "s", d->name, n == 1 ? "is" : "are",
                        n == 1 ? "it" : "them");
        }
}

static void audit_irqbalance(Audit *a) {
        uint32_t mbps = 0; /* of the fastest card */
        bool wanted, runs;

        for (size_t i = 0; i < a->in->devices->n_devices; i++) {
                const Device *d = &a->in->devices->devices[i];

                if (d->kind == DEVICE_NET && d->speed_mbps > mbps)
                        mbps = d->speed_mbps;
        }
        if (!a->in->facts || !a->in->facts->irqbalance_known || mbps == 0)
                return;
        audit_hold(a, AUDIT_IRQBALANCE);
        runs = a->in->facts->irqbalance;
        wanted = mbps <= IRQBALANCE_WANTED_MBPS;
        if (a->in->policies->n_irqs > 0 || runs == wanted ||
            (!wanted && mbps < IRQBALANCE_UNWANTED_MBPS))
                return;
        audit_find(a, AUDIT_IRQBALANCE, text_new("/proc"),
                   wanted ? text_new("systemctl enable --now irqbalance")
                          : text_new("an entry of irq in a policy file, which bans the card's "
                                     "interrupts at irqbalance"),
                   "irqbalance %s, with a network card of %" PRIu32 " Gbit/s",
                   runs ? "runs" : "does not run", mbps / 1000);
}

/* --- rules on single instances --- */

/* What it takes by itself, of each of its nodes; 0: what it needs is known, or nothing by itself.
 */
static uint64_t taken_of_node(const Audit *a, const ServerInstance *i) {
        const ProductInfo *info = product_info(audit_product(i));
        const uint32_t n = id_set_count(&i->nodes);
        uint64_t seen = 0, taken;
        const char *asked;

        if (n == 0 || i->policy->memory == MEMORY_NONE || (i->pid == 0 && i->need_bytes > 0))
                return 0;
        for (size_t k = 0; k < a->in->topology->n_nodes; k++)
                if (__builtin_add_overflow(seen, a->in->topology->nodes[k].memory_bytes, &seen))
                        return 0;
        if (i->limit_bytes > 0 && i->limit_bytes < seen)
                seen = i->limit_bytes;
        /* TiKV says what it has settled on, by its own settings too. */
        asked = server_report_find(&i->said, "memory-usage-limit");
        if (asked && server_setting_parse(asked, &taken) >= 0 && taken > 0)
                return taken / n;
        return seen / 100 * info->takes_percent / n;
}

static void append_size(uint64_t bytes, Text *text) {
        const bool large = bytes >= UINT64_C(16) << 30;

        text_appendf(text, "%" PRIu64 " %s", bytes >> (large ? 30 : 20), large ? "GiB" : "MiB");
}

/* Without settings of their own, except for those that they were asked for. Servers that are on
 * several nodes are named once. */
static void audit_server_sizes(Audit *a) {
        _cleanup_text_ Text before = { 0 }, found = { 0 };

        for (size_t k = 0; k < a->in->topology->n_nodes; k++) {
                const Node *node = &a->in->topology->nodes[k];
                _cleanup_text_ Text names = { 0 };
                uint64_t sum = 0;

                for (size_t i = 0; i < a->in->n_instances; i++) {
                        const ServerInstance *instance = &a->in->instances[i];
                        const uint64_t taken = id_set_has(&instance->nodes, node->id)
                                                       ? taken_of_node(a, instance)
                                                       : 0;

                        if (taken > 0)
                                text_appendf(&names, "%s%s", names.length > 0 ? ", " : "",
                                             instance->name);
                        sum += taken;
                }
                if (sum == 0 || node->memory_unknown)
                        continue;
                audit_hold(a, AUDIT_SERVER_SIZES);
                if (sum <= node->memory_bytes || text_equal(names.data, before.data))
                        continue;
                text_appendf(&found, "%s%s up to ", found.length > 0 ? "; " : "",
                             text_string(&names));
                append_size(sum, &found);
                text_appendf(&found, " of node %" PRIu32 " with ", node->id);
                append_size(node->memory_bytes, &found);
                text_reset(&before);
                text_append(&before, names.data);
        }
        if (audit_has(a, &found))
                audit_find(a, AUDIT_SERVER_SIZES,
                           text_new("/sys/devices/system/node/node*/meminfo"),
                           text_new("the sizes that tidbnumactl advise shows, or MemoryMax= in "
                                    "their units, by which they size themselves when they start"),
                           "servers size themselves for more than their nodes have: %s",
                           text_string(&found));
}

static void audit_node_exceeded(Audit *a, const ServerInstance *i) {
        const uint64_t bytes = topology_memory_bytes(a->in->topology, &i->nodes);

        if (i->policy->memory != MEMORY_BIND || i->need_bytes == 0 || bytes == 0)
                return;
        audit_hold(a, AUDIT_NODE_EXCEEDED);
        if (i->need_bytes <= bytes)
                return;
        audit_find(a, AUDIT_NODE_EXCEEDED, text_new("policy %s", i->policy->name),
                   text_new("memory: preferred in policy %s, or place.count: 2", i->policy->name),
                   "%s needs %" PRIu64 " MiB, its nodes have %" PRIu64
                   " MiB, and its policy binds memory strictly",
                   i->name, i->need_bytes >> 20, bytes >> 20);
}

static void audit_huge_pool(Audit *a, const ServerInstance *i) {
        const uint32_t node = (uint32_t)id_set_next(&i->nodes, 0);
        char path[128];
        const HugePool *pool;
        uint64_t n_pages = 0; /* of the first node */
        HugeShortage s;
        HugeNeed need;

        if (!a->in->pools || i->huge.n == 0 || i->policy->memory != MEMORY_BIND)
                return;
        audit_hold(a, AUDIT_HUGE_POOL);
        /* For its next start as well, and with what others that are bound within the same nodes may
         * still touch there. */
        need = huge_need_of_restart(&i->huge);
        for (size_t k = 0; k < a->in->n_instances; k++) {
                const ServerInstance *other = &a->in->instances[k];

                if (other != i && is_placed(other) && other->policy->memory == MEMORY_BIND &&
                    id_set_is_subset(&other->nodes, &i->nodes))
                        huge_need_add_untouched(&need, &other->huge);
        }
        if (!huge_pools_lack(a->in->pools, a->in->topology, &need, &i->nodes, &s))
                return;
        pool = huge_pools_find(a->in->pools, s.page_bytes);
        for (size_t k = 0; pool && k < a->in->topology->n_nodes; k++)
                if (a->in->topology->nodes[k].id == node)
                        n_pages = pool->n_pages[k];
        (void)snprintf(path, sizeof(path),
                       "/sys/devices/system/node/node%" PRIu32 "/hugepages/hugepages-%" PRIu64 "kB",
                       node, s.page_bytes >> 10);
        audit_find(a, AUDIT_HUGE_POOL, text_new("%s/free_hugepages", path),
                   text_new("echo %" PRIu64 " >%s/nr_hugepages, or place.count: 2 in policy %s",
                            n_pages + s.n_wanted - s.n_free, path, i->policy->name),
                   "%s has reserved huge pages of %" PRIu64 " KiB and needs %" PRIu64
                   " more of them on its nodes, for those that it has not touched there: node %s "
                   "has %" PRIu64 " free, others %" PRIu64 ", so its memory is not bound",
                   i->name, s.page_bytes >> 10, s.n_wanted, id_set_list(&i->nodes), s.n_free,
                   s.n_elsewhere);
}

static char *storage_remedy(const PolicySet *policies, const ServerInstance *i) {
        const Place *place = &i->policy->place;

        if (place->near != NEAR_STORAGE)
                return text_new("place: {near: storage} in policy %s", i->policy->name);
        if (placement_is_explicit(i->policy, i->unit, i->ports, i->n_ports) ||
            id_set_is_subset(&i->storage_nodes, &place->avoid) ||
            (!id_set_is_empty(&place->nodes) &&
             !id_set_intersects(&i->storage_nodes, &place->nodes)))
                return text_new("policy %s keeps it away from that node: change place.nodes, "
                                "place.avoid or instances",
                                i->policy->name);
        if (policies->host.reserve.strict || i->policy->cpus.choice == CPUS_LIST)
                return text_new("tidbnumactl explain %s shows what keeps it away from that node: "
                                "cpus in policy %s, or host.reserve.strict",
                                i->name, i->policy->name);
        /* It was bound before its disk was known, or to other nodes by hand. */
        return text_new("tidbnumactl replan %s", i->name);
}

static void audit_storage_node(Audit *a, const ServerInstance *i) {
        const Device *disk;

        if (!i->device || id_set_is_empty(&i->storage_nodes) || a->in->topology->n_nodes < 2 ||
            audit_product(i) != PRODUCT_TIKV)
                return;
        audit_hold(a, AUDIT_STORAGE_NODE);
        if (id_set_intersects(&i->nodes, &i->storage_nodes))
                return;
        /* Not /sys/block/NAME/device/numa_node: of NVMe that is the controller's
         * class device, whose number is not the firmware's. */
        disk = device_list_find(a->in->devices, DEVICE_DISK, i->device);
        audit_find(a, AUDIT_STORAGE_NODE,
                   disk && disk->pci ? text_new("/sys/bus/pci/devices/%s/numa_node", disk->pci)
                                     : text_new("/sys/block/%s", i->device),
                   storage_remedy(a->in->policies, i),
                   "%s is away from its disk %s, which is at node %s", i->name, i->device,
                   id_set_list(&i->storage_nodes));
}

/* TiKV and PD write the log of each change: two of them wait for each other's disk. */
static bool writes_much(const ServerInstance *i) {
        const Product product = audit_product(i);

        return i->device && (product == PRODUCT_TIKV || product == PRODUCT_PD);
}

static void audit_shared_disk(Audit *a) {
        for (size_t k = 0; k < a->in->n_instances; k++) {
                const ServerInstance *i = &a->in->instances[k], *other = a->in->instances;

                if (!writes_much(i))
                        continue;
                audit_hold(a, AUDIT_SHARED_DISK);
                while (other < i && !(writes_much(other) && strcmp(other->device, i->device) == 0))
                        other++;
                if (other == i)
                        continue;
                audit_find(a, AUDIT_SHARED_DISK, text_new("/proc/self/mountinfo"),
                           text_new("a disk for each, or end the one that the cluster has "
                                    "forgotten; else limit the rates: tidbnumactl advise"),
                           "%s and %s have their data on one disk, %s", other->name, i->name,
                           i->device);
        }
}

/* What has restricted it, as a part of a sentence. */
static const char *hand_of(const ServerInstance *i, StartSource start) {
        static const char *const texts[N_START_SOURCES] = {
                [START_AFFINITY] = "CPUAffinity= of its unit",
                [START_NUMA] = "NUMAPolicy= and NUMAMask= of its unit",
                [START_NUMACTL] = "numactl in its start",
                [START_TASKSET] = "taskset in its start",
        };

        if (texts[start])
                return texts[start];
        return i->unit && !i->start_known ? "its unit (CPUAffinity=), by numactl or taskset, or by "
                                            "itself (a daemon that enforces knows which)"
                                          : "taskset, or by itself";
}

static char *hand_remedy(const ServerInstance *i, StartSource start) {
        const char *unit = i->unit ? i->unit : i->name; /* by the unit's start: it has one */

        switch (start) {
        case START_AFFINITY:
        case START_NUMA:
                return text_new("remove %s from the unit (systemctl cat %s shows where %s), run "
                                "systemctl daemon-reload, and restart it",
                                start == START_NUMA ? "NUMAPolicy= and NUMAMask=" : "CPUAffinity=",
                                unit, start == START_NUMA ? "they are" : "it is");
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
                                          "(HAProxy: cpu-map, or numa-cpu-mapping, which is its "
                                          "default; TiDB: --affinity-cpus), if that is not "
                                          "intended");
        }
}

static void append_set(const char *what, IdView set, Text *text) {
        char list[ID_SET_LIST_MAX];

        if (id_view_next(set, 0) >= 0)
                text_appendf(text, "%s%s %s", text->length > 0 ? " and " : "", what,
                             id_view_list(set, list));
}

/* The daemon cannot change a memory policy that a process has set itself, and the kernel (6.2 and
 * later) keeps the CPUs that a thread has chosen. */
static void audit_bound_by_hand(Audit *a, const ServerInstance *i) {
        const StartSource start = i->by_hand.start, memory_start = i->memory_source;
        _cleanup_text_ Text sets = { 0 };

        if (i->pid == 0)
                return;
        audit_hold(a, AUDIT_BOUND_BY_HAND);
        append_set("CPUs", ID_VIEW(&i->by_hand.cpuset_cpus), &sets);
        append_set("memory nodes", ID_VIEW(&i->by_hand.cpuset_nodes), &sets);
        if (audit_has(a, &sets))
                audit_find(
                        a, AUDIT_BOUND_BY_HAND, text_new("/proc/%d/status", i->pid),
                        i->unit ? text_new("remove AllowedCPUs= and AllowedMemoryNodes= from "
                                           "the unit (systemctl cat %s shows where they are), or "
                                           "name these nodes in policy %s",
                                           i->unit, i->policy->name)
                                : text_new("take it out of that cgroup, or name these nodes in "
                                           "policy %s",
                                           i->policy->name),
                        "%s is bound to %s by %s, not by tidbnumad", i->name, sets.data,
                        i->unit ? "AllowedCPUs= or AllowedMemoryNodes= of its unit"
                                : "the cpuset of its cgroup");
        if (!id_set_is_empty(&i->by_hand.thread_cpus))
                audit_find(a, AUDIT_BOUND_BY_HAND, text_new("/proc/%d/status", i->pid),
                           hand_remedy(i, start), "%s is bound to CPUs %s by %s, not by tidbnumad",
                           i->name, id_set_list(&i->by_hand.thread_cpus), hand_of(i, start));
        if (i->memory_policy && memory_start == START_NOTHING)
                audit_find(
                        a, AUDIT_BOUND_BY_HAND, text_new("/proc/%d/numa_maps", i->pid),
                        text_new("take numactl, NUMAPolicy= and numa_node out of its run script, "
                                 "unit or TiUP topology, and restart it"),
                        "%s has the memory policy %s of its own", i->name, i->memory_policy);
        else if (i->memory_policy)
                audit_find(a, AUDIT_BOUND_BY_HAND, text_new("/proc/%d/numa_maps", i->pid),
                           hand_remedy(i, memory_start),
                           "%s has the memory policy %s of its own, by %s", i->name,
                           i->memory_policy, hand_of(i, memory_start));
}

static void audit_reserved_cpus(Audit *a, const ServerInstance *i) {
        const bool listed = id_set_intersects(&i->cpus, &a->in->reserved_cpus);
        const CpuSet taken = id_set_and(&i->allowed_cpus, &a->in->reserved_cpus);

        if (i->pid == 0 || id_set_is_empty(&a->in->reserved_cpus))
                return;
        audit_hold(a, AUDIT_RESERVED_CPUS);
        if (id_set_is_empty(&taken))
                return;
        audit_find(a, AUDIT_RESERVED_CPUS, text_new("/proc/%d/status", i->pid),
                   listed ? text_new("take these CPUs out of `cpus` in policy %s", i->policy->name)
                          : text_new("let the daemon bind it: enforcement: {mode: enforce} in a "
                                     "policy file; else see tidbnumactl explain %s",
                                     i->name),
                   "%s may run on CPUs %s, which host.reserve.cpus keeps for interrupts", i->name,
                   id_set_list(&taken));
}

static void audit_gomaxprocs(Audit *a, const ServerInstance *i) {
        const CpuSet left = by_hand_left(&i->by_hand, &i->cpus);
        const uint32_t n_left = id_set_count(&left);
        const uint32_t quota = server_quota_cpus(i, false), most = server_quota_cpus(i, true);
        const uint32_t n = quota < n_left ? quota : n_left;
        /* What advise wants of a server that shares its CPUs. */
        const uint32_t share = a->advice.subjects[i - a->in->instances].cpu_share;
        const uint32_t least = share < n ? share : n;
        char *remedy;

        if (n == 0 || (i->gomaxprocs == 0 && i->go == GO_UNKNOWN))
                return;
        audit_hold(a, AUDIT_GOMAXPROCS);
        if (i->gomaxprocs > 0
                    ? i->gomaxprocs >= least && i->gomaxprocs <= (most < n_left ? most : n_left)
                    : i->go != GO_ONCE || !i->bound_after_start)
                return;
        remedy = text_new("GOMAXPROCS=%" PRIu32 " in its environment, and a restart", least);
        if (i->gomaxprocs > 0)
                audit_find(a, AUDIT_GOMAXPROCS,
                           i->gomaxprocs_reported ? text_new("its metrics")
                                                  : text_new("/proc/%d/environ", i->pid),
                           remedy, "%s runs with GOMAXPROCS=%" PRIu32 " and has %" PRIu32 " CPUs",
                           i->name, i->gomaxprocs, n);
        else
                audit_find(a, AUDIT_GOMAXPROCS, text_new("/proc/%d/exe", i->pid), remedy,
                           "%s was built with Go 1.24 or earlier and started before it was bound: "
                           "it still counts on the CPUs that it had then",
                           i->name);
}

/* TiKV makes its read pool when it starts, of 80 % of the CPUs that it sees then and at least 4
 * threads (UnifiedReadPoolConfig). */
static void audit_kept_pools(Audit *a, const ServerInstance *i) {
        const uint32_t n = id_set_count(&i->cpus), most = n > 4 ? n : 4;

        if (i->n_read_threads == 0 || n == 0)
                return;
        audit_hold(a, AUDIT_KEPT_POOLS);
        if (i->n_read_threads <= most)
                return;
        audit_find(a, AUDIT_KEPT_POOLS, text_new("/proc/%d/task/*/comm", i->pid),
                   text_new("a restart of %s, or readpool.unified.max-thread-count = %" PRIu32
                            ", which can be set while it runs",
                            i->unit ? i->unit : i->name, n * 8 / 10 > 4 ? n * 8 / 10 : 4),
                   "%s has %zu threads for reads, as for the CPUs that it had when it started, and "
                   "%" PRIu32 " CPU%s",
                   i->name, i->n_read_threads, n, n == 1 ? "" : "s");
}

/* Judged of the TiKV servers that were asked. */
static void audit_labels(Audit *a) {
        const char *locations = NULL;
        _cleanup_text_ Text names = { 0 };
        size_t n = 0, n_asked = 0;

        for (size_t i = 0; i < a->in->n_instances; i++) {
                const ServerInstance *instance = &a->in->instances[i];

                n += audit_product(instance) == PRODUCT_TIKV;
                if (audit_product(instance) == PRODUCT_PD && !locations)
                        locations = server_report_find(&instance->said, SERVER_LOCATION_LABELS);
        }
        for (size_t i = 0; n > 1 && i < a->in->n_instances; i++) {
                const ServerInstance *instance = &a->in->instances[i];

                if (audit_product(instance) != PRODUCT_TIKV || instance->said.n_settings == 0)
                        continue;
                n_asked++;
                if (!server_report_tells_host(&instance->said, locations))
                        text_appendf(&names, "%s%s", names.length > 0 ? ", " : "", instance->name);
        }
        if (n_asked == 0)
                return;
        audit_hold(a, AUDIT_LABELS);
        if (audit_has(a, &names))
                audit_find(
                        a, AUDIT_LABELS, text_new("their settings"),
                        text_new("server.labels.host in each, the name of this host, and host in "
                                 "PD's replication.location-labels"),
                        "%zu TiKV servers are on this host, and %s ha%s no label that names it: "
                        "PD may put two replicas of a region here",
                        n, text_string(&names), strchr(text_string(&names), ',') ? "ve" : "s");
        if (locations && locations[0] == '\0')
                audit_find(a, AUDIT_LABELS, text_new("the settings of PD"),
                           text_new("pd-ctl config set location-labels host"),
                           "%zu TiKV servers are on this host, and PD has no labels by which it "
                           "keeps replicas on different hosts",
                           n);
}

static void audit_lost_cpus(Audit *a, const ServerInstance *i) {
        CpuSet lost = topology_withheld_cpus(a->in->topology);

        id_set_subtract(&lost, &a->in->topology->taken_cpus);
        id_set_intersect(&lost, &i->cpus);
        audit_hold(a, AUDIT_LOST_CPUS);
        if (id_set_is_empty(&lost))
                return;
        audit_find(a, AUDIT_LOST_CPUS, text_new("/sys/devices/system/cpu/isolated"),
                   text_new("boot without isolcpus= and nohz_full= for them, or leave them out by "
                            "`cpus` in policy %s",
                            i->policy->name),
                   "CPUs %s of %s are isolated: the kernel does not balance threads over them",
                   id_set_list(&lost), i->name);
}

static void audit_offline_cpus(Audit *a) {
        /* A node that cannot be read, or whose CPUs are another node's, leaves CPUs
         * without a node; these count as offline in the topology. */
        bool untrusted = !id_set_is_empty(&a->in->topology->lost_nodes);

        if (id_set_is_empty(&a->in->topology->offline_cpus))
                return;
        for (size_t i = 0; i < a->in->topology->n_nodes; i++)
                untrusted |= a->in->topology->nodes[i].overlaps;
        audit_find(a, AUDIT_LOST_CPUS, text_new("/sys/devices/system/cpu/offline"),
                   text_new("echo 1 >/sys/devices/system/cpu/cpu%d/online, and so on; leave them "
                            "if they are off on purpose (SMT)",
                            id_set_next(&a->in->topology->offline_cpus, 0)),
                   "CPUs %s are offline%s", id_set_list(&a->in->topology->offline_cpus),
                   untrusted ? ", or no node lists them" : "");
}

/* Of nodes on which instances are, the CPUs that these do not get: nothing runs there, perhaps by
 * an old command line of the kernel. */
static void audit_isolated_cpus(Audit *a) {
        const CpuSet withheld = topology_withheld_cpus(a->in->topology);
        CpuSet lost = topology_cpus_of(a->in->topology, &a->nodes);

        id_set_intersect(&lost, &withheld);
        id_set_subtract(&lost, &a->in->topology->taken_cpus);
        id_set_subtract(&lost, &a->cpus);
        if (id_set_is_empty(&lost))
                return;
        audit_find(
                a, AUDIT_LOST_CPUS, text_new("/sys/devices/system/cpu/isolated"),
                text_new("boot without isolcpus= and nohz_full= for them; leave them if they are "
                         "isolated on purpose"),
                "CPUs %s are isolated: the instances on their nodes do not use them",
                id_set_list(&lost));
}

static void audit_taken_cpus(Audit *a) {
        const Topology *t = a->in->topology;

        if (id_set_is_empty(&t->taken_cpus))
                return;
        audit_find(a, AUDIT_LOST_CPUS,
                   text_new("/sys/fs/cgroup%s/cpuset.cpus.partition", t->taken_by),
                   text_new("echo member >/sys/fs/cgroup%s/cpuset.cpus.partition, if nothing needs "
                            "it; else leave these CPUs out of the policies",
                            *t->taken_by ? t->taken_by : "/GROUP"),
                   "CPUs %s are taken by a cpuset partition%s%s: nothing else runs on them",
                   id_set_list(&t->taken_cpus), *t->taken_by ? ", " : "", t->taken_by);
}

static void audit_starts(Audit *a) {
        if (a->in->units)
                audit_hold(a, AUDIT_START);
        for (size_t i = 0; i < a->in->n_units; i++) {
                const AuditUnit *u = &a->in->units[i];
                _cleanup_text_ Text remedy = { 0 };

                reason_append_remedy(&remedy, u->code, u->name);
                audit_find(a, AUDIT_START, text_new("%s", u->name),
                           text_new("%s", text_string(&remedy)), "%s does not start bound: %s",
                           u->name, u->reason);
        }
}

/* --- all rules, in the order of their findings --- */

static void (*const rules_of_facts[])(Audit *a, const HostFacts *facts) = {
        audit_numa_balancing,  audit_demotion, audit_min_free, audit_huge_pages, audit_swap,
        audit_sysctls_at_most, audit_governor, audit_kernel,   audit_cpuset,
};

static void (*const rules_of_machine[])(Audit *a) = {
        audit_server_sizes, audit_hidden_nodes,  audit_node_sizes,   audit_nodes_without_memory,
        audit_trust,        audit_unknown_nodes, audit_nic_node,     audit_softirq,
        audit_interrupts,   audit_irqbalance,    audit_offline_cpus, audit_isolated_cpus,
        audit_taken_cpus,   audit_starts,        audit_labels,       audit_shared_disk,
};

/* Of an instance that is placed. */
static void (*const rules_of_instance[])(Audit *a, const ServerInstance *i) = {
        audit_node_exceeded, audit_huge_pool,  audit_storage_node, audit_bound_by_hand,
        audit_reserved_cpus, audit_gomaxprocs, audit_kept_pools,   audit_lost_cpus,
};

int audit_build(const AuditInput *input, AuditReport *ret) {
        const PolicySet *set = input->policies;
        Audit a = { .in = input };
        int r = advice_build(&(AdviceInput){ .topology = input->topology,
                                             .instances = input->instances,
                                             .n_instances = input->n_instances },
                             &a.advice);

        if (r < 0)
                return r;
        for (size_t i = 0; i < set->n_policies; i++)
                a.strict |= !set->policies[i].built_in && set->policies[i].memory == MEMORY_BIND;
        for (size_t i = 0; i < input->n_instances; i++)
                if (is_placed(&input->instances[i])) {
                        id_set_union(&a.nodes, &input->instances[i].nodes);
                        id_set_union(&a.cpus, &input->instances[i].cpus);
                }
        for (size_t k = 0; input->facts && k < ELEMENTSOF(rules_of_facts); k++)
                rules_of_facts[k](&a, input->facts);
        for (size_t k = 0; k < ELEMENTSOF(rules_of_machine); k++)
                rules_of_machine[k](&a);
        for (size_t i = 0; i < input->n_instances; i++) {
                const ServerInstance *instance = &input->instances[i];

                for (size_t k = 0; is_placed(instance) && k < ELEMENTSOF(rules_of_instance); k++)
                        rules_of_instance[k](&a, instance);
        }
        advice_report_done(&a.advice);
        r = a.report.error;
        if (r < 0)
                audit_report_done(&a.report);
        else
                *ret = a.report;
        return r;
}
