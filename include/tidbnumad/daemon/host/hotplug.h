/* CPUs and memory that come and go while the daemon runs. The kernel takes a CPU out of all cpusets
 * when it goes offline, and gives a group that has none left those of the group above: its
 * processes then run anywhere. So the plan is made anew, from what is there. */
#pragma once

#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/uevents.h"

typedef struct Host Host;

typedef struct Hotplug {
        bool known;
        CpuSet cpus;    /* online, as the kernel's file had it last; likewise */
        NodeSet nodes;  /* online */
        NodeSet memory; /* with memory */
        CpuSet come;    /* that came online at the last change */
        NodeSet logged; /* nodes that came, and are not used before the next start */
        Uevents uevents;
        sd_event_source *timer; /* a socket that is switched off is some hundred events */
} Hotplug;

/* Remembers what there is, and listens where this machine is the live one. Where it cannot, samples
 * find what has changed. */
int hotplug_start(Host *host);
void hotplug_done(Host *host);

/* Reads the topology anew if anything has changed, and has the plan made from it. */
void hotplug_check(Host *host);
