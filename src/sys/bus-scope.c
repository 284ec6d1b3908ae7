/* Transient scopes over D-Bus (StartTransientUnit() of org.freedesktop.systemd1(5)). */
#include "tidbnumad/sys/bus-scope.h"

static int append_pids(sd_bus_message *message, const BusScope *scope) {
        int r;

        r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", "PIDs");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "au");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "u");
        for (size_t i = 0; r >= 0 && i < scope->n_pids; i++)
                r = sd_bus_message_append(message, "u", (uint32_t)scope->pids[i]);
        for (int i = 0; r >= 0 && i < 3; i++) /* array, variant, struct */
                r = sd_bus_message_close_container(message);
        return r;
}

/* It ends as the unit would have that the processes come from, and has the same limit of tasks. One
 * process that the kernel kills is no reason to stop the others. */
static int append_manners(sd_bus_message *message, const BusScope *scope) {
        int r = sd_bus_message_append(
                message, "(sv)(sv)(sv)(sv)(sv)", "Description", "s", scope->description, "Slice",
                "s", scope->slice, "TasksMax", "t", scope->tasks_max, "CollectMode", "s",
                "inactive-or-failed", "SendSIGHUP", "b", (int)scope->send_sighup);

        if (r >= 0 && scope->part_of)
                r = sd_bus_message_append(message, "(sv)", "PartOf", "as", 1, scope->part_of);
        if (r >= 0 && scope->stop_timeout_usec > 0)
                r = sd_bus_message_append(message, "(sv)", "TimeoutStopUSec", "t",
                                          scope->stop_timeout_usec);
        if (r >= 0 && scope->has_oom_policy)
                r = sd_bus_message_append(message, "(sv)", "OOMPolicy", "s", "continue");
        return r;
}

static int append_properties(sd_bus_message *message, const BusScope *scope) {
        int r = sd_bus_message_open_container(message, 'a', "(sv)");

        if (r >= 0)
                r = append_manners(message, scope);
        if (r >= 0)
                r = append_pids(message, scope);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

int bus_scope_start(sd_bus *bus, const BusScope *scope, BusUnitsReply reply, void *userdata,
                    sd_bus_slot **ret_slot) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(
                bus, &message, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                "org.freedesktop.systemd1.Manager", "StartTransientUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", scope->name, "fail");
        if (r >= 0)
                r = append_properties(message, scope);
        if (r >= 0)
                r = sd_bus_message_append(message, "a(sa(sv))", 0);
        return r < 0 ? r : bus_units_call(bus, message, reply, userdata, ret_slot);
}
