/* Records as files that former versions of the daemon have left: they are read, and written again
 * to the byte. What stands in records/ is never made anew; a change of the form is another file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

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

        assert_int_equal(undo_text_parse(s.text, s.size, BOOT, &read), 0);
        assert_same_record(expected, read);
        assert_int_equal(undo_text_render(expected, BOOT, &text, &size), 0);
        assert_string_equal(text, s.text);
        assert_int_equal(size, s.size);
        free(text);
        undo_record_free(read);
        undo_record_free(expected);
}

static void test_of_a_unit(void **state) {
        (void)state;
        assert_stored("unit.record", example_record("tikv-20160", "tikv-20160.service"));
}

static void test_of_processes_alone(void **state) {
        (void)state;
        assert_stored("processes.record", example_record("a\nb\x80:10", NULL));
}

static void test_of_a_scope(void **state) {
        (void)state;
        assert_stored("scope.record", example_scope());
}

static void test_of_the_host(void **state) {
        const Stored s = stored("host.record");
        _cleanup_(undo_host_done) UndoHost expected, read = { 0 };
        char *text = NULL;
        size_t size;

        (void)state;
        example_host(&expected);
        assert_int_equal(undo_host_parse(s.text, s.size, BOOT, &read), 0);
        assert_example_host(&read);
        assert_int_equal(undo_host_render(&expected, BOOT, &text, &size), 0);
        assert_string_equal(text, s.text);
        assert_int_equal(size, s.size);
        free(text);
}

/* One is not the other, though both are of the same version. */
static void test_kinds_are_told_apart(void **state) {
        const Stored host = stored("host.record"), unit = stored("unit.record");
        UndoRecord *record = NULL;
        UndoHost h = { 0 };

        (void)state;
        assert_int_equal(undo_text_parse(host.text, host.size, BOOT, &record), -EBADMSG);
        assert_int_equal(undo_host_parse(unit.text, unit.size, BOOT, &h), -EBADMSG);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_of_a_unit),
                cmocka_unit_test(test_of_processes_alone),
                cmocka_unit_test(test_of_a_scope),
                cmocka_unit_test(test_of_the_host),
                cmocka_unit_test(test_kinds_are_told_apart),
        };

        if (argc != 2)
                return EXIT_FAILURE;
        folder = argv[1];
        return cmocka_run_group_tests(tests, NULL, NULL);
}
