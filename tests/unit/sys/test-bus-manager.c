/* systemd's signals: which are heard, which are not, and what a strange one does. */

#include "manager-peer.h"

#define UNIT_PATH MANAGER_PATH "/unit/tikv_2d20160_2eservice"
#define PROPERTIES "org.freedesktop.DBus.Properties"

static sd_bus_message *signal_of(const char *path, const char *interface, const char *member) {
        sd_bus_message *m = NULL;

        assert_true(sd_bus_message_new_signal(peer.bus, &m, path, interface, member) >= 0);
        assert_true(sd_bus_message_set_sender(m, ":1.1") >= 0);
        return m;
}

static void emit(sd_bus_message *m) {
        assert_true(sd_bus_send(peer.bus, m, NULL) >= 0);
        sd_bus_message_unref(m);
        run();
}

#define emit_manager(member, ...)                                                                  \
        do {                                                                                       \
                sd_bus_message *m_ = signal_of(MANAGER_PATH, SYSTEMD ".Manager", (member));        \
                assert_true(sd_bus_message_append(m_, __VA_ARGS__) >= 0);                          \
                emit(m_);                                                                          \
        } while (0)

static void assert_event(unsigned n, BusEvent event, const char *unit, const char *state) {
        assert_int_equal(peer.n_events, n);
        assert_int_equal(peer.last, event);
        assert_string_equal(peer.unit, unit);
        assert_string_equal(peer.state, state);
}

TEST(subscribes, PEER) {
        run();
        assert_event(1, BUS_EVENT_SUBSCRIBED, "", "");
        assert_string_equal(peer.member, "Subscribe");
        assert_null(peer.manager.subscription);
}

TEST(subscribed_already, PEER) {
        peer.error = SYSTEMD ".AlreadySubscribed";
        run();
        assert_event(1, BUS_EVENT_SUBSCRIBED, "", "");
}

TEST(no_systemd_behind_the_bus, PEER) {
        peer.error = SD_BUS_ERROR_SERVICE_UNKNOWN;
        run();
        assert_event(1, BUS_EVENT_LOST, "", "");
}

TEST(bus_that_ends, PEER) {
        run();
        peer.bus = bus_units_close(peer.bus);
        run();
        assert_event(2, BUS_EVENT_LOST, "", "");
}

TEST(signals_of_the_manager, PEER) {
        run();
        emit_manager("UnitNew", "so", "tidb-4000.service", "/x");
        assert_event(2, BUS_EVENT_UNIT_NEW, "tidb-4000.service", "");
        emit_manager("Reloading", "b", 1);
        assert_event(3, BUS_EVENT_RELOADING, "", "");
        emit_manager("Reloading", "b", 0);
        assert_event(4, BUS_EVENT_RELOADED, "", "");
}

TEST(signals_of_another_type_are_ignored, PEER) {
        run();
        emit_manager("UnitNew", "u", 7);
        emit_manager("Reloading", "s", "no");
        assert_int_equal(peer.n_events, 1);
}

static void emit_owner(const char *owner) {
        sd_bus_message *m =
                signal_of("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged");

        assert_true(sd_bus_message_append(m, "sss", SYSTEMD, ":1.1", owner) >= 0);
        emit(m);
}

TEST(subscribes_again_when_systemd_comes_back, PEER) {
        run();
        emit_owner("");
        assert_int_equal(peer.n_calls, 1);
        emit_owner(":1.7");
        assert_int_equal(peer.n_calls, 2);
        assert_event(2, BUS_EVENT_SUBSCRIBED, "", "");
}

/* --- a watched unit --- */

static void watch(sd_bus_slot **state, sd_bus_slot **job) {
        run();
        assert_int_equal(bus_manager_watch_unit(&peer.manager, "tikv-20160.service", state, job),
                         0);
        run();
}

static void emit_changed(const char *path, const char *interface) {
        sd_bus_message *m = signal_of(path, PROPERTIES, "PropertiesChanged");

        assert_true(sd_bus_message_append(m, "sa{sv}as", interface, 3, "StateChangeTimestamp", "t",
                                          UINT64_C(5), "ActiveState", "s", "activating", "SubState",
                                          "s", "start", 0) >= 0);
        emit(m);
}

TEST(its_state_and_its_jobs, PEER) {
        sd_bus_slot *changed = NULL, *job = NULL;

        watch(&changed, &job);
        emit_changed(UNIT_PATH, SYSTEMD ".Unit");
        assert_event(2, BUS_EVENT_STATE, "tikv-20160.service", "activating");
        emit_manager("JobRemoved", "uoss", 9, "/job/9", "tikv-20160.service", "done");
        assert_event(3, BUS_EVENT_JOB_REMOVED, "tikv-20160.service", "");
        emit_manager("JobRemoved", "s", "tikv-20160.service");
        emit_changed(MANAGER_PATH "/unit/tikv_2d20161_2eservice", SYSTEMD ".Unit");
        emit_changed(UNIT_PATH, SYSTEMD ".Service");
        assert_int_equal(peer.n_events, 3);
        sd_bus_slot_unref(changed);
        sd_bus_slot_unref(job);
        emit_changed(UNIT_PATH, SYSTEMD ".Unit");
        assert_int_equal(peer.n_events, 3);
}

TEST(changes_without_a_state, PEER) {
        sd_bus_slot *changed = NULL, *job = NULL;
        sd_bus_message *m;

        watch(&changed, &job);
        m = signal_of(UNIT_PATH, PROPERTIES, "PropertiesChanged");
        assert_true(sd_bus_message_append(m, "sa{sv}as", SYSTEMD ".Unit", 1, "Names", "as", 1, "x",
                                          0) >= 0);
        emit(m);
        m = signal_of(UNIT_PATH, PROPERTIES, "PropertiesChanged"); /* which is no text */
        assert_true(sd_bus_message_append(m, "sa{sv}as", SYSTEMD ".Unit", 1, "ActiveState", "u", 1,
                                          0) >= 0);
        emit(m);
        m = signal_of(UNIT_PATH, PROPERTIES, "PropertiesChanged"); /* no properties */
        assert_true(sd_bus_message_append(m, "s", SYSTEMD ".Unit") >= 0);
        emit(m);
        assert_int_equal(peer.n_events, 1);
        sd_bus_slot_unref(changed);
        sd_bus_slot_unref(job);
}

TEST(a_name_that_would_end_the_rule, PEER) {
        sd_bus_slot *changed = NULL, *job = NULL;

        assert_int_equal(bus_manager_watch_unit(&peer.manager, "a'b.service", &changed, &job),
                         -EINVAL);
        assert_null(changed);
        bus_manager_close(&peer.manager);
        assert_int_equal(bus_manager_watch_unit(&peer.manager, "a.service", &changed, &job),
                         -ENOTCONN);
}
