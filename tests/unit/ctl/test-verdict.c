/* Why a policy takes a process, or why not: each key, the first that matches, and those after it.
 */

#include "../../support/test.h"

#include "../../support/json-check.h"

#include "tidbnumad/ctl/verdict.h"

#define S(text) ((char *)(text))

typedef struct World {
        Policy policies[5];
        PolicySet set;
        Process process;
} World;

static void world_init(World *w) {
        *w = (World){ 0 };
        w->policies[0] = (Policy){ .name = S("tikv"),
                                   .file = S("/p/a.yaml"),
                                   .at.line = 3,
                                   .match = { .exe = S("tikv-server") } };
        w->policies[1] = (Policy){ .name = S("unit"),
                                   .file = S("/p/a.yaml"),
                                   .at.line = 9,
                                   .match = { .unit = S("tidb@*.service") } };
        w->policies[2] = (Policy){ .name = S("tidb"),
                                   .file = S("/p/b.yaml"),
                                   .at.line = 4,
                                   .match = { .exe = S("tidb-server"),
                                              .user = S("tidb"),
                                              .uid = 997,
                                              .uid_known = true } };
        w->policies[3] = (Policy){ .name = S("all"),
                                   .file = S("/p/c.yaml"),
                                   .at.line = 1,
                                   .match = { .exe = S("/opt/*") } };
        w->policies[4] = (Policy){ .name = S("rest"),
                                   .file = S(""),
                                   .match = { .unit = S("*"), .containers = CONTAINERS_INCLUDED } };
        w->set = (PolicySet){ .policies = w->policies, .n_policies = 5 };
        w->process = (Process){ .id = { .pid = 7 },
                                .uid = 997,
                                .exe = S("/opt/tidb-server"),
                                .unit = S("tidb-4000.service") };
}

static void check(const World *w, size_t policy, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        verdict_render(&w->policies[policy], &w->process, false, &text);
        assert_string_equal(text.data, expected);
}

#define WORLD_TEST(test) TEST_WITH(test, World, w, world_init, (void))

WORLD_TEST(keys) {
        check(w, 0, "exe is tikv-server, but it runs /opt/tidb-server");
        check(w, 1, "unit is tidb@*.service, but it is in tidb-4000.service");
        check(w, 2, "takes it");
        w->process.unit = NULL;
        check(w, 1, "unit is tidb@*.service, but it is in none");
        w->process.unit = S("user@997.service");
        check(w, 1,
              "unit is tidb@*.service, but it is in user@997.service, as all services of that "
              "user's own manager; name exe and user instead");
        w->process.unit = NULL;
        w->process.uid = 0;
        check(w, 2, "user is tidb (997), but the process runs as user 0; it is ignored");
        w->policies[2].match.uid_known = false;
        check(w, 2, "user is tidb, which this host does not know");
        w->process.foreign = FOREIGN_MOUNT;
        check(w, 3,
              "it is in another mount namespace, as in a container, and match.containers is false; "
              "it is ignored");
}

static void check_all(const World *w, const char *expected) {
        _cleanup_text_ Text text = { 0 };

        verdict_render_all(&w->set, &w->process, NULL, 0, &text);
        assert_int_equal(text.error, 0);
        assert_string_equal(text.data, expected);
}

WORLD_TEST(all) {
        check_all(w, "POLICY  FROM         VERDICT\n"
                     "tikv    /p/a.yaml:3  exe is tikv-server, but it runs /opt/tidb-server\n"
                     "unit    /p/a.yaml:9  unit is tidb@*.service, but it is in "
                     "tidb-4000.service\n"
                     "tidb    /p/b.yaml:4  takes it\n"
                     "all     /p/c.yaml:1  also matches, but the first policy applies\n"
                     "rest    built in     also matches, but the first policy applies\n"
                     "\n"
                     "It belongs to the policy tidb, the first that matches; also matches all, "
                     "rest.\n");
        w->set.n_policies = 3;
        check_all(w, "POLICY  FROM         VERDICT\n"
                     "tikv    /p/a.yaml:3  exe is tikv-server, but it runs /opt/tidb-server\n"
                     "unit    /p/a.yaml:9  unit is tidb@*.service, but it is in tidb-4000.service\n"
                     "tidb    /p/b.yaml:4  takes it\n"
                     "\n"
                     "It belongs to the policy tidb.\n");
        w->set.n_policies = 1;
        check_all(w, "POLICY  FROM         VERDICT\n"
                     "tikv    /p/a.yaml:3  exe is tikv-server, but it runs /opt/tidb-server\n"
                     "\n"
                     "No policy matches it.\n");
        w->set.n_policies = 0;
        check_all(w, "\nNo policy matches it.\n");
}

/* Only its owner may read a command line; the daemon has read it. */
WORLD_TEST(as_the_daemon_reports) {
        _cleanup_text_ Text text = { 0 };

        w->policies[0].match = (PolicyMatch){ .args = (char *)"*-P 4000*" };
        w->set.n_policies = 1;
        verdict_render_all(&w->set, &w->process, &w->policies[0], 0, &text);
        assert_string_equal(text.data, "POLICY  FROM         VERDICT\n"
                                       "tikv    /p/a.yaml:3  args is *-P 4000*, but its command "
                                       "line cannot be read; run it as root\n"
                                       "\n"
                                       "The daemon reports that it belongs to the policy tikv.\n");
}

/* One of two programs in a service. */
WORLD_TEST(in_the_instance_of_another_policy) {
        _cleanup_text_ Text text = { 0 };

        w->set.n_policies = 3;
        verdict_render_all(&w->set, &w->process, &w->policies[0], 0, &text);
        assert_non_null(strstr(text.data, "\nIt belongs to the policy tidb.\n"
                                          "The daemon has it in an instance of the policy tikv: "));
}

WORLD_TEST(json) {
        static const char *const keys[] = { "exe", "unit", NULL, NULL, NULL };
        json_t *json = JSON_WRITTEN(j, JSON_OBJECT(j, NULL) verdict_json(j, &w->set, &w->process));
        const json_t *array = json_object_get(json, "policies");

        assert_int_equal(json_array_size(array), 5);
        for (size_t i = 0; i < 5; i++) {
                const json_t *one = json_array_get(array, i);
                const char *key = json_string_value(json_object_get(one, "key"));

                assert_string_equal(json_string_value(json_object_get(one, "name")),
                                    w->policies[i].name);
                assert_string_equal(json_string_value(json_object_get(one, "file")),
                                    w->policies[i].file);
                assert_int_equal(json_integer_value(json_object_get(one, "line")),
                                 w->policies[i].at.line);
                assert_int_equal(json_is_true(json_object_get(one, "matches")), keys[i] == NULL);
                assert_int_equal(key == NULL, keys[i] == NULL);
                if (key)
                        assert_string_equal(key, keys[i]);
        }
        assert_string_equal(json_string_value(json_object_get(json_array_get(array, 2), "text")),
                            "takes it");
        assert_string_equal(json_string_value(json_object_get(json_array_get(array, 4), "text")),
                            "also matches, but the first policy applies");
        json_decref(json);
}

/* Of a process whose names talk to the terminal. */
WORLD_TEST(hostile) {
        w->set.n_policies = 1;
        w->process.exe = S("/\x1b[2J");
        check_all(w, "POLICY  FROM         VERDICT\n"
                     "tikv    /p/a.yaml:3  exe is tikv-server, but it runs /\\x1b[2J\n"
                     "\n"
                     "No policy matches it.\n");
}
