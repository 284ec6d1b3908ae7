/* What the operator is shown of a status. */
#include <math.h>
#include <time.h>

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/ctl/status-page.h"

typedef struct Example {
        InstanceMemory memory[5];
        InstanceInfo instances[4];
        ReleaseInfo releases[1];
        const char *errors[1];
        Snapshot status;
} Example;

static InstanceInfo instance(const char *name, InstanceState state, const char *reason,
                             Reason code) {
        return (InstanceInfo){ .name = (char *)name,
                               .policy = "p",
                               .exe = (char *)"/x",
                               .state = state,
                               .reason = reason,
                               .reason_code = code,
                               .pid = 7,
                               .remote_ratio = (double)NAN,
                               .migration_left_seconds = (double)NAN };
}

static void init(Example *e) {
        *e = (Example){ .memory = { { 0, 1 << 20 },
                                    { 1, UINT64_C(12) << 30 },
                                    { 2, 3 << 20 },
                                    { 3, 2 << 20 } },
                        .instances = { instance("a-1", INSTANCE_BOUND, "", REASON_NONE),
                                       instance("b-1", INSTANCE_PARTLY, "does not fit on its nodes",
                                                REASON_NO_ROOM),
                                       instance("b-2", INSTANCE_PARTLY, "no room", REASON_NO_ROOM),
                                       instance("c-1", INSTANCE_MOVING, "", REASON_NONE) } };
        e->instances[0].unit = (char *)"a-1.service";
        e->instances[0].nodes = node_set("1");
        e->instances[0].cpus = cpu_set("4-7");
        e->instances[0].memory_by_node = e->memory;
        e->instances[0].n_memory = 4;
        e->instances[0].remote_ratio = 0.0625;
        e->instances[3].pending_bytes = 5 << 20;
        e->status = (Snapshot){ .time_seconds = 1000,
                                .sample_interval_seconds = 10,
                                .mode = DAEMON_ENFORCING,
                                .version = "1.0.0",
                                .backend = "systemd",
                                .n_policies = 2,
                                .policy_load_success = true,
                                .policy_in_force = true,
                                .instances = e->instances,
                                .n_instances = 4 };
}

static char *render_as(const Example *e, const char *name, double now, bool alive, bool all) {
        const StatusQuestion q = { .status = &e->status,
                                   .all = all,
                                   .names = { .words = (char **)&name, .n_words = name ? 1 : 0 },
                                   .now_seconds = now,
                                   .alive = alive };
        Text text = { 0 };

        status_page_render(&q, &text);
        assert_int_equal(text.error, 0);
        return text.data;
}

static char *render(const Example *e, const char *name, double now, bool alive) {
        return render_as(e, name, now, alive, false);
}

static void assert_shows(const char *text, const char *part) {
        if (!strstr(text, part))
                fail_msg("'%s' is not in:\n%s", part, text);
}

#define EXAMPLE_TEST(test) TEST_WITH(test, Example, e, init, (void))

EXAMPLE_TEST(all) {
        char *text = render(e, NULL, 1002, true);

        assert_string_equal(
                text,
                "tidbnumad 1.0.0, enforcing, 4 instances: 1 bound, 2 partly, 1 moving; 2 s ago\n"
                "\n"
                "Problems:\n"
                "  b-1: does not fit on its nodes (no-room)\n"
                "  b-2: no room (no-room)\n"
                "      free memory on these nodes, or give it more nodes; the move then continues\n"
                "\n"
                "INSTANCE  STATE   NODES  CPUS  ANONYMOUS  REMOTE  WHY\n"
                "a-1       bound   1      4-7   12.0 GiB   6.2 %\n"
                "b-1       partly  -      -     -          -       no-room\n"
                "b-2       partly  -      -     -          -       no-room\n"
                "c-1       moving  -      -     -          -       5.0 MiB to move\n");
        free(text);
        text = render_as(e, NULL, 1002, true, true);
        assert_shows(text, "\nbackend systemd, 2 policies in force\n\nProblems:");
        assert_shows(text, "  1: 12.0 GiB, 2: 3.0 MiB, 3: 2.0 MiB, …  6.2 %\n");
        free(text);
}

EXAMPLE_TEST(time_left) {
        char *text;

        e->instances[3].migration_left_seconds = 12.4;
        text = render(e, "c-1", 1000, true);
        assert_shows(text, "5.0 MiB to move, 12 s left\n");
        free(text);
}

EXAMPLE_TEST(one) {
        static const char *const names[] = { "a-1", "a-1.service" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char *text = render(e, names[i], 1000, true);

                assert_shows(text, "\na-1 ");
                assert_null(strstr(text, "b-1"));
                assert_null(strstr(text, "Problems"));
                free(text);
        }
        e->status.n_instances = 0;
        free(render(e, NULL, 1000, true));
}

static void assert_reported(const Example *e, double now, bool alive, const char *part) {
        char *text = render(e, NULL, now, alive);

        assert_shows(text, part);
        free(text);
}

static void assert_not_reported(const Example *e, const char *unexpected) {
        char *text = render(e, NULL, 1001, true);

        assert_null(strstr(text, unexpected));
        free(text);
}

static void assert_reported_in_all(const Example *e, const char *part) {
        char *text = render_as(e, NULL, 1000, true, true);

        assert_shows(text, part);
        free(text);
        assert_not_reported(e, part);
}

EXAMPLE_TEST(warnings) {
        char *text = render(e, NULL, 1029, true);

        assert_null(strstr(text, "may hang"));
        free(text);
        assert_reported(e, 1031, true, "it may hang");
        assert_reported(e, 1001, false, "does not run");
        assert_reported(e, 1001, false, "tidbnumad 1.0.0, not running, 4 instances");
        e->status.mode = DAEMON_PAUSED;
        assert_reported(e, 1001, true, "tidbnumad 1.0.0, paused, 4 instances");
        e->status.policy_load_success = false;
        e->errors[0] = "a.yaml:1:1: wrong";
        e->status.policy_errors = e->errors;
        e->status.n_policy_errors = 1;
        assert_reported(e, 1001, true, "policy files have errors");
        assert_reported(e, 1001, true, "\n      a.yaml:1:1: wrong\n");
        assert_reported(e, 1001, true, "previous policies stay in force\n");
        e->status.policy_kept = true;
        assert_reported(e, 1001, true, "policies of before the start of the daemon are in force\n");
        assert_not_reported(e, "previous policies stay");
        e->status.policy_kept = false;
        e->status.policy_in_force = false;
        e->status.n_adopted = 2;
        assert_reported_in_all(e, "\nbackend systemd, no policy in force\n");
        assert_reported(e, 1001, true,
                        "no policy is in force: 2 bindings of an earlier run are held");
        assert_not_reported(e, "previous policies stay");
        assert_not_reported(e, "policies of before");
        e->status.policy_in_force = true;
        e->status.n_policy_warnings = 3;
        assert_reported(e, 1001, true, "\n  policies: 3 warnings\n      tidbnumactl validate\n");
        e->releases[0] = (ReleaseInfo){ .name = "r\x1b[2J", .failure = "why" };
        e->status.releases = e->releases;
        e->status.n_releases = 1;
        assert_reported(e, 1001, true,
                        "\n  r\\x1b[2J: its release failed: why\n      the daemon tries again; ");
        e->status.access = (AccessInfo){ .wanted = true, .reason = "no\x1b such counters" };
        assert_reported(e, 1001, true, "\n  accesses: no\\x1b such counters\n      set ");
        e->status.n_instances = 0;
        assert_reported(e, 1001, true, "No process matches");
        e->status.policy_in_force = false;
        assert_reported(e, 1001, true, "\nNo policy is in force.\n");
        assert_not_reported(e, "No process matches");
        e->status.policy_in_force = true;
        e->status.reserved_cpus = cpu_set("0-1");
        assert_reported_in_all(e, "\nreserved for the network: CPUs 0-1\n");
}

/* As long as it has bound something. */
EXAMPLE_TEST(kept_trial) {
        assert_not_reported(e, "trial");
        e->status.trial = TRIAL_REQUEST_KEPT;
        assert_reported(e, 1001, true, "\nwhat a trial has bound stays bound in spite of ");
        for (size_t i = 0; i < e->status.n_instances; i++)
                e->instances[i].state = INSTANCE_RELEASED;
        assert_not_reported(e, "trial");
}

/* Instances of one reason share an entry, the refused ones come first, and a long list is cut. */
EXAMPLE_TEST(problems_are_grouped) {
        InstanceInfo many[12];
        char *text;

        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = instance(i < 10 ? "p-1" : "r-1",
                                   i < 10 ? INSTANCE_PARTLY : INSTANCE_REFUSED,
                                   i < 10 ? "no room" : "not alone",
                                   i < 10 ? REASON_NO_ROOM : REASON_SHARED_UNIT);
        e->status.instances = many;
        e->status.n_instances = ELEMENTSOF(many);
        text = render(e, NULL, 1000, false);
        assert_shows(
                text,
                "\nProblems:\n"
                "  daemon: the daemon does not run: bindings are kept, but not watched\n"
                "      systemctl start tidbnumad\n"
                "  r-1, r-1: not alone (shared-unit)\n"
                "      run it in its own unit\n"
                "  p-1, p-1, p-1, p-1, p-1, p-1, p-1, p-1 and 2 more: no room (no-room)\n"
                "      free memory on these nodes, or give it more nodes; the move then continues\n"
                "\nINSTANCE");
        free(text);
}

/* What ends the planning without a change depends on what began it; units share the entry. */
EXAMPLE_TEST(next_step_of_a_mode) {
        UnitInfo unit = { .name = "u.service",
                          .state = "prepared",
                          .reason = "not now",
                          .code = REASON_OBSERVE };

        e->instances[1] = instance("w", INSTANCE_PLANNED, "not now", REASON_OBSERVE);
        e->status.n_instances = 2;
        e->status.units = &unit;
        e->status.n_units = 1;
        e->status.mode = DAEMON_PAUSED;
        assert_reported(e, 1000, true,
                        "\n  w, u.service: not now (observe)\n      tidbnumactl resume\n");
        e->status.mode = DAEMON_OBSERVING;
        assert_reported(e, 1000, true, "      set enforcement.mode: enforce, then ");
        e->status.mode = DAEMON_DRY_RUN;
        assert_reported(e, 1000, true, "      start the daemon without --dry-run\n");
}

/* It has the unit's name where it is of one instance alone. */
EXAMPLE_TEST(next_step_of_a_unit) {
        e->status.n_instances = 2;
        e->instances[0] = instance("m-1", INSTANCE_BINDING, "masked", REASON_UNIT_MASKED);
        e->instances[0].unit = (char *)"m-1.service";
        e->instances[1] = instance("m-2", INSTANCE_BOUND, "", REASON_NONE);
        assert_reported(e, 1000, true, "\n      run systemctl unmask m-1.service\n");
        e->instances[1] = instance("m-2", INSTANCE_BINDING, "masked, too", REASON_UNIT_MASKED);
        e->instances[1].unit = (char *)"m-2.service";
        assert_reported(e, 1000, true, "\n      run systemctl unmask UNIT\n");
}

/* A limit that is in force since before the start, or smaller by the unit, is none. */
EXAMPLE_TEST(memory_limits) {
        char *text;

        for (size_t i = 0; i < 4; i++)
                e->instances[i] = instance("t", INSTANCE_BOUND, "", REASON_NONE);
        e->instances[0].memory_limit_state = LIMIT_SET;
        e->instances[1].memory_limit_state = LIMIT_SMALLER;
        text = render(e, NULL, 1000, true);
        assert_null(strstr(text, "Problems"));
        free(text);
        e->instances[2].memory_limit_state = e->instances[3].memory_limit_state = LIMIT_NEXT_START;
        assert_reported(e, 1000, true,
                        "\n  t, t: memory limit: in force; it takes effect for the sizes of the "
                        "server at its next start\n      restart it when that suits\n");
        text = render(e, NULL, 1000, false); /* it has lifted them, and would not watch them */
        assert_null(strstr(text, "memory limit"));
        free(text);
}

/* A move in progress, and what is at rest, is no problem. */
EXAMPLE_TEST(without_problems) {
        char *text;

        e->instances[1] = e->instances[2] =
                instance("w", INSTANCE_WATCHED, "matches only", REASON_NO_PLACE);
        text = render(e, NULL, 1000, true);
        assert_null(strstr(text, "Problems"));
        assert_shows(text, "matches only\n");
        free(text);
}

EXAMPLE_TEST(interrupts) {
        IrqDeviceInfo devices[] = {
                { .name = "eth\x1b"
                          "0",
                  .node = 1,
                  .cpus = cpu_set("0-3"),
                  .reason = "steered there",
                  .vectors = { [IRQ_STATE_STEERED] = 8, [IRQ_STATE_CONTESTED] = 2 } },
                { .name = "nvme0", .node = -1, .reason = "", .vectors = { [IRQ_STATE_FAILED] = 3 } }
        };
        char *text;

        e->status.irq.devices = devices;
        e->status.irq.n_devices = 2;
        text = render_as(e, NULL, 1000, true, true);
        assert_shows(text,
                     "  eth\\x1b0: 2 interrupts are set again and again by something else\n      ");
        assert_shows(text, "  nvme0: 3 interrupts are not where they were sent\n      ");
        assert_shows(text, "\n\nDEVICE    NODE  INTERRUPTS              CPUS  WHY\n"
                           "eth\\x1b0  1     8 steered, 2 contested  0-3   steered there\n"
                           "nvme0     ?     3 failed                -\n");
        free(text);
        text = render(e, "a-1", 1000, true);
        assert_null(strstr(text, "nvme0"));
        free(text);
        assert_reported(
                e, 1000, true,
                "\n\nInterrupts: 8 of eth\\x1b0 on CPUs 0-3, 2 of eth\\x1b0 contested, 3 of "
                "nvme0 not where they were sent\n");
        devices[0].vectors[IRQ_STATE_CONTESTED] = devices[1].vectors[IRQ_STATE_FAILED] = 1;
        assert_reported(e, 1000, true, ": 1 interrupt is set again and again by something else\n");
        assert_reported(e, 1000, true, "  nvme0: 1 interrupt is not where it was sent\n");
        devices[0].vectors[IRQ_STATE_CONTESTED] = devices[1].vectors[IRQ_STATE_FAILED] = 0;
        assert_reported(e, 1000, true,
                        "\n\nInterrupts: 8 of eth\\x1b0 on CPUs 0-3; none on instances' CPUs\n");
        devices[1].vectors[IRQ_STATE_STEERED] = 1;
        devices[1].cpus = cpu_set("4");
        assert_reported(e, 1000, true,
                        ": 9 of eth\\x1b0 and nvme0 on CPUs 0-4; also CPUs of a-1\n");
}

EXAMPLE_TEST(ignored_processes) {
        IgnoredInfo ignored[6];

        for (size_t i = 0; i < ELEMENTSOF(ignored); i++)
                ignored[i] = (IgnoredInfo){ 12, "/x\x1b", NULL, "db", "it runs as user 7" };
        e->status.ignored_processes = ignored;
        e->status.n_ignored_processes = 6;
        assert_reported_in_all(e, "\n  12 /x\\x1b (policy db): it runs as user 7\n");
        assert_reported_in_all(e, "user 7\n  and 1 more\n");
}

EXAMPLE_TEST(ignored) {
        char *text = render(e, NULL, 1000, true);

        assert_null(strstr(text, "Ignored"));
        free(text);
        e->status.ignored[IGNORED_MAX_INSTANCES] = 236;
        e->status.ignored[IGNORED_PROCESS_LIMIT] = 988;
        e->status.ignored[IGNORED_NAMESPACE] = 1;
        assert_reported(e, 1000, true,
                        "\n"
                        "Ignored processes: 236 beyond max_instances, 988 beyond the limit of "
                        "watched processes, 1 in a container; "
                        "tidbnumactl status --all lists them\n");
        text = render(e, "a-1", 1000, true);
        assert_null(strstr(text, "Ignored"));
        free(text);
}

EXAMPLE_TEST(why_by_affinity) {
        char *text;

        e->instances[0].bound_by_reason = "its unit is shared";
        e->instances[1].bound_by_reason = "its scope has limits";
        text = render(e, NULL, 1000, true);
        assert_shows(text, " bound by affinity, because its unit is shared\n");
        assert_shows(text, " no-room; bound by affinity, because its scope has limits\n");
        free(text);
        e->instances[0].state = INSTANCE_PLANNED;
        e->instances[1].state = INSTANCE_REFUSED;
        text = render(e, NULL, 1000, true);
        assert_shows(text, " would be bound by affinity, because its unit is shared\n");
        assert_shows(text, " no-room\n");
        free(text);
}

/* What an older daemon does not tell. */
EXAMPLE_TEST(older) {
        char *text;

        e->status.version = NULL;
        for (size_t i = 0; i < 4; i++)
                e->instances[i].reason_code = REASON_NONE;
        text = render(e, NULL, 1000, true);
        assert_shows(text, "\n  b-1: does not fit on its nodes\n  b-2: no room\n\n");
        free(text);
}

TEST(at_rest) {
        static const struct {
                InstanceState state;
                bool rests;
        } rows[] = { { INSTANCE_BOUND, true },    { INSTANCE_WATCHED, true },
                     { INSTANCE_RELEASED, true }, { INSTANCE_PARTLY, false },
                     { INSTANCE_MOVING, false },  { INSTANCE_REFUSED, false },
                     { INSTANCE_PLANNED, false } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const InstanceInfo one = instance("a", rows[i].state, "", REASON_NONE);

                assert_int_equal(status_is_at_rest(&one), rows[i].rests);
        }
}

/* --- the journal --- */

TEST(lines) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(setenv("TZ", "UTC", 1), 0);
        tzset();
        assert_int_equal(
                status_history_parse(
                        "{\"__REALTIME_TIMESTAMP\":\"1780000000123456\",\"MESSAGE\":\"bound\\u001b["
                        "2J\",\"_BOOT_ID\":\"x\"}\n"
                        "not json\n"
                        "{\"__REALTIME_TIMESTAMP\":\"1780000001000000\",\"MESSAGE\":[1,2]}\n"
                        "{\"__REALTIME_TIMESTAMP\":\"1780000002000000\",\"MESSAGE\":\"moved\"}",
                        &text),
                2);
        assert_string_equal(text.data, "  2026-05-28 20:26:40  bound\\x1b[2J\n"
                                       "  2026-05-28 20:26:42  moved\n");
}

TEST(nothing) {
        _cleanup_text_ Text text = { 0 };

        assert_int_equal(status_history_parse("", &text), 0);
        assert_int_equal(status_history_parse("null\n[]\n\n{}\n", &text), 0);
        assert_int_equal(text.length, 0);
}
