/* CPUs and memory that are added or removed while the daemon runs, and CPUs that a cpuset partition
 * takes.
 *
 * The kernel removes an offline CPU from all cpusets, and gives a group without any CPU left those
 * of its parent: its processes then run anywhere. Therefore the plan is made again with what is
 * present. */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/devices.h"

typedef struct Host Host;

typedef struct Hotplug {
        bool known;
        CpuSet cpus;    /* online CPUs, as in the kernel's file when last read; likewise below */
        NodeSet nodes;  /* online */
        NodeSet memory; /* with memory */
        CpuSet offered; /* by the root of cgroup v2: all but those of partitions; empty: unknown */
        CpuSet come;    /* CPUs that came online at the last change */
        NodeSet logged; /* new nodes, which are not used before the next start; logged once */
        Uevents uevents;
        sd_event_source
                *timer; /* collects events: a socket that is switched off causes some hundred */
} Hotplug;

/* Stores what is present, and listens for events on this machine. Without events, samples find what
 * has changed. */
int hotplug_start(Host *host);
void hotplug_done(Host *host);

/* Reads the topology again if anything has changed, and marks the plan. */
void hotplug_check(Host *host);
