/* One look's writes: of what is wanted, and of what is given back. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Of a setting, from earlier looks; made where there is none. NULL: no memory. */
IrqSetting *irq_setting_get(Irq *irq, const SettingKey *key);
const IrqSetting *irq_setting_find(const Irq *irq, const SettingKey *key);
void irq_setting_forget(Irq *irq, const SettingKey *key);

/* Forgets what is known of vectors and cards that are gone: what has their number or name next is
 * another one. */
void irq_settings_sweep(Manager *manager, const IrqHost *host);

/* Writes what does not stand, each after the record. */
void irq_put_on(Manager *manager, const IrqHost *host, const IrqWishes *wishes);

/* Gives back what is in the record and not in `wishes`. */
void irq_give_back(Manager *manager, const IrqHost *host, const IrqWishes *wishes);

/* For messages: "eth0: interrupt 24 (eth0-rx-0)", "eth0: transmit queue 0". */
void irq_describe(const IrqHost *host, const SettingKey *key, char *buffer, size_t size);
