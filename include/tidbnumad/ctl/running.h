/* The instances that run: found and named as the daemon does it, with what the kernel tells of
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/snapshot.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/model/workload.h"
#include "tidbnumad/observe/devices-load.h"
#include "tidbnumad/sys/proc.h"

typedef struct Running {
        char *name;           /* owned, as all that is not said to be borrowed */
        const Policy *policy; /* borrowed from the set that it was found with */
        char *unit;           /* NULL: none */
        Process *processes;   /* ascending by pid, beside `handles` */
        ProcHandle *handles;
        size_t n_processes, processes_allocated, handles_allocated;
        uint16_t *ports; /* ascending */
        size_t n_ports;
        char *data_dir;         /* NULL: none, or not known */
        StorageDevices storage; /* under it; without a chain: not known */
        NodeSet in_force;       /* where its threads may run, if that is less than it is allowed */
        NodeSet allowed_nodes;  /* by its parent cgroup; empty: everything */
        CpuSet allowed_cpus;
        NodeMemory *by_node; /* by index of the topology's nodes; NULL: not known */
        uint64_t need_bytes; /* 0: not known */
        char *memory_policy; /* the first that one of its processes has set; NULL: none is seen */
} Running;

typedef struct RunningList {
        Running *instances; /* ascending by name, numbers in it by value; owned */
        size_t n_instances, allocated;
        size_t n_denied; /* processes that were not ours to look at */
} RunningList;

void running_list_done(RunningList *list);
#define _cleanup_running_list_ _cleanup_(running_list_done)

/* All processes that the policies name. `status` (may be NULL) is what a daemon that runs tells: of
 * processes that are not ours to look at, it knows program and data directory. 0, -ENOMEM, or
 * another negative errno: /proc cannot be read at all. */
int running_list_load(const Sysroot *sysroot, const Topology *topology, const PolicySet *policies,
                      const StatusFile *status, RunningList *ret);

/* The instance of that name, unit (with or without suffix) or process number, or NULL. */
const Running *running_find(const RunningList *list, const char *subject);

/* What the kernel tells of one instance: ports, data directory, storage, groups, memory. What
 * cannot be had stays unknown. 0 or -ENOMEM. For running_list_load(). */
int running_read_facts(const Sysroot *sysroot, const Topology *topology, Running *running);
