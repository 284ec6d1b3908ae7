/* What the processor is: /proc/cpuinfo. */
#pragma once

#include <stdint.h>

#include "tidbnumad/sys/sysroot.h"

#define CPUINFO_VENDOR_MAX 16u /* CPUID has twelve characters */

typedef struct CpuInfo {
        char vendor[CPUINFO_VENDOR_MAX]; /* x86: "GenuineIntel"; "" elsewhere */
        uint32_t family, model;          /* of x86 */
        uint32_t implementer, part;      /* of Arm: fields of MIDR_EL1 */
} CpuInfo;

/* -EBADMSG: it has neither. */
int cpuinfo_parse(const char *text, CpuInfo *ret);
int cpuinfo_read(const Sysroot *sysroot, CpuInfo *ret);
