/* The machine's processor as the model knows it. */
#pragma once

#include "tidbnumad/model/access.h"
#include "tidbnumad/sys/sysroot.h"

/* Errors as of cpuinfo_read(). */
int processor_load(const Sysroot *sysroot, Processor *ret);
