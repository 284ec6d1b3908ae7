/* Reads the settings that the audit judges, of this host or a dump. */
#pragma once

#include "tidbnumad/model/host-facts.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"

/* What cannot be read stays unknown. So does the cpuset controller: the backend tells. */
void host_facts_load(const Sysroot *sysroot, const Topology *topology, HostFacts *ret);
