/* Settings of the kernel that belong to no process, model/irq.h lists them: reads and writes single
 * ones, and keeps the record of what they were before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tidbnumad/change/undo.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/sys/irq.h"
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

/* The values of the host's own settings before we changed them: masks of interrupts and of network
 * queues, sysctls, and what was sent to irqbalance. One record for all, of the form of the others
 * (record.h) and in their folder (undo.h), under a name that no instance's can have.
 *
 * It is written and flushed before each change of something that is not in it yet. An entry
 * keeps the kernel's own text, so that it is put back byte for byte. It is dropped together with
 * its subject: a vector, an interface, a process of irqbalance. */

#define UNDO_HOST_FILE "host.record"

/* 4,000 vectors and as many queues of a machine of 8,192 CPUs are 20 MiB; of 256 CPUs 2 MiB. */
#define UNDO_HOST_MAX_BYTES ((size_t)32 << 20)

typedef struct UndoSetting {
        SettingKey key; /* `device` is owned here */
        char *before;   /* owned */
        char *pci;      /* the card of a queue, where it has an address; NULL: none. Owned */
} UndoSetting;

/* What irqbalance itself had before. */
typedef struct UndoBalance {
        bool known;
        ProcessId id; /* of this process; another one knows nothing of us */
        IrqbalanceSetup own;
} UndoBalance;

typedef struct UndoHost {
        UndoSetting *settings; /* owned */
        size_t n_settings, allocated;
        UndoBalance irqbalance;
        bool stale; /* not yet all in the file */
        bool newer; /* there is a file of a newer version, which is kept: nothing may be written */
} UndoHost;

void undo_host_done(UndoHost *host);

UndoSetting *undo_host_find(const UndoHost *host, const SettingKey *key);

/* The value before the first change. `pci` may be NULL. -ENOMEM. */
int undo_host_add(UndoHost *host, const SettingKey *key, const char *pci, const char *before);
void undo_host_remove(UndoHost *host, size_t index);

/* Takes over what is in `balance`. */
void undo_host_set_irqbalance(UndoHost *host, UndoBalance *balance);
void undo_host_forget_irqbalance(UndoHost *host);

bool undo_host_is_empty(const UndoHost *host);

int undo_host_render(const UndoHost *host, char **ret, size_t *ret_size);

/* Errors as of record_parse(), and -ENOMEM. */
int undo_host_parse(const char *text, size_t size, UndoHost *ret);

/* The file is in the folder of `undo`. The caller may change a setting only after undo_host_write()
 * returned 0; for an empty record the file is removed. undo_host_read(): -ENOENT: there is no file;
 * other errors as of undo_host_parse(), and an invalid file is removed. */
int undo_host_write(const Undo *undo, UndoHost *host);
int undo_host_read(const Undo *undo, UndoHost *ret);
