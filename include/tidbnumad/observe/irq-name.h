/* What a vector is for, by the name that its driver gave to the handler. */
#pragma once

#include "tidbnumad/model/irq.h"

/* `name` is the text of /proc/interrupts, `device` the interface or controller ("eth0", "nvme0").
 * Names that no known driver gives are IRQ_ROLE_OTHER; -1 where there is no queue. Of several
 * handlers the first counts. */
IrqRole irq_name_parse(IrqDeviceKind kind, const char *device, const char *name,
                       int32_t *ret_queue);

/* Does the name hold the device's as a whole word? "eth1-TxRx-0" holds "eth1" and not "eth". */
bool irq_name_holds(const char *name, const char *device);
