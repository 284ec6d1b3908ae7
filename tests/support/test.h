/* cmocka with tests that register themselves:
 *
 *     #include "../../support/test.h"
 *
 *     TEST(a_node_without_memory_is_nobodys_home) {
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

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(test, ...)                                                                            \
        static void test_##test(void **state);                                                     \
        __attribute__((constructor)) static void register_##test(void) {                           \
                test_register(&(struct CMUnitTest){                                                \
                        .name = "test_" #test, .test_func = test_##test, __VA_ARGS__ });           \
        }                                                                                          \
        static void test_##test(void **state __attribute__((unused)))

/* `init` is called before the body, and `done` after it; both take a pointer to a `type`, which the
 * body knows as `name`. With TEST_AFTER(), `call` is the whole first call. */
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

/* For what needs no end. */
#define test_no_done(name) ((void)(name))

/* Before the first and after the last test of the file. Either may be NULL. */
#define TEST_GROUP(setup, teardown)                                                                \
        __attribute__((constructor)) static void register_group(void) {                            \
                test_register_group((setup), (teardown));                                          \
        }

void test_register(const struct CMUnitTest *test);
void test_register_group(CMFixtureFunction setup, CMFixtureFunction teardown);

/* Returns the number of tests that failed. */
int test_run_all(void);
