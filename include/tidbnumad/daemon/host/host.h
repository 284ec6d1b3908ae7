/* The host and the rules in force: what every other room of the daemon stands on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/config/brakes.h"
#include "tidbnumad/daemon/host/args.h"
#include "tidbnumad/daemon/host/hotplug.h"
#include "tidbnumad/daemon/host/journal.h"
#include "tidbnumad/daemon/host/notify.h"
#include "tidbnumad/enforce/backend.h"
#include "tidbnumad/model/device.h"
#include "tidbnumad/model/policy.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"
#include "tidbnumad/worker/worker.h"

/* What is to follow from what a room has seen. A room sets a mark; the turn that follows every
 * event (turn.h) does what it asks for. */
typedef enum HostMark {
        HOST_MARK_PLAN = 1 << 0,     /* something that the plan is made from has changed */
        HOST_MARK_PUBLISH = 1 << 1,  /* something that is published has changed */
        HOST_MARK_OWNERS = 1 << 2,   /* another instance may own some of the CPUs */
        HOST_MARK_TIDY = 1 << 3,     /* an instance has ended whose cpuset may be free now */
        HOST_MARK_TOPOLOGY = 1 << 4, /* CPUs or memory have come or gone, see hotplug.h */
        HOST_MARK_ROUND = 1 << 5,    /* a round of the slow scan begins */
        HOST_MARK_UNITS = 1 << 6,    /* a record is given back, or is gone: it may be a unit's */
        HOST_MARK_EXIT = 1 << 7,     /* all that a stop waits for is done: publish, and end */
} HostMark;

/* What the daemon knows of its host, and by which rules it acts. */
struct Host {
        const Args *args; /* borrowed */
        Journal journal;
        Notifier notifier;
        Sysroot sysroot;
        Workers workers;
        Topology topology;
        Hotplug hotplug;
        DeviceList devices;             /* read at the start and with each reload */
        uint64_t *high_watermark_bytes; /* by index of the topology's nodes; owned */
        int runtime_fd;                 /* -EBADF: nothing is published */
        int lock_fd;                    /* of the folder; held until the end */
        sd_event *event;
        uint32_t marks; /* HostMark */
        Backend backend;
        bool ready;
        bool stopping; /* what is bound is being released, and the daemon ends then */
        bool memory_lock_tried;
        int32_t intruder; /* see Members.intruder */

        PolicySet policies;
        Diagnostics policy_errors; /* of the last attempt */
        Diagnostics policy_warnings;
        bool policy_load_success;
        bool policies_known; /* some were loaded since the start, and are in force */
        Brakes brakes;       /* what these say without the drop-in of pause and release */
        double policy_load_seconds;
};

/* Opens proc and sys, reads the topology, opens and locks the runtime folder. `args` is borrowed.
 * What went wrong is logged. */
int host_open(Host *host, const Args *args);
void host_close(Host *host);

/* Does the daemon change anything on this host? */
bool host_enforces(const Host *host);

void host_mark(Host *host, uint32_t marks);

/* Was it set? It is not any more. */
bool host_take_mark(Host *host, HostMark mark);

/* Reads network cards and disks anew. Without them nothing can be placed near a device; everything
 * else goes on. */
void host_read_devices(Host *host);

/* Locks this process's memory, once it enforces: the guard is to act when the host has none left.
 * It stays locked when a reload ends that. That a run by hand may not be allowed to is logged. */
void host_lock_memory(Host *host);
