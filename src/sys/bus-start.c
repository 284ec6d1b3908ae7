/* Starts a unit over D-Bus. */
#include "tidbnumad/sys/bus-start.h"
#include "tidbnumad/base/cleanup.h"

int bus_start(sd_bus *bus, const char *unit) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, "org.freedesktop.systemd1",
                                           "/org/freedesktop/systemd1",
                                           "org.freedesktop.systemd1.Manager", "StartUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", unit, "replace");
        if (r >= 0)
                r = sd_bus_message_set_expect_reply(message, 0);
        if (r >= 0)
                r = sd_bus_send(bus, message, NULL);
        return r < 0 ? r : 0;
}
