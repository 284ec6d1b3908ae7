/* The record of the host's own settings: written, read again, and doubted. */
#include <jansson.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "undo-host-example.h"

typedef struct Folder {
        FakeTree tree;
        Undo undo;
} Folder;

static void folder_init(Folder *f) {
        fake_init(&f->tree);
        undo_init(&f->undo, &f->tree.sysroot);
        assert_int_equal(undo_open(&f->undo, f->tree.fd), 0);
}

static void folder_done(Folder *f) {
        undo_done(&f->undo);
        fake_done(&f->tree);
}
#define FOLDER_TEST(test) TEST_WITH(test, Folder, f, folder_init, folder_done)

typedef struct Bad {
        char name[64];
        int error;
} Bad;

static void on_bad_file(const char *name, int error, void *userdata) {
        Bad *bad = userdata;

        (void)snprintf(bad->name, sizeof(bad->name), "%s", name);
        bad->error = error;
}

/* As a daemon that starts. */
static Bad read_again(Folder *f) {
        Bad bad = { .error = 0 };

        undo_done(&f->undo);
        undo_init(&f->undo, &f->tree.sysroot);
        assert_int_equal(undo_open(&f->undo, f->tree.fd), 0);
        assert_int_equal(undo_load(&f->undo, on_bad_file, &bad), 0);
        return bad;
}

static bool has_file(const Folder *f) {
        return faccessat(f->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0) == 0;
}

static void put_file(Folder *f, const char *text) {
        fake_write(&f->tree, "undo/" UNDO_HOST_FILE, text);
        assert_int_equal(fchmodat(f->tree.fd, "undo/" UNDO_HOST_FILE, 0600, 0), 0);
}

FOLDER_TEST(write_and_read) {
        example_host(&f->undo.host);
        assert_int_equal(undo_write(&f->undo, &f->undo.host), 0);
        assert_int_equal(read_again(f).error, 0);
        assert_example_host(&f->undo.host);
        assert_int_equal(f->undo.n_records, 0); /* those of instances are beside it */
}

FOLDER_TEST(empty_has_no_file) {
        UndoRecord *h = &f->undo.host;

        example_host(h);
        assert_int_equal(undo_write(&f->undo, h), 0);
        while (h->n_settings > 0)
                undo_record_remove_setting(h, 0);
        assert_false(undo_record_is_empty(h));
        undo_record_forget_irqbalance(h);
        assert_true(undo_record_is_empty(h));
        assert_int_equal(undo_write(&f->undo, h), 0);
        assert_false(has_file(f));
        example_host(h);
        assert_int_equal(undo_write(&f->undo, h), 0);
        assert_true(has_file(f));
}

/* As the files of instances. */
FOLDER_TEST(removed_by_others) {
        example_host(&f->undo.host);
        assert_int_equal(undo_write(&f->undo, &f->undo.host), 0);
        assert_int_equal(undo_repair(&f->undo, f->tree.fd), 0);
        fake_remove(&f->tree, "undo/" UNDO_HOST_FILE);
        assert_int_equal(undo_repair(&f->undo, f->tree.fd), 1);
        assert_true(has_file(f));
        assert_int_equal(undo_repair(&f->undo, f->tree.fd), 0);
}

TEST(no_folder) {
        Undo none = { .dir_fd = -EBADF };

        example_host(&none.host);
        assert_int_equal(undo_write(&none, &none.host), -EBADF);
        assert_true(none.host.stale);
        undo_record_done(&none.host);
}

static json_t *example_json(void) {
        _cleanup_(undo_record_done) UndoRecord h;
        json_t *root;
        char *text;
        size_t size;

        example_host(&h);
        assert_int_equal(undo_text_render(&h, &text, &size), 0);
        root = json_loadb(text, size, 0, NULL);
        free(text);
        return root;
}

static int parse(json_t *root) {
        UndoRecord *h = NULL;
        char *text = json_dumps(root, 0);
        const int r = undo_text_parse(text, strlen(text), &h);

        assert_int_equal(!h, r < 0);
        undo_record_free(h);
        free(text);
        json_decref(root);
        return r;
}

static json_t *setting(json_t *root, size_t i) {
        return json_array_get(json_object_get(root, "settings"), i);
}

FOLDER_TEST(newer_version_is_kept) {
        char text[64];

        put_file(f, "{\"version\": 2}");
        assert_int_equal(read_again(f).error, -ENOTSUP);
        example_host(&f->undo.host);
        assert_int_equal(undo_write(&f->undo, &f->undo.host), -EEXIST);
        assert_true(path_read(f->tree.fd, text, sizeof(text), "undo/" UNDO_HOST_FILE) > 0);
        assert_string_equal(text, "{\"version\": 2}");
}

/* What is no record of the host is put aside, also where it is a record of something else. */
FOLDER_TEST(bad_file) {
        static const char *const texts[] = {
                "not a record",
                "{\"version\": 1, \"instance\": \"x\", \"unit\": null, \"settings\": []}",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                Bad bad;

                put_file(f, texts[i]);
                bad = read_again(f);
                assert_int_equal(bad.error, -EBADMSG);
                assert_string_equal(bad.name, UNDO_HOST_FILE);
                assert_false(has_file(f));
                assert_true(undo_record_is_empty(&f->undo.host));
        }
        fake_write(&f->tree, "undo/x.json", "{\"version\": 1, \"settings\": []}");
        assert_int_equal(fchmodat(f->tree.fd, "undo/x.json", 0600, 0), 0);
        assert_int_equal(read_again(f).error, -EBADMSG);
}

TEST(versions) {
        json_t *root = example_json();

        assert_int_equal(json_integer_value(json_object_get(root, "version")), RECORD_VERSION);
        assert_int_equal(parse(root), 0);
        root = example_json();
        (void)json_object_set_new(root, "version", json_integer(RECORD_VERSION + 1));
        assert_int_equal(parse(root), -ENOTSUP);
}

/* Nothing that is in it may lead a write anywhere else, or make one of anything else. */
TEST(not_ours) {
        static const struct {
                size_t i;
                const char *key, *value;
        } rows[] = {
                { 0, "kind", "shadow" },
                { 0, "before", "x" },
                { 0, "before", "0-7%0a1" },
                { 0, "kind", "unit-cpus" },
                { 1, "target.device", "../../../proc" },
                { 1, "target.device", ".." },
                { 1, "before", "1-3" },
                { 2, "before", "-1" },
                { 2, "before", NULL },
                { 1, "target.device", NULL },
                { 1, "target.ifindex", NULL },
                { 1, "target.ifindex", "0" },
                { 1, "target.ifindex", "-3" },
                { 1, "target.ifindex", "4294967299" },
                { 2, "target.ifindex", "3" },
                { 3, "target.pid", "0" },
                { 3, "target.start", NULL },
                { 3, "before", "1" },
                { 3, "before.cpus", "x" },
                { 3, "before.irqs", "24" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                json_t *root = example_json(), *at = setting(root, rows[i].i);
                const char *value = rows[i].value, *key = strrchr(rows[i].key, '.');
                char *end = NULL;
                const long long number = value ? strtoll(value, &end, 10) : 0;

                if (key)
                        at = json_object_get(at,
                                             fmt("%.*s", (int)(key - rows[i].key), rows[i].key));
                (void)json_object_set_new(at, key ? key + 1 : rows[i].key,
                                          !value                ? json_null()
                                          : key && *end == '\0' ? json_integer(number)
                                                                : json_string(value));
                assert_int_equal(parse(root), -EBADMSG);
        }
}

TEST(twice) {
        json_t *root = example_json();

        (void)json_array_append(json_object_get(root, "settings"), setting(root, 0));
        assert_int_equal(parse(root), -EBADMSG);
}
