/* A scope that systemd is asked for, and what it is asked about scopes. */

#include "manager-peer.h"

#include "tidbnumad/sys/bus-units.h"

static struct {
        unsigned n;
        int error;
        uint64_t tasks_max;
        bool has_state;
} got;

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

static void on_started(int error, const char *message, void *userdata) {
        (void)message;
        (void)userdata;
        got.n++;
        got.error = error;
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
        memset(&got, 0, sizeof(got));
        peer.answer = note_scope;
        assert_int_equal(bus_scope_start(peer.manager.bus, scope, on_started, NULL, &slot), 0);
        run();
        assert_int_equal(got.n, 1);
        sd_bus_slot_unref(slot);
}

TEST(scope_with_everything, PEER) {
        start(&full);
        assert_int_equal(got.error, 0);
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
        assert_int_equal(got.error, -EEXIST);
}

/* --- questions --- */

static void on_state(int error, const BusScopeState *state, void *userdata) {
        assert_ptr_equal(userdata, &got);
        got.n++;
        got.error = error;
        got.has_state = state;
        got.tasks_max = state ? state->tasks_max : 0;
}

static void on_tasks(int error, uint64_t tasks_max, void *userdata) {
        assert_ptr_equal(userdata, &got);
        got.n++;
        got.error = error;
        got.tasks_max = tasks_max;
}

static void ask(bool state, Answer answer) {
        sd_bus_slot *slot = NULL;
        int r;

        run();
        memset(&got, 0, sizeof(got));
        peer.answer = answer;
        r = state ? bus_scope_read(peer.manager.bus, "session-1.scope", on_state, &got, &slot)
                  : bus_scope_read_default_tasks(peer.manager.bus, on_tasks, &got, &slot);
        assert_int_equal(r, 0);
        run();
        assert_int_equal(got.n, 1);
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
        assert_int_equal(got.error, 0);
        assert_int_equal(got.tasks_max, 77);
        assert_string_equal(peer.path, MANAGER_PATH "/unit/session_2d1_2escope");
}

TEST(tasks_of_a_scope_that_asks_for_nothing, PEER) {
        ask(false, tasks);
        assert_int_equal(got.error, 0);
        assert_int_equal(got.tasks_max, 4915);
        assert_string_equal(peer.member, "Get");
}

TEST(answers_that_do_not_fit, PEER) {
        ask(true, text);
        assert_true(got.error < 0);
        assert_false(got.has_state);
        ask(false, text);
        assert_true(got.error < 0);
        peer.error = SYSTEMD ".NoSuchUnit";
        ask(true, NULL);
        assert_int_equal(got.error, -ENOENT);
        assert_false(got.has_state);
        ask(false, NULL);
        assert_int_equal(got.error, -ENOENT);
}
