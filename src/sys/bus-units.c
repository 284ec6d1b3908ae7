/* Calls to systemd over D-Bus: properties of units, and transient scopes (StartTransientUnit() of
 * org.freedesktop.systemd1(5)). */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "tidbnumad/base/text.h"
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

        call->reply(&(Error){ .code = bus_units_error(error),
                              .sentence = error ? error->message : NULL },
                    call->userdata);
        return 0;
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

int bus_units_get(sd_bus *bus, const char *unit, const char *interface, const char *property,
                  sd_bus_message_handler_t on_reply, const void *call, size_t size,
                  sd_bus_slot **ret_slot) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_free_ char *path = NULL;
        int r = unit ? sd_bus_path_encode(BUS_MANAGER_PATH "/unit", unit, &path) : 0;

        if (r >= 0)
                r = sd_bus_message_new_method_call(
                        bus, &message, BUS_SYSTEMD, path ? path : BUS_MANAGER_PATH,
                        "org.freedesktop.DBus.Properties", property ? "Get" : "GetAll");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", interface);
        if (r >= 0 && property)
                r = sd_bus_message_append(message, "s", property);
        return r < 0 ? r : bus_units_send(bus, message, on_reply, call, size, 0, ret_slot);
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

static int bus_units_call(sd_bus *bus, sd_bus_message *message, BusUnitsReply reply, void *userdata,
                          sd_bus_slot **ret_slot) {
        const Call call = { .reply = reply, .userdata = userdata };

        return bus_units_send(bus, message, handle_reply, &call, sizeof(call), CALL_TIMEOUT_USEC,
                              ret_slot);
}

int bus_units_set_all(sd_bus *bus, const char *unit, const BusUnitsProperty *properties, size_t n,
                      BusUnitsReply reply, void *userdata, sd_bus_slot **ret_slot) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        uint8_t bytes[CPU_SET_MAX / 8];
        int r;

        r = sd_bus_message_new_method_call(bus, &message, BUS_SYSTEMD, BUS_MANAGER_PATH,
                                           BUS_MANAGER, "SetUnitProperties");
        if (r >= 0)
                r = sd_bus_message_append(message, "sb", unit, 1 /* until the next boot */);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(sv)");
        for (size_t i = 0; r >= 0 && i < n; i++) {
                const BusUnitsProperty *property = &properties[i];

                if (strcmp(property->name, BUS_MEMORY_MAX) == 0) {
                        r = sd_bus_message_append(message, "(sv)", property->name, "t",
                                                  property->bytes);
                        continue;
                }
                r = sd_bus_message_open_container(message, 'r', "sv");
                if (r >= 0)
                        r = sd_bus_message_append(message, "s", property->name);
                if (r >= 0)
                        r = sd_bus_message_open_container(message, 'v', "ay");
                if (r >= 0)
                        r = sd_bus_message_append_array(message, 'y', bytes,
                                                        id_view_to_bytes(property->value, bytes));
                for (int k = 0; r >= 0 && k < 2; k++) /* variant, struct */
                        r = sd_bus_message_close_container(message);
        }
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : bus_units_call(bus, message, reply, userdata, ret_slot);
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

/* --- transient scopes: StartTransientUnit() of org.freedesktop.systemd1(5) --- */

int bus_scope_start(sd_bus *bus, const BusScope *scope, BusUnitsReply reply, void *userdata,
                    sd_bus_slot **ret_slot) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &message, BUS_SYSTEMD, BUS_MANAGER_PATH,
                                           BUS_MANAGER, "StartTransientUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", scope->name, "fail");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "(sv)");
        /* The scope is stopped in the same way as the unit that the processes come from, and has
         * the same limit of tasks. If the kernel kills one process, the others are not stopped. */
        if (r >= 0)
                r = sd_bus_message_append(message, "(sv)(sv)(sv)(sv)(sv)", "Description", "s",
                                          scope->description, "Slice", "s", scope->slice,
                                          "TasksMax", "t", scope->tasks_max, "CollectMode", "s",
                                          "inactive-or-failed", "SendSIGHUP", "b",
                                          (int)scope->send_sighup);
        if (r >= 0 && scope->part_of)
                r = sd_bus_message_append(message, "(sv)", "PartOf", "as", 1, scope->part_of);
        if (r >= 0 && scope->stop_timeout_usec > 0)
                r = sd_bus_message_append(message, "(sv)", "TimeoutStopUSec", "t",
                                          scope->stop_timeout_usec);
        if (r >= 0 && scope->has_oom_policy)
                r = sd_bus_message_append(message, "(sv)", "OOMPolicy", "s", "continue");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", "PIDs");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "au");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'a', "u");
        for (size_t i = 0; r >= 0 && i < scope->n_pids; i++)
                r = sd_bus_message_append(message, "u", (uint32_t)scope->pids[i]);
        for (int i = 0; r >= 0 && i < 4; i++) /* array, variant, struct, array of properties */
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = sd_bus_message_append(message, "a(sa(sv))", 0);
        return r < 0 ? r : bus_units_call(bus, message, reply, userdata, ret_slot);
}

/* --- what systemd has set for a scope, and whether another scope would have the same --- */

/* Neither a limit nor a filter: resource use of a scope, its end, its manager. TasksMax= is
 * copied; Delegate= is judged by the caller. */
static const char *const HARMLESS[] = {
        "CPUQuotaPeriodUSec",
        "Controller",
        "ControlGroup",
        "ControlGroupId",
        "CoredumpReceive",
        "Delegate",
        "DelegateControllers",
        "DelegateSubgroup",
        "FinalKillSignal",
        "KillMode",
        "KillSignal",
        "ManagedOOMMemoryPressureDurationUSec",
        "ManagedOOMMemoryPressureLimit",
        "ManagedOOMMemoryPressureLimitPermyriad",
        "MemoryPressureThresholdUSec",
        "MemoryPressureWatch",
        "OOMPolicy",
        "RestartKillSignal",
        "Result",
        "RuntimeRandomizedExtraUSec",
        "SendSIGHUP",
        "SendSIGKILL",
        "Slice",
        "TasksMax",
        "TimeoutStopFailureMode",
        "TimeoutStopUSec",
        "WatchdogSignal",
};

/* Counters and results, of which each version of systemd has more. */
static const char *const HARMLESS_ENDS[] = { "Accounting", "Available", "Bytes", "Current",
                                             "Operations", "Packets",   "Peak",  "UsageNSec" };

static bool property_is_harmless(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(HARMLESS); i++)
                if (strcmp(name, HARMLESS[i]) == 0)
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(HARMLESS_ENDS); i++)
                if (text_ends_with(name, HARMLESS_ENDS[i]))
                        return true;
        return strncmp(name, "Effective", strlen("Effective")) == 0;
}

/* 1: the next value is what systemd shows for a property that is not set; 0: it is not. */
static int scope_read_unset(sd_bus_message *message, const char *name) {
        static const char *const words[][2] = {
                { "DevicePolicy", "auto" },
                { "ManagedOOMMemoryPressure", "auto" },
                { "ManagedOOMPreference", "none" },
                { "ManagedOOMSwap", "auto" },
        };
        const char *contents, *text, *wanted = "";
        uint64_t number;
        char type;
        int r = sd_bus_message_peek_type(message, &type, &contents), flag, unset = 1;

        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        switch (type) {
        case 's':
        case 'o':
                r = sd_bus_message_read_basic(message, type, &text);
                for (size_t i = 0; i < ELEMENTSOF(words); i++)
                        if (strcmp(name, words[i][0]) == 0)
                                wanted = words[i][1];
                return r < 0 ? r : strcmp(text, wanted) == 0;
        case 'b':
                r = sd_bus_message_read_basic(message, type, &flag);
                return r < 0 ? r : !flag == (strcmp(name, "MemoryZSwapWriteback") != 0);
        case 't':
                /* Zero is "no guarantee" of MemoryLow= and MemoryMin=, and of all others the
                 * tightest limit. */
                r = sd_bus_message_read_basic(message, type, &number);
                return r < 0 ? r
                       : text_ends_with(name, "Low") || text_ends_with(name, "Min")
                               ? number == 0
                               : number == UINT64_MAX;
        case 'a':
        case 'r':
                r = sd_bus_message_enter_container(message, type, contents);
                while (r >= 0 && (r = sd_bus_message_at_end(message, false)) == 0) {
                        /* An array that is not empty is set, whatever is in it. */
                        r = type == 'a' ? sd_bus_message_skip(message, NULL)
                                        : scope_read_unset(message, name);
                        unset &= type != 'a' && r > 0;
                }
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
                return r < 0 ? r : unset;
        default:
                r = sd_bus_message_skip(message, NULL);
                return r < 0 ? r : 0;
        }
}

static int scope_read_property(sd_bus_message *message, const char *name, void *userdata) {
        BusScopeState *state = userdata;
        const char *contents;
        int flag, r = sd_bus_message_peek_type(message, NULL, &contents);

        if (r >= 0)
                r = sd_bus_message_enter_container(message, 'v', contents);
        if (r < 0)
                return r;
        state->has_oom_policy |= strcmp(name, "OOMPolicy") == 0;
        if (strcmp(name, "Delegate") == 0 || strcmp(name, "SendSIGHUP") == 0) {
                r = sd_bus_message_read(message, "b", &flag);
                if (r >= 0)
                        *(name[0] == 'D' ? &state->delegated : &state->send_sighup) = flag;
        } else if (strcmp(name, "TimeoutStopUSec") == 0) {
                r = sd_bus_message_read(message, "t", &state->stop_timeout_usec);
        } else if (strcmp(name, "TasksMax") == 0) {
                r = sd_bus_message_read(message, "t", &state->tasks_max);
        } else if (property_is_harmless(name)) {
                r = sd_bus_message_skip(message, NULL);
        } else {
                r = scope_read_unset(message, name);
                if (r == 0 && !state->limit)
                        state->limit = name;
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int bus_scope_parse(sd_bus_message *message, BusScopeState *ret) {
        BusScopeState state = { .tasks_max = UINT64_MAX };
        int r = bus_units_foreach_property(message, scope_read_property, &state);

        if (r < 0)
                return r;
        *ret = state;
        return 0;
}

typedef struct ReadCall {
        BusScopeReply reply;
        BusTasksReply tasks_reply;
        void *userdata;
} ReadCall;

static int on_scope(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *unused) {
        const ReadCall *call = userdata;
        BusScopeState state;
        int r = bus_units_error(sd_bus_message_get_error(message));

        if (r >= 0)
                r = bus_scope_parse(message, &state);
        call->reply(r < 0 ? r : 0, r < 0 ? NULL : &state, call->userdata);
        return 0;
}

static int on_tasks(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *unused) {
        const ReadCall *call = userdata;
        uint64_t tasks = 0;
        int r = bus_units_error(sd_bus_message_get_error(message));

        if (r >= 0)
                r = sd_bus_message_read(message, "v", "t", &tasks);
        call->tasks_reply(r < 0 ? r : 0, tasks, call->userdata);
        return 0;
}

int bus_scope_read(sd_bus *bus, const char *scope, BusScopeReply reply, void *userdata,
                   sd_bus_slot **ret_slot) {
        const ReadCall call = { .reply = reply, .userdata = userdata };

        return bus_units_get(bus, scope, BUS_SYSTEMD ".Scope", NULL, on_scope, &call, sizeof(call),
                             ret_slot);
}

int bus_scope_read_default_tasks(sd_bus *bus, BusTasksReply reply, void *userdata,
                                 sd_bus_slot **ret_slot) {
        const ReadCall call = { .tasks_reply = reply, .userdata = userdata };

        return bus_units_get(bus, NULL, BUS_MANAGER, "DefaultTasksMax", on_tasks, &call,
                             sizeof(call), ret_slot);
}
