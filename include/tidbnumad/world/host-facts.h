/* Reads the settings that the audit judges, and the processor, of this host or a dump. */
#pragma once

#include "tidbnumad/model/audit.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

/* Errors as of cpuinfo_read(). */
int processor_load(const Sysroot *sysroot, Processor *ret);

/* What cannot be read stays unknown. So does the cpuset controller: the backend tells. */
void host_facts_load(const Sysroot *sysroot, const Topology *topology, HostFacts *ret);
