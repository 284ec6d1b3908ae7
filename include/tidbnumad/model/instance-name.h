/* What an instance is called, in metrics, in the journal and by the operator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidbnumad/model/workload.h"

/* Is it a service whose processes are one instance? A user's manager is a service that holds
 * many programs: each of its processes is an instance. NULL: no. */
bool unit_is_service(const char *unit);

/* What the name is made from. Borrowed. */
typedef struct InstanceIdentity {
        const char *unit; /* NULL: none */
        const char *exe;
        const uint16_t *ports; /* ascending */
        size_t n_ports;
        ProcessId first; /* its oldest process */
} InstanceIdentity;

/* Names from the best to the longest: those after the first are for where others have it already.
 * The last one holds the pid. */
enum { INSTANCE_NAME_RANKS = 3 };

/* The unit without its suffix; without a service "program:port", or "program:pid" until a port is
 * known. The caller owns it. -ENOMEM. */
int instance_name_render(const InstanceIdentity *identity, unsigned rank, char **ret);

/* The best name that is not taken by another instance. The caller owns it. -ENOMEM; -EEXIST: all of
 * them are. */
typedef bool (*NameTaken)(const char *name, void *userdata);
int instance_name_choose(const InstanceIdentity *identity, NameTaken is_taken, void *userdata,
                         char **ret);
