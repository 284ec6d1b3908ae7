/* Settings of the host, a small file for each; and its processor. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/world/host-facts.h"
#include "tidbnumad/world/irq-load.h"
#include "tidbnumad/world/processes.h"

/* Vendors by the names and numbers that processors give them. */
int processor_load(const Sysroot *sysroot, Processor *ret) {
        static const struct {
                const char *name; /* of x86 */
                uint32_t
                        implementer; /* of Arm: MIDR_EL1 in the Arm Architecture Reference Manual */
                ProcessorVendor vendor;
        } vendors[] = {
                { "GenuineIntel", 0, PROCESSOR_INTEL },
                { "AuthenticAMD", 0, PROCESSOR_AMD },
                { "", 0x41, PROCESSOR_ARM },
                { "", 0x48, PROCESSOR_HISILICON },
        };
        Processor p = { .vendor = PROCESSOR_OTHER };
        CpuInfo info;
        int r = cpuinfo_read(sysroot, &info);

        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(vendors); i++)
                if (strcmp(vendors[i].name, info.vendor) == 0 &&
                    vendors[i].implementer == info.implementer)
                        p.vendor = vendors[i].vendor;
        p.family = info.family;
        p.model = info.vendor[0] ? info.model : info.part;
        *ret = p;
        return 0;
}

/* Firmware of Arm numbers sockets as it likes: higher numbers count as not known. */
enum { MEMINFO_MAX = 16384, WORDS_MAX = 256, AUDIT_PACKAGES_MAX = 1024 };

static int read_number(int dir_fd, const char *path) {
        uint64_t value;

        return path_read_u64(dir_fd, INT32_MAX, &value, "%s", path) < 0 ? HOST_FACT_UNKNOWN
                                                                        : (int)value;
}

void host_facts_load(const Sysroot *sysroot, const Topology *topology, HostFacts *ret) {
        const CpuSet cpus = topology_cpus(topology);
        _cleanup_pid_list_ PidList pids = { 0 };
        char text[MEMINFO_MAX], *begin, *end;
        NodeSet packages = { 0 };
        uint32_t package;
        uint64_t total, unused;

        *ret = (HostFacts){
                .numa_balancing = read_number(sysroot->proc_fd, "sys/kernel/numa_balancing"),
                .zone_reclaim_mode = read_number(sysroot->proc_fd, "sys/vm/zone_reclaim_mode"),
                .swappiness = read_number(sysroot->proc_fd, "sys/vm/swappiness"),
                .min_free_kib = read_number(sysroot->proc_fd, "sys/vm/min_free_kbytes"),
                .demotion = HOST_FACT_UNKNOWN,
                /* Unknown in a dump without processes. */
                .irqbalance_known = pid_list_read(sysroot, &pids) >= 0 && pids.n_pids > 0,
                .irqbalance = irq_host_find_irqbalance(sysroot) > 0,
        };
        ID_SET_FOREACH(cpu, &cpus) {
                if (path_read_u32(sysroot->sys_fd, AUDIT_PACKAGES_MAX - 1, &package,
                                  "devices/system/cpu/cpu%d/topology/physical_package_id",
                                  cpu) < 0) {
                        packages = (NodeSet){ 0 };
                        break;
                }
                id_set_add(&packages, package);
        }
        ret->n_packages = id_set_count(&packages);
        /* "true" and "false", as sysfs_emit() writes them; also "1" and "0". */
        if (path_read(sysroot->sys_fd, text, WORDS_MAX, "kernel/mm/numa/demotion_enabled") > 0)
                ret->demotion = *text == 't' || *text == '1'   ? 1
                                : *text == 'f' || *text == '0' ? 0
                                                               : HOST_FACT_UNKNOWN;
        /* Of "always [madvise] never" the word in brackets. */
        if (path_read(sysroot->sys_fd, text, WORDS_MAX, "kernel/mm/transparent_hugepage/enabled") >
            0) {
                begin = strchr(text, '[');
                end = begin ? strchr(begin, ']') : NULL;
                if (end && (size_t)(end - begin) <= sizeof(ret->huge_pages))
                        (void)snprintf(ret->huge_pages, sizeof(ret->huge_pages), "%.*s",
                                       (int)(end - begin - 1), begin + 1);
        }
        if (path_read(sysroot->proc_fd, text, sizeof(text), "meminfo") > 0 &&
            parse_kib_field(text, "\nSwapTotal:", &total) >= 0 &&
            parse_kib_field(text, "\nSwapFree:", &unused) >= 0) {
                ret->swap_known = true;
                ret->swap_used_bytes = total > unused ? total - unused : 0;
        }
        /* The first CPU's governor that is not "performance". */
        ID_SET_FOREACH(cpu, &cpus) {
                char governor[sizeof(ret->governor)];

                if (path_read(sysroot->sys_fd, governor, sizeof(governor),
                              "devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu) <= 0)
                        continue;
                ret->governor_known = true;
                if (strcmp(governor, "performance") == 0)
                        continue;
                (void)snprintf(ret->governor, sizeof(ret->governor), "%s", governor);
                ret->governor_cpu = (uint32_t)cpu;
                break;
        }
        if (!sysroot->live) /* what a dump does not show */
                return;
        ret->kernel_known = true;
        ret->pidfds = proc_has_pidfds();
        /* Units are counted below system.slice wherever the memory controller is in use. */
        ret->numa_stat_known = cgroup_version(sysroot) == CGROUP_V2 &&
                               path_exists(sysroot->cgroup_fd, "system.slice/memory.stat");
        ret->numa_stat = path_exists(sysroot->cgroup_fd, "system.slice/memory.numa_stat");
}
