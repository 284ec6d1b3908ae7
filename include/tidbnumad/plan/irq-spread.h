/* Queues to CPUs. For plan/irq.c. */
#pragma once

#include "tidbnumad/model/irq-plan.h"
#include "tidbnumad/model/topology.h"

/* Fills the masks of the vectors of all devices that are steered, whose `order` and `vectors` are
 * there. 0 or -ENOMEM. */
int irq_spread_vectors(IrqPlan *plan);

/* Fills `xps` and `rps` where the device's policy wants them. 0 or -ENOMEM. */
int irq_spread_queues(const Topology *topology, IrqPlanDevice *device);
