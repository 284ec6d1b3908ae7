/* Starts a unit over D-Bus (StartUnit() of org.freedesktop.systemd1(5)). */
#pragma once

#include <systemd/sd-bus.h>

/* Sends it, and waits for no answer: whoever wants to know looks at what the unit does. */
int bus_start(sd_bus *bus, const char *unit);
