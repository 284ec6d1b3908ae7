/* The record of the host's own settings: written, read again, and doubted. */
#include <jansson.h>

#include "../../support/test.h"

#include "../../support/fake-tree.h"
#include "tidbnumad/change/record.h"
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

static void no_bad_file(const char *name, int error, void *userdata) {
        (void)error;
        (void)userdata;
        fail_msg("%s", name);
}

FOLDER_TEST(write_and_read) {
        _cleanup_(undo_host_done) UndoHost h, again = { 0 };

        example_host(&h);
        assert_true(h.stale);
        assert_int_equal(undo_host_write(&f->undo, &h), 0);
        assert_false(h.stale);
        assert_int_equal(undo_host_read(&f->undo, &again), 0);
        assert_false(again.stale);
        assert_example_host(&again);
        /* The records of instances are beside it, and pass it over. */
        assert_int_equal(undo_load(&f->undo, no_bad_file, NULL), 0);
        assert_int_equal(faccessat(f->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0), 0);
}

FOLDER_TEST(empty_has_no_file) {
        _cleanup_(undo_host_done) UndoHost h;

        example_host(&h);
        assert_int_equal(undo_host_write(&f->undo, &h), 0);
        while (h.n_settings > 0)
                undo_host_remove(&h, 0);
        assert_false(undo_host_is_empty(&h));
        undo_host_forget_irqbalance(&h);
        assert_true(undo_host_is_empty(&h));
        assert_true(h.stale);
        assert_int_equal(undo_host_write(&f->undo, &h), 0);
        assert_int_equal(faccessat(f->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0), -1);
        assert_int_equal(undo_host_read(&f->undo, &h), -ENOENT);
        assert_int_equal(undo_host_write(&f->undo, &h), 0);
}

TEST(no_folder) {
        const Undo none = { .dir_fd = -EBADF };
        _cleanup_(undo_host_done) UndoHost h;

        example_host(&h);
        assert_int_equal(undo_host_write(&none, &h), -EBADF);
        assert_true(h.stale);
        assert_int_equal(undo_host_read(&none, &h), -ENOENT);
}

static json_t *example_json(void) {
        _cleanup_(undo_host_done) UndoHost h;
        json_t *root;
        char *text;
        size_t size;

        example_host(&h);
        assert_int_equal(undo_host_render(&h, &text, &size), 0);
        root = json_loadb(text, size, 0, NULL);
        free(text);
        return root;
}

static int parse(json_t *root) {
        UndoHost h = { .n_settings = 4711 };
        char *text;
        int r;

        text = json_dumps(root, 0);
        r = undo_host_parse(text, strlen(text), &h);
        if (r >= 0)
                undo_host_done(&h);
        else
                assert_int_equal(h.n_settings, 4711);
        free(text);
        json_decref(root);
        return r;
}

static json_t *setting(json_t *root, size_t i) {
        return json_array_get(json_object_get(root, "settings"), i);
}

FOLDER_TEST(newer_version_is_kept) {
        const SettingKey key = { SETTING_NUMA_BALANCING, "", 0 };
        _cleanup_(undo_host_done) UndoHost h = { 0 };
        char text[64];

        fake_write(&f->tree, "undo/" UNDO_HOST_FILE, "{\"version\": 2}");
        assert_int_equal(fchmodat(f->tree.fd, "undo/" UNDO_HOST_FILE, 0600, 0), 0);
        assert_int_equal(undo_host_read(&f->undo, &h), -ENOTSUP);
        assert_int_equal(undo_host_add(&h, &key, NULL, "1"), 0);
        assert_int_equal(undo_host_write(&f->undo, &h), -EEXIST);
        assert_true(path_read(f->tree.fd, text, sizeof(text), "undo/" UNDO_HOST_FILE) > 0);
        assert_string_equal(text, "{\"version\": 2}");
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
