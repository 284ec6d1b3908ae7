/* Vendors by the names and numbers that processors give them. */
#include <string.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/cpuinfo.h"
#include "tidbnumad/world/processor.h"

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
