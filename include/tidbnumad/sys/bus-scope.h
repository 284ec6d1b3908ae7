/* Transient scopes: units of systemd around processes that somebody else has started. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "tidbnumad/sys/bus-units.h"

typedef struct BusScope {
        const char *name;  /* with its ".scope" */
        const char *slice; /* "user-1000.slice" */
        const char *description;
        const char *part_of; /* the unit with which it is to be stopped; NULL: none */
        bool send_sighup;
        bool has_oom_policy;        /* this systemd knows OOMPolicy= for scopes */
        uint64_t stop_timeout_usec; /* 0: systemd's default */
        const pid_t *pids;
        size_t n_pids;
} BusScope;

/* Asks systemd to make the scope and to move the processes into it. Answers as bus_units_set(): the
 * move itself comes a moment after that, so look for it. */
int bus_scope_start(sd_bus *bus, const BusScope *scope, BusUnitsReply reply, void *userdata,
                    sd_bus_slot **ret_slot);
