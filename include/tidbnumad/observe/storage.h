/* The disks of a file system: by a line of mountinfo. */
#pragma once

#include "tidbnumad/observe/devices-load.h"
#include "tidbnumad/sys/mountinfo.h"

/* `table` is where the file of a loop device is looked for. As storage_find(). */
int storage_find_mount(const Sysroot *sysroot, const MountTable *table, const Mount *mount,
                       StorageDevices *ret);
