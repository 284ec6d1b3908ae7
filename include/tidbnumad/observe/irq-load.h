/* Interrupts of the machine's devices, from /sys and /proc. */
#pragma once

#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/sysroot.h"

/* Real network cards, bonds and teams, NVMe controllers on PCI, and what the policies name by its
 * PCI address; each with the vectors of its PCI function (msi_irqs) and what the kernel tells of
 * them. Where several cards share a function, a vector is that one's whose name its handler bears,
 * else the first one's. A card in another network namespace is there by its PCI device. What a
 * dump lacks stays unknown. Nothing is told of irqbalance but its pid. 0, -ENOMEM, -EMFILE or
 * -ENFILE. */
int irq_host_load(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                  IrqHost *ret);

/* The same without irqbalance, which is a look at all processes; and that look alone. 0: it does
 * not run. */
int irq_host_load_devices(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                          IrqHost *ret);
pid_t irq_host_find_irqbalance(const Sysroot *sysroot);
