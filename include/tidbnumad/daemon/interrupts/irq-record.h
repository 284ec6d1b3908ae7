/* What stood before each change of interrupts: noted in the record, written before the change. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Before the setting is changed for the first time. Negative errno: it may not be changed. */
int irq_record_note(Interrupts *irq, const IrqWish *wish);

/* Takes out what was noted and, as the kernel shows, not changed. */
void irq_record_unnote(Interrupts *irq, const SettingKey *key);

/* Says once that it fails. Nothing may be changed unless this is true. */
bool irq_record_write(Interrupts *irq);
