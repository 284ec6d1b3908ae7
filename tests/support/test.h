/* cmocka with tests that register themselves:
 *
 *     #include "../../support/test.h"
 *
 *     TEST(a_node_without_memory_is_no_candidate) {
 *             assert_int_equal(…);
 *     }
 *
 * Meson links a main() that runs the tests of a file in their order. What a test needs beside its
 * body follows its name, as a field of struct CMUnitTest: TEST(name, .setup_func = setup). The body
 * sees cmocka's `void **state`. A file with options of its own defines main() and calls
 * test_run_all().
 *
 * Tests that need the same surroundings get a pointer to them, by a macro of their own:
 *
 *     #define HOST_TEST(test) TEST_WITH(test, Host, h, host_init, host_done)
 *
 *     HOST_TEST(a_host_without_memory) {
 *             fake_write(&h->tree, …);
 *     }
 */
#pragma once

/* cmocka.h needs the first four; the others are headers that most tests use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST(test, ...)                                                                            \
        static void test_##test(void **state);                                                     \
        __attribute__((constructor)) static void register_##test(void) {                           \
                test_register(&(struct CMUnitTest){                                                \
                        .name = "test_" #test, .test_func = test_##test, __VA_ARGS__ });           \
        }                                                                                          \
        static void test_##test(void **state __attribute__((unused)))

/* Calls `init` before the body and `done` after it. Both take a pointer to a variable of `type`; in
 * the body the pointer is called `name`. TEST_AFTER() takes the complete call instead of `init`,
 * for an `init` with more arguments. */
#define TEST_WITH(test, type, name, init, done) TEST_AFTER(test, type, name, init(name), done)
#define TEST_AFTER(test, type, name, call, done)                                                   \
        static void body_of_##test(type *name);                                                    \
        TEST(test) {                                                                               \
                type its, *name = &its;                                                            \
                call;                                                                              \
                body_of_##test(name);                                                              \
                done(name);                                                                        \
        }                                                                                          \
        static void body_of_##test(type *name)

/* `done` of a type that has nothing to free. */
#define test_no_done(name) ((void)(name))

/* Before the first and after the last test of the file. Either may be NULL. */
#define TEST_GROUP(setup, teardown)                                                                \
        __attribute__((constructor)) static void register_group(void) {                            \
                test_register_group((setup), (teardown));                                          \
        }

/* Text as by printf(3), of at most 1,023 bytes. It is valid until 64 more such calls were made. */
const char *fmt(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Skips the test and prints why. */
#define skip_because(...)                                                                          \
        do {                                                                                       \
                print_message("%s\n", fmt(__VA_ARGS__));                                           \
                skip();                                                                            \
        } while (0)

void test_register(const struct CMUnitTest *test);
void test_register_group(CMFixtureFunction setup, CMFixtureFunction teardown);

/* Returns the number of tests that failed. */
int test_run_all(void);
