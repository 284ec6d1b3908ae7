/* Interrupts of the machine's devices, from /sys and /proc. */
#pragma once

#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/sys/sysroot.h"

/* Real network cards, bonds and teams, NVMe controllers on PCI, and what the policies name by
 * its PCI address; each with the vectors of its PCI function (msi_irqs) and what the kernel
 * shows of them. Where several cards share a function, a vector belongs to the card with its
 * handler's name, else to the first one. A card in another network namespace is there by its PCI
 * device. What a dump lacks stays unknown. Of irqbalance only the pid is set. 0, -ENOMEM,
 * -EMFILE or -ENFILE. */
int irq_host_load(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                  IrqHost *ret);

/* The first function loads the same without irqbalance, for which all processes must be read; the
 * second finds only irqbalance. 0: irqbalance does not run. */
int irq_host_load_devices(const Sysroot *sysroot, const IrqPolicy *policies, size_t n_policies,
                          IrqHost *ret);
pid_t irq_host_find_irqbalance(const Sysroot *sysroot);

/* `name` is the text of /proc/interrupts, `device` the interface or controller ("eth0", "nvme0").
 * Names that no known driver gives are IRQ_ROLE_OTHER; -1 where there is no queue. Of several
 * handlers the first counts. */
IrqRole irq_name_parse(DeviceKind kind, const char *device, const char *name, int32_t *ret_queue);

/* Does the name hold the device's as a whole word? "eth1-TxRx-0" holds "eth1" and not "eth". */
bool irq_name_holds(const char *name, const char *device);
