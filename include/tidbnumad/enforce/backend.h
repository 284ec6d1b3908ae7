/* How a placement is put on a unit: one table of operations, one implementation a host's kind.
 *
 * This version has `systemd` (cgroup v2). Tests bring a table of their own.
 */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/id-set.h"
#include "tidbnumad/sys/sysroot.h"

/* error: 0 or negative errno with a message, "" when there is none. Called once for each operation
 * that was begun. */
typedef void (*BackendReply)(int error, const char *message, void *userdata);

typedef struct Backend Backend;

typedef struct BackendOps {
        const char *name;
        /* Begin to set what the unit may use, until the next boot. `*ret_slot`: unref to never hear
         * of it. */
        int (*set_cpus)(Backend *backend, const char *unit, const CpuSet *cpus, BackendReply reply,
                        void *userdata, sd_bus_slot **ret_slot);
        int (*set_mems)(Backend *backend, const char *unit, const NodeSet *mems, BackendReply reply,
                        void *userdata, sd_bus_slot **ret_slot);
} BackendOps;

struct Backend {
        const BackendOps *ops; /* NULL: nothing can be enforced here, `why_not` says why */
        const char *why_not;   /* a constant sentence */
        sd_event *event;       /* borrowed */
        sd_bus *bus;           /* owned; opened again when it was lost */
};

/* Chooses what this host has. Never fails: a backend without `ops` says why. */
void backend_init(Backend *backend, const Sysroot *sysroot, sd_event *event);
void backend_done(Backend *backend);

/* Can it act on this unit? NULL, or a constant sentence why not. `unit` NULL: the process is in
 * none. */
const char *backend_refuses(const Backend *backend, const char *unit);

/* The same of the unit alone: what the dump of another machine can be judged by. */
const char *backend_refuses_unit(const char *unit);
