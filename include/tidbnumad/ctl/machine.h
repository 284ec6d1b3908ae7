/* The machine that a command is about: this one, a dump, hwloc's XML or a description. */
#pragma once

#include <stdbool.h>

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/model/device.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/observe/topology-load.h"
#include "tidbnumad/sys/sysroot.h"

typedef struct Machine {
        Sysroot sysroot; /* of this machine or a dump; else its descriptors are invalid */
        bool live;       /* this machine */
        bool runs;       /* it has processes: it is live or a dump */
        Topology topology;
        DeviceList devices;
        TopologySource source; /* for topology_export() */
        char *title;           /* "this host", "the dump host7"; owned */
} Machine;

#define MACHINE_NONE                                                                               \
        (Machine) {                                                                                \
                .sysroot = SYSROOT_NONE                                                            \
        }

/* Says on stderr what is wrong. `ret` must not move afterwards. */
int machine_open(const Args *args, Machine *ret);
/* From a description in hwloc's syntax, which is found at `where`, for messages. */
int machine_open_description(const char *description, const char *where, Machine *ret);
void machine_close(Machine *machine);
#define _cleanup_machine_ _cleanup_(machine_close)

/* Is what --topology got a file with XML, and no description? It has a slash, ends with ".xml", or
 * is there. */
bool machine_is_file(const char *topology);
