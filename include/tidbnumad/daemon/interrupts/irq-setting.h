/* What is known of single settings from earlier looks. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Of a setting, from earlier looks; made where there is none. NULL: no memory. */
IrqSetting *irq_setting_get(Interrupts *irq, const SettingKey *key);
const IrqSetting *irq_setting_find(const Interrupts *irq, const SettingKey *key);
void irq_setting_forget(Interrupts *irq, const SettingKey *key);

/* Forgets what is known of vectors and cards that are gone: what has their number or name next is
 * another one. */
void irq_settings_sweep(Interrupts *irq, const IrqHost *host);

/* By the kernel: a device that no policy names any more, or that could not be read, is not in
 * `host`.
 */
bool irq_setting_has_vector(const Interrupts *irq, const IrqHost *host, const SettingKey *key);
