/* Records as files that a daemon has left: they are read, and written to the byte. From the first
 * release on these files are never made anew: a change of the form is a new version then. */

#include "../../support/test.h"

#include "tidbnumad/change/record.h"
#include "undo-host-example.h"

typedef struct Stored {
        char text[8192];
        size_t size;
} Stored;

static const char *folder;

static Stored stored(const char *name) {
        Stored s = { 0 };
        char path[512];
        FILE *f;

        (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
        f = fopen(path, "re");
        assert_non_null(f);
        s.size = fread(s.text, 1, sizeof(s.text) - 1, f);
        (void)fclose(f);
        return s;
}

static void assert_stored(const char *name, UndoRecord *expected) {
        const Stored s = stored(name);
        UndoRecord *read = NULL;
        char *text = NULL;
        size_t size;

        assert_int_equal(undo_text_parse(s.text, s.size, &read), 0);
        assert_same_record(expected, read);
        undo_record_free(read);
        assert_int_equal(undo_text_render(expected, &text, &size), 0);
        assert_string_equal(text, s.text);
        assert_int_equal(size, strlen(text));
        free(text);
        undo_record_free(expected);
}

TEST(of_a_unit) {
        assert_stored("unit.record", example_record("tikv-20160", "tikv-20160.service"));
}

TEST(of_a_limited_unit) {
        assert_stored("limit.record", example_limited());
}

TEST(of_processes_alone) {
        assert_stored("processes.record", example_record("a\nb\x80:10", NULL));
}

TEST(of_a_scope) {
        assert_stored("scope.record", example_scope());
}

TEST(of_the_host) {
        _cleanup_(undo_record_done) UndoRecord expected;
        _cleanup_(undo_record_freep) UndoRecord *read = NULL;
        const Stored s = stored("host.record");
        char *text = NULL;
        size_t size;

        assert_int_equal(undo_text_parse(s.text, s.size, &read), 0);
        assert_example_host(read);
        example_host(&expected);
        assert_int_equal(undo_text_render(&expected, &text, &size), 0);
        assert_string_equal(text, s.text);
        assert_int_equal(size, strlen(text));
        free(text);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return EXIT_FAILURE;
        folder = argv[1];
        return test_run_all();
}
