/* systemd at the other end of a pair of sockets: its signals, what it answers about units, and
 * scopes that it is asked for. */

#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "manager-peer.h"
#include "tidbnumad/sys/bus-units.h"

/* --- systemd's signals: which are heard, which are not, and what a strange one does --- */

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

/* --- what systemd answers about units: each property, each list, and answers that do not fit ---
 */

static struct {
        unsigned n;
        int error;
        bool has_unit, dynamic_user, container;
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
        got.container = unit->container;
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

static const char *root_directory, *root_image, *private_pids;
static int private_users;

static int container(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "a{sv}", 4, "PrivateUsers", "b", private_users,
                                     "RootDirectory", "s", root_directory, "RootImage", "s",
                                     root_image, "PrivatePIDs", "s", private_pids);
}

TEST(unit_with_its_own_root_or_namespaces, PEER) {
        static const struct {
                const char *directory, *image, *pids;
                int users;
                bool container;
        } rows[] = {
                { "", "", "no", 0, false },
                { "/", "", "no", 0, false }, /* the host's own */
                { "/srv/jail", "", "no", 0, true },
                { "", "/srv/a.raw", "no", 0, true },
                { "", "", "yes", 0, true },
                { "", "", "no", 1, true },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                root_directory = rows[i].directory;
                root_image = rows[i].image;
                private_pids = rows[i].pids;
                private_users = rows[i].users;
                read_unit(container);
                assert_int_equal(got.error, 0);
                if (got.container != rows[i].container)
                        fail_msg("row %zu", i);
        }
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
        assert_int_equal(bus_manager_list_units(&peer.manager, NULL, false, NULL, NULL), -ENOTCONN);
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
        assert_int_equal(bus_manager_list_units(&peer.manager, globs, false, on_listed, NULL), 0);
        run();
}

static void list_files(Answer answer) {
        run();
        listed[0] = '\0';
        peer.answer = answer;
        assert_int_equal(bus_manager_list_units(&peer.manager, globs, true, on_listed, NULL), 0);
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
        assert_int_equal(bus_manager_list_units(&peer.manager, globs, false, on_listed, NULL), 0);
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

/* --- A scope that systemd is asked for, and what it is asked about scopes --- */

static struct {
        unsigned n;
        int error;
        uint64_t tasks_max;
        bool has_state;
} bus_scope_call_got;

static char asked[1024];

/* Every property with its value as text. */
static int note_scope(sd_bus_message *message, sd_bus_message *reply) {
        const char *name, *mode, *property, *contents;
        size_t n;

        assert_true(sd_bus_message_read(message, "ss", &name, &mode) >= 0);
        n = (size_t)snprintf(asked, sizeof(asked), "%s %s", name, mode);
        assert_true(sd_bus_message_enter_container(message, 'a', "(sv)") >= 0);
        while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
                assert_true(sd_bus_message_read(message, "s", &property) >= 0);
                n += (size_t)snprintf(asked + n, sizeof(asked) - n, " %s=", property);
                assert_true(sd_bus_message_peek_type(message, NULL, &contents) >= 0);
                if (strcmp(contents, "s") == 0) {
                        assert_true(sd_bus_message_read(message, "v", "s", &name) >= 0);
                        n += (size_t)snprintf(asked + n, sizeof(asked) - n, "%s", name);
                } else if (strcmp(contents, "au") == 0) {
                        uint32_t a, b;

                        assert_true(sd_bus_message_read(message, "v", "au", 2, &a, &b) >= 0);
                        n += (size_t)snprintf(asked + n, sizeof(asked) - n, "%u,%u", a, b);
                } else
                        assert_true(sd_bus_message_skip(message, "v") >= 0);
                assert_true(sd_bus_message_exit_container(message) >= 0);
        }
        return sd_bus_message_append(reply, "o", "/job/1");
}

static void on_started(const Error *error, void *userdata) {
        (void)userdata;
        bus_scope_call_got.n++;
        bus_scope_call_got.error = error->code;
}

static const pid_t pids[] = { 100, 200 };
static const BusScope full = { .name = "a.scope",
                               .slice = "user.slice",
                               .description = "TiKV",
                               .part_of = "b.scope",
                               .send_sighup = true,
                               .has_oom_policy = true,
                               .stop_timeout_usec = 5,
                               .tasks_max = 10,
                               .pids = pids,
                               .n_pids = 2 };

static void start(const BusScope *scope) {
        sd_bus_slot *slot = NULL;

        run();
        memset(&bus_scope_call_got, 0, sizeof(bus_scope_call_got));
        peer.answer = note_scope;
        assert_int_equal(bus_scope_start(peer.manager.bus, scope, on_started, NULL, &slot), 0);
        run();
        assert_int_equal(bus_scope_call_got.n, 1);
        sd_bus_slot_unref(slot);
}

TEST(scope_with_everything, PEER) {
        start(&full);
        assert_int_equal(bus_scope_call_got.error, 0);
        assert_string_equal(asked, "a.scope fail Description=TiKV Slice=user.slice TasksMax= "
                                   "CollectMode=inactive-or-failed SendSIGHUP= PartOf= "
                                   "TimeoutStopUSec= OOMPolicy=continue PIDs=100,200");
}

TEST(scope_with_what_it_must_have, PEER) {
        BusScope scope = full;

        scope.part_of = NULL;
        scope.has_oom_policy = false;
        scope.stop_timeout_usec = 0;
        start(&scope);
        assert_string_equal(asked, "a.scope fail Description=TiKV Slice=user.slice TasksMax= "
                                   "CollectMode=inactive-or-failed SendSIGHUP= PIDs=100,200");
}

TEST(scope_that_is_there, PEER) {
        run();
        peer.error = SYSTEMD ".UnitExists";
        start(&full);
        assert_int_equal(bus_scope_call_got.error, -EEXIST);
}

/* --- questions --- */

static void on_state(int error, const BusScopeState *state, void *userdata) {
        assert_ptr_equal(userdata, &bus_scope_call_got);
        bus_scope_call_got.n++;
        bus_scope_call_got.error = error;
        bus_scope_call_got.has_state = state;
        bus_scope_call_got.tasks_max = state ? state->tasks_max : 0;
}

static void on_tasks(int error, uint64_t tasks_max, void *userdata) {
        assert_ptr_equal(userdata, &bus_scope_call_got);
        bus_scope_call_got.n++;
        bus_scope_call_got.error = error;
        bus_scope_call_got.tasks_max = tasks_max;
}

static void ask(bool state, Answer answer) {
        sd_bus_slot *slot = NULL;
        int r;

        run();
        memset(&bus_scope_call_got, 0, sizeof(bus_scope_call_got));
        peer.answer = answer;
        r = state ? bus_scope_read(peer.manager.bus, "session-1.scope", on_state,
                                   &bus_scope_call_got, &slot)
                  : bus_scope_read_default_tasks(peer.manager.bus, on_tasks, &bus_scope_call_got,
                                                 &slot);
        assert_int_equal(r, 0);
        run();
        assert_int_equal(bus_scope_call_got.n, 1);
        sd_bus_slot_unref(slot);
}

static int some_state(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "a{sv}", 1, "TasksMax", "t", UINT64_C(77));
}

static int tasks(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "v", "t", UINT64_C(4915));
}

static int text(sd_bus_message *message, sd_bus_message *reply) {
        (void)message;
        return sd_bus_message_append(reply, "v", "s", "many");
}

TEST(state_of_a_scope, PEER) {
        ask(true, some_state);
        assert_int_equal(bus_scope_call_got.error, 0);
        assert_int_equal(bus_scope_call_got.tasks_max, 77);
        assert_string_equal(peer.path, MANAGER_PATH "/unit/session_2d1_2escope");
}

TEST(tasks_of_a_scope_that_asks_for_nothing, PEER) {
        ask(false, tasks);
        assert_int_equal(bus_scope_call_got.error, 0);
        assert_int_equal(bus_scope_call_got.tasks_max, 4915);
        assert_string_equal(peer.member, "Get");
}

TEST(bus_scope_call_answers_that_do_not_fit, PEER) {
        ask(true, text);
        assert_true(bus_scope_call_got.error < 0);
        assert_false(bus_scope_call_got.has_state);
        ask(false, text);
        assert_true(bus_scope_call_got.error < 0);
        peer.error = SYSTEMD ".NoSuchUnit";
        ask(true, NULL);
        assert_int_equal(bus_scope_call_got.error, -ENOENT);
        assert_false(bus_scope_call_got.has_state);
        ask(false, NULL);
        assert_int_equal(bus_scope_call_got.error, -ENOENT);
}
