/* Errors with their sentences. */
#include <errno.h>

#include "../../support/test.h"

#include "tidbnumad/base/error.h"

TEST(a_sentence) {
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(error_set(&error, -EINVAL, "'%s' is no number", "x"), -EINVAL);
        assert_int_equal(error.code, -EINVAL);
        assert_string_equal(error.sentence, "'x' is no number");
        /* Who knows more says it all. */
        assert_int_equal(error_set(&error, -ENOENT, "line %d: %s", 3, error.sentence), -ENOENT);
        assert_int_equal(error.code, -ENOENT);
        assert_string_equal(error.sentence, "line 3: 'x' is no number");
}

TEST(in_front_of_what_is_known) {
        _cleanup_error_ Error error = { 0 };

        assert_int_equal(error_prefix(&error, -ENOENT, "%s: ", "a.yaml"), -ENOENT);
        assert_string_equal(error.sentence, "a.yaml: No such file or directory");
        assert_int_equal(error_prefix(&error, -ENOENT, "--policy "), -ENOENT);
        assert_string_equal(error.sentence, "--policy a.yaml: No such file or directory");
}

TEST(borrowed) {
        Error error = { .code = -EBUSY, .sentence = "another one has it" };

        assert_int_equal(error_prefix(&error, error.code, "the lock: "), -EBUSY);
        assert_string_equal(error.sentence, "the lock: another one has it");
        assert_string_equal(error_sentence(&error), error.sentence);
        error_done(&error);
        assert_int_equal(error.code, 0);
        assert_null(error.sentence);
        error_done(&error);
        error.code = -EBUSY;
        assert_string_equal(error_sentence(&error), "Device or resource busy");
}

TEST(nobody_wants_the_sentence) {
        assert_int_equal(error_set(NULL, -EINVAL, "%s", "x"), -EINVAL);
        assert_int_equal(error_prefix(NULL, -EINVAL, "x: "), -EINVAL);
}
