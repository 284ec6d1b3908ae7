/* Which word a misspelled one is taken for. */
#include <string.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/config/suggest.h"

TEST(distance) {
        char longest[SUGGEST_WORD_MAX + 2];

        assert_int_equal(suggest_distance("", ""), 0);
        assert_int_equal(suggest_distance("memory", "memory"), 0);
        assert_int_equal(suggest_distance("", "abc"), 3);
        assert_int_equal(suggest_distance("abc", ""), 3);
        assert_int_equal(suggest_distance("memry", "memory"), 1);   /* insert */
        assert_int_equal(suggest_distance("memoryy", "memory"), 1); /* delete */
        assert_int_equal(suggest_distance("memary", "memory"), 1);  /* replace */
        assert_int_equal(suggest_distance("memroy", "memory"), 1);  /* swap */
        assert_int_equal(suggest_distance("kitten", "sitting"), 3);
        memset(longest, 'a', sizeof(longest));
        longest[SUGGEST_WORD_MAX] = '\0';
        assert_int_equal(suggest_distance(longest, longest), 0);
        longest[SUGGEST_WORD_MAX] = 'a';
        longest[SUGGEST_WORD_MAX + 1] = '\0';
        assert_int_equal(suggest_distance(longest, longest), SUGGEST_WORD_MAX + 1);
}

TEST(nearest) {
        static const char *const words[] = { "exe", "unit", "user", "memory" };

        assert_int_equal(suggest_nearest("memroy", words, ELEMENTSOF(words)), 3);
        assert_int_equal(suggest_nearest("usr", words, ELEMENTSOF(words)), 2);
        assert_int_equal(suggest_nearest("exec", words, ELEMENTSOF(words)), 0);
        assert_int_equal(suggest_nearest("ext", words, 1), 0);
        assert_int_equal(suggest_nearest("mmr", words, ELEMENTSOF(words)), -1);
        assert_int_equal(suggest_nearest("xer", words, 1), -1); /* two edits of three letters */
        assert_int_equal(suggest_nearest("x", words, 0), -1);
        /* A long word that begins right may have one letter more that is wrong. */
        assert_int_equal(suggest_nearest("policy", (const char *const[]){ "policies" }, 1), 0);
        assert_int_equal(suggest_nearest("colicy", (const char *const[]){ "policies" }, 1), -1);
        assert_int_equal(suggest_nearest("memo", (const char *const[]){ "memories" }, 1), -1);
}
