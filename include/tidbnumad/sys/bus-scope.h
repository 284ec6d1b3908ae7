/* Transient scopes: units of systemd for processes that systemd did not start. */
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
        uint64_t tasks_max;         /* UINT64_MAX: no limit */
        const pid_t *pids;
        size_t n_pids;
} BusScope;

/* Requests systemd to create the scope and to move the processes into it. Replies as
 * bus_units_set(). systemd moves the processes a moment after the reply, so the caller has to check
 * for that. */
int bus_scope_start(sd_bus *bus, const BusScope *scope, BusUnitsReply reply, void *userdata,
                    sd_bus_slot **ret_slot);

/* A scope as systemd has it. Borrowed for the length of the call. */
typedef struct BusScopeState {
        bool delegated;             /* Delegate= */
        bool send_sighup;           /* SendSIGHUP= */
        bool has_oom_policy;        /* this systemd knows OOMPolicy= for scopes, 253 and later */
        uint64_t stop_timeout_usec; /* TimeoutStopUSec= */
        uint64_t tasks_max;         /* TasksMax= */
        const char *limit; /* a property that is set and that BusScope does not carry over: a limit,
                            * a filter, or what this file has never heard of; NULL: none */
} BusScopeState;

/* Out of the answer to GetAll() of the interface Scope. */
int bus_scope_parse(sd_bus_message *message, BusScopeState *ret);

/* error: 0, or negative errno; `state` is NULL then. Nothing waits: the answer comes through the
 * loop; `*ret_slot`: unref it, and no reply comes. */
typedef void (*BusScopeReply)(int error, const BusScopeState *state, void *userdata);
int bus_scope_read(sd_bus *bus, const char *scope, BusScopeReply reply, void *userdata,
                   sd_bus_slot **ret_slot);

/* DefaultTasksMax=: the limit of a scope without its own TasksMax=. */
typedef void (*BusTasksReply)(int error, uint64_t tasks_max, void *userdata);
int bus_scope_read_default_tasks(sd_bus *bus, BusTasksReply reply, void *userdata,
                                 sd_bus_slot **ret_slot);
