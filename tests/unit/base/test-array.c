/* Elements into arrays and out of them. */

#include "../../support/test.h"

#include "tidbnumad/base/array.h"
#include "tidbnumad/base/cleanup.h"

typedef struct Numbers {
        unsigned *numbers;
        size_t n, allocated;
} Numbers;

static void insert(Numbers *a, size_t index, unsigned number) {
        assert_int_equal(ARRAY_INSERT(a->numbers, a->n, a->allocated, index, &number), 0);
}

static void assert_numbers(const Numbers *a, const unsigned *expected, size_t n) {
        assert_int_equal(a->n, n);
        assert_true(a->allocated >= n);
        for (size_t i = 0; i < n; i++)
                assert_int_equal(a->numbers[i], expected[i]);
        for (size_t i = n; i < a->allocated; i++)
                assert_int_equal(a->numbers[i], 0);
}
#define ASSERT_NUMBERS(a, ...)                                                                     \
        assert_numbers(a, (const unsigned[]){ __VA_ARGS__ },                                       \
                       ELEMENTSOF(((const unsigned[]){ __VA_ARGS__ })))

/* An instance has a dozen arrays, and sets of CPUs take a KiB each. */
TEST(first_room) {
        struct {
                char bytes[1024];
        } *large = NULL;
        unsigned *small = NULL;
        size_t n_large = 0, n_small = 0;

        assert_int_equal(ARRAY_RESERVE(large, n_large, 1), 0);
        assert_int_equal(n_large, 1);
        assert_int_equal(ARRAY_RESERVE(large, n_large, 3), 0);
        assert_int_equal(n_large, 4);
        assert_int_equal(ARRAY_RESERVE(small, n_small, 1), 0);
        assert_int_equal(n_small, 8);
        free(large);
        free(small);
}

TEST(insert) {
        Numbers a = { 0 };

        insert(&a, 0, 5);
        insert(&a, 1, 9);
        insert(&a, 0, 3);
        insert(&a, 2, 7);
        ASSERT_NUMBERS(&a, 3, 5, 7, 9);
        free(a.numbers);
}

/* Beyond the room of the first growth, in the front each. */
TEST(insert_grows) {
        Numbers a = { 0 };

        for (unsigned i = 0; i < 1000; i++)
                insert(&a, 0, 1000 - i);
        for (unsigned i = 0; i < 1000; i++)
                assert_int_equal(a.numbers[i], i + 1);
        assert_int_equal(a.n, 1000);
        free(a.numbers);
}

TEST(remove) {
        Numbers a = { 0 };

        for (unsigned i = 0; i < 8; i++) /* to the last of its room */
                insert(&a, i, i + 1);
        ARRAY_REMOVE(a.numbers, a.n, 7);
        ARRAY_REMOVE(a.numbers, a.n, 0);
        ARRAY_REMOVE(a.numbers, a.n, 2);
        ASSERT_NUMBERS(&a, 2, 3, 5, 6, 7);
        while (a.n > 0)
                ARRAY_REMOVE(a.numbers, a.n, 0);
        assert_numbers(&a, NULL, 0);
        free(a.numbers);
}

TEST(drop) {
        int things[3] = { 0 };
        int *list[] = { &things[0], &things[1], &things[2] };
        size_t n = 3;

        ARRAY_DROP(list, n, &things[1]);
        ARRAY_DROP(list, n, &things[1]);
        assert_int_equal(n, 2);
        assert_ptr_equal(list[0], &things[0]);
        assert_ptr_equal(list[1], &things[2]);
}

TEST(too_large) {
        Numbers a = { 0 };

        insert(&a, 0, 5);
        assert_int_equal(ARRAY_RESERVE(a.numbers, a.allocated, SIZE_MAX / sizeof(unsigned)),
                         -ENOMEM);
        ASSERT_NUMBERS(&a, 5);
        free(a.numbers);
}

TEST(lower_bound) {
        static const int sorted[] = { 1, 3, 3, 7 };
        static const struct {
                int wanted;
                size_t index;
        } cases[] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 1 }, { 4, 3 }, { 7, 3 }, { 8, 4 } };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                assert_int_equal(
                        ARRAY_LOWER_BOUND(ELEMENTSOF(sorted), k, sorted[k] < cases[i].wanted),
                        cases[i].index);
        assert_int_equal(ARRAY_LOWER_BOUND(0, k, sorted[k] < 5), 0);
}
