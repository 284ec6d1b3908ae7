/* Transient scopes over D-Bus (StartTransientUnit() of org.freedesktop.systemd1(5)). */
#include <errno.h>
#include <string.h>

#include "tidbnumad/base/text.h"
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

/* The scope is stopped in the same way as the unit that the processes come from, and has the same
 * limit of tasks. If the kernel kills one process, the others are not stopped. */
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

        r = sd_bus_message_new_method_call(bus, &message, BUS_SYSTEMD, BUS_MANAGER_PATH,
                                           BUS_MANAGER, "StartTransientUnit");
        if (r >= 0)
                r = sd_bus_message_append(message, "ss", scope->name, "fail");
        if (r >= 0)
                r = append_properties(message, scope);
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

static bool is_harmless(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(HARMLESS); i++)
                if (strcmp(name, HARMLESS[i]) == 0)
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(HARMLESS_ENDS); i++)
                if (text_ends_with(name, HARMLESS_ENDS[i]))
                        return true;
        return strncmp(name, "Effective", strlen("Effective")) == 0;
}

/* 1: the next value is what systemd shows for a property that is not set; 0: it is not. */
static int read_unset(sd_bus_message *message, const char *name);

static int read_unset_text(sd_bus_message *message, char type, const char *name) {
        static const char *const words[][2] = {
                { "DevicePolicy", "auto" },
                { "ManagedOOMMemoryPressure", "auto" },
                { "ManagedOOMPreference", "none" },
                { "ManagedOOMSwap", "auto" },
        };
        const char *text;
        int r = sd_bus_message_read_basic(message, type, &text);

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(words); i++)
                if (strcmp(name, words[i][0]) == 0)
                        return strcmp(text, words[i][1]) == 0;
        return r < 0 ? r : text[0] == '\0';
}

static int read_unset_members(sd_bus_message *message, char type, const char *contents,
                              const char *name) {
        int r = sd_bus_message_enter_container(message, type, contents), unset = 1;

        while (r >= 0 && (r = sd_bus_message_at_end(message, false)) == 0) {
                /* An array that is not empty is set, whatever is in it. */
                r = type == 'a' ? sd_bus_message_skip(message, NULL) : read_unset(message, name);
                unset &= type != 'a' && r > 0;
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        return r < 0 ? r : unset;
}

/* Zero is "no guarantee" of MemoryLow= and MemoryMin=, and of all others the tightest limit. */
static int read_unset_number(sd_bus_message *message, const char *name) {
        uint64_t value;
        int r = sd_bus_message_read_basic(message, 't', &value);

        return r < 0                                                        ? r
               : text_ends_with(name, "Low") || text_ends_with(name, "Min") ? value == 0
                                                                            : value == UINT64_MAX;
}

static int read_unset(sd_bus_message *message, const char *name) {
        const char *contents;
        char type;
        int r = sd_bus_message_peek_type(message, &type, &contents), flag;

        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        switch (type) {
        case 's':
        case 'o':
                return read_unset_text(message, type, name);
        case 'b':
                r = sd_bus_message_read_basic(message, type, &flag);
                return r < 0 ? r : !flag == (strcmp(name, "MemoryZSwapWriteback") != 0);
        case 't':
                return read_unset_number(message, name);
        case 'a':
        case 'r':
                return read_unset_members(message, type, contents, name);
        default:
                r = sd_bus_message_skip(message, NULL);
                return r < 0 ? r : 0;
        }
}

static int read_value(sd_bus_message *message, const char *name, BusScopeState *state) {
        int flag, r;

        if (strcmp(name, "Delegate") == 0 || strcmp(name, "SendSIGHUP") == 0) {
                r = sd_bus_message_read(message, "b", &flag);
                if (r >= 0)
                        *(name[0] == 'D' ? &state->delegated : &state->send_sighup) = flag;
                return r;
        }
        if (strcmp(name, "TimeoutStopUSec") == 0)
                return sd_bus_message_read(message, "t", &state->stop_timeout_usec);
        if (strcmp(name, "TasksMax") == 0)
                return sd_bus_message_read(message, "t", &state->tasks_max);
        if (strcmp(name, "OOMPolicy") == 0)
                state->has_oom_policy = true;
        if (is_harmless(name))
                return sd_bus_message_skip(message, NULL);
        r = read_unset(message, name);
        if (r == 0 && !state->limit)
                state->limit = name;
        return r;
}

static int read_property(sd_bus_message *message, const char *name, void *userdata) {
        const char *contents;
        int r = sd_bus_message_peek_type(message, NULL, &contents);

        if (r >= 0)
                r = sd_bus_message_enter_container(message, 'v', contents);
        if (r >= 0)
                r = read_value(message, name, userdata);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int bus_scope_parse(sd_bus_message *message, BusScopeState *ret) {
        BusScopeState state = { .tasks_max = UINT64_MAX };
        int r = bus_units_foreach_property(message, read_property, &state);

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

static int send(sd_bus *bus, const char *path, const char *method, const char *interface,
                const char *property, const ReadCall *call, sd_bus_slot **ret_slot) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = sd_bus_message_new_method_call(bus, &message, BUS_SYSTEMD, path,
                                               "org.freedesktop.DBus.Properties", method);

        if (r >= 0)
                r = sd_bus_message_append(message, "s", interface);
        if (r >= 0 && property)
                r = sd_bus_message_append(message, "s", property);
        return r < 0 ? r
                     : bus_units_send(bus, message, call->reply ? on_scope : on_tasks, call,
                                      sizeof(*call), 0, ret_slot);
}

int bus_scope_read(sd_bus *bus, const char *scope, BusScopeReply reply, void *userdata,
                   sd_bus_slot **ret_slot) {
        const ReadCall call = { .reply = reply, .userdata = userdata };
        _cleanup_free_ char *path = NULL;
        int r = sd_bus_path_encode(BUS_MANAGER_PATH "/unit", scope, &path);

        return r < 0 ? r : send(bus, path, "GetAll", BUS_SYSTEMD ".Scope", NULL, &call, ret_slot);
}

int bus_scope_read_default_tasks(sd_bus *bus, BusTasksReply reply, void *userdata,
                                 sd_bus_slot **ret_slot) {
        const ReadCall call = { .tasks_reply = reply, .userdata = userdata };

        return send(bus, BUS_MANAGER_PATH, "Get", BUS_MANAGER, "DefaultTasksMax", &call, ret_slot);
}
