/* The audit of a host: checks what was observed against the placement rules of tidbnumad(7). Pure.
 *
 * Limits, with their reasons:
 * - node sizes: 10 % less than the largest node has, and 128 MiB. Firmware and kernel keep some
 *   memory of single nodes for themselves.
 * - soft interrupts: 10 % of a node's CPU time. The field's machines lost their instances' time at
 *   38 % and more (R2), and idle ones stay below 1 %. Reserved CPUs of the node may be busy with
 *   nothing else: their share is added to the limit.
 * - vm.min_free_kbytes: 1 GiB a node from 16 GiB of memory on, and at most a twentieth of it.
 * Below, allocations of a busy node wait for reclaim; the kernel's own value is at most 256 MiB
 *   (mm/page_alloc.c, calculate_min_free_kbytes()).
 * - swappiness: 10, what TiDB's own checks of a host accept.
 * - irqbalance (R11): up to 10 Gbit/s it is wanted, from 100 Gbit/s on it is not. */
#pragma once

#include "tidbnumad/model/audit.h"
#include "tidbnumad/model/irq.h"
#include "tidbnumad/model/memory.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/server-report.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/plan/start-limits.h"

/* A unit, running or not, that cannot be started bound. Borrowed. */
typedef struct AuditUnit {
        const char *name, *reason;
        Reason code; /* of what kind `reason` is */
} AuditUnit;

typedef struct AuditInput {
        const Topology *topology;
        const DeviceList *devices;
        const HostFacts *facts; /* NULL: of a described machine nothing is known */
        const IrqHost *irqs;    /* NULL: not read */
        const NodeCounters *nodes_before, *nodes; /* two readings, by index; both NULL: not read */
        const HugePools *pools;                   /* of reserved huge pages; NULL: not read */
        const PolicySet *policies;
        const ServerInstance *instances;
        size_t n_instances;
        const AuditUnit *units; /* NULL: not known, as only the daemon reads them */
        size_t n_units;
        NodeSet nic_nodes, reserved;
        CpuSet reserved_cpus; /* by host.reserve.cpus */
} AuditInput;

/* 0 or -ENOMEM. */
int audit_build(const AuditInput *input, AuditReport *ret);
