/* The machine on which a command works: this one, a dump, hwloc's XML or a synthetic description.
 */
#pragma once

#include <stdbool.h>

#include "tidbnumad/ctl/args.h"
#include "tidbnumad/model/topology.h"
#include "tidbnumad/sys/sysroot.h"
#include "tidbnumad/world/topology-load.h"

typedef struct Machine {
        Sysroot sysroot; /* valid for this machine or a dump; else its descriptors are invalid */
        bool live;       /* it is this machine */
        bool runs;       /* it has processes: it is this machine or a dump */
        Topology topology;
        DeviceList devices;
        TopologySource source; /* for topology_export() */
        char *title;           /* "this host", "the dump host7"; owned */
} Machine;

#define MACHINE_NONE                                                                               \
        (Machine) {                                                                                \
                .sysroot = SYSROOT_NONE                                                            \
        }

/* Opens the machine; errors are printed to stderr. `ret` must not move afterwards. */
int machine_open(const Args *args, Machine *ret);
/* From a description in hwloc's syntax, which is found at `where`, for messages. */
int machine_open_description(const char *description, const char *where, Machine *ret);
void machine_close(Machine *machine);
#define _cleanup_machine_ _cleanup_(machine_close)
