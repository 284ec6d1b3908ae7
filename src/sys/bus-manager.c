/* systemd's manager over D-Bus: the connection, its signals, and reading units. */
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"

static void bus_report(BusManager *m, BusEvent event, const char *unit, const char *active_state) {
        m->handler(event, unit, active_state, m->userdata);
}

static int on_unit_new(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        const char *unit;

        if (sd_bus_message_read(message, "s", &unit) >= 0)
                bus_report(userdata, BUS_EVENT_UNIT_NEW, unit, NULL);
        return 0;
}

/* A filter, which sees every message: libsystemd compares the arguments of a signal up to the first
 * one that is no text, and this one begins with a number. The rule of its match is for the bus,
 * which compares all of them. */
static int on_job_removed(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        const char *unit;

        if (sd_bus_message_is_signal(message, BUS_MANAGER, "JobRemoved") > 0 &&
            sd_bus_message_read(message, "uos", NULL, NULL, &unit) >= 0)
                bus_report(userdata, BUS_EVENT_JOB_REMOVED, unit, NULL);
        return 0;
}

static int on_matched_job(_unused_ sd_bus_message *message, _unused_ void *userdata,
                          _unused_ sd_bus_error *error) {
        return 0; /* the filter has seen it */
}

static int on_reloading(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        int begins;

        if (sd_bus_message_read(message, "b", &begins) >= 0)
                bus_report(userdata, begins ? BUS_EVENT_RELOADING : BUS_EVENT_RELOADED, NULL, NULL);
        return 0;
}

/* "auto-restart", and "auto-restart-queued" since systemd 254. */
static const char *unit_state_of(const char *active_state, const char *sub_state) {
        return strncmp(sub_state, "auto-restart", strlen("auto-restart")) == 0 ? "auto-restart"
                                                                               : active_state;
}

typedef struct States {
        const char *active, *sub;
} States;

static int read_if_state(sd_bus_message *message, const char *name, void *userdata) {
        States *states = userdata;

        if (strcmp(name, "ActiveState") == 0)
                return sd_bus_message_read(message, "v", "s", &states->active);
        if (strcmp(name, "SubState") == 0)
                return sd_bus_message_read(message, "v", "s", &states->sub);
        return sd_bus_message_skip(message, "v");
}

static int on_changed(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        States states = { .sub = "" };
        _cleanup_free_ char *unit = NULL;
        int r = sd_bus_message_skip(message, "s");

        if (r >= 0)
                r = bus_units_foreach_property(message, read_if_state, &states);
        /* Of the changed properties the state may be none. */
        if (r >= 0 && states.active &&
            sd_bus_path_decode(sd_bus_message_get_path(message), BUS_MANAGER_PATH "/unit", &unit) >
                    0)
                bus_report(userdata, BUS_EVENT_STATE, unit,
                           unit_state_of(states.active, states.sub));
        return 0;
}

static int on_subscribed(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *unused) {
        const sd_bus_error *error = sd_bus_message_get_error(message);
        BusManager *m = userdata;

        m->subscription = sd_bus_slot_unref(m->subscription);
        /* A systemd that has only been re-executed answers "already subscribed". */
        if (error && strcmp(error->name, BUS_SYSTEMD ".AlreadySubscribed") != 0)
                bus_report(m, BUS_EVENT_LOST, NULL, NULL);
        else
                bus_report(m, BUS_EVENT_SUBSCRIBED, NULL, NULL);
        return 0;
}

/* systemd sends no signals before a client subscribes. */
static int bus_subscribe(BusManager *m) {
        if (m->subscription)
                return 0; /* the bus keeps the request for a systemd that is not back yet */
        return sd_bus_call_method_async(m->bus, &m->subscription, BUS_SYSTEMD, BUS_MANAGER_PATH,
                                        BUS_MANAGER, "Subscribe", on_subscribed, m, NULL);
}

/* systemd was re-executed, or has come back to a bus that was restarted. */
static int on_owner_changed(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        BusManager *m = userdata;
        const char *owner;

        if (sd_bus_message_read(message, "sss", NULL, NULL, &owner) >= 0 && owner[0] != '\0')
                (void)bus_subscribe(m);
        return 0;
}

static int on_disconnected(_unused_ sd_bus_message *message, void *userdata,
                           _unused_ sd_bus_error *error) {
        bus_report(userdata, BUS_EVENT_LOST, NULL, NULL);
        return 0;
}

int bus_manager_open(BusManager *manager, sd_event *event, BusManagerHandler handler,
                     void *userdata) {
        static const struct {
                const char *sender, *path, *interface, *member;
                sd_bus_message_handler_t handler;
        } matches[] = {
                { BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER, "UnitNew", on_unit_new },
                { BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER, "Reloading", on_reloading },
                { "org.freedesktop.DBus.Local", "/org/freedesktop/DBus/Local",
                  "org.freedesktop.DBus.Local", "Disconnected", on_disconnected },
        };
        BusManager m = { .handler = handler, .userdata = userdata };
        int r;

        r = bus_units_open(event, &m.bus);
        if (r < 0)
                return r;
        *manager = m;
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(matches); i++)
                r = sd_bus_match_signal_async(m.bus, NULL, matches[i].sender, matches[i].path,
                                              matches[i].interface, matches[i].member,
                                              matches[i].handler, NULL, manager);
        if (r >= 0)
                r = sd_bus_add_filter(m.bus, NULL, on_job_removed, manager);
        if (r >= 0)
                r = sd_bus_add_match_async(m.bus, NULL,
                                           "type='signal',sender='org.freedesktop.DBus',"
                                           "interface='org.freedesktop.DBus',"
                                           "member='NameOwnerChanged',arg0='" BUS_SYSTEMD "'",
                                           on_owner_changed, NULL, manager);
        if (r >= 0)
                r = bus_subscribe(manager);
        if (r < 0)
                bus_manager_close(manager);
        return r;
}

void bus_manager_close(BusManager *manager) {
        manager->subscription = sd_bus_slot_unref(manager->subscription);
        /* Not flushed: that would wait for a bus that may be gone. */
        manager->bus = bus_units_close(manager->bus);
}

static int add_match(BusManager *m, char *rule, sd_bus_message_handler_t handler,
                     sd_bus_slot **ret) {
        int r = rule ? sd_bus_add_match_async(m->bus, ret, rule, handler, NULL, m) : -ENOMEM;

        free(rule);
        return r;
}

int bus_manager_watch_unit(BusManager *manager, const char *unit, sd_bus_slot **ret_state,
                           sd_bus_slot **ret_job) {
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *state = NULL;
        _cleanup_free_ char *path = NULL;
        int r;

        if (!manager->bus)
                return -ENOTCONN;
        if (strchr(unit, '\'')) /* no unit has one, systemd.unit(5); it would end the rule's text */
                return -EINVAL;
        r = sd_bus_path_encode(BUS_MANAGER_PATH "/unit", unit, &path);
        /* A signal of another interface of the unit (its own type's) is of no interest: arg0. */
        if (r >= 0)
                r = add_match(manager,
                              text_new("type='signal',sender='" BUS_SYSTEMD "',path='%s',"
                                       "interface='org.freedesktop.DBus.Properties',"
                                       "member='PropertiesChanged',arg0='" BUS_SYSTEMD ".Unit'",
                                       path),
                              on_changed, &state);
        if (r >= 0)
                r = add_match(manager,
                              text_new("type='signal',sender='" BUS_SYSTEMD
                                       "',path='" BUS_MANAGER_PATH "',interface='" BUS_MANAGER
                                       "',member='JobRemoved',arg2='%s'",
                                       unit),
                              on_matched_job, ret_job);
        if (r < 0)
                return r;
        *ret_state = TAKE_PTR(state);
        return 0;
}

/* --- reading units, one or lists of names --- */

typedef struct ReadCall {
        BusUnitReply reply;
        void *userdata;
} ReadCall;

typedef struct ListCall {
        bool files; /* not units */
        BusListReply reply;
        void *userdata;
} ListCall;

static int read_flag(sd_bus_message *message, bool *ret) {
        int value, r = sd_bus_message_read(message, "v", "b", &value);

        if (r >= 0)
                *ret = value;
        return r;
}

/* Texts beyond `max` are dropped. */
static int read_texts(sd_bus_message *message, const char **ret, size_t max, size_t *ret_n) {
        const char *text;
        int r = sd_bus_message_enter_container(message, 'a', "s");

        *ret_n = 0;
        while (r >= 0 && (r = sd_bus_message_read(message, "s", &text)) > 0)
                if (*ret_n < max)
                        ret[(*ret_n)++] = text;
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* ExecStart=: path, words, and what became of it. */
static int read_exec(sd_bus_message *message, BusUnit *unit) {
        int r = sd_bus_message_enter_container(message, 'v', "a(sasbttttuii)");

        if (r >= 0)
                r = sd_bus_message_enter_container(message, 'a', "(sasbttttuii)");
        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'r', "sasbttttuii")) > 0) {
                r = sd_bus_message_skip(message, "s");
                if (r >= 0)
                        r = read_texts(message, unit->exec, BUS_EXEC_WORDS_MAX, &unit->n_exec);
                if (r >= 0)
                        r = sd_bus_message_skip(message, "bttttuii");
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_property(sd_bus_message *message, const char *name, void *userdata) {
        BusUnit *unit = userdata;
        const struct {
                const char *name, *type;
                void *value;
        } values[] = {
                { "Id", "s", &unit->id },
                { "LoadState", "s", &unit->load_state },
                { "ActiveState", "s", &unit->active_state },
                { "FragmentPath", "s", &unit->fragment },
                { "User", "s", &unit->user },
                { "RootDirectory", "s", &unit->root_directory },
                { "RootImage", "s", &unit->root_image },
                { "PrivatePIDs", "s", &unit->private_pids },
                { "ControlGroup", "s", &unit->group },
                { "SubState", "s", &unit->sub_state },
                { BUS_MEMORY_MAX, "t", &unit->memory_max },
                { "NUMAPolicy", "i", &unit->numa_policy },
                { "NRestarts", "u", &unit->n_restarts },
                { "InactiveExitTimestampMonotonic", "t", &unit->begun_usec },
                { "ActiveEnterTimestampMonotonic", "t", &unit->active_usec },
        };
        const struct {
                const char *name;
                IdTarget set;
        } sets[] = {
                { "AllowedCPUs", ID_TARGET(&unit->cpus) },
                { "AllowedMemoryNodes", ID_TARGET(&unit->mems) },
                { "CPUAffinity", ID_TARGET(&unit->affinity) },
                { "NUMAMask", ID_TARGET(&unit->numa_mask) },
        };
        const void *bytes;
        size_t n;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(values); i++)
                if (strcmp(name, values[i].name) == 0)
                        return sd_bus_message_read(message, "v", values[i].type, values[i].value);
        for (size_t i = 0; i < ELEMENTSOF(sets); i++) {
                if (strcmp(name, sets[i].name) != 0)
                        continue;
                r = sd_bus_message_enter_container(message, 'v', "ay");
                if (r >= 0)
                        r = sd_bus_message_read_array(message, 'y', &bytes, &n);
                if (r < 0)
                        return r;
                id_target_from_bytes(bytes, n, sets[i].set);
                return sd_bus_message_exit_container(message);
        }
        if (strcmp(name, "CPUAffinityFromNUMA") == 0)
                return read_flag(message, &unit->affinity_from_numa);
        if (strcmp(name, "DynamicUser") == 0)
                return read_flag(message, &unit->dynamic_user);
        if (strcmp(name, "PrivateUsers") == 0)
                return read_flag(message, &unit->container);
        if (strcmp(name, "ExecStart") == 0)
                return read_exec(message, unit);
        if (strcmp(name, "DropInPaths") == 0) {
                r = sd_bus_message_enter_container(message, 'v', "as");
                if (r >= 0)
                        r = read_texts(message, unit->drop_ins, BUS_DROP_INS_MAX,
                                       &unit->n_drop_ins);
                return r < 0 ? r : sd_bus_message_exit_container(message);
        }
        return sd_bus_message_skip(message, "v");
}

static int on_unit(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *unused) {
        const ReadCall *call = userdata;
        BusUnit unit = { .id = "",
                         .load_state = "",
                         .active_state = "",
                         .sub_state = "",
                         .fragment = "",
                         .user = "",
                         .root_directory = "",
                         .root_image = "",
                         .private_pids = "",
                         .group = "",
                         .memory_max = UINT64_MAX,
                         .numa_policy = -1 };
        int r = bus_units_error(sd_bus_message_get_error(message));

        if (r >= 0)
                r = bus_units_foreach_property(message, read_property, &unit);
        unit.active_state = unit_state_of(unit.active_state, unit.sub_state);
        unit.container |= (*unit.root_directory && strcmp(unit.root_directory, "/") != 0) ||
                          *unit.root_image || strcmp(unit.private_pids, "yes") == 0;
        call->reply(r < 0 ? r : 0, r < 0 ? NULL : &unit, call->userdata);
        return 0;
}

int bus_manager_read_unit(sd_bus *bus, const char *unit, BusUnitReply reply, void *userdata,
                          sd_bus_slot **ret_slot) {
        const ReadCall call = { .reply = reply, .userdata = userdata };

        /* All interfaces at once, as systemctl does: a unit that is not loaded is loaded for each
         * call, and forgotten after it. */
        return bus ? bus_units_get(bus, unit, "", NULL, on_unit, &call, sizeof(call), ret_slot)
                   : -ENOTCONN;
}

static int on_list(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *unused) {
        const ListCall *call = userdata;
        const char *name, *state, *active_state = "";
        int r = bus_units_error(sd_bus_message_get_error(message));

        if (r >= 0)
                r = sd_bus_message_enter_container(message, 'a',
                                                   call->files ? "(ss)" : "(ssssssouso)");
        while (r >= 0) {
                r = call->files ? sd_bus_message_read(message, "(ss)", &name, &state)
                                : sd_bus_message_read(message, "(ssssssouso)", &name, NULL, &state,
                                                      &active_state, NULL, NULL, NULL, NULL, NULL,
                                                      NULL);
                if (r <= 0)
                        break;
                /* Unit files come with their paths. */
                call->reply(0, basename(name), state, active_state, call->userdata);
        }
        call->reply(r, NULL, NULL, NULL, call->userdata);
        return 0;
}

int bus_manager_list_units(BusManager *manager, char *const *globs, bool files, BusListReply reply,
                           void *userdata) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        const ListCall call = { .files = files, .reply = reply, .userdata = userdata };
        char *none[] = { NULL };
        int r;

        if (!manager->bus)
                return -ENOTCONN;
        r = sd_bus_message_new_method_call(
                manager->bus, &message, BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER,
                files ? "ListUnitFilesByPatterns" : "ListUnitsByPatterns");
        if (r >= 0)
                r = sd_bus_message_append_strv(message, none); /* in any state */
        if (r >= 0)
                r = sd_bus_message_append_strv(message, (char **)globs);
        if (r >= 0)
                r = bus_units_send(manager->bus, message, on_list, &call, sizeof(call), 0, &slot);
        if (r >= 0)
                (void)sd_bus_slot_set_floating(slot, 1);
        return r;
}

bool bus_manager_is_runtime(const Sysroot *sysroot, const char *unit, const char *property) {
        _cleanup_free_ char *path = text_new("%s/run/systemd/system.control/%s.d/50-%s.conf",
                                             sysroot->path, unit, property);

        return path && access(path, F_OK) == 0;
}
