/* What systemd answers about units: each property, each list, and answers that do not fit. */

#include "manager-peer.h"

#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"

static struct {
        unsigned n;
        int error;
        bool has_unit, dynamic_user;
        char id[64], load_state[32], active_state[32], user[32], group[64];
        CpuSet cpus;
        NodeSet mems;
} got;

static void on_unit(int error, const BusUnit *unit, void *userdata) {
        assert_ptr_equal(userdata, &got);
        got.n++;
        got.error = error;
        got.has_unit = unit;
        if (!unit)
                return;
        (void)snprintf(got.id, sizeof(got.id), "%s", unit->id);
        (void)snprintf(got.load_state, sizeof(got.load_state), "%s", unit->load_state);
        (void)snprintf(got.active_state, sizeof(got.active_state), "%s", unit->active_state);
        (void)snprintf(got.user, sizeof(got.user), "%s", unit->user);
        (void)snprintf(got.group, sizeof(got.group), "%s", unit->group);
        got.dynamic_user = unit->dynamic_user;
        got.cpus = unit->cpus;
        got.mems = unit->mems;
}

static void read_unit(Answer answer) {
        sd_bus_slot *slot = NULL;

        run();
        memset(&got, 0, sizeof(got));
        peer.answer = answer;
        assert_int_equal(
                bus_manager_read_unit(peer.manager.bus, "tikv-20160.service", on_unit, &got, &slot),
                0);
        run();
        assert_int_equal(got.n, 1);
        sd_bus_slot_unref(slot);
}

static int whole(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(
                reply, "a{sv}", 10, "Id", "s", "tikv.service", "Names", "as", 2, "a", "b",
                "LoadState", "s", "loaded", "ActiveState", "s", "active", "User", "s", "tidb",
                "ControlGroup", "s", "/a.slice/b", "AllowedCPUs", "ay", 2, 0x0f, 0x01,
                "AllowedMemoryNodes", "ay", 1, 0x02, "DynamicUser", "b", 1, "Nice", "i", -5);
}

TEST(unit, PEER) {
        read_unit(whole);
        assert_int_equal(got.error, 0);
        assert_string_equal(peer.path, MANAGER_PATH "/unit/tikv_2d20160_2eservice");
        assert_string_equal(got.id, "tikv.service");
        assert_string_equal(got.load_state, "loaded");
        assert_string_equal(got.active_state, "active");
        assert_string_equal(got.user, "tidb");
        assert_string_equal(got.group, "/a.slice/b");
        assert_ids(got.cpus, "0-3,8");
        assert_ids(got.mems, "1");
        assert_true(got.dynamic_user);
}

static int nothing(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "a{sv}", 0);
}

TEST(unit_without_properties, PEER) {
        read_unit(nothing);
        assert_int_equal(got.error, 0);
        assert_string_equal(got.user, "");
        assert_ids(got.cpus, "");
}

static int cpus_as_text(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "a{sv}", 1, "AllowedCPUs", "s", "0-3");
}

static int user_as_number(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "a{sv}", 1, "User", "u", 5);
}

static int flag_as_text(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "a{sv}", 1, "DynamicUser", "s", "yes");
}

static int a_number(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "u", 5);
}

/* Half of an answer must not pass for a unit without limits. */
TEST(answers_that_do_not_fit, PEER) {
        const Answer answers[] = { cpus_as_text, user_as_number, flag_as_text, a_number };

        for (size_t i = 0; i < ELEMENTSOF(answers); i++) {
                read_unit(answers[i]);
                assert_true(got.error < 0);
                assert_false(got.has_unit);
        }
}

TEST(unit_that_is_not_there, PEER) {
        run();
        peer.error = SYSTEMD ".NoSuchUnit";
        read_unit(NULL);
        assert_int_equal(got.error, -ENOENT);
        assert_false(got.has_unit);
}

TEST(no_bus, PEER) {
        sd_bus_slot *slot = NULL;

        assert_int_equal(bus_manager_read_unit(NULL, "a.service", on_unit, &got, &slot), -ENOTCONN);
        bus_manager_close(&peer.manager);
        assert_int_equal(bus_manager_list_units(&peer.manager, NULL, NULL, NULL), -ENOTCONN);
}

/* --- lists --- */

static char listed[256];

static void on_listed(int error, const char *unit, const char *load_state, const char *active_state,
                      void *userdata) {
        const size_t n = strlen(listed);

        assert_null(userdata);
        if (unit)
                (void)snprintf(listed + n, sizeof(listed) - n, "%s %s %s;", unit, load_state,
                               active_state);
        else
                (void)snprintf(listed + n, sizeof(listed) - n, "%d", error);
}

static char *const globs[] = { (char *)"tikv-*.service", NULL };

static int two_units(sd_bus_message *message, sd_bus_message *reply) {
        const char *glob;

        assert_true(sd_bus_message_skip(message, "as") >= 0);
        assert_true(sd_bus_message_read(message, "as", 1, &glob) >= 0);
        assert_string_equal(glob, globs[0]);
        return sd_bus_message_append(reply, "a(ssssssouso)", 2, "tikv-1.service", "TiKV", "loaded",
                                     "active", "running", "", "/u", 0, "", "/", "tikv-2.service",
                                     "TiKV", "masked", "inactive", "dead", "", "/v", 0, "", "/");
}

static int two_files(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "a(ss)", 2, "/etc/systemd/system/tikv-1.service",
                                     "enabled", "tikv-2.service", "masked");
}

static void list_units(Answer answer) {
        run();
        listed[0] = '\0';
        peer.answer = answer;
        assert_int_equal(bus_manager_list_units(&peer.manager, globs, on_listed, NULL), 0);
        run();
}

static void list_files(Answer answer) {
        run();
        listed[0] = '\0';
        peer.answer = answer;
        assert_int_equal(bus_manager_list_unit_files(&peer.manager, globs, on_listed, NULL), 0);
        run();
}

TEST(units, PEER) {
        list_units(two_units);
        assert_string_equal(peer.member, "ListUnitsByPatterns");
        assert_string_equal(listed,
                            "tikv-1.service loaded active;tikv-2.service masked inactive;0");
}

TEST(unit_files, PEER) {
        list_files(two_files);
        assert_string_equal(peer.member, "ListUnitFilesByPatterns");
        assert_string_equal(listed, "tikv-1.service enabled ;tikv-2.service masked ;0");
}

/* The caller is called once at the end, also of a list that it cannot have. */
TEST(lists_that_do_not_fit, PEER) {
        list_units(a_number);
        assert_true(listed[0] == '-');
        list_files(a_number);
        assert_true(listed[0] == '-');
        peer.error = SD_BUS_ERROR_ACCESS_DENIED;
        list_units(NULL);
        assert_string_equal(listed, "-13");
        list_files(NULL);
        assert_string_equal(listed, "-13");
}

TEST(bus_that_ends_before_the_list, PEER) {
        run();
        listed[0] = '\0';
        assert_int_equal(bus_manager_list_units(&peer.manager, globs, on_listed, NULL), 0);
        peer.bus = bus_units_close(peer.bus);
        run();
        assert_true(listed[0] == '-' || listed[0] == '\0');
}

FAKE_TEST(until_the_next_boot) {
        assert_false(bus_manager_is_runtime(&tree->sysroot, "a.service", "AllowedCPUs"));
        fake_write(tree, "run/systemd/system.control/a.service.d/50-AllowedCPUs.conf", "");
        assert_true(bus_manager_is_runtime(&tree->sysroot, "a.service", "AllowedCPUs"));
        assert_false(bus_manager_is_runtime(&tree->sysroot, "a.service", "AllowedMemoryNodes"));
}
