/* systemd's manager over D-Bus (org.freedesktop.systemd1(5)): its signals, and its properties of
 * units. Nothing here waits: every answer comes through the loop. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

typedef enum BusEvent {
        BUS_EVENT_SUBSCRIBED,  /* signals arrive from now on: read everything once */
        BUS_EVENT_LOST,        /* the bus is gone, or systemd does not answer: open it again later.
                                * Close it, if at all, from a source of the loop's own */
        BUS_EVENT_RELOADING,   /* systemd begins to read its unit files again */
        BUS_EVENT_RELOADED,    /* systemd has reloaded its unit files */
        BUS_EVENT_UNIT_NEW,    /* it has loaded `unit` */
        BUS_EVENT_JOB_REMOVED, /* a job of a watched `unit` came to an end */
        BUS_EVENT_STATE,       /* a watched `unit` is in `active_state` now, as in BusUnit */
} BusEvent;

/* unit, active_state: NULL but where the kind has one. */
typedef void (*BusManagerHandler)(BusEvent event, const char *unit, const char *active_state,
                                  void *userdata);

typedef struct BusManager {
        sd_bus *bus; /* NULL: closed; owned, and with it all slots without another reference */
        BusManagerHandler handler;
        void *userdata;
        sd_bus_slot *subscription; /* in flight */
} BusManager;

/* Connects and subscribes. The handler is called with the result. -ENOENT, -ECONNREFUSED: no bus.
 */
int bus_manager_open(BusManager *manager, sd_event *event, BusManagerHandler handler,
                     void *userdata);
void bus_manager_close(BusManager *manager);

/* BUS_EVENT_STATE and BUS_EVENT_JOB_REMOVED of this unit, and of no other, until both slots are
 * unref'ed: a host has thousands of units, whose signals would wake the daemon. */
int bus_manager_watch_unit(BusManager *manager, const char *unit, sd_bus_slot **ret_state,
                           sd_bus_slot **ret_job);

/* Words of a command line, and drop-ins, that are read. */
enum { BUS_EXEC_WORDS_MAX = 64, BUS_DROP_INS_MAX = 32 };

/* A unit as systemd has it. Borrowed for the length of the call. */
typedef struct BusUnit {
        const char *id;           /* its own name: another one if the requested name is an alias */
        const char *load_state;   /* "loaded", "not-found", "masked", … */
        const char *active_state; /* "inactive", "active", …; "auto-restart": it waits to be started
                                   * again by Restart=, which systemd has as a state below
                                   * "activating" */
        const char *user;         /* User=, "" where there is none */
        const char *sub_state;
        bool dynamic_user;
        const char *root_directory, *root_image, *private_pids; /* "" where not set */
        bool container;          /* by these, or PrivateUsers=: its processes have another root, or
                                  * other namespaces */
        const char *group;       /* ControlGroup=: its path, "" while it does not run */
        CpuSet cpus;             /* AllowedCPUs= */
        NodeSet mems;            /* AllowedMemoryNodes= */
        uint64_t memory_max;     /* MemoryMax=, in bytes; UINT64_MAX: not set */
        CpuSet affinity;         /* CPUAffinity=; empty: not set */
        bool affinity_from_numa; /* CPUAffinity=numa */
        int numa_policy;         /* NUMAPolicy=, as the number of set_mempolicy(2); -1: not set */
        NodeSet numa_mask;       /* NUMAMask= */
        uint32_t n_restarts;     /* by Restart=, since it was started by request */
        const char *exec[BUS_EXEC_WORDS_MAX]; /* the words of ExecStart=, of the last if there are
                                                 several */
        size_t n_exec;
        const char *fragment;                   /* FragmentPath=, "" where there is none */
        const char *drop_ins[BUS_DROP_INS_MAX]; /* DropInPaths= */
        size_t n_drop_ins;
        uint64_t begun_usec; /* InactiveExitTimestampMonotonic=: of each start, and of each wait for
                              * a restart; 0: never */
        uint64_t active_usec; /* ActiveEnterTimestampMonotonic=; 0: never */
} BusUnit;

/* error: 0, or negative errno; `unit` is NULL then. */
typedef void (*BusUnitReply)(int error, const BusUnit *unit, void *userdata);

/* Reads a unit; systemd loads it for that where it must, and forgets it again. `bus` NULL:
 * -ENOTCONN. */
int bus_manager_read_unit(sd_bus *bus, const char *unit, BusUnitReply reply, void *userdata,
                          sd_bus_slot **ret_slot);

/* active_state: "" for a unit file, whose unit may not be loaded. Called once a unit, and with
 * `unit` NULL at the end, with or without an error. */
typedef void (*BusListReply)(int error, const char *unit, const char *load_state,
                             const char *active_state, void *userdata);

/* Loaded units, or with `files` unit files, whose names match one of the globs (fnmatch(3),
 * FNM_NOESCAPE). Nothing is loaded for it. `globs` ends with NULL. */
int bus_manager_list_units(BusManager *manager, char *const *globs, bool files, BusListReply reply,
                           void *userdata);

/* Was the property set until the next boot (`systemctl set-property --runtime`, or by us), and not
 * by a unit file of the admin's? */
bool bus_manager_is_runtime(const Sysroot *sysroot, const char *unit, const char *property);
