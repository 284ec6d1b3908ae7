/* What the operator is shown of a status. */
#include <math.h>

#include "../../support/test.h"

#include "../../support/id-sets.h"
#include "tidbnumad/ctl/status-table.h"

typedef struct Example {
        StatusMemory memory[5];
        StatusInstance instances[4];
        StatusRelease releases[1];
        const char *errors[1];
        StatusFile status;
} Example;

static StatusInstance instance(const char *name, const char *state, const char *reason,
                               const char *code, const char *remedy) {
        return (StatusInstance){ .name = name,
                                 .policy = "p",
                                 .exe = "/x",
                                 .state = state,
                                 .reason = reason,
                                 .reason_code = code,
                                 .remedy = remedy,
                                 .cpus = "",
                                 .pid = 7,
                                 .remote_ratio = (double)NAN,
                                 .left_seconds = (double)NAN };
}

static void init(Example *e) {
        *e = (Example){ .memory = { { 0, 1 << 20 },
                                    { 1, UINT64_C(12) << 30 },
                                    { 2, 3 << 20 },
                                    { 3, 2 << 20 } },
                        .instances = {
                                instance("a-1", "bound", "", "", ""),
                                instance("b-1", "partly", "does not fit on its nodes", "no-room",
                                         "free memory"),
                                instance("b-2", "partly", "no room", "no-room", "free memory"),
                                instance("c-1", "moving", "", "", "") } };
        e->instances[0].unit = "a-1.service";
        e->instances[0].nodes = node_set("1");
        e->instances[0].cpus = "4-7";
        e->instances[0].memory = e->memory;
        e->instances[0].n_memory = 4;
        e->instances[0].remote_ratio = 0.0625;
        e->instances[3].pending_bytes = 5 << 20;
        e->status = (StatusFile){ .time_seconds = 1000,
                                  .sample_interval_seconds = 10,
                                  .enforcing = true,
                                  .version = "0.1.0",
                                  .backend = "systemd",
                                  .n_policies = 2,
                                  .load_seconds = 50,
                                  .instances = e->instances,
                                  .n_instances = 4 };
}

static char *render(const Example *e, const char *name, double now, bool alive) {
        const StatusQuestion q = { .status = &e->status,
                                   .names = &name,
                                   .n_names = name ? 1 : 0,
                                   .now_seconds = now,
                                   .alive = alive };
        Text text = { 0 };

        status_table_render(&q, &text);
        assert_int_equal(text.error, 0);
        return text.data;
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
                "tidbnumad 0.1.0, enforcing, backend systemd, 2 policies, 2 s ago\n"
                "\n"
                "Problems:\n"
                "  b-1: does not fit on its nodes (no-room)\n"
                "      free memory\n"
                "  b-2: no room (no-room)\n"
                "      free memory\n"
                "\n"
                "INSTANCE  STATE   NODES  CPUS  ANONYMOUS                               REMOTE  "
                "WHY\n"
                "a-1       bound   1      4-7   1: 12.0 GiB, 2: 3.0 MiB, 3: 2.0 MiB, …  6.2 %\n"
                "b-1       partly  -      -     -                                       -       "
                "no-room\n"
                "b-2       partly  -      -     -                                       -       "
                "no-room\n"
                "c-1       moving  -      -     -                                       -       "
                "5.0 MiB to move\n");
        free(text);
}

EXAMPLE_TEST(time_left) {
        char *text;

        e->instances[3].left_seconds = 12.4;
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

EXAMPLE_TEST(warnings) {
        char *text = render(e, NULL, 1029, true);

        assert_null(strstr(text, "may hang"));
        free(text);
        assert_reported(e, 1031, true, "it may hang");
        assert_reported(e, 1001, false, "does not run");
        e->status.enforcing = false;
        assert_reported(e, 1001, true, "changing nothing");
        e->status.load_failed = true;
        e->errors[0] = "a.yaml:1:1: wrong";
        e->status.errors = e->errors;
        e->status.n_errors = 1;
        assert_reported(e, 1001, true, "policy files have errors");
        assert_reported(e, 1001, true, "\n      a.yaml:1:1: wrong\n");
        assert_reported(e, 1001, true, "previous policies stay in force\n");
        e->status.kept_in_force = true;
        assert_reported(e, 1001, true, "policies of before the start of the daemon are in force\n");
        assert_not_reported(e, "previous policies stay");
        e->status.kept_in_force = false;
        e->status.none_in_force = true;
        e->status.n_adopted = 2;
        assert_reported(e, 1001, true, "backend systemd, no policy in force, ");
        assert_reported(e, 1001, true,
                        "no policy is in force: 2 bindings of an earlier run are held");
        assert_not_reported(e, "previous policies stay");
        assert_not_reported(e, "policies of before");
        e->status.none_in_force = false;
        e->status.n_warnings = 3;
        assert_reported(e, 1001, true, "\n  policies: 3 warnings\n      tidbnumactl validate\n");
        e->releases[0] = (StatusRelease){ .name = "r\x1b[2J", .failure = "why" };
        e->status.releases = e->releases;
        e->status.n_releases = 1;
        assert_reported(e, 1001, true,
                        "\n  r\\x1b[2J: its release failed: why\n      the daemon tries again; ");
        e->status.uncounted = "no\x1b such counters";
        assert_reported(e, 1001, true, "\n  accesses: no\\x1b such counters\n      set ");
        e->status.n_instances = 0;
        assert_reported(e, 1001, true, "No process matches");
        e->status.none_in_force = true;
        assert_reported(e, 1001, true, "\nNo policy is in force.\n");
        assert_not_reported(e, "No process matches");
        e->status.none_in_force = false;
        e->status.reserved_nodes = "";
        e->status.reserved_cpus = "0-1";
        assert_reported(e, 1001, true, "\nreserved for the network: CPUs 0-1\n");
}

/* Instances of one reason share an entry, the refused ones come first, and a long list is cut. */
EXAMPLE_TEST(problems_are_grouped) {
        StatusInstance many[12];
        char *text;

        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = instance(i < 10 ? "p-1" : "r-1", i < 10 ? "partly" : "refused",
                                   i < 10 ? "no room" : "not alone",
                                   i < 10 ? "no-room" : "shared-unit", "do it");
        e->status.instances = many;
        e->status.n_instances = ELEMENTSOF(many);
        text = render(e, NULL, 1000, false);
        assert_shows(text,
                     "\nProblems:\n"
                     "  daemon: the daemon does not run: bindings are kept, but not watched\n"
                     "      systemctl start tidbnumad\n"
                     "  r-1, r-1: not alone (shared-unit)\n"
                     "      do it\n"
                     "  p-1, p-1, p-1, p-1, p-1, p-1, p-1, p-1 and 2 more: no room (no-room)\n"
                     "      do it\n"
                     "\nINSTANCE");
        free(text);
}

/* A move in progress, and what is at rest, is no problem. */
EXAMPLE_TEST(without_problems) {
        char *text;

        e->instances[1] = e->instances[2] =
                instance("w", "watched", "matches only", "no-place", "x");
        text = render(e, NULL, 1000, true);
        assert_null(strstr(text, "Problems"));
        assert_shows(text, "matches only\n");
        free(text);
}

EXAMPLE_TEST(interrupts) {
        StatusDevice devices[] = {
                { .name = "eth\x1b"
                          "0",
                  .node = 1,
                  .cpus = "0-3",
                  .reason = "steered there",
                  .vectors = { [IRQ_STATE_STEERED] = 8, [IRQ_STATE_CONTESTED] = 2 } },
                { .name = "nvme0", .node = -1, .vectors = { [IRQ_STATE_FAILED] = 3 } }
        };
        char *text;

        e->status.devices = devices;
        e->status.n_devices = 2;
        text = render(e, NULL, 1000, true);
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
}

EXAMPLE_TEST(ignored_processes) {
        StatusIgnored ignored[6];

        for (size_t i = 0; i < ELEMENTSOF(ignored); i++)
                ignored[i] = (StatusIgnored){ "/x\x1b", "db", "it runs as user 7", 12 };
        e->status.ignored = ignored;
        e->status.n_ignored = 6;
        assert_reported(e, 1000, true, "\n  12 /x\\x1b (policy db): it runs as user 7\n");
        assert_reported(e, 1000, true, "user 7\n  and 1 more\n");
}

EXAMPLE_TEST(ignored) {
        char *text = render(e, NULL, 1000, true);

        assert_null(strstr(text, "Ignored"));
        free(text);
        e->status.n_full = 236;
        e->status.n_crowded = 988;
        e->status.n_in_containers = 1;
        assert_reported(e, 1000, true,
                        "\n"
                        "Ignored processes: 236 beyond max_instances, 988 beyond the limit of "
                        "watched processes, 1 in a container; run "
                        "tidbnumactl explain PID to see why\n");
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
}

/* What an older daemon does not tell. */
EXAMPLE_TEST(older) {
        char *text;

        e->status.version = NULL;
        for (size_t i = 0; i < 4; i++)
                e->instances[i].reason_code = e->instances[i].remedy = e->instances[i].cpus = NULL;
        text = render(e, NULL, 1000, true);
        assert_shows(text, "\n  b-1: does not fit on its nodes\n  b-2: no room\n\n");
        free(text);
}

TEST(at_rest) {
        static const struct {
                const char *state;
                bool rests;
        } rows[] = { { "bound", true },   { "watched", true }, { "released", true },
                     { "partly", false }, { "moving", false }, { "refused", false },
                     { "planned", false } };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const StatusInstance one = instance("a", rows[i].state, "", "", "");

                assert_int_equal(status_is_at_rest(&one), rows[i].rests);
        }
}
