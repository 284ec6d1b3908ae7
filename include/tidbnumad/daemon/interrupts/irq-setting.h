/* State of single settings, kept between reconciles. */
#pragma once

#include "tidbnumad/daemon/interrupts/irq.h"

/* Returns the state of a setting, which is created if needed. NULL: no memory. */
IrqSetting *irq_setting_get(Interrupts *irq, const SettingKey *key);
const IrqSetting *irq_setting_find(const Interrupts *irq, const SettingKey *key);
void irq_setting_forget(Interrupts *irq, const SettingKey *key);

/* Removes the state of vectors and cards that are gone: the next one with that number or name is
 * another device. */
void irq_settings_sweep(Interrupts *irq, const IrqHost *host);

/* Does the vector exist in the kernel? `host` lacks devices that no policy names any more, or that
 * could not be read. */
bool irq_setting_has_vector(const Interrupts *irq, const IrqHost *host, const SettingKey *key);
