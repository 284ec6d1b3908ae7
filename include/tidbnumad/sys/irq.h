/* What /proc/irq shows of an interrupt (Documentation/core-api/irq/irq-affinity.rst). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct IrqAffinity {
        CpuSet requested; /* smp_affinity_list */
        bool effective_known;
        CpuSet effective; /* effective_affinity_list; empty on some kernels until it fires */
        bool read_only;   /* the kernel takes no other mask: managed, since Linux 6.12 */
} IrqAffinity;

/* -ENOENT: no such interrupt. */
int irq_affinity_read(const Sysroot *sysroot, uint32_t irq, IrqAffinity *ret);

/* Is that the number of a message-signalled interrupt of the PCI device at this address? */
bool irq_is_of_pci(const Sysroot *sysroot, const char *pci, uint32_t irq);
