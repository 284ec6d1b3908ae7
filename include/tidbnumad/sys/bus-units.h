/* Calls to systemd over D-Bus (org.freedesktop.systemd1(5)): properties of units, and transient
 * scopes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/error.h"
#include "tidbnumad/base/id-set.h"

#define BUS_SYSTEMD "org.freedesktop.systemd1"
#define BUS_MANAGER_PATH "/org/freedesktop/systemd1"
#define BUS_MANAGER BUS_SYSTEMD ".Manager"

/* The system bus, attached to the loop. -ENOTCONN, -ECONNREFUSED: no bus. */
int bus_units_open(sd_event *event, sd_bus **ret);

/* Drops what waits to be sent, and the reference; as sd_bus_close_unref(3) of libsystemd 241.
 * Always NULL; also takes NULL. */
sd_bus *bus_units_close(sd_bus *bus);
DEFINE_CLEANUP(sd_bus *, bus_units_close)

/* The negative errno for an error of systemd or of the bus, independent of the errors that the
 * libsystemd of this host knows (see sd-bus-errors(3)). -ERFKILL: the unit is masked (as systemd
 * has it, bus-common-errors.c); -ENOENT: there is no unit of that name; -ENOEXEC: its unit file
 * cannot be used; -EEXIST: a unit of that name exists already; -EDEADLK: a pending job forbids it;
 * -ENOTCONN: no answer on the bus. 0: NULL, it is no error. */
int bus_units_error(const sd_bus_error *error);

/* error: its code is 0, or one of these with the sentence that systemd has for it. */
typedef void (*BusUnitsReply)(const Error *error, void *userdata);

/* Sends a call whose reply is passed to `on_reply`, with a copy of the `size` bytes at `call` as
 * its userdata. `*ret_slot` is the pending call, and owns the copy. 0 microseconds: sd-bus's
 * default timeout. */
int bus_units_send(sd_bus *bus, sd_bus_message *message, sd_bus_message_handler_t on_reply,
                   const void *call, size_t size, uint64_t timeout_usec, sd_bus_slot **ret_slot);

/* The same with a call that reads a property of an interface of a unit, or of systemd's manager
 * itself (`unit` NULL); or all of them (`property` NULL), of all its interfaces (""). */
int bus_units_get(sd_bus *bus, const char *unit, const char *interface, const char *property,
                  sd_bus_message_handler_t on_reply, const void *call, size_t size,
                  sd_bus_slot **ret_slot);

/* For each entry of the dictionary "a{sv}" that comes next: the callback reads its value, or skips
 * it. A negative answer of the callback ends it and is returned. */
typedef int (*BusPropertyReader)(sd_bus_message *message, const char *name, void *userdata);
int bus_units_foreach_property(sd_bus_message *message, BusPropertyReader reader, void *userdata);

/* A property and the value that it is to have: of MemoryMax= the bytes, UINT64_MAX resets it; of
 * any other one a set, the empty set resets it. */
typedef struct BusUnitsProperty {
        const char *name;
        IdView value;
        uint64_t bytes;
} BusUnitsProperty;

#define BUS_MEMORY_MAX "MemoryMax"

/* Requests systemd to set properties of a unit until the next boot, all of them or none, and calls
 * back once when it has answered. Does not wait: PID 1 may take seconds. `*ret_slot` is the pending
 * call; after an unref of it, there is no callback. */
int bus_units_set_all(sd_bus *bus, const char *unit, const BusUnitsProperty *properties, size_t n,
                      BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot);

/* Starts a unit (StartUnit() of org.freedesktop.systemd1(5)). Does not wait for the reply: the
 * result is visible in the state of the unit. */
int bus_units_start(sd_bus *bus, const char *unit);

/* --- transient scopes: units of systemd for processes that systemd did not start --- */

/* A scope as systemd has it. Borrowed for the length of the call. */
typedef struct BusScopeState {
        bool delegated;             /* Delegate=: its processes are another manager's business */
        bool send_sighup;           /* SendSIGHUP= */
        bool has_oom_policy;        /* this systemd knows OOMPolicy= for scopes, 253 and later */
        uint64_t stop_timeout_usec; /* TimeoutStopUSec=; 0: systemd's default */
        uint64_t tasks_max;         /* TasksMax=; UINT64_MAX: no limit */
        const char *limit; /* a property that is set and that BusScope does not carry over: a limit,
                            * a filter, or what this file has never heard of; NULL: none */
} BusScopeState;

typedef struct BusScope {
        const char *name;  /* with its ".scope" */
        const char *slice; /* "user-1000.slice" */
        const char *description;
        const char *part_of; /* the unit with which it is to be stopped; NULL: none */
        union {
                struct BusScopeState; /* but for its first and its last */
                BusScopeState like;
        };
        const pid_t *pids;
        size_t n_pids;
} BusScope;

/* Requests systemd to create the scope and to move the processes into it. Replies as
 * bus_units_set_all(). systemd moves the processes a moment after the reply, so the caller has to
 * check for that. */
int bus_scope_start(sd_bus *bus, const BusScope *scope, BusUnitsReply reply, void *userdata,
                    sd_bus_slot **ret_slot);

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
