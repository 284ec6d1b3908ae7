/* Records as text, and text that is none. */
#include <jansson.h>

#include "../../support/test.h"

#include "undo-example.h"

static int parse(const char *text, UndoRecord **ret) {
        return undo_text_parse(text, strlen(text), ret);
}

static void assert_round_trip(UndoRecord *r) {
        UndoRecord *again = NULL;
        char *text = NULL;
        size_t size;

        assert_int_equal(undo_text_render(r, &text, &size), 0);
        assert_int_equal(strlen(text), size);
        assert_int_equal(parse(text, &again), 0);
        assert_same_record(r, again);
        assert_false(again->stale);
        free(text);
        undo_record_free(again);
        undo_record_free(r);
}

TEST(round_trip) {
        UndoRecord *bare = NULL;

        assert_round_trip(example_record("tikv-20160", "tikv-20160.service"));
        assert_round_trip(example_record("a\nb\x80:10", NULL));
        assert_round_trip(example_limited());
        assert_round_trip(example_scope());
        assert_int_equal(undo_record_new("x:1", NULL, &bare), 0);
        assert_round_trip(bare);
}

/* Every second CPU of the widest machine: longer than lists usually may be. */
TEST(long_sets) {
        UndoRecord *r = example_record("a", "a.service");

        for (uint32_t i = 0; i < CPU_SET_MAX; i += 2)
                id_set_add(r->cpus.before, i);
        assert_round_trip(r);
}

TEST(thousands_of_threads_are_short) {
        UndoRecord *r = NULL;
        const ProcessId id = { .pid = 1000, .start_ticks = 1 };
        UndoProcess *p;
        char *text;
        size_t size;

        assert_int_equal(undo_record_new("a", NULL, &r), 0);
        assert_int_equal(undo_record_add(r, &id, &p), 0);
        for (pid_t tid = 1000; tid < 51000; tid++)
                assert_int_equal(undo_process_add_thread(p, tid, NULL), 0);
        assert_int_equal(undo_text_render(r, &text, &size), 0);
        assert_true(size < 1000);
        free(text);
        undo_record_free(r);
}

static char *example_text(void) {
        UndoRecord *r = example_limited();
        char *text;
        size_t size;

        assert_int_equal(undo_text_render(r, &text, &size), 0);
        undo_record_free(r);
        return text;
}

TEST(cut_anywhere) {
        char *text = example_text();
        UndoRecord *r = NULL;

        for (size_t n = 0; n < strlen(text); n++)
                assert_int_equal(undo_text_parse(text, n, &r), -EBADMSG);
        assert_null(r);
        free(text);
}

TEST(what_is_no_record) {
        static const struct {
                const char *text;
                int error;
        } cases[] = {
                { "", -EBADMSG },
                { "{}", -EBADMSG },
                { "[]", -EBADMSG },
                { "{\"version\": \"1\"}", -EBADMSG },
                { "{\"version\": 1}", -EBADMSG },
                { "{\"version\": 0}", -EBADMSG },
                { "{\"version\": -1}", -EBADMSG },
                { "{\"version\": 1, \"version\": 1}", -EBADMSG },
                { "{\"version\": 2}", -ENOTSUP },
                { "{\"version\": 4000000000}", -ENOTSUP },
                { "{\"version\": 1, \"instance\": \"a\", \"unit\": null}", -EBADMSG },
                { "{\"version\": 1, \"instance\": \"a\", \"unit\": null, \"settings\": {}}",
                  -EBADMSG },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                UndoRecord *r = NULL;

                assert_int_equal(parse(cases[i].text, &r), cases[i].error);
                assert_null(r);
        }
}

/* --- content that does not hold --- */

static json_t *at(json_t *root, const char *path, const char **ret_leaf) {
        json_t *json = root;

        for (const char *p = path;;) {
                size_t n = strcspn(p, ".");
                char word[32];

                if (p[n] == '\0') {
                        *ret_leaf = p;
                        return json;
                }
                (void)snprintf(word, sizeof(word), "%.*s", (int)n, p);
                json = json_is_array(json) ? json_array_get(json, strtoul(word, NULL, 10))
                                           : json_object_get(json, word);
                assert_non_null(json);
                p += n + 1;
        }
}

/* The example with one value replaced. `value` NULL: taken out. */
static int parse_changed(char *text, const char *path, const char *value) {
        json_t *root = json_loads(text, 0, NULL), *to;
        json_t *json = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
        UndoRecord *r = NULL;
        const char *leaf;
        int result;

        free(text);
        assert_true(root && (json || !value));
        to = at(root, path, &leaf);
        if (json_is_array(to))
                assert_int_equal(json_array_set_new(to, strtoul(leaf, NULL, 10), json), 0);
        else
                assert_int_equal(
                        json ? json_object_set_new(to, leaf, json) : json_object_del(to, leaf), 0);
        text = json_dumps(root, 0);
        result = parse(text, &r);
        assert_true(result == 0 ? r != NULL : r == NULL);
        undo_record_free(r);
        json_decref(root);
        free(text);
        return result;
}

static int parse_with(const char *path, const char *value) {
        return parse_changed(example_text(), path, value);
}

/* The same of the one in a scope. */
static int parse_scope_with(const char *path, const char *value) {
        UndoRecord *r = example_scope();
        char *text;
        size_t size;

        assert_int_equal(undo_text_render(r, &text, &size), 0);
        undo_record_free(r);
        return parse_changed(text, path, value);
}

TEST(scopes) {
        static const struct {
                const char *path, *value;
        } cases[] = {
                { "settings.0.target", "null" }, /* half of the two is nothing */
                { "settings.0.before", "null" },
                { "settings.0.target", NULL },
                { "settings.0.before", NULL },
                { "settings.0.target", "\"a.scope\"" }, /* not ours */
                { "settings.0.target", "\"tidbnumad-a.service\"" },
                { "settings.0.target", "\"tidbnumad-/../a.scope\"" },
                { "settings.0.target", "\"\"" },
                { "settings.0.target", "7" },
                { "settings.0.target", "\"tidbnumad-b.scope\"" }, /* whose properties follow? */
                { "settings.0.before", "\"a.scope\"" },
                { "settings.0.before", "[]" },
                { "settings.0.kind", "\"cpus\"" },
                { "unit", "\"a.service\"" },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (parse_scope_with(cases[i].path, cases[i].value) != -EBADMSG)
                        fail_msg("%s = %s", cases[i].path, cases[i].value);
        assert_int_equal(parse_scope_with("settings.0.before", "\"/\""), 0);
}

/* Of the example: 0 and 1 are its unit's, 2 the CPUs that were given, 3 and 4 one process's, 5 the
 * other's, 6 the unit's memory limit. */
TEST(hostile_content) {
        static const struct {
                const char *path, *value;
        } cases[] = {
                { "instance", "\"\"" },
                { "instance", "null" },
                { "instance", "\"%\"" },
                { "instance", "\"%4\"" },
                { "instance", "\"%00\"" },
                { "instance", "\"%zz\"" },
                { "unit", "7" },
                { "unit", "null" }, /* a unit's properties, and no unit */
                { "unit", "\"b.service\"" },
                { "settings", "{}" },
                { "settings.0", "7" },
                { "settings.0", "{}" },
                { "settings.0.kind", "\"shadow\"" },
                { "settings.0.kind", "7" },
                { "settings.0.kind", "\"unit-mems\"" }, /* twice */
                { "settings.1.kind", "\"unit-cpus\"" },
                { "settings.0.target", "null" },
                { "settings.0.target", "\"b.service\"" },
                { "settings.0.before", "null" },
                { "settings.0.before.origin", "3" },
                { "settings.0.before.origin", "-1" },
                { "settings.0.before.origin", "\"1\"" },
                { "settings.0.before.set", "\"3-1\"" },
                { "settings.0.before.file", "[]" },
                { "settings.0.before.file", "null" }, /* of one of the two */
                { "settings.1.before.file", "\"9000\"" },
                { "settings.1.before.file", "null" },
                { "settings.1.ours", "\"2\"" },
                { "settings.1.ours", "[\"\"]" },
                { "settings.1.ours", "[2]" },
                { "settings.0.ours", "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]" },
                { "settings.0.ours.0", "\"x\"" },
                { "settings.2.ours", "null" },
                { "settings.6.target", "\"b.service\"" },
                { "settings.6.before.bytes", "-1" },
                { "settings.6.before.bytes", "null" }, /* and set by a file */
                { "settings.6.before.origin", "0" },
                { "settings.6.before.since", "\"1\"" },
                { "settings.6.ours", "[1, 2, 3, 4, 5, 6, 7, 8, 9]" },
                { "settings.6.ours.0", "0" },
                { "settings.2.ours", "[\"1\", \"1-\"]" },
                { "settings.3.target.pid", "0" },
                { "settings.3.target.pid", "-1" },
                { "settings.3.target.pid", "4294967297" },
                { "settings.3.target.pid", "1.5" },
                { "settings.3.target.start", "-1" },
                { "settings.3.target.start", "\"5\"" },
                { "settings.3.before.noted", "null" },
                { "settings.3.before.masks_set", "1" },
                { "settings.3.before.given", "null" },
                { "settings.3.before.leader", "2" },
                { "settings.3.before.leader", "-1" },
                { "settings.3.before.leader", "\"\"" },
                { "settings.3.before.masks", "null" },
                { "settings.3.before.masks.0", "\"\"" },
                { "settings.3.before.masks.0", "1" },
                { "settings.3.before.threads", "7" },
                { "settings.3.before.threads.0", "[1, 2]" },
                { "settings.3.before.threads.0", "[50, 50, null, 1]" },
                { "settings.3.before.threads.0.0", "0" },
                { "settings.3.before.threads.0.1", "49" }, /* ends before it begins */
                { "settings.3.before.threads.1.0", "50" }, /* overlaps */
                { "settings.3.before.threads.0.2", "2" },  /* no such mask */
                { "settings.3.before.threads.0.2", "4294967295" },
                { "settings.4.before", "\"\"" },
                { "settings.4.target", "{\"pid\": 50, \"start\": 1}" },    /* of no process */
                { "settings.5.target", "{\"pid\": 50, \"start\": 1050}" }, /* twice the same */
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                int r = parse_with(cases[i].path, cases[i].value);

                if (r != -EBADMSG)
                        fail_msg("%s = %s: %d", cases[i].path, cases[i].value, r);
        }
        /* Another start time: another process. */
        assert_int_equal(parse_with("settings.5.target.pid", "50"), 0);
}

TEST(missing_keys) {
        static const char *const paths[] = {
                "instance",
                "unit",
                "settings",
                "settings.0.kind",
                "settings.0.target",
                "settings.0.before",
                "settings.0.ours",
                "settings.0.before.set",
                "settings.0.before.origin",
                "settings.0.before.file",
                "settings.2.ours",
                "settings.3.target.pid",
                "settings.3.target.start",
                "settings.3.before.noted",
                "settings.3.before.masks",
                "settings.3.before.threads",
                "settings.3.before.leader",
                "settings.3.before.given",
                "settings.3.before.masks_set",
                "settings.4.before",
        };

        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
                if (parse_with(paths[i], NULL) != -EBADMSG)
                        fail_msg("without %s", paths[i]);
}

/* One of the two properties of a unit alone. */
TEST(half_a_unit) {
        assert_int_equal(parse_with("settings.1", "{\"kind\": \"cpus\", \"target\": null, "
                                                  "\"before\": null, \"ours\": []}"),
                         -EBADMSG);
}
