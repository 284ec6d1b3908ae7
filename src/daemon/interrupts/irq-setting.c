#include <string.h>

#include "tidbnumad/base/array.h"
#include "tidbnumad/daemon/interrupts/irq-setting.h"
#include "tidbnumad/sys/irq.h"

const IrqSetting *irq_setting_find(const Interrupts *irq, const SettingKey *key) {
        for (size_t i = 0; i < irq->n_settings; i++)
                if (setting_key_equal(&irq->settings[i].key, key))
                        return &irq->settings[i];
        return NULL;
}

IrqSetting *irq_setting_get(Interrupts *irq, const SettingKey *key) {
        IrqSetting *s = (IrqSetting *)irq_setting_find(irq, key);
        char *device;

        if (s)
                return s;
        device = strdup(key->device);
        if (!device ||
            ARRAY_RESERVE(irq->settings, irq->settings_allocated, irq->n_settings + 1) < 0) {
                free(device);
                return NULL;
        }
        s = &irq->settings[irq->n_settings++];
        *s = (IrqSetting){ .key = *key };
        s->key.device = device;
        return s;
}

void irq_setting_forget(Interrupts *irq, const SettingKey *key) {
        IrqSetting *s = (IrqSetting *)irq_setting_find(irq, key);

        if (!s)
                return;
        free((char *)s->key.device);
        *s = irq->settings[--irq->n_settings];
}

bool irq_setting_has_vector(const Interrupts *irq, const IrqHost *host, const SettingKey *key) {
        return irq_host_has_vector(host, key) ||
               irq_is_of_pci(&irq->host->sysroot, key->device, key->number);
}

/* A vector whose mask the kernel rejects is not desired any more; keep its state as long as the
 * vector exists. */
static bool is_there(const Interrupts *irq, const IrqHost *host, const SettingKey *key) {
        switch (key->kind) {
        case SETTING_VECTOR:
                return irq_setting_has_vector(irq, host, key);
        case SETTING_XPS:
        case SETTING_RPS:
                return irq_host_find_interface(host, key->ifindex) != NULL;
        default:
                return true;
        }
}

void irq_settings_sweep(Interrupts *irq, const IrqHost *host) {
        for (size_t i = irq->n_settings; i > 0; i--)
                if (!is_there(irq, host, &irq->settings[i - 1].key))
                        irq_setting_forget(irq, &irq->settings[i - 1].key);
}
