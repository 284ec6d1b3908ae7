/* Settings of the host, a small file for each; and its processor. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/parse.h"
#include "tidbnumad/sys/cgroup.h"
#include "tidbnumad/sys/node.h"
#include "tidbnumad/world/host-facts.h"
#include "tidbnumad/world/irq-load.h"
#include "tidbnumad/world/processes.h"

/* --- processor --- */

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

/* --- host-facts --- */

/* Settings of the host: a small file for each. */

/* Firmware of Arm numbers sockets as it likes: higher numbers count as not known. */
enum { MEMINFO_MAX = 16384, WORDS_MAX = 256, AUDIT_PACKAGES_MAX = 1024 };

static int read_number(int dir_fd, const char *path) {
        char buffer[32];
        uint64_t value;

        if (path_read(dir_fd, buffer, sizeof(buffer), "%s", path) <= 0 ||
            parse_u64(buffer, &value) < 0 || value > INT32_MAX)
                return HOST_FACT_UNKNOWN;
        return (int)value;
}

/* "true" and "false", as sysfs_emit() writes them; also "1" and "0". */
static int read_switch(int dir_fd, const char *path) {
        char buffer[16];

        if (path_read(dir_fd, buffer, sizeof(buffer), "%s", path) <= 0)
                return HOST_FACT_UNKNOWN;
        return *buffer == 't' || *buffer == '1'   ? 1
               : *buffer == 'f' || *buffer == '0' ? 0
                                                  : HOST_FACT_UNKNOWN;
}

/* Of "always [madvise] never" the word in brackets. */
static void read_choice(int dir_fd, const char *path, char *ret, size_t size) {
        char buffer[WORDS_MAX], *begin, *end;

        if (path_read(dir_fd, buffer, sizeof(buffer), "%s", path) <= 0)
                return;
        begin = strchr(buffer, '[');
        end = begin ? strchr(begin, ']') : NULL;
        if (end && (size_t)(end - begin) <= size)
                (void)snprintf(ret, size, "%.*s", (int)(end - begin - 1), begin + 1);
}

static void read_swap(const Sysroot *sysroot, HostFacts *ret) {
        char buffer[MEMINFO_MAX];
        uint64_t total, unused;

        if (path_read(sysroot->proc_fd, buffer, sizeof(buffer), "meminfo") <= 0 ||
            parse_kib_field(buffer, "\nSwapTotal:", &total) < 0 ||
            parse_kib_field(buffer, "\nSwapFree:", &unused) < 0)
                return;
        ret->swap_known = true;
        ret->swap_used_bytes = total > unused ? total - unused : 0;
}

static void read_governors(const Sysroot *sysroot, const CpuSet *cpus, HostFacts *ret) {
        ID_SET_FOREACH(cpu, cpus) {
                char path[96], governor[sizeof(ret->governor)];

                (void)snprintf(path, sizeof(path),
                               "devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
                if (path_read(sysroot->sys_fd, governor, sizeof(governor), "%s", path) <= 0)
                        continue;
                ret->governor_known = true;
                if (strcmp(governor, "performance") == 0)
                        continue;
                (void)snprintf(ret->governor, sizeof(ret->governor), "%s", governor);
                ret->governor_cpu = (uint32_t)cpu;
                return;
        }
}

/* What a dump does not show. Units are counted below system.slice wherever the memory controller is
 * in use. */
static void read_kernel(const Sysroot *sysroot, HostFacts *ret) {
        if (!sysroot->live)
                return;
        ret->kernel_known = true;
        ret->pidfds = proc_has_pidfds();
        ret->numa_stat_known =
                cgroup_version(sysroot) == CGROUP_V2 &&
                faccessat(sysroot->cgroup_fd, "system.slice/memory.stat", F_OK, 0) == 0;
        ret->numa_stat =
                faccessat(sysroot->cgroup_fd, "system.slice/memory.numa_stat", F_OK, 0) == 0;
}

static uint32_t count_packages(const Sysroot *sysroot, const CpuSet *cpus) {
        NodeSet packages = { 0 };

        ID_SET_FOREACH(cpu, cpus) {
                char path[96];
                int package;

                (void)snprintf(path, sizeof(path),
                               "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
                package = read_number(sysroot->sys_fd, path);
                if (package < 0 || package >= (int)AUDIT_PACKAGES_MAX)
                        return 0;
                id_set_add(&packages, (uint32_t)package);
        }
        return id_set_count(&packages);
}

/* Unknown in a dump without processes. */
static void read_irqbalance(const Sysroot *sysroot, HostFacts *ret) {
        _cleanup_pid_list_ PidList pids = { 0 };

        ret->irqbalance_known = pid_list_read(sysroot, &pids) >= 0 && pids.n_pids > 0;
        ret->irqbalance = irq_host_find_irqbalance(sysroot) > 0;
}

void host_facts_load(const Sysroot *sysroot, const Topology *topology, HostFacts *ret) {
        const CpuSet cpus = topology_cpus(topology);

        *ret = (HostFacts){
                .numa_balancing = read_number(sysroot->proc_fd, "sys/kernel/numa_balancing"),
                .zone_reclaim_mode = read_number(sysroot->proc_fd, "sys/vm/zone_reclaim_mode"),
                .swappiness = read_number(sysroot->proc_fd, "sys/vm/swappiness"),
                .n_packages = count_packages(sysroot, &cpus),
        };
        ret->demotion = read_switch(sysroot->sys_fd, "kernel/mm/numa/demotion_enabled");
        read_choice(sysroot->sys_fd, "kernel/mm/transparent_hugepage/enabled", ret->huge_pages,
                    sizeof(ret->huge_pages));
        read_irqbalance(sysroot, ret);
        read_swap(sysroot, ret);
        read_governors(sysroot, &cpus, ret);
        read_kernel(sysroot, ret);
}
