/* systemd's manager over D-Bus: the connection and its signals. bus-manager-read.c reads the
 * units. */
#include <string.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/sys/bus-manager.h"
#include "tidbnumad/sys/bus-units.h"

static void report(BusManager *m, BusEvent event, const char *unit, const char *active_state) {
        m->handler(event, unit, active_state, m->userdata);
}

static int on_unit_new(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        const char *unit;

        if (sd_bus_message_read(message, "s", &unit) >= 0)
                report(userdata, BUS_EVENT_UNIT_NEW, unit, NULL);
        return 0;
}

/* A filter, which sees every message: libsystemd compares the arguments of a signal up to the first
 * one that is no text, and this one begins with a number. The rule of watch_job() is for the bus,
 * which compares all of them. */
static int on_job_removed(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        const char *unit;

        if (sd_bus_message_is_signal(message, BUS_MANAGER, "JobRemoved") > 0 &&
            sd_bus_message_read(message, "uos", NULL, NULL, &unit) >= 0)
                report(userdata, BUS_EVENT_JOB_REMOVED, unit, NULL);
        return 0;
}

static int on_matched_job(_unused_ sd_bus_message *message, _unused_ void *userdata,
                          _unused_ sd_bus_error *error) {
        return 0; /* the filter has seen it */
}

static int on_reloading(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        int begins;

        if (sd_bus_message_read(message, "b", &begins) >= 0)
                report(userdata, begins ? BUS_EVENT_RELOADING : BUS_EVENT_RELOADED, NULL, NULL);
        return 0;
}

/* "auto-restart", and "auto-restart-queued" since systemd 254. */
const char *bus_manager_state(const char *active_state, const char *sub_state) {
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

/* The state among the changed properties; NULL: it is not. */
static const char *read_active_state(sd_bus_message *message) {
        States states = { .sub = "" };
        int r = sd_bus_message_skip(message, "s");

        if (r >= 0)
                r = bus_units_foreach_property(message, read_if_state, &states);
        return r < 0 || !states.active ? NULL : bus_manager_state(states.active, states.sub);
}

static int on_changed(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *error) {
        const char *state = read_active_state(message);
        _cleanup_free_ char *unit = NULL;

        if (state && sd_bus_path_decode(sd_bus_message_get_path(message), BUS_MANAGER_PATH "/unit",
                                        &unit) > 0)
                report(userdata, BUS_EVENT_STATE, unit, state);
        return 0;
}

static int on_subscribed(sd_bus_message *message, void *userdata, _unused_ sd_bus_error *unused) {
        const sd_bus_error *error = sd_bus_message_get_error(message);
        BusManager *m = userdata;

        m->subscription = sd_bus_slot_unref(m->subscription);
        /* A systemd that has only been re-executed answers "already subscribed". */
        if (error && strcmp(error->name, BUS_SYSTEMD ".AlreadySubscribed") != 0)
                report(m, BUS_EVENT_LOST, NULL, NULL);
        else
                report(m, BUS_EVENT_SUBSCRIBED, NULL, NULL);
        return 0;
}

/* systemd sends no signals before a client subscribes. */
static int subscribe(BusManager *m) {
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
                (void)subscribe(m);
        return 0;
}

static int on_disconnected(_unused_ sd_bus_message *message, void *userdata,
                           _unused_ sd_bus_error *error) {
        report(userdata, BUS_EVENT_LOST, NULL, NULL);
        return 0;
}

static int add_matches(BusManager *m) {
        const struct {
                const char *sender, *path, *interface, *member;
                sd_bus_message_handler_t handler;
        } matches[] = {
                { BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER, "UnitNew", on_unit_new },
                { BUS_SYSTEMD, BUS_MANAGER_PATH, BUS_MANAGER, "Reloading", on_reloading },
                { "org.freedesktop.DBus.Local", "/org/freedesktop/DBus/Local",
                  "org.freedesktop.DBus.Local", "Disconnected", on_disconnected },
        };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(matches); i++)
                r = sd_bus_match_signal_async(m->bus, NULL, matches[i].sender, matches[i].path,
                                              matches[i].interface, matches[i].member,
                                              matches[i].handler, NULL, m);
        if (r >= 0)
                r = sd_bus_add_filter(m->bus, NULL, on_job_removed, m);
        if (r < 0)
                return r;
        return sd_bus_add_match_async(m->bus, NULL,
                                      "type='signal',sender='org.freedesktop.DBus',"
                                      "interface='org.freedesktop.DBus',"
                                      "member='NameOwnerChanged',arg0='" BUS_SYSTEMD "'",
                                      on_owner_changed, NULL, m);
}

int bus_manager_open(BusManager *manager, sd_event *event, BusManagerHandler handler,
                     void *userdata) {
        BusManager m = { .handler = handler, .userdata = userdata };
        int r;

        r = bus_units_open(event, &m.bus);
        if (r < 0)
                return r;
        *manager = m;
        r = add_matches(manager);
        if (r >= 0)
                r = subscribe(manager);
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

/* A signal of another interface of the unit (its own type's) is of no interest: arg0. */
static int watch_state(BusManager *m, const char *unit, sd_bus_slot **ret) {
        _cleanup_free_ char *path = NULL;
        int r = sd_bus_path_encode(BUS_MANAGER_PATH "/unit", unit, &path);

        return r < 0 ? r
                     : add_match(m,
                                 text_new("type='signal',sender='" BUS_SYSTEMD "',path='%s',"
                                          "interface='org.freedesktop.DBus.Properties',"
                                          "member='PropertiesChanged',arg0='" BUS_SYSTEMD ".Unit'",
                                          path),
                                 on_changed, ret);
}

static int watch_job(BusManager *m, const char *unit, sd_bus_slot **ret) {
        return add_match(m,
                         text_new("type='signal',sender='" BUS_SYSTEMD "',path='" BUS_MANAGER_PATH
                                  "',interface='" BUS_MANAGER "',member='JobRemoved',arg2='%s'",
                                  unit),
                         on_matched_job, ret);
}

int bus_manager_watch_unit(BusManager *manager, const char *unit, sd_bus_slot **ret_state,
                           sd_bus_slot **ret_job) {
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *state = NULL;
        int r;

        if (!manager->bus)
                return -ENOTCONN;
        if (strchr(unit, '\'')) /* no unit has one, systemd.unit(5); it would end the rule's text */
                return -EINVAL;
        r = watch_state(manager, unit, &state);
        if (r < 0)
                return r;
        r = watch_job(manager, unit, ret_job);
        if (r < 0)
                return r;
        *ret_state = TAKE_PTR(state);
        return 0;
}
