/* Which life of the machine this is, and how long it has lasted. */
#pragma once

#include <stdint.h>

#include "tidbnumad/sys/sysroot.h"

#define BOOT_ID_SIZE 37u /* 36 characters of a UUID, and the NUL */

/* /proc/sys/kernel/random/boot_id, random(4). -EBADMSG: not a UUID. */
int boot_id_parse(const char *text, char ret[static BOOT_ID_SIZE]);
int boot_id_read(const Sysroot *sysroot, char ret[static BOOT_ID_SIZE]);

/* Now, in the clock ticks since boot in which /proc/PID/stat tells when a task began. */
uint64_t boot_ticks_now(void);
