/* The list of tests that TEST() fills before main() begins, and helpers that every test may use. */
#include "test.h"

enum { TESTS_MAX = 256 };

static struct {
        struct CMUnitTest tests[TESTS_MAX];
        size_t n;
        CMFixtureFunction setup, teardown;
} registered;

void test_register(const struct CMUnitTest *test) {
        if (registered.n == TESTS_MAX) {
                fprintf(stderr, "More than %d tests in one file; split it\n", TESTS_MAX);
                abort();
        }
        registered.tests[registered.n++] = *test;
}

void test_register_group(CMFixtureFunction setup, CMFixtureFunction teardown) {
        registered.setup = setup;
        registered.teardown = teardown;
}

int test_run_all(void) {
        if (registered.n == 0) {
                fputs("This file has no tests\n", stderr);
                return 1;
        }
        /* What cmocka_run_group_tests() calls, which wants an array of its caller. */
        return _cmocka_run_group_tests("tests", registered.tests, registered.n, registered.setup,
                                       registered.teardown);
}

const char *fmt(const char *format, ...) {
        static char texts[64][1024];
        static unsigned next;
        char *text = texts[next++ % 64];
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vsnprintf(text, sizeof(texts[0]), format, arguments);
        va_end(arguments);
        assert_true(n >= 0 && (size_t)n < sizeof(texts[0]));
        return text;
}

/* Weak: a file with options of its own has its own. */
__attribute__((weak)) int main(void) {
        return test_run_all();
}
