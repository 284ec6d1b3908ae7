/* Properties of systemd units over D-Bus (org.freedesktop.systemd1(5)). */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/base/id-set.h"

/* The system bus, attached to the loop. -ENOENT, -ECONNREFUSED: no bus. */
int bus_units_open(sd_event *event, sd_bus **ret);

/* error: 0, or negative errno with `message` as systemd put it ("" when there is none). */
typedef void (*BusUnitsReply)(int error, const char *message, void *userdata);

/* Asks systemd to set AllowedCPUs= or AllowedMemoryNodes= (`property`) of a unit until the next
 * boot, and calls back once when it has answered. Does not wait: PID 1 may take seconds. `*slot` is
 * the call in flight; unref it to never hear of it. */
int bus_units_set(sd_bus *bus, const char *unit, const char *property, const IdSet *value,
                  BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot);

/* A property and the value that it is to have; an empty set resets it. */
typedef struct BusUnitsProperty {
        const char *name;
        const IdSet *value;
} BusUnitsProperty;

/* The same of several properties in one call: all of them or none. */
int bus_units_set_all(sd_bus *bus, const char *unit, const BusUnitsProperty *properties, size_t n,
                      BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot);
