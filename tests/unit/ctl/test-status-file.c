/* What the daemon publishes, read back: by its own renderer, and whatever else the file may
 * contain. */
#include <math.h>
#include <sys/prctl.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "../../support/id-sets.h"
#include "tidbnumad/ctl/status-file.h"
#include "tidbnumad/publish/status.h"

#define INSTANCE(before, after)                                                                    \
        "{" before "\"name\": \"a\", \"policy\": \"p\", \"unit\": null, \"exe\": \"/x\","          \
        " \"pid\": 7, \"data_dir\": null, \"state\": \"bound\","                                   \
        " \"reason\": \"\", \"nodes\": \"1\"" after "}"
#define STATUS(instances)                                                                          \
        "{\"time_seconds\": 100.5, \"sample_interval_seconds\": 10, \"enforcing\": true,"          \
        " \"instances\": " instances "}"

static int parse(const char *text, Snapshot *ret) {
        return status_parse(text, strlen(text), ret);
}

/* Fields that not every version of the daemon writes. */
TEST(time_left) {
        _cleanup_status_ Snapshot with = { 0 }, without = { 0 };

        assert_int_equal(
                parse(STATUS("[" INSTANCE("", ", \"migration_left_seconds\": 12.5") "]"), &with),
                0);
        assert_true(with.instances[0].migration_left_seconds == 12.5);
        assert_int_equal(parse(STATUS("[" INSTANCE("", "") "]"), &without), 0);
        assert_true(isnan(without.instances[0].migration_left_seconds));
        assert_true(isnan(without.instances[0].remote_ratio));
        assert_int_equal(without.self.pid, 0);
}

/* By the daemon's own rendering: only where it was asked for, and cannot be had. */
TEST(uncounted) {
        Snapshot s = { .access = { .wanted = true, .reason = "no such counters" } };

        for (unsigned i = 0; i < 3; i++) {
                _cleanup_status_ Snapshot f = { 0 };
                _cleanup_text_ Text json = { 0 };

                assert_int_equal(status_render(&s, &json), 0);
                assert_int_equal(parse(json.data, &f), 0);
                assert_int_equal(f.access.wanted, s.access.wanted);
                assert_int_equal(f.access.available, s.access.available);
                if (i == 0)
                        assert_string_equal(f.access.reason, "no such counters");
                s.access.available = i == 0;
                s.access.wanted = i == 0;
        }
}

TEST(reserved) {
        const Snapshot s = { .reserved_nodes = node_set("2"), .reserved_cpus = cpu_set("0-1,8") };
        _cleanup_status_ Snapshot f = { 0 };
        _cleanup_text_ Text json = { 0 };

        assert_int_equal(status_render(&s, &json), 0);
        assert_int_equal(parse(json.data, &f), 0);
        assert_ids(f.reserved_nodes, "2");
        assert_ids(f.reserved_cpus, "0-1,8");
}

TEST(ignored) {
        const Snapshot s = { .ignored = { [IGNORED_MAX_INSTANCES] = 3,
                                          [IGNORED_USER] = 2,
                                          [IGNORED_NAMESPACE] = 1 } };
        _cleanup_status_ Snapshot f = { 0 };
        _cleanup_text_ Text json = { 0 };

        assert_int_equal(status_render(&s, &json), 0);
        assert_int_equal(parse(json.data, &f), 0);
        assert_memory_equal(f.ignored, s.ignored, sizeof(s.ignored));
}

/* The daemon's own rendering is what is read. */
TEST(round_trip) {
        Node nodes[] = { { .id = 0 }, { .id = 3 } };
        const Topology topology = { .nodes = nodes, .n_nodes = 2 };
        const InstanceMemory memory[] = { { .node = 0, .file_bytes = 5 },
                                          { .node = 3, .anon_bytes = 4096 } };
        InstanceInfo instances[2] = {
                { .name = (char *)"pd-2379",
                  .policy = "pd",
                  .exe = (char *)"/pd",
                  .pid = 12,
                  .state = INSTANCE_REFUSED,
                  .reason = "not alone",
                  .reason_code = REASON_SHARED_UNIT,
                  .remote_ratio = (double)NAN,
                  .bound_by = "affinity",
                  .bound_by_reason = "it shares",
                  .start_cpus_by = "taskset",
                  .start_memory_by = "prayer",
                  .backend = "affinity" },
                { .name = (char *)"tidb-4000",
                  .policy = "tidb",
                  .unit = (char *)"tidb-4000.service",
                  .exe = (char *)"/opt/tidb-server",
                  .data_dir = (char *)"/d\xff",
                  .pid = 4711,
                  .state = INSTANCE_BOUND,
                  .reason = "",
                  .memory_by_node = memory,
                  .n_memory = 2,
                  .remote_ratio = 0.25,
                  .pending_bytes = 77 },
        };
        const ReleaseInfo releases[] = { { .name = "r-1", .failure = "no" },
                                         { .name = "r-2", .unit = "r-2.service" } };
        const IrqDeviceInfo devices[] = {
                { .name = "eth0",
                  .kind = "net",
                  .reason_id = "away",
                  .reason = "far",
                  .node = 2,
                  .cpus = cpu_set("0-1"),
                  .vectors = { [IRQ_STATE_STEERED] = 3, [IRQ_STATE_LEFT] = 7 } }
        };
        const IgnoredInfo processes[] = {
                { .pid = 9, .exe = "/pd", .policy = "pd", .reason = "of others" }
        };
        const UnitInfo units[] = {
                { .name = "tidb-4000.service", .state = "running", .reason = "" },
                { .name = "u.service",
                  .policy = "pd",
                  .state = "prepared",
                  .reason = "half",
                  .code = REASON_START_FAILED,
                  .nodes = node_set("1"),
                  .limits_known = true,
                  .cpus = cpu_set("4-7") },
        };
        const PolicyInfo policies[] = { { .name = "pd" }, { .name = "tidb" } };
        const char *const errors[] = { "a.yaml:1:1: wrong" };
        Snapshot snapshot = { .version = "1",
                              .time_seconds = 1780000000.25,
                              .sample_interval_seconds = 2.5,
                              .enforcing = true,
                              .backend = "systemd",
                              .instances = instances,
                              .n_instances = 2,
                              .topology = &topology,
                              .releases = releases,
                              .n_releases = 2,
                              .ignored_processes = processes,
                              .n_ignored_processes = 1,
                              .units = units,
                              .n_units = 2,
                              .irq = { .known = true, .devices = devices, .n_devices = 1 },
                              .policies = policies,
                              .n_policies = 2,
                              .n_adopted = 3,
                              .policy_errors = errors,
                              .n_policy_errors = 1,
                              .policy_load_seconds = 1779999999.5,
                              .self_known = true,
                              .self = { .pid = 4712 } };
        _cleanup_status_ Snapshot status = { 0 };
        _cleanup_text_ Text text = { 0 };
        const InstanceInfo *i;

        instances[1].nodes = node_set("0,2-3");
        assert_int_equal(status_render(&snapshot, &text), 0);
        assert_int_equal(parse(text.data, &status), 0);
        assert_true(status.time_seconds == 1780000000.25);
        assert_true(status.sample_interval_seconds == 2.5);
        assert_true(status.enforcing);
        assert_false(status.policy_in_force);
        assert_false(status.policy_kept);
        assert_int_equal(status.n_adopted, 3);
        assert_int_equal(status.n_instances, 2);
        i = status_file_find(&status, "tidb-4000");
        assert_non_null(i);
        assert_string_equal(i->policy, "tidb");
        assert_string_equal(i->unit, "tidb-4000.service");
        assert_string_equal(i->exe, "/opt/tidb-server");
        assert_string_equal(i->data_dir, "/d\xef\xbf\xbd");
        assert_int_equal(i->state, INSTANCE_BOUND);
        assert_int_equal(i->pid, 4711);
        assert_ids(i->nodes, "0,2-3");
        assert_true(i->remote_ratio == 0.25);
        assert_int_equal(i->pending_bytes, 77);
        assert_int_equal(i->n_memory, 2);
        assert_memory_equal(i->memory_by_node, memory, sizeof(memory));
        assert_int_equal(i->reason_code, REASON_NONE);
        assert_null(i->start_cpus_by);
        i = status_file_find(&status, "pd-2379");
        assert_null(i->unit);
        assert_int_equal(i->reason_code, REASON_SHARED_UNIT);
        assert_string_equal(i->bound_by, "affinity");
        assert_string_equal(i->bound_by_reason, "it shares");
        assert_string_equal(i->start_cpus_by, "taskset");
        assert_string_equal(i->start_memory_by, "prayer");
        assert_string_equal(status.backend, "systemd");
        assert_true(isnan(i->remote_ratio));
        assert_null(i->memory_by_node);
        assert_true(status.self_known);
        assert_int_equal(status.self.pid, 4712);
        assert_string_equal(status.version, "1");
        assert_true(status.policy_load_seconds == 1779999999.5);
        assert_false(status.policy_load_success);
        assert_int_equal(status.n_policies, 2);
        assert_int_equal(status.n_policy_errors, 1);
        assert_string_equal(status.policy_errors[0], "a.yaml:1:1: wrong");
        assert_int_equal(status.n_units, 2);
        assert_true(status_unit_runs(&status, &status.units[0]));
        assert_int_equal(status.units[0].code, REASON_NONE);
        assert_false(status.units[0].limits_known);
        assert_null(status.units[0].policy);
        assert_ptr_equal(status_file_find_unit(&status, "u"), &status.units[1]);
        assert_ptr_equal(status_file_find_unit(&status, "u.service"), &status.units[1]);
        assert_null(status_file_find_unit(&status, "u.servic"));
        assert_null(status_file_find_unit(&status, ""));
        assert_false(status_unit_runs(&status, &status.units[1]));
        assert_string_equal(status.units[1].policy, "pd");
        assert_string_equal(status.units[1].state, "prepared");
        assert_string_equal(status.units[1].reason, "half");
        assert_int_equal(status.units[1].code, REASON_START_FAILED);
        assert_true(status.units[1].limits_known);
        assert_ids(status.units[1].cpus, "4-7");
        assert_ids(status.units[1].mems, "");
        assert_ids(status.units[1].nodes, "1");
        assert_int_equal(status.n_releases, 2);
        assert_string_equal(status.releases[0].failure, "no");
        assert_null(status.releases[0].unit);
        assert_string_equal(status.releases[1].unit, "r-2.service");
        assert_int_equal(status.irq.n_devices, 1);
        assert_string_equal(status.irq.devices[0].name, "eth0");
        assert_string_equal(status.irq.devices[0].reason_id, "away");
        assert_int_equal(status.irq.devices[0].vectors[IRQ_STATE_STEERED], 3);
        assert_int_equal(status.irq.devices[0].vectors[IRQ_STATE_LEFT], 7);
        assert_int_equal(status.irq.devices[0].node, 2);
        assert_ids(status.irq.devices[0].cpus, "0-1");
        assert_string_equal(status.irq.devices[0].reason, "far");
        assert_int_equal(status.n_ignored_processes, 1);
        assert_int_equal(status.ignored_processes[0].pid, 9);
        assert_string_equal(status.ignored_processes[0].exe, "/pd");
        assert_string_equal(status.ignored_processes[0].reason, "of others");
        assert_null(i->data_dir);
        assert_string_equal(i->reason, "not alone");
        assert_ids(i->nodes, "");
        assert_null(status_file_find(&status, "tidb"));
}

static void check_bad(const char *text) {
        Snapshot status = { .n_instances = 77 };

        if (parse(text, &status) != -EBADMSG)
                fail_msg("taken: %s", text);
        assert_int_equal(status.n_instances, 77);
}

TEST(bad) {
        Snapshot status = { 0 };

        assert_int_equal(parse(STATUS("[" INSTANCE("", "") "]"), &status), 0);
        status_done(&status);
        check_bad("");
        check_bad("[]");
        check_bad("{}");
        check_bad("null");
        check_bad("{\"time_seconds\": \"now\", \"sample_interval_seconds\": 1, \"instances\": []}");
        check_bad("{\"time_seconds\": 1, \"instances\": []}");
        check_bad(STATUS("null"));
        check_bad(STATUS("[7]"));
        check_bad(STATUS("[null]"));
        check_bad(STATUS("[{}]"));
        check_bad(STATUS("[" INSTANCE("", ", \"pid\": 8") "]")); /* twice */
}

/* Each key of an instance, with what it cannot be. */
TEST(bad_values) {
        static const struct {
                const char *from, *to;
        } changes[] = {
                { "\"a\"", "null" },
                { "\"a\"", "7" },
                { "\"a\"", "\"a\\u0000b\"" },
                { "\"p\"", "null" },
                { "\"/x\"", "[]" },
                { "7,", "0," },
                { "7,", "-7," },
                { "7,", "2147483648," },
                { "7,", "7.5," },
                { "7,", "\"7\"," },
                { "\"1\"", "\"x\"" },
                { "\"1\"", "\"99999\"" },
                { "\"1\"", "null" },
                { "\"bound\"", "null" },
                { "\"bound\"", "\"bounded\"" },
                { "\"\", \"nodes", "null, \"nodes" },
        };

        for (size_t i = 0; i < ELEMENTSOF(changes); i++) {
                const char *whole = STATUS("[" INSTANCE("", "") "]");
                const char *at = strstr(strstr(whole, "instances"), changes[i].from);
                char text[1024];

                assert_non_null(at);
                (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole,
                               changes[i].to, at + strlen(changes[i].from));
                check_bad(text);
        }
}

TEST(fresh) {
        const Snapshot status = { .time_seconds = 1000, .sample_interval_seconds = 10 };

        assert_true(status_file_is_fresh(&status, 1000));
        assert_true(status_file_is_fresh(&status, 1029));
        assert_false(status_file_is_fresh(&status, 1031));
        /* A clock that was set back a little, and one that was set back for good. */
        assert_true(status_file_is_fresh(&status, 991));
        assert_false(status_file_is_fresh(&status, 989));
        assert_false(status_file_is_fresh(&(Snapshot){ .time_seconds = NAN }, 1000));
}

/* As in a container, where the first process waits for nobody. */
TEST(a_daemon_that_nobody_has_waited_for) {
        _cleanup_fake_ FakeTree tree;
        Snapshot status = { 0 };
        int ready;

        fake_init(&tree);
        status.self.pid = child_fork_until_ready(&ready);
        if (status.self.pid == 0) {
                (void)prctl(PR_SET_NAME, "tidbnumad");
                child_wait_ready(ready);
        }
        assert_int_equal(daemon_process_find(tree.path, &status), status.self.pid);
        child_make_zombie(status.self.pid);
        assert_int_equal(daemon_process_find(tree.path, &status), 0);
        child_end(status.self.pid);
}

TEST(read) {
        _cleanup_fake_ FakeTree tree;
        Snapshot status = { 0 };

        fake_init(&tree);
        assert_int_equal(status_file_read(tree.path, &status), -ENOENT);
        assert_int_equal(status_file_read("/nowhere/at/all", &status), -ENOENT);
        fake_write(&tree, "status.json", "{\"half\":");
        assert_int_equal(status_file_read(tree.path, &status), -EBADMSG);
        fake_write(&tree, "status.json", STATUS("[" INSTANCE("", "") "]"));
        assert_int_equal(status_file_read(tree.path, &status), 0);
        assert_int_equal(status.n_instances, 1);
        status_done(&status);
        assert_int_equal(status.n_instances, 0);
}
