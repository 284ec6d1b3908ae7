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
        assert_round_trip(example_scope());
        assert_int_equal(undo_record_new("x:1", NULL, &bare), 0);
        assert_round_trip(bare);
}

/* Every second CPU of the widest machine: longer than lists usually may be. */
TEST(long_sets) {
        UndoRecord *r = example_record("a", "a.service");

        for (uint32_t i = 0; i < CPU_SET_MAX; i += 2)
                id_set_add(&r->cpus.before, i);
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
        UndoRecord *r = example_record("a", "a.service");
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
                { "{\"version\": 2}", -EBADMSG },
                { "{\"version\": 2, \"version\": 2}", -EBADMSG },
                { "{\"version\": 3}", -ENOTSUP },
                { "{\"version\": 4000000000}", -ENOTSUP },
                { "{\"version\": 1, \"record\": []}", -EBADMSG },
                { "{\"version\": 1, \"record\": {}}", -EBADMSG },
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
                { "scope", "null" }, /* half of the two is nothing */
                { "home", "null" },
                { "scope", NULL },
                { "home", NULL },
                { "scope", "\"a.scope\"" }, /* not ours */
                { "scope", "\"tidbnumad-a.service\"" },
                { "scope", "\"tidbnumad-/../a.scope\"" },
                { "scope", "\"\"" },
                { "scope", "7" },
                { "home", "\"a.scope\"" },
                { "home", "[]" },
                { "service", "\"a.service\"" },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                if (parse_scope_with(cases[i].path, cases[i].value) != -EBADMSG)
                        fail_msg("%s = %s", cases[i].path, cases[i].value);
        assert_int_equal(parse_scope_with("home", "\"/\""), 0);
        /* Of a version that knew no scopes. */
        assert_int_equal(parse_with("scope", NULL), 0);
        assert_int_equal(parse_with("home", NULL), 0);
}

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
                { "service", "7" },
                { "service", "null" }, /* a unit's properties, and no unit */
                { "unit", "{}" },
                { "unit.cpus", "null" },
                { "unit.cpus.origin", "3" },
                { "unit.cpus.origin", "-1" },
                { "unit.cpus.origin", "\"1\"" },
                { "unit.cpus.before", "\"3-1\"" },
                { "unit.mems.ours", "\"2\"" },
                { "unit.mems.ours", "[\"\"]" },
                { "unit.mems.ours", "[2]" },
                { "unit.cpus.ours", "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]" },
                { "unit.cpus.ours.0", "\"x\"" },
                { "unit.files", "[]" },
                { "unit.files.mems", "\"9000\"" },
                { "given", "null" },
                { "given", "[\"1\", \"1-\"]" },
                { "processes", "{}" },
                { "processes.0", "7" },
                { "processes.0.pid", "0" },
                { "processes.0.pid", "-1" },
                { "processes.0.pid", "4294967297" },
                { "processes.0.pid", "1.5" },
                { "processes.0.start", "-1" },
                { "processes.0.start", "\"5\"" },
                { "processes.0.noted", "null" },
                { "processes.0.cpuset", "\"\"" },
                { "processes.0.masks_set", "1" },
                { "processes.0.given", "null" },
                { "processes.0.leader", "2" },
                { "processes.0.leader", "-1" },
                { "processes.0.leader", "\"\"" },
                { "processes.0.masks", "null" },
                { "processes.0.masks.0", "\"\"" },
                { "processes.0.masks.0", "1" },
                { "processes.0.threads", "7" },
                { "processes.0.threads.0", "[1, 2]" },
                { "processes.0.threads.0", "[50, 50, null, 1]" },
                { "processes.0.threads.0.0", "0" },
                { "processes.0.threads.0.1", "49" }, /* ends before it begins */
                { "processes.0.threads.1.0", "50" }, /* overlaps */
                { "processes.0.threads.0.2", "2" },  /* no such mask */
                { "processes.0.threads.0.2", "4294967295" },
                { "processes.1.pid", "50" }, /* with the start time below: twice the same */
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                int r = parse_with(cases[i].path, cases[i].value);

                if (strcmp(cases[i].path, "processes.1.pid") == 0)
                        assert_int_equal(r, 0); /* another start time: another process */
                else if (r != -EBADMSG)
                        fail_msg("%s = %s: %d", cases[i].path, cases[i].value, r);
        }
        assert_int_equal(parse_with("processes.1", "{\"pid\": 50, \"start\": 1050}"), -EBADMSG);
}

TEST(missing_keys) {
        static const char *const paths[] = {
                "instance",
                "service",
                "unit",
                "given",
                "processes",
                "unit.cpus",
                "unit.mems",
                "unit.files",
                "unit.cpus.before",
                "unit.cpus.origin",
                "unit.cpus.ours",
                "unit.files.cpus",
                "processes.0.pid",
                "processes.0.start",
                "processes.0.noted",
                "processes.0.cpuset",
                "processes.0.masks",
                "processes.0.threads",
                "processes.0.leader",
                "processes.0.given",
                "processes.0.masks_set",
        };

        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
                if (parse_with(paths[i], NULL) != -EBADMSG)
                        fail_msg("without %s", paths[i]);
        assert_int_equal(parse_with("unit", "null"), 0); /* it was not read yet */
}
