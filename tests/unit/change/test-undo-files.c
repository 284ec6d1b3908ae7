/* Records as files that a daemon has left. Each version of the form has its folder in records/: all
 * are read, and the newest is written to the byte. These files are never made anew: a change of the
 * form is a new version, in a new folder. */

#include "../../support/test.h"

#include "tidbnumad/change/record.h"
#include "undo-host-example.h"

typedef struct Stored {
        char text[8192];
        size_t size;
} Stored;

static const char *folder;

static Stored stored(unsigned version, const char *name) {
        Stored s = { 0 };
        char path[512];
        FILE *f;

        (void)snprintf(path, sizeof(path), "%s/%u/%s", folder, version, name);
        f = fopen(path, "re");
        assert_non_null(f);
        s.size = fread(s.text, 1, sizeof(s.text) - 1, f);
        (void)fclose(f);
        return s;
}

static void assert_stored(const char *name, UndoRecord *expected) {
        char *text = NULL;
        size_t size;

        for (unsigned version = 1; version <= UNDO_VERSION; version++) {
                const Stored s = stored(version, name);
                UndoRecord *read = NULL;

                assert_int_equal(undo_text_parse(s.text, s.size, &read), 0);
                assert_same_record(expected, read);
                undo_record_free(read);
        }
        assert_int_equal(undo_text_render(expected, &text, &size), 0);
        assert_string_equal(text, stored(UNDO_VERSION, name).text);
        assert_int_equal(size, strlen(text));
        free(text);
        undo_record_free(expected);
}

TEST(of_a_unit) {
        assert_stored("unit.record", example_record("tikv-20160", "tikv-20160.service"));
}

TEST(of_processes_alone) {
        assert_stored("processes.record", example_record("a\nb\x80:10", NULL));
}

TEST(of_a_scope) {
        assert_stored("scope.record", example_scope());
}

TEST(of_the_host) {
        _cleanup_(undo_host_done) UndoHost expected;
        char *text = NULL;
        size_t size;

        for (unsigned version = 1; version <= UNDO_VERSION; version++) {
                const Stored s = stored(version, "host.record");
                _cleanup_(undo_host_done) UndoHost read = { 0 };

                assert_int_equal(undo_host_parse(s.text, s.size, &read), 0);
                assert_example_host(&read);
        }
        example_host(&expected);
        assert_int_equal(undo_host_render(&expected, &text, &size), 0);
        assert_string_equal(text, stored(UNDO_VERSION, "host.record").text);
        assert_int_equal(size, strlen(text));
        free(text);
}

/* One is not the other, though both are of the same version. */
TEST(kinds_are_told_apart) {
        const Stored host = stored(UNDO_VERSION, "host.record"),
                     unit = stored(UNDO_VERSION, "unit.record");
        UndoRecord *record = NULL;
        UndoHost h = { 0 };

        assert_int_equal(undo_text_parse(host.text, host.size, &record), -EBADMSG);
        assert_int_equal(undo_host_parse(unit.text, unit.size, &h), -EBADMSG);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return EXIT_FAILURE;
        folder = argv[1];
        return test_run_all();
}
