/* A whole cluster: the hosts of a TiUP topology, a machine for each of them or for a class of them,
 * and their plans. */
#pragma once

#include "tidbnumad/base/diagnostics.h"
#include "tidbnumad/ctl/args.h"
#include "tidbnumad/ctl/situation.h"
#include "tidbnumad/model/workload.h"

typedef enum FleetMachineKind {
        FLEET_ARCHIVE,     /* of tidbnumactl gather */
        FLEET_DUMP,        /* unpacked */
        FLEET_XML,         /* hwloc's */
        FLEET_DESCRIPTION, /* a file with what --topology takes */
        FLEET_GIVEN,       /* what --topology or --sysroot names, for all hosts */
} FleetMachineKind;

/* A file of the folder --hosts, or what is given for all hosts. */
typedef struct FleetClass {
        char *path;    /* owned, as `pattern` */
        char *pattern; /* name or glob of its hosts */
        FleetMachineKind kind;
        Policies policies;
        Machine machine; /* its processes are no longer readable once its hosts are planned */
} FleetClass;

typedef struct FleetHost {
        const char *name;  /* of the topology */
        FleetClass *class; /* of the fleet; NULL: none, and nothing is planned */
        size_t *servers;   /* indexes in the topology; owned */
        size_t n_servers, servers_allocated;
        Situation situation;   /* its instances: those of `servers` that a policy matches, in that
                                * order */
        size_t *imagined_from; /* the index in the topology of each of these; owned */
} FleetHost;

typedef struct Fleet {
        const Args *args;     /* borrowed */
        SourceFileList files; /* the topology's file alone */
        TiupTopology topology;
        FleetClass *classes; /* owned, as the others */
        size_t n_classes, classes_allocated;
        FleetHost *hosts; /* by name, numbers in names by value */
        size_t n_hosts, hosts_allocated;
        SourceEditList edits; /* what is filled into the topology */
        bool daemon_binds;    /* else TiUP does, by numa_node */
        size_t n_kept,
                n_unfilled; /* settings that the file had; servers that could not be filled */
} Fleet;

/* Reads the topology and finds a machine for each host. -EINVAL and other negative errno, with
 * messages on stderr. To be closed in each case. */
int fleet_open(const Args *args, Fleet *ret);

/* Plans every host, and collects what is to be filled into the topology. */
int fleet_plan(Fleet *fleet);

/* The folder --output: the topology, and the policies of each host. */
int fleet_write(Fleet *fleet);
void fleet_close(Fleet *fleet);
#define _cleanup_fleet_ _cleanup_(fleet_close)
