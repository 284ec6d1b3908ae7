/* Where an instance is to be. This version knows explicit nodes only. */
#pragma once

#include "tidbnumad/model/placement.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"

/* The placement of an instance of `policy` that runs as `unit` (may be NULL) and listens on these
 * TCP ports. Always gives an answer: where the policy names no nodes, nodes that cannot be an
 * instance's home, or CPUs that are not theirs, `nodes` is empty and `reason` says why. */
Placement placement_build(const Topology *topology, const Policy *policy, const char *unit,
                          const uint16_t *ports, size_t n_ports);
