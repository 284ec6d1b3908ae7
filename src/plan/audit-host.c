/* Rules on settings of the host. */
#include <inttypes.h>
#include <string.h>

#include "tidbnumad/plan/audit-rules.h"

enum { SWAPPINESS_MAX = 10 };

/* Documentation/admin-guide/sysctl/kernel.rst: bits. */
enum { BALANCING_NORMAL = 1, BALANCING_TIERS = 2 };

static void number(AuditReport *report, AuditRule rule, const char *key, int value, int max) {
        char path[64];

        if (value == HOST_FACT_UNKNOWN)
                return;
        audit_report_hold(report, rule);
        if (value <= max)
                return;
        for (size_t i = 0; i <= strlen(key) && i < sizeof(path); i++)
                path[i] = key[i] == '.' ? '/' : key[i];
        audit_find(report, rule, AUDIT_WARNING, text_new("/proc/sys/%s", path),
                   text_new("sysctl -w %s=%d", key, max), "%s is %d; expected at most %d", key,
                   value, max);
}

static void numa_balancing(const AuditInput *input, AuditReport *report) {
        const int value = input->facts->numa_balancing;

        if (value == HOST_FACT_UNKNOWN)
                return;
        audit_report_hold(report, AUDIT_NUMA_BALANCING);
        if (value & BALANCING_NORMAL)
                audit_find(
                        report, AUDIT_NUMA_BALANCING, AUDIT_WARNING,
                        text_new("/proc/sys/kernel/numa_balancing"),
                        text_new("sysctl -w kernel.numa_balancing=%d", value & ~BALANCING_NORMAL),
                        "the kernel's own NUMA balancing is on (kernel.numa_balancing is %d): it "
                        "moves pages that are already where they should be",
                        value);
        else if (value & BALANCING_TIERS)
                audit_find(report, AUDIT_NUMA_BALANCING, AUDIT_WARNING,
                           text_new("/proc/sys/kernel/numa_balancing"),
                           text_new("sysctl -w kernel.numa_balancing=0, unless slow memory (CXL, "
                                    "NVM) is there to be used"),
                           "the kernel moves pages between fast and slow memory "
                           "(kernel.numa_balancing is %d, memory tiering): it takes page faults "
                           "for that, and fills the fast nodes",
                           value);
}

static bool has_slow_memory(const Topology *topology) {
        for (size_t i = 0; i < topology->n_nodes; i++)
                if (id_set_is_empty(&topology->nodes[i].cpus) &&
                    topology_has_memory(&topology->nodes[i]))
                        return true;
        return false;
}

/* Demotion does not look at cpusets before Linux 6.16 (vmscan.c, demote_folio_list()). */
static void demotion(const AuditInput *input, AuditReport *report) {
        if (input->facts->demotion != 1 || !has_slow_memory(input->topology))
                return;
        audit_find(report, AUDIT_NUMA_BALANCING, AUDIT_WARNING,
                   text_new("/sys/kernel/mm/numa/demotion_enabled"),
                   text_new("echo 0 >/sys/kernel/mm/numa/demotion_enabled"),
                   "where memory is short, the kernel moves pages to slower nodes "
                   "(demotion_enabled); before Linux 6.16 also those of instances that are bound "
                   "strictly to others");
}

static void swap(const AuditInput *input, AuditReport *report) {
        const HostFacts *facts = input->facts;

        if (facts->swap_known)
                audit_report_hold(report, AUDIT_SWAP);
        if (facts->swap_used_bytes == 0)
                return;
        audit_find(report, AUDIT_SWAP, AUDIT_WARNING, text_new("/proc/meminfo"),
                   text_new("swapoff -a"), "%" PRIu64 " MiB of swap are in use",
                   facts->swap_used_bytes >> 20);
}

static void huge_pages(const AuditInput *input, AuditReport *report) {
        const char *value = input->facts->huge_pages;

        if (!*value)
                return;
        audit_report_hold(report, AUDIT_HUGE_PAGES);
        if (strcmp(value, "never") == 0)
                return;
        audit_find(report, AUDIT_HUGE_PAGES, AUDIT_WARNING,
                   text_new("/sys/kernel/mm/transparent_hugepage/enabled"),
                   text_new("echo never "
                            ">/sys/kernel/mm/transparent_hugepage/enabled"),
                   "transparent huge pages are '%s'; TiDB and TiKV want 'never'", value);
}

static void governor(const AuditInput *input, AuditReport *report) {
        const HostFacts *facts = input->facts;

        if (!facts->governor_known)
                return;
        audit_report_hold(report, AUDIT_GOVERNOR);
        if (!*facts->governor)
                return;
        audit_find(report, AUDIT_GOVERNOR, AUDIT_WARNING,
                   text_new("/sys/devices/system/cpu/cpu%" PRIu32 "/cpufreq/scaling_governor",
                            facts->governor_cpu),
                   text_new("cpupower frequency-set -g performance"),
                   "the frequency governor of CPU %" PRIu32 " is '%s'; expected 'performance'",
                   facts->governor_cpu, facts->governor);
}

static bool wants_memory(const PolicySet *policies) {
        for (size_t i = 0; i < policies->n_policies; i++)
                if (!policies->policies[i].built_in && policies->policies[i].memory == MEMORY_BIND)
                        return true;
        return false;
}

static void cpuset(const AuditInput *input, AuditReport *report) {
        const bool wanted = wants_memory(input->policies);

        if (!input->facts->cpuset_known)
                return;
        audit_report_hold(report, AUDIT_CPUSET);
        if (input->facts->cpuset)
                return;
        if (*input->facts->cpuset_closed) {
                audit_find(report, AUDIT_CPUSET, wanted ? AUDIT_FAILURE : AUDIT_WARNING,
                           text_new("%s", input->facts->cpuset_closed),
                           text_new("do not mount it there (TuneD, Slurm and others do), so that "
                                    "systemd has the controller; or let tidbnumad.service write "
                                    "to it: ReadWritePaths=%s",
                                    input->facts->cpuset_closed),
                           "the cpuset controller is in a hierarchy of cgroup v1 that tidbnumad "
                           "cannot write to: CPUs are bound thread by thread, and memory is only "
                           "preferred%s",
                           wanted ? ", although a policy has memory: bind" : "");
                return;
        }
        audit_find(report, AUDIT_CPUSET, wanted ? AUDIT_FAILURE : AUDIT_WARNING,
                   text_new("/sys/fs/cgroup"),
                   text_new("boot a kernel with CONFIG_CPUSETS and without "
                            "cgroup_disable=cpuset"),
                   "the cpuset controller is not available: CPUs are bound thread by "
                   "thread, and memory is only preferred%s",
                   wanted ? ", although a policy has memory: bind" : "");
}

static void kernel(const AuditInput *input, AuditReport *report) {
        const HostFacts *facts = input->facts;

        if (facts->kernel_known)
                audit_report_hold(report, AUDIT_KERNEL);
        if (facts->kernel_known && !facts->pidfds)
                audit_find(report, AUDIT_KERNEL, AUDIT_WARNING, text_new("pidfd_open(2)"),
                           text_new("boot Linux 5.3 or later; nothing else depends on it"),
                           "the kernel has no pidfd_open: the end of a process is noticed up "
                           "to 0.5 s late");
        if (facts->numa_stat_known && !facts->numa_stat)
                audit_find(report, AUDIT_KERNEL, AUDIT_WARNING,
                           text_new("/sys/fs/cgroup/system.slice/memory.numa_stat"),
                           text_new("boot Linux 5.10 or later, or use cgroup v1"),
                           "the kernel does not count the memory of control groups by node: "
                           "where it is located is sampled");
}

void audit_host(const AuditInput *input, AuditReport *report) {
        const HostFacts *facts = input->facts;

        if (!facts)
                return;
        numa_balancing(input, report);
        demotion(input, report);
        number(report, AUDIT_ZONE_RECLAIM, "vm.zone_reclaim_mode", facts->zone_reclaim_mode, 0);
        huge_pages(input, report);
        swap(input, report);
        number(report, AUDIT_SWAP, "vm.swappiness", facts->swappiness, SWAPPINESS_MAX);
        governor(input, report);
        kernel(input, report);
        cpuset(input, report);
}
