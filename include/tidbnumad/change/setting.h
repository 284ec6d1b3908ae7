/* Settings of the kernel that belong to no process, model/irq.h lists them: reads and writes single
 * ones. Their record is that of the host, see record.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/model/irq.h"
#include "tidbnumad/sys/sysroot.h"

/* Room for the text of any of them: a mask of the widest machine. */
#define SETTING_TEXT_MAX 4096u

/* How the kernel is reached. All return 0 or negative errno. */
typedef struct SettingOps {
        /* Without its final newline. -ENOENT: there is no such vector, or queue; -ENODEV: there is
         * no interface with that index. */
        int (*read)(const Sysroot *sysroot, const SettingKey *key,
                    char buffer[static SETTING_TEXT_MAX]);

        /* -EPERM, -EIO: the kernel refuses it for good, for it has chosen the CPUs itself (the
         * first also from the file's mode alone, without a write); -ENOSPC: no vector is free on
         * these CPUs; -EINVAL: none of them is online. */
        int (*write)(const Sysroot *sysroot, const SettingKey *key, const char *text);
} SettingOps;

extern const SettingOps SETTING_FILES;

/* The file, below /proc, or below the folder of the interface. -EINVAL: a queue without a valid
 * name or index of its interface. */
int setting_path(const SettingKey *key, char buffer[static SETTING_TEXT_MAX]);

int setting_parse(SettingKind kind, const char *text, SettingValue *ret);
int setting_render(SettingKind kind, const SettingValue *value,
                   char buffer[static SETTING_TEXT_MAX]);

/* Writes what is wanted, and reads what the kernel shows then. Where it has no room on the wanted
 * CPUs (-ENOSPC), one of `order` after the other that is not among these alone. 0; -EAGAIN: it was
 * taken, and something else shows. */
int setting_apply(const SettingOps *ops, const Sysroot *sysroot, const SettingKey *key,
                  const SettingValue *wanted, const uint32_t *order, size_t n_order,
                  SettingValue *ret_ours);
