/* What systemd's manager knows of units: one unit, or lists of names. */
#include <string.h>

#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"

#define SYSTEMD "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER SYSTEMD ".Manager"

typedef struct ReadCall {
        BusUnitReply reply;
        void *userdata;
} ReadCall;

typedef struct ListCall {
        BusListReply reply;
        void *userdata;
} ListCall;

static int read_set(sd_bus_message *message, IdTarget ret) {
        const void *bytes;
        size_t n;
        int r;

        r = sd_bus_message_enter_container(message, 'v', "ay");
        if (r < 0)
                return r;
        r = sd_bus_message_read_array(message, 'y', &bytes, &n);
        if (r < 0)
                return r;
        id_target_from_bytes(bytes, n, ret);
        return sd_bus_message_exit_container(message);
}

static int read_flag(sd_bus_message *message, bool *ret) {
        int value, r = sd_bus_message_read(message, "v", "b", &value);

        if (r >= 0)
                *ret = value;
        return r;
}

static int read_property(sd_bus_message *message, const char *name, BusUnit *unit) {
        const struct {
                const char *name;
                const char **text;
        } texts[] = {
                { "Id", &unit->id },
                { "LoadState", &unit->load_state },
                { "ActiveState", &unit->active_state },
                { "User", &unit->user },
                { "ControlGroup", &unit->group },
        };
        for (size_t i = 0; i < ELEMENTSOF(texts); i++)
                if (strcmp(name, texts[i].name) == 0)
                        return sd_bus_message_read(message, "v", "s", texts[i].text);
        if (strcmp(name, "AllowedCPUs") == 0)
                return read_set(message, ID_TARGET(&unit->cpus));
        if (strcmp(name, "AllowedMemoryNodes") == 0)
                return read_set(message, ID_TARGET(&unit->mems));
        if (strcmp(name, "DynamicUser") == 0)
                return read_flag(message, &unit->dynamic_user);
        return sd_bus_message_skip(message, "v");
}

static int parse_unit(sd_bus_message *message, BusUnit *ret) {
        int r;

        *ret = (BusUnit){ .id = "", .load_state = "", .active_state = "", .user = "", .group = "" };
        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0) {
                const char *name;

                r = sd_bus_message_enter_container(message, 'e', "sv");
                if (r <= 0)
                        return r;
                r = sd_bus_message_read(message, "s", &name);
                if (r >= 0)
                        r = read_property(message, name, ret);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        return r;
}

static int on_unit(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
        const ReadCall *call = userdata;
        BusUnit unit;
        int r = 0;

        (void)unused;
        if (sd_bus_message_is_method_error(message, NULL))
                r = bus_units_error(sd_bus_message_get_error(message));
        else
                r = parse_unit(message, &unit);
        call->reply(r < 0 ? r : 0, r < 0 ? NULL : &unit, call->userdata);
        return 0;
}

int bus_manager_read_unit(sd_bus *bus, const char *unit, BusUnitReply reply, void *userdata,
                          sd_bus_slot **ret_slot) {
        _cleanup_free_ char *path = NULL;
        _cleanup_free_ ReadCall *call = NULL;
        int r;

        if (!bus)
                return -ENOTCONN;
        r = sd_bus_path_encode(MANAGER_PATH "/unit", unit, &path);
        if (r < 0)
                return r;
        call = malloc(sizeof(*call));
        if (!call)
                return -ENOMEM;
        *call = (ReadCall){ .reply = reply, .userdata = userdata };
        /* All interfaces at once, as systemctl does: a unit that is not loaded is loaded for each
         * call, and forgotten after it. */
        r = sd_bus_call_method_async(bus, ret_slot, SYSTEMD, path,
                                     "org.freedesktop.DBus.Properties", "GetAll", on_unit, call,
                                     "s", "");
        if (r < 0)
                return r;
        (void)sd_bus_slot_set_destroy_callback(*ret_slot, free);
        call = NULL; /* the slot frees it */
        return 0;
}

static int parse_units(sd_bus_message *message, const ListCall *call) {
        const char *name, *load_state, *active_state;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(ssssssouso)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(message, "(ssssssouso)", &name, NULL, &load_state,
                                        &active_state, NULL, NULL, NULL, NULL, NULL, NULL)) > 0)
                call->reply(0, name, load_state, active_state, call->userdata);
        return r;
}

static int on_units(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
        const ListCall *call = userdata;
        int r;

        (void)unused;
        r = sd_bus_message_is_method_error(message, NULL)
                    ? bus_units_error(sd_bus_message_get_error(message))
                    : parse_units(message, call);
        call->reply(r, NULL, NULL, NULL, call->userdata);
        return 0;
}

static int parse_unit_files(sd_bus_message *message, const ListCall *call) {
        const char *path, *state;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "(ss)");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(message, "(ss)", &path, &state)) > 0) {
                const char *slash = strrchr(path, '/');

                call->reply(0, slash ? slash + 1 : path, state, "", call->userdata);
        }
        return r;
}

static int on_unit_files(sd_bus_message *message, void *userdata, sd_bus_error *unused) {
        const ListCall *call = userdata;
        int r;

        (void)unused;
        r = sd_bus_message_is_method_error(message, NULL)
                    ? bus_units_error(sd_bus_message_get_error(message))
                    : parse_unit_files(message, call);
        call->reply(r, NULL, NULL, NULL, call->userdata);
        return 0;
}

static int list(BusManager *m, const char *method, char *const *globs, sd_bus_message_handler_t on,
                BusListReply reply, void *userdata) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        _cleanup_free_ ListCall *call = NULL;
        char *none[] = { NULL };
        int r;

        if (!m->bus)
                return -ENOTCONN;
        r = sd_bus_message_new_method_call(m->bus, &message, SYSTEMD, MANAGER_PATH, MANAGER,
                                           method);
        if (r >= 0)
                r = sd_bus_message_append_strv(message, none); /* in any state */
        if (r >= 0)
                r = sd_bus_message_append_strv(message, (char **)globs);
        if (r < 0)
                return r;
        call = malloc(sizeof(*call));
        if (!call)
                return -ENOMEM;
        *call = (ListCall){ .reply = reply, .userdata = userdata };
        r = sd_bus_call_async(m->bus, &slot, message, on, call, 0);
        if (r < 0)
                return r;
        (void)sd_bus_slot_set_destroy_callback(slot, free);
        (void)sd_bus_slot_set_floating(slot, 1);
        call = NULL;
        return 0;
}

int bus_manager_list_units(BusManager *manager, char *const *globs, BusListReply reply,
                           void *userdata) {
        return list(manager, "ListUnitsByPatterns", globs, on_units, reply, userdata);
}

int bus_manager_list_unit_files(BusManager *manager, char *const *globs, BusListReply reply,
                                void *userdata) {
        return list(manager, "ListUnitFilesByPatterns", globs, on_unit_files, reply, userdata);
}

bool bus_manager_is_runtime(const Sysroot *sysroot, const char *unit, const char *property) {
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s/run/systemd/system.control/%s.d/50-%s.conf", sysroot->path, unit,
                     property) < 0) {
                path = NULL;
                return false;
        }
        return access(path, F_OK) == 0;
}
