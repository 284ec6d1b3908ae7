/* The machine on which a command works: this one, a dump, hwloc's XML or a synthetic description.
 */
#pragma once

#include <stdbool.h>

#include "tidbnumad/base/error.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/model/policy.h"
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
        Snapshot status;       /* what the daemon of this machine has published last */
        bool daemon_runs;      /* it is of one that runs */
} Machine;

#define MACHINE_NONE                                                                               \
        (Machine) {                                                                                \
                .sysroot = SYSROOT_NONE                                                            \
        }

/* Checks --instances, before anything is read, and opens the machine, with what its daemon
 * publishes: without a readable status none runs. `ret` must not move afterwards. */
int machine_open(const Args *args, Machine *ret, Error *error);
/* From a description in hwloc's syntax, which is found at `where`, for the error. The machine must
 * be MACHINE_NONE before. */
int machine_open_description(const char *description, const char *where, Machine *machine,
                             Error *error);
void machine_close(Machine *machine);
#define _cleanup_machine_ _cleanup_(machine_close)

/* What the daemon publishes that runs there; NULL: none does. */
static inline const Snapshot *machine_daemon(const Machine *machine) {
        return machine->daemon_runs ? &machine->status : NULL;
}

/* By which backend the daemon binds there, with policies that set `wanted`: as the daemon found it,
 * which has tried, else as it would choose in its unit. BACKEND_AUTO: none, or of a dump: not
 * known. `*ret_weaker`: why it is not a stronger one, where the host seems to have that; NULL: it
 * has not; borrowed from the status, or a constant. */
BackendKind machine_backend(const Machine *machine, BackendKind wanted, const char **ret_weaker);
