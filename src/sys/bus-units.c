#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tidbnumad/sys/bus-units.h"
#include "tidbnumad/sys/clock.h"

/* Longer than systemd's own default of 25 s: the answer to a narrowing comes after the kernel has
 * migrated. */
#define CALL_TIMEOUT_USEC (UINT64_C(90) * 1000 * 1000)

typedef struct Call {
        BusUnitsReply reply;
        void *userdata;
} Call;

int bus_units_open(sd_event *event, sd_bus **ret) {
        _cleanup_(bus_units_closep) sd_bus *bus = NULL;
        int r;

        r = sd_bus_open_system(&bus);
        if (r < 0)
                return r == -ENOENT ? -ENOTCONN : r;
        r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(bus);
        return 0;
}

sd_bus *bus_units_close(sd_bus *bus) {
        sd_bus_close(bus);
        return sd_bus_unref(bus);
}

/* As sd_bus_flush(3), which waits for ever for a bus that does not answer. */
int bus_units_flush(sd_bus *bus, uint64_t wait_usec) {
        const uint64_t until = clock_monotonic_usec() + wait_usec;
        uint64_t n_queued = 0;

        for (;;) {
                const uint64_t now = clock_monotonic_usec();
                int r = sd_bus_is_ready(bus);

                if (r < 0)
                        return r;
                if (r > 0 && (sd_bus_get_n_queued_write(bus, &n_queued) < 0 || n_queued == 0))
                        return 0;
                if (now >= until)
                        return -ETIMEDOUT;
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, until - now);
                if (r < 0)
                        return r;
        }
}

/* What is registered with sd-bus for these names, only systemd's own programs have (all others see
 * EIO): the same numbers. */
int bus_units_error(const sd_bus_error *error) {
        static const struct {
                const char *name;
                int error;
        } rows[] = {
                { "org.freedesktop.systemd1.UnitMasked", -ERFKILL },
                { "org.freedesktop.systemd1.NoSuchUnit", -ENOENT },
                { "org.freedesktop.systemd1.NoUnitForPID", -ESRCH },
                { "org.freedesktop.systemd1.LoadFailed", -ENOEXEC },
                { "org.freedesktop.systemd1.BadUnitSetting", -ENOEXEC },
                { "org.freedesktop.systemd1.UnitExists", -EEXIST },
                { "org.freedesktop.systemd1.TransactionIsDestructive", -EDEADLK },
                { SD_BUS_ERROR_SERVICE_UNKNOWN, -ENOTCONN },
                { SD_BUS_ERROR_NAME_HAS_NO_OWNER, -ENOTCONN },
                { SD_BUS_ERROR_DISCONNECTED, -ENOTCONN },
        };
        int r = error ? -sd_bus_error_get_errno(error) : 0;

        for (size_t i = 0; error && i < ELEMENTSOF(rows); i++)
                if (sd_bus_error_has_name(error, rows[i].name) > 0)
                        return rows[i].error;
        return !error || r < 0 ? r : -EIO;
}

static int handle_reply(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *unused) {
        const sd_bus_error *error = sd_bus_message_get_error(message);
        const Call *call = userdata;

        call->reply(bus_units_error(error), error && error->message ? error->message : "",
                    call->userdata);
        return 0;
}

static int append_property(sd_bus_message *message, const BusUnitsProperty *property) {
        uint8_t bytes[CPU_SET_MAX / 8];
        size_t size = id_view_to_bytes(property->value, bytes);
        int r = sd_bus_message_open_container(message, 'r', "sv");

        if (r >= 0)
                r = sd_bus_message_append(message, "s", property->name);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(message, 'y', bytes, size);
        for (int i = 0; r >= 0 && i < 2; i++) /* variant, struct */
                r = sd_bus_message_close_container(message);
        return r;
}

int bus_units_send(sd_bus *bus, sd_bus_message *message, sd_bus_message_handler_t on_reply,
                   const void *call, size_t size, uint64_t timeout_usec, sd_bus_slot **ret_slot) {
        _cleanup_free_ void *copy = malloc(size);
        int r;

        if (!copy)
                return -ENOMEM;
        memcpy(copy, call, size);
        r = sd_bus_call_async(bus, ret_slot, message, on_reply, copy, timeout_usec);
        if (r < 0)
                return r;
        (void)sd_bus_slot_set_destroy_callback(*ret_slot, free);
        copy = NULL; /* the slot frees it */
        return 0;
}

int bus_units_foreach_property(sd_bus_message *message, BusPropertyReader reader, void *userdata) {
        int r = sd_bus_message_enter_container(message, 'a', "{sv}");

        while (r >= 0) {
                const char *name;

                r = sd_bus_message_enter_container(message, 'e', "sv");
                if (r <= 0)
                        return r;
                r = sd_bus_message_read(message, "s", &name);
                if (r >= 0)
                        r = reader(message, name, userdata);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        return r;
}

int bus_units_call(sd_bus *bus, sd_bus_message *message, BusUnitsReply reply, void *userdata,
                   sd_bus_slot **ret_slot) {
        const Call call = { .reply = reply, .userdata = userdata };

        return bus_units_send(bus, message, handle_reply, &call, sizeof(call), CALL_TIMEOUT_USEC,
                              ret_slot);
}

int bus_units_set_all(sd_bus *bus, const char *unit, const BusUnitsProperty *properties, size_t n,
                      BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, BUS_SYSTEMD, BUS_MANAGER_PATH,
                                           BUS_MANAGER, "SetUnitProperties");
        if (r >= 0)
                r = sd_bus_message_append(message, "sb", unit, 1 /* until the next boot */);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(sv)");
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = append_property(message, &properties[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : bus_units_call(bus, message, reply, userdata, ret_slot);
}

int bus_units_set(sd_bus *bus, const char *unit, const char *property, IdView value,
                  BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot) {
        const BusUnitsProperty one = { .name = property, .value = value };

        return bus_units_set_all(bus, unit, &one, 1, reply, userdata, ret_slot);
}

int bus_units_start(sd_bus *bus, const char *unit) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, BUS_SYSTEMD, BUS_MANAGER_PATH,
                                           BUS_MANAGER, "StartUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", unit, "replace");
        if (r >= 0)
                r = sd_bus_message_set_expect_reply(message, 0);
        if (r >= 0)
                r = sd_bus_send(bus, message, NULL);
        return r < 0 ? r : 0;
}
